//! Frames of a WebSocket: the same wherever they are cut, and nothing is taken that an independent reader refuses.

use std::io::{Cursor, Read, Write};

use assay_ws::{Assembly, Event, Kind, Limits, Reader, Side};
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

/// Messages, and whether a fault ended them.
type Told = (Vec<(Kind, Vec<u8>)>, bool);

/// Bytes to read; what is written is dropped.
struct Input(Cursor<Vec<u8>>);

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Input {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn ours(parts: &[&[u8]]) -> Told {
    let (mut reader, mut assembly) = (Reader::new(Side::Client, Limits::DEFAULT), Assembly::default());
    let (mut messages, mut kept) = (Vec::new(), Vec::new());
    for part in parts {
        kept.extend_from_slice(part);
        loop {
            let Ok(step) = reader.next(&kept) else { return (messages, true) };
            match step.event {
                Some(Event::Data(data)) => match assembly.push(&data) {
                    Ok(whole) => messages.extend(whole.map(|message| (data.kind, message.to_vec()))),
                    Err(_) => return (messages, true),
                },
                Some(Event::Close(_)) => return (messages, false),
                None if step.consumed == 0 => break,
                _ => {}
            }
            kept.drain(..step.consumed);
        }
    }
    (messages, false)
}

fn theirs(bytes: &[u8]) -> Told {
    let mut socket = WebSocket::from_raw_socket(Input(Cursor::new(bytes.to_vec())), Role::Server, None);
    let mut messages = Vec::new();
    loop {
        match socket.read() {
            Ok(Message::Text(text)) => messages.push((Kind::Text, text.as_bytes().to_vec())),
            Ok(Message::Binary(bytes)) => messages.push((Kind::Binary, bytes.to_vec())),
            Ok(Message::Close(_)) => return (messages, false),
            Ok(_) => {}
            Err(tungstenite::Error::Protocol(
                tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
            )) => return (messages, false),
            Err(_) => return (messages, true),
        }
    }
}

/// Tries an input, whose first byte says where the rest is cut.
pub(crate) fn check(input: &[u8]) {
    let Some((cut, bytes)) = input.split_first() else { return };
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let whole = ours(&[bytes]);
    assert_eq!(ours(&[first, second]), whole, "however it is cut");
    let judged = theirs(bytes);
    // Theirs takes lengths in longer forms than the shortest, and messages longer than ours.
    assert!(whole == judged || whole.1, "ours {whole:?}, theirs {judged:?}");
}
