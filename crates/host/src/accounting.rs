//! Whether the kernel takes the time of interrupts out of the CPU time of the program that they interrupted.
//!
//! With `CONFIG_IRQ_TIME_ACCOUNTING` it does: a process's `schedstat` is without the interrupts that came while it ran, the
//! receiving half of loopback traffic among them, and `/proc/stat` has their whole time. Without it that time is the
//! process's, and what `/proc/stat` calls softirq is a share of the ticks that fell into it, counted once more
//! (kernel: `kernel/sched/core.c`, `update_rq_clock_task`; `kernel/sched/cputime.c`, `account_process_tick`).

use std::io::Read;

use crate::system::{CpuTicks, parse_stat};
use crate::text::Tree;

/// The option by its name in a kernel's configuration.
const OPTION: &str = "CONFIG_IRQ_TIME_ACCOUNTING";
/// Busy ticks after which a kernel that accounts for interrupts has seen some: its own timer is one with each of them.
const TELLING_TICKS: u64 = 1_000;
/// A configuration is a few hundred KiB; more is none.
const MAX_CONFIG_BYTES: u64 = 4 << 20;

/// Whether this kernel takes interrupts out of the CPU time of programs; `None` when that cannot be told.
///
/// The configuration says whether it could. Whether it does shows in the time of hardware interrupts in `/proc/stat`: where
/// ticks are counted, none falls into an interrupt, because the tick is one itself. (A kernel that can may have been told
/// not to, with `tsc=noirqtime`, or may have found its clock wanting.)
pub fn interrupts_are_apart() -> Option<bool> {
    interrupts_are_apart_in(&Tree::live())
}

pub(crate) fn interrupts_are_apart_in(tree: &Tree) -> Option<bool> {
    let release = tree.read("proc/sys/kernel/osrelease").unwrap_or_default();
    let configured = config(tree, &release).map(|text| is_set(&text, OPTION));
    let seen = parse_stat(&tree.read("proc/stat").unwrap_or_default());
    let seen = seen.values().fold(CpuTicks::default(), |sum, cpu| sum.plus(cpu));
    let exact_elsewhere = tree.read("sys/devices/system/cpu/nohz_full").is_some_and(|list| list != "(null)");
    decide(configured, &seen, exact_elsewhere)
}

/// `exact_elsewhere`: some CPUs account exactly by another means (`nohz_full`), so that seen interrupts prove nothing.
fn decide(configured: Option<bool>, seen: &CpuTicks, exact_elsewhere: bool) -> Option<bool> {
    let busy = seen.user + seen.system + seen.softirq;
    match configured {
        Some(false) => Some(false),
        Some(true) if seen.irq == 0 && busy >= TELLING_TICKS => Some(false),
        Some(true) => Some(true),
        None if exact_elsewhere => None,
        None if seen.irq > 0 => Some(true),
        None => (busy >= TELLING_TICKS).then_some(false),
    }
}

/// The configuration that the running kernel was built with, from the places where distributions keep it.
fn config(tree: &Tree, release: &str) -> Option<String> {
    let kept = [
        format!("boot/config-{release}"),
        format!("lib/modules/{release}/config"),
        format!("lib/modules/{release}/build/.config"),
    ];
    packed_config(tree).or_else(|| kept.iter().find_map(|file| tree.read(file)))
}

/// `/proc/config.gz` (`CONFIG_IKCONFIG_PROC`).
fn packed_config(tree: &Tree) -> Option<String> {
    let file = std::fs::File::open(tree.path("proc/config.gz")).ok()?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).take(MAX_CONFIG_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

fn is_set(config: &str, option: &str) -> bool {
    config.lines().any(|line| line.strip_prefix(option).is_some_and(|value| value.trim() == "=y"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    fn ticks(user: u64, irq: u64) -> CpuTicks {
        CpuTicks { user, irq, ..CpuTicks::default() }
    }

    #[test]
    fn the_configuration_decides_unless_the_counters_contradict() {
        for (configured, seen, elsewhere, expected) in [
            (Some(false), ticks(100_000, 7), false, Some(false)),
            (Some(true), ticks(100_000, 70), false, Some(true)),
            (Some(true), ticks(100_000, 0), false, Some(false)),
            (Some(true), ticks(10, 0), false, Some(true)),
            (None, ticks(100_000, 0), false, Some(false)),
            (None, ticks(100_000, 70), false, Some(true)),
            (None, ticks(10, 0), false, None),
            (None, ticks(100_000, 70), true, None),
        ] {
            assert_eq!(decide(configured, &seen, elsewhere), expected, "{configured:?} {seen:?} {elsewhere}");
        }
    }

    #[test]
    fn the_configuration_is_found_packed_or_beside_the_kernel() {
        let off = "CONFIG_HZ=250\n# CONFIG_IRQ_TIME_ACCOUNTING is not set\n";
        let on = "CONFIG_IRQ_TIME_ACCOUNTING=y\n";
        let stat = "cpu0 5000 0 5000 10 0 0 300 0 0 0\ncpu1 5000 0 5000 10 0 9 300 0 0 0\n";
        let root = tempfile::tempdir().expect("a folder");
        let write = |file: &str, bytes: &[u8]| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, bytes).expect("written");
        };
        let look = || interrupts_are_apart_in(&Tree::at(root.path()));
        assert_eq!(look(), None);
        write("proc/sys/kernel/osrelease", b"6.1.0\n");
        write("boot/config-6.1.0", off.as_bytes());
        write("proc/stat", stat.as_bytes());
        assert_eq!(look(), Some(false));
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(on.as_bytes()).expect("packed");
        write("proc/config.gz", &packed.finish().expect("packed"));
        assert_eq!(look(), Some(true));
    }
}
