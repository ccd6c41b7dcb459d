//! TAP devices: two on a bridge, and one that talks to the kernel.

use std::net::Ipv4Addr;
use std::time::Instant;

use assay_model::units::Nanos;
use assay_wire::{End, Receiver as _, Sender as _, Wire, open, tap};

use super::conformance;
use super::frames::PATIENCE;
use super::space::{ip, try_ip, within};

fn no_taps() -> Option<String> {
    match tap::open("probe-tap", 1) {
        Err(error) => Some(error.to_string()),
        Ok(_) => try_ip("link add probe type bridge").err(),
    }
}

#[test]
fn taps_on_a_bridge_conform() {
    within("tap", no_taps, || {
        ip("link add bridge type bridge");
        ip("link set bridge up");
        conformance::of_any(|| {
            let [(a, _), (b, _)] = ["left", "right"].map(|name| tap::open(name, 1).expect("a device"));
            for name in ["left", "right"] {
                // Nothing but the test's frames: no neighbour discovery.
                ip(&format!("link set {name} addrgenmode none master bridge"));
                ip(&format!("link set {name} up"));
            }
            (a, b)
        });
    });
}

#[test]
fn the_kernel_answers_through_a_tap() {
    within("tap", no_taps, || {
        let spec = "tap:kernel".parse().expect("a wire");
        let (mut wire, station) = open(&spec, End::First, 0, 1).expect("a device");
        assert!(station.addresses.is_empty());
        ip("address add 10.77.0.2/24 dev kernel");
        ip("link set kernel up");
        let ours = Ipv4Addr::new(10, 77, 0, 1);
        let question = arp_request(station.hardware, ours, Ipv4Addr::new(10, 77, 0, 2));
        let (_, sender) = wire.split();
        assert!(sender.room());
        sender.send(question.len(), |frame| frame.copy_from_slice(&question));
        sender.flush();
        let answer = receive_arp(&mut wire);
        // An answer, from that address, to us.
        assert_eq!(answer[20..22], [0, 2]);
        assert_eq!(answer[28..32], [10, 77, 0, 2]);
        assert_eq!(answer[..6], station.hardware);
        assert_eq!(answer[38..42], ours.octets());
    });
}

#[test]
fn a_tap_that_is_removed_is_noticed() {
    within("tap", no_taps, || {
        let (mut wire, _) = tap::open("fleeting", 1).expect("a device");
        wire.wait(Nanos::ZERO).expect("intact");
        ip("link delete fleeting");
        let deadline = Instant::now() + PATIENCE;
        while wire.wait(Nanos::from_millis(10)).is_ok() {
            let _ = wire.split().0.peek();
            assert!(Instant::now() < deadline, "not noticed");
        }
    });
}

#[test]
fn several_queues_are_one_device() {
    within("tap", no_taps, || {
        let _first = tap::open("wide", 2).expect("a device");
        let _second = tap::open("wide", 2).expect("its second queue");
        let error = tap::open("wide", 1).expect_err("another kind").to_string();
        assert!(error.contains("another number of queues"), "{error}");
    });
}

/// Asks for the hardware address of an IP address (RFC 826).
fn arp_request(hardware: [u8; 6], from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let everybody = [0xff; 6];
    let ethernet_ipv4_request = [0, 1, 8, 0, 6, 4, 0, 1];
    let parts: [&[u8]; 8] = [
        &everybody,
        &hardware,
        &[8, 6],
        &ethernet_ipv4_request,
        &hardware,
        &from.octets(),
        &[0; 6],
        &to.octets(),
    ];
    parts.concat()
}

fn receive_arp<W: Wire>(wire: &mut W) -> Vec<u8> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (receiver, _) = wire.split();
        while let Some(frame) = receiver.peek().map(<[u8]>::to_vec) {
            receiver.release();
            if frame.get(12..14) == Some(&[8, 6]) {
                return frame;
            }
        }
        assert!(Instant::now() < deadline, "no answer");
        wire.wait(Nanos::from_millis(10)).expect("intact");
    }
}
