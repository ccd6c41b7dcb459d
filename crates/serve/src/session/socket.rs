//! A connection that has become a WebSocket: each message goes back as it came (RFC 6455).

use assay_http::{Framing, RequestHead, Version};
use assay_ws::handshake::{self, Refusal};
use assay_ws::{Assembly, CONTROL_BYTES_MAX, Data, Event, Fault, Kind, Opcode, Reader, Side, close, render};

use super::{Context, Next, Phase, Reply, Session, Turn};
use crate::answer::Answer;
use crate::connection::Persistence;
use crate::site::STEP_BYTES;

/// Longest head of a frame that a server sends.
const HEADER_BYTES: usize = 10;
/// What must be free in a step before more is read: a control frame with its head.
const LEAST_ROOM: usize = HEADER_BYTES + CONTROL_BYTES_MAX;

/// The answer to a client that does not ask for a WebSocket.
const DECLINED: &str = "426 this path speaks WebSocket, version 13\n";

/// A WebSocket.
#[derive(Debug)]
pub(crate) struct Socket {
    reader: Reader,
    /// A message that does not come, or does not leave, in one piece.
    assembly: Assembly,
    /// How much of that message has left, once it is whole.
    leaving: Option<usize>,
}

/// What came of one frame, or of a part of one.
enum Heard {
    /// Nothing until more bytes come; so many are dealt with.
    More(usize),
    /// Bytes that were something; there may be more.
    Something(usize),
    /// The peer ends the connection.
    Close(usize, Option<u16>),
}

impl Session {
    /// Answers the opening handshake.
    #[cold]
    pub(crate) fn upgrade(
        &mut self,
        head: &RequestHead,
        input: &[u8],
        reply: Reply,
        more: bool,
        cx: &mut Context<'_>,
    ) -> Turn {
        let asked = match head.version {
            Version::Http11 if !reply.head_only => {
                handshake::check_request(head.fields(input).map(|field| (field.name, field.value)))
            }
            _ => Err(Refusal::NotAsked),
        };
        match asked {
            Ok(accept) => self.open_socket(&accept, cx),
            Err(Refusal::BadKey) => self.refuse(Answer::BadRequest, reply.head_only, cx),
            Err(Refusal::NotAsked | Refusal::Version) => self.decline(reply, more, cx),
        }
    }

    fn open_socket(&mut self, accept: &str, cx: &mut Context<'_>) -> Turn {
        let fields = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)];
        let announced = cx.site.append_head(101, &fields, Framing::None, Persistence::Assumed, cx.out);
        if announced.is_err() {
            return self.fail(cx);
        }
        self.phase = Phase::Socket(Box::new(Socket::new(cx.site.limits.message_bytes)));
        Turn::go_on(0)
    }

    /// Says what this path speaks (RFC 9110 §15.5.22, RFC 6455 §4.4).
    fn decline(&mut self, reply: Reply, more: bool, cx: &mut Context<'_>) -> Turn {
        let fields = [
            ("Content-Type", "text/plain"),
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Version", handshake::VERSION),
        ];
        let framing = Framing::Length(DECLINED.len() as u64);
        if cx.site.append_head(426, &fields, framing, reply.persistence, cx.out).is_err() {
            return self.fail(cx);
        }
        if !reply.head_only {
            cx.out.extend_from_slice(DECLINED.as_bytes());
        }
        self.finish(reply.persistence, more)
    }

    /// Takes what was said, and gives it back.
    #[inline]
    pub(crate) fn talk(&mut self, input: &[u8], cx: &mut Context<'_>) -> Turn {
        let Phase::Socket(socket) = &mut self.phase else { return Turn::go_on(0) };
        if !socket.send_on(cx.out) || cx.out.len() + LEAST_ROOM > STEP_BYTES {
            return Turn::stop(0, Next::Continue);
        }
        if self.last {
            return self.say_farewell(Some(close::GOING_AWAY), true, cx);
        }
        match socket.hear(input, cx) {
            Ok(Heard::Something(consumed)) => Turn::go_on(consumed),
            Ok(Heard::More(consumed)) => {
                self.deadline = cx.now + cx.site.limits.socket_idle;
                Turn::stop(consumed, Next::Receive)
            }
            Ok(Heard::Close(consumed, code)) => self.say_farewell(code, false, cx).after(consumed),
            Err(fault) => {
                cx.site.refused += 1;
                self.say_farewell(Some(fault.close_code()), true, cx).after(input.len())
            }
        }
    }

    /// Sends a close frame, behind which nothing is heard any more. `linger` where the peer may still be talking.
    #[cold]
    pub(crate) fn say_farewell(&mut self, code: Option<u16>, linger: bool, cx: &mut Context<'_>) -> Turn {
        let payload = code.map(u16::to_be_bytes);
        render::plain(Opcode::Close, payload.as_ref().map_or(&[], |code| code.as_slice()), cx.out);
        self.phase = Phase::Lingering;
        Turn::stop(0, Next::End { linger })
    }
}

