//! What holds a server's answers up: causes that a profile shows, each by a rule of its own (docs/method/why.md#what-holds-answers-up).
//!
//! While CPUs are idle an answer is late because something waits; while they are all busy it is late because they work (Denning and
//! Buzen, *The Operational Analysis of Queueing Network Models*, ACM Computing Surveys 10(3), 1978). So the one sort of cause or the
//! other stands first, and within each the one that accounts for most.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::cause::{Cause, HeldUp};
use assay_model::part::Part;
use assay_model::profile::{Awaited, Lock, Owner, Parked, Profile, Sampled, SystemCall, Traced, Waiter};
use assay_model::units::{Nanos, total};

use super::counted;
use super::events::{RECEIVING, SENDING};
use crate::SERVER_SATURATED;
use crate::budget::{function_that_locks, has_no_work, is_lock, own_function, samples_by_part};
use crate::capacity::limit::THREAD_SATURATED;

/// How long Linux delays an acknowledgement at least, in nanoseconds: `TCP_DELACK_MIN`, HZ / 25.
const DELAYED_NS: f64 = 40e6;
/// Times of an answer of which one such wait is the greater part: 38 to 60 ms.
const ONE_DELAY_NS: std::ops::RangeInclusive<f64> = 38e6..=60e6;
/// Least such waits, and least calls that send, for each answer: what is held back is the second of two pieces.
const LEAST_DELAYED: f64 = 0.25;
const LEAST_PIECES: f64 = 1.5;
/// Fewest connections that found the queue full, and least share of all that came.
const LEAST_OVERFLOWS: u64 = 3;
const LEAST_OVERFLOW_SHARE: f64 = 0.01;
/// Least share of the time that those who want a lock wait for it, and that those who write wait for the disk.
const LEAST_WAITING: f64 = 0.2;
/// Least share of the CPU time that is spent on collecting.
const LEAST_COLLECTING: f64 = 0.1;
/// Fewest calls for each answer, and most bytes of one, for pieces to be small.
const LEAST_CALLS: f64 = 4.0;
const SMALL_BYTES: f64 = 4096.0;
/// Least share of the time in which threads could have run that they waited for a CPU.
const LEAST_QUEUEING: f64 = 0.4;
/// Least share of the time that a thread is on a CPU which is taken for the one that always has work: what waits for a CPU for longer shows
/// who else has it.
const LEAST_ON_CPU: f64 = 0.75;
/// System calls that end when what was written is on the disk.
const TO_DISK: [&str; 5] = ["fdatasync", "fsync", "msync", "sync_file_range", "syncfs"];
/// Parts of the CPU time that grow with the number of pieces.
const OF_PIECES: [Part; 6] =
    [Part::Send, Part::Receive, Part::Network, Part::Sockets, Part::Entry, Part::Copying];

/// What one profile shows, each cause with the share that it accounts for; in no order.
pub(super) fn causes(profile: &Profile) -> Vec<(Cause, f64)> {
    let sampled = &profile.sampled;
    if sampled.answers == 0 {
        return Vec::new();
    }
    let traced = counted(profile);
    // Whether its own threads are too many is not known where it is not known who else has its CPUs.
    let queue = if profile.sees_others() { run_queue(sampled) } else { None };
    let of_samples =
        [accept_queue(sampled), lock(sampled, traced), one_thread(sampled), collector(profile), queue];
    let of_calls = traced.into_iter().flat_map(|traced| {
        let small = [true, false].map(|sends| small_buffers(sampled, traced, sends));
        [delayed_acknowledgement(sampled, traced), disk(traced)].into_iter().chain(small)
    });
    of_samples.into_iter().chain(of_calls).flatten().collect()
}

/// The causes that most restarts show, with the figures of the one in the middle; `is_busy` says whether the server's CPUs were.
pub(super) fn in_order(restarts: Vec<Vec<(Cause, f64)>>, is_busy: bool) -> Vec<HeldUp> {
    let of = restarts.len();
    let mut kinds: Vec<Vec<(Cause, f64)>> = Vec::new();
    for found in restarts.into_iter().flatten() {
        match kinds.iter_mut().find(|kind| is_alike(&kind[0].0, &found.0)) {
            Some(kind) => kind.push(found),
            None => kinds.push(vec![found]),
        }
    }
    let mut held: Vec<HeldUp> =
        kinds.into_iter().filter(|kind| 2 * kind.len() > of).filter_map(middle).collect();
    held.sort_by(|a, b| {
        let is_apart = |of: &HeldUp| of.by.is_work() != is_busy;
        let is_general = |of: &HeldUp| matches!(of.by, Cause::RunQueue { .. });
        let rank = |of: &HeldUp| (is_apart(of), is_general(of));
        rank(a).cmp(&rank(b)).then(b.share.total_cmp(&a.share))
    });
    held
}

