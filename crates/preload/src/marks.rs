//! The descriptors that are the stack's, each with the file of the kernel's that holds its number.
//!
//! The hooks see what a program does through the C library. They do not see a system call that the program makes by an instruction
//! of its own, nor most of those within the C library; such a call can end a descriptor of ours, and the kernel gives the number to
//! the next file. So a mark is a claim, which holds while the number names the file that was marked: who is about to use one
//! compares ([`holds`]). That is a call of fstat(2) for each use, the only way to be right without a privilege: a process is told of
//! its own system calls by nothing that it could read for less.
//!
//! Asked by every call, also by a signal's handler: so no lock.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_descriptors::File;

use crate::host;

/// Descriptors that can be the stack's; as many as the kernel lets a process open unless `fs.nr_open` was raised.
const DESCRIPTORS: usize = 1 << 20;

const NONE: u64 = 0;
/// All epoll instances share one inode (anon_inode of the kernel), so that another check tells them apart.
const SET: u64 = u64::MAX;

/// [`NONE`], [`SET`], or the inode of the socket in our place.
static MARKS: [AtomicU64; DESCRIPTORS] = [const { AtomicU64::new(NONE) }; DESCRIPTORS];
/// The device that all sockets are on (sockfs of the kernel), known with the first of them.
static DEVICE: AtomicU64 = AtomicU64::new(0);
/// No mark is at this number or above.
static END: AtomicU64 = AtomicU64::new(0);

/// Whether the descriptor can become the stack's.
pub(crate) fn fits(fd: RawFd) -> bool {
    usize::try_from(fd).is_ok_and(|fd| fd < DESCRIPTORS)
}

/// Whether there is a mark, true or not.
pub(crate) fn is_marked(fd: RawFd) -> bool {
    mark(fd) != NONE
}

/// Whether the mark is that of an epoll instance.
pub(crate) fn is_set(fd: RawFd) -> bool {
    mark(fd) == SET
}

/// Whether the mark is that of a socket.
pub(crate) fn is_socket(fd: RawFd) -> bool {
    !matches!(mark(fd), NONE | SET)
}

/// Whether a socket's mark is true: the number still names what was marked.
pub(crate) fn holds(fd: RawFd) -> bool {
    host::file(fd) == Some(File { device: DEVICE.load(Ordering::Relaxed), inode: mark(fd) })
}

/// Marks a socket as the stack's.
pub(crate) fn put_socket(fd: RawFd) {
    // One that is not open leaves a mark that no file bears out.
    let file = host::file(fd).unwrap_or(File { device: 0, inode: NONE });
    DEVICE.store(file.device, Ordering::Relaxed);
    put(fd, file.inode);
}

/// Marks an epoll instance as one that watches sockets of the stack.
pub(crate) fn put_set(fd: RawFd) {
    put(fd, SET);
}

pub(crate) fn clear(fd: RawFd) {
    put(fd, NONE);
}

/// The marked descriptors of a range, as it was when this was called or later.
pub(crate) fn within(first: u32, last: u32) -> impl Iterator<Item = RawFd> {
    let end = END.load(Ordering::Relaxed).min(u64::from(last) + 1) as RawFd;
    let first = RawFd::try_from(first).unwrap_or(RawFd::MAX);
    (first..end.max(first)).filter(|&fd| is_marked(fd))
}

/// Another descriptor of the same socket, whose mark is true.
pub(crate) fn duplicate_of(fd: RawFd) -> Option<RawFd> {
    let file = host::file(fd).filter(|file| file.device == DEVICE.load(Ordering::Relaxed))?;
    within(0, u32::MAX).find(|&other| other != fd && mark(other) == file.inode && holds(other))
}

fn mark(fd: RawFd) -> u64 {
    usize::try_from(fd).ok().and_then(|fd| MARKS.get(fd)).map_or(NONE, |mark| mark.load(Ordering::Relaxed))
}

fn put(fd: RawFd, value: u64) {
    if let Some(mark) = usize::try_from(fd).ok().and_then(|fd| MARKS.get(fd)) {
        mark.store(value, Ordering::Relaxed);
        if value != NONE {
            END.fetch_max(fd as u64 + 1, Ordering::Relaxed);
        }
    }
}
