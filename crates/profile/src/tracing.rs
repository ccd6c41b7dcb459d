//! System calls of a server, followed while it is under load (kernel: trace/events.rst, `raw_syscalls`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_host::counters::reason;
use assay_host::sampler::Sampler;
use assay_host::tracepoint::number;
use assay_model::profile::{Facet, Lock, Parked, Refused, Traced};
use assay_model::units::Nanos;
use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, SampleFlag};

use crate::calls::{Calls, Event, LockPlace, Wait, Waited, Way, wait_of};
use crate::gathered::RawStack;
use crate::naming::Names;
use crate::ring::{Place, Ring};
use crate::target::Target;
use crate::ways::{Entered, Ways};

/// Size of a ring, in bytes: the events of 20 ms at a million calls per second.
const RING: usize = 1 << 21;
/// Most locks that are kept, and most calls that lead to one: those that explain something.
const MOST_LOCKS: usize = 8;
const DEEPEST: usize = 24;
/// Most ways to other waits that are kept: threads that wait for work wait longest, and go few ways.
const MOST_WAYS: usize = 16;
/// The C library's function by which programs make calls of their own. It has no frame, so who called it is not in the chain that frame
/// pointers make: the word at the top of the stack is where it returns to.
const FRAMELESS: &str = "syscall";
/// The word at the top of the stack, in bytes.
const TOP: usize = 8;
/// Time between two looks at the rings.
const LOOK: Duration = Duration::from_millis(5);

/// A server's system calls, being followed.
#[derive(Debug)]
pub struct Tracing {
    target: Target,
    usage: Option<Sampler>,
    over: Arc<AtomicBool>,
    following: JoinHandle<Followed>,
}

/// What was followed. Nothing of it has a name before the load is over: to read the symbols of a program takes longer than the rings
/// have room for.
#[derive(Debug, Default)]
struct Followed {
    calls: Calls,
    ways: Ways,
}

/// Finds who called a function that has no frame.
struct Callers<'n> {
    names: &'n Names,
    /// Whether the function at an address of a process has none.
    frameless: HashMap<(u32, u64), bool>,
}

/// The rings of one CPU.
struct Rings {
    entries: Ring,
    exits: Ring,
    /// Entries into futex(2) with the calls that led to them; absent where the kernel traces no single calls.
    ways: Option<Ring>,
}

impl Tracing {
    /// Begins to follow all system calls on the CPUs of the target.
    ///
    /// # Errors
    /// Where that is not allowed, or the target has no CPUs of its own.
    pub fn start(target: Target) -> Result<Self, Refused> {
        let refused = |why: String| Refused { what: Facet::SystemCalls, why };
        let Some(cpus) = &target.cpus else {
            return Err(refused(
                "only on CPUs that a server has to itself are system calls followed".to_owned(),
            ));
        };
        let [entry, exit] = ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"].map(number);
        let (entry, exit) = (entry.map_err(refused)?, exit.map_err(refused)?);
        let futex = number("syscalls/sys_enter_futex").ok();
        let on = |cpu: u32| {
            let open = |number| Ring::open(&event(number), Place::Cpu(cpu), RING);
            // Exits first: an entry without its return would count as a call that still goes on.
            let exits = open(exit)?;
            let ways =
                futex.and_then(|number| Ring::open(&event_with_way(number), Place::Cpu(cpu), RING).ok());
            Ok(Rings { entries: open(entry)?, exits, ways })
        };
        let rings: std::io::Result<Vec<Rings>> = cpus.iter().map(on).collect();
        let rings = rings.map_err(|error| refused(reason(&error)))?;
        let over = Arc::new(AtomicBool::new(false));
        let usage = Sampler::start_all(&target.roots).ok();
        let following = std::thread::spawn({
            let over = Arc::clone(&over);
            let beside = target.clone();
            move || {
                beside.keep_clear();
                follow(rings, &over)
            }
        });
        Ok(Self { target, usage, over, following })
    }

    /// Ends it; `answers` were given in the meantime.
    ///
    /// # Errors
    /// When the server has ended.
    pub fn finish(self, answers: u64) -> Result<Traced, Refused> {
        let refused = |why: &str| Refused { what: Facet::SystemCalls, why: why.to_owned() };
        let processes = self.target.processes();
        let usage = self.usage.and_then(|sampler| sampler.finish().ok());
        self.over.store(true, Ordering::Relaxed);
        let followed = self.following.join();
        let Followed { mut calls, ways } =
            followed.map_err(|_| refused("the thread that follows system calls has failed"))?;
        let usage = usage.ok_or_else(|| refused("the server ended in the slice"))?.usage;
        let names = Names::new();
        note_ways(&ways, &processes, &names, &mut calls);
        let lost = calls.lost;
        let made = calls.of(&processes);
        let (locks, parked) = (named_locks(&names, made.locks), named_parked(&names, made.parked));
        Ok(Traced { answers, usage, calls: made.calls, locks, parked, lost, ..Traced::default() })
    }
}

fn event(number: u64) -> Builder<'static> {
    let mut builder = Builder::new(Tracepoint::with_id(number));
    builder.sample_period(1).include_kernel().include_hv();
    // One clock for all CPUs, because a thread may return on another than it entered on.
    builder.clockid(Clock::MONOTONIC);
    builder.sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::RAW);
    builder
}

