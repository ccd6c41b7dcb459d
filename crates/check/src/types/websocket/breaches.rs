//! What breaks the protocol, and has to end the connection (RFC 6455 §7.1.7).

use assay_ws::{CONTROL_BYTES_MAX, Opcode, close, render};

use super::socket::{Said, Socket, frame};
use crate::objection::Keeping;
use crate::site::Site;

/// Demands that these bytes end a connection.
fn fails(site: &Site, bytes: &[u8]) -> Keeping {
    let mut socket = Socket::open(site)?;
    socket.send(bytes)?;
    socket.is_failed().map(drop)
}

/// Every case keeps the rule; the first that does not is named.
fn each<C>(cases: impl IntoIterator<Item = (&'static str, C)>, keeps: impl Fn(&C) -> Keeping) -> Keeping {
    let mut cases = cases.into_iter();
    cases.try_for_each(|(name, case)| keeps(&case).map_err(|objection| objection.on(name)))
}

/// A frame whose first byte has these bits as well.
fn with_bits(bits: u8) -> Vec<u8> {
    let mut bytes = frame(Opcode::Text, true, b"reserved");
    bytes[0] |= bits;
    bytes
}

pub(super) fn mask(site: &Site) -> Keeping {
    let mut bytes = Vec::new();
    render::plain(Opcode::Text, b"no mask", &mut bytes);
    fails(site, &bytes)
}

pub(super) fn reserved_bits(site: &Site) -> Keeping {
    each([("RSV1", 0x40), ("RSV2", 0x20), ("RSV3", 0x10)], |bits| fails(site, &with_bits(*bits)))
}

pub(super) fn reserved_opcodes(site: &Site) -> Keeping {
    each([("opcode 3", 0x3), ("opcode 7", 0x7), ("opcode 11", 0xb), ("opcode 15", 0xf)], |opcode| {
        let mut bytes = frame(Opcode::Text, true, b"reserved");
        bytes[0] = 0x80 | opcode;
        fails(site, &bytes)
    })
}

pub(super) fn long_control(site: &Site) -> Keeping {
    fails(site, &frame(Opcode::Ping, true, &[b'x'; CONTROL_BYTES_MAX + 1]))
}

pub(super) fn fragmented_control(site: &Site) -> Keeping {
    fails(site, &frame(Opcode::Ping, false, b"to be continued"))
}

pub(super) fn continuation(site: &Site) -> Keeping {
    fails(site, &frame(Opcode::Continuation, true, b"of nothing"))
}

pub(super) fn interleaved(site: &Site) -> Keeping {
    fails(site, &[frame(Opcode::Text, false, b"begun"), frame(Opcode::Text, true, b"inside")].concat())
}

pub(super) fn highest_length(site: &Site) -> Keeping {
    fails(site, &[&[0x82, 0xff][..], &(1u64 << 63).to_be_bytes(), &[0; 4]].concat())
}

pub(super) fn longer_length(site: &Site) -> Keeping {
    let in_eight = [&[0x81, 0xff][..], &1u64.to_be_bytes()].concat();
    each([("in two bytes", vec![0x81, 0xfe, 0, 1]), ("in eight bytes", in_eight)], |head| {
        fails(site, &[head, &[0; 4][..], b"x"].concat())
    })
}

pub(super) fn not_utf8(site: &Site) -> Keeping {
    let cases: [(&str, &[u8]); 5] = [
        ("a byte that is never right", b"\xff"),
        ("a longer form than the shortest", b"\xc0\xaf"),
        ("a surrogate", b"\xed\xa0\x80"),
        ("beyond the last character", b"\xf4\x90\x80\x80"),
        ("a character that is cut short", b"\xe2\x82"),
    ];
    each(cases, |bytes| fails(site, &frame(Opcode::Text, true, bytes)))
}

pub(super) fn not_utf8_in_fragments(site: &Site) -> Keeping {
    fails(
        site,
        &[frame(Opcode::Text, false, "ß".as_bytes()), frame(Opcode::Continuation, true, b"\xc3")].concat(),
    )
}

pub(super) fn short_close(site: &Site) -> Keeping {
    let mut socket = Socket::open(site)?;
    socket.send(&frame(Opcode::Close, true, b"\x03"))?;
    match socket.is_failed()? {
        Some(close::NORMAL | close::GOING_AWAY) => Err(socket.fault("it is taken for an ordinary end")),
        _ => Ok(()),
    }
}

pub(super) fn forbidden_codes(site: &Site) -> Keeping {
    let cases = [("0", 0u16), ("999", 999), ("1004", 1004), ("1005", 1005), ("1006", 1006), ("1015", 1015)];
    each(cases, |code| {
        let mut socket = Socket::open(site)?;
        socket.send(&frame(Opcode::Close, true, &code.to_be_bytes()))?;
        // A close frame that repeats it breaks the protocol, which the reader finds.
        match socket.next_but_pings()? {
            Said::Close(_) | Said::End => Ok(()),
            said => Err(socket.fault(&format!("{} instead of the end", said.in_words()))),
        }
    })
}

pub(super) fn says_why(site: &Site) -> Keeping {
    let cases = [
        ("a reserved bit", (with_bits(0x40), close::PROTOCOL_ERROR)),
        ("a continuation of nothing", (frame(Opcode::Continuation, true, b"x"), close::PROTOCOL_ERROR)),
        ("no UTF-8", (frame(Opcode::Text, true, b"\xff"), close::INVALID_DATA)),
    ];
    each(cases, |(bytes, right)| {
        let mut socket = Socket::open(site)?;
        socket.send(bytes)?;
        match socket.is_failed()? {
            Some(code) if code == *right => Ok(()),
            Some(code) => Err(socket.fault(&format!("code {code} instead of {right}"))),
            None => Err(socket.fault("it does not say why")),
        }
    })
}
