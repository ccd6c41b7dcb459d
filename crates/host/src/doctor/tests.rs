//! Other machines, as the files they would have.

use std::fs;
use std::path::Path;

use assay_model::check::CheckOutcome;
use assay_model::doctor::{Diagnosis, Finding, Fitness, Measured};
use assay_model::units::Nanos;

use super::*;

/// What a machine with nothing to hide has.
const SOUND: &[(&str, &str)] = &[
    ("proc/sys/kernel/osrelease", "6.1.0-28-amd64\n"),
    ("proc/cpuinfo", "model name\t: A CPU\nflags\t: fpu lm\n"),
    ("proc/meminfo", "MemTotal:       65536000 kB\nSwapTotal:       0 kB\nSwapFree:       0 kB\n"),
    (
        "proc/self/limits",
        "Limit   Soft Limit   Hard Limit  Units\nMax open files     1024      1048576      files\n",
    ),
    ("proc/self/status", "Name:\tassay\nUid:\t1000\t1000\t1000\t1000\n"),
    ("proc/self/mounts", "proc /proc proc rw,nosuid 0 0\n"),
    ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
    ("proc/sys/net/ipv4/tcp_tw_reuse", "2\n"),
    ("proc/sys/net/core/somaxconn", "4096\n"),
    ("proc/sys/net/ipv4/tcp_max_syn_backlog", "4096\n"),
    ("proc/sys/kernel/perf_event_paranoid", "1\n"),
    ("sys/bus/event_source/devices/cpu/type", "4\n"),
    ("sys/class/net/lo/mtu", "65536\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("sys/devices/system/cpu/online", "0-7\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n"),
];

/// A quiet second.
fn quiet() -> Measured {
    Measured {
        span_ns: Nanos::from_millis(1000),
        pressure_share: Some(0.001),
        clock_read_ns: 25.0,
        wake_late_p50_ns: Nanos::from_micros(57),
        wake_late_p99_ns: Nanos::from_micros(80),
        speed_spread: 0.002,
        ..Measured::default()
    }
}

/// The sound machine with some files otherwise; an empty text takes a file away.
fn facts(otherwise: &[(&str, &str)]) -> Facts {
    let root = tempfile::tempdir().expect("a folder");
    for (file, text) in SOUND.iter().chain(otherwise) {
        write(root.path(), file, text);
    }
    Facts { measured: Some(quiet()), ..Facts::read_saved(root.path()) }
}

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

fn of<'d>(diagnosis: &'d Diagnosis, rule: &str) -> &'d Finding {
    diagnosis.findings.iter().find(|finding| finding.rule == rule).expect(rule)
}

/// The rules that object.
fn objections(diagnosis: &Diagnosis) -> Vec<&str> {
    let objecting = diagnosis.findings.iter().filter(|finding| finding.outcome != CheckOutcome::Pass);
    objecting.map(|finding| finding.rule.as_str()).collect()
}

#[test]
fn a_sound_machine_is_fit() {
    let diagnosis = diagnose(&facts(&[]));
    assert_eq!((objections(&diagnosis), diagnosis.fitness), (vec![], Fitness::Fit));
    let areas: Vec<_> = diagnosis.findings.iter().map(|finding| finding.area).collect();
    assert!(areas.is_sorted(), "the areas stay together");
}

