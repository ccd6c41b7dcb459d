//! A short measurement of what files do not tell: who else is at work, how exact timers are, how steady a CPU is.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use assay_model::doctor::Measured;
use assay_model::units::Nanos;

use crate::cpuset::{CpuSet, pin_current_thread};
use crate::system::{SystemDelta, SystemSample};
use crate::text::Tree;

/// Sleeps timed.
const SLEEPS: u32 = 200;
/// Length of each: short against a round, long against the timer slack.
const SLEEP: Duration = Duration::from_millis(1);
/// How long each CPU is spun on.
const SPIN: Duration = Duration::from_millis(80);
/// CPUs spun on, at most: they take their turns.
const MAX_SPUN_CPUS: usize = 16;
/// Readings of the clock that are timed together.
const CLOCK_READINGS: u32 = 100_000;
/// Steps of one piece of work: about 20 microseconds, far less than a time slice.
const PIECE_STEPS: u32 = 20_000;
/// A piece that took so many times the median was interrupted, not slow.
const INTERRUPTED: u64 = 2;

/// Watches the machine for `span` while doing nothing, then times clock readings, sleeps and spins on `pinned`.
pub fn measure(allowed: &CpuSet, pinned: &CpuSet, span: Duration) -> Measured {
    let (delta, device, soft) = watch(span);
    let shares = delta.shares(allowed);
    let busy_on = |cpu: u32| delta.shares(&[cpu].into_iter().collect()).busy();
    let lateness = sleep_lateness();
    let spins: Vec<Spin> = pinned.iter().take(MAX_SPUN_CPUS).filter_map(spin_on).collect();
    let worst = |of: fn(&Spin) -> f64| spins.iter().map(of).fold(0.0, f64::max);
    Measured {
        span_ns: delta.wall_ns,
        other_share: shares.busy(),
        worst_cpu_share: pinned.iter().map(busy_on).fold(0.0, f64::max),
        steal_share: shares.steal,
        pressure_share: delta.cpu_pressure,
        interrupts_per_second: most_per_second(&device, pinned, delta.wall_ns),
        softirqs_per_second: most_per_second(&soft, pinned, delta.wall_ns),
        clock_read_ns: clock_read_ns(),
        wake_late_p50_ns: quantile(&lateness, 0.5),
        wake_late_p99_ns: quantile(&lateness, 0.99),
        spin_lost_share: worst(|spin| spin.lost_share),
        speed_spread: worst(|spin| spin.spread),
    }
}

type PerCpu = BTreeMap<u32, u64>;

/// The machine's counters over `span`, with device and soft interrupts on each CPU.
fn watch(span: Duration) -> (SystemDelta, PerCpu, PerCpu) {
    let tree = Tree::live();
    let interrupts = || {
        let text = |file: &str| tree.read(file).unwrap_or_default();
        (device_interrupts(&text("proc/interrupts")), soft_interrupts(&text("proc/softirqs")))
    };
    let (before, (device, soft)) = (SystemSample::take(), interrupts());
    std::thread::sleep(span);
    let (after, (device_after, soft_after)) = (SystemSample::take(), interrupts());
    (after.since(&before), growth(&device, &device_after), growth(&soft, &soft_after))
}

fn growth(before: &PerCpu, after: &PerCpu) -> PerCpu {
    after
        .iter()
        .map(|(cpu, count)| (*cpu, count.saturating_sub(before.get(cpu).copied().unwrap_or(*count))))
        .collect()
}

