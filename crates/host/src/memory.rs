//! The memory of this process itself.

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
    fn this_process_is_larger_than_nothing() {
        let own = own().expect("procfs");
        assert!(own.now_bytes > 0 && own.peak_bytes >= own.now_bytes / 2);
    }
}
