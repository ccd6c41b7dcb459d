//! AF_XDP over veth pairs: with both ends ours, and with the kernel at one.

use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use assay_model::units::Nanos;
use assay_wire::xdp::{self, Mode};
use assay_wire::{End, Receiver as _, Wire, open};

use super::conformance;
use super::frames::{self, PATIENCE, SHORTEST};
use super::space::{ip, try_ip, within};

const MODES: [Mode; 2] = [Mode::Generic, Mode::Native];

/// A veth pair, `left` and `right`, on which nobody speaks but whom the test lets.
fn cable() -> Result<(), String> {
    try_ip("link add left type veth peer name right")?;
    for name in ["left", "right"] {
        try_ip(&format!("link set {name} addrgenmode none"))?;
        try_ip(&format!("link set {name} up"))?;
    }
    Ok(())
}

pub(crate) fn no_xdp() -> Option<String> {
    match cable() {
        Err(problem) => Some(problem),
        Ok(()) => xdp::open("left", 0, None).err().map(|error| error.to_string()),
    }
}

pub(crate) fn is_free(name: &str) -> bool {
    let output = Command::new("ip").args(["link", "show", name]).output().expect("ip(8)");
    assert!(output.status.success());
    !String::from_utf8_lossy(&output.stdout).contains("xdp")
}

/// Waits until an interface is as it was: a child that another test is about to start has copies of our descriptors until it
/// becomes its program.
pub(crate) fn await_free(name: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !is_free(name) {
        assert!(Instant::now() < deadline, "{name} still has a program");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn both_ends_of_a_veth_pair_conform() {
    for mode in MODES {
        within("xdp", no_xdp, || {
            conformance::of_any(|| {
                let [(a, _), (b, _)] =
                    ["left", "right"].map(|name| xdp::open(name, 0, Some(mode)).expect("a queue"));
                (a, b)
            });
            ["left", "right"].into_iter().for_each(await_free);
            assert_eq!(xdp::open("left", 0, Some(mode)).expect("a queue").0.mode(), mode);
            assert_eq!(xdp::open("left", 0, None).expect("a queue").0.mode(), Mode::Generic);
        });
    }
}

#[test]
fn every_frame_arrives_or_is_counted_as_dropped() {
    within("xdp", no_xdp, || {
        const SENT: u64 = 20_000;
        let [(mut a, _), (mut b, _)] =
            ["left", "right"].map(|name| xdp::open(name, 0, None).expect("a queue"));
        (0..SENT).for_each(|number| frames::send_surely(&mut a, number, SHORTEST));
        frames::flush(&mut a);
        let mut received = 0;
        while frames::receive(&mut b).is_some() {
            received += 1;
        }
        // What was dropped is asked for before a sleep.
        b.wait(Nanos::from_millis(1)).expect("intact");
        assert!(received > 0 && received < SENT, "more than the ring holds: {received}");
        assert_eq!(received + b.statistics().dropped_frames, SENT);
    });
}

#[test]
fn the_kernel_answers_through_a_veth_pair_with_right_checksums() {
    within("xdp", no_xdp, || {
        let (ours, theirs) = (Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 0, 2));
        ip("address add 10.77.0.2/24 dev right");
        xdp::prepare_peer("right").expect("offloads off");
        for mode in ["", ",mode=generic", ",mode=native"] {
            let spec = format!("xdp:left{mode}").parse().expect("a wire");
            let (mut wire, station) = open(&spec, End::First, 0, 1).expect("a queue");
            let hardware = station.hardware.map(|octet| format!("{octet:02x}")).join(":");
            ip(&format!("neighbour replace {ours} lladdr {hardware} dev right"));
            let socket = UdpSocket::bind((theirs, 0)).expect("a socket");
            for payload in [&b"odd"[..], &[7; 1400]] {
                socket.send_to(payload, (ours, 7)).expect("sent");
                let packet = receive_udp(&mut wire);
                assert_eq!(packet[28..], *payload);
                assert_eq!(udp_sum(&packet), 0xffff, "a right checksum");
            }
        }
    });
}

/// The next UDP packet, from its IP header on.
fn receive_udp<W: Wire>(wire: &mut W) -> Vec<u8> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        while let Some(frame) = wire.split().0.peek().map(<[u8]>::to_vec) {
            wire.split().0.release();
            if frame[12..14] == [8, 0] && frame[23] == 17 {
                return frame[14..].to_vec();
            }
        }
        assert!(Instant::now() < deadline, "no packet");
        wire.wait(Nanos::from_millis(10)).expect("intact");
    }
}

