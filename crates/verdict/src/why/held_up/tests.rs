use assay_model::experiment::Cell;
use assay_model::load::Arrival;
use assay_model::profile::{Awaited, CallStack, Facet, Frame, FrameKind, Parked, Refused, Waiter};
use assay_model::units::Nanos;
use assay_model::usage::Usage;

use super::*;

/// Answers in a slice of a second.
const ANSWERS: u64 = 1_000;

fn call(name: &str, count: u64, time: Nanos, returned: u64) -> SystemCall {
    SystemCall { name: name.to_owned(), count, time_ns: time, returned, ..SystemCall::default() }
}

/// A server that is half busy, asks and answers in one piece each, and does nothing wrongly.
fn good() -> Profile {
    let frame = |symbol: &str, kind| Frame { symbol: Some(symbol.to_owned()), module: None, kind };
    let stack = |frame, samples| CallStack { owner: Owner::Server, thread: 0, frames: vec![frame], samples };
    let second = Nanos::from_millis(1_000);
    Profile {
        cell: Cell::closed("hello", 64),
        arrival: Arrival::Closed,
        offset_ns: Nanos::ZERO,
        sampled: Sampled {
            answers: ANSWERS,
            loaded_ns: second,
            median_ns: Some(Nanos::from_millis(1)),
            usage: Usage {
                wall_ns: second,
                user_ns: Nanos::from_millis(300),
                system_ns: Nanos::from_millis(200),
                run_delay_ns: Some(Nanos::from_millis(20)),
                busiest_thread_ns: Some(Nanos::from_millis(400)),
                threads: 4,
                ..Usage::default()
            },
            cpus: 1,
            threads: vec!["worker".to_owned(), "other".to_owned()],
            frames: vec![
                frame("tcp_sendmsg", FrameKind::Kernel),
                frame("handle", FrameKind::Native),
                frame("runtime.gcDrain", FrameKind::Native),
            ],
            stacks: vec![stack(0, 400), stack(1, 600)],
            ..Sampled::default()
        },
        traced: Some(Traced {
            answers: ANSWERS,
            loaded_ns: second,
            calls: vec![
                call("writev", ANSWERS, Nanos::from_millis(20), ANSWERS * 150),
                call("read", ANSWERS, Nanos::from_millis(10), ANSWERS * 80),
                call("epoll_wait", ANSWERS, Nanos::from_millis(600), ANSWERS),
            ],
            ..Traced::default()
        }),
        refused: Vec::new(),
    }
}

fn spoilt(spoil: impl FnOnce(&mut Sampled, &mut Traced)) -> Vec<(Cause, f64)> {
    let mut profile = good();
    spoil(&mut profile.sampled, profile.traced.as_mut().expect("traced"));
    causes(&profile)
}

/// The only cause; its share is checked to be one.
fn only(found: Vec<(Cause, f64)>) -> Cause {
    let [(cause, share)] = found.try_into().expect("one cause");
    assert!((0.0..=1.0).contains(&share), "{share}");
    cause
}

#[test]
fn nothing_holds_a_good_server_up_and_a_record_may_say_nothing() {
    assert_eq!(causes(&good()), []);
    let none = spoilt(|sampled, traced| {
        (*sampled, *traced) = (Sampled::default(), Traced::default());
    });
    assert_eq!(none, []);
    let empty = spoilt(|sampled, traced| {
        *sampled = Sampled { answers: 1, ..Sampled::default() };
        *traced = Traced { answers: 1, locks: vec![Lock::default()], ..Traced::default() };
    });
    assert_eq!(empty, []);
}

