//! System calls from their entries and returns, in whatever order these are read; no file, process or clock is touched here.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use assay_model::profile::SystemCall;
use assay_model::units::Nanos;

use crate::names::name_of;

/// Most events that are kept: those of a quarter of a second at two million calls per second.
const MAX_EVENTS: usize = 1 << 20;
/// Where an event's number of the call stands, and what follows it, behind the head that all events of the kernel's tracing have
/// (`events/raw_syscalls/*/format` in tracefs; the same since they exist).
const NUMBER: usize = 8;
const RESULT: usize = 16;
/// Where the arguments of futex(2) stand: the address of the word, what is done, and the value that the word must have.
const FUTEX: [usize; 3] = [16, 24, 32];
/// What is done, without its flags (linux/futex.h): `FUTEX_WAIT` and `FUTEX_WAIT_BITSET`.
const FUTEX_COMMANDS: i64 = 0x7f;
const FUTEX_WAITS: [i64; 2] = [0, 9];
/// The value of a lock that is held and for which others wait, in glibc, Rust and Go (U. Drepper, *Futexes Are Tricky*, 2011, "Mutex,
/// Take 2"): so a thread that waits for work, at a condition or parked, is not taken for one that waits for a lock.
const CONTENDED: i64 = 2;
/// Results from here up are errors (errno(3), negated).
const FIRST_ERROR: i64 = -4095;
/// Most ways to one lock, and most locks to which ways are kept.
const MAX_WAYS: usize = 256;
/// Most ways to other waits, and most of these.
const MAX_PARKED_WAYS: usize = 1024;
const MAX_PARKED: usize = 1 << 18;
/// How much before the entry into its call the way of a wait may be timed: both events are of one entry, in either order.
const SLACK_NS: u64 = 100_000;

/// One side of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) time_ns: u64,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    number: i64,
    /// What it returned; absent for an entry.
    end: Option<i64>,
    /// What an entry into futex(2) waits for.
    wait: Option<Wait>,
}

/// What a call of futex(2) waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A lock whose word is at this address and says that others wait.
    Lock(u64),
    /// Something that its word does not tell: work mostly, or a lock that parks its threads.
    Parked,
}

/// A process and the calls that led to a wait: addresses in the program, innermost first.
pub(crate) type Way = (u32, Vec<u64>);

/// A lock by process and address.
pub(crate) type LockPlace = (u32, u64);

/// Waits for a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    pub(crate) waits: u64,
    pub(crate) threads: BTreeSet<u32>,
    pub(crate) time_ns: u64,
}

/// What some processes called, and the locks that they waited for.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Made {
    /// Calls that ended, most time first.
    pub(crate) calls: Vec<SystemCall>,
    /// Locks, and where the calls came from that waited most often.
    pub(crate) locks: BTreeMap<LockPlace, (Waited, Vec<u64>)>,
    /// Other waits, by the way that led to them.
    pub(crate) parked: BTreeMap<Way, Waited>,
}

/// Calls of one number.
#[derive(Clone, Default)]
struct Sum {
    count: u64,
    failed: u64,
    threads: BTreeSet<u32>,
    time_ns: u64,
    returned: u64,
}

/// The events of a slice.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    events: Vec<Event>,
    /// How often each way led to a wait for a lock: addresses in the program, innermost first.
    ways: HashMap<LockPlace, HashMap<Vec<u64>, u64>>,
    /// Ways to other waits, each once, and when which thread went which, by its place among them.
    parked_ways: HashMap<Way, usize>,
    parked: HashMap<u32, Vec<(u64, usize)>>,
    all_parked: usize,
    /// Events that were not kept, here or by the kernel.
    pub(crate) lost: u64,
}

impl Event {
    /// The entry into a call, as the kernel wrote it.
    pub(crate) fn entry(time_ns: u64, pid: u32, tid: u32, raw: &[u8]) -> Option<Self> {
        let number = word(raw, NUMBER)?;
        let wait = if number == libc::SYS_futex { wait_of(raw) } else { None };
        Some(Self { time_ns, pid, tid, number, end: None, wait })
    }

    /// The return from a call.
    pub(crate) fn exit(time_ns: u64, pid: u32, tid: u32, raw: &[u8]) -> Option<Self> {
        let (number, end) = (word(raw, NUMBER)?, Some(word(raw, RESULT)?));
        Some(Self { time_ns, pid, tid, number, end, wait: None })
    }
}

/// What a call of futex(2) waits for, if it waits.
pub(crate) fn wait_of(raw: &[u8]) -> Option<Wait> {
    let [address, command, value] = FUTEX.map(|at| word(raw, at));
    // Both are ints: what stands above them in their registers is nothing.
    let (command, value) = (command? & FUTEX_COMMANDS, value? & i64::from(u32::MAX));
    let address = address?.cast_unsigned();
    let wait = if value == CONTENDED { Wait::Lock(address) } else { Wait::Parked };
    FUTEX_WAITS.contains(&command).then_some(wait)
}

fn word(raw: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_ne_bytes(raw.get(at..at + 8)?.try_into().ok()?))
}

