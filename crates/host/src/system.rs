//! What the whole machine does: each CPU's time by kind, load, CPU pressure, and the TCP counters that spoil
//! a run.
//!
//! Sources: `proc_stat(5)`, `proc_loadavg(5)`, kernel Documentation/accounting/psi.rst,
//! Documentation/networking/snmp_counter.rst.

use std::collections::BTreeMap;
use std::time::Instant;

use assay_model::record::Machine;
use assay_model::units::Nanos;
use assay_model::usage::Usage;
use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;
use crate::snapshot::tick;
use crate::text::Tree;

/// Clock ticks that a CPU, or several, spent on each kind of work. Guest time is part of user time, as in the
/// kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTicks {
    /// Programs in user mode, niced ones included.
    pub user: u64,
    /// Programs in kernel mode.
    pub system: u64,
    /// Nothing to do.
    pub idle: u64,
    /// Nothing to do but wait for a disk.
    pub iowait: u64,
    /// Hardware interrupts.
    pub irq: u64,
    /// Deferred interrupt work, the network's receive path above all.
    pub softirq: u64,
    /// Taken away by the hypervisor.
    pub steal: u64,
}

/// CPU time as shares of all time, 0 to 1, summing to 1 unless all are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuShares {
    /// Programs in user mode.
    pub user: f64,
    /// Programs in kernel mode.
    pub system: f64,
    /// Nothing to do, waiting for a disk included.
    pub idle: f64,
    /// Hardware interrupts.
    pub irq: f64,
    /// Deferred interrupt work.
    pub softirq: f64,
    /// Taken away by the hypervisor.
    pub steal: f64,
}

/// TCP counters of one network namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpCounters {
    /// Segments sent again (`RetransSegs`).
    pub retransmitted_segments: u64,
    /// Connections dropped because an accept queue was full (`ListenOverflows`).
    pub listen_overflows: u64,
    /// Connection requests dropped at a listening socket for any reason (`ListenDrops`).
    pub listen_drops: u64,
}

/// The machine at one moment.
#[derive(Clone, Debug)]
pub struct SystemSample {
    /// When it was taken.
    pub at: Instant,
    /// Each online CPU's time since boot.
    pub cpus: BTreeMap<u32, CpuTicks>,
    /// Packets' receive softirqs on each CPU since boot (`NET_RX` of `/proc/softirqs`); empty when not
    /// readable.
    pub net_rx: BTreeMap<u32, u64>,
    /// Load average over one minute.
    pub load_average: Option<f64>,
    /// Time in which some task waited for a CPU (`some` of `/proc/pressure/cpu`); absent where PSI is off.
    pub cpu_pressure_ns: Option<Nanos>,
    /// TCP counters of the network namespace that was asked for; absent when not readable.
    pub tcp: Option<TcpCounters>,
}

/// What the machine did between two samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemDelta {
    /// Length of the span.
    pub wall_ns: Nanos,
    /// Each CPU's time in it; CPUs that were not online at both ends are left out.
    #[serde(with = "pairs")]
    pub cpus: BTreeMap<u32, CpuTicks>,
    /// Receive softirqs on each CPU.
    #[serde(with = "pairs")]
    pub net_rx: BTreeMap<u32, u64>,
    /// Share of the span in which some task on the machine waited for a CPU, 0 to 1.
    pub cpu_pressure: Option<f64>,
    /// TCP events in the span.
    pub tcp: Option<TcpCounters>,
}

impl SystemSample {
    /// Reads the machine, with the TCP counters of the calling thread's network namespace.
    pub fn take() -> Self {
        Self::read(&Tree::live(), "proc/thread-self/net")
    }

    /// Reads the machine, with the TCP counters of the network namespace of process `pid`.
    pub fn take_beside(pid: u32) -> Self {
        Self::read(&Tree::live(), &format!("proc/{pid}/net"))
    }

    fn read(tree: &Tree, net: &str) -> Self {
        let text = |file: &str| tree.read(file).unwrap_or_default();
        Self {
            at: Instant::now(),
            cpus: parse_stat(&text("proc/stat")),
            net_rx: parse_softirqs(&text("proc/softirqs"), "NET_RX"),
            load_average: load_average(tree),
            cpu_pressure_ns: parse_pressure(&text("proc/pressure/cpu")),
            tcp: parse_tcp(&text(&format!("{net}/snmp")), &text(&format!("{net}/netstat"))),
        }
    }

