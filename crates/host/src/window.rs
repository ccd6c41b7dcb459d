//! What a tree of processes used between two snapshots: pure arithmetic that holds while processes come and
//! go.
//!
//! A worker that ended within the span is gone from the second snapshot; its CPU time is in the `reaped` time
//! of whoever waited for it, together with what it had used before the span. So: time of the ended = growth
//! of `reaped` − what the vanished had used before. The kernel gives `reaped` no time of children whose
//! parent ignores SIGCHLD (`times(2)`); that is reported as [`Window::uncounted`].

use std::collections::{BTreeMap, BTreeSet};

use assay_model::units::Nanos;
use assay_model::usage::{Usage, UsageSource};

use crate::cpuset::CpuSet;
use crate::memory;
use crate::snapshot::{CpuTime, ProcessUsage, Snapshot, ThreadUsage, tick};

/// A thread with less than one part in so many of all CPU time did not do the work.
const IDLERS_SHARE: u64 = 20;

/// What was used over a span of time.
#[derive(Clone, Debug)]
pub struct Window {
    /// All processes together. Memory peaks count from the start of each process.
    pub usage: Usage,
    /// Each process alive at the end, most CPU time first.
    pub processes: Vec<ProcessWindow>,
    /// Each thread alive at the end, most CPU time first: the first one tells whether a single thread was the
    /// limit.
    pub threads: Vec<ThreadWindow>,
    /// CPU time within the span of processes that ended in it.
    pub ended: CpuTime,
    /// How many processes vanished whose CPU time nobody was given. If not zero, `usage` is too low.
    pub uncounted: u32,
    /// Whether both snapshots were taken while nobody came or went.
    pub steady: bool,
}

/// What one process used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessWindow {
    /// Process id.
    pub pid: u32,
    /// The first 15 bytes of its name.
    pub name: String,
    /// CPU time of its own.
    pub cpu: CpuTime,
    /// Where the CPU time came from.
    pub source: UsageSource,
    /// Resident memory at the end, in bytes.
    pub rss_bytes: u64,
    /// Page faults without and with a disk access.
    pub faults: [u64; 2],
    /// Threads at the end.
    pub threads: u32,
}

/// What one thread used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadWindow {
    /// Process of the thread.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Time on a CPU.
    pub cpu_ns: Nanos,
    /// Where the CPU time came from.
    pub source: UsageSource,
    /// Time it waited for a CPU; absent where the kernel does not count it.
    pub wait_ns: Option<Nanos>,
    /// Times it gave up its CPU to wait.
    pub voluntary_switches: u64,
    /// Times it was taken off its CPU.
    pub involuntary_switches: u64,
    /// The CPUs that it was on at the span's start and end.
    pub processors: [Option<u32>; 2],
}

impl Window {
    /// Adds the memory of the processes, as it is now ([`memory::proportional`]). The kernel looks at every page, which takes
    /// milliseconds with large ones, so it is not part of a sample.
    #[must_use]
    pub fn with_memory(mut self) -> Self {
        self.usage.pss_bytes = memory::proportional(self.processes.iter().map(|process| process.pid));
        self
    }

    /// The CPUs on which the threads that did the work were seen, at the span's start and end.
    pub fn seen_on(&self) -> CpuSet {
        let all: u64 = self.threads.iter().map(|thread| thread.cpu_ns.0).sum();
        let worked =
            self.threads.iter().filter(|thread| thread.cpu_ns.0 > 0 && thread.cpu_ns.0 >= all / IDLERS_SHARE);
        worked.flat_map(|thread| thread.processors).flatten().collect()
    }
}

impl Snapshot {
    /// The difference to an `earlier` snapshot of the same tree.
    pub fn since(&self, earlier: &Self) -> Window {
        difference(earlier, self)
    }
}

type Identity = (u32, u64);

fn identity(usage: &ProcessUsage) -> Identity {
    (usage.process.pid, usage.process.start_ticks)
}