/// The sum over pseudo header, header and data: all ones when the checksum is right (RFC 768).
fn udp_sum(packet: &[u8]) -> u32 {
    let words =
        packet[12..].chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |b| (*b).into()));
    let length = packet.len() as u32 - 20;
    let sum = words.sum::<u32>() + 17 + length;
    let folded = (sum & 0xffff) + (sum >> 16);
    (folded & 0xffff) + (folded >> 16)
}

#[test]
fn queues_of_one_interface_share_its_program() {
    within("xdp", no_xdp, || {
        ip("link add wide numtxqueues 2 numrxqueues 2 type veth peer name broad numtxqueues 2 numrxqueues 2");
        ip("link set dev wide up");
        ip("link set dev broad up");
        let first = xdp::open("wide", 0, None).expect("a queue");
        let second = xdp::open("wide", 1, None).expect("another");
        drop(first);
        assert!(!is_free("wide"));
        drop(second);
        await_free("wide");
        let error = xdp::open("wide", 7, None).expect_err("no such queue").to_string();
        assert!(error.contains("no such queue"), "{error}");
    });
}

#[test]
fn what_is_in_use_or_down_or_absent_is_told() {
    within("xdp", no_xdp, || {
        let held = xdp::open("left", 0, None).expect("a queue");
        let error = xdp::open("left", 0, None).expect_err("taken").to_string();
        assert!(error.contains("another queue"), "{error}");
        drop(held);
        await_free("left");
        xdp::open("left", 0, None).expect("free again");
        ip("link set left down");
        let error = xdp::open("left", 0, None).expect_err("down").to_string();
        assert!(error.contains("link set INTERFACE up"), "{error}");
        let error = xdp::open("absent", 0, None).expect_err("absent").to_string();
        assert!(error.contains("ip link"), "{error}");
    });
}

#[test]
fn an_interface_that_is_removed_is_noticed() {
    within("xdp", no_xdp, || {
        for timeout in [Nanos::from_millis(200), Nanos::ZERO] {
            let _ = cable();
            let (mut wire, _) = xdp::open("left", 0, None).expect("a queue");
            ip("link delete left");
            let deadline = Instant::now() + PATIENCE;
            while wire.wait(timeout).is_ok() {
                assert!(Instant::now() < deadline, "not noticed");
            }
        }
    });
}

/// Tells the other process which interface to take, and where to say that it has.
const INTERFACE: &str = "ASSAY_TEST_INTERFACE";
const READY: &str = "ASSAY_TEST_READY";

/// The other process: this program again, which runs this alone.
#[test]
fn as_the_process_to_be_killed() {
    let (Ok(interface), Ok(ready)) = (std::env::var(INTERFACE), std::env::var(READY)) else { return };
    let _wire = xdp::open(&interface, 0, None).expect("a queue");
    std::fs::write(ready, "").expect("a file");
    std::thread::sleep(PATIENCE);
}

#[test]
fn a_killed_process_leaves_the_interface_as_it_was() {
    within("xdp", no_xdp, || {
        let folder = tempfile::tempdir().expect("a folder");
        let ready = folder.path().join("ready");
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        command.args(["--exact", "xdps::as_the_process_to_be_killed", "--quiet"]);
        let mut process = command.env(INTERFACE, "left").env(READY, &ready).spawn().expect("a process");
        await_file(&ready);
        assert!(!is_free("left"));
        process.kill().expect("killed");
        process.wait().expect("ended");
        await_free("left");
        xdp::open("left", 0, None).expect("free again");
    });
}

fn await_file(path: &Path) {
    let deadline = Instant::now() + PATIENCE;
    while !path.exists() {
        assert!(Instant::now() < deadline, "{}", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}