    /// The difference to an `earlier` sample. A counter that runs backwards (a CPU that went offline and came
    /// back) gives zero.
    pub fn since(&self, earlier: &Self) -> SystemDelta {
        let wall_ns = Nanos::from(self.at.saturating_duration_since(earlier.at));
        let waited = self.cpu_pressure_ns.zip(earlier.cpu_pressure_ns).map(|(now, then)| now - then);
        let share = |waited: Nanos| (waited.0 as f64 / wall_ns.0.max(1) as f64).min(1.0);
        SystemDelta {
            wall_ns,
            cpus: per_cpu(&self.cpus, &earlier.cpus, CpuTicks::since),
            net_rx: per_cpu(&self.net_rx, &earlier.net_rx, |now, then| now.saturating_sub(*then)),
            cpu_pressure: waited.map(share),
            tcp: self.tcp.zip(earlier.tcp).map(|(now, then)| now.since(then)),
        }
    }
}

fn per_cpu<T>(now: &BTreeMap<u32, T>, then: &BTreeMap<u32, T>, since: fn(&T, &T) -> T) -> BTreeMap<u32, T> {
    now.iter().filter_map(|(&cpu, now)| Some((cpu, since(now, then.get(&cpu)?)))).collect()
}

impl SystemDelta {
    /// Two spans together, one after the other.
    #[must_use]
    pub fn then(&self, later: &Self) -> Self {
        let weight = |delta: &Self| delta.wall_ns.0 as f64;
        let weighted = |(a, b): (f64, f64)| {
            (a * weight(self) + b * weight(later)) / (weight(self) + weight(later)).max(1.0)
        };
        Self {
            wall_ns: self.wall_ns + later.wall_ns,
            cpus: per_cpu(&self.cpus, &later.cpus, CpuTicks::plus),
            net_rx: per_cpu(&self.net_rx, &later.net_rx, |a, b| a + b),
            cpu_pressure: self.cpu_pressure.zip(later.cpu_pressure).map(weighted),
            tcp: self.tcp.zip(later.tcp).map(|(a, b)| a.then(b)),
        }
    }

    /// How the time of these CPUs was spent, all of them together.
    pub fn shares(&self, cpus: &CpuSet) -> CpuShares {
        let wanted = self.cpus.iter().filter(|(cpu, _)| cpus.contains(**cpu));
        wanted.fold(CpuTicks::default(), |sum, (_, ticks)| sum.plus(ticks)).shares()
    }

    /// Share of these CPUs' time for which some ticks stand, 0 to 1: of the wall clock's, because idle time is measured but
    /// work sampled, and what always begins with a tick is missed by all of them.
    fn share_of_time(&self, cpus: &CpuSet, some: impl Fn(&CpuTicks) -> u64) -> f64 {
        let found: Vec<u64> =
            self.cpus.iter().filter(|(cpu, _)| cpus.contains(**cpu)).map(|(_, cpu)| some(cpu)).collect();
        let capacity = self.wall_ns.0 as f64 * found.len() as f64;
        let spent = found.iter().sum::<u64>() as f64 * tick().0 as f64;
        if capacity > 0.0 { (spent / capacity).min(1.0) } else { 0.0 }
    }

    /// The form that is kept in a run's record, of the CPUs of `server` and `generator`; `used` is what the server's
    /// processes consumed in the same span, where they can be seen. `interrupts_apart`: whether that is without the time of
    /// interrupts ([`crate::accounting::interrupts_are_apart`]). Where this is not known they are left out, so that others
    /// are told to have used too little and never too much. `others_ns` is what all others used at most
    /// ([`crate::census::Census::others`]), where that is known: a CPU that goes to sleep and wakes thousands of times a second
    /// spends a tenth of its time on that, which is neither idle nor anybody's.
    pub fn machine(
        &self,
        server: &CpuSet,
        generator: &CpuSet,
        used: Option<&Usage>,
        interrupts_apart: Option<bool>,
        others_ns: Option<Nanos>,
    ) -> Machine {
        let tcp = self.tcp.unwrap_or_default();
        let cpus = self.shares(server);
        // Without that accounting interrupts are part of what the interrupted program used.
        let apart = interrupts_apart.unwrap_or(true);
        let unused = self.share_of_time(server, |cpu| {
            cpu.idle + cpu.iowait + cpu.steal + if apart { cpu.irq + cpu.softirq } else { 0 }
        });
        let all_counted = used.filter(|used| used.uncounted_processes == 0);
        // Over the span of these counters: looking at a server of many threads takes a while, before it and after it.
        let capacity = (self.wall_ns.0 as f64 * server.len() as f64).max(1.0);
        let own = |used: &Usage| used.cpu_ns().0 as f64 / capacity;
        let at_most = others_ns.map_or(1.0, |used| used.0 as f64 / capacity);
        let others = all_counted.map_or(0.0, |used| (1.0 - unused - own(used)).clamp(0.0, at_most.min(1.0)));
        let busy = |cpu: u32| 1.0 - self.shares(&[cpu].into_iter().collect()).idle;
        Machine {
            steal_share: self.shares(&server.union(generator)).steal,
            server_idle_share: cpus.idle,
            server_other_share: others,
            server_interrupt_share: cpus.irq + cpus.softirq,
            generator_idle_share: self.shares(generator).idle,
            server_cpu_busy_shares: server.iter().map(busy).collect(),
            cpu_pressure_share: self.cpu_pressure,
            tcp_retransmits: tcp.retransmitted_segments,
            listen_overflows: tcp.listen_overflows,
            ..Machine::default()
        }
    }
}