impl Socket {
    fn new(message_bytes: u64) -> Self {
        let limits = assay_ws::Limits { message_bytes, ..assay_ws::Limits::DEFAULT };
        Self { reader: Reader::new(Side::Client, limits), assembly: Assembly::default(), leaving: None }
    }

    #[inline]
    fn hear(&mut self, input: &[u8], cx: &mut Context<'_>) -> Result<Heard, Fault> {
        let step = self.reader.next(input)?;
        match step.event {
            None if step.consumed == input.len() || step.consumed == 0 => {
                return Ok(Heard::More(step.consumed));
            }
            None | Some(Event::Pong(_)) => {}
            Some(Event::Data(data)) => self.echo(&data, cx)?,
            Some(Event::Ping(payload)) => {
                render::header(Opcode::Pong, true, None, payload.len() as u64, cx.out);
                payload.append_to(cx.out);
            }
            Some(Event::Close(code)) => return Ok(Heard::Close(step.consumed, code)),
        }
        Ok(Heard::Something(step.consumed))
    }

    /// A message that came whole and for which there is room is copied once; any other is put together first.
    #[inline]
    fn echo(&mut self, data: &Data<'_>, cx: &mut Context<'_>) -> Result<(), Fault> {
        let is_whole = data.is_first && data.is_last;
        if !is_whole || cx.out.len() + HEADER_BYTES + data.payload.len() > STEP_BYTES {
            if self.assembly.push(data)?.is_some() {
                self.begin_to_leave(data.kind, cx);
            }
            return Ok(());
        }
        cx.site.messages += 1;
        let before = cx.out.len();
        render::header(data.kind.opcode(), true, None, data.payload.len() as u64, cx.out);
        let start = cx.out.len();
        data.payload.append_to(cx.out);
        if data.kind == Kind::Text && std::str::from_utf8(&cx.out[start..]).is_err() {
            cx.out.truncate(before);
            return Err(Fault::NotUtf8);
        }
        Ok(())
    }

    fn begin_to_leave(&mut self, kind: Kind, cx: &mut Context<'_>) {
        cx.site.messages += 1;
        // There is room for it, or nothing would have been heard.
        render::header(kind.opcode(), true, None, self.assembly.bytes().len() as u64, cx.out);
        self.leaving = Some(0);
    }

    /// Sends as much as there is room for of a message that was put together; says whether all of it has left.
    #[inline]
    fn send_on(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(sent) = self.leaving else { return true };
        let rest = &self.assembly.bytes()[sent..];
        let piece = rest.len().min(STEP_BYTES.saturating_sub(out.len()));
        out.extend_from_slice(&rest[..piece]);
        self.leaving = (piece < rest.len()).then_some(sent + piece);
        self.leaving.is_none()
    }
}
