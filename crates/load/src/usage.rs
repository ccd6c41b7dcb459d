//! What a thread has consumed so far (proc(5)).

use assay_model::units::Nanos;
use assay_model::usage::{Usage, UsageSource};

/// Counters of one thread at one time. The CPU time is exact; its split into user and kernel follows the ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadUsage {
    cpu: Nanos,
    user_ticks: u64,
    system_ticks: u64,
    voluntary: u64,
    involuntary: u64,
    run_delay: Option<Nanos>,
    faults: [u64; 2],
    rss_bytes: u64,
    threads: u32,
}

impl ThreadUsage {
    /// Of the calling thread, which has used so much CPU time. What the kernel does not tell is zero.
    pub(crate) fn read(cpu: Nanos) -> Self {
        let text =
            |name: &str| std::fs::read_to_string(format!("/proc/thread-self/{name}")).unwrap_or_default();
        Self::parse(cpu, &text("stat"), &text("status"), &text("schedstat"))
    }

    /// Of a thread of which no kernel tells more than its CPU time.
    pub(crate) fn of_cpu_time(cpu: Nanos) -> Self {
        Self { cpu, ..Self::default() }
    }

    fn parse(cpu: Nanos, stat: &str, status: &str, schedstat: &str) -> Self {
        // The name in parentheses may itself hold spaces and parentheses; what follows
        // them begins with field 3.
        let numbers = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let number = |field: usize| -> u64 {
            numbers.split_ascii_whitespace().nth(field - 3).and_then(|n| n.parse().ok()).unwrap_or(0)
        };
        // Time on the CPU, time runnable but waiting for one, slices (kernel: scheduler/sched-stats.rst); all zero where
        // the kernel does not count.
        let mut scheduled = schedstat.split_ascii_whitespace().map(|n| n.parse::<u64>().unwrap_or(0));
        let has_run = scheduled.next().is_some_and(|ns| ns > 0);
        let field = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|value| value.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
        };
        Self {
            cpu,
            user_ticks: number(14),
            system_ticks: number(15),
            run_delay: scheduled.next().filter(|_| has_run).map(Nanos),
            faults: [number(10), number(12)],
            voluntary: field("voluntary_ctxt_switches"),
            involuntary: field("nonvoluntary_ctxt_switches"),
            rss_bytes: field("VmRSS") * 1024,
            threads: field("Threads") as u32,
        }
    }

    /// Resident memory of the process.
    pub(crate) fn rss_bytes(&self) -> u64 {
        self.rss_bytes
    }

    /// Time between `earlier` and this in which the thread could have run but another one had its CPU; zero where the
    /// kernel does not tell.
    pub(crate) fn waited_since(&self, earlier: &Self) -> Nanos {
        self.run_delay.zip(earlier.run_delay).map_or(Nanos::ZERO, |(now, then)| now - then)
    }

    /// CPU time between `earlier` and this.
    pub(crate) fn cpu_since(&self, earlier: &Self) -> Nanos {
        self.cpu - earlier.cpu
    }

    /// Adds what was consumed between `earlier` and this to `usage`.
    pub(crate) fn add_since(&self, earlier: &Self, usage: &mut Usage) {
        let cpu = self.cpu_since(earlier);
        let user = self.user_ticks.saturating_sub(earlier.user_ticks);
        let system = self.system_ticks.saturating_sub(earlier.system_ticks);
        let share = if user + system > 0 { system as f64 / (user + system) as f64 } else { 0.0 };
        let system_ns = Nanos((cpu.0 as f64 * share) as u64);
        usage.system_ns += system_ns;
        usage.user_ns += cpu - system_ns;
        usage.voluntary_switches += self.voluntary.saturating_sub(earlier.voluntary);
        usage.involuntary_switches += self.involuntary.saturating_sub(earlier.involuntary);
        usage.minor_faults += self.faults[0].saturating_sub(earlier.faults[0]);
        usage.major_faults += self.faults[1].saturating_sub(earlier.faults[1]);
        usage.busiest_thread_ns = usage.busiest_thread_ns.max(Some(cpu));
        if let Some((now, then)) = self.run_delay.zip(earlier.run_delay) {
            usage.run_delay_ns = Some(usage.run_delay_ns.unwrap_or_default() + (now - then));
        }
        usage.rss_bytes = usage.rss_bytes.max(self.rss_bytes);
        usage.rss_peak_bytes = usage.rss_peak_bytes.max(self.rss_bytes).max(earlier.rss_bytes);
        usage.processes = 1;
        usage.threads = usage.threads.max(self.threads);
        usage.source = UsageSource::Schedstat;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_understood() {
        let stat = "12 (a) b (c) R 1 1 1 0 -1 4194304 9 0 2 0 30 70 0 0 20 0 3 0 1";
        let status = "Name:\ta\nVmRSS:\t 2048 kB\nThreads:\t3\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t7\n";
        let later = ThreadUsage::parse(Nanos(1000), stat, status, "5000 400 3\n");
        let mut usage = Usage::default();
        let nothing = ThreadUsage::parse(Nanos::ZERO, "", "", "1 100 1\n");
        later.add_since(&nothing, &mut usage);
        assert_eq!(usage.run_delay_ns, Some(Nanos(300)));
        assert_eq!(later.waited_since(&nothing), Nanos(300));
        assert_eq!((usage.minor_faults, usage.major_faults), (9, 2));
        assert_eq!(ThreadUsage::parse(Nanos::ZERO, stat, status, "0 0 0\n").run_delay, None);
        assert_eq!((usage.user_ns, usage.system_ns), (Nanos(300), Nanos(700)));
        assert_eq!((usage.voluntary_switches, usage.involuntary_switches), (5, 7));
        assert_eq!((usage.rss_bytes, usage.threads, usage.processes), (2 << 20, 3, 1));
    }

    #[test]
    fn a_busy_thread_is_seen_to_be_busy() {
        let read = || ThreadUsage::read(assay_engine::clock::thread_cpu());
        let before = read();
        let mut x = 1u64;
        while read().cpu_since(&before) < Nanos::from_millis(5) {
            x = x.wrapping_mul(6_364_136_223_846_793_005).rotate_left(7);
        }
        assert_ne!(x, 0);
        assert!(read().rss_bytes > 0);
    }
}
