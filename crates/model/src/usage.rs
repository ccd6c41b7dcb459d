//! What a process, or a group of them, consumed.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::units::Nanos;

/// Resources used over a span of time by a set of processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Wall-clock length of the span.
    pub wall_ns: Nanos,
    /// CPU time in user mode.
    pub user_ns: Nanos,
    /// CPU time in kernel mode.
    pub system_ns: Nanos,
    /// Each process's highest resident memory since its start, summed over the processes, in bytes.
    pub rss_peak_bytes: u64,
    /// Resident memory at the end of the span, in bytes.
    pub rss_bytes: u64,
    /// Times a thread gave up its CPU to wait.
    pub voluntary_switches: u64,
    /// Times a thread was taken off its CPU.
    pub involuntary_switches: u64,
    /// Time for which its threads could have run but waited for a CPU, summed over the threads; absent where the kernel
    /// does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_ns: Option<Nanos>,
    /// CPU time of the thread that used most of it; absent where threads were not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_thread_ns: Option<Nanos>,
    /// Page faults that needed no disk.
    #[serde(default)]
    pub minor_faults: u64,
    /// Page faults that waited for a disk.
    #[serde(default)]
    pub major_faults: u64,
    /// Proportional set size at the end of the span, in bytes: memory of their own, and of what they share their share (kernel:
    /// filesystems/proc.rst, `smaps_rollup`). Absent where the kernel did not tell it of every process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss_bytes: Option<u64>,
    /// Processes that ended within the span and whose CPU time nobody was given, because their parent does not wait for its
    /// children (`wait(2)`, SIGCHLD ignored). If not zero, the CPU times are too low.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncounted_processes: u32,
    /// Processes alive at the end of the span.
    pub processes: u32,
    /// Threads alive at the end of the span.
    pub threads: u32,
    /// Where the CPU time came from.
    pub source: UsageSource,
}

/// Whether a count is left out of a record.
pub(crate) fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Usage {
    /// CPU time, user and kernel together.
    pub fn cpu_ns(&self) -> Nanos {
        self.user_ns + self.system_ns
    }

    /// Two spans together, one after the other: times and events add up, and what is resident is what it was at the end of the later.
    #[must_use]
    pub fn then(&self, later: &Self) -> Self {
        let both = |a: Option<Nanos>, b: Option<Nanos>| a.zip(b).map(|(a, b)| a + b);
        Self {
            wall_ns: self.wall_ns + later.wall_ns,
            user_ns: self.user_ns + later.user_ns,
            system_ns: self.system_ns + later.system_ns,
            rss_peak_bytes: self.rss_peak_bytes.max(later.rss_peak_bytes),
            voluntary_switches: self.voluntary_switches.saturating_add(later.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_add(later.involuntary_switches),
            run_delay_ns: both(self.run_delay_ns, later.run_delay_ns),
            busiest_thread_ns: both(self.busiest_thread_ns, later.busiest_thread_ns),
            minor_faults: self.minor_faults.saturating_add(later.minor_faults),
            major_faults: self.major_faults.saturating_add(later.major_faults),
            uncounted_processes: self.uncounted_processes.saturating_add(later.uncounted_processes),
            ..later.clone()
        }
    }

    /// The usage with other lengths of span and CPU time, the latter divided as it is: where the times are known of a part of the span, and nothing
    /// happened in the rest of it.
    #[must_use]
    pub fn of_part(&self, wall_ns: Nanos, cpu_ns: Nanos) -> Self {
        let user = u128::from(self.user_ns.0) * u128::from(cpu_ns.0);
        let user = user.checked_div(u128::from(self.cpu_ns().0)).unwrap_or(0);
        let user_ns = Nanos(u64::try_from(user).unwrap_or(cpu_ns.0)).min(cpu_ns);
        Self { wall_ns, user_ns, system_ns: cpu_ns - user_ns, ..self.clone() }
    }

    /// The part of it that somebody's requests caused among others': so much CPU time in a span of their own, and of what is counted
    /// as large a share as of the CPU time.
    #[must_use]
    pub fn of_share(&self, wall_ns: Nanos, cpu_ns: Nanos, busiest_thread_ns: Nanos) -> Self {
        let share = (cpu_ns.0 as f64 / self.cpu_ns().0.max(1) as f64).min(1.0);
        // `as` saturates, and a share of a count is none that is too great.
        let part = |count: u64| (count as f64 * share).round() as u64;
        Self {
            run_delay_ns: self.run_delay_ns.map(|delay| Nanos(part(delay.0))),
            busiest_thread_ns: Some(busiest_thread_ns),
            voluntary_switches: part(self.voluntary_switches),
            involuntary_switches: part(self.involuntary_switches),
            minor_faults: part(self.minor_faults),
            major_faults: part(self.major_faults),
            ..self.of_part(wall_ns, cpu_ns)
        }
    }

    /// Memory in use at the end of the span, in bytes: proportional where the kernel tells it, else resident, which counts what
    /// processes share in each of them.
    pub fn memory_bytes(&self) -> u64 {
        self.pss_bytes.unwrap_or(self.rss_bytes)
    }

    /// Share of `cpus` CPUs that was busy, 0 to 1; zero for an empty span.
    pub fn busy_share(&self, cpus: usize) -> f64 {
        let capacity = self.wall_ns.0 as f64 * cpus as f64;
        if capacity > 0.0 { self.cpu_ns().0 as f64 / capacity } else { 0.0 }
    }
}

/// The kernel interface that CPU times were read from; it decides their resolution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageSource {
    /// `/proc/PID/stat`: clock ticks, usually 10 ms (proc(5)).
    #[default]
    ProcStat,
    /// `/proc/PID/task/*/schedstat` scaled to the user/system split of `/proc/PID/stat`: nanoseconds.
    Schedstat,
    /// `cpu.stat` of a control group (kernel: Documentation/admin-guide/cgroup-v2.rst): microseconds.
    Cgroup,
    /// `getrusage(2)` of the process itself: microseconds.
    Rusage,
}