/// Share of the server's CPUs that was busy in a slice, 0 to 1; `None` where it is not known how many it had.
pub(super) fn busy_share(sampled: &Sampled) -> Option<f64> {
    let time = sampled.loaded_ns.0 as f64 * f64::from(sampled.cpus);
    (time > 0.0).then(|| sampled.usage.cpu_ns().0 as f64 / time)
}

/// Whether two causes are one with other figures.
fn is_alike(a: &Cause, b: &Cause) -> bool {
    match (a, b) {
        (Cause::SmallBuffers { sends: a, .. }, Cause::SmallBuffers { sends: b, .. }) => a == b,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

fn middle(mut kind: Vec<(Cause, f64)>) -> Option<HeldUp> {
    kind.sort_by(|a, b| a.1.total_cmp(&b.1));
    let restarts = u32::try_from(kind.len()).unwrap_or(u32::MAX);
    let (by, share) = kind.swap_remove((kind.len() - 1) / 2);
    Some(HeldUp { by, share, restarts })
}

fn per(amount: u64, answers: u64) -> f64 {
    amount as f64 / answers.max(1) as f64
}

/// The second piece of an answer waits until the first is acknowledged (Nagle), and the other end waits for more to acknowledge.
/// A slow answer is not taken for one: it leaves in one piece, or takes another time.
fn delayed_acknowledgement(sampled: &Sampled, traced: &Traced) -> Option<(Cause, f64)> {
    let median_ns = sampled.median_ns?.0 as f64;
    let delayed = per(sampled.tcp.get("DelayedACKs").copied().unwrap_or(0), sampled.answers);
    let sends = per(moved(traced, &SENDING).0, traced.answers);
    let is_one = ONE_DELAY_NS.contains(&median_ns) && delayed >= LEAST_DELAYED && sends >= LEAST_PIECES;
    let cause = Cause::DelayedAcknowledgement { median_ns, delayed, sends };
    is_one.then(|| (cause, (DELAYED_NS / median_ns).min(1.0)))
}

/// The kernel counts for the whole network namespace: where the generator kept its connections, it was others' that were turned away.
fn accept_queue(sampled: &Sampled) -> Option<(Cause, f64)> {
    if sampled.remade.is_some_and(|remade| remade < LEAST_OVERFLOWS) {
        return None;
    }
    let count = |name: &str| sampled.tcp.get(name).copied().unwrap_or(0);
    let (overflows, connections) = (count("ListenOverflows"), count("PassiveOpens"));
    let share = per(overflows, total([overflows, connections]));
    let is_full = overflows >= LEAST_OVERFLOWS && share >= LEAST_OVERFLOW_SHARE;
    is_full.then_some((Cause::AcceptQueue { overflows, connections }, share))
}

/// Waits for one lock in a slice.
struct Contended<'t> {
    address: Option<u64>,
    class: Option<String>,
    function: Option<String>,
    /// Absent where they were not counted.
    waits: Option<u64>,
    waiter: Waiter,
    threads: Waiters<'t>,
    time_ns: u64,
    /// Time in which those that waited had no work, and so did not want it.
    idle_ns: f64,
    slice: Slice,
}

/// The slice in which something was seen.
#[derive(Clone, Copy)]
struct Slice {
    loaded_ns: u64,
    answers: u64,
}

/// Threads that waited.
#[derive(Default)]
struct Waiters<'t> {
    /// By their ids, as far as these are known.
    known: BTreeSet<&'t u32>,
    /// How many there were at least.
    least: u32,
}

impl<'t> Waiters<'t> {
    /// Adds those that came by one way, of whom some may have come by others too.
    fn add(&mut self, ids: &'t [u32], number: u32) {
        self.known.extend(ids);
        self.least = self.least.max(number);
    }

    fn number(&self) -> u32 {
        u32::try_from(self.known.len()).unwrap_or(u32::MAX).max(self.least)
    }
}

/// The lock for which its threads or goroutines waited longest, where they do little else.
fn lock(sampled: &Sampled, traced: Option<&Traced>) -> Option<(Cause, f64)> {
    let by_kernel = traced.into_iter().flat_map(|traced| by_word(traced).chain(parking(traced)));
    let locks = by_kernel.chain(inside_runtimes(sampled));
    let lock = locks.max_by(|a, b| a.waiting().total_cmp(&b.waiting()))?;
    let threads = lock.threads.number();
    let wanting_ns = lock.slice.loaded_ns as f64 * f64::from(threads) - lock.idle_ns;
    let share = (lock.time_ns as f64 / wanting_ns.max(1.0)).min(1.0);
    let Contended { address, class, function, waits, waiter, time_ns, slice, .. } = lock;
    let cause = Cause::Lock {
        address,
        class,
        function,
        waits: waits.map(|waits| per(waits, slice.answers)),
        wait_ns: per(time_ns, slice.answers),
        waiter,
        threads,
    };
    (slice.loaded_ns > 0 && share >= LEAST_WAITING).then_some((cause, share))
}

