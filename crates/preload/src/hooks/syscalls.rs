//! `syscall(2)`: a program may make any call by its number. Those that concern descriptors are made here as if by name.

use std::ffi::{c_int, c_long};

use rustix::io::Errno;

use super::{descriptors, epoll, io, messages, options, poll, processes, sockets};
use crate::host::{answer, real};
use crate::{marks, process};

type Arguments = [usize; 6];

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
    let arguments = [a, b, c, d, e, f];
    // SAFETY: the caller's promise.
    unsafe {
        on_descriptors(number, arguments)
            .or_else(|| on_messages(number, arguments))
            .or_else(|| on_processes(number, arguments))
            .or_else(|| on_ours(number, arguments))
            .unwrap_or_else(|| plain(number, arguments))
    }
}

/// # Safety
/// The caller's promise.
unsafe fn plain(number: c_long, [a, b, c, d, e, f]: Arguments) -> c_long {
    let syscall = real!(syscall: fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long);
    // SAFETY: the caller's promise.
    unsafe { syscall(number, a, b, c, d, e, f) }
}

/// What makes, moves or ends descriptors, whosever they are.
///
/// # Safety
/// The caller's promise.
unsafe fn on_descriptors(number: c_long, [a, b, c, ..]: Arguments) -> Option<c_long> {
    let fd = a as c_int;
    // SAFETY: the caller's promise.
    Some(c_long::from(unsafe {
        match number {
            libc::SYS_close => descriptors::close(fd),
            libc::SYS_close_range => descriptors::close_range(a as u32, b as u32, c as c_int),
            libc::SYS_dup => descriptors::dup(fd),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_dup2 => descriptors::dup2(fd, b as c_int),
            libc::SYS_dup3 => descriptors::dup3(fd, b as c_int, c as c_int),
            libc::SYS_fcntl => descriptors::fcntl(fd, b as c_int, c),
            libc::SYS_pidfd_getfd => descriptors::pidfd_getfd(fd, b as c_int, c as u32),
            libc::SYS_unshare => descriptors::unshare(fd),
            libc::SYS_bind => sockets::bind(fd, b as *const _, c as u32),
            libc::SYS_listen => sockets::listen(fd, b as c_int),
            libc::SYS_connect => sockets::connect(fd, b as *const _, c as u32),
            // A program that can do without (libuv can) waits with epoll then, which we see.
            libc::SYS_io_uring_setup if process::settings().is_some() => answer(Err(Errno::NOSYS)) as c_int,
            _ => return None,
        }
    }))
}

/// Messages, which may carry descriptors.
///
/// # Safety
/// The caller's promise.
unsafe fn on_messages(number: c_long, [a, b, c, d, e, _]: Arguments) -> Option<c_long> {
    let fd = a as c_int;
    // SAFETY: the caller's promise.
    Some(unsafe {
        match number {
            libc::SYS_recvmsg => messages::recvmsg(fd, b as *mut _, c as c_int) as c_long,
            libc::SYS_sendmsg => messages::sendmsg(fd, b as *const _, c as c_int) as c_long,
            libc::SYS_recvmmsg => {
                c_long::from(messages::recvmmsg(fd, b as *mut _, c as u32, d as c_int, e as *mut _))
            }
            libc::SYS_sendmmsg => c_long::from(messages::sendmmsg(fd, b as *mut _, c as u32, d as c_int)),
            _ => return None,
        }
    })
}

/// What begins a program in this process, or ends it.
///
/// # Safety
/// The caller's promise.
unsafe fn on_processes(number: c_long, [a, b, c, d, e, _]: Arguments) -> Option<c_long> {
    // SAFETY: the caller's promise.
    Some(c_long::from(unsafe {
        match number {
            libc::SYS_execve => processes::execve(a as *const _, b as *const _, c as *const _),
            libc::SYS_execveat => {
                processes::execveat(a as c_int, b as *const _, c as *const _, d as *const _, e as c_int)
            }
            libc::SYS_exit_group => processes::_exit(a as c_int),
            _ => return None,
        }
    }))
}

