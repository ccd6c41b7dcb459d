//! WebSockets: the opening handshake, what is given back, and what ends a connection.

use assay_ws::{Mask, Opcode, render};

use super::*;

/// RFC 6455 §1.3.
const HANDSHAKE: &str = "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const SWITCHED: &str = "HTTP/1.1 101 Switching Protocols\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: assay\r\n\
    Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

fn frame(opcode: Opcode, is_final: bool, payload: &[u8]) -> Vec<u8> {
    let (mask, mut bytes) = (Mask::new([7, 0, 255, 1]), Vec::new());
    render::header(opcode, is_final, Some(mask), payload.len() as u64, &mut bytes);
    let start = bytes.len();
    bytes.extend_from_slice(payload);
    mask.apply(&mut bytes[start..]);
    bytes
}

fn answered(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    render::plain(opcode, payload, &mut bytes);
    bytes
}

fn opened(limits: Limits) -> Wire {
    let mut wire = Wire::new(limits);
    wire.deliver(HANDSHAKE.as_bytes());
    assert_eq!(wire.text(), SWITCHED);
    wire.sent.clear();
    wire
}

#[test]
fn messages_come_back_as_they_were_wherever_the_input_is_split() {
    let input = [
        HANDSHAKE.as_bytes().to_vec(),
        frame(Opcode::Text, true, "grüße".as_bytes()),
        frame(Opcode::Binary, true, &[0, 255, 0x81]),
        frame(Opcode::Text, false, &"ü".as_bytes()[..1]),
        frame(Opcode::Ping, true, b"still there?"),
        frame(Opcode::Continuation, true, &"ü".as_bytes()[1..]),
        frame(Opcode::Pong, true, b"unasked"),
        frame(Opcode::Binary, true, b""),
        frame(Opcode::Close, true, b"\x0b\xb8bye"),
    ]
    .concat();
    let right = [
        SWITCHED.as_bytes().to_vec(),
        answered(Opcode::Text, "grüße".as_bytes()),
        answered(Opcode::Binary, &[0, 255, 0x81]),
        answered(Opcode::Pong, b"still there?"),
        answered(Opcode::Text, "ü".as_bytes()),
        answered(Opcode::Binary, b""),
        answered(Opcode::Close, b"\x0b\xb8"),
    ]
    .concat();
    for piece in 1..=input.len() {
        let mut wire = Wire::new(Limits::default());
        input.chunks(piece).for_each(|piece| wire.deliver(piece));
        assert_eq!(wire.sent, right, "in pieces of {piece}");
        assert_eq!((wire.end, wire.site.messages, wire.site.refused), (Some(false), 4, 0));
    }
}

#[test]
fn long_messages_come_back_in_bounded_steps() {
    let long: Vec<u8> = (0..300_000u32).map(|n| n as u8).collect();
    for (parts, opcode) in [(1, Opcode::Binary), (7, Opcode::Binary)] {
        let mut wire = opened(Limits::default());
        let pieces: Vec<&[u8]> = long.chunks(long.len().div_ceil(parts)).collect();
        for (i, piece) in pieces.iter().enumerate() {
            let opcode = if i == 0 { opcode } else { Opcode::Continuation };
            wire.deliver(&frame(opcode, i + 1 == pieces.len(), piece));
        }
        assert_eq!(wire.sent, answered(opcode, &long));
        wire.sent.clear();
        wire.deliver(&frame(Opcode::Text, true, b"and on"));
        assert_eq!(wire.sent, answered(Opcode::Text, b"and on"));
    }
}

#[test]
fn what_breaks_the_protocol_is_closed_with_the_code_that_says_how() {
    for (input, code) in [
        (frame(Opcode::Text, true, b"a\xff"), 1007u16),
        (frame(Opcode::Continuation, true, b"x"), 1002),
        (vec![0xc1, 0x80], 1002),
        (vec![0x81, 0x05], 1002),
        (frame(Opcode::Binary, true, &[0; 101]), 1009),
        (frame(Opcode::Close, true, &[1]), 1002),
    ] {
        let mut wire = opened(Limits { message_bytes: 100, ..Limits::default() });
        wire.deliver(
            &[frame(Opcode::Binary, true, b"first"), input, frame(Opcode::Text, true, b"later")].concat(),
        );
        let right =
            [answered(Opcode::Binary, b"first"), answered(Opcode::Close, &code.to_be_bytes())].concat();
        assert_eq!(wire.sent, right);
        assert_eq!((wire.end, wire.site.refused), (Some(true), 1));
    }
}

#[test]
fn who_does_not_ask_for_it_is_told_what_the_path_speaks() {
    let plain = "GET /ws HTTP/1.1\r\nHost: h\r\n\r\n";
    let wire = exchange(&format!("{plain}{GET}"));
    assert_eq!(statuses(&wire.text()), [426, 200]);
    assert!(
        wire.text()
            .contains("\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n")
    );
    for (changed, to, status) in [
        ("Version: 13", "Version: 8", 426),
        ("Upgrade: websocket", "Upgrade: h2c", 426),
        ("Key: dGhl", "Key: ", 400),
        ("GET", "HEAD", 426),
        ("GET", "POST", 405),
        ("HTTP/1.1", "HTTP/1.0", 426),
        ("\r\n\r\n", "\r\nContent-Length: 1\r\n\r\nx", 400),
    ] {
        assert_eq!(outcome(&HANDSHAKE.replacen(changed, to, 1)).0, [status], "{to}");
    }
}

#[test]
fn time_and_the_servers_end_close_a_socket_with_going_away() {
    let limits = Limits::default();
    let mut wire = opened(limits);
    wire.now = Nanos(5);
    wire.deliver(&frame(Opcode::Ping, true, b""));
    assert_eq!(wire.session.deadline, Nanos(5) + limits.socket_idle);
    let farewell = answered(Opcode::Close, &1001u16.to_be_bytes());
    assert_eq!(wire.expire(false), Expiry::Refused);
    assert!(wire.sent.ends_with(&farewell) && wire.session.is_lingering());
    let mut wire = opened(limits);
    wire.session.make_last();
    wire.deliver(b"");
    assert_eq!((wire.sent, wire.end), (farewell, Some(true)));
}
