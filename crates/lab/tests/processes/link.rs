//! A link of two namespaces through the tests' own program: who reaches whom, and what is counted.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests, which say what they skip"
)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use assay_link::{Link, Meter, Spec};
use assay_skip::skip;

use crate::common::testkit;

const PATIENCE: Duration = Duration::from_secs(5);
const BYTES: usize = 100_000;

fn link(spec: &str) -> Option<Link> {
    let opened = Link::open(&testkit(), spec.parse::<Spec>().expect("spec"));
    opened.inspect_err(|error| skip("netns", error)).ok()
}

/// Sends so many bytes to the generator's side and awaits one back.
fn serve(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().expect("connection");
    stream.write_all(&[b'x'; BYTES]).expect("sent");
    stream.read_exact(&mut [0]).expect("answered");
}

#[test]
fn the_sides_reach_each_other_and_what_passes_is_counted() {
    for spec in ["veth", "veth:100mbit", "veth:loss=20%", "veth:100mbit,loss=20%"] {
        let Some(link) = link(spec) else { return };
        let has_loss = spec.contains("loss");
        assert_eq!(link.facts().expect("facts").loss_per_million, has_loss.then_some(200_000));
        assert_eq!(link.facts().expect("facts").middle, spec != "veth");
        let listener = link.listen(0).expect("listener");
        let address = listener.local_addr().expect("address");
        assert_eq!(address.ip(), link.server_address());
        let meter = Meter::start(&link).expect("counted");
        // No scope: where no connection is made, it would wait for a server that waits for one.
        let server = std::thread::spawn(move || serve(&listener));
        let connect = |_| link.connect(&address, PATIENCE).ok();
        let mut stream = (0..3).find_map(connect).expect("connected, for all that may be lost");
        let mut body = vec![0; BYTES];
        stream.read_exact(&mut body).expect("read");
        stream.write_all(b"!").expect("sent");
        server.join().expect("served");
        let used = meter.finish(Duration::ZERO).expect("used");
        assert!(used.to_generator.bytes > BYTES as u64, "{spec}: {used:?}");
        // Of some seventy frames of 1,500 bytes all arrive once in a million times.
        assert_eq!(used.to_generator.lost_frames > 0, has_loss, "{spec}: {used:?}");
        assert_eq!(
            used.to_generator.overflowed_frames + used.to_server.overflowed_frames,
            0,
            "{spec}: {used:?}"
        );
        assert!(
            used.to_server.packets > 2 && used.to_server.bytes < used.to_generator.bytes,
            "{spec}: {used:?}"
        );
    }
}

#[test]
fn in_the_middle_a_frame_is_a_frame() {
    let Some(link) = link("veth:1gbit") else { return };
    let facts = link.facts().expect("facts");
    assert_eq!((facts.gso_max_bytes, facts.mtu_bytes), (1500, 1500));
    let listener = link.listen(0).expect("listener");
    let meter = Meter::start(&link).expect("counted");
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&listener));
        let mut stream = link.connect(&listener.local_addr().expect("address"), PATIENCE).expect("connected");
        stream.read_exact(&mut vec![0; BYTES]).expect("read");
        stream.write_all(b"!").expect("sent");
    });
    let used = meter.finish(Duration::ZERO).expect("used");
    let least = (BYTES as u64).div_ceil(1448);
    assert!(used.to_generator.packets > least, "{used:?}");
    assert!(used.to_generator.bytes <= used.to_generator.packets * 1514, "{used:?}");
}

#[test]
fn what_waits_for_a_slow_link_can_be_thrown_away() {
    let Some(link) = link("veth:100kbit") else { return };
    let listener = link.listen(0).expect("listener");
    let mut stream = {
        let address = listener.local_addr().expect("address");
        let connecting = link.clone();
        let stream = std::thread::scope(|scope| {
            let stream = scope.spawn(move || connecting.connect(&address, PATIENCE).expect("connected"));
            let (mut accepted, _) = listener.accept().expect("connection");
            accepted.set_nonblocking(true).expect("set");
            // As much as there is room for, which would take seconds.
            while accepted.write(&[b'x'; 4096]).is_ok() {}
            stream.join().expect("joined")
        });
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream
    };
    link.empty();
    // TCP sends again what is missing, so that the link still works.
    stream.read_exact(&mut [0]).expect("read");
}

#[test]
fn nobody_else_reaches_them() {
    let Some(link) = link("veth") else { return };
    let listener = link.listen(0).expect("listener");
    let address = listener.local_addr().expect("address");
    let here = TcpListener::bind("127.0.0.1:0").expect("listener");
    let refused = link.connect(&here.local_addr().expect("address"), PATIENCE).expect_err("another loopback");
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    // The port is taken there, and free here.
    assert!(link.listen(address.port()).is_err());
    assert!(Link::loopback().listen(address.port()).is_ok());
}

#[test]
fn a_netns_holder_that_dies_is_an_error_and_not_a_lesser_link() {
    let Some(link) = link("veth") else { return };
    let side = link.server_side().expect("a side");
    let netns_holder: i32 =
        side.network.iter().nth(2).and_then(|pid| pid.to_str()?.parse().ok()).expect("pid");
    let pid = rustix::process::Pid::from_raw(netns_holder).expect("pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    assert!(link.listen(0).is_err());
}
