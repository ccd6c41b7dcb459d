//! The stack in user space passes the conformance suite of engines: over a ring, with another stack at its other end. Other peers and programs
//! are in files of their own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod far;
mod hostile;
mod sleeping;
mod smoltcp;
#[path = "../../../engine/tests/contract/conformance/mod.rs"]
#[macro_use]
mod conformance;

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use assay_engine::Engine;
use assay_tcp::{Cidr, Config, UserStack};
use assay_wire::ring::{self, Ring};
use conformance::{CONFIG, World};
use far::{Far, FarPeer};

/// Connections on each side where many are wanted.
const MANY: usize = 10_000;

mod ipv4 {
    conforms!(Some(super::Ends::new("10.77.0.1/24", "10.77.0.2/24")));

    #[test]
    fn carries_thousands_of_connections() {
        let world = super::Ends::new("10.77.0.1/24", "10.77.0.2/24");
        super::conformance::scale::carries_thousands_of_connections(&world);
    }
}

mod ipv6 {
    conforms!(Some(super::Ends::new("fd77::1/64", "fd77::2/64")));
}

/// The two ends of a ring: the engine under test at the near one.
struct Ends {
    near: Cidr,
    far: Cidr,
    /// The far end of the engine that was made last.
    other: RefCell<Option<Arc<Far<UserStack<Ring>>>>>,
}

impl Ends {
    fn new(near: &str, far: &str) -> Self {
        Self { near: near.parse().unwrap(), far: far.parse().unwrap(), other: RefCell::new(None) }
    }

    fn other(&self) -> Arc<Far<UserStack<Ring>>> {
        Arc::clone(self.other.borrow().as_ref().unwrap())
    }
}

fn stack(ring: Ring, address: Cidr, max_connections: usize) -> UserStack<Ring> {
    UserStack::new(ring, Config::new(max_connections, vec![address])).unwrap()
}

impl World for Ends {
    type Engine = UserStack<Ring>;
    type Peer = FarPeer<UserStack<Ring>>;
    type Listener = ();

    fn engine(&self) -> UserStack<Ring> {
        let (near, far) = ring::pair().unwrap();
        let far = Far::new(stack(far, self.far, MANY));
        *self.other.borrow_mut() = Some(far);
        stack(near, self.near, CONFIG.max_connections)
    }

    fn engines(&self, config: assay_engine::Config) -> (UserStack<Ring>, UserStack<Ring>) {
        let (near, far) = ring::pair().unwrap();
        (stack(near, self.near, config.max_connections), stack(far, self.far, config.max_connections))
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::new(self.near.address, 0)
    }

    fn second_address(&self) -> SocketAddr {
        self.address()
    }

    fn source(&self) -> IpAddr {
        self.far.address
    }

    fn connect(&self, address: SocketAddr) -> FarPeer<UserStack<Ring>> {
        FarPeer::connect(self.other(), address)
    }

    fn listener(&self) -> ((), SocketAddr) {
        ((), self.other().engine().listen(SocketAddr::new(self.far.address, 0)).unwrap())
    }

    fn nobody(&self) -> SocketAddr {
        SocketAddr::new(self.far.address, 9)
    }

    fn scale(&self) -> usize {
        MANY
    }
}