impl Contended<'_> {
    /// How many waited at a time, on the whole; none in a slice of no length.
    fn waiting(&self) -> f64 {
        match self.slice.loaded_ns {
            0 => 0.0,
            loaded_ns => per(self.time_ns, loaded_ns),
        }
    }
}

impl Slice {
    fn of(traced: &Traced) -> Self {
        Self { loaded_ns: traced.loaded_ns.0, answers: traced.answers }
    }
}

/// Locks whose word says that others wait.
fn by_word(traced: &Traced) -> impl Iterator<Item = Contended<'_>> {
    traced.locks.iter().map(|Lock { address, waits, threads, time_ns, callers }| Contended {
        address: Some(*address),
        class: None,
        function: own_function(callers),
        waits: Some(*waits),
        waiter: Waiter::Thread,
        threads: Waiters { least: *threads, ..Waiters::default() },
        time_ns: time_ns.0,
        idle_ns: 0.0,
        slice: Slice::of(traced),
    })
}

/// Locks that park their threads, known by the function that takes them: those that one function of the program takes are told as one,
/// because nothing else tells them apart.
fn parking(traced: &Traced) -> Vec<Contended<'_>> {
    let mut locks: BTreeMap<String, Contended<'_>> = BTreeMap::new();
    for Parked { waits, threads, thread_ids, time_ns, callers } in &traced.parked {
        let Some(function) = function_that_locks(callers) else { continue };
        let lock = locks.entry(function.clone()).or_insert_with(|| Contended {
            address: None,
            class: None,
            function: Some(function),
            waits: None,
            waiter: Waiter::Thread,
            threads: Waiters::default(),
            time_ns: 0,
            idle_ns: 0.0,
            slice: Slice::of(traced),
        });
        lock.waits = Some(lock.waits.unwrap_or(0).saturating_add(*waits));
        lock.threads.add(thread_ids, *threads);
        lock.time_ns = lock.time_ns.saturating_add(time_ns.0);
    }
    locks.into_values().collect()
}

/// Locks that a runtime keeps itself, and of which the kernel sees at most that threads are parked.
fn inside_runtimes(sampled: &Sampled) -> impl Iterator<Item = Contended<'_>> {
    sampled.awaited.iter().filter(|awaited| is_lock(awaited)).map(move |awaited| Contended {
        address: Some(awaited.address),
        class: awaited.class.clone(),
        function: own_function(&awaited.callers),
        waits: None,
        waiter: awaited.waiter,
        threads: Waiters { least: awaited.waiters, ..Waiters::default() },
        time_ns: awaited.time_ns.0,
        idle_ns: idle_ns(sampled, awaited),
        slice: Slice { loaded_ns: sampled.loaded_ns.0, answers: sampled.answers },
    })
}

/// Time in which those that waited for a lock had no work: their part of what all spent at their pools, whose threads are alike.
fn idle_ns(sampled: &Sampled, lock: &Awaited) -> f64 {
    let own = |pool: &Awaited| pool.waiter_ids.iter().filter(|id| lock.waiter_ids.contains(id)).count();
    let share = |pool: &Awaited| own(pool) as f64 / pool.waiter_ids.len().max(1) as f64;
    let pools = sampled.awaited.iter().filter(|pool| has_no_work(pool));
    pools.map(|pool| pool.time_ns.0 as f64 * share(pool)).sum()
}

fn disk(traced: &Traced) -> Option<(Cause, f64)> {
    let call = named(traced, &TO_DISK).max_by_key(|call| call.time_ns)?;
    // Time is the sum over the threads, of which an old record does not say how many they were.
    let time = traced.loaded_ns.0 as f64 * f64::from(call.threads.max(1));
    let share = call.time_ns.0 as f64 / time.max(1.0);
    let cause = Cause::Disk {
        call: call.name.clone(),
        calls: per(call.count, traced.answers),
        ns: per(call.time_ns.0, traced.answers),
    };
    (traced.loaded_ns.0 > 0 && share >= LEAST_WAITING).then_some((cause, share.min(1.0)))
}

