//! The simulated network passes the conformance suite of engines, in fair weather and in foul. Both ends are in threads of their own here,
//! so its time is the machine's; `exact.rs` has what virtual time adds.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod exact;
#[path = "../../../tcp/tests/conformance/far.rs"]
mod far;
#[path = "../../../engine/tests/contract/conformance/mod.rs"]
#[macro_use]
mod conformance;

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use assay_engine::{Config, Engine as _};
use assay_model::units::Nanos;
use assay_sim::{Network, RealTime, SimEngine, Weather};
use conformance::{CONFIG, Peer as _, World};
use far::{Far, FarPeer};

/// Connections on each side where many are wanted.
const MANY: usize = 10_000;

type Engine = SimEngine<RealTime>;

/// Late, out of order between connections, and with little room. What cuts short messages is tried in `exact.rs`: these tests
/// are tried with words that come whole.
const FOUL: Weather = Weather {
    delay: [Nanos::ZERO, Nanos::from_micros(300)],
    window_bytes: 60_000,
    stalls: (0.01, Nanos::from_millis(2)),
    ..Weather::still(Nanos::ZERO)
};

mod fair {
    conforms!(Some(super::Ends::new(super::Weather::still(super::Nanos::from_micros(5)))));

    #[test]
    fn carries_thousands_of_connections() {
        let world = super::Ends::new(super::Weather::still(super::Nanos::ZERO));
        super::conformance::scale::carries_thousands_of_connections(&world);
    }
}

mod foul {
    conforms!(Some(super::Ends::new(super::FOUL)));
}

/// A network with the engine under test at one end.
struct Ends {
    weather: Weather,
    /// The network that was made last, and its far end.
    made: RefCell<Option<Arc<Far<Engine>>>>,
}

impl Ends {
    fn new(weather: Weather) -> Self {
        Self { weather, made: RefCell::new(None) }
    }

    fn far(&self) -> Arc<Far<Engine>> {
        Arc::clone(self.made.borrow().as_ref().unwrap())
    }
}

impl World for Ends {
    type Engine = Engine;
    type Peer = FarPeer<Engine>;
    type Listener = ();

    fn engine(&self) -> Engine {
        let network = Network::in_real_time(1, self.weather);
        *self.made.borrow_mut() = Some(Far::new(network.waiting(Config { max_connections: MANY })));
        network.waiting(CONFIG)
    }

    fn engines(&self, config: Config) -> (Engine, Engine) {
        let network = Network::in_real_time(2, self.weather);
        (network.waiting(config), network.waiting(config))
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::new(Ipv4Addr::new(10, 0, 0, 1).into(), 0)
    }

    fn second_address(&self) -> SocketAddr {
        SocketAddr::new(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).into(), 0)
    }

    fn source(&self) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, 99).into()
    }

    fn connect(&self, address: SocketAddr) -> FarPeer<Engine> {
        let peer = FarPeer::connect(self.far(), address);
        // Connections overtake each other: one after the other.
        peer.ends();
        peer
    }

    fn listener(&self) -> ((), SocketAddr) {
        ((), self.far().engine().listen(self.address()).unwrap())
    }

    fn nobody(&self) -> SocketAddr {
        SocketAddr::new(self.address().ip(), 9)
    }

    fn scale(&self) -> usize {
        MANY
    }
}
