//! Sockets that an epoll instance watches before they are the stack's: Netty registers a socket, then binds it and listens.
//!
//! Until then the kernel's instance watches it, like every descriptor that is not ours. When the socket becomes ours, the kernel
//! is asked what it was told (`/proc/self/fdinfo`), and from then on we watch in its place.

use std::fs;
use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::Errno;

use super::bell;
use crate::process::{self, Shared};
use crate::{fdinfo, host, log};

/// Notes that the kernel's epoll instance watches a descriptor that was not ours; a TCP socket may become so, and so may another epoll
/// instance.
pub(super) fn note(set: RawFd, fd: RawFd) {
    if process::settings().is_none() || process::is_borrowed() {
        return;
    }
    match host::protocol(fd) {
        Some(libc::IPPROTO_TCP) => {
            if let Ok(mut shared) = process::access()
                && !shared.host_sets.contains(&set)
            {
                shared.host_sets.push(set);
            }
        }
        // The kernel lets none hang in itself by a detour, so that there is nothing to end, but only an epoll instance is asked in vain.
        None if host::epoll_control(fd, libc::EPOLL_CTL_DEL, set, None) == Err(Errno::NOENT) => {
            if let Ok(mut shared) = process::access() {
                shared.core.note_nested(set, fd);
            }
        }
        _ => {}
    }
}

/// Takes the watch of a socket that has become ours over from every epoll instance that has it.
///
/// # Errors
/// It is watched, and how cannot be read; or no descriptor is left for the bell of an epoll instance.
pub(super) fn take_over(shared: &mut Shared, fd: RawFd) -> Result<(), Errno> {
    for set in shared.host_sets.clone() {
        let told = fs::read_to_string(format!("/proc/self/fdinfo/{set}"));
        if host::epoll_control(set, libc::EPOLL_CTL_DEL, fd, None).is_err() {
            // It does not watch this one, or it is closed.
            continue;
        }
        let watch = told.ok().and_then(|text| fdinfo::watch_of(&text, fd, inode(fd)?));
        let Some(watch) = watch else {
            log::say(&format!(
                "an epoll instance watches descriptor {fd} since before it was the stack's, and /proc/self/fdinfo/{set} does not \
                 tell how; let the program read /proc"
            ));
            return Err(Errno::ACCESS);
        };
        bell::adopt(shared, set)?;
        shared.core.inherit_watch(set, fd, watch)?;
    }
    Ok(())
}

fn inode(fd: RawFd) -> Option<u64> {
    // SAFETY: it is open for as long as the call that the program makes with it.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    rustix::fs::fstat(file).ok().map(|status| status.st_ino)
}