impl Calls {
    /// Keeps an event.
    pub(crate) fn add(&mut self, event: Option<Event>) {
        match event {
            Some(event) if self.events.len() < MAX_EVENTS => self.events.push(event),
            _ => self.lost += 1,
        }
    }

    /// Notes by which calls a thread came to wait for a lock.
    pub(crate) fn add_way(&mut self, lock: LockPlace, way: Vec<u64>) {
        let has_room = self.ways.len() < MAX_WAYS || self.ways.contains_key(&lock);
        if !has_room {
            return;
        }
        let ways = self.ways.entry(lock).or_default();
        if ways.len() < MAX_WAYS || ways.contains_key(&way) {
            *ways.entry(way).or_default() += 1;
        }
    }

    /// Notes by which calls a thread came to wait for something else.
    pub(crate) fn add_parked(&mut self, time_ns: u64, tid: u32, way: Way) {
        let next = self.parked_ways.len();
        let has_room = next < MAX_PARKED_WAYS || self.parked_ways.contains_key(&way);
        if has_room && self.all_parked < MAX_PARKED {
            let place = *self.parked_ways.entry(way).or_insert(next);
            self.parked.entry(tid).or_default().push((time_ns, place));
            self.all_parked += 1;
        }
    }

    /// What `processes` called, as far as it ended. A call that had begun before the slice counts, but not its time; one that
    /// still goes on does not count.
    pub(crate) fn of(mut self, processes: &BTreeSet<u32>) -> Made {
        self.events.retain(|event| processes.contains(&event.pid));
        self.events.sort_by_key(|event| event.time_ns);
        let mut began: HashMap<u32, Event> = HashMap::new();
        let mut sums: HashMap<i64, Sum> = HashMap::new();
        let mut locks: BTreeMap<LockPlace, Waited> = BTreeMap::new();
        let mut parked: BTreeMap<usize, Waited> = BTreeMap::new();
        self.parked.values_mut().for_each(|ways| ways.sort_unstable());
        for event in self.events {
            let Some(result) = event.end else {
                began.insert(event.tid, event);
                continue;
            };
            let entry = began.remove(&event.tid).filter(|entry| entry.number == event.number);
            let time_ns = entry.map_or(0, |entry| event.time_ns - entry.time_ns);
            sums.entry(event.number).or_default().add(event.tid, result, time_ns);
            match entry.and_then(|entry| Some((entry.wait?, entry.time_ns))) {
                Some((Wait::Lock(lock), _)) => {
                    locks.entry((event.pid, lock)).or_default().add(event.tid, time_ns);
                }
                Some((Wait::Parked, from)) => {
                    if let Some(way) = way_between(self.parked.get(&event.tid), from, event.time_ns) {
                        parked.entry(way).or_default().add(event.tid, time_ns);
                    }
                }
                None => {}
            }
        }
        let mut calls: Vec<SystemCall> = sums.into_iter().map(|(number, sum)| sum.of(number)).collect();
        calls.sort_by(|a, b| b.time_ns.cmp(&a.time_ns).then_with(|| a.name.cmp(&b.name)));
        let mut way_to = |lock: &LockPlace| most_frequent(self.ways.remove(lock).unwrap_or_default());
        let locks = locks.into_iter().map(|(lock, waited)| (lock, (waited, way_to(&lock)))).collect();
        let ways = self.parked_ways.into_iter();
        let parked = ways.filter_map(|(way, place)| Some((way, parked.remove(&place)?))).collect();
        Made { calls, locks, parked }
    }
}

impl Sum {
    fn add(&mut self, tid: u32, result: i64, time_ns: u64) {
        self.count += 1;
        self.threads.insert(tid);
        self.time_ns += time_ns;
        match (FIRST_ERROR..0).contains(&result) {
            true => self.failed += 1,
            false => self.returned = self.returned.saturating_add(result.cast_unsigned()),
        }
    }

    fn of(self, number: i64) -> SystemCall {
        let Self { count, failed, threads, time_ns, returned } = self;
        let threads = u32::try_from(threads.len()).unwrap_or(u32::MAX);
        SystemCall { name: name_of(number), count, failed, threads, time_ns: Nanos(time_ns), returned }
    }
}

impl Waited {
    fn add(&mut self, tid: u32, time_ns: u64) {
        self.waits += 1;
        self.threads.insert(tid);
        self.time_ns += time_ns;
    }
}

/// The way that a thread went last of those noted from the entry into a call to its return.
fn way_between(ways: Option<&Vec<(u64, usize)>>, from: u64, to: u64) -> Option<usize> {
    let ways = ways?;
    let (time, way) = ways.get(ways.partition_point(|(time, _)| *time <= to).checked_sub(1)?)?;
    (time + SLACK_NS >= from).then_some(*way)
}