fn most_per_second(counts: &PerCpu, cpus: &CpuSet, span: Nanos) -> f64 {
    let most = counts.iter().filter(|(cpu, _)| cpus.contains(**cpu)).map(|(_, count)| *count).max();
    most.unwrap_or(0) as f64 / span.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Interrupts of devices by CPU: the numbered rows of `/proc/interrupts`, not the CPU's own (timers, calls).
fn device_interrupts(text: &str) -> PerCpu {
    sum_rows(text, |name| name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// All rows of `/proc/softirqs` by CPU.
fn soft_interrupts(text: &str) -> PerCpu {
    sum_rows(text, |_| true)
}

/// Sums the rows whose name is `wanted` of a table with a column for each CPU.
fn sum_rows(text: &str, wanted: impl Fn(&str) -> bool) -> PerCpu {
    let mut lines = text.lines();
    let cpus: Vec<u32> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|head| head.strip_prefix("CPU")?.parse().ok())
        .collect();
    let mut sums: PerCpu = cpus.iter().map(|cpu| (*cpu, 0)).collect();
    for (_, row) in lines.filter_map(|line| line.split_once(':')).filter(|(name, _)| wanted(name.trim())) {
        let counts = row.split_whitespace().map_while(|word| word.parse::<u64>().ok());
        for (cpu, count) in cpus.iter().zip(counts) {
            *sums.entry(*cpu).or_default() += count;
        }
    }
    sums
}

fn clock_read_ns() -> f64 {
    let begin = Instant::now();
    for _ in 0..CLOCK_READINGS {
        black_box(Instant::now());
    }
    begin.elapsed().as_nanos() as f64 / f64::from(CLOCK_READINGS)
}

/// How late each of [`SLEEPS`] sleeps ended, ascending, in nanoseconds.
fn sleep_lateness() -> Vec<u64> {
    let late = |_| {
        let begin = Instant::now();
        std::thread::sleep(SLEEP);
        u64::try_from(begin.elapsed().saturating_sub(SLEEP).as_nanos()).unwrap_or(u64::MAX)
    };
    let mut lateness: Vec<u64> = (0..SLEEPS).map(late).collect();
    lateness.sort_unstable();
    lateness
}

fn quantile(sorted: &[u64], q: f64) -> Nanos {
    let index = ((sorted.len() as f64 * q).ceil() as usize).saturating_sub(1);
    Nanos(sorted.get(index).copied().unwrap_or(0))
}

/// What a thread that only computes experienced on one CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spin {
    /// Share of time lost in pieces that were interrupted.
    lost_share: f64,
    /// Third quartile over first quartile of the pieces' lengths, minus 1.
    spread: f64,
}

fn spin_on(cpu: u32) -> Option<Spin> {
    let spun = std::thread::spawn(move || {
        pin_current_thread(&[cpu].into_iter().collect()).ok()?;
        let begin = Instant::now();
        let mut pieces = Vec::with_capacity(8192);
        while begin.elapsed() < SPIN {
            pieces.push(time_of_a_piece());
        }
        Some(pieces)
    });
    judge_spin(spun.join().ok()??)
}

/// Nanoseconds that [`PIECE_STEPS`] dependent additions and shifts took.
fn time_of_a_piece() -> u64 {
    let begin = Instant::now();
    let mut value = black_box(1_u64);
    for step in 0..PIECE_STEPS {
        value = value.rotate_left(5) ^ u64::from(step);
    }
    black_box(value);
    u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn judge_spin(mut pieces: Vec<u64>) -> Option<Spin> {
    pieces.sort_unstable();
    let at = |share: usize| pieces.get(pieces.len() * share / 4).copied().filter(|&ns| ns > 0);
    let (first, median, third) = (at(1)?, at(2)?, at(3)?);
    let all: u64 = pieces.iter().sum();
    let lost: u64 = pieces.iter().filter(|&&ns| ns > INTERRUPTED * median).map(|ns| ns - median).sum();
    Some(Spin { lost_share: lost as f64 / all as f64, spread: third as f64 / first as f64 - 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_interrupts_are_summed_by_cpu() {
        let text = "           CPU0       CPU3\n 24:          1         10  IO-APIC   5-edge      acpi\n \
                    38:        100       4222 PCI-MSIX-0000:00:03.0   1-edge      virtio2\nLOC:      85172      91075   \
                    Local timer interrupts\nERR:          0\n";
        assert_eq!(device_interrupts(text), [(0, 101), (3, 4232)].into());
        assert_eq!(soft_interrupts("   CPU0 CPU3\n NET_RX: 5 6\n RCU: 1 2\n"), [(0, 6), (3, 8)].into());
        assert_eq!(device_interrupts(""), PerCpu::new());
        assert_eq!(
            growth(&[(0, 5), (1, 9)].into(), &[(0, 7), (1, 4), (2, 3)].into()),
            [(0, 2), (1, 0), (2, 0)].into()
        );
    }

    #[test]
    fn an_interrupted_piece_is_lost_time_and_no_slowness() {
        let spin = judge_spin([vec![10; 90], vec![1000]].concat()).expect("pieces");
        assert!((spin.lost_share - 990.0 / 1900.0).abs() < 1e-12 && spin.spread == 0.0, "{spin:?}");
        let slow = judge_spin([vec![10; 50], vec![15; 50]].concat()).expect("pieces");
        assert!(slow.lost_share == 0.0 && (slow.spread - 0.5).abs() < 1e-12, "{slow:?}");
        assert_eq!(judge_spin(Vec::new()), None);
    }

    #[test]
    fn this_machine_can_be_measured() {
        let allowed = crate::cpuset::allowed();
        let measured = measure(&allowed, &allowed, Duration::from_millis(30));
        assert!(measured.clock_read_ns > 0.0 && measured.span_ns >= Nanos::from_millis(30), "{measured:?}");
        assert!(measured.wake_late_p99_ns >= measured.wake_late_p50_ns);
        assert!(
            measured.worst_cpu_share <= 1.0 && measured.steal_share <= 1.0 && measured.spin_lost_share < 1.0
        );
    }
}