/// An event with the calls in the program that led there: of few calls, because it costs more.
fn event_with_way(number: u64) -> Builder<'static> {
    let mut builder = event(number);
    let told = SampleFlag::TID | SampleFlag::TIME | SampleFlag::RAW | SampleFlag::CALLCHAIN;
    builder.sample(told | SampleFlag::STACK_USER);
    builder.sample_stack_user(TOP as u32);
    builder.exclude_callchain_kernel(true);
    builder
}

/// The locks that were waited for longest, with the names of those who wait.
fn named_locks(names: &Names, locks: BTreeMap<LockPlace, (Waited, Vec<u64>)>) -> Vec<Lock> {
    let lock = |((pid, address), (waited, way)): (LockPlace, (Waited, Vec<u64>))| Lock {
        address,
        waits: waited.waits,
        threads: number_of(&waited),
        time_ns: Nanos(waited.time_ns),
        callers: names.frames(pid, &way),
    };
    longest(locks, MOST_LOCKS, |(waited, _)| waited).map(lock).collect()
}

/// The other waits that were longest, with the names of the calls that led to them.
fn named_parked(names: &Names, parked: BTreeMap<Way, Waited>) -> Vec<Parked> {
    let named = |((pid, way), waited): (Way, Waited)| Parked {
        waits: waited.waits,
        threads: number_of(&waited),
        thread_ids: waited.threads.iter().copied().collect(),
        time_ns: Nanos(waited.time_ns),
        callers: names.frames(pid, &way),
    };
    longest(parked, MOST_WAYS, |waited| waited).map(named).collect()
}

/// So many of the waits, the longest first.
fn longest<K, V>(
    waits: BTreeMap<K, V>,
    most: usize,
    waited: fn(&V) -> &Waited,
) -> impl Iterator<Item = (K, V)> {
    let mut waits: Vec<(K, V)> = waits.into_iter().collect();
    waits.sort_by_key(|(_, wait)| std::cmp::Reverse(waited(wait).time_ns));
    waits.into_iter().take(most)
}

fn number_of(waited: &Waited) -> u32 {
    u32::try_from(waited.threads.len()).unwrap_or(u32::MAX)
}

fn follow(mut rings: Vec<Rings>, over: &AtomicBool) -> Followed {
    let Followed { mut calls, mut ways } = Followed::default();
    loop {
        let is_last = over.load(Ordering::Relaxed);
        for Rings { entries, exits, ways: of_ways } in &mut rings {
            if is_last {
                entries.stop();
                exits.stop();
                of_ways.iter_mut().for_each(Ring::stop);
            }
            if let Some(ring) = of_ways {
                keep_ways(ring, &mut ways);
            }
            for (ring, of) in [(entries, Event::entry as Reading), (exits, Event::exit)] {
                let lost = ring.drain(|sample| {
                    let (Some(time), Some(pid), Some(tid)) = (sample.time(), sample.pid(), sample.tid())
                    else {
                        return;
                    };
                    calls.add(of(time, pid, tid, sample.raw().unwrap_or_default()));
                });
                calls.lost += lost;
            }
        }
        if is_last {
            return Followed { calls, ways };
        }
        std::thread::sleep(LOOK);
    }
}

/// Keeps how threads came to wait. Ways that are lost are few among many alike.
fn keep_ways(ring: &mut Ring, ways: &mut Ways) {
    ring.drain(|sample| {
        let (Some(pid), Some(tid)) = (sample.pid(), sample.tid()) else { return };
        let Some(wait) = wait_of(sample.raw().unwrap_or_default()) else { return };
        let mut chain = RawStack::of(pid, tid, sample.callchain().unwrap_or_default()).user;
        chain.truncate(DEEPEST);
        let top = sample
            .stack_user()
            .and_then(|stack| stack.first_chunk::<TOP>())
            .map(|top| u64::from_ne_bytes(*top));
        let time_ns = sample.time().unwrap_or_default();
        ways.add(Entered { time_ns, tid, wait, top, chain: (pid, chain) });
    });
}

/// Notes by which calls the threads of `processes` came to wait.
fn note_ways(ways: &Ways, processes: &BTreeSet<u32>, names: &Names, calls: &mut Calls) {
    let mut callers = Callers { names, frameless: HashMap::new() };
    ways.each(|Entered { time_ns, tid, wait, top, chain: (pid, chain) }| {
        if !processes.contains(pid) {
            return;
        }
        let mut way = chain.clone();
        callers.complete(*pid, &mut way, top);
        way.truncate(DEEPEST);
        match wait {
            Wait::Lock(lock) => calls.add_way((*pid, lock), way),
            Wait::Parked => calls.add_parked(time_ns, tid, (*pid, way)),
        }
    });
}

impl Callers<'_> {
    /// Puts the caller of a function that has no frame behind it, by what lies on top of the stack.
    fn complete(&mut self, pid: u32, way: &mut Vec<u64>, top: Option<u64>) {
        let (Some(innermost), Some(top)) = (way.first().copied(), top) else { return };
        let symbol = || self.names.frames(pid, &[innermost]).pop().and_then(|frame| frame.symbol);
        let known = self.frameless.get(&(pid, innermost)).copied();
        let is_frameless = known.unwrap_or_else(|| symbol().is_some_and(|symbol| symbol == FRAMELESS));
        self.frameless.insert((pid, innermost), is_frameless);
        // A return leads behind the call.
        let caller = top.saturating_sub(1);
        if is_frameless && way.get(1) != Some(&caller) {
            way.insert(1, caller);
        }
    }
}

type Reading = fn(u64, u32, u32, &[u8]) -> Option<Event>;
