//! Frames that no honest peer sends: the stack takes them without harm and keeps its bounds.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use assay_engine::Engine;
use assay_model::units::Nanos;
use assay_tcp::{Config, UserStack};
use assay_wire::ring::{self, Ring};
use assay_wire::{Receiver, Sender, Wire};
use proptest::prelude::*;

const OURS: [u8; 6] = [2, 0, 0, 0, 0, 1];
const MAX_CONNECTIONS: usize = 8;

fn stack() -> (UserStack<Ring>, Ring) {
    let (near, far) = ring::pair().unwrap();
    let addresses = ["10.77.0.1/24", "fd77::1/64"].map(|text| text.parse().unwrap()).to_vec();
    let config = Config { hardware: OURS, ..Config::new(MAX_CONNECTIONS, addresses) };
    let mut stack = UserStack::new(near, config).unwrap();
    stack.listen("10.77.0.1:80".parse().unwrap()).unwrap();
    (stack, far)
}

fn feed(stack: &mut UserStack<Ring>, far: &mut Ring, frame: &[u8]) {
    let (receiver, sender) = far.split();
    while receiver.peek().is_some() {
        receiver.release();
    }
    assert!(sender.room());
    sender.send(frame.len(), |room| room.copy_from_slice(frame));
    sender.flush();
    stack.poll(Nanos::ZERO, &mut Vec::new()).unwrap();
}

/// A frame to us whose headers are right up to a point: Ethernet, IPv4, TCP to our port.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let headers = (0usize..4, any::<[u8; 4]>(), 0u8..64, prop::collection::vec(any::<u8>(), 0..120));
    headers.prop_map(|(depth, source, flags, bytes)| {
        let mut frame = [OURS, [2, 0, 0, 0, 0, 2]].concat();
        if depth > 0 {
            frame.extend(
                [[0x08, 0x00], [0x86, 0xdd], [0x08, 0x06]]
                    [if depth > 1 { 0 } else { usize::from(flags) % 3 }],
            );
        }
        if depth > 1 {
            let length = (40 + bytes.len()) as u16;
            frame.extend([0x45, 0, (length >> 8) as u8, length as u8, 0, 0, 0, 0, 64, 6, 0, 0, 10, 77, 0]);
            frame.extend([source[0], 10, 77, 0, 1]);
        }
        if depth > 2 {
            frame.extend([
                source[1], source[2], 0, 80, 0, 0, 0, source[3], 0, 0, 0, 0, 0x50, flags, 1, 0, 0, 0, 0, 0,
            ]);
        }
        frame.extend(bytes);
        frame.resize(frame.len().max(14), 0);
        frame
    })
}

proptest! {
    #[test]
    fn any_frames_are_taken_within_bounds(frames in prop::collection::vec(frames(), 1..200)) {
        let (mut stack, mut far) = stack();
        for frame in &frames {
            feed(&mut stack, &mut far, frame);
        }
        prop_assert!(stack.connections() <= MAX_CONNECTIONS);
    }
}