fn one_thread(sampled: &Sampled) -> Option<(Cause, f64)> {
    let of_time = |span: Nanos| span.0 as f64 / sampled.loaded_ns.0.max(1) as f64;
    let on_cpu = of_time(sampled.usage.busiest_thread_ns?);
    // Beside its own server's threads, or the generator's, it is late for a CPU now and then, and has work all the same.
    let busy_share = on_cpu + sampled.busiest_thread_delay_ns.map_or(0.0, of_time);
    let busy = self::busy_share(sampled)?;
    let is_saturated = busy_share >= THREAD_SATURATED && on_cpu >= LEAST_ON_CPU;
    let is_alone = sampled.cpus > 1 && is_saturated && busy < SERVER_SATURATED;
    let busy_share = busy_share.min(1.0);
    let used = busy * f64::from(sampled.cpus);
    let cause = Cause::OneThread { thread: busiest(sampled), busy_share, cpus: sampled.cpus, used };
    is_alone.then_some((cause, busy_share))
}

/// Name of the busiest thread; where it is not known, the name that was seen most often, which may be of several threads.
fn busiest(sampled: &Sampled) -> String {
    if let Some(name) = &sampled.busiest_thread {
        return name.clone();
    }
    let mut samples = vec![0; sampled.threads.len()];
    for stack in sampled.stacks.iter().filter(|stack| stack.owner == Owner::Server) {
        if let Some(of) = samples.get_mut(stack.thread as usize) {
            *of = total([*of, stack.samples]);
        }
    }
    let most = samples.iter().zip(&sampled.threads).max_by_key(|(samples, _)| **samples);
    most.map_or_else(String::new, |(_, name)| name.clone())
}

fn collector(profile: &Profile) -> Option<(Cause, f64)> {
    let sampled = &profile.sampled;
    let samples = samples_by_part(sampled).get(&Part::Collector).copied()?;
    let ns = samples as f64 * profile.ns_of_a_sample()?;
    let share = ns / per(sampled.usage.cpu_ns().0, sampled.answers);
    (share >= LEAST_COLLECTING).then_some((Cause::Collector { ns }, share))
}

/// Many small calls in one direction. As many in the other are a conversation, as with a database.
fn small_buffers(sampled: &Sampled, traced: &Traced, sends: bool) -> Option<(Cause, f64)> {
    let (names, others) = if sends { (&SENDING[..], &RECEIVING[..]) } else { (&RECEIVING[..], &SENDING[..]) };
    let (count, bytes) = moved(traced, names);
    let (calls, bytes) = (per(count, traced.answers), per(bytes, count));
    let is_one_way = moved(traced, others).0 <= count / 2;
    let is_small = calls >= LEAST_CALLS && bytes <= SMALL_BYTES && is_one_way;
    // One call would do for all of them.
    let share = share_of(sampled, &OF_PIECES)? * (1.0 - 1.0 / calls.max(1.0));
    is_small.then_some((Cause::SmallBuffers { sends, calls, bytes }, share))
}

/// The server's own threads are too many, and not those of other programs on the same CPUs.
fn run_queue(sampled: &Sampled) -> Option<(Cause, f64)> {
    let threads = sampled.usage.threads.max(sampled.most_threads);
    let is_own = threads > sampled.cpus && sampled.others <= sampled.samples_of(Owner::Server) / 2;
    let (delay, cpu) = (sampled.usage.run_delay_ns?.0, sampled.usage.cpu_ns().0);
    let share = per(delay, total([delay, cpu]));
    let cause = Cause::RunQueue {
        delay_ns: per(delay, sampled.answers),
        cpu_ns: per(cpu, sampled.answers),
        threads,
        cpus: sampled.cpus,
    };
    (is_own && share >= LEAST_QUEUEING).then_some((cause, share))
}

fn named<'t>(traced: &'t Traced, names: &'t [&str]) -> impl Iterator<Item = &'t SystemCall> {
    traced.calls.iter().filter(|call| names.contains(&call.name.as_str()))
}

/// Calls of these names that moved bytes, and how many bytes.
fn moved(traced: &Traced, names: &[&str]) -> (u64, u64) {
    let moved = named(traced, names).map(|call| (call.count.saturating_sub(call.failed), call.returned));
    moved.fold((0, 0), |(calls, bytes), (more, of)| (total([calls, more]), total([bytes, of])))
}

/// Share of the server's samples in these parts; `None` without samples.
fn share_of(sampled: &Sampled, parts: &[Part]) -> Option<f64> {
    let samples = samples_by_part(sampled);
    let all = total(samples.values().copied());
    let those = total(parts.iter().filter_map(|part| samples.get(part).copied()));
    (all > 0).then(|| per(those, all))
}

#[cfg(test)]
mod tests;
