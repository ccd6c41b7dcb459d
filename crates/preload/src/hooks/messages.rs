//! Messages: parts, and what goes beside them (recvmsg(2), sendmsg(2)).

use std::ffi::{c_int, c_uint};

use rustix::io::Errno;

use super::{calls, descriptors, io};
use crate::host::{answer, real};
use crate::process;

/// `recvmsg(2)`: a connection of the stack has nothing beside its bytes.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> isize {
    if !process::is_ours(fd) {
        let recvmsg = real!(recvmsg: fn(c_int, *mut libc::msghdr, c_int) -> isize);
        // SAFETY: the caller's promise; what was received is a message.
        return unsafe {
            let received = recvmsg(fd, message, flags);
            if received >= 0 {
                passed(&*message).for_each(descriptors::follow_arrival);
            }
            received
        };
    }
    // SAFETY: the caller's promise: null, or a message.
    let Some(message) = (unsafe { message.as_mut() }) else { return answer(Err(Errno::FAULT)) };
    (message.msg_namelen, message.msg_controllen, message.msg_flags) = (0, 0, 0);
    // SAFETY: the caller's promise.
    answer(
        unsafe { io::writable(message.msg_iov, message.msg_iovlen) }
            .and_then(|mut parts| calls::receive(fd, &mut parts, flags)),
    )
}

/// `sendmsg(2)`: connections of the stack cannot be handed on to another process, listeners can.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize {
    // SAFETY: the caller's promise: null, or a message.
    let Some(header) = (unsafe { message.as_ref() }) else { return answer(Err(Errno::FAULT)) };
    if process::is_ours(fd) {
        // SAFETY: the caller's promise.
        return answer(
            unsafe { io::readable(header.msg_iov, header.msg_iovlen) }
                .and_then(|mut parts| calls::send(fd, &mut parts, flags)),
        );
    }
    // SAFETY: the caller's promise.
    if unsafe { passes_connection(header) } {
        return answer(Err(Errno::OPNOTSUPP));
    }
    let sendmsg = real!(sendmsg: fn(c_int, *const libc::msghdr, c_int) -> isize);
    // SAFETY: the caller's promise.
    unsafe { sendmsg(fd, message, flags) }
}

/// `recvmmsg(2)`: several messages at once are for datagrams.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn recvmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut libc::timespec,
) -> c_int {
    if process::is_ours(fd) {
        return refuse_many("recvmmsg(2)");
    }
    let recvmmsg =
        real!(recvmmsg: fn(c_int, *mut libc::mmsghdr, c_uint, c_int, *mut libc::timespec) -> c_int);
    // SAFETY: the caller's promise; what was received are so many messages.
    unsafe {
        let received = recvmmsg(fd, messages, count, flags, timeout);
        for i in 0..usize::try_from(received).unwrap_or(0) {
            passed(&(*messages.add(i)).msg_hdr).for_each(descriptors::follow_arrival);
        }
        received
    }
}

/// `sendmmsg(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sendmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    if process::is_ours(fd) {
        return refuse_many("sendmmsg(2)");
    }
    // SAFETY: the caller's promise: so many messages.
    let passes = |i| unsafe { passes_connection(&(*messages.add(i)).msg_hdr) };
    if !messages.is_null() && (0..count as usize).any(passes) {
        return answer(Err(Errno::OPNOTSUPP)) as c_int;
    }
    let sendmmsg = real!(sendmmsg: fn(c_int, *mut libc::mmsghdr, c_uint, c_int) -> c_int);
    // SAFETY: the caller's promise.
    unsafe { sendmmsg(fd, messages, count, flags) }
}

fn refuse_many(call: &str) -> c_int {
    crate::log::say(&format!(
        "{call} with a socket of the stack cannot be carried; let the program send one at a time"
    ));
    answer(Err(Errno::OPNOTSUPP)) as c_int
}

/// Whether a connection of ours is beside the message; if so, it is said why it cannot be.
///
/// # Safety
/// The caller's promise: the message's control data is as cmsg(3) says.
unsafe fn passes_connection(message: &libc::msghdr) -> bool {
    // SAFETY: as promised.
    let passes = process::settings().is_some() && unsafe { passed(message) }.any(is_connection);
    if passes {
        crate::log::say(
            "a connection of the stack cannot be handed to another process; let each process accept its own \
             (Node.js: NODE_CLUSTER_SCHED_POLICY=none)",
        );
    }
    passes
}

/// The descriptors beside a message (unix(7), `SCM_RIGHTS`).
///
/// # Safety
/// The caller's promise: the message's control data is as cmsg(3) says.
unsafe fn passed(message: &libc::msghdr) -> impl Iterator<Item = c_int> {
    let mut found = Vec::new();
    // SAFETY: as promised; these functions stay within the control data.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = control.as_ref() {
            if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let first = libc::CMSG_DATA(control).cast::<c_int>();
                let bytes = header.cmsg_len - libc::CMSG_LEN(0) as usize;
                found.extend((0..bytes / size_of::<c_int>()).map(|i| first.add(i).read_unaligned()));
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
    found.into_iter()
}

fn is_connection(fd: c_int) -> bool {
    process::is_ours(fd) && process::access().is_ok_and(|shared| shared.core.is_stream(fd))
}
