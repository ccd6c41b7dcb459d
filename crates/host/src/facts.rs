//! Facts about this machine that decide whether two results can be compared. Each is absent where it cannot
//! be read; nothing here fails.

use assay_model::host::{HostFacts, UNNAMED_HYPERVISOR};

use crate::accounting::interrupts_are_apart_in;
use crate::arm;
use crate::cgroup;
use crate::cpuset::{self, CpuSet};
use crate::limits::{ephemeral_ports_in, nofile};
use crate::system::load_average;
use crate::text::{Tree, field, number};
use crate::topology::Topology;

/// The facts of this machine.
pub fn facts() -> HostFacts {
    HostFacts { nofile: Some(nofile()), ..facts_in(&Tree::live(), &cpuset::allowed()) }
}

pub(crate) fn facts_in(tree: &Tree, allowed: &CpuSet) -> HostFacts {
    let topology = Topology::read_from(tree);
    let limits = cgroup::limits_in(tree);
    let cpuinfo = tree.read("proc/cpuinfo").unwrap_or_default();
    let governor = |cpu| tree.read(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"));
    let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
    HostFacts {
        kernel: tree.read("proc/sys/kernel/osrelease"),
        distribution: tree.read("etc/os-release").and_then(|text| pretty_name(&text)),
        cpu_model: cpu_model(tree, &cpuinfo),
        cpus: count(allowed.len()),
        cores: count(topology.core_count(allowed)),
        numa_nodes: count(topology.node_count(allowed)),
        smt: Some(topology.shares_cores(allowed)),
        memory_bytes: tree
            .read("proc/meminfo")
            .and_then(|text| number(&text, "MemTotal"))
            .map(|kib| kib * 1024),
        cpu_quota: limits.cpus,
        memory_limit_bytes: limits.memory_bytes,
        governor: allowed.first().and_then(governor),
        turbo: turbo(tree),
        hypervisor: hypervisor(tree, &cpuinfo),
        container: container(tree),
        interrupts_apart: interrupts_are_apart_in(tree),
        clock_source: tree.read("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        mitigations: mitigations(tree),
        nofile: None,
        ephemeral_ports: ephemeral_ports_in(tree).map(|range| [*range.start(), *range.end()]),
        somaxconn: tree.parse("proc/sys/net/core/somaxconn"),
        syn_backlog: tree.parse("proc/sys/net/ipv4/tcp_max_syn_backlog"),
        congestion_control: tree.read("proc/sys/net/ipv4/tcp_congestion_control"),
        load_average: load_average(tree),
    }
}

/// `PRETTY_NAME` of os-release(5), without its quotes.
fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// The model name: x86 writes it into cpuinfo, Arm boards into the device tree; Arm servers have the core's numbers only.
fn cpu_model(tree: &Tree, cpuinfo: &str) -> Option<String> {
    let named = field(cpuinfo, "model name").filter(|name| !name.is_empty()).map(str::to_owned);
    let board = || Some(tree.read("proc/device-tree/model")?.trim_end_matches('\0').to_owned());
    named.or_else(board).or_else(|| arm::core(cpuinfo))
}

/// Whether the clock may rise above its nominal rate (kernel: Documentation/admin-guide/pm/intel_pstate.rst,
/// cpufreq.rst).
fn turbo(tree: &Tree) -> Option<bool> {
    let forbidden = tree.parse::<u8>("sys/devices/system/cpu/intel_pstate/no_turbo").map(|no| no == 0);
    forbidden.or_else(|| tree.parse::<u8>("sys/devices/system/cpu/cpufreq/boost").map(|boost| boost == 1))
}

/// The hypervisor by what the machine calls itself; [`UNNAMED_HYPERVISOR`] when only the CPU's flag tells that there is
/// one.
fn hypervisor(tree: &Tree, cpuinfo: &str) -> Option<String> {
    let flagged =
        field(cpuinfo, "flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let xen = tree.read("sys/hypervisor/type");
    let is_told = flagged || xen.is_some();
    let dmi = ["sys_vendor", "product_name"].map(|name| tree.read(format!("sys/class/dmi/id/{name}")));
    let names: Vec<String> = xen.into_iter().chain(dmi.into_iter().flatten()).collect();
    if !is_told && !arm::is_guest(cpuinfo, &names) {
        return None;
    }
    Some(if names.is_empty() { UNNAMED_HYPERVISOR.into() } else { names.join(" ") })
}

/// The container engine, by the marks that engines leave: Podman, Docker, and those that follow systemd's
/// container interface.
fn container(tree: &Tree) -> Option<String> {
    let marks = [("run/.containerenv", "podman"), (".dockerenv", "docker")];
    let marked = marks.iter().find(|(file, _)| tree.exists(file)).map(|(_, engine)| (*engine).to_owned());
    marked.or_else(|| tree.read("run/systemd/container"))
}

/// The names of the CPU faults that the kernel works around at a price.
fn mitigations(tree: &Tree) -> Vec<String> {
    let folder = "sys/devices/system/cpu/vulnerabilities";
    let active = |name: &String| {
        tree.read(format!("{folder}/{name}")).is_some_and(|text| text.starts_with("Mitigation"))
    };
    tree.names(folder).into_iter().filter(active).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const SERVER: &[(&str, &str)] = &[
        ("proc/sys/kernel/osrelease", "6.1.0-28-amd64\n"),
        (
            "etc/os-release",
            "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n",
        ),
        (
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: AMD EPYC 9654 96-Core Processor\nflags\t: fpu hypervisor lm\n",
        ),
        ("proc/meminfo", "MemTotal:       24684100 kB\nMemFree:        24122628 kB\n"),
        ("proc/loadavg", "0.25 0.04 0.03 1/84 6352\n"),
        ("proc/sys/net/core/somaxconn", "4096\n"),
        ("proc/sys/net/ipv4/tcp_max_syn_backlog", "512\n"),
        ("proc/sys/net/ipv4/tcp_congestion_control", "cubic\n"),
        ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0,2\n"),
        ("sys/devices/system/cpu/cpu2/topology/core_cpus_list", "0,2\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
        ("sys/devices/system/cpu/cpufreq/boost", "1\n"),
        ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
        ("sys/devices/system/cpu/vulnerabilities/spectre_v1", "Mitigation: usercopy/swapgs barriers\n"),
        ("sys/devices/system/cpu/vulnerabilities/retbleed", "Vulnerable\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
        ("sys/class/dmi/id/product_name", "m7a.large\n"),
        (".dockerenv", ""),
    ];

    #[test]
    fn a_cloud_machine_is_described() {
        let root = tempfile::tempdir().expect("a folder");
        for (file, text) in SERVER {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        let facts = facts_in(&Tree::at(root.path()), &"0,2-3".parse().expect("a list"));
        let expected = HostFacts {
            kernel: Some("6.1.0-28-amd64".into()),
            distribution: Some("Debian GNU/Linux 12 (bookworm)".into()),
            cpu_model: Some("AMD EPYC 9654 96-Core Processor".into()),
            cpus: 3,
            cores: 2,
            numa_nodes: 1,
            smt: Some(true),
            memory_bytes: Some(24_684_100 * 1024),
            governor: Some("powersave".into()),
            turbo: Some(true),
            hypervisor: Some("Amazon EC2 m7a.large".into()),
            container: Some("docker".into()),
            clock_source: Some("tsc".into()),
            mitigations: vec!["spectre_v1".into()],
            ephemeral_ports: Some([32768, 60999]),
            somaxconn: Some(4096),
            syn_backlog: Some(512),
            congestion_control: Some("cubic".into()),
            load_average: Some(0.25),
            ..HostFacts::default()
        };
        assert_eq!(facts, expected);
    }

    #[test]
    fn an_unreadable_machine_still_has_facts() {
        let root = tempfile::tempdir().expect("a folder");
        let facts = facts_in(&Tree::at(root.path()), &"0-3".parse().expect("a list"));
        let expected =
            HostFacts { cpus: 4, cores: 4, numa_nodes: 1, smt: Some(false), ..HostFacts::default() };
        assert_eq!(facts, expected);
    }

    #[test]
    fn turbo_is_the_opposite_of_no_turbo() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("sys/devices/system/cpu/intel_pstate");
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join("no_turbo"), "1\n").expect("written");
        assert_eq!(turbo(&Tree::at(root.path())), Some(false));
    }

    #[test]
    fn this_machine_has_facts() {
        let facts = facts();
        assert!(facts.kernel.is_some() && facts.cpus > 0 && facts.cores > 0 && facts.cores <= facts.cpus);
        assert!(facts.nofile.is_some_and(|[soft, hard]| soft <= hard));
    }
}
