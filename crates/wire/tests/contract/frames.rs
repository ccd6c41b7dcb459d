//! Frames that tell where they belong and whether a byte of them has changed.

use std::time::{Duration, Instant};

use assay_model::units::Nanos;
use assay_wire::{ETHERNET_HEADER_BYTES, Receiver as _, Sender as _, Wire};

/// For local experiments (IEEE 802, table of EtherTypes): no kernel answers it, and its own frames are not it.
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];
/// Shortest of these frames: header and number.
pub(crate) const SHORTEST: usize = ETHERNET_HEADER_BYTES + 8;
/// Longest time that anything here may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Sends the frame with that number, if there is room.
pub(crate) fn send<W: Wire>(wire: &mut W, number: u64, length: usize) -> bool {
    let (_, sender) = wire.split();
    sender.room() && {
        sender.send(length, |frame| write(frame, number));
        true
    }
}

/// Sends the frame with that number, with room or after waiting for it.
pub(crate) fn send_surely<W: Wire>(wire: &mut W, number: u64, length: usize) {
    let deadline = Instant::now() + PATIENCE;
    while !send(wire, number, length) {
        assert!(Instant::now() < deadline, "no room for frame {number}");
        wire.wait(Nanos::from_millis(10)).expect("an intact wire");
    }
}

pub(crate) fn flush<W: Wire>(wire: &mut W) {
    wire.split().1.flush();
}

/// The number and length of the next of our frames that is there now. Panics when a byte has changed.
pub(crate) fn receive<W: Wire>(wire: &mut W) -> Option<(u64, usize)> {
    loop {
        let (receiver, _) = wire.split();
        let frame = receiver.peek()?;
        let found = (frame.get(12..14) == Some(&ETHERTYPE)).then(|| read(frame));
        receiver.release();
        if found.is_some() {
            return found;
        }
    }
}

/// Receives a frame, waiting for it.
pub(crate) fn receive_surely<W: Wire>(wire: &mut W) -> (u64, usize) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = receive(wire) {
            return found;
        }
        assert!(Instant::now() < deadline, "no frame came");
        wire.wait(Nanos::from_millis(10)).expect("an intact wire");
    }
}

fn write(frame: &mut [u8], number: u64) {
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&ETHERTYPE);
    frame[14..SHORTEST].copy_from_slice(&number.to_be_bytes());
    for (place, byte) in frame[SHORTEST..].iter_mut().enumerate() {
        *byte = pattern(number, place);
    }
}

fn read(frame: &[u8]) -> (u64, usize) {
    let number = u64::from_be_bytes(frame[14..SHORTEST].try_into().expect("eight bytes"));
    let changed =
        frame[SHORTEST..].iter().enumerate().position(|(place, byte)| *byte != pattern(number, place));
    assert_eq!(changed, None, "frame {number} has another byte there");
    (number, frame.len())
}

fn pattern(number: u64, place: usize) -> u8 {
    (number as usize).wrapping_mul(31).wrapping_add(place) as u8
}