impl CpuTicks {
    fn since(&self, then: &Self) -> Self {
        self.combine(then, u64::saturating_sub)
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        self.combine(other, u64::saturating_add)
    }

    fn combine(&self, other: &Self, with: fn(u64, u64) -> u64) -> Self {
        Self {
            user: with(self.user, other.user),
            system: with(self.system, other.system),
            idle: with(self.idle, other.idle),
            iowait: with(self.iowait, other.iowait),
            irq: with(self.irq, other.irq),
            softirq: with(self.softirq, other.softirq),
            steal: with(self.steal, other.steal),
        }
    }

    /// The ticks as shares of their sum.
    pub fn shares(&self) -> CpuShares {
        let total = self.user + self.system + self.idle + self.iowait + self.irq + self.softirq + self.steal;
        let share = |ticks: u64| ticks as f64 / total.max(1) as f64;
        CpuShares {
            user: share(self.user),
            system: share(self.system),
            idle: share(self.idle + self.iowait),
            irq: share(self.irq),
            softirq: share(self.softirq),
            steal: share(self.steal),
        }
    }
}

impl CpuShares {
    /// Share of time in which the CPUs did something, whoever for; time taken by the hypervisor is not among
    /// it.
    pub fn busy(&self) -> f64 {
        self.user + self.system + self.irq + self.softirq
    }
}

impl TcpCounters {
    fn then(self, later: Self) -> Self {
        Self {
            retransmitted_segments: self.retransmitted_segments + later.retransmitted_segments,
            listen_overflows: self.listen_overflows + later.listen_overflows,
            listen_drops: self.listen_drops + later.listen_drops,
        }
    }

    fn since(self, then: Self) -> Self {
        Self {
            retransmitted_segments: self.retransmitted_segments.saturating_sub(then.retransmitted_segments),
            listen_overflows: self.listen_overflows.saturating_sub(then.listen_overflows),
            listen_drops: self.listen_drops.saturating_sub(then.listen_drops),
        }
    }
}

/// The lines `cpuN …` of `/proc/stat`.
pub(crate) fn parse_stat(text: &str) -> BTreeMap<u32, CpuTicks> {
    let cpu = |line: &str| {
        let mut fields = line.strip_prefix("cpu")?.split_whitespace();
        let id = fields.next()?.parse().ok()?;
        let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        let [user, nice, system, idle, iowait, irq, softirq, steal] = *ticks.first_chunk()?;
        Some((id, CpuTicks { user: user + nice, system, idle, iowait, irq, softirq, steal }))
    };
    // The first line, for all CPUs together, has a space after "cpu" and so no number.
    text.lines().filter(|line| !line.starts_with("cpu ")).filter_map(cpu).collect()
}

/// One row of `/proc/softirqs` by CPU.
fn parse_softirqs(text: &str, kind: &str) -> BTreeMap<u32, u64> {
    let cpus = text.lines().next().unwrap_or_default().split_whitespace();
    let row = crate::text::field(text, kind).unwrap_or_default().split_whitespace();
    cpus.zip(row)
        .filter_map(|(cpu, count)| Some((cpu.strip_prefix("CPU")?.parse().ok()?, count.parse().ok()?)))
        .collect()
}

