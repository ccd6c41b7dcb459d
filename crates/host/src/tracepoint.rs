//! The numbers by which the kernel knows its tracepoints; tracefs tells them (kernel: trace/events.rst).

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::text::Tree;

/// Where tracefs is mounted, and where it was before Linux 4.1 (kernel: trace/ftrace.rst).
const TRACING: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// The number of a tracepoint by its folder and name: `raw_syscalls/sys_enter`.
///
/// Where tracefs is mounted nowhere, a thread mounts it for itself alone, and with the thread it is gone: the machine stays as it is.
///
/// # Errors
/// When this user may neither read tracefs nor mount it, or the kernel has no such tracepoint.
pub fn number(event: &str) -> Result<u64, String> {
    let found = mounted(&Tree::live(), event).or_else(|| in_passing(event));
    found.ok_or_else(|| "the kernel's tracepoints cannot be read (run as root)".to_owned())
}

fn mounted(tree: &Tree, event: &str) -> Option<u64> {
    TRACING.iter().find_map(|folder| tree.parse(format!("{folder}/events/{event}/id")))
}

fn in_passing(event: &str) -> Option<u64> {
    std::thread::scope(|scope| scope.spawn(|| mount_and_read(event)).join().ok().flatten())
}

/// Leaves the calling thread in a mount namespace of its own.
fn mount_and_read(event: &str) -> Option<u64> {
    let (none, anew) = (None::<&str>, MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC);
    // A mount namespace belongs to a thread, and not to its process (unshare(2), CLONE_FS).
    unshare(CloneFlags::CLONE_NEWNS).ok()?;
    // Where mounts are shared, which systemd has them be, this one would be seen by everybody (mount_namespaces(7)).
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).ok()?;
    mount(Some("tracefs"), "/sys/kernel/tracing", Some("tracefs"), anew, none).ok()?;
    mounted(&Tree::live(), event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mounted_tracefs_is_read_at_either_place() {
        let root = tempfile::tempdir().expect("a folder");
        let tree = Tree::at(root.path());
        assert_eq!(mounted(&tree, "raw_syscalls/sys_enter"), None);
        let folder = root.path().join("sys/kernel/debug/tracing/events/raw_syscalls/sys_enter");
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(folder.join("id"), "363\n").expect("written");
        assert_eq!(mounted(&tree, "raw_syscalls/sys_enter"), Some(363));
        assert_eq!(mounted(&tree, "raw_syscalls/sys_exit"), None);
    }

    #[test]
    fn tracefs_is_read_without_a_mount_that_others_see() {
        let mounts = || std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        let before = mounts();
        match number("raw_syscalls/sys_enter") {
            Ok(number) => assert_ne!(number, 0),
            Err(why) if rustix::process::geteuid().is_root() => assay_skip::skip("root", why),
            Err(why) => assert!(why.contains("root")),
        }
        assert_eq!(mounts(), before);
        assert!(number("no_such/tracepoint").is_err());
    }
}