#[test]
fn two_pieces_and_forty_milliseconds_are_a_delayed_acknowledgement_and_a_slow_answer_is_not() {
    let answers_after = |ms, pieces| {
        spoilt(|sampled, traced| {
            sampled.median_ns = Some(Nanos::from_millis(ms));
            sampled.tcp = [("DelayedACKs".to_owned(), ANSWERS)].into();
            traced.calls[0].count = pieces * ANSWERS;
        })
    };
    let found = only(answers_after(44, 2));
    assert_eq!(found, Cause::DelayedAcknowledgement { median_ns: 44e6, delayed: 1.0, sends: 2.0 });
    assert_eq!(answers_after(44, 1), [], "acknowledgements are delayed also where nobody waits for them");
    assert_eq!(answers_after(5, 2), []);
    assert_eq!(answers_after(90, 2), []);
    let prompt = spoilt(|sampled, traced| {
        sampled.median_ns = Some(Nanos::from_millis(44));
        traced.calls[0].count = 2 * ANSWERS;
    });
    assert_eq!(prompt, [], "nobody delayed an acknowledgement");
}

#[test]
fn connections_that_were_turned_away_are_told_and_a_stray_one_is_not() {
    let turned_away = |overflows| {
        spoilt(|sampled, _| {
            let count = |name: &str, count| (name.to_owned(), count);
            sampled.tcp = [count("ListenOverflows", overflows), count("PassiveOpens", 64)].into();
        })
    };
    assert_eq!(only(turned_away(30)), Cause::AcceptQueue { overflows: 30, connections: 64 });
    assert_eq!(turned_away(2), []);
    let others = spoilt(|sampled, _| {
        let count = |name: &str, count| (name.to_owned(), count);
        sampled.tcp = [count("ListenOverflows", 30), count("PassiveOpens", 64)].into();
        sampled.remade = Some(0);
    });
    assert_eq!(others, [], "our connections were kept: those that were turned away are another program's");
}

#[test]
fn a_lock_is_told_by_who_takes_it_and_a_short_wait_is_not() {
    let waiting = |ms| {
        spoilt(|_, traced| {
            let function = |symbol: &str, module: &str| Frame {
                symbol: Some(symbol.to_owned()),
                module: Some(module.to_owned()),
                kind: FrameKind::Native,
            };
            let callers = vec![
                function("__lll_lock_wait", "libc.so.6"),
                function("std::sys::sync::mutex::futex::Mutex::lock_contended", "shop"),
                function("shop::stock::reserve", "shop"),
                function("main", "shop"),
            ];
            let long =
                Lock { address: 0x5000, waits: 500, threads: 4, time_ns: Nanos::from_millis(ms), callers };
            traced.locks = vec![Lock { address: 1, waits: 1, threads: 1, ..Lock::default() }, long];
        })
    };
    let Cause::Lock { address, function, waits, wait_ns, threads, .. } = only(waiting(3_000)) else {
        panic!("a lock")
    };
    assert_eq!((address, waits, wait_ns, threads), (Some(0x5000), Some(0.5), 3e6, 4));
    assert_eq!(function.as_deref(), Some("shop::stock::reserve"));
    assert_eq!(waiting(600), [], "four threads wait for a fifth of their time at least");
}

/// Calls that led to a wait, the innermost first: each with its file.
fn calls_of(calls: &[(&str, &str)]) -> Vec<Frame> {
    let frame = |(symbol, module): &(&str, &str)| Frame {
        symbol: Some((*symbol).to_owned()),
        module: Some((*module).to_owned()),
        kind: FrameKind::Native,
    };
    calls.iter().map(frame).collect()
}

#[test]
fn a_lock_that_parks_its_threads_is_told_by_who_takes_it_and_threads_without_work_are_not() {
    let parked = |callers: &[(&str, &str)], ms| Parked {
        waits: 250,
        threads: 4,
        thread_ids: Vec::new(),
        time_ns: Nanos::from_millis(ms),
        callers: calls_of(callers),
    };
    let (park, take) = (("syscall", "libc.so.6"), ("parking_lot::raw_mutex::RawMutex::lock_slow", "shop"));
    let lock = |taker| [park, ("parking_lot_core::parking_lot::park", "shop"), take, (taker, "shop")];
    let idle = [
        park,
        ("std::sys::sync::thread_parking::futex::Parker::park", "shop"),
        ("shop::pool::worker", "shop"),
    ];
    let held = |parked: Vec<Parked>| spoilt(|_, traced| traced.parked = parked);
    // By two ways through one function, beside a pool of threads that have nothing to do.
    let of_one = vec![
        parked(&lock("shop::stock::reserve"), 1_500),
        parked(&lock("shop::stock::reserve")[..], 1_500),
        parked(&idle, 3_900),
    ];
    let Cause::Lock { address, function, waits, threads, .. } = only(held(of_one)) else { panic!("a lock") };
    assert_eq!((address, waits, threads), (None, Some(0.5), 4));
    assert_eq!(function.as_deref(), Some("shop::stock::reserve"));
    assert_eq!(held(vec![parked(&idle, 3_900)]), [], "to wait for work is no lock");
    let java = [("ObjectMonitor::enter(JavaThread*)", "libjvm.so")];
    let Cause::Lock { function, .. } = only(held(vec![parked(&java, 3_000)])) else { panic!("a monitor") };
    assert_eq!(function.as_deref(), Some("ObjectMonitor::enter(JavaThread*)"), "who takes it is not known");
}

