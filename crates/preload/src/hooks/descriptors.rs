//! Descriptors: close and its kin, duplicates, fcntl, ioctl.
//!
//! Some of these functions take a variable number of arguments. On the machines that Linux runs on in 64 bits, integers and
//! pointers are handed over in the same registers whether or not a function is variadic, so they are declared here with
//! all they could be given; what was not given is not looked at but handed on, as the C library itself does.

use std::ffi::{c_int, c_uint, c_ulong, c_void};
use std::os::fd::RawFd;

use assay_descriptors as descriptors;
use rustix::io::Errno;

use crate::host::{self, answer, real};
use crate::marks;
use crate::process;

/// `close(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn close(fd: c_int) -> c_int {
    if process::is_at_work() {
        return close_own(fd);
    }
    if process::is_kept(fd) {
        return answer(Err(Errno::BADF)) as c_int;
    }
    // Before another thread can be given the number.
    process::forget(fd);
    host::close(fd)
}

/// Closes what the library has opened. A descriptor that the program has ended unseen is there no more, and its number may be a
/// stranger's.
fn close_own(fd: RawFd) -> c_int {
    let is_ours = !descriptors::is_listed(fd) || process::is_kept(fd);
    descriptors::release(fd);
    if is_ours { host::close(fd) } else { 0 }
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
    let call = |first: c_uint, last: c_uint| {
        host::system_call(libc::SYS_close_range, [first as usize, last as usize, flags as usize]) as c_int
    };
    if closes { around(process::kept_within(first, last), first, last, call) } else { call(first, last) }
}

/// Makes a call for what lies between these numbers of a range, until one fails. What is wrong with a range without numbers, the call
/// says.
fn around(
    numbers: impl Iterator<Item = c_uint>,
    first: c_uint,
    last: c_uint,
    call: impl Fn(c_uint, c_uint) -> c_int,
) -> c_int {
    let mut from = first;
    for number in numbers {
        if number > from && call(from, number - 1) != 0 {
            return -1;
        }
        from = number + 1;
    }
    if from <= last || first > last { call(from, last) } else { 0 }
}

/// `closefrom(3)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn closefrom(first: c_int) {
    let first = first.max(0);
    if process::kept_within(first as c_uint, c_uint::MAX).next().is_some() {
        return close_from(first as c_uint);
    }
    marks::within(first as c_uint, c_uint::MAX).for_each(process::forget);
    let closefrom = real!(closefrom: fn(c_int) -> ());
    // SAFETY: no pointers.
    unsafe { closefrom(first) };
}

/// Closes descriptors as the C library does it, but none that are not the program's.
fn close_from(first: c_uint) {
    if close_range(first, c_uint::MAX, 0) == 0 {
        return;
    }
    // A kernel before 5.9, or one that is told to refuse the call.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.and_then(|limit| c_int::try_from(limit).ok()).unwrap_or(c_int::MAX);
    (first as c_int..limit).for_each(|fd| {
        close(fd);
    });
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
    if process::is_kept(to) {
        return refuse_place(to);
    }
    // SAFETY: no pointers.
    follow(from, unsafe { dup2(from, to) })
}

/// `dup3(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    let dup3 = real!(dup3: fn(c_int, c_int, c_int) -> c_int);
    if process::is_kept(to) {
        return refuse_place(to);
    }
    // SAFETY: no pointers.
    follow(from, unsafe { dup3(from, to, flags) })
}

/// Nothing can be put in the place of a descriptor of ours: what waits for it in the kernel knows it by its number. The error is the one
/// that dup2(2) has for a number that is just being given away.
fn refuse_place(to: RawFd) -> c_int {
    crate::log::say(&format!(
        "the program puts a descriptor at {to}, where the stack has one of its own; that cannot be carried. Let it use numbers that it \
         was given, or lower ones"
    ));
    answer(Err(Errno::BUSY)) as c_int
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
    if let Some(known) = marks::duplicate_of(new)
        && marks::fits(new)
        && let Ok(mut shared) = process::access()
    {
        shared.duplicate(known, new);
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