/// The way that was taken most often; of equals the one that is smaller, so that the same events tell the same.
fn most_frequent(ways: HashMap<Vec<u64>, u64>) -> Vec<u64> {
    let best = ways.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
    best.map(|(way, _)| way).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(number: i64, result: i64) -> Vec<u8> {
        [[0; 8], number.to_ne_bytes(), result.to_ne_bytes()].concat()
    }

    #[test]
    fn entries_and_returns_pair_by_thread_in_whatever_order_they_come() {
        let (read, write) = (libc::SYS_read, libc::SYS_write);
        let mut calls = Calls::default();
        // Two threads, and the returns of the first read before their entries, as from another CPU's ring.
        calls.add(Event::exit(150, 1, 11, &raw(read, 5)));
        calls.add(Event::exit(900, 1, 12, &raw(write, -11)));
        calls.add(Event::entry(100, 1, 11, &raw(read, 0)));
        calls.add(Event::entry(500, 1, 12, &raw(write, 0)));
        calls.add(Event::exit(40, 1, 11, &raw(write, 7)));
        calls.add(Event::entry(950, 1, 12, &raw(write, 0)));
        calls.add(Event::entry(0, 2, 21, &raw(read, 0)));
        calls.add(Event::exit(10, 2, 21, &raw(read, 0)));
        let made = calls.of(&[1].into());
        let of = |name: &str, count, failed, threads, ns, returned| SystemCall {
            name: name.to_owned(),
            count,
            failed,
            threads,
            time_ns: Nanos(ns),
            returned,
        };
        assert_eq!(made.calls, [of("write", 2, 1, 2, 400, 7), of("read", 1, 0, 1, 50, 5)]);
        assert!(made.locks.is_empty());
    }

    /// The arguments of a call of futex(2) as they stand in its entry.
    fn futex(address: u64, command: i64, value: i64) -> Vec<u8> {
        let words = [libc::SYS_futex, address.cast_signed(), command, value];
        [vec![0; 8], words.into_iter().flat_map(i64::to_ne_bytes).collect()].concat()
    }

    #[test]
    fn waits_for_a_lock_are_told_by_its_address_and_waits_for_work_are_not() {
        const PRIVATE: i64 = 128;
        let (lock, condition) = (0x5500_0000_1000, 0x5500_0000_2000);
        let mut calls = Calls::default();
        let mut wait = |tid, begin, end, arguments: &[u8]| {
            calls.add(Event::entry(begin, 1, tid, arguments));
            calls.add(Event::exit(end, 1, tid, &raw(libc::SYS_futex, 0)));
        };
        wait(11, 100, 400, &futex(lock, PRIVATE, 2));
        // Rust waits by the bit set of all bits, and glibc's 32 bits may have anything above them.
        wait(12, 100, 900, &futex(lock, 9 | PRIVATE, 2 | (7 << 32)));
        // At a condition, whose word counts; a parked thread; and one that wakes others.
        wait(11, 1_000, 9_000, &futex(condition, 9 | PRIVATE, 38));
        wait(12, 1_000, 9_000, &futex(condition, PRIVATE, i64::from(u32::MAX)));
        wait(13, 1_000, 9_000, &futex(lock, 1 | PRIVATE, 2));
        (0..2).for_each(|_| calls.add_way((1, lock), vec![5, 6]));
        calls.add_way((1, lock), vec![7]);
        let made = calls.of(&[1].into());
        let waited = Waited { waits: 2, threads: [11, 12].into(), time_ns: 1_100 };
        assert_eq!(made.locks, [((1, lock), (waited, vec![5, 6]))].into());
        assert!(made.parked.is_empty(), "no way is known");
    }

    #[test]
    fn other_waits_are_told_by_the_way_that_led_to_each() {
        let mut calls = Calls::default();
        let park = |value| futex(0x5500_0000_3000, 128, value);
        let mut wait = |tid, begin, end, way: Option<(u64, Vec<u64>)>| {
            calls.add(Event::entry(begin, 1, tid, &park(1)));
            calls.add(Event::exit(end, 1, tid, &raw(libc::SYS_futex, 0)));
            way.into_iter().for_each(|(at, way)| calls.add_parked(at, tid, (1, way)));
        };
        let (for_lock, for_work) = (vec![1, 2, 3], vec![1, 9]);
        wait(11, 1_000_000, 1_000_400, Some((999_990, for_lock.clone())));
        wait(11, 2_000_000, 2_009_000, Some((2_000_010, for_work.clone())));
        wait(12, 3_000_000, 3_000_600, Some((3_000_001, for_lock.clone())));
        // The way of this one was lost, and the one before is no other's.
        wait(12, 5_000_000, 5_000_100, None);
        let parked = calls.of(&[1].into()).parked;
        let waited = |waits, threads: &[u32], time_ns| Waited {
            waits,
            threads: threads.iter().copied().collect(),
            time_ns,
        };
        let expected =
            [((1, for_lock), waited(2, &[11, 12], 1_000)), ((1, for_work), waited(1, &[11], 9_000))];
        assert_eq!(parked, expected.into());
    }

    #[test]
    fn what_cannot_be_read_is_lost() {
        let mut calls = Calls::default();
        calls.add(Event::entry(1, 1, 1, &[0; 15]));
        calls.add(Event::exit(1, 1, 1, &[0; 16]));
        assert_eq!((calls.lost, calls.of(&[1].into()).calls.len()), (2, 0));
    }
}
