//! Clocks and timers.

use assay_model::doctor::{Area::Time, Finding};

use super::facts::Facts;
use super::finding::{caution, duration, good, percent, setting};

/// Clock sources that a program reads without a system call (vDSO; kernel: timers/timekeeping.rst).
const FAST_CLOCKS: [&str; 6] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "riscv_clocksource", "timebase"];
/// A reading dearer than this was a system call.
const FAST_READING_NS: f64 = 150.0;
/// A sleep that ends later than this, one time in a hundred, is late; open loads bridge less by spinning.
const LATE_NS: u64 = 1_000_000;
/// Share of time that may be lost to interruptions on a quiet CPU.
const LOST_SHARE: f64 = 0.01;

pub(super) fn clock(facts: &Facts) -> Option<Finding> {
    let source = facts.host.clock_source.as_deref()?;
    let reading = facts.measured.as_ref().map(|measured| measured.clock_read_ns);
    let cost = reading.map_or_else(String::new, |ns| format!(", {} a reading", duration(ns)));
    let state = format!("{source}{cost}");
    let slow = !FAST_CLOCKS.contains(&source) || reading.is_some_and(|ns| ns > FAST_READING_NS);
    if !slow {
        return good("clock", Time, state).done();
    }
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let better = FAST_CLOCKS
        .iter()
        .find(|fast| **fast != source && facts.clock_sources.iter().any(|one| one == *fast));
    let remedy = match better {
        Some(fast) => format!("choose {fast}, which this machine has"),
        None => "the kernel found no faster one; see `dmesg | grep -i tsc` for its reason".to_owned(),
    };
    caution("clock", Time, state, &remedy)
        .costs("each reading is a system call, for the generator (one a wake) and for every server that stamps or times", "measured here; vdso(7)")
        .set(better.filter(|_| !FAST_CLOCKS.contains(&source)).map(|fast| setting(path, source, fast)))
        .done()
}

pub(super) fn wake_up(facts: &Facts) -> Option<Finding> {
    let measured = facts.measured.as_ref()?;
    let (usual, late) = (measured.wake_late_p50_ns, measured.wake_late_p99_ns);
    let slack =
        facts.timer_slack_ns.map_or_else(String::new, |ns| format!(" (timer slack {})", duration(ns as f64)));
    let state = format!(
        "a sleep of 1 ms ends {} late, {} in the worst of a hundred{slack}",
        duration(usual.0 as f64),
        duration(late.0 as f64)
    );
    if late.0 <= LATE_NS {
        return good("wake-up", Time, state).done();
    }
    caution(
        "wake-up",
        Time,
        state,
        "stop what else runs; on a virtual machine, use one whose CPUs are its own",
    )
    .costs(
        "under offered rates requests leave late; a window with too much lag is void",
        "measured here; docs/method/trust.md#requests-that-left-late",
    )
    .done()
}

pub(super) fn interruptions(facts: &Facts) -> Option<Finding> {
    let measured = facts.measured.as_ref()?;
    let state =
        format!("a computing thread lost {} of its time on the worst CPU", percent(measured.spin_lost_share));
    if measured.spin_lost_share <= LOST_SHARE {
        return good("interruptions", Time, state).done();
    }
    caution(
        "interruptions",
        Time,
        state,
        "stop what else runs; keep it off with isolcpus= or a cpuset of its own",
    )
    .costs("the same share of throughput, unevenly, and a longer tail", "measured here")
    .done()
}
