//! Sockets come to be and end: bind, listen, connect, accept, names, shutdown.

use std::ffi::c_int;
use std::net::SocketAddr;
use std::os::fd::RawFd;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::{address, calls, early, inherited};
use crate::core::{Terms, in_family_of};
use crate::host::{self, answer, real};
use crate::marks;
use crate::process::{self, Shared};
use crate::stack;

/// `bind(2)`: the kernel's socket is bound as well, so that the port is taken and the address can be inherited.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn bind(
    fd: c_int,
    name: *const libc::sockaddr,
    length: libc::socklen_t,
) -> c_int {
    let bind = real!(bind: fn(c_int, *const libc::sockaddr, libc::socklen_t) -> c_int);
    // SAFETY: the caller's promise.
    let wanted = process::settings()
        .and_then(|s| unsafe { address::read(name, length) }.filter(|a| s.is_ours(a.ip())));
    if let Some(wanted) = wanted.filter(|_| host::is_tcp(fd)) {
        if is_taken(fd, wanted) {
            return answer(Err(Errno::ADDRINUSE)) as c_int;
        }
        prepare_to_bind(fd, wanted);
    }
    // SAFETY: the caller's promise.
    unsafe { bind(fd, name, length) }
}

/// Whether one of the stack's sockets listens there: the kernel knows of none that does, and lets two have an address that both are
/// willing to use again (SO_REUSEADDR of socket(7)).
fn is_taken(fd: RawFd, wanted: SocketAddr) -> bool {
    let is_bound = address::bound(fd).is_some_and(|a| a.port() != 0);
    !is_bound && process::access().is_ok_and(|shared| shared.core.is_taken(wanted, shares_port(fd)))
}

fn prepare_to_bind(fd: RawFd, wanted: SocketAddr) {
    if stack::shares_ports() {
        host::set_option(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1);
    } else {
        let (level, option) = match wanted {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_FREEBIND),
            SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_FREEBIND),
        };
        // The address is the stack's, and may be no interface's of the kernel.
        host::set_option(fd, level, option, 1);
    }
}

/// `listen(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    if !process::is_ours(fd) && !becomes_listener(fd) {
        let listen = real!(listen: fn(c_int, c_int) -> c_int);
        // SAFETY: no pointers.
        return unsafe { listen(fd, backlog) };
    }
    answer(start_listening(fd, backlog).map(|()| 0)) as c_int
}

fn becomes_listener(fd: RawFd) -> bool {
    let ours =
        |settings: &crate::settings::Settings| address::bound(fd).is_some_and(|a| settings.is_ours(a.ip()));
    process::settings().is_some_and(ours) && marks::fits(fd) && host::is_tcp(fd)
}

fn start_listening(fd: RawFd, backlog: c_int) -> Result<(), Errno> {
    let mut bound = address::bound(fd).ok_or(Errno::BADF)?;
    if bound.port() == 0 {
        address::bind_anywhere(fd, bound.is_ipv6())?;
        bound = address::bound(fd).ok_or(Errno::BADF)?;
    }
    let terms = Terms {
        backlog: usize::try_from(backlog).unwrap_or(usize::MAX),
        nonblocking: is_nonblocking(fd),
        shares_port: shares_port(fd),
    };
    let is_new = !process::is_ours(fd);
    let mut shared = process::access()?;
    if is_new {
        shared.check_stack()?;
    }
    shared.core.listen(fd, bound, terms)?;
    if is_new {
        make_ours(&mut shared, fd)?;
        inherited::survey(&mut shared, fd);
    }
    Ok(())
}

/// What the core has taken in is the stack's from now on, and watched by it if it is watched.
fn make_ours(shared: &mut Shared, fd: RawFd) -> Result<(), Errno> {
    early::take_over(shared, fd).inspect_err(|_| shared.core.close(fd))?;
    marks::put_socket(fd);
    Ok(())
}

/// `connect(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn connect(
    fd: c_int,
    name: *const libc::sockaddr,
    length: libc::socklen_t,
) -> c_int {
    // SAFETY: the caller's promise.
    let peer = process::settings()
        .and_then(|s| unsafe { address::read(name, length) }.filter(|a| s.reaches(a.ip())));
    match peer.filter(|_| process::is_ours(fd) || (marks::fits(fd) && host::is_tcp(fd))) {
        Some(peer) => answer(start_connecting(fd, peer).map(|()| 0)) as c_int,
        None => {
            let connect = real!(connect: fn(c_int, *const libc::sockaddr, libc::socklen_t) -> c_int);
            // SAFETY: the caller's promise.
            unsafe { connect(fd, name, length) }
        }
    }
}