fn difference(before: &Snapshot, after: &Snapshot) -> Window {
    let known: BTreeMap<Identity, &ProcessUsage> =
        before.processes.iter().map(|usage| (identity(usage), usage)).collect();
    let earlier = |usage: &ProcessUsage| known.get(&identity(usage)).copied();
    let mut processes: Vec<ProcessWindow> =
        after.processes.iter().map(|now| process_window(earlier(now), now)).collect();
    let mut threads: Vec<ThreadWindow> =
        after.processes.iter().flat_map(|now| thread_windows(earlier(now), now)).collect();
    let (ended, uncounted) = ended(before, after, &known);
    let usage = total(before, after, &processes, &threads, (ended, uncounted));
    processes.sort_by_key(|process| std::cmp::Reverse(process.cpu.total()));
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.cpu_ns));
    Window { usage, processes, threads, ended, uncounted, steady: before.steady && after.steady }
}

fn process_window(before: Option<&ProcessUsage>, now: &ProcessUsage) -> ProcessWindow {
    let (cpu_ns, source) = now.cpu();
    let spent = cpu_ns - before.map_or(Nanos::ZERO, |before| before.cpu().0);
    let ticks = now.ticks - before.map_or(CpuTime::default(), |before| before.ticks);
    // A span shorter than a tick has no division of its own: the one since the start is the best guess.
    let division = if ticks.total() > Nanos::ZERO { ticks } else { now.ticks };
    ProcessWindow {
        pid: now.process.pid,
        name: now.process.name.clone(),
        cpu: divide(spent, division),
        source,
        rss_bytes: now.rss_bytes,
        faults: [0, 1]
            .map(|kind| now.faults[kind].saturating_sub(before.map_or(0, |then| then.faults[kind]))),
        threads: u32::try_from(now.threads.len()).unwrap_or(u32::MAX),
    }
}

/// `spent` in the proportion of `division`; all user time when that is empty.
fn divide(spent: Nanos, division: CpuTime) -> CpuTime {
    let whole = u128::from(division.total().0);
    let system = (u128::from(spent.0) * u128::from(division.system_ns.0)).checked_div(whole).unwrap_or(0);
    let system_ns = Nanos(u64::try_from(system).unwrap_or(spent.0));
    CpuTime { user_ns: spent - system_ns, system_ns }
}

fn thread_windows(before: Option<&ProcessUsage>, now: &ProcessUsage) -> Vec<ThreadWindow> {
    let known: BTreeMap<Identity, &ThreadUsage> = before
        .into_iter()
        .flat_map(|usage| &usage.threads)
        .map(|thread| ((thread.tid, thread.start_ticks), thread))
        .collect();
    let window = |thread: &ThreadUsage| {
        let earlier = known.get(&(thread.tid, thread.start_ticks));
        let since = |value: u64, of: fn(&ThreadUsage) -> u64| {
            value.saturating_sub(earlier.map_or(0, |then| of(then)))
        };
        ThreadWindow {
            pid: now.process.pid,
            tid: thread.tid,
            name: thread.name.clone(),
            cpu_ns: Nanos(since(thread.cpu_ns.0, |then| then.cpu_ns.0)),
            source: thread.source,
            wait_ns: thread
                .wait_ns
                .map(|wait| Nanos(since(wait.0, |then| then.wait_ns.unwrap_or_default().0))),
            voluntary_switches: since(thread.voluntary_switches, |then| then.voluntary_switches),
            involuntary_switches: since(thread.involuntary_switches, |then| then.involuntary_switches),
            processors: [earlier.and_then(|then| then.processor), thread.processor],
        }
    };
    now.threads.iter().map(window).collect()
}

/// CPU time within the span of those that ended in it, and how many of them were not accounted for.
fn ended(before: &Snapshot, after: &Snapshot, known: &BTreeMap<Identity, &ProcessUsage>) -> (CpuTime, u32) {
    let alive: BTreeSet<Identity> = after.processes.iter().map(identity).collect();
    let vanished: Vec<&ProcessUsage> =
        before.processes.iter().filter(|usage| !alive.contains(&identity(usage))).collect();
    let reaped_before =
        |usage: &ProcessUsage| known.get(&identity(usage)).map_or(CpuTime::default(), |then| then.reaped);
    let growth: CpuTime = after.processes.iter().map(|usage| usage.reaped - reaped_before(usage)).sum();
    let used_before: CpuTime = vanished.iter().map(|usage| usage.ticks + usage.reaped).sum();
    let ended = growth - used_before;
    // Each vanished process's user and kernel time is rounded down on its own, so two ticks each are no loss.
    let count = u32::try_from(vanished.len()).unwrap_or(u32::MAX);
    let rounding = Nanos(tick().0 * 2 * u64::from(count));
    let lost = growth.total() + rounding < used_before.total();
    (ended, if lost { count } else { 0 })
}

