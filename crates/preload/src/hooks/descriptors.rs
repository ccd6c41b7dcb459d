//! Descriptors: close and its kin, duplicates, fcntl, ioctl.
//!
//! Some of these functions take a variable number of arguments. On the machines that Linux runs on in 64 bits, integers and
//! pointers are handed over in the same registers whether or not a function is variadic, so they are declared here with
//! all they could be given; what was not given is not looked at but handed on, as the C library itself does.

use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::os::fd::RawFd;

use rustix::io::Errno;

use crate::host::{self, answer, real};
use crate::marks;
use crate::process;

/// `close(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn close(fd: c_int) -> c_int {
    // Before another thread can be given the number.
    process::forget(fd);
    host::close(fd)
}

/// `close_range(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if flags & libc::CLOSE_RANGE_UNSHARE as c_int != 0 {
        process::part_descriptors();
    }
    let closes = flags & libc::CLOSE_RANGE_CLOEXEC as c_int == 0;
    if closes && first <= last {
        marks::within(first, last).for_each(process::forget);
    }
    // The C library has it since 2.34 only, the kernel since 5.9.
    host::system_call(libc::SYS_close_range, [first as usize, last as usize, flags as usize]) as c_int
}

/// `closefrom(3)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn closefrom(first: c_int) {
    let first = first.max(0);
    marks::within(first as c_uint, c_uint::MAX).for_each(process::forget);
    let closefrom = real!(closefrom: fn(c_int) -> ());
    // SAFETY: no pointers.
    unsafe { closefrom(first) };
}

/// `unshare(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn unshare(flags: c_int) -> c_int {
    let unshare = real!(unshare: fn(c_int) -> c_int);
    if flags & libc::CLONE_FILES != 0 {
        process::part_descriptors();
    }
    // SAFETY: no pointers.
    unsafe { unshare(flags) }
}

/// `dup(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn dup(fd: c_int) -> c_int {
    let dup = real!(dup: fn(c_int) -> c_int);
    // SAFETY: no pointers.
    follow(fd, unsafe { dup(fd) })
}

/// `dup2(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn dup2(from: c_int, to: c_int) -> c_int {
    let dup2 = real!(dup2: fn(c_int, c_int) -> c_int);
    // SAFETY: no pointers.
    follow(from, unsafe { dup2(from, to) })
}

/// `dup3(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    let dup3 = real!(dup3: fn(c_int, c_int, c_int) -> c_int);
    // SAFETY: no pointers.
    follow(from, unsafe { dup3(from, to, flags) })
}

/// The kernel has made `new` a duplicate of `fd`, whatever it was before: so do we.
fn follow(fd: RawFd, new: RawFd) -> c_int {
    if new < 0 || new == fd || process::is_borrowed() {
        return new;
    }
    process::forget(new);
    if !marks::is_set(fd) && !process::is_ours(fd) {
        return new;
    }
    match process::access() {
        Ok(mut shared) if marks::fits(new) => {
            shared.duplicate(fd, new);
            new
        }
        refused => {
            host::close(new);
            answer(Err(refused.err().unwrap_or(Errno::MFILE))) as c_int
        }
    }
}

/// A number that has come from elsewhere: a message, or another process. It may be one more for what is ours already.
pub(super) fn follow_arrival(new: RawFd) {
    if new < 0 || process::settings().is_none() || process::is_borrowed() {
        return;
    }
    process::forget(new);
    if let Some(twin) = marks::twin_of(new)
        && marks::fits(new)
        && let Ok(mut shared) = process::access()
    {
        shared.duplicate(twin, new);
    }
}

/// `pidfd_getfd(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn pidfd_getfd(process: c_int, fd: c_int, flags: c_uint) -> c_int {
    // The C library has it since 2.36 only, the kernel since 5.6.
    let new =
        host::system_call(libc::SYS_pidfd_getfd, [process as usize, fd as usize, flags as usize]) as c_int;
    follow_arrival(new);
    new
}

/// `fcntl(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    let fcntl = real!(fcntl: fn(c_int, c_int, usize) -> c_int);
    // SAFETY: the caller's promise.
    let done = unsafe { fcntl(fd, command, argument) };
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => follow(fd, done),
        libc::F_SETFL if done == 0 && process::is_ours(fd) => {
            set_nonblocking(fd, argument as c_int & libc::O_NONBLOCK != 0);
            done
        }
        _ => done,
    }
}

/// `fcntl(2)` as programs with 64-bit offsets call it.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the caller's promise; with 64-bit files both are one function.
    unsafe { fcntl(fd, command, argument) }
}

/// `ioctl(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    let number = argument.cast::<c_int>();
    let host = || {
        let ioctl = real!(ioctl: fn(c_int, c_ulong, *mut c_void) -> c_int);
        // SAFETY: the caller's promise.
        unsafe { ioctl(fd, request, argument) }
    };
    if number.is_null() || !process::is_ours(fd) {
        return host();
    }
    match request {
        libc::FIONREAD => {
            let bytes = process::access().and_then(|mut shared| shared.core.receivable(fd));
            if let Ok(n) = bytes {
                // SAFETY: the caller's promise: a number to be written.
                unsafe { number.write_unaligned(c_int::try_from(n).unwrap_or(c_int::MAX)) };
            }
            answer(bytes.map(|_| 0)) as c_int
        }
        libc::FIONBIO => {
            let done = host();
            if done == 0 {
                // SAFETY: the caller's promise: a number to be read.
                set_nonblocking(fd, unsafe { number.read_unaligned() } != 0);
            }
            done
        }
        _ => host(),
    }
}

fn set_nonblocking(fd: RawFd, on: bool) {
    if let Ok(mut shared) = process::access() {
        shared.core.set_nonblocking(fd, on);
    }
}