/// Four threads wait each by a way of its own, as where the function was compiled into four others.
#[test]
fn threads_that_come_to_a_lock_by_several_ways_all_count() {
    let take =
        calls_of(&[("parking_lot::raw_mutex::RawMutex::lock_slow", "shop"), ("shop::reserve", "shop")]);
    let waiting = |ms| {
        let way = |ids: &[u32]| Parked {
            waits: 10,
            threads: ids.len() as u32,
            thread_ids: ids.to_vec(),
            time_ns: Nanos::from_millis(ms),
            callers: take.clone(),
        };
        spoilt(|_, traced| traced.parked = vec![way(&[1, 2]), way(&[2, 3]), way(&[4])])
    };
    let Cause::Lock { threads, .. } = only(waiting(300)) else { panic!("a lock") };
    assert_eq!(threads, 4);
    assert_eq!(waiting(200), [], "0.6 s of four threads' second each");
}

/// Something that is waited for inside a runtime, for milliseconds in a second.
fn awaited(class: Option<&str>, callers: &[(&str, &str)], waiters: u32, ms: u64) -> Awaited {
    Awaited {
        address: 0xc000_1000,
        class: class.map(str::to_owned),
        waiters,
        time_ns: Nanos::from_millis(ms),
        callers: calls_of(callers),
        ..Awaited::default()
    }
}

/// What holds a server up in whose runtime this is waited for, and whose system calls may not be followed.
fn held_inside(all: Vec<Awaited>) -> Vec<(Cause, f64)> {
    let mut profile = good();
    profile.sampled.awaited = all;
    profile.traced = None;
    causes(&profile)
}

#[test]
fn a_lock_of_go_is_told_by_the_function_that_takes_it_and_other_waits_of_goroutines_are_not() {
    let by = |taken_by: &[&'static str], ms| {
        let calls = ["runtime.gopark", "runtime.semacquire1"].iter().chain(taken_by).chain(&["main.serve"]);
        let calls: Vec<(&str, &str)> = calls.map(|call| (*call, "shop")).collect();
        Awaited { waiter: Waiter::Goroutine, ..awaited(None, &calls, 8, ms) }
    };
    let lock = ["internal/sync.runtime_SemacquireMutex", "internal/sync.(*Mutex).lockSlow", "main.reserve"];
    let group = ["sync.runtime_SemacquireWaitGroup", "sync.(*WaitGroup).Wait"];
    let descriptor = ["internal/poll.runtime_Semacquire", "internal/poll.(*fdMutex).rwlock"];
    let all = vec![by(&group, 7_900), by(&lock, 4_000), by(&descriptor, 7_900)];
    let Cause::Lock { address, function, waits, wait_ns, waiter, threads, .. } = only(held_inside(all))
    else {
        panic!("a lock")
    };
    assert_eq!((address, function.as_deref()), (Some(0xc000_1000), Some("main.reserve")));
    assert_eq!((waits, wait_ns, waiter, threads), (None, 4e6, Waiter::Goroutine, 8));
    assert_eq!(held_inside(vec![by(&group, 7_900), by(&descriptor, 7_900)]), [], "these wait for work");
    assert_eq!(held_inside(vec![by(&lock, 1_500)]), [], "eight wait for a fifth of their time at least");
    let read = ["sync.runtime_SemacquireRWMutexR", "main.stock"];
    let Cause::Lock { function, .. } = only(held_inside(vec![by(&read, 4_000)])) else { panic!("a lock") };
    assert_eq!(function.as_deref(), Some("main.stock"));
}

