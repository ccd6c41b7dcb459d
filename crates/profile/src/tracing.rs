//! System calls of a server, followed while it is under load (kernel: trace/events.rst, `raw_syscalls`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_host::counters::reason;
use assay_host::sampler::Sampler;
use assay_host::tracepoint::number;
use assay_model::profile::{Facet, Lock, Refused, Traced};
use assay_model::units::Nanos;
use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, SampleFlag};

use crate::calls::{Calls, Event, LockPlace, Waited, lock_of};
use crate::gathered::RawStack;
use crate::naming::Names;
use crate::ring::{Place, Ring};
use crate::target::Target;

/// Size of a ring, in bytes: the events of 20 ms at a million calls per second.
const RING: usize = 1 << 21;
/// Most locks that are kept, and most calls that lead to one: those that explain something.
const MOST_LOCKS: usize = 8;
const DEEPEST: usize = 24;
/// Time between two looks at the rings.
const LOOK: Duration = Duration::from_millis(5);

/// A server's system calls, being followed.
#[derive(Debug)]
pub struct Tracing {
    target: Target,
    usage: Option<Sampler>,
    over: Arc<AtomicBool>,
    following: JoinHandle<Calls>,
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
            move || follow(rings, &over)
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
        let calls =
            self.following.join().map_err(|_| refused("the thread that follows system calls has failed"))?;
        let usage = usage.ok_or_else(|| refused("the server ended in the slice"))?.usage;
        let lost = calls.lost;
        let made = calls.of(&processes);
        let locks = longest(made.locks);
        Ok(Traced { answers, usage, calls: made.calls, locks, lost, ..Traced::default() })
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
    builder.sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::RAW | SampleFlag::CALLCHAIN);
    builder.exclude_callchain_kernel(true);
    builder
}

/// The locks that were waited for longest, with the names of those who wait.
fn longest(locks: BTreeMap<LockPlace, (Waited, Vec<u64>)>) -> Vec<Lock> {
    let mut locks: Vec<(LockPlace, (Waited, Vec<u64>))> = locks.into_iter().collect();
    locks.sort_by_key(|(_, (waited, _))| std::cmp::Reverse(waited.time_ns));
    locks.truncate(MOST_LOCKS);
    let names = Names::new();
    let lock = |((pid, address), (waited, way)): (LockPlace, (Waited, Vec<u64>))| Lock {
        address,
        waits: waited.waits,
        threads: u32::try_from(waited.threads.len()).unwrap_or(u32::MAX),
        time_ns: Nanos(waited.time_ns),
        callers: names.frames(pid, &way),
    };
    locks.into_iter().map(lock).collect()
}

fn follow(mut rings: Vec<Rings>, over: &AtomicBool) -> Calls {
    let mut calls = Calls::default();
    loop {
        let is_last = over.load(Ordering::Relaxed);
        for Rings { entries, exits, ways } in &mut rings {
            if is_last {
                entries.stop();
                exits.stop();
                ways.iter_mut().for_each(Ring::stop);
            }
            if let Some(ring) = ways {
                note_ways(ring, &mut calls);
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
            return calls;
        }
        std::thread::sleep(LOOK);
    }
}

/// Notes how threads came to wait for locks. Ways that are lost are few among many alike.
fn note_ways(ring: &mut Ring, calls: &mut Calls) {
    ring.drain(|sample| {
        let (Some(pid), Some(tid)) = (sample.pid(), sample.tid()) else { return };
        if let Some(lock) = lock_of(sample.raw().unwrap_or_default()) {
            let mut way = RawStack::of(pid, tid, sample.callchain().unwrap_or_default()).user;
            way.truncate(DEEPEST);
            calls.add_way((pid, lock), way);
        }
    });
}

type Reading = fn(u64, u32, u32, &[u8]) -> Option<Event>;
