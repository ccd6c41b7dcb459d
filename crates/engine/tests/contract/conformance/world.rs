//! Where an engine lives, and who is at the other end.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};

use assay_engine::{Config, Engine};
use assay_model::units::Nanos;

/// A network with an engine at one end and plain blocking connections at the other.
pub(crate) trait World {
    type Engine: Engine;
    type Peer: Peer;
    /// Listens as long as it lives.
    type Listener;

    /// The engine under test, for [`super::CONFIG`].
    fn engine(&self) -> Self::Engine;

    /// Two engines that reach each other: the first listens at [`address`](Self::address).
    fn engines(&self, config: Config) -> (Self::Engine, Self::Engine);

    /// Where an engine can listen; port 0.
    fn address(&self) -> SocketAddr;

    /// Another such address, of the other family where there is one; port 0.
    fn second_address(&self) -> SocketAddr;

    /// An address to connect from, other than the one that would be chosen if there are several.
    fn source(&self) -> IpAddr;

    /// Begins to connect to the engine under test. It need not be polled for that.
    fn connect(&self, address: SocketAddr) -> Self::Peer;

    /// Somebody whom the engine under test can connect to.
    fn listener(&self) -> (Self::Listener, SocketAddr);

    /// An address where nobody listens.
    fn nobody(&self) -> SocketAddr;

    /// Connections that an engine can have here.
    fn scale(&self) -> usize;

    /// Long enough for a connection to be noticed, were it accepted.
    fn quiet(&self) -> Nanos {
        Nanos::from_millis(50)
    }
}

/// The other end of a connection.
pub(crate) trait Peer: Read + Write + Send + 'static {
    /// Addresses of the peer and of the engine.
    fn ends(&self) -> (SocketAddr, SocketAddr);

    /// Ends its direction.
    fn finish(&mut self);

    /// Resets the connection.
    fn reset(self);

    /// Another handle of this end.
    fn another(&self) -> Self;
}

/// With a stack of the kernel's.
impl Peer for TcpStream {
    fn ends(&self) -> (SocketAddr, SocketAddr) {
        (self.local_addr().unwrap(), self.peer_addr().unwrap())
    }

    fn finish(&mut self) {
        self.shutdown(Shutdown::Write).unwrap();
    }

    fn reset(self) {
        rustix::net::sockopt::set_socket_linger(&self, Some(std::time::Duration::ZERO)).unwrap();
    }

    fn another(&self) -> Self {
        self.try_clone().unwrap()
    }
}
