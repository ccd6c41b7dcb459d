//! Processors, and who else uses them.

use std::collections::BTreeSet;

use assay_model::doctor::{Area::Cpu, Finding};
use assay_model::host::UNNAMED_HYPERVISOR;
use assay_model::record::{MAX_OTHER_SHARE, MAX_STEAL_SHARE};

use super::facts::Facts;
use super::finding::{caution, good, percent, setting, unfit};
use crate::isolation::Separation;

/// Shares from which a disturbance shows in a result (docs/method/trust.md#rules-for-windows).
const NOTICEABLE: f64 = 0.01;
/// Speed of equal work may differ by so much without a governor at work: caches and timers.
const STEADY_SPREAD: f64 = 0.05;
/// Interrupts a second from which they show: at about 2 us each, 1 % of a CPU.
const MANY_INTERRUPTS: f64 = 5_000.0;

pub(super) fn isolation(facts: &Facts) -> Option<Finding> {
    let state = facts.isolation.statement.clone();
    match facts.isolation.separation {
        Separation::None => {
            unfit("cpus", Cpu, state, "use a machine with at least two CPUs, or allow this process a second")
                .costs(
                    "throughput is then what server and generator did together",
                    "docs/method/placement.md",
                )
        }
        Separation::Cpus => caution("cpus", Cpu, state, "use a machine with at least two physical cores")
            .costs(SIBLINGS_COST, SIBLINGS_SOURCE),
        Separation::Cores => good("cpus", Cpu, state),
    }
    .done()
}

const SIBLINGS_COST: &str =
    "two busy threads of one core gain up to 30 % over one, so each runs at about 65 % of a free core";
const SIBLINGS_SOURCE: &str =
    "Marr et al., Hyper-Threading Technology Architecture, Intel Technology Journal 6(1), 2002";

pub(super) fn machine(facts: &Facts) -> Option<Finding> {
    let Some(hypervisor) = &facts.host.hypervisor else {
        return good("machine", Cpu, "no hypervisor").done();
    };
    let state = match hypervisor.as_str() {
        UNNAMED_HYPERVISOR => "virtual machine".to_owned(),
        name => format!("virtual machine ({name})"),
    };
    caution("machine", Cpu, state, "measure on metal, or on a dedicated instance, for results that others can repeat")
        .costs("neighbours share caches and memory bandwidth, which no counter here shows; watch steal and repeat runs", "docs/method/trust.md#rules-for-windows")
        .done()
}

pub(super) fn governor(facts: &Facts) -> Option<Finding> {
    let kinds: BTreeSet<&str> = facts.governors.values().map(String::as_str).collect();
    if kinds.is_empty() {
        let state = "the kernel does not set the frequency here; see \"speed\" for what it does";
        return good("governor", Cpu, state).done();
    }
    let names = kinds.iter().copied().collect::<Vec<_>>().join(", ");
    if names == "performance" {
        return good("governor", Cpu, names).done();
    }
    let slow = facts.governors.iter().filter(|(_, governor)| *governor != "performance");
    let path = |cpu: u32| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    let settings = slow.map(|(cpu, governor)| setting(&path(*cpu), governor, "performance"));
    let remedy = "choose the governor performance: cpupower frequency-set -g performance";
    caution("governor", Cpu, names, remedy)
        .costs(
            "the clock follows the load with a delay, so short windows and low rates are served by a slower CPU",
            "kernel: admin-guide/pm/cpufreq.rst",
        )
        .set(settings.filter(|_| facts.has_performance_governor))
        .done()
}

pub(super) fn turbo(facts: &Facts) -> Option<Finding> {
    if !facts.host.turbo? {
        return good("turbo", Cpu, "off: the clock does not rise above its nominal rate").done();
    }
    let remedy = "for repeatable figures turn it off; for greatest ones leave it and let rounds alternate";
    let off = facts.turbo_switch.as_ref().map(|[path, from, to]| setting(path, from, to));
    caution("turbo", Cpu, "on: the clock rises while the CPU is cool", remedy)
        .costs(
            "speed depends on temperature and on how many cores are busy: drift within a run",
            "kernel: admin-guide/pm/intel_pstate.rst",
        )
        .set(off)
        .done()
}

pub(super) fn power(facts: &Facts) -> Option<Finding> {
    let power = facts.power?;
    let charge = power.charge_percent.map_or_else(String::new, |percent| format!(", {percent} % full"));
    if !power.is_battery {
        return good("power", Cpu, format!("plugged in{charge}")).done();
    }
    caution("power", Cpu, format!("on battery{charge}"), "plug the machine in, and look again")
        .costs(
            "firmware and power profiles hold the clock down, more so the emptier the battery is",
            "kernel: ABI/testing/sysfs-class-power, power/energy-model.rst",
        )
        .done()
}

pub(super) fn speed(facts: &Facts) -> Option<Finding> {
    let measured = facts.measured.as_ref()?;
    let frequencies = facts.frequencies_khz.iter().min().zip(facts.frequencies_khz.iter().max());
    let clocks = frequencies.map_or_else(String::new, |(low, high)| {
        format!("; clocks now {:.1} to {:.1} GHz", *low as f64 / 1e6, *high as f64 / 1e6)
    });
    let state =
        format!("equal pieces of work differed by {} on one CPU{clocks}", percent(measured.speed_spread));
    if measured.speed_spread <= STEADY_SPREAD {
        return good("speed", Cpu, state).done();
    }
    caution("speed", Cpu, state, "fix the frequency (governor, turbo), stop other programs, and look again")
        .costs(
            format!("windows differ by up to {} without the server's doing", percent(measured.speed_spread)),
            "measured here",
        )
        .done()
}

