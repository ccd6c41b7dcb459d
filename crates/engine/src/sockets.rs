//! Sockets as the engine wants them: non-blocking, closed on exec, without Nagle's delay.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::Reason;

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// Connections that the kernel may complete before they are accepted; it cuts this to `net.core.somaxconn`.
const BACKLOG: i32 = 65_535;

/// A listening socket whose port other threads and processes of this user may share.
pub(super) fn listener(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = stream(address)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// The address that a listening socket got.
pub(super) fn local_address(socket: &OwnedFd) -> io::Result<SocketAddr> {
    Ok(SocketAddr::try_from(rustix::net::getsockname(socket)?)?)
}

/// The next waiting connection.
pub(super) fn accept(listener: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let socket = rustix::net::accept_with(listener, FLAGS)?;
    // Fails only for what is not TCP; then there is no delay to switch off.
    let _ = sockopt::set_tcp_nodelay(&socket, true);
    Ok(socket)
}

/// A socket that is connecting or, when the second value says so, has connected at once.
pub(super) fn connecting(remote: SocketAddr, local: Option<IpAddr>) -> io::Result<(OwnedFd, bool)> {
    let socket = stream(remote)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    if let Some(address) = local {
        choose_port_when_connecting(&socket)?;
        rustix::net::bind(&socket, &SocketAddr::new(address, 0))?;
    }
    match rustix::net::connect(&socket, &remote) {
        Ok(()) => Ok((socket, true)),
        Err(Errno::INPROGRESS) => Ok((socket, false)),
        Err(error) => Err(error.into()),
    }
}

/// The error that a socket has been waiting to report, if any.
pub(super) fn pending_error(socket: &OwnedFd) -> Option<Errno> {
    sockopt::socket_error(socket).ok().and_then(Result::err)
}

/// Makes closing send a reset instead of the ordinary farewell.
pub(super) fn reset_on_close(socket: &OwnedFd) {
    // A socket that refuses this closes in the ordinary way, which is the best that is left.
    let _ = sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO));
}

/// The engine's word for an error number of a connection.
pub(super) fn reason(error: Errno) -> Reason {
    match error {
        Errno::CONNREFUSED => Reason::Refused,
        Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Reason::Reset,
        Errno::TIMEDOUT => Reason::TimedOut,
        Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN | Errno::NETDOWN => Reason::Unreachable,
        other => Reason::Other(other.raw_os_error()),
    }
}

fn stream(address: SocketAddr) -> rustix::io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    rustix::net::socket_with(family, SocketType::STREAM, FLAGS, None)
}

/// Without this, bind(2) takes one of the source address's ports for this socket alone; with it, connect(2)
/// picks a port that only has to be free towards that peer (ip(7), IP_BIND_ADDRESS_NO_PORT).
fn choose_port_when_connecting(socket: &OwnedFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open for the borrow's length, and the option's value is a readable c_int of
    // the length given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