/// `total=` of the line `some` of a pressure file.
fn parse_pressure(text: &str) -> Option<Nanos> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let total = some.split_whitespace().find_map(|field| field.strip_prefix("total="))?;
    total.parse().ok().map(Nanos::from_micros)
}

/// The counters out of `/proc/net/snmp` and `/proc/net/netstat`.
fn parse_tcp(snmp: &str, netstat: &str) -> Option<TcpCounters> {
    Some(TcpCounters {
        retransmitted_segments: named_counter(snmp, "Tcp:", "RetransSegs")?,
        listen_overflows: named_counter(netstat, "TcpExt:", "ListenOverflows")?,
        listen_drops: named_counter(netstat, "TcpExt:", "ListenDrops")?,
    })
}

/// In pairs of lines, names and then values, both with the same prefix, the value under `name`.
fn named_counter(text: &str, prefix: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.split_whitespace().next() == Some(prefix));
    let (names, values) = (lines.next()?, lines.next()?);
    names.split_whitespace().zip(values.split_whitespace()).find(|(found, _)| *found == name)?.1.parse().ok()
}

/// Load average over one minute.
pub(crate) fn load_average(tree: &Tree) -> Option<f64> {
    tree.read("proc/loadavg")?.split_whitespace().next()?.parse().ok()
}