pub(super) fn smt(facts: &Facts) -> Option<Finding> {
    if !facts.host.smt? {
        return good("smt", Cpu, format!("off: {} CPUs are as many cores", facts.host.cpus)).done();
    }
    let state =
        format!("on: {} CPUs on {} cores; siblings are kept on one side", facts.host.cpus, facts.host.cores);
    good("smt", Cpu, state).costs(SIBLINGS_COST, SIBLINGS_SOURCE).done()
}

pub(super) fn numa(facts: &Facts) -> Option<Finding> {
    if facts.host.numa_nodes < 2 {
        return good("numa", Cpu, "one memory node").done();
    }
    let state = format!("{} memory nodes; assay stays on one where it can", facts.host.numa_nodes);
    match facts.numa_factor.filter(|factor| *factor > 1.0) {
        None => good("numa", Cpu, state),
        Some(factor) => good("numa", Cpu, state).costs(
            format!("memory of the farthest node is {factor:.1} times as far as one's own"),
            "the firmware's distance table, kernel: ABI/stable/sysfs-devices-node",
        ),
    }
    .done()
}

pub(super) fn steal(facts: &Facts) -> Option<Finding> {
    let steal = facts.measured.as_ref()?.steal_share;
    let state = format!("a hypervisor took {} of CPU time", percent(steal));
    if steal <= NOTICEABLE {
        return good("steal", Cpu, state).done();
    }
    let remedy = "use a machine that is not shared, or come back when the neighbours are quiet";
    let note = if steal > MAX_STEAL_SHARE { unfit } else { caution };
    note("steal", Cpu, state, remedy)
        .costs(
            "the same share of throughput, at moments that fall on one contender and not on the next",
            "measured here",
        )
        .done()
}

pub(super) fn other_load(facts: &Facts) -> Option<Finding> {
    let measured = facts.measured.as_ref()?;
    let (all, worst) = (measured.other_share, measured.worst_cpu_share);
    let seconds = measured.span_ns.as_secs_f64();
    let state = format!(
        "in {seconds:.1} s of waiting, others used {} of all CPUs, {} of the busiest",
        percent(all),
        percent(worst)
    );
    if worst <= NOTICEABLE * 3.0 {
        return good("other-load", Cpu, state).done();
    }
    let note = if worst > MAX_OTHER_SHARE { unfit } else { caution };
    note("other-load", Cpu, state, "stop what else runs; `top -H` shows what it is")
        .costs(
            format!(
                "up to {} of a server's throughput; windows above {} are void",
                percent(worst),
                percent(MAX_OTHER_SHARE)
            ),
            "measured here",
        )
        .done()
}

pub(super) fn pressure(facts: &Facts) -> Option<Finding> {
    let measured = facts.measured.as_ref()?;
    let Some(share) = measured.pressure_share else {
        return good("pressure", Cpu, "the kernel does not tell (no /proc/pressure)").done();
    };
    let state = format!("some task waited for a CPU {} of the time", percent(share));
    if share <= NOTICEABLE {
        return good("pressure", Cpu, state).done();
    }
    caution("pressure", Cpu, state, "stop what else runs")
        .costs(
            "who waits for a CPU answers late: percentiles suffer before throughput does",
            "kernel: accounting/psi.rst",
        )
        .done()
}

pub(super) fn interrupts(facts: &Facts) -> Option<Finding> {
    let measured = facts.measured.as_ref()?;
    let (device, soft) = (measured.interrupts_per_second, measured.softirqs_per_second);
    let state =
        format!("{device:.0} device and {soft:.0} soft interrupts a second on the CPU that gets most");
    if device.max(soft) <= MANY_INTERRUPTS {
        return good("interrupts", Cpu, state).done();
    }
    let remedy =
        "move them: echo MASK > /proc/irq/NUMBER/smp_affinity; see /proc/interrupts for who sends them";
    caution("interrupts", Cpu, state, remedy)
        .costs(
            "a few microseconds each, taken from whoever runs there",
            "kernel: core-api/irq/irq-affinity.rst",
        )
        .done()
}

pub(super) fn mitigations(facts: &Facts) -> Option<Finding> {
    if facts.mitigations_off {
        let remedy = "remember it when comparing: production machines have them on";
        return caution("mitigations", Cpu, "switched off at boot", remedy)
            .costs(
                "system calls are cheaper than where the servers will run",
                "kernel: admin-guide/hw-vuln/index.rst",
            )
            .done();
    }
    let active = &facts.host.mitigations;
    if active.is_empty() {
        return good("mitigations", Cpu, "none needed by this CPU").done();
    }
    good("mitigations", Cpu, format!("active: {}", active.join(", ")))
        .costs("system calls and switches cost more, as they do in production; page table isolation alone adds a move to CR3, about a hundred cycles, at every entry and exit", "kernel: arch/x86/pti.rst")
        .done()
}