fn start_connecting(fd: RawFd, peer: SocketAddr) -> Result<(), Errno> {
    let local = address::bound(fd).map(|a| a.ip()).filter(|ip| !ip.is_unspecified());
    let peer = in_family_of(peer, false);
    let is_new = !process::is_ours(fd);
    let nonblocking = {
        let mut shared = process::access()?;
        let nonblocking = if is_new { is_nonblocking(fd) } else { !shared.core.waits(fd) };
        shared.core.connect(fd, peer, local.map(|ip| ip.to_canonical()), nonblocking)?;
        if is_new {
            make_ours(&mut shared, fd)?;
        }
        nonblocking
    };
    if nonblocking {
        // What opens the connection leaves now.
        process::access()?.turn(assay_model::units::Nanos::ZERO)?;
        return Err(Errno::INPROGRESS);
    }
    calls::perform(fd, EventFlags::OUT, libc::SO_SNDTIMEO, 0, |shared| shared.core.connected(fd))
        .map_err(|error| if error == Errno::AGAIN { Errno::INPROGRESS } else { error })
}

/// `accept(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn accept(
    fd: c_int,
    name: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { accept4(fd, name, length, 0) }
}

/// `accept4(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn accept4(
    fd: c_int,
    name: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
    flags: c_int,
) -> c_int {
    if !process::is_ours(fd) {
        let accept = real!(accept4: fn(c_int, *mut libc::sockaddr, *mut libc::socklen_t, c_int) -> c_int);
        // SAFETY: the caller's promise.
        return unsafe { accept(fd, name, length, flags) };
    }
    let accepted = calls::perform(fd, EventFlags::IN, libc::SO_RCVTIMEO, 0, |shared| {
        let stream = shared.core.accept(fd)?;
        let is_ipv6 = shared.core.is_ipv6(fd);
        let new = match host::placeholder(is_ipv6, flags) {
            Ok(new) if marks::fits(new) => new,
            refused => {
                shared.core.put_back(fd, stream);
                if let Ok(beyond) = refused {
                    host::close(beyond);
                }
                return Err(refused.err().unwrap_or(Errno::MFILE));
            }
        };
        // The number may have been ended unseen.
        shared.forget(new);
        let addresses = shared.core.adopt(stream, new, flags & libc::SOCK_NONBLOCK != 0);
        marks::put_socket(new);
        inherited::tell_patience(shared, new);
        Ok((new, addresses.map(|(_, peer)| in_family_of(peer, is_ipv6))))
    });
    if let Ok((_, Some(peer))) = accepted {
        // SAFETY: the caller's promise.
        unsafe { address::write(peer, name, length) };
    }
    answer(accepted.map(|(new, _)| new as usize)) as c_int
}

/// `getsockname(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getsockname(
    fd: c_int,
    name: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
) -> c_int {
    match addresses(fd) {
        Some((ours, _)) => {
            // SAFETY: the caller's promise.
            unsafe { address::write(ours, name, length) };
            0
        }
        None => {
            let ask = real!(getsockname: fn(c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> c_int);
            // SAFETY: the caller's promise.
            unsafe { ask(fd, name, length) }
        }
    }
}

/// `getpeername(2)`: a socket of the stack's that is not connected is not in the kernel either, which says so.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getpeername(
    fd: c_int,
    name: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
) -> c_int {
    match addresses(fd) {
        Some((_, peer)) => {
            // SAFETY: the caller's promise.
            unsafe { address::write(peer, name, length) };
            0
        }
        None => {
            let ask = real!(getpeername: fn(c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> c_int);
            // SAFETY: the caller's promise.
            unsafe { ask(fd, name, length) }
        }
    }
}

/// `shutdown(2)`.
#[unsafe(no_mangle)]
pub(super) extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    if !process::is_ours(fd) {
        let shutdown = real!(shutdown: fn(c_int, c_int) -> c_int);
        // SAFETY: no pointers.
        return unsafe { shutdown(fd, how) };
    }
    let (receiving, sending) = match how {
        libc::SHUT_RD => (true, false),
        libc::SHUT_WR => (false, true),
        libc::SHUT_RDWR => (true, true),
        _ => return answer(Err(Errno::INVAL)) as c_int,
    };
    answer(calls::perform(fd, EventFlags::OUT, libc::SO_SNDTIMEO, 0, |shared| {
        shared.core.shutdown(fd, receiving, sending).map(|()| 0)
    })) as c_int
}

fn addresses(fd: RawFd) -> Option<(SocketAddr, SocketAddr)> {
    if !process::is_ours(fd) {
        return None;
    }
    let (ours, peer) = process::access().ok()?.core.addresses(fd)?;
    let is_ipv6 = host::option(fd, libc::SOL_SOCKET, libc::SO_DOMAIN, 0) == Some(libc::AF_INET6);
    Some((in_family_of(ours, is_ipv6), in_family_of(peer, is_ipv6)))
}

/// Whether others may listen where it does.
fn shares_port(fd: RawFd) -> bool {
    host::option(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 0) == Some(1)
}

fn is_nonblocking(fd: RawFd) -> bool {
    let fcntl = real!(fcntl: fn(c_int, c_int, usize) -> c_int);
    // SAFETY: asking for the flags uses no pointer.
    unsafe { fcntl(fd, libc::F_GETFL, 0) & libc::O_NONBLOCK != 0 }
}
