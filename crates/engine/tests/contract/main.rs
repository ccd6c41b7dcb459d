//! The engines of the kernel's sockets pass the conformance suite of engines.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[macro_use]
mod conformance;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};

use assay_engine::{Config, Engine, EngineError, Epoll, Uring};
use assay_model::units::Nanos;
use conformance::{CONFIG, World};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const PAUSE: Nanos = Nanos::from_millis(20);
/// Files that are left to other tests.
const LEFT_OVER: usize = 1_000;
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

mod epoll {
    conforms!(Some(super::Kernel(super::Epoll::new)));

    #[test]
    fn carries_thousands_of_connections() {
        super::conformance::scale::carries_thousands_of_connections(&super::Kernel(super::Epoll::new));
    }

    #[test]
    fn a_connect_that_is_given_up_goes_on_nowhere() {
        super::give_up_a_connect(&super::Kernel(super::Epoll::new));
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

    #[test]
    fn a_connect_that_is_given_up_goes_on_nowhere() {
        if let Some(world) = super::with_uring() {
            super::give_up_a_connect(&world);
        }
    }
}

/// Connects to a listener whose queue is full, which answers nothing, and gives up.
fn give_up_a_connect<E: Engine>(world: &Kernel<E>) {
    let listener = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    // Other programs' tests connect to any port of the usual address.
    let [.., third, fourth] = std::process::id().to_be_bytes();
    rustix::net::bind(&listener, &SocketAddr::from(([127, 83, third, fourth], 0))).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = SocketAddr::try_from(rustix::net::getsockname(&listener).unwrap()).unwrap();
    let _queued = TcpStream::connect(address).unwrap();
    let (mut engine, mut events) = (world.engine(), Vec::new());
    let conn = engine.connect(address, None).unwrap();
    engine.poll(engine.now() + PAUSE, &mut events).unwrap();
    assert_eq!((events.len(), attempts(address)), (0, 1));
    engine.abort(conn);
    for _ in 0..100 {
        engine.poll(engine.now() + PAUSE, &mut events).unwrap();
        assert_eq!(events, []);
        if attempts(address) == 0 {
            return;
        }
    }
    panic!("it is still being connected");
}

/// How many attempts to connect there the kernel knows of that are not answered (proc_pid_net(5): state 02).
fn attempts(address: SocketAddr) -> usize {
    let known = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let SocketAddr::V4(theirs) = address else { panic!("{address}") };
    let ip = u32::from_ne_bytes(theirs.ip().octets());
    let theirs = format!(" {ip:08X}:{:04X} 02 ", theirs.port());
    let begun = known.lines().filter(|line| line.contains(&theirs));
    // While others connect, the kernel may tell a socket again: each has an address of its own.
    begun.filter_map(|line| line.split_whitespace().nth(1)).collect::<BTreeSet<_>>().len()
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