fn total(
    before: &Snapshot,
    after: &Snapshot,
    processes: &[ProcessWindow],
    threads: &[ThreadWindow],
    (ended, uncounted_processes): (CpuTime, u32),
) -> Usage {
    let cpu = processes.iter().map(|process| process.cpu).sum::<CpuTime>() + ended;
    let peak = |snapshot: &Snapshot| snapshot.processes.iter().map(|usage| usage.rss_peak_bytes).sum::<u64>();
    // As coarse as the coarsest part that used anything.
    let exact = processes
        .iter()
        .all(|process| process.source == UsageSource::Schedstat || process.cpu == CpuTime::default());
    let source =
        if exact && ended == CpuTime::default() { UsageSource::Schedstat } else { UsageSource::ProcStat };
    let living = after.processes.iter().filter(|usage| !usage.process.zombie);
    Usage {
        wall_ns: after.at.saturating_duration_since(before.at).into(),
        user_ns: cpu.user_ns,
        system_ns: cpu.system_ns,
        rss_peak_bytes: peak(after).max(peak(before)),
        rss_bytes: processes.iter().map(|process| process.rss_bytes).sum(),
        voluntary_switches: threads.iter().map(|thread| thread.voluntary_switches).sum(),
        involuntary_switches: threads.iter().map(|thread| thread.involuntary_switches).sum(),
        run_delay_ns: threads.iter().map(|thread| Some(thread.wait_ns?.0)).sum::<Option<u64>>().map(Nanos),
        busiest_thread_ns: threads.iter().map(|thread| thread.cpu_ns).max(),
        minor_faults: processes.iter().map(|process| process.faults[0]).sum(),
        major_faults: processes.iter().map(|process| process.faults[1]).sum(),
        pss_bytes: None,
        uncounted_processes,
        processes: u32::try_from(living.clone().count()).unwrap_or(u32::MAX),
        threads: living.map(|usage| u32::try_from(usage.threads.len()).unwrap_or(u32::MAX)).sum(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Process;
    use std::time::{Duration, Instant};

    const MS: u64 = 1_000_000;

    fn cpu(user_ms: u64, system_ms: u64) -> CpuTime {
        CpuTime { user_ns: Nanos(user_ms * MS), system_ns: Nanos(system_ms * MS) }
    }

    fn thread(tid: u32, cpu_us: u64) -> ThreadUsage {
        ThreadUsage {
            tid,
            start_ticks: 7,
            name: format!("worker-{tid}"),
            cpu_ns: Nanos(cpu_us * 1_000),
            source: UsageSource::Schedstat,
            wait_ns: Some(Nanos(cpu_us * 10)),
            voluntary_switches: cpu_us / 10,
            involuntary_switches: cpu_us / 100,
            processor: Some(tid % 4),
        }
    }

    fn process(pid: u32, ticks: CpuTime, reaped: CpuTime, threads: Vec<ThreadUsage>) -> ProcessUsage {
        let process = Process {
            pid,
            parent: 1,
            group: 1,
            session: 1,
            start_ticks: 7,
            zombie: false,
            name: "server".into(),
            reaped_ticks: [0, 0],
        };
        ProcessUsage {
            process,
            ticks,
            reaped,
            rss_bytes: 1 << 20,
            rss_peak_bytes: 2 << 20,
            faults: [7, 1],
            threads,
        }
    }

    fn window(before: Vec<ProcessUsage>, after: Vec<ProcessUsage>) -> Window {
        let start = Instant::now();
        let before = Snapshot { at: start, processes: before, steady: true };
        let after = Snapshot { at: start + Duration::from_secs(2), processes: after, steady: true };
        after.since(&before)
    }

    #[test]
    fn threads_give_nanoseconds_and_ticks_the_division() {
        let before = process(5, cpu(100, 100), cpu(0, 0), vec![thread(5, 203_000), thread(6, 1_000)]);
        let after = process(
            5,
            cpu(400, 200),
            cpu(0, 0),
            vec![thread(5, 303_004), thread(6, 305_000), thread(8, 4_000)],
        );
        let window = window(vec![before], vec![after]);
        let usage = &window.usage;
        assert_eq!(usage.source, UsageSource::Schedstat);
        assert_eq!(usage.cpu_ns(), Nanos((100_004 + 304_000 + 4_000) * 1_000));
        assert_eq!(usage.system_ns, Nanos(usage.cpu_ns().0 / 4));
        assert_eq!((usage.processes, usage.threads), (1, 3));
        assert_eq!(usage.rss_peak_bytes, 2 << 20);
        assert_eq!(usage.wall_ns, Nanos(2_000 * MS));
        assert_eq!((usage.minor_faults, usage.major_faults), (0, 0), "both happened before");
        assert_eq!(usage.busiest_thread_ns, Some(Nanos(304 * MS)));
        assert_eq!(usage.run_delay_ns, Some(Nanos((100_004 + 304_000 + 4_000) * 10)));
        let busiest = &window.threads[0];
        assert_eq!((busiest.tid, busiest.cpu_ns, busiest.voluntary_switches), (6, Nanos(304 * MS), 30_400));
        assert_eq!(busiest.wait_ns, Some(Nanos(3_040_000)));
        // Thread 8, with 4 of 408 ms, was idle; 5 and 6 were seen on CPUs 1 and 2.
        assert_eq!(window.seen_on().to_string(), "1-2");
    }

    #[test]
    fn ticks_step_in_when_threads_have_ended() {
        let before = process(5, cpu(100, 0), cpu(0, 0), vec![thread(5, 50_000), thread(6, 55_000)]);
        let after = process(5, cpu(900, 0), cpu(0, 0), vec![thread(5, 60_000)]);
        let usage = window(vec![before], vec![after]).usage;
        assert_eq!((usage.user_ns, usage.source), (Nanos(795 * MS), UsageSource::ProcStat));
    }

    #[test]
    fn an_ended_worker_counts_only_within_the_span() {
        let before =
            vec![process(5, cpu(10, 10), cpu(500, 0), vec![]), process(6, cpu(300, 40), cpu(0, 0), vec![])];
        // Worker 6 went on for 200 ms, ended and was waited for; worker 7 came, ran 50 ms and is still there.
        let after =
            vec![process(5, cpu(20, 10), cpu(1_000, 40), vec![]), process(7, cpu(50, 0), cpu(0, 0), vec![])];
        let window = window(before, after);
        assert_eq!((window.ended, window.uncounted), (cpu(200, 0), 0));
        assert_eq!((window.usage.user_ns, window.usage.system_ns), (Nanos(260 * MS), Nanos::ZERO));
        assert_eq!(window.processes[0].pid, 7);
    }

    #[test]
    fn a_worker_nobody_waited_for_is_reported() {
        let before =
            vec![process(5, cpu(0, 0), cpu(0, 0), vec![]), process(6, cpu(300, 0), cpu(0, 0), vec![])];
        let after = vec![process(5, cpu(70, 0), cpu(0, 0), vec![])];
        let window = window(before, after);
        assert_eq!((window.uncounted, window.usage.uncounted_processes, window.ended), (1, 1, cpu(0, 0)));
        assert_eq!(window.usage.user_ns, Nanos(70 * MS));
    }

    #[test]
    fn a_reused_pid_is_another_process() {
        let mut reborn = process(6, cpu(30, 0), cpu(0, 0), vec![]);
        reborn.process.start_ticks = 99;
        let before = vec![process(6, cpu(10, 0), cpu(0, 0), vec![])];
        assert_eq!(window(before, vec![reborn]).usage.user_ns, Nanos(30 * MS));
    }
}