/// A map by CPU as a list of pairs: keys of JSON are text, which is no number any more within a tagged enum.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        map: &BTreeMap<u32, T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<u32, T>, D::Error> {
        Ok(Vec::<(u32, T)>::deserialize(from)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Two of the 192 CPUs of a two-socket machine, one of them a guest's victim, and a kernel line after
    /// them.
    const STAT: &str = "\
cpu  7057 12 2888 296501 585 3 52 36 0 0
cpu0 3224 10 1224 148980 71 1 10 17 100 0
cpu191 3833 2 1663 147520 513 2 41 18 0 0
intr 199076 0 0 1
ctxt 374705";
    const SNMP: &str = "\
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails InSegs OutSegs RetransSegs
Tcp: 1 200 120000 -1 90 2 0 5638 3647 19
Udp: InDatagrams NoPorts
Udp: 181 0";
    const NETSTAT: &str = "\
TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPHPHits
TcpExt: 0 5 8 361
IpExt: InNoRoutes InTruncatedPkts
IpExt: 0 0";

    #[test]
    fn stat_is_read_by_cpu() {
        let cpus = parse_stat(STAT);
        assert_eq!(cpus.keys().copied().collect::<Vec<_>>(), [0, 191]);
        let first =
            CpuTicks { user: 3234, system: 1224, idle: 148_980, iowait: 71, irq: 1, softirq: 10, steal: 17 };
        assert_eq!(cpus[&0], first);
    }

    #[test]
    fn counters_are_found_by_name() {
        let tcp = TcpCounters { retransmitted_segments: 19, listen_overflows: 5, listen_drops: 8 };
        assert_eq!(parse_tcp(SNMP, NETSTAT), Some(tcp));
        assert_eq!(parse_tcp(SNMP, ""), None);
    }

    #[test]
    fn pressure_and_softirqs() {
        let psi = "some avg10=0.27 avg60=0.49 avg300=0.27 total=8375026\nfull avg10=0.00 total=7\n";
        assert_eq!(parse_pressure(psi), Some(Nanos(8_375_026_000)));
        assert_eq!(parse_pressure(""), None);
        let softirqs = "          CPU0       CPU3\n  NET_TX:     1        0\n  NET_RX:    1200     34\n";
        assert_eq!(parse_softirqs(softirqs, "NET_RX"), [(0, 1200), (3, 34)].into());
    }

    fn sample(at: Instant, busy: u64, pressure_us: u64) -> SystemSample {
        let cpu = |user| CpuTicks { user, system: 5, idle: 1000, steal: user / 10, ..CpuTicks::default() };
        SystemSample {
            at,
            cpus: [(0, cpu(busy)), (1, cpu(0))].into(),
            net_rx: [(0, busy)].into(),
            load_average: None,
            cpu_pressure_ns: Some(Nanos::from_micros(pressure_us)),
            tcp: Some(TcpCounters { retransmitted_segments: busy, ..TcpCounters::default() }),
        }
    }

    #[test]
    fn a_difference_is_taken_over_the_wanted_cpus() {
        let start = Instant::now();
        let mut later = sample(start + Duration::from_secs(1), 100, 20_000);
        for ticks in later.cpus.values_mut() {
            ticks.idle = 1090;
        }
        later.cpus.insert(7, CpuTicks::default());
        let delta = later.since(&sample(start, 0, 10_000));
        assert_eq!(delta.cpu_pressure, Some(0.01));
        assert_eq!(delta.tcp.map(|tcp| tcp.retransmitted_segments), Some(100));
        assert!(!delta.cpus.contains_key(&7), "a CPU that came online in between");
        let zero = delta.shares(&"0".parse().expect("a list"));
        assert_eq!((zero.user, zero.idle, zero.steal, zero.busy()), (0.5, 0.45, 0.05, 0.5));
        let both = delta.shares(&"0-1".parse().expect("a list"));
        assert!((both.user - 100.0 / 290.0).abs() < 1e-12);
        assert_eq!(delta.shares(&CpuSet::new()), CpuShares::default());
    }

    #[test]
    fn a_record_keeps_who_used_the_servers_cpus() {
        let start = Instant::now();
        let mut later = sample(start + Duration::from_secs(1), 50, 20_000);
        later.cpus.values_mut().for_each(|ticks| ticks.idle = 1045);
        let delta = later.since(&sample(start, 0, 10_000));
        let cpu = |list: &str| list.parse::<CpuSet>().expect("a list");
        // Of CPU 0's 100 ticks 50 were work, 45 idle, 5 stolen; its server says that 20 were its own.
        let own = Usage { wall_ns: Nanos(1_000_000_000), user_ns: Nanos(200_000_000), ..Usage::default() };
        let machine = delta.machine(&cpu("0"), &cpu("1"), Some(&own), Some(true), None);
        assert!((machine.server_other_share - 0.3).abs() < 1e-9, "{machine:?}");
        assert_eq!(
            (machine.server_cpu_busy_shares.as_slice(), machine.generator_idle_share),
            (&[0.55][..], 1.0)
        );
        assert_eq!((machine.cpu_pressure_share, machine.tcp_retransmits), (Some(0.01), 50));
        assert_eq!(delta.machine(&cpu("0"), &cpu("1"), None, Some(true), None).server_other_share, 0.0);
        let bounded = delta.machine(&cpu("0"), &cpu("1"), Some(&own), Some(true), Some(Nanos(10_000_000)));
        assert!((bounded.server_other_share - 0.01).abs() < 1e-9, "the rest is nobody's: {bounded:?}");
    }

    /// A server whose CPU is never idle; 40 of 100 ticks fell into deferred interrupt work, mostly its own traffic's.
    #[test]
    fn interrupt_time_is_subtracted_once() {
        let start = Instant::now();
        let before = sample(start, 0, 0);
        let mut after = before.clone();
        after.at = start + Duration::from_secs(1);
        after
            .cpus
            .insert(0, CpuTicks { user: 30, system: 35, idle: 1000, softirq: 40, ..CpuTicks::default() });
        let cpu = |list: &str| list.parse::<CpuSet>().expect("a list");
        let own = |ms: u64, uncounted_processes| Usage {
            wall_ns: Nanos(1_000_000_000),
            system_ns: Nanos(ms * 1_000_000),
            uncounted_processes,
            ..Usage::default()
        };
        let others = |own: &Usage, apart| {
            let machine = after.since(&before).machine(&cpu("0"), &cpu("1"), Some(own), apart, None);
            assert!((machine.server_interrupt_share - 0.4).abs() < 1e-9, "{machine:?}");
            machine.server_other_share
        };
        // Interrupts are in the 750 ms of the server, or apart from its 350 ms: either way 250 ms are left to others.
        assert!((others(&own(750, 0), Some(false)) - 0.25).abs() < 1e-9);
        assert!((others(&own(350, 0), Some(true)) - 0.25).abs() < 1e-9);
        assert_eq!(others(&own(750, 0), None), 0.0, "not known: rather too little");
        assert_eq!(
            others(&own(350, 1), Some(true)),
            0.0,
            "what a lost child used would look like others' work"
        );
    }

    #[test]
    fn this_machine_moves_forward() {
        let before = SystemSample::take();
        let delta = SystemSample::take_beside(std::process::id()).since(&before);
        assert!(crate::cpuset::allowed().iter().all(|cpu| delta.cpus.contains_key(&cpu)), "{delta:?}");
        assert!(before.tcp.is_some() && delta.tcp.is_some());
    }
}
