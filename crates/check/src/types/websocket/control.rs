//! Pings and pongs (RFC 6455 §5.5.2 and §5.5.3).

use assay_ws::{CONTROL_BYTES_MAX, Kind, Opcode};

use super::socket::{Said, Socket, frame};
use crate::objection::Keeping;
use crate::site::Site;

/// Pings in a row.
const SEVERAL: u8 = 10;

fn ping(socket: &mut Socket, payload: &[u8]) -> Keeping {
    socket.send(&frame(Opcode::Ping, true, payload))?;
    socket.hears_pong(payload)
}

pub(super) fn answered(site: &Site) -> Keeping {
    let mut socket = Socket::open(site)?;
    ping(&mut socket, b"still there?")?;
    ping(&mut socket, b"")?;
    ping(&mut socket, &[0, 255, 128])
}

pub(super) fn longest(site: &Site) -> Keeping {
    ping(&mut Socket::open(site)?, &[b'x'; CONTROL_BYTES_MAX])
}

pub(super) fn inside(site: &Site) -> Keeping {
    let mut socket = Socket::open(site)?;
    socket.send(&frame(Opcode::Text, false, b"begun "))?;
    ping(&mut socket, b"between")?;
    socket.send(&frame(Opcode::Continuation, true, b"and ended"))?;
    socket.hears(Kind::Text, b"begun and ended")
}

/// A server may answer the last of several alone.
pub(super) fn several(site: &Site) -> Keeping {
    let mut socket = Socket::open(site)?;
    let pings: Vec<u8> = (0..SEVERAL).flat_map(|n| frame(Opcode::Ping, true, &[b'a' + n])).collect();
    socket.send(&pings)?;
    let (last, deadline) = (b'a' + SEVERAL - 1, socket.deadline());
    loop {
        match socket.next(deadline)? {
            Said::Pong(payload) if payload == [last] => break,
            Said::Pong(payload) if matches!(payload.as_slice(), [first] if (b'a'..last).contains(first)) => {}
            said => return Err(socket.fault(&format!("{} instead of pongs", said.in_words()))),
        }
    }
    socket.echoes(Kind::Text, b"on we go")
}

pub(super) fn pong(site: &Site) -> Keeping {
    let mut socket = Socket::open(site)?;
    socket.send(&frame(Opcode::Pong, true, b"unasked"))?;
    socket.echoes(Kind::Text, b"on we go")
}
