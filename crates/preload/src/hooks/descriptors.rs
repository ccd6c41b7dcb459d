//! Descriptors: close, dup, fcntl, ioctl, `syscall`, and the end of the program.
//!
//! Some of these functions take a variable number of arguments. On the machines that Linux runs on in 64 bits, integers and
//! pointers are handed over in the same registers whether or not a function is variadic, so they are declared here with
//! all they could be given; what was not given is not looked at but handed on, as the C library itself does.

use std::ffi::{c_int, c_long, c_ulong, c_void};
use std::os::fd::RawFd;

use assay_model::units::Nanos;
use rustix::io::Errno;

use super::epoll;
use crate::host::{self, answer, real};
use crate::process;

/// `close(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn close(fd: c_int) -> c_int {
    forget(fd);
    host::close(fd)
}

/// The descriptor is about to be closed or to become another.
fn forget(fd: RawFd) {
    // A child of vfork(2) closes its own descriptors, but this memory is its parent's.
    if !process::is_ours(fd) || process::is_borrowed() {
        return;
    }
    if let Ok(mut shared) = process::access() {
        let waits = shared.core.waits(fd);
        process::mark(fd, false);
        shared.core.close(fd);
        if waits {
            // A thread that waits in its calls may be long in coming back, and the farewell leaves with a turn. Should the stack
            // be broken, the next call says so.
            let _ = shared.turn(Nanos::ZERO);
        }
    }
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
    if from == to {
        // SAFETY: no pointers.
        return unsafe { dup2(from, to) };
    }
    forget(to);
    // SAFETY: no pointers.
    follow(from, unsafe { dup2(from, to) })
}

/// `dup3(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    if from != to {
        forget(to);
    }
    let dup3 = real!(dup3: fn(c_int, c_int, c_int) -> c_int);
    // SAFETY: no pointers.
    follow(from, unsafe { dup3(from, to, flags) })
}

/// The kernel has made `new` a duplicate of `fd`: so do we.
fn follow(fd: RawFd, new: RawFd) -> c_int {
    if new < 0 || !process::is_ours(fd) || process::is_borrowed() {
        return new;
    }
    match process::access() {
        Ok(mut shared) if process::fits(new) => {
            shared.core.duplicate(fd, new);
            process::mark(new, true);
            new
        }
        refused => {
            host::close(new);
            answer(Err(refused.err().unwrap_or(Errno::MFILE))) as c_int
        }
    }
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
    if done < 0 || !process::is_ours(fd) {
        return done;
    }
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => follow(fd, done),
        libc::F_SETFL => {
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
    if process::is_ours(fd) && request == libc::FIONREAD && !number.is_null() {
        let bytes = process::access().and_then(|mut shared| shared.core.receivable(fd));
        if let Ok(n) = bytes {
            // SAFETY: the caller's promise: a number to be written.
            unsafe { number.write_unaligned(c_int::try_from(n).unwrap_or(c_int::MAX)) };
        }
        return answer(bytes.map(|_| 0)) as c_int;
    }
    let ioctl = real!(ioctl: fn(c_int, c_ulong, *mut c_void) -> c_int);
    // SAFETY: the caller's promise.
    let done = unsafe { ioctl(fd, request, argument) };
    if done == 0 && process::is_ours(fd) && request == libc::FIONBIO && !number.is_null() {
        // SAFETY: the caller's promise: a number to be read.
        set_nonblocking(fd, unsafe { number.read_unaligned() } != 0);
    }
    done
}

fn set_nonblocking(fd: RawFd, on: bool) {
    if let Ok(mut shared) = process::access() {
        shared.core.set_nonblocking(fd, on);
    }
}

/// `syscall(2)`: libuv closes descriptors with it, and Netty waits with it.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let fd = a as c_int;
    let host = || {
        let syscall = real!(syscall: fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long);
        // SAFETY: the caller's promise.
        unsafe { syscall(number, a, b, c, d, e, f) }
    };
    // SAFETY: the caller's promise.
    unsafe {
        match number {
            libc::SYS_close => c_long::from(close(fd)),
            // A program that can do without (libuv can) waits with epoll then, which we see.
            libc::SYS_io_uring_setup if process::settings().is_some() => answer(Err(Errno::NOSYS)) as c_long,
            libc::SYS_accept4 if process::is_ours(fd) => {
                c_long::from(super::sockets::accept4(fd, b as *mut _, c as *mut _, d as c_int))
            }
            libc::SYS_epoll_pwait2 => c_long::from(epoll::pwait2(
                fd,
                b as *mut libc::epoll_event,
                c as c_int,
                d as *const libc::timespec,
                e as *const libc::sigset_t,
                || host() as c_int,
            )),
            _ => host(),
        }
    }
}

/// `_exit(2)`: what was sent leaves, as it would from the kernel.
#[unsafe(no_mangle)]
pub(super) extern "C" fn _exit(status: c_int) -> ! {
    process::finish();
    let exit = real!(_exit: fn(c_int) -> ());
    // SAFETY: no pointers.
    unsafe { exit(status) };
    std::process::abort()
}

extern "C" fn at_exit() {
    process::finish();
}

/// Run when the program ends in the ordinary way (ELF, `DT_FINI_ARRAY`).
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;