#[test]
fn whatever_objects_says_what_it_costs_and_how_to_mend_it() {
    let worst = Measured {
        other_share: 0.5,
        worst_cpu_share: 0.9,
        steal_share: 0.2,
        pressure_share: Some(0.5),
        interrupts_per_second: 1e5,
        clock_read_ns: 900.0,
        wake_late_p99_ns: Nanos::from_millis(5),
        spin_lost_share: 0.4,
        speed_spread: 0.3,
        ..quiet()
    };
    let files = [
        ("proc/self/limits", "Max open files     256      512      files\n"),
        ("proc/sys/net/ipv4/ip_local_port_range", "60000 60100\n"),
        ("proc/sys/net/ipv4/tcp_tw_reuse", "0\n"),
        ("proc/sys/net/core/somaxconn", "128\n"),
        ("proc/sys/net/ipv4/tcp_max_syn_backlog", "128\n"),
        ("proc/sys/kernel/osrelease", "4.19.0\n"),
        ("proc/sys/kernel/io_uring_disabled", "2\n"),
        ("sys/class/net/lo/mtu", "1500\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
    ];
    let diagnosis = diagnose(&Facts { measured: Some(worst), ..facts(&files) });
    assert_eq!(diagnosis.fitness, Fitness::Unfit);
    let expected = [
        "speed",
        "steal",
        "other-load",
        "pressure",
        "interrupts",
        "clock",
        "wake-up",
        "interruptions",
        "ports",
        "port-reuse",
        "accept-queue",
        "syn-queue",
        "loopback",
        "open-files",
        "kernel",
        "io-uring",
    ];
    assert_eq!(objections(&diagnosis), expected);
    for finding in diagnosis.findings.iter().filter(|finding| finding.outcome != CheckOutcome::Pass) {
        assert!(
            finding.cost.is_some() && finding.source.is_some() && finding.remedy.is_some(),
            "{finding:?}"
        );
    }
    let paths: Vec<String> = fix::settings(&diagnosis).into_iter().map(|setting| setting.path).collect();
    assert!(paths.iter().any(|path| path.ends_with("current_clocksource")), "{paths:?}");
    assert!(paths.iter().any(|path| path.ends_with("io_uring_disabled")), "{paths:?}");
}

#[test]
fn a_laptop_saves_power() {
    let cpu = "sys/devices/system/cpu";
    let mut files = vec![(format!("{cpu}/intel_pstate/no_turbo"), "0\n")];
    for id in 0..8 {
        files.push((format!("{cpu}/cpu{id}/cpufreq/scaling_governor"), "powersave\n"));
        files.push((format!("{cpu}/cpu{id}/cpufreq/scaling_available_governors"), "performance powersave\n"));
        let siblings = ["0,4", "1,5", "2,6", "3,7"][id % 4];
        files.push((format!("{cpu}/cpu{id}/topology/core_cpus_list"), siblings));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (file.as_str(), *text)).collect();
    let diagnosis = diagnose(&facts(&files));
    assert_eq!(objections(&diagnosis), ["governor", "turbo"]);
    assert_eq!(diagnosis.fitness, Fitness::UsableWithCaution);
    let governor = of(&diagnosis, "governor");
    assert_eq!((governor.state.as_str(), governor.settings.len()), ("powersave", 8));
    assert_eq!(of(&diagnosis, "turbo").settings[0].to, "1", "no_turbo is the way to turn it off");
    assert!(of(&diagnosis, "smt").state.contains("8 CPUs on 4 cores"));
}

#[test]
fn a_cloud_machine_is_virtual_and_its_neighbours_are_felt() {
    let files = [
        ("proc/cpuinfo", "model name\t: A CPU\nflags\t: fpu hypervisor\n"),
        ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
        ("sys/class/dmi/id/product_name", "m7a.large\n"),
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0-1\n"),
        ("sys/devices/system/cpu/cpu1/topology/core_cpus_list", "0-1\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n"),
    ];
    let stolen = |steal_share| Facts { measured: Some(Measured { steal_share, ..quiet() }), ..facts(&files) };
    let diagnosis = diagnose(&stolen(0.0));
    assert_eq!(objections(&diagnosis), ["cpus", "machine"], "both threads of one core");
    assert!(of(&diagnosis, "machine").state.contains("Amazon EC2 m7a.large"));
    assert_eq!(of(&diagnose(&stolen(0.03)), "steal").outcome, CheckOutcome::Warn);
    assert_eq!(of(&diagnose(&stolen(0.3)), "steal").outcome, CheckOutcome::Void);
}

#[test]
fn a_large_server_has_far_memory() {
    let files = [
        ("sys/devices/system/cpu/online", "0-127\n"),
        ("sys/devices/system/node/node0/cpulist", "0-63\n"),
        ("sys/devices/system/node/node1/cpulist", "64-127\n"),
        ("sys/devices/system/node/node0/distance", "10 32\n"),
        ("sys/devices/system/node/node1/distance", "32 10\n"),
    ];
    let diagnosis = diagnose(&facts(&files));
    assert_eq!(diagnosis.fitness, Fitness::Fit);
    let numa = of(&diagnosis, "numa");
    assert!(numa.cost.as_ref().is_some_and(|cost| cost.contains("3.2 times")), "{numa:?}");
    assert!(
        diagnosis.isolation.statement.contains("all on NUMA node 1"),
        "{}",
        diagnosis.isolation.statement
    );
}

#[test]
fn a_container_has_limits() {
    let files = [
        (".dockerenv", "x"),
        ("proc/self/mountinfo", "34 23 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("proc/self/cgroup", "0::/\n"),
        ("sys/fs/cgroup/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/memory.max", "536870912\n"),
        ("proc/self/status", "Uid:\t0\t0\t0\t0\nCpus_allowed_list:\t2-3\n"),
        ("proc/self/mounts", "proc /proc proc rw,hidepid=invisible 0 0\n"),
    ];
    let refused = IoUring::Fails("io_uring_setup: Operation not permitted".to_owned());
    let diagnosis = diagnose(&Facts { io_uring: refused, ..facts(&files) });
    assert_eq!(objections(&diagnosis), ["cpu-quota", "memory", "io-uring"]);
    assert_eq!(of(&diagnosis, "cpu-quota").outcome, CheckOutcome::Void, "one and a half CPUs for two sides");
    assert!(of(&diagnosis, "cpu-set").state.contains("2-3 of 8"));
    assert!(of(&diagnosis, "proc").state.contains("invisible"));
    assert!(of(&diagnosis, "io-uring").remedy.as_ref().is_some_and(|remedy| remedy.contains("seccomp")));
}

#[test]
fn this_machine_can_be_diagnosed() {
    let diagnosis = diagnose(&Facts::read());
    assert!(diagnosis.findings.iter().any(|finding| finding.rule == "cpus"));
    assert_eq!(diagnosis.fitness, Fitness::of(&diagnosis.findings));
}

#[test]
fn a_quota_of_version_1_is_one_too() {
    let cpu = "sys/fs/cgroup/cpu,cpuacct";
    let diagnosis = diagnose(&facts(&[
        (
            "proc/self/mountinfo",
            "31 22 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
        ),
        ("proc/self/cgroup", "4:cpu,cpuacct:/box\n0::/\n"),
        (&format!("{cpu}/box/cpu.cfs_quota_us"), "150000\n"),
        (&format!("{cpu}/box/cpu.cfs_period_us"), "100000\n"),
    ]));
    let quota = of(&diagnosis, "cpu-quota");
    assert_eq!((quota.outcome, diagnosis.fitness), (CheckOutcome::Void, Fitness::Unfit));
    assert!(quota.state.starts_with("1.5 CPUs' worth of time on 8 CPUs"), "{}", quota.state);
}

/// What a newcomer's machine often is, each with the rule that objects, how much, and what its remedy speaks of.
#[test]
fn the_likeliest_troubles_of_a_machine_are_named_with_their_remedies() {
    use CheckOutcome::{Void, Warn};
    let supply = "sys/class/power_supply";
    let battery = [
        (format!("{supply}/BAT0/type"), "Battery\n"),
        (format!("{supply}/BAT0/status"), "Discharging\n"),
        (format!("{supply}/BAT0/capacity"), "42\n"),
        (format!("{supply}/AC/type"), "Mains\n"),
        (format!("{supply}/AC/online"), "0\n"),
    ];
    let battery: Vec<(&str, &str)> = battery.iter().map(|(file, text)| (file.as_str(), *text)).collect();
    let release = "proc/sys/kernel/osrelease";
    let governor = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    let quota = [
        ("proc/self/mountinfo", "34 23 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("proc/self/cgroup", "0::/\n"),
        ("sys/fs/cgroup/cpu.max", "400000 100000\n"),
    ];
    type Case<'c> = (&'c [(&'c str, &'c str)], &'c str, CheckOutcome, &'c str);
    let cases: [Case<'_>; 10] = [
        (&[("sys/devices/system/cpu/online", "0\n")], "cpus", Void, "at least two CPUs"),
        (&battery, "power", Warn, "plug the machine in"),
        (&[(governor, "powersave\n")], "governor", Warn, "cpupower frequency-set"),
        (&quota, "cpu-quota", Warn, "lift the quota"),
        (&[("proc/cpuinfo", "flags\t: hypervisor\n")], "machine", Warn, "on metal"),
        (&[(release, "5.15.90.1-microsoft-standard-WSL2\n")], "wsl", Warn, ".wslconfig"),
        (&[(release, "4.4.0-19041-Microsoft\n")], "wsl", Void, "wsl --set-version"),
        (
            &[("proc/self/limits", "Max open files     256      512      files\n")],
            "open-files",
            Void,
            "ulimit -Hn",
        ),
        (&[("proc/sys/net/core/somaxconn", "128\n")], "accept-queue", Warn, "net.core.somaxconn"),
        (&[("proc/sys/net/ipv4/ip_local_port_range", "60000 60100\n")], "ports", Void, "ip_local_port_range"),
    ];
    for (files, rule, outcome, remedy) in cases {
        let diagnosis = diagnose(&facts(files));
        let finding = of(&diagnosis, rule);
        assert_eq!(finding.outcome, outcome, "{finding:?}");
        assert!(finding.remedy.as_ref().is_some_and(|told| told.contains(remedy)), "{finding:?}");
        assert!(finding.cost.is_some() && finding.source.is_some(), "{finding:?}");
    }
}

#[test]
fn a_laptop_that_is_plugged_in_and_the_battery_of_a_mouse_are_no_trouble() {
    let supply = |name: &str, file: &str| format!("sys/class/power_supply/{name}/{file}");
    let plugged = [
        (supply("BAT0", "type"), "Battery"),
        (supply("BAT0", "status"), "Charging"),
        (supply("AC", "type"), "Mains"),
        (supply("AC", "online"), "1"),
    ];
    let plugged: Vec<(&str, &str)> = plugged.iter().map(|(file, text)| (file.as_str(), *text)).collect();
    assert_eq!(of(&diagnose(&facts(&plugged)), "power").state, "plugged in");
    let mouse = [
        (supply("m", "type"), "Battery"),
        (supply("m", "scope"), "Device"),
        (supply("m", "status"), "Discharging"),
    ];
    let mouse: Vec<(&str, &str)> = mouse.iter().map(|(file, text)| (file.as_str(), *text)).collect();
    assert!(diagnose(&facts(&mouse)).findings.iter().all(|finding| finding.rule != "power"));
}

#[test]
fn a_disk_without_room_is_told_before_a_run_is_lost() {
    let with = |bytes| Facts { rooms: vec![Room { folder: "/srv (runs)".to_owned(), bytes }], ..facts(&[]) };
    assert_eq!(of(&diagnose(&with(8 << 30)), "disk").outcome, CheckOutcome::Pass);
    let tight = diagnose(&with(200 << 20));
    assert_eq!(of(&tight, "disk").outcome, CheckOutcome::Warn);
    assert_eq!(of(&tight, "disk").state, "200 MiB free in /srv (runs)");
    assert_eq!(of(&diagnose(&with(1 << 20)), "disk").outcome, CheckOutcome::Void);
    assert!(
        diagnose(&Facts::read()).findings.iter().any(|finding| finding.rule == "disk"),
        "this machine has disks"
    );
}
