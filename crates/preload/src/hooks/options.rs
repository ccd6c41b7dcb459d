//! Options of sockets: those that the kernel's socket keeps for us, and those that only the stack knows.

use std::ffi::{c_int, c_void};

use rustix::io::Errno;

use super::inherited;
use crate::host::{answer, real};
use crate::process;

/// `setsockopt(2)`: the kernel's socket keeps what is set, and answers when it is asked for.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: libc::socklen_t,
) -> c_int {
    let is_handed_on = inherited::is_inherited(level, name) && inherited::settle(fd);
    if (level, name) == (libc::SOL_SOCKET, libc::SO_LINGER)
        && !value.is_null()
        && length as usize >= size_of::<libc::linger>()
        && process::is_ours(fd)
    {
        // SAFETY: the caller's promise.
        let linger = unsafe { value.cast::<libc::linger>().read_unaligned() };
        if let Ok(mut shared) = process::access() {
            shared.core.set_resets(fd, inherited::resets(&linger));
        }
    }
    let set = real!(setsockopt: fn(c_int, c_int, c_int, *const c_void, libc::socklen_t) -> c_int);
    // SAFETY: the caller's promise.
    let done = unsafe { set(fd, level, name, value, length) };
    if done == 0 && is_handed_on {
        hand_on(fd);
    }
    done
}

/// What has been set on a listener is its connections' from now on.
fn hand_on(fd: c_int) {
    if process::is_ours(fd)
        && let Ok(mut shared) = process::access()
        && shared.core.is_listener(fd)
    {
        inherited::survey(&mut shared, fd);
    }
}

/// `getsockopt(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut libc::socklen_t,
) -> c_int {
    if inherited::is_inherited(level, name) {
        inherited::settle(fd);
    }
    let own = if level == libc::SOL_SOCKET && process::is_ours(fd) { own_option(fd, name) } else { Ok(None) };
    match own {
        Ok(None) => {
            let get = real!(getsockopt: fn(c_int, c_int, c_int, *mut c_void, *mut libc::socklen_t) -> c_int);
            // SAFETY: the caller's promise.
            let got = unsafe { get(fd, level, name, value, length) };
            if got == 0 && (level, name) == (libc::IPPROTO_TCP, libc::TCP_INFO) && process::is_ours(fd) {
                // SAFETY: the caller's promise, and the call has just written both.
                unsafe { write_state(fd, value, length) };
            }
            got
        }
        Ok(Some(number)) => {
            // SAFETY: the caller's promise: the length is that of the memory behind the value.
            unsafe { write_number(number, value, length) }
        }
        Err(error) => answer(Err(error)) as c_int,
    }
}

/// An option that the stack answers itself.
fn own_option(fd: c_int, name: c_int) -> Result<Option<c_int>, Errno> {
    let mut shared = process::access()?;
    Ok(match name {
        libc::SO_ERROR => Some(shared.core.take_error(fd).map_or(0, Errno::raw_os_error)),
        libc::SO_ACCEPTCONN => Some(c_int::from(shared.core.is_listener(fd))),
        _ => None,
    })
}

/// Writes the state that the stack's connection has into the structure that the kernel filled in for the socket in its place
/// (`tcpi_state` comes first, linux/tcp.h): the rest is zero, or what the kernel knows of a connection that never was.
///
/// # Safety
/// `length` is readable, and `value` is writable for as many bytes as it says.
unsafe fn write_state(fd: c_int, value: *mut c_void, length: *mut libc::socklen_t) {
    let Some(state) = process::access().ok().and_then(|shared| shared.core.tcp_state(fd)) else { return };
    // SAFETY: as promised.
    unsafe {
        if *length > 0 {
            value.cast::<u8>().write(state);
        }
    }
}

/// # Safety
/// `length` is readable and writable, and `value` for as many bytes as it says.
unsafe fn write_number(number: c_int, value: *mut c_void, length: *mut libc::socklen_t) -> c_int {
    if value.is_null() || length.is_null() {
        return answer(Err(Errno::FAULT)) as c_int;
    }
    let bytes = number.to_ne_bytes();
    // SAFETY: as promised, and no more than the room is written.
    unsafe {
        let fits = bytes.len().min(*length as usize);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast(), fits);
        *length = fits as libc::socklen_t;
    }
    0
}
