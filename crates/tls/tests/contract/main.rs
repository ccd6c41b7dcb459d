//! TLS over each engine passes the conformance suite of engines, with plain TLS clients at the other end; what else it promises is in files
//! of their own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod faults;
mod peer;
mod stack;
mod support;
#[path = "../../../engine/tests/contract/conformance/mod.rs"]
#[macro_use]
mod conformance;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use assay_engine::{Config, Engine, EngineError, Epoll, Uring};
use assay_model::units::Nanos;
use assay_tls::{Client, Terms, Tls};
use conformance::{CONFIG, World};
use peer::TlsPeer;
use support::acquainted;

/// Connections on each side where many are wanted: each takes a handshake.
const MANY: usize = 300;
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

mod epoll {
    conforms!(Some(super::Secured::over(super::Epoll::new)));

    #[test]
    fn carries_thousands_of_connections() {
        super::conformance::scale::carries_thousands_of_connections(&super::Secured::over(super::Epoll::new));
    }
}

mod uring {
    conforms!(super::with_uring());
}

/// The kernel's loopback device, with a way to make the engine beneath.
struct Secured<E> {
    make: fn(Config) -> Result<E, EngineError>,
    terms: Terms,
    client: Client,
}

fn with_uring() -> Option<Secured<Uring>> {
    if let Err(error) = Uring::new(CONFIG) {
        assay_skip::skip("uring", format_args!("no io_uring here: {error}"));
        return None;
    }
    Some(Secured::over(Uring::new))
}

impl<E> Secured<E> {
    fn over(make: fn(Config) -> Result<E, EngineError>) -> Self {
        let (client, server) = acquainted(false);
        // A ticket that a peer has not read would make its close a reset.
        let terms = Terms { client: Some(client.clone()), server: Some(server.without_tickets()) };
        Self { make, terms, client }
    }
}

impl<E: Engine> World for Secured<E> {
    type Engine = Tls<E>;
    type Peer = TlsPeer;
    type Listener = TcpListener;

    fn engine(&self) -> Tls<E> {
        Tls::new((self.make)(CONFIG).unwrap(), &self.terms)
    }

    fn engines(&self, config: Config) -> (Tls<E>, Tls<E>) {
        let engine = || Tls::new((self.make)(config).unwrap(), &self.terms);
        (engine(), engine())
    }

    fn address(&self) -> SocketAddr {
        LOOPBACK
    }

    fn second_address(&self) -> SocketAddr {
        SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 0)
    }

    fn source(&self) -> IpAddr {
        Ipv4Addr::new(127, 0, 0, 2).into()
    }

    fn connect(&self, address: SocketAddr) -> TlsPeer {
        TlsPeer::connect(&self.client, address)
    }

    fn listener(&self) -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind(LOOPBACK).unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    fn nobody(&self) -> SocketAddr {
        self.listener().1
    }

    fn scale(&self) -> usize {
        MANY
    }

    /// A handshake takes two threads their turns.
    fn quiet(&self) -> Nanos {
        Nanos::from_millis(1_000)
    }
}
