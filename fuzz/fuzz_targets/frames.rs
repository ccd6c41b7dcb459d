//! Frames to a TCP stack in user space that listens.
#![no_main]

use assay_engine::Engine as _;
use assay_model::units::Nanos;
use assay_tcp::{Config, UserStack};
use assay_wire::{Receiver as _, Sender as _, Wire as _, ring};
use libfuzzer_sys::fuzz_target;

/// To the stack, from another, over IPv4 or IPv6.
const HEADERS: [[u8; 14]; 2] = [
    [2, 0x77, 10, 77, 0, 1, 2, 0x77, 10, 77, 0, 2, 0x08, 0x00],
    [2, 0x77, 10, 77, 0, 1, 2, 0x77, 10, 77, 0, 2, 0x86, 0xdd],
];
const MAX_CONNECTIONS: usize = 4;

// Each frame is a byte that chooses the header, a byte with the length of the rest, and the rest.
fuzz_target!(|input: &[u8]| {
    let (near, mut far) = ring::pair().expect("a ring");
    let addresses = ["10.77.0.1/24", "fd77::1/64"].map(|text| text.parse().expect("an address")).to_vec();
    let mut stack = UserStack::new(near, Config::new(MAX_CONNECTIONS, addresses)).expect("a stack");
    stack.listen("[::]:80".parse().expect("an address")).expect("a free port");
    let (mut rest, mut events) = (input, Vec::new());
    while let [choice, length, tail @ ..] = rest {
        let (packet, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = tail;
        let frame = [&HEADERS[usize::from(choice & 1)], packet].concat();
        let (receiver, sender) = far.split();
        while receiver.peek().is_some() {
            receiver.release();
        }
        assert!(sender.room());
        sender.send(frame.len(), |room| room.copy_from_slice(&frame));
        sender.flush();
        stack.poll(Nanos::ZERO, &mut events).expect("a working ring");
        assert!(stack.connections() <= MAX_CONNECTIONS);
    }
});
