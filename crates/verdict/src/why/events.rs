//! Counts that speak of a part, which grows because what it does is dearer, or because it is done more often.

use assay_model::part::Part;
use assay_model::why::Event;

/// System calls that wait for readiness, completions or a peer, and those that make and end connections.
const WAITING: [&str; 17] = [
    "accept",
    "accept4",
    "close",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "fcntl",
    "io_uring_enter",
    "poll",
    "ppoll",
    "pselect6",
    "select",
    "setsockopt",
    "shutdown",
    "socket",
    "ioctl",
];
/// Calls that bring bytes from a connection.
pub(super) const RECEIVING: [&str; 6] = ["read", "readv", "recv", "recvfrom", "recvmmsg", "recvmsg"];
/// Calls that send bytes.
pub(super) const SENDING: [&str; 7] =
    ["send", "sendfile", "sendmmsg", "sendmsg", "sendto", "write", "writev"];
/// Calls by which threads wait for each other, or for time.
const SCHEDULING: [&str; 6] =
    ["clock_nanosleep", "futex", "futex_waitv", "nanosleep", "rt_sigsuspend", "sched_yield"];
/// Calls that take memory and give it back.
const MEMORY: [&str; 6] = ["brk", "madvise", "mmap", "mprotect", "mremap", "munmap"];
/// Calls that look at files.
const FILES: [&str; 8] = ["fstat", "lseek", "newfstatat", "open", "openat", "pread64", "stat", "statx"];

/// Whether an event, when it happens more often, makes a part greater.
pub(super) fn speaks_of(event: &Event, part: Part) -> bool {
    let Event::SystemCall { name } = event else { return of_kernel(event) == part };
    let name = name.as_str();
    match part {
        Part::Sockets => WAITING.contains(&name),
        Part::Receive => RECEIVING.contains(&name),
        Part::Send => SENDING.contains(&name),
        Part::Copying => RECEIVING.contains(&name) || SENDING.contains(&name),
        Part::Scheduling => SCHEDULING.contains(&name),
        Part::Memory => MEMORY.contains(&name),
        Part::Files => FILES.contains(&name),
        // Every call enters and leaves the kernel; no name of one says more about that than any other.
        Part::Entry
        | Part::Network
        | Part::Tls
        | Part::Libc
        | Part::Runtime
        | Part::Collector
        | Part::Jit
        | Part::Application
        | Part::Unassigned => false,
    }
}

/// The part in which the kernel does what happens without a call.
fn of_kernel(event: &Event) -> Part {
    match event {
        Event::PageFault => Part::Memory,
        Event::SystemCall { .. } | Event::VoluntarySwitch | Event::InvoluntarySwitch => Part::Scheduling,
    }
}