#[test]
fn a_lock_of_java_is_told_by_its_class_and_a_pool_without_work_is_not() {
    let of = |class, ms| awaited(Some(class), &[], 4, ms);
    let [lock, condition, queue, latch] = [
        "java.util.concurrent.locks.ReentrantLock$FairSync",
        "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject",
        "java.util.concurrent.SynchronousQueue$TransferStack",
        "java.util.concurrent.CountDownLatch$Sync",
    ];
    let idle = || vec![of(condition, 3_900), of(queue, 3_900), of(latch, 3_900)];
    assert_eq!(held_inside(idle()), []);
    let all = idle().into_iter().chain([of(lock, 1_200)]).collect();
    let Cause::Lock { class, function, threads, .. } = only(held_inside(all)) else { panic!("a lock") };
    assert_eq!((class.as_deref(), function, threads), (Some(lock), None, 4));
    let taken =
        awaited(Some(lock), &[("jdk.internal.misc.Unsafe.park", ""), ("shop.Stock.reserve", "")], 4, 1_200);
    let Cause::Lock { function, .. } = only(held_inside(vec![taken])) else { panic!("a lock") };
    assert_eq!(function.as_deref(), Some("shop.Stock.reserve"));
}

/// Four of forty threads have work at a time, of which three wait for the lock. Each thread's turn comes.
#[test]
fn threads_of_a_pool_do_not_want_a_lock_while_they_have_no_work() {
    let ids = || (0..40).collect();
    let lock = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
    let lock = Awaited { waiter_ids: ids(), ..awaited(Some(lock), &[], 40, 3_000) };
    let pool = |calls: &[(&str, &str)]| {
        let class = Some("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject");
        Awaited { waiter_ids: ids(), ..awaited(class, calls, 40, 36_000) }
    };
    let park = ("jdk.internal.misc.Unsafe.park", "");
    let idle = [park, ("java.util.concurrent.ThreadPoolExecutor.getTask", ""), ("java.lang.Thread.run", "")];
    let [(Cause::Lock { threads, .. }, share)] = &held_inside(vec![pool(&idle), lock.clone()])[..] else {
        panic!("a lock")
    };
    assert!(*threads == 40 && (share - 0.75).abs() < 1e-9, "{share}");
    let at_work = [park, ("shop.Stock.ask", ""), ("java.lang.Thread.run", "")];
    assert_eq!(held_inside(vec![pool(&at_work), lock.clone()]), [], "the program waits for something else");
    assert_eq!(held_inside(vec![pool(&idle[..2]), lock.clone()]), [], "what called the pool is not known");
    let others = Awaited { waiter_ids: (40..80).collect(), ..pool(&idle) };
    assert_eq!(held_inside(vec![others, lock]), [], "those of another pool");
}

