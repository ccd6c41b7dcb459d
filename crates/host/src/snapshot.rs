//! What a tree of processes has consumed up to now, thread by thread.
//!
//! Two sources of CPU time, both a little below the truth, so the larger one is taken and named:
//! - `/proc/PID/stat` (`proc_pid_stat(5)`): clock ticks, usually 10 ms, rounded down, for the whole process
//!   with its ended threads, divided into user and kernel mode.
//! - `/proc/PID/task/TID/schedstat` (kernel: Documentation/scheduler/sched-stats.rst): nanoseconds on the
//!   CPU, undivided, of living threads only. `/proc/PID/schedstat` is the main thread alone and is not used.
//!
//! A kernel built with `CONFIG_IRQ_TIME_ACCOUNTING` charges interrupt work, so also the receiving half of
//! loopback traffic, to no process; [`crate::system`] sees it as softirq time of the CPU.

use std::time::Instant;

use assay_model::units::Nanos;
use assay_model::usage::UsageSource;

use crate::process::{Process, same_family, scan_trees};

/// How often a scan is repeated when processes come or go during it.
const ATTEMPTS: u32 = 3;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// CPU time divided by mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In user mode.
    pub user_ns: Nanos,
    /// In kernel mode.
    pub system_ns: Nanos,
}

/// What one thread has consumed since its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Thread id.
    pub tid: u32,
    /// Clock ticks from boot to its start.
    pub start_ticks: u64,
    /// The thread's name.
    pub name: String,
    /// Time on a CPU.
    pub cpu_ns: Nanos,
    /// Where `cpu_ns` came from.
    pub source: UsageSource,
    /// Time it could have run but waited for a CPU; absent where the kernel does not count it.
    pub wait_ns: Option<Nanos>,
    /// Times it gave up its CPU to wait; zero where not readable.
    pub voluntary_switches: u64,
    /// Times it was taken off its CPU; zero where not readable.
    pub involuntary_switches: u64,
    /// The CPU that it was last on.
    pub processor: Option<u32>,
}

/// What one process has consumed since its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessUsage {
    /// The process.
    pub process: Process,
    /// CPU time of the process itself from clock ticks, ended threads included.
    pub ticks: CpuTime,
    /// CPU time of its children that ended and were waited for, with theirs.
    pub reaped: CpuTime,
    /// Resident memory now, in bytes; zero for a zombie. Pages shared between processes count in each.
    pub rss_bytes: u64,
    /// The most it ever had, in bytes.
    pub rss_peak_bytes: u64,
    /// Page faults without and with a disk access, of ended threads too.
    pub faults: [u64; 2],
    /// Living threads of the process.
    pub threads: Vec<ThreadUsage>,
}

/// A tree of processes at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When it was taken.
    pub at: Instant,
    /// The processes, ascending by pid, zombies included.
    pub processes: Vec<ProcessUsage>,
    /// Whether nobody came or went during the scan. If false, CPU time of a process that ended just then may
    /// count twice or not.
    pub steady: bool,
}

/// A process to be looked at is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("process {pid} has ended, so what it used cannot be read: look at its exit status and log")]
pub struct Gone {
    /// The process.
    pub pid: u32,
}

impl Snapshot {
    /// Reads `root` and all processes below it.
    ///
    /// # Errors
    /// When `root` has ended (a zombie has not: its times can still be read).
    pub fn of_tree(root: u32) -> Result<Self, Gone> {
        Self::of_trees(&[root])
    }

    /// Reads some processes and all below them, each once.
    ///
    /// # Errors
    /// When one of `roots` has ended.
    pub fn of_trees(roots: &[u32]) -> Result<Self, Gone> {
        let mut attempt = 1;
        loop {
            let members = scan_trees(roots);
            let at = Instant::now();
            let processes: Vec<ProcessUsage> = members.iter().filter_map(read_process).collect();
            let is_there = |root: &&u32| processes.iter().any(|usage| usage.process.pid == **root);
            if let Some(&pid) = roots.iter().find(|root| !is_there(root)) {
                return Err(Gone { pid });
            }
            // A worker reaped between the reading of itself and of its parent would count twice or never.
            let steady = processes.len() == members.len() && same_family(&members, &scan_trees(roots));
            if steady || attempt == ATTEMPTS {
                return Ok(Self { at, processes, steady });
            }
            attempt += 1;
        }
    }
}

