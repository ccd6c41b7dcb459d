//! Options that connections have from the socket that listened for them.
//!
//! The kernel's socket in a connection's place is a new one, which nobody asks as long as the program asks for no option. So it is told
//! of what was set on the listener only then, and accepting costs no call for it, but for how long calls may wait: each that waits asks.

use std::ffi::c_int;
use std::os::fd::RawFd;

use crate::core::inheritance::{Inheritance, SocketOption, VALUE_BYTES};
use crate::process::{self, Shared};
use crate::{host, marks};

/// Options that Linux hands on (`sk_clone_lock`, `tcp_create_openreq_child`), with the bytes of their values: those that change what calls
/// do, and those that programs look at. Sizes of buffers are not among them: nothing goes through the kernel's.
const OPTIONS: [(c_int, c_int, usize); 9] = [
    (libc::SOL_SOCKET, libc::SO_LINGER, size_of::<libc::linger>()),
    (libc::SOL_SOCKET, libc::SO_RCVTIMEO, size_of::<libc::timeval>()),
    (libc::SOL_SOCKET, libc::SO_SNDTIMEO, size_of::<libc::timeval>()),
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE, size_of::<c_int>()),
    (libc::IPPROTO_TCP, libc::TCP_NODELAY, size_of::<c_int>()),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, size_of::<c_int>()),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, size_of::<c_int>()),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, size_of::<c_int>()),
    (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, size_of::<c_int>()),
];

/// Whether connections have this option from their listener.
pub(super) fn is_inherited(level: c_int, name: c_int) -> bool {
    OPTIONS.iter().any(|&(of, option, _)| (of, option) == (level, name))
}

/// Whether closing a socket with this value of `SO_LINGER` is to reset its connection.
pub(super) fn resets(linger: &libc::linger) -> bool {
    linger.l_onoff != 0 && linger.l_linger == 0
}

/// Looks what is set on a listener, for its connections.
pub(super) fn survey(shared: &mut Shared, listener: RawFd) {
    let fresh = host::placeholder(false, libc::SOCK_CLOEXEC).ok();
    let value = |fd, &(level, name, bytes): &(c_int, c_int, usize)| {
        let value = host::option(fd, level, name, [0; VALUE_BYTES])?;
        Some(SocketOption { level, name, value, bytes })
    };
    let set = |option: &SocketOption| {
        let at = (option.level, option.name, option.bytes);
        fresh.and_then(|fresh| value(fresh, &at)).as_ref() != Some(option)
    };
    let options = OPTIONS.iter().filter_map(|option| value(listener, option)).filter(set).collect();
    let zero = libc::linger { l_onoff: 0, l_linger: 0 };
    let linger = host::option(listener, libc::SOL_SOCKET, libc::SO_LINGER, zero);
    let resets = linger.is_some_and(|linger| resets(&linger));
    shared.core.bequeath(listener, Inheritance { options, resets });
    if let Some(fresh) = fresh {
        host::close(fresh);
    }
}

/// Tells the kernel's socket in the place of a new connection how long calls may wait, if that was set on the listener.
pub(super) fn tell_patience(shared: &Shared, fd: RawFd) {
    let is_patience = |option: &&SocketOption| {
        option.level == libc::SOL_SOCKET && matches!(option.name, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO)
    };
    let untold = shared.core.untold(fd).map_or(&[][..], |inheritance| &inheritance.options);
    untold.iter().filter(is_patience).for_each(|option| tell(fd, option));
}

/// Before the program asks for such an option or sets one: tells the kernel's socket in a connection's place what the listener had.
/// Returns whether it is a listener itself.
pub(super) fn settle(fd: RawFd) -> bool {
    if !marks::is_socket(fd) || process::is_borrowed() {
        return false;
    }
    let Ok(mut shared) = process::access() else { return false };
    if let Some(untold) = shared.core.take_untold(fd).filter(|_| marks::holds(fd)) {
        untold.options.iter().for_each(|option| tell(fd, option));
    }
    shared.core.is_listener(fd)
}

fn tell(fd: RawFd, option: &SocketOption) {
    host::set_value(fd, option.level, option.name, &option.value[..option.bytes]);
}