/// The slices have different lengths, so it is the number of those that wait at a time which decides.
#[test]
fn of_a_lock_in_either_slice_the_one_is_told_for_which_more_wait_at_a_time() {
    let told = |by_kernel_ms| {
        let found = spoilt(|sampled, traced| {
            let class = Some("java.util.concurrent.locks.StampedLock");
            sampled.awaited = vec![awaited(class, &[], 4, 2_000)];
            traced.loaded_ns = Nanos::from_millis(100);
            let time_ns = Nanos::from_millis(by_kernel_ms);
            traced.locks = vec![Lock { address: 1, waits: 9, threads: 4, time_ns, callers: Vec::new() }];
        });
        match only(found) {
            Cause::Lock { address, .. } => address,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((told(190), told(210)), (Some(0xc000_1000), Some(1)));
}

#[test]
fn where_calls_were_lost_nothing_is_concluded_from_those_that_are_left() {
    let lost = |lost| {
        spoilt(|_, traced| {
            traced.calls.push(call("fdatasync", ANSWERS, Nanos::from_millis(800), 0));
            traced.lost = lost;
        })
    };
    let events = 2 * 4 * ANSWERS;
    assert!(matches!(only(lost(events / 25)), Cause::Disk { .. }));
    assert_eq!(lost(events / 15), []);
}

#[test]
fn waiting_for_the_disk_is_told_by_its_call() {
    let synced =
        |ms| spoilt(|_, traced| traced.calls.push(call("fdatasync", ANSWERS, Nanos::from_millis(ms), 0)));
    let told = Cause::Disk { call: "fdatasync".to_owned(), calls: 1.0, ns: 800e3 };
    assert_eq!(only(synced(800)), told);
    assert_eq!(synced(100), []);
    let by_many = spoilt(|_, traced| {
        let often = call("fdatasync", ANSWERS, Nanos::from_millis(800), 0);
        traced.calls.push(SystemCall { threads: 16, ..often });
    });
    assert_eq!(by_many, [], "sixteen threads wait for a twentieth of their time each");
}

#[test]
fn one_thread_is_told_where_others_have_nothing_to_do() {
    let busy = |cpus, all_ms: u64| {
        spoilt(|sampled, _| {
            sampled.cpus = cpus;
            sampled.usage.busiest_thread_ns = Some(Nanos::from_millis(990));
            sampled.usage.user_ns = Nanos::from_millis(all_ms - 200);
        })
    };
    let Cause::OneThread { thread, busy_share, cpus, used } = only(busy(4, 1_100)) else {
        panic!("a thread")
    };
    assert_eq!((thread.as_str(), busy_share, cpus), ("worker", 0.99, 4));
    assert!((used - 1.1).abs() < 1e-9);
    let named = spoilt(|sampled, _| {
        sampled.cpus = 4;
        sampled.usage.busiest_thread_ns = Some(Nanos::from_millis(990));
        sampled.usage.user_ns = Nanos::from_millis(900);
        sampled.busiest_thread = Some("acceptor".to_owned());
    });
    let Cause::OneThread { thread, .. } = only(named) else { panic!("a thread") };
    assert_eq!(thread, "acceptor", "many of one name were seen more often together");
    let late = |cpu_ms, delay_ms| {
        spoilt(|sampled, _| {
            sampled.cpus = 4;
            sampled.usage.user_ns = Nanos::from_millis(cpu_ms);
            sampled.usage.busiest_thread_ns = Some(Nanos::from_millis(cpu_ms));
            sampled.busiest_thread_delay_ns = Some(Nanos::from_millis(delay_ms));
        })
    };
    let Cause::OneThread { busy_share, .. } = only(late(880, 80)) else { panic!("a thread") };
    assert!((busy_share - 0.96).abs() < 1e-9, "it waits for a CPU and has work: {busy_share}");
    assert_eq!(late(880, 20), [], "it has nothing to do for a tenth of the time");
    assert_eq!(late(500, 500), [], "somebody else has its CPU");
    assert_eq!(busy(4, 3_900), [], "all are busy");
    assert_eq!(busy(1, 999), [], "it has all there is");
}

#[test]
fn collecting_is_told_from_a_tenth_of_the_cpu_time() {
    let collecting = |samples| {
        spoilt(|sampled, _| {
            let stack = CallStack { owner: Owner::Server, thread: 1, frames: vec![2], samples };
            sampled.stacks.push(stack);
        })
    };
    let Cause::Collector { ns } = only(collecting(250)) else { panic!("a collector") };
    assert!((ns - 100e3).abs() < 1.0, "a fifth of half a millisecond: {ns}");
    assert_eq!(collecting(50), []);
}

#[test]
fn many_small_pieces_are_told_and_large_ones_and_conversations_are_not() {
    let calls = |name: &'static str, count: u64, bytes: u64| {
        spoilt(|_, traced| {
            traced.calls.push(call(name, ANSWERS * count, Nanos::ZERO, ANSWERS * count * bytes))
        })
    };
    let told = |found| match only(found) {
        Cause::SmallBuffers { sends, calls, bytes } => (sends, calls.round(), bytes.round()),
        other => panic!("{other:?}"),
    };
    assert_eq!(told(calls("sendto", 63, 64)), (true, 64.0, 65.0));
    assert_eq!(told(calls("recvfrom", 9, 512)), (false, 10.0, 469.0));
    assert_eq!(calls("sendto", 63, 65_536), [], "so large a body takes so many");
    assert_eq!(calls("sendto", 2, 64), []);
    let database = spoilt(|_, traced| {
        traced.calls.push(call("sendto", ANSWERS * 20, Nanos::ZERO, ANSWERS * 800));
        traced.calls.push(call("recvfrom", ANSWERS * 20, Nanos::ZERO, ANSWERS * 900));
    });
    assert_eq!(database, [], "it asks somebody else");
}

#[test]
fn threads_that_wait_for_a_cpu_are_told() {
    let queueing = |ms| spoilt(|sampled, _| sampled.usage.run_delay_ns = Some(Nanos::from_millis(ms)));
    let told = Cause::RunQueue { delay_ns: 1.5e6, cpu_ns: 500e3, threads: 4, cpus: 1 };
    assert_eq!(only(queueing(1_500)), told);
    assert_eq!(queueing(300), []);
    let others = spoilt(|sampled, _| {
        sampled.usage.run_delay_ns = Some(Nanos::from_millis(1_500));
        sampled.others = 600;
    });
    assert_eq!(others, [], "other programs have its CPU");
    let mut unseen = good();
    unseen.sampled.usage.run_delay_ns = Some(Nanos::from_millis(1_500));
    unseen.refused = vec![Refused { what: Facet::Others, why: "no right".to_owned() }];
    assert_eq!(causes(&unseen), [], "who has its CPU is not known");
    let alone = spoilt(|sampled, _| {
        sampled.usage =
            Usage { threads: 1, run_delay_ns: Some(Nanos::from_millis(1_500)), ..sampled.usage.clone() };
    });
    assert_eq!(alone, [], "one thread waits for none of its own");
    let gone = spoilt(|sampled, _| {
        sampled.usage =
            Usage { threads: 1, run_delay_ns: Some(Nanos::from_millis(1_500)), ..sampled.usage.clone() };
        sampled.most_threads = 9;
    });
    assert!(matches!(only(gone), Cause::RunQueue { threads: 9, .. }), "threads end with their connections");
}

fn lock_of(share: f64) -> (Cause, f64) {
    let by = Cause::Lock {
        address: Some(1),
        class: None,
        function: None,
        waits: Some(1.0),
        wait_ns: share * 1e6,
        waiter: Waiter::Thread,
        threads: 1,
    };
    (by, share)
}

#[test]
fn most_restarts_must_show_it_and_the_middle_one_tells_it() {
    let held = in_order(vec![vec![lock_of(0.3)], vec![lock_of(0.9)], vec![], vec![lock_of(0.5)]], false);
    let [HeldUp { share, restarts, .. }] = held.as_slice() else { panic!("{held:?}") };
    assert_eq!((*share, *restarts), (0.5, 3));
    assert_eq!(in_order(vec![vec![lock_of(0.5)], vec![]], false), [], "half is not most");
    assert_eq!(in_order(Vec::new(), true), []);
}

#[test]
fn a_busy_server_is_held_up_by_its_work_and_an_idle_one_by_its_waits() {
    let queue = (Cause::RunQueue { delay_ns: 9.0, cpu_ns: 1.0, threads: 9, cpus: 1 }, 0.9);
    let collector = (Cause::Collector { ns: 1.0 }, 0.4);
    let both = || vec![vec![queue.clone(), lock_of(0.5), collector.clone(), lock_of(0.5)]];
    let names = |busy| -> Vec<char> {
        let name = |held: HeldUp| match held.by {
            Cause::Lock { .. } => 'l',
            Cause::Collector { .. } => 'c',
            _ => 'q',
        };
        in_order(both(), busy).into_iter().map(name).collect()
    };
    assert_eq!(names(true), ['c', 'q', 'l'], "what is queued for is named before the queue");
    assert_eq!(names(false), ['l', 'c', 'q']);
}
