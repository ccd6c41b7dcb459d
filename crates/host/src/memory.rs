//! Memory of this process, of others at a moment, and what is left of it.

use std::io::ErrorKind;

use rustix::io::Errno;

use crate::cgroup;
use crate::text::{Tree, number};

/// Resident memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    /// Now, in bytes.
    pub now_bytes: u64,
    /// The most it ever was, in bytes.
    pub peak_bytes: u64,
}

/// What this process holds in memory (`/proc/self/status`, proc_pid_status(5)); the kernel counts in batches, so it may
/// be off by a few hundred KiB. `None` when not readable.
pub fn own() -> Option<Resident> {
    Tree::live().read("proc/self/status").and_then(|status| parse(&status))
}

/// Proportional set size of some processes now, in bytes: what each has for itself, and of what several have together its share
/// (kernel: filesystems/proc.rst, `smaps_rollup`; Linux 4.14). Workers that were forked share most of their memory, so that
/// the sum of their resident sizes tells it many times over. `None` when it may not be read of one that still lives.
pub fn proportional(processes: impl IntoIterator<Item = u32>) -> Option<u64> {
    let mut bytes = 0;
    for pid in processes {
        match std::fs::read_to_string(Tree::live().path(format!("proc/{pid}/smaps_rollup"))) {
            Ok(rollup) => bytes += number(&rollup, "Pss")? * 1024,
            // Ended meanwhile, or a zombie, which has no memory any more.
            Err(error) if error.kind() == ErrorKind::NotFound && exists(pid) => return None,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {}
            Err(_) => return None,
        }
    }
    Some(bytes)
}

/// Memory that programs can still take, in bytes, before the kernel swaps or ends one of them: what the machine has available
/// (`MemAvailable`, proc_meminfo(5)), or less where a control group allows less. `None` where the kernel does not tell.
pub fn available() -> Option<u64> {
    available_in(&Tree::live())
}

fn available_in(tree: &Tree) -> Option<u64> {
    let machine =
        tree.read("proc/meminfo").and_then(|text| number(&text, "MemAvailable")).map(|kib| kib * 1024);
    machine.into_iter().chain(cgroup::memory_left_in(tree)).min()
}

fn exists(pid: u32) -> bool {
    Tree::live().exists(format!("proc/{pid}"))
}

fn parse(status: &str) -> Option<Resident> {
    let bytes = |name| number(status, name).map(|kib| kib * 1024);
    Some(Resident { now_bytes: bytes("VmRSS")?, peak_bytes: bytes("VmHWM")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_numbers_are_needed() {
        let status = "Name:\tassay\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!(parse(status), Some(Resident { now_bytes: 1 << 20, peak_bytes: 2 << 20 }));
        assert_eq!(parse("VmHWM:\t    2048 kB\n"), None, "a kernel thread has no memory");
    }

    #[test]
    fn what_is_available_is_what_the_tightest_group_leaves() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |file: &str, text: &str| {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        let tree = Tree::at(root.path());
        assert_eq!(available_in(&tree), None);
        write("proc/meminfo", "MemTotal: 8192 kB\nMemAvailable:       4096 kB\n");
        assert_eq!(available_in(&tree), Some(4 << 20));
        write("proc/self/mountinfo", "34 23 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
        write("proc/self/cgroup", "0::/user/shell\n");
        write("sys/fs/cgroup/user/shell/memory.max", "max\n");
        write("sys/fs/cgroup/user/memory.max", "3145728\n");
        write("sys/fs/cgroup/user/memory.current", "2097152\n");
        assert_eq!(available_in(&tree), Some(1 << 20));
        // The cache of files can be had back.
        write("sys/fs/cgroup/user/memory.stat", "anon 1048576\ninactive_file 524288\n");
        assert_eq!(available_in(&tree), Some(3 << 19));
    }

    #[test]
    fn this_process_is_larger_than_nothing() {
        let own = own().expect("procfs");
        assert!(own.now_bytes > 0 && own.peak_bytes >= own.now_bytes / 2);
    }

    #[test]
    fn shared_memory_is_told_once() {
        let me = std::process::id();
        let (own, resident) = (proportional([me]).expect("procfs"), own().expect("procfs"));
        // Other tests of this process run meanwhile, so the bounds are wide.
        assert!(own > 0 && own < 2 * resident.peak_bytes, "{own} of {resident:?}");
        assert!(proportional([me, me]).expect("procfs") > own / 2 * 3);
        assert_eq!(proportional([u32::MAX - 1]), Some(0), "nobody has nothing");
        assert_eq!(proportional([]), Some(0));
    }
}
