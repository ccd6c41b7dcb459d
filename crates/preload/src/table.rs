//! Every call of Linux, and of the C library, that makes, moves or ends a descriptor, and what this library does about it.
//!
//! The list was made from the system calls of Linux 6.18 and the functions of glibc 2.36, without those that close what they have
//! opened themselves. A maker that is missing here is checked like the others, for nothing is done when one is called. Each row has a
//! case of its name in `tests/scripts/descriptors.c`, and a test fails when one has not.

/// One call.
pub(crate) struct Call {
    pub(crate) name: &'static str,
    /// The call as a function of the C library, if there is one.
    pub(crate) function: Option<Care>,
    /// The call as a system call by number, through syscall(2), if there is one.
    pub(crate) number: Option<Care>,
    /// The call as a system call by an instruction of the program's own: seen by nobody, and so [`Care::Checked`] at best. None where what it does
    /// cannot be found out.
    pub(crate) instruction: Option<Care>,
}

/// What is done about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// A function of ours stands before it: it is known at once what was made, moved or ended.
    Followed,
    /// The call is not seen, or nothing has to be done when it is made. A mark that it has made untrue is found out when the number is used, for the
    /// file there is another one.
    Checked,
    /// The call is answered with an error, since what it is for cannot be carried.
    Refused,
}

use Care::{Checked, Followed, Refused};

/// A call that is made by name and by number.
const fn both(name: &'static str, care: Care) -> Call {
    Call { name, function: Some(care), number: Some(care), instruction: Some(Checked) }
}

/// A call that is made by name and by number, and is about all descriptors of a process.
const fn process(name: &'static str, care: Care) -> Call {
    Call { instruction: None, ..both(name, care) }
}

/// What only the kernel has.
const fn kernel(name: &'static str, care: Care) -> Call {
    Call { function: None, ..both(name, care) }
}

/// What only the C library has.
const fn library(name: &'static str, care: Care) -> Call {
    Call { number: None, ..process(name, care) }
}

/// Ends of descriptors, duplicates, makers, then what divides or replaces all descriptors of a process.
pub(crate) const CALLS: &[Call] = &[
    both("close", Followed),
    both("close_range", Followed),
    process("close_range_cloexec", Followed),
    process("close_range_unshare", Followed),
    library("closefrom", Followed),
    library("fclose", Followed),
    library("fclose_fdopen", Followed),
    library("freopen", Followed),
    library("closedir", Checked),
    library("mq_close", Checked),
    both("dup", Followed),
    both("dup2", Followed),
    both("dup3", Followed),
    both("fcntl_dupfd", Followed),
    both("fcntl_dupfd_cloexec", Followed),
    both("pidfd_getfd", Followed),
    library("login_tty", Checked),
    process("sendmsg_rights", Refused),
    both("recvmsg_rights", Followed),
    both("recvmmsg_rights", Followed),
    both("accept", Followed),
    both("accept4", Followed),
    both("open", Checked),
    both("openat", Checked),
    kernel("openat2", Checked),
    both("creat", Checked),
    both("open_by_handle_at", Checked),
    kernel("open_tree", Checked),
    kernel("open_tree_attr", Checked),
    kernel("fsopen", Checked),
    kernel("fsmount", Checked),
    kernel("fspick", Checked),
    both("socket", Checked),
    both("socketpair", Checked),
    both("pipe", Checked),
    both("pipe2", Checked),
    both("eventfd", Checked),
    both("signalfd", Checked),
    both("timerfd_create", Checked),
    both("epoll_create", Checked),
    both("epoll_create1", Checked),
    both("inotify_init", Checked),
    both("inotify_init1", Checked),
    both("fanotify_init", Checked),
    both("fanotify_read", Checked),
    both("memfd_create", Checked),
    kernel("memfd_secret", Checked),
    both("mq_open", Checked),
    both("ioctl_tiocgptpeer", Checked),
    both("ioctl_ns_get_userns", Checked),
    kernel("userfaultfd", Checked),
    kernel("perf_event_open", Checked),
    kernel("bpf", Checked),
    kernel("pidfd_open", Checked),
    kernel("landlock_create_ruleset", Checked),
    kernel("seccomp_listener", Checked),
    kernel("io_uring_setup", Refused),
    library("fopen", Checked),
    library("tmpfile", Checked),
    library("mkstemp", Checked),
    library("opendir", Checked),
    library("popen", Checked),
    library("openpty", Checked),
    library("shm_open", Checked),
    both("clone_pidfd", Checked),
    process("fork", Followed),
    library("vfork", Followed),
    library("_Fork", Followed),
    library("daemon", Checked),
    library("posix_spawn", Followed),
    process("unshare_files", Followed),
    process("execve", Followed),
    process("execveat", Followed),
    library("execv", Followed),
    library("execvp", Followed),
    library("execvpe", Followed),
    library("fexecve", Followed),
    process("exit_group", Followed),
];
