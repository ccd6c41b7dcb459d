//! Sockets as the engines want them: closed on exec, without Nagle's delay.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd as _, AsRawFd, OwnedFd};

use assay_descriptors as descriptors;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::{EngineError, Reason};

/// Connections that the kernel may complete before they are accepted; it cuts this to `net.core.somaxconn`.
const BACKLOG: i32 = 65_535;

/// A listening socket whose port other threads and processes of this user may share, and its address.
pub(crate) fn listening(
    address: SocketAddr,
    flags: SocketFlags,
) -> Result<(OwnedFd, SocketAddr), EngineError> {
    let make = || -> io::Result<(OwnedFd, SocketAddr)> {
        let socket = stream(address, flags)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        sockopt::set_socket_reuseport(&socket, true)?;
        // Linux hands this option on to every accepted connection.
        sockopt::set_tcp_nodelay(&socket, true)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, BACKLOG)?;
        let bound = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
        Ok((socket, bound))
    };
    make().map_err(|source| EngineError::System { call: format!("listen at {address}"), source })
}

/// Refuses an address at which an engine listens already: the kernel would allow it (`SO_REUSEPORT`), but nothing could
/// tell the two apart.
pub(crate) fn not_taken(
    address: SocketAddr,
    mut taken: impl Iterator<Item = SocketAddr>,
) -> Result<(), EngineError> {
    if taken.any(|t| t == address) {
        return Err(EngineError::system(&format!("listen at {address}"), Errno::ADDRINUSE));
    }
    Ok(())
}

/// A socket's own address and its peer's.
pub(crate) fn addresses(socket: &OwnedFd) -> io::Result<(SocketAddr, SocketAddr)> {
    let ours = SocketAddr::try_from(rustix::net::getsockname(socket)?)?;
    let theirs = rustix::net::getpeername(socket)?.ok_or(Errno::NOTCONN)?;
    Ok((ours, SocketAddr::try_from(theirs)?))
}

/// The socket, if its number still names it: nothing is to be done to a stranger's file that has come there.
pub(crate) fn intact(socket: &OwnedFd) -> rustix::io::Result<&OwnedFd> {
    if descriptors::holds(socket.as_fd()) { Ok(socket) } else { Err(Errno::BADF) }
}

/// The next waiting connection.
pub(crate) fn accept(listener: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let listener = intact(listener)?;
    rustix::net::accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC).map(descriptors::keep)
}

/// A socket that is connecting or, when the second value says so, has connected at once.
pub(crate) fn connecting(remote: SocketAddr, local: Option<IpAddr>) -> Result<(OwnedFd, bool), EngineError> {
    let call = || -> io::Result<(OwnedFd, bool)> {
        let socket = unconnected(remote, local, SocketFlags::NONBLOCK)?;
        match rustix::net::connect(&socket, &remote) {
            Ok(()) => Ok((socket, true)),
            Err(Errno::INPROGRESS) => Ok((socket, false)),
            Err(error) => Err(error.into()),
        }
    };
    call().map_err(|error| cannot_connect(remote, error))
}

/// A socket that is ready to connect to `remote`.
pub(crate) fn unconnected(
    remote: SocketAddr,
    local: Option<IpAddr>,
    flags: SocketFlags,
) -> io::Result<OwnedFd> {
    let socket = stream(remote, flags)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    if let Some(address) = local {
        choose_port_when_connecting(&socket)?;
        rustix::net::bind(&socket, &SocketAddr::new(address, 0))?;
    }
    Ok(socket)
}

/// Why no connection could even be tried: a limit of our own, unlike a refusal by the peer.
pub(crate) fn cannot_connect(remote: SocketAddr, error: io::Error) -> EngineError {
    match Errno::from_io_error(&error) {
        Some(Errno::ADDRNOTAVAIL) => EngineError::NoPort { remote },
        _ => EngineError::System { call: format!("connect to {remote}"), source: error },
    }
}

/// The error that a socket has been waiting to report, if any.
pub(crate) fn pending_error(socket: &OwnedFd) -> Option<Errno> {
    sockopt::socket_error(socket).ok().and_then(Result::err)
}

/// Makes closing send a reset instead of the ordinary farewell.
pub(crate) fn reset_on_close(socket: &OwnedFd) {
    // A socket that refuses this closes in the ordinary way, which is the best that is left.
    let _ =
        intact(socket).and_then(|socket| sockopt::set_socket_linger(socket, Some(std::time::Duration::ZERO)));
}

/// The engine's word for an error number of a connection.
pub(crate) fn reason(error: Errno) -> Reason {
    match error {
        Errno::CONNREFUSED => Reason::Refused,
        Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Reason::Reset,
        Errno::TIMEDOUT => Reason::TimedOut,
        Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN | Errno::NETDOWN => Reason::Unreachable,
        other => Reason::Other(other.raw_os_error()),
    }
}

/// Why a connection ended, by an error that sending met.
pub(crate) fn send_reason(error: Errno) -> Reason {
    match reason(error) {
        Reason::Reset => Reason::SendReset,
        other => other,
    }
}

fn stream(address: SocketAddr, flags: SocketFlags) -> rustix::io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = flags | SocketFlags::CLOEXEC;
    rustix::net::socket_with(family, SocketType::STREAM, flags, None).map(descriptors::keep)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accepted_connection_has_no_delay() {
        let any = SocketAddr::new(std::net::Ipv4Addr::LOCALHOST.into(), 0);
        let (listening, address) = listening(any, SocketFlags::NONBLOCK).unwrap();
        let _peer = std::net::TcpStream::connect(address).unwrap();
        let accepted = accept(&listening).unwrap();
        assert!(sockopt::tcp_nodelay(&accepted).unwrap());
    }
}
