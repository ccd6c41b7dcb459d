//! The engines of the kernel's sockets pass the conformance suite of engines.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[macro_use]
mod conformance;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};

use assay_engine::{Config, Engine, EngineError, Epoll, Uring};
use conformance::{CONFIG, World};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are left to other tests.
const LEFT_OVER: usize = 1_000;
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

mod epoll {
    conforms!(Some(super::Kernel(super::Epoll::new)));

    #[test]
    fn carries_thousands_of_connections() {
        super::conformance::scale::carries_thousands_of_connections(&super::Kernel(super::Epoll::new));
    }
}

mod uring {
    conforms!(super::with_uring());

    #[test]
    fn carries_thousands_of_connections() {
        if let Some(world) = super::with_uring() {
            super::conformance::scale::carries_thousands_of_connections(&world);
        }
    }
}

/// The kernel's loopback device, with a way to make an engine.
struct Kernel<E>(fn(Config) -> Result<E, EngineError>);

fn with_uring() -> Option<Kernel<Uring>> {
    if let Err(error) = Uring::new(CONFIG) {
        assay_skip::skip("uring", format_args!("no io_uring here: {error}"));
        return None;
    }
    Some(Kernel(Uring::new))
}

impl<E: Engine> World for Kernel<E> {
    type Engine = E;
    type Peer = TcpStream;
    type Listener = TcpListener;

    fn engine(&self) -> E {
        self.0(CONFIG).unwrap()
    }

    fn engines(&self, config: Config) -> (E, E) {
        (self.0(config).unwrap(), self.0(config).unwrap())
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

    fn connect(&self, address: SocketAddr) -> TcpStream {
        TcpStream::connect(address).unwrap()
    }

    fn listener(&self) -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind(LOOPBACK).unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    fn nobody(&self) -> SocketAddr {
        self.listener().1
    }

    /// Raises the limit on open files as far as it goes.
    fn scale(&self) -> usize {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
        maximum.map_or(usize::MAX, |files| files as usize).saturating_sub(LEFT_OVER) / 2
    }
}
