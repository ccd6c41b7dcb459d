//! The core on our own stack, with its peer on the same wire in the same thread.

use std::cell::RefCell;
use std::net::SocketAddr;

use assay_engine::{Conn, Engine, EngineError, Event};
use assay_model::units::Nanos;
use assay_tcp::{Config, UserStack};
use assay_wire::ring::{self, Ring};
use rustix::io::Errno;

use super::{Core, FIRST, LISTENER, sharing, until};

const OTHER: i32 = LISTENER + 1;
const PORT: u16 = 80;

thread_local! {
    static END: RefCell<Option<Ring>> = const { RefCell::new(None) };
}

fn at(ip: &str) -> SocketAddr {
    SocketAddr::new(ip.parse().unwrap(), PORT)
}

fn stack(wire: Ring, number: u8) -> UserStack<Ring> {
    let addresses = [format!("10.77.0.{number}/24"), format!("fd77::{number}/64")];
    let config = Config::new(256, addresses.map(|cidr| cidr.parse().unwrap()).to_vec());
    UserStack::new(wire, config).unwrap()
}

fn make() -> Result<UserStack<Ring>, EngineError> {
    Ok(stack(END.take().unwrap(), 1))
}

/// A core, and the stack of its peer.
struct Net {
    core: Core<UserStack<Ring>>,
    peer: UserStack<Ring>,
}

impl Net {
    fn new() -> Self {
        let (near, far) = ring::pair().unwrap();
        END.set(Some(near));
        Self { core: Core::new(make), peer: stack(far, 2) }
    }

    /// Listens there, and waits for connections.
    fn listen(&mut self, fd: i32, ip: &str) {
        self.core.listen(fd, at(ip), sharing()).unwrap();
        assert_eq!(self.core.accept(fd).err(), Some(Errno::AGAIN));
        self.core.turn(Nanos::ZERO).unwrap();
        assert_eq!(self.core.accept(fd).err(), Some(Errno::AGAIN), "{ip}: it listens");
    }

    /// Connects; whether that succeeded.
    fn connect(&mut self, ip: &str) -> (Conn, bool) {
        let (conn, mut events) = (self.peer.connect(at(ip), None).unwrap(), Vec::new());
        let connected = until(&mut self.core, |_| {
            self.peer.poll(Nanos::ZERO, &mut events).unwrap();
            events.iter().find_map(|event| match *event {
                Event::Connected(c) if c == conn => Some(true),
                Event::Closed(c, _) if c == conn => Some(false),
                _ => None,
            })
        });
        (conn, connected)
    }

    /// Takes a connection that comes to a listener and to no other.
    fn comes_to(&mut self, fd: i32, others: &[i32], as_fd: i32) {
        let mut events = Vec::new();
        let stream = until(&mut self.core, |core| {
            // The end of the handshake may not have left.
            self.peer.poll(Nanos::ZERO, &mut events).unwrap();
            core.accept(fd).ok()
        });
        self.core.adopt(stream, as_fd, true).unwrap();
        for &other in others {
            assert_eq!(self.core.accept(other).err(), Some(Errno::AGAIN));
        }
    }
}

#[test]
fn listeners_that_share_an_address_take_turns_until_they_are_closed() {
    let mut net = Net::new();
    net.listen(LISTENER, "0.0.0.0");
    net.listen(OTHER, "0.0.0.0");
    for round in 0..3 {
        assert!(net.connect("10.77.0.1").1 && net.connect("10.77.0.1").1);
        for (n, (fd, other)) in [(LISTENER, OTHER), (OTHER, LISTENER)].into_iter().enumerate() {
            let others = if n == 0 { &[][..] } else { &[other][..] };
            net.comes_to(fd, others, FIRST + 2 * round + n as i32);
        }
    }
    net.core.close(OTHER);
    assert!(net.connect("10.77.0.1").1, "the first one goes on");
    net.comes_to(LISTENER, &[], FIRST + 10);
    net.core.close(LISTENER);
    assert!(!net.connect("10.77.0.1").1, "nobody is there any more");
}

#[test]
fn each_family_has_a_wildcard_of_its_own_in_either_order() {
    for [first, second] in [["::", "0.0.0.0"], ["0.0.0.0", "::"]] {
        let mut net = Net::new();
        net.listen(LISTENER, first);
        net.listen(OTHER, second);
        let (four, six) = if first == "::" { (OTHER, LISTENER) } else { (LISTENER, OTHER) };
        assert!(net.connect("10.77.0.1").1 && net.connect("fd77::1").1);
        net.comes_to(four, &[], FIRST);
        net.comes_to(six, &[four], FIRST + 1);
    }
}