/// Events on a server's CPUs while it answered a counted number of requests. The kernel counts per CPU, so its own work
/// for the server, interrupts included, is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    /// Right answers in the meantime.
    pub answers: u64,
    /// System calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_calls: Option<u64>,
    /// CPU cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// Instructions completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Why something could not be counted; empty when everything was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
}

impl Counted {
    /// Whether anything could be counted.
    pub fn is_known(&self) -> bool {
        [self.system_calls, self.cycles, self.instructions].iter().any(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_keeps_the_division_and_all_that_is_counted() {
        let ms = Nanos::from_millis;
        let whole = Usage {
            wall_ns: ms(1000),
            user_ns: ms(30),
            system_ns: ms(90),
            voluntary_switches: 7,
            ..Usage::default()
        };
        let part = whole.of_part(ms(400), ms(100));
        assert_eq!((part.wall_ns, part.user_ns, part.system_ns), (ms(400), ms(25), ms(75)));
        assert_eq!(part.voluntary_switches, 7);
        assert_eq!(Usage::default().of_part(ms(1), ms(2)).system_ns, ms(2));
    }

    #[test]
    fn a_share_has_as_much_of_what_is_counted_as_of_the_time() {
        let ms = Nanos::from_millis;
        let whole = Usage {
            user_ns: ms(30),
            system_ns: ms(90),
            run_delay_ns: Some(ms(60)),
            voluntary_switches: 9,
            rss_bytes: 1000,
            ..Usage::default()
        };
        let share = whole.of_share(ms(400), ms(40), ms(10));
        assert_eq!((share.wall_ns, share.user_ns, share.system_ns), (ms(400), ms(10), ms(30)));
        assert_eq!((share.run_delay_ns, share.busiest_thread_ns), (Some(ms(20)), Some(ms(10))));
        assert_eq!((share.voluntary_switches, share.rss_bytes), (3, 1000));
        assert_eq!(Usage::default().of_share(ms(1), ms(2), ms(2)).cpu_ns(), ms(2));
    }
}
