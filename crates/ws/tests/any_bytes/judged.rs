//! Our frames and tungstenite's: each reads what the other writes, and both refuse the same.

use std::io::{Cursor, Read, Write};

use assay_ws::{Assembly, Event, Kind, Limits, Mask, Opcode, Reader, Side, render};
use proptest::prelude::*;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Message, WebSocket};

/// Bytes to read, and a place for what is written.
struct Pipe {
    input: Cursor<Vec<u8>>,
    output: Vec<u8>,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.input.read(buffer)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn theirs(role: Role, input: Vec<u8>) -> WebSocket<Pipe> {
    let pipe = Pipe { input: Cursor::new(input), output: Vec::new() };
    WebSocket::from_raw_socket(pipe, role, Some(WebSocketConfig::default()))
}

/// Messages until the end of the input, a fault or a close frame; and whether there was a fault.
fn read_by_them(role: Role, input: &[u8]) -> (Vec<(Kind, Vec<u8>)>, bool) {
    let mut socket = theirs(role, input.to_vec());
    let mut messages = Vec::new();
    loop {
        match socket.read() {
            Ok(Message::Text(text)) => messages.push((Kind::Text, text.as_bytes().to_vec())),
            Ok(Message::Binary(bytes)) => messages.push((Kind::Binary, bytes.to_vec())),
            Ok(Message::Close(_)) => return (messages, false),
            Ok(_) => {}
            Err(tungstenite::Error::Protocol(
                tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
            )) => {
                return (messages, false);
            }
            Err(tungstenite::Error::Io(_)) => return (messages, false),
            Err(_) => return (messages, true),
        }
    }
}

fn read_by_us(from: Side, mut input: &[u8]) -> (Vec<(Kind, Vec<u8>)>, bool) {
    let (mut reader, mut assembly, mut messages) =
        (Reader::new(from, Limits::DEFAULT), Assembly::default(), Vec::new());
    loop {
        let Ok(step) = reader.next(input) else { return (messages, true) };
        match step.event {
            Some(Event::Data(data)) => match assembly.push(&data) {
                Ok(Some(message)) => messages.push((data.kind, message.to_vec())),
                Ok(None) => {}
                Err(_) => return (messages, true),
            },
            Some(Event::Close(_)) => return (messages, false),
            None if step.consumed == 0 => return (messages, false),
            _ => {}
        }
        input = &input[step.consumed..];
    }
}

#[derive(Clone, Debug)]
struct Sent {
    kind: Kind,
    payload: Vec<u8>,
    /// Where it is cut into frames.
    cuts: Vec<usize>,
    mask: [u8; 4],
    ping: bool,
}

fn sent() -> impl Strategy<Value = Sent> {
    let text = "\\PC{0,40}".prop_map(|text| (Kind::Text, text.into_bytes()));
    let binary = proptest::collection::vec(any::<u8>(), 0..300).prop_map(|bytes| (Kind::Binary, bytes));
    let cuts = proptest::collection::vec(0usize..300, 0..3);
    (prop_oneof![text, binary], cuts, any::<[u8; 4]>(), any::<bool>())
        .prop_map(|((kind, payload), cuts, mask, ping)| Sent { kind, payload, cuts, mask, ping })
}

fn rendered(sent: &[Sent], is_client: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for Sent { kind, payload, cuts, mask, ping } in sent {
        let mask = is_client.then(|| Mask::new(*mask));
        let mut ends: Vec<usize> = cuts.iter().map(|&cut| cut.min(payload.len())).collect();
        ends.sort_unstable();
        ends.push(payload.len());
        let mut from = 0;
        for (i, &end) in ends.iter().enumerate() {
            let opcode = if i == 0 { kind.opcode() } else { Opcode::Continuation };
            let part = &payload[from..end];
            render::header(opcode, i + 1 == ends.len(), mask, part.len() as u64, &mut out);
            let start = out.len();
            out.extend_from_slice(part);
            mask.unwrap_or_default().apply(&mut out[start..]);
            if *ping {
                render::header(Opcode::Ping, true, mask, 0, &mut out);
            }
            from = end;
        }
    }
    out
}

fn pairs(sent: &[Sent]) -> Vec<(Kind, Vec<u8>)> {
    sent.iter().map(|sent| (sent.kind, sent.payload.clone())).collect()
}

proptest! {
    #[test]
    fn they_read_what_we_write(sent in proptest::collection::vec(sent(), 0..5)) {
        prop_assert_eq!(read_by_them(Role::Server, &rendered(&sent, true)), (pairs(&sent), false));
        prop_assert_eq!(read_by_them(Role::Client, &rendered(&sent, false)), (pairs(&sent), false));
    }

    #[test]
    fn we_read_what_they_write(sent in proptest::collection::vec(sent(), 0..5)) {
        for (role, from) in [(Role::Client, Side::Client), (Role::Server, Side::Server)] {
            let mut socket = theirs(role, Vec::new());
            for Sent { kind, payload, .. } in &sent {
                let message = match kind {
                    Kind::Text => Message::text(String::from_utf8(payload.clone()).unwrap()),
                    Kind::Binary => Message::binary(payload.clone()),
                };
                socket.send(message).unwrap();
            }
            prop_assert_eq!(read_by_us(from, &socket.get_ref().output), (pairs(&sent), false));
        }
    }

    /// One byte is changed; what comes of it is the same for both. Where they are laxer than the standard is listed.
    #[test]
    fn we_refuse_what_they_refuse(sent in proptest::collection::vec(sent(), 1..4), at: prop::sample::Index, bit in 0u8..8) {
        let mut bytes = rendered(&sent, true);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let (ours, theirs) = (read_by_us(Side::Client, &bytes), read_by_them(Role::Server, &bytes));
        prop_assert!(ours == theirs || ours.1, "ours {:?}, theirs {:?}", ours, theirs);
    }
}
