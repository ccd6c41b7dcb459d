//! The stack in user space passes the conformance suite of engines with the kernel's stack at the other end of a TAP device, which is
//! an independent TCP: on a wire that keeps every frame in order, and on one that loses, doubles and reorders them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[allow(dead_code, unused_macros, reason = "some of the suite is tried in other worlds only")]
#[path = "../../../engine/tests/contract/conformance/mod.rs"]
mod conformance;
#[path = "../../../wire/tests/contract/space.rs"]
mod space;

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use assay_tcp::{Config, UserStack};
use assay_wire::{AnyWire, End, Station, open};
use conformance::{CONFIG, World};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use space::{ip, try_ip, within};

/// Our stacks' addresses on the bridge, and the kernel's.
const OURS: [&str; 2] = ["10.77.0.1/24", "10.77.0.3/24"];
const KERNELS: &str = "10.77.0.2/24";
/// The port of discard(9): nobody listens there in a namespace of the test's own.
const NOBODY: u16 = 9;

/// Conformance tests between our stack and the kernel's, each in a namespace of its own. Left out are those that write at the
/// peer before the stack is polled: the kernel lets its user write only when the stack has answered.
macro_rules! conforms_with_the_kernel {
    ($spoilt:expr; $($test:ident),* $(,)?) => {
        $(#[test]
        fn $test() {
            super::within("tap", super::no_taps, || {
                crate::conformance::$test(&super::Bridge::new($spoilt));
            });
        })*
    };
}

mod in_order {
    conforms_with_the_kernel!("";
        carries_megabytes_against_back_pressure,
        gathers_parts_in_order,
        tells_the_end_after_the_data,
        answers_after_the_peer_has_ended,
        shuts_down_after_the_queue,
        names_a_refusal,
        names_a_reset,
        leaves_connections_in_the_backlog_until_there_is_room,
        sends_files_between_other_bytes_in_order,
        ends_our_direction_behind_a_file,
        resets_when_a_file_has_become_shorter,
        skips_beyond_the_view_to_the_byte,
        tells_what_a_skip_misses_at_the_end,
        tells_both_addresses,
    );
}

mod spoilt {
    conforms_with_the_kernel!(",loss=0.1%,duplicate=2%,reorder=2%,seed=1";
        gathers_parts_in_order,
        tells_the_end_after_the_data,
        answers_after_the_peer_has_ended,
        sends_files_between_other_bytes_in_order,
    );
}

mod lossy {
    conforms_with_the_kernel!(",loss=1%,seed=2";
        gathers_parts_in_order,
        tells_the_end_after_the_data,
        answers_after_the_peer_has_ended,
        skips_beyond_the_view_to_the_byte,
        sends_files_between_other_bytes_in_order,
    );
}

/// Why there is no TAP device to be had, or no bridge.
fn no_taps() -> Option<String> {
    let probe = "tap:probe-tap".parse().unwrap();
    match open(&probe, End::First, 0, 1) {
        Err(error) => Some(error.to_string()),
        Ok(_) => try_ip("link add probe type bridge").err(),
    }
}

/// Two of our stacks on TAP devices, and the kernel's, all on one bridge.
struct Bridge {
    /// What happens to frames that reach our stacks, as the names of wires have it.
    spoilt: &'static str,
}

impl Bridge {
    fn new(spoilt: &'static str) -> Self {
        ip("link add bridge type bridge");
        ip(&format!("address add {KERNELS} dev bridge"));
        ip("link set bridge up");
        Self { spoilt }
    }

    fn stack(&self, n: usize, config: assay_engine::Config) -> UserStack<AnyWire> {
        let name = format!("tap{n}");
        let (wire, station) = opened(&format!("tap:{name}{}", self.spoilt));
        ip(&format!("link set {name} master bridge"));
        ip(&format!("link set {name} up"));
        let addresses = vec![OURS[n].parse().unwrap()];
        let config = Config { hardware: station.hardware, ..Config::new(config.max_connections, addresses) };
        UserStack::new(wire, config).unwrap()
    }
}

/// The device, once it is free: while another test starts a program, that has our descriptors until it runs, and with them the device of an
/// engine that is gone.
fn opened(wire: &str) -> (AnyWire, Station) {
    let wire = wire.parse().unwrap();
    let free = |_| match open(&wire, End::First, 0, 1) {
        Err(error) if error.to_string().contains("resource busy") => {
            std::thread::sleep(Duration::from_millis(10));
            None
        }
        other => Some(other.unwrap()),
    };
    (0..500).find_map(free).unwrap()
}

fn address_of(cidr: &str) -> IpAddr {
    cidr.split('/').next().unwrap().parse().unwrap()
}

impl World for Bridge {
    type Engine = UserStack<AnyWire>;
    type Peer = TcpStream;
    type Listener = TcpListener;

    fn engine(&self) -> Self::Engine {
        self.stack(0, CONFIG)
    }

    fn engines(&self, config: assay_engine::Config) -> (Self::Engine, Self::Engine) {
        (self.stack(0, config), self.stack(1, config))
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::new(address_of(OURS[0]), 0)
    }

    fn second_address(&self) -> SocketAddr {
        self.address()
    }

    fn source(&self) -> IpAddr {
        address_of(OURS[1])
    }

    /// The kernel goes on connecting while the stack is polled.
    fn connect(&self, address: SocketAddr) -> TcpStream {
        let socket =
            socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::NONBLOCK, None).unwrap();
        match connect(&socket, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => panic!("connect to {address}: {error}"),
        }
        fcntl_setfl(&socket, OFlags::empty()).unwrap();
        TcpStream::from(socket)
    }

    fn listener(&self) -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind(SocketAddr::new(address_of(KERNELS), 0)).unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    fn nobody(&self) -> SocketAddr {
        SocketAddr::new(address_of(KERNELS), NOBODY)
    }

    fn scale(&self) -> usize {
        CONFIG.max_connections
    }
}
