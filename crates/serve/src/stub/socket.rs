//! WebSockets of the stub: each message is a request, and its echo the answer.
//!
//! What is asked for by path, at the opening handshake:
//!
//! | path | an echo comes |
//! |---|---|
//! | `/trickle` | with every byte in a segment of its own |
//! | `/fragments` | in a frame for each byte, with pings between them |
//! | any other | in one frame |

use assay_http::RequestHead;
use assay_ws::{
    Assembly, Event, Fault as Breach, Kind, Limits, Opcode, Payload, Reader, Side, close, handshake, render,
};

use super::faults::{Fault, changed};
use super::shape::Cut;
use super::{BODY_BYTES, End};

/// One WebSocket.
pub(super) struct Socket {
    reader: Reader,
    assembly: Assembly,
    form: Form,
}

/// How echoes come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Trickle,
    Fragments,
}

/// What came on one.
pub(super) enum Heard {
    /// Nothing yet.
    More,
    /// Something that wants no answer.
    Passed,
    /// A message.
    Message(Message),
    /// What wants these bytes at once; the connection ends behind them or goes on.
    Reply(Vec<u8>, End),
}

/// A message to be given back.
pub(super) struct Message {
    kind: Kind,
    payload: Box<[u8]>,
    form: Form,
}

/// The answer to a request that asks for a WebSocket, and the socket.
pub(super) fn open(head: &RequestHead, bytes: &[u8]) -> Option<(String, Socket)> {
    let fields = head.fields(bytes).map(|field| (field.name, field.value));
    let accept = handshake::check_request(fields).ok()?;
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    let form = match head.target.of(bytes) {
        b"/trickle" => Form::Trickle,
        b"/fragments" => Form::Fragments,
        _ => Form::Plain,
    };
    let limits = Limits { message_bytes: BODY_BYTES, ..Limits::DEFAULT };
    let reader = Reader::new(Side::Client, limits);
    Some((answer, Socket { reader, assembly: Assembly::default(), form }))
}

impl Socket {
    /// Reads what comes next; with it, how many bytes are dealt with.
    pub(super) fn hear(&mut self, input: &[u8]) -> (usize, Heard) {
        let step = match self.reader.next(input) {
            Ok(step) => step,
            Err(breach) => return (input.len(), refused(breach)),
        };
        let heard = match step.event {
            None if step.consumed == 0 => Heard::More,
            None | Some(Event::Pong(_)) => Heard::Passed,
            Some(Event::Ping(payload)) => Heard::Reply(frame(Opcode::Pong, &unmasked(payload)), End::Keep),
            Some(Event::Close(code)) => Heard::Reply(farewell(code), End::Close),
            Some(Event::Data(data)) => match self.assembly.push(&data) {
                Err(breach) => refused(breach),
                Ok(None) => Heard::Passed,
                Ok(Some(whole)) => {
                    Heard::Message(Message { kind: data.kind, payload: whole.into(), form: self.form })
                }
            },
        };
        (step.consumed, heard)
    }
}

impl Message {
    /// The echo of the message, spoilt by `fault`, with what follows it.
    pub(super) fn echo(&self, fault: Fault) -> (Vec<u8>, Cut, End) {
        let cut = if self.form == Form::Trickle { Cut::Everywhere } else { Cut::Nowhere };
        let whole = match self.form {
            Form::Fragments => fragments(self.kind, &self.payload),
            Form::Plain | Form::Trickle => frame(self.kind.opcode(), &self.payload),
        };
        match fault {
            Fault::None | Fault::Never => (whole, cut, End::Keep),
            Fault::WrongByte => (frame(self.kind.opcode(), &changed(&self.payload)), cut, End::Keep),
            Fault::Status500 => (farewell(Some(close::INTERNAL)), cut, End::Close),
            Fault::ResetInBody => {
                (whole[..whole.len() - self.payload.len().div_ceil(2)].to_vec(), cut, End::Reset)
            }
        }
    }
}

fn refused(breach: Breach) -> Heard {
    Heard::Reply(farewell(Some(breach.close_code())), End::Close)
}

fn farewell(code: Option<u16>) -> Vec<u8> {
    frame(Opcode::Close, code.map(u16::to_be_bytes).as_ref().map_or(&[], |code| code.as_slice()))
}

fn frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    render::plain(opcode, payload, &mut bytes);
    bytes
}

fn unmasked(payload: Payload<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    payload.append_to(&mut bytes);
    bytes
}

/// A frame for each byte, behind each of them a ping, and at the end an empty frame.
fn fragments(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (i, byte) in payload.iter().enumerate() {
        let opcode = if i == 0 { kind.opcode() } else { Opcode::Continuation };
        render::header(opcode, false, None, 1, &mut bytes);
        bytes.push(*byte);
        render::plain(Opcode::Ping, b"", &mut bytes);
    }
    let opcode = if payload.is_empty() { kind.opcode() } else { Opcode::Continuation };
    render::header(opcode, true, None, 0, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let (mut reader, mut assembly) = (Reader::new(Side::Server, Limits::DEFAULT), Assembly::default());
        let mut messages = Vec::new();
        while !bytes.is_empty() {
            let step = reader.next(bytes).unwrap();
            if let Some(Event::Data(data)) = step.event {
                messages.extend(assembly.push(&data).unwrap().map(<[u8]>::to_vec));
            }
            bytes = &bytes[step.consumed..];
        }
        messages
    }

    #[test]
    fn every_form_of_an_echo_is_the_message_and_a_spoilt_one_is_not() {
        for payload in [&b""[..], b"x", "grüße".as_bytes()] {
            for form in [Form::Plain, Form::Trickle, Form::Fragments] {
                let message = Message { kind: Kind::Text, payload: payload.into(), form };
                assert_eq!(read(&message.echo(Fault::None).0), [payload]);
                assert_ne!(read(&message.echo(Fault::WrongByte).0), [payload]);
            }
        }
    }

    #[test]
    fn a_reset_leaves_a_part_of_the_echo() {
        let message = Message { kind: Kind::Binary, payload: (*b"12345").into(), form: Form::Plain };
        let (bytes, _, end) = message.echo(Fault::ResetInBody);
        assert_eq!((bytes.as_slice(), end), (&b"\x82\x0512"[..], End::Reset));
    }
}