fn read_process(member: &Process) -> Option<ProcessUsage> {
    // The handle stays with this process even if its pid is given to another one.
    let handle = procfs::process::Process::new(i32::try_from(member.pid).ok()?).ok()?;
    let stat = handle.stat().ok()?;
    let ticks = CpuTime { user_ns: from_ticks(stat.utime), system_ns: from_ticks(stat.stime) };
    let faults = [stat.minflt, stat.majflt];
    let process = Process::from(stat);
    if process.start_ticks != member.start_ticks {
        return None;
    }
    let status = handle.status().ok();
    let kib = |value: Option<u64>| value.unwrap_or(0) * 1024;
    Some(ProcessUsage {
        reaped: CpuTime {
            user_ns: from_ticks(process.reaped_ticks[0]),
            system_ns: from_ticks(process.reaped_ticks[1]),
        },
        rss_bytes: kib(status.as_ref().and_then(|status| status.vmrss)),
        rss_peak_bytes: kib(status.as_ref().and_then(|status| status.vmhwm)),
        faults,
        threads: handle
            .tasks()
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|task| read_thread(&task))
            .collect(),
        process,
        ticks,
    })
}

fn read_thread(task: &procfs::process::Task) -> Option<ThreadUsage> {
    let stat = task.stat().ok()?;
    // All zeros is what a kernel without scheduler information gives; a thread that has run is never zero.
    let sched = task.schedstat().ok().filter(|sched| sched.sum_exec_runtime > 0);
    let status = task.status().ok();
    let (cpu_ns, source) = match &sched {
        Some(sched) => (Nanos(sched.sum_exec_runtime), UsageSource::Schedstat),
        None => (from_ticks(stat.utime + stat.stime), UsageSource::ProcStat),
    };
    Some(ThreadUsage {
        tid: u32::try_from(task.tid).ok()?,
        start_ticks: stat.starttime,
        name: stat.comm,
        cpu_ns,
        source,
        wait_ns: sched.map(|sched| Nanos(sched.run_delay)),
        voluntary_switches: status.as_ref().and_then(|status| status.voluntary_ctxt_switches).unwrap_or(0),
        involuntary_switches: status.and_then(|status| status.nonvoluntary_ctxt_switches).unwrap_or(0),
        processor: stat.processor.and_then(|cpu| u32::try_from(cpu).ok()),
    })
}

/// Clock ticks (`USER_HZ`, `sysconf(_SC_CLK_TCK)`) as nanoseconds.
pub(crate) fn from_ticks(ticks: u64) -> Nanos {
    Nanos(ticks.saturating_mul(NS_PER_SECOND / tick_rate()))
}

/// The length of a clock tick: the resolution of times with [`UsageSource::ProcStat`].
pub fn tick() -> Nanos {
    from_ticks(1)
}

fn tick_rate() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

impl CpuTime {
    /// User and kernel mode together.
    pub fn total(self) -> Nanos {
        self.user_ns + self.system_ns
    }
}

impl std::ops::Add for CpuTime {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { user_ns: self.user_ns + other.user_ns, system_ns: self.system_ns + other.system_ns }
    }
}

impl std::ops::Sub for CpuTime {
    type Output = Self;
    /// Saturates at zero in each mode.
    fn sub(self, earlier: Self) -> Self {
        Self { user_ns: self.user_ns - earlier.user_ns, system_ns: self.system_ns - earlier.system_ns }
    }
}

impl std::iter::Sum for CpuTime {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::default(), std::ops::Add::add)
    }
}

impl ProcessUsage {
    /// CPU time of the process itself by the better source, and which that was.
    pub fn cpu(&self) -> (Nanos, UsageSource) {
        let threads = self.threads.iter().fold(Nanos::ZERO, |sum, thread| sum + thread.cpu_ns);
        let by_schedstat = self.threads.iter().all(|thread| thread.source == UsageSource::Schedstat);
        if by_schedstat && threads >= self.ticks.total() {
            (threads, UsageSource::Schedstat)
        } else {
            (self.ticks.total(), UsageSource::ProcStat)
        }
    }
}