/// What is done with a descriptor, if that is ours: any other one is the kernel's to deal with, which takes these arguments a little
/// differently from the C library.
///
/// # Safety
/// The caller's promise.
unsafe fn on_ours(number: c_long, [a, b, c, d, e, f]: Arguments) -> Option<c_long> {
    let fd = a as c_int;
    // SAFETY: the caller's promise.
    let waited = unsafe { on_waits(number, [a, b, c, d, e, f]) };
    if waited.is_some() || !marks::is_marked(fd) {
        return waited;
    }
    // SAFETY: the caller's promise.
    Some(unsafe {
        match number {
            libc::SYS_read => io::read(fd, b as *mut _, c) as c_long,
            libc::SYS_write => io::write(fd, b as *const _, c) as c_long,
            libc::SYS_readv => io::readv(fd, b as *const _, c as c_int) as c_long,
            libc::SYS_writev => io::writev(fd, b as *const _, c as c_int) as c_long,
            libc::SYS_recvfrom => {
                io::recvfrom(fd, b as *mut _, c, d as c_int, e as *mut _, f as *mut _) as c_long
            }
            libc::SYS_sendto => {
                io::sendto(fd, b as *const _, c, d as c_int, e as *const _, f as u32) as c_long
            }
            libc::SYS_sendfile => io::sendfile(fd, b as c_int, c as *mut _, d) as c_long,
            libc::SYS_splice => io::splice(fd, b as *mut _, c as c_int, d as *mut _, e, f as u32) as c_long,
            libc::SYS_ioctl => c_long::from(descriptors::ioctl(fd, b as u64, c as *mut _)),
            libc::SYS_accept => c_long::from(sockets::accept(fd, b as *mut _, c as *mut _)),
            libc::SYS_accept4 => c_long::from(sockets::accept4(fd, b as *mut _, c as *mut _, d as c_int)),
            libc::SYS_shutdown => c_long::from(sockets::shutdown(fd, b as c_int)),
            libc::SYS_getsockname => c_long::from(sockets::getsockname(fd, b as *mut _, c as *mut _)),
            libc::SYS_getpeername => c_long::from(sockets::getpeername(fd, b as *mut _, c as *mut _)),
            libc::SYS_getsockopt => {
                c_long::from(options::getsockopt(fd, b as c_int, c as c_int, d as *mut _, e as *mut _))
            }
            libc::SYS_setsockopt => {
                c_long::from(options::setsockopt(fd, b as c_int, c as c_int, d as *const _, e as u32))
            }
            _ => return None,
        }
    })
}

/// What waits for descriptors, of which one may be ours.
///
/// # Safety
/// The caller's promise.
unsafe fn on_waits(number: c_long, arguments: Arguments) -> Option<c_long> {
    let [a, b, c, d, e, _] = arguments;
    let fd = a as c_int;
    // SAFETY: the caller's promise.
    Some(c_long::from(unsafe {
        match number {
            libc::SYS_epoll_ctl => epoll::epoll_ctl(fd, b as c_int, c as c_int, d as *mut _),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait => epoll::epoll_wait(fd, b as *mut _, c as c_int, d as c_int),
            libc::SYS_epoll_pwait if marks::is_set(fd) => {
                epoll::epoll_pwait(fd, b as *mut _, c as c_int, d as c_int, e as *const _)
            }
            libc::SYS_epoll_pwait2 => {
                let span = (d as *const libc::timespec).as_ref().map(poll::span);
                let host = || plain(number, arguments) as c_int;
                epoll::wait_on(fd, b as *mut _, c as c_int, span, e as *const _, host)
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll => poll::poll(a as *mut _, b as u64, c as c_int),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_select => poll::select(fd, b as *mut _, c as *mut _, d as *mut _, e as *mut _),
            libc::SYS_ppoll if poll::has_ours(a as *mut _, b as u64) => {
                poll::ppoll(a as *mut _, b as u64, c as *const _, d as *const _)
            }
            _ => return None,
        }
    }))
}
