//! What both ends of a connection do alike: frames in order, settings, pings, header blocks put together, the connection's own
//! windows, and limits. Whose streams there are, and what they carry, is its user's business.

use std::borrow::Cow;

use crate::error::{Code, ConnectionError, broken, exceeded};
use crate::frame::{
    FRAME_BYTES, HEAD_BYTES, Head, Kind, MAX_31, PREFACE, flag, write_go_away, write_head, write_ping,
    write_window_update,
};
use crate::hpack::Decoder;
use crate::limits::Limits;
use crate::settings::Settings;

/// The end of the connection that this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The side that asks.
    Client,
    /// The side that answers.
    Server,
}

/// One end of a connection, without its streams.
#[derive(Debug)]
pub struct Connection {
    role: Role,
    limits: Limits,
    decoder: Decoder,
    /// What the peer takes.
    theirs: Settings,
    /// Bytes of the client's preface that are still to come.
    preface_left: usize,
    /// Whether the peer's first SETTINGS has come.
    has_begun: bool,
    /// A header block that has not ended.
    assembly: Option<Assembly>,
    /// Bytes of body that may be sent.
    send_window: i64,
    /// Bytes of body that the peer may send, as far as it knows.
    receive_window: i64,
    /// Bytes that came and were taken, of which it has not been told.
    taken: u32,
    idle_frames: u32,
    /// Answers that were asked for since nothing waited to be sent.
    owed_frames: u32,
    resets: u32,
    /// Frames that wait to be sent, in order.
    out: Vec<u8>,
}

#[derive(Debug)]
struct Assembly {
    stream: u32,
    end_stream: bool,
    frames: u32,
    block: Vec<u8>,
}

/// What a frame came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'i> {
    /// The head or the trailers of a stream; its block must be [decoded](Connection::decode), whatever becomes of the stream.
    Fields {
        /// The stream.
        stream: u32,
        /// Whether nothing follows.
        end_stream: bool,
        /// The fields, compressed.
        block: Cow<'i, [u8]>,
    },
    /// A part of a stream's body.
    Data {
        /// The stream.
        stream: u32,
        /// The bytes.
        data: &'i [u8],
        /// What it counts for in the windows, its padding included; to be [released](Connection::release) when it is dealt with.
        counted: u32,
        /// Whether nothing follows.
        end_stream: bool,
    },
    /// The peer has ended a stream out of turn.
    Reset {
        /// The stream.
        stream: u32,
        /// The reason, as a code.
        code: Code,
    },
    /// More of a stream's body may be sent; of the connection's where the stream is 0.
    Window {
        /// The stream.
        stream: u32,
        /// Bytes more.
        increment: u32,
    },
    /// The peer has changed its settings: the windows of all streams grow by so much, or shrink.
    Settings {
        /// Bytes more.
        window_change: i64,
    },
    /// The peer takes no more streams; those above `last` it has not looked at.
    GoAway {
        /// The last stream that it may have dealt with.
        last: u32,
        /// The reason, as a code.
        code: Code,
    },
    /// A stream, and only that, cannot go on: it is to be reset.
    Spoilt {
        /// The stream.
        stream: u32,
        /// With which code.
        code: Code,
    },
    /// Nothing that concerns a stream.
    Nothing {
        /// The stream that the frame named, of which a server must know whether it was ever opened.
        stream: u32,
    },
}

impl Connection {
    /// A connection that is established; what is said first waits to be sent. `ours` is what we take.
    pub fn new(role: Role, ours: &Settings, connection_window: u32, limits: Limits) -> Self {
        let usual = Settings::default().initial_window;
        let window = connection_window.clamp(usual, MAX_31);
        let mut out = Vec::with_capacity(128);
        if role == Role::Client {
            out.extend_from_slice(PREFACE);
        }
        ours.write(&mut out);
        if window > usual {
            write_window_update(0, window - usual, &mut out);
        }
        Self {
            role,
            limits,
            decoder: Decoder::new(ours.header_table_bytes as usize),
            theirs: Settings::default(),
            preface_left: if role == Role::Server { PREFACE.len() } else { 0 },
            has_begun: false,
            assembly: None,
            send_window: i64::from(usual),
            receive_window: i64::from(window),
            taken: 0,
            idle_frames: 0,
            owed_frames: 0,
            resets: 0,
            out,
        }
    }

    /// Frames that wait to be sent, in order. Its user adds its own, and empties it.
    #[inline]
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Whether nothing waits to be sent.
    #[inline]
    pub fn is_flushed(&self) -> bool {
        self.out.is_empty()
    }

    /// What the peer takes.
    #[inline]
    pub fn theirs(&self) -> &Settings {
        &self.theirs
    }

    /// Whether the peer's settings have come.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Reads one frame at the start of `input`; returns its length and what it came to, or nothing when it is not there whole.
    /// A frame of 16 KiB at most is looked at in one piece.
    ///
    /// # Errors
    /// The connection cannot go on, and the GOAWAY is to be sent that says why.
    #[inline]
    pub fn read<'i>(&mut self, input: &'i [u8]) -> Result<Option<(usize, Event<'i>)>, ConnectionError> {
        if self.preface_left > 0 {
            return self.read_preface(input);
        }
        let Some(head) = Head::read(input) else { return Ok(None) };
        self.check_order(&head)?;
        let Some(payload) = input[HEAD_BYTES..].get(..head.len) else { return Ok(None) };
        let event = self.take(&head, payload)?;
        Ok(Some((HEAD_BYTES + head.len, event)))
    }

    /// Tells the fields of a block; returns whether the list is no longer than its limit.
    ///
    /// # Errors
    /// The connection cannot go on.
    pub fn decode(&mut self, block: &[u8], tell: impl FnMut(&[u8], &[u8])) -> Result<bool, ConnectionError> {
        let most = self.limits.list_bytes;
        Ok(self.decoder.decode(block, most, tell)? <= most)
    }

    /// A number that changes with the decoder's table: equal blocks mean equal fields while it stays the same.
    #[inline]
    pub fn table_version(&self) -> u64 {
        self.decoder.version()
    }

    /// Bytes of body that may be sent on the connection.
    #[inline]
    pub fn send_window(&self) -> i64 {
        self.send_window
    }

    /// Takes `bytes` of body that were sent from the peer's window.
    #[inline]
    pub fn spend(&mut self, bytes: usize) {
        self.send_window -= bytes as i64;
        self.idle_frames = 0;
    }

    /// Takes note that `counted` bytes are dealt with; the peer is told of them in large portions.
    #[inline]
    pub fn release(&mut self, counted: u32) {
        self.taken += counted;
        if i64::from(self.taken) >= self.receive_window.max(32_768) {
            write_window_update(0, self.taken, &mut self.out);
            self.receive_window += i64::from(self.taken);
            self.taken = 0;
        }
    }

    /// A stream was answered to its end.
    #[inline]
    pub fn answered(&mut self) {
        self.resets = self.resets.saturating_sub(1);
        self.idle_frames = 0;
    }

    /// A stream of ours came to an end without an answer: the frame that said so was of use.
    #[inline]
    pub fn ended(&mut self) {
        self.idle_frames = 0;
    }

    /// The connection is to end; streams above `last` were not looked at.
    pub fn go_away(&mut self, last: u32, code: Code) {
        write_go_away(last, code.number(), &mut self.out);
    }

    /// RFC 9113 §3.4: a client begins with a text that no server of HTTP/1.1 would take for a request.
    fn read_preface<'i>(&mut self, input: &'i [u8]) -> Result<Option<(usize, Event<'i>)>, ConnectionError> {
        let expected = &PREFACE[PREFACE.len() - self.preface_left..];
        let n = input.len().min(expected.len());
        if input[..n] != expected[..n] {
            return Err(broken(
                Code::ProtocolError,
                "the connection does not begin with the client's preface",
            ));
        }
        self.preface_left -= n;
        Ok((n > 0).then_some((n, Event::Nothing { stream: 0 })))
    }

    /// What can be wrong with a frame before its payload has come.
    #[inline]
    fn check_order(&self, head: &Head) -> Result<(), ConnectionError> {
        if !self.has_begun && (head.kind != Kind::Settings || head.has(flag::ACK)) {
            return Err(broken(Code::ProtocolError, "the first frame is no SETTINGS"));
        }
        if head.len > FRAME_BYTES {
            return Err(broken(Code::FrameSizeError, "a frame is longer than MAX_FRAME_SIZE"));
        }
        match &self.assembly {
            Some(assembly) if head.kind != Kind::Continuation || head.stream != assembly.stream => {
                Err(broken(Code::ProtocolError, "a header block is interrupted by another frame"))
            }
            None if head.kind == Kind::Continuation => {
                Err(broken(Code::ProtocolError, "a CONTINUATION continues nothing"))
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn take<'i>(&mut self, head: &Head, payload: &'i [u8]) -> Result<Event<'i>, ConnectionError> {
        match head.kind {
            Kind::Data => self.take_data(head, payload),
            Kind::Headers => self.take_headers(head, payload),
            Kind::Continuation => self.take_continuation(head, payload),
            _ => {
                self.count_idle()?;
                let event = self.take_control(head, payload)?;
                if matches!(event, Event::Spoilt { .. }) {
                    self.owe()?;
                }
                Ok(event)
            }
        }
    }

    #[inline]
    fn take_data<'i>(&mut self, head: &Head, payload: &'i [u8]) -> Result<Event<'i>, ConnectionError> {
        if head.stream == 0 {
            return Err(broken(Code::ProtocolError, "DATA on stream 0"));
        }
        // No more than FRAME_BYTES.
        let counted = payload.len() as u32;
        self.receive_window -= i64::from(counted);
        if self.receive_window < 0 {
            return Err(broken(Code::FlowControlError, "DATA beyond the connection's window"));
        }
        let (data, end_stream) = (unpadded(head, payload)?, head.has(flag::END_STREAM));
        if data.is_empty() && !end_stream {
            self.count_idle()?;
        } else {
            self.idle_frames = 0;
        }
        Ok(Event::Data { stream: head.stream, data, counted, end_stream })
    }

    #[inline]
    fn take_headers<'i>(&mut self, head: &Head, payload: &'i [u8]) -> Result<Event<'i>, ConnectionError> {
        if head.stream == 0 {
            return Err(broken(Code::ProtocolError, "HEADERS on stream 0"));
        }
        self.idle_frames = 0;
        let mut block = unpadded(head, payload)?;
        if head.has(flag::PRIORITY) {
            let (priority, rest) = block
                .split_first_chunk::<5>()
                .ok_or(broken(Code::FrameSizeError, "HEADERS without room for their priority"))?;
            if depends_on(priority) == head.stream {
                return Err(broken(Code::ProtocolError, "a stream depends on itself"));
            }
            block = rest;
        }
        let (stream, end_stream) = (head.stream, head.has(flag::END_STREAM));
        if head.has(flag::END_HEADERS) {
            return Ok(Event::Fields { stream, end_stream, block: Cow::Borrowed(block) });
        }
        self.assembly = Some(Assembly { stream, end_stream, frames: 1, block: block.to_vec() });
        Ok(Event::Nothing { stream: 0 })
    }

    #[cold]
    fn take_continuation<'i>(
        &mut self,
        head: &Head,
        payload: &'i [u8],
    ) -> Result<Event<'i>, ConnectionError> {
        let Some(mut assembly) = self.assembly.take() else { return Ok(Event::Nothing { stream: 0 }) };
        assembly.frames += 1;
        assembly.block.extend_from_slice(payload);
        if assembly.frames > self.limits.block_frames {
            return Err(exceeded("block_frames"));
        }
        if assembly.block.len() > self.limits.block_bytes {
            return Err(exceeded("block_bytes"));
        }
        if head.has(flag::END_HEADERS) {
            let Assembly { stream, end_stream, block, .. } = assembly;
            return Ok(Event::Fields { stream, end_stream, block: Cow::Owned(block) });
        }
        self.assembly = Some(assembly);
        Ok(Event::Nothing { stream: 0 })
    }

    fn take_control<'i>(&mut self, head: &Head, payload: &[u8]) -> Result<Event<'i>, ConnectionError> {
        let stream = head.stream;
        let is_of_connection = matches!(head.kind, Kind::Settings | Kind::Ping | Kind::GoAway);
        if is_of_connection && stream != 0 {
            return Err(broken(Code::ProtocolError, "SETTINGS, PING or GOAWAY on a stream"));
        }
        match head.kind {
            Kind::Settings => self.take_settings(head, payload),
            Kind::Ping => self.take_ping(head, payload),
            Kind::WindowUpdate => self.take_window_update(stream, payload),
            Kind::RstStream => self.take_reset(stream, payload),
            Kind::GoAway => {
                let &[a, b, c, d, e, f, g, h] = payload.first_chunk::<8>().ok_or(wrong_size())?;
                let last = u32::from_be_bytes([a, b, c, d]) & MAX_31;
                Ok(Event::GoAway { last, code: Code::of(u32::from_be_bytes([e, f, g, h])) })
            }
            Kind::Priority => take_priority(stream, payload),
            Kind::PushPromise => Err(broken(Code::ProtocolError, "a PUSH_PROMISE that nobody may send")),
            _ => Ok(Event::Nothing { stream: 0 }),
        }
    }

    fn take_settings<'i>(&mut self, head: &Head, payload: &[u8]) -> Result<Event<'i>, ConnectionError> {
        if head.has(flag::ACK) {
            return if payload.is_empty() { Ok(Event::Nothing { stream: 0 }) } else { Err(wrong_size()) };
        }
        if !payload.len().is_multiple_of(6) {
            return Err(wrong_size());
        }
        let before = i64::from(self.theirs.initial_window);
        self.theirs.apply(payload)?;
        self.has_begun = true;
        self.owe()?;
        write_head(Kind::Settings, flag::ACK, 0, 0, &mut self.out);
        Ok(Event::Settings { window_change: i64::from(self.theirs.initial_window) - before })
    }

    fn take_ping<'i>(&mut self, head: &Head, payload: &[u8]) -> Result<Event<'i>, ConnectionError> {
        let opaque = <[u8; 8]>::try_from(payload).map_err(|_| wrong_size())?;
        if !head.has(flag::ACK) {
            self.owe()?;
            write_ping(opaque, true, &mut self.out);
        }
        Ok(Event::Nothing { stream: 0 })
    }

    fn take_window_update<'i>(&mut self, stream: u32, payload: &[u8]) -> Result<Event<'i>, ConnectionError> {
        let bytes = <[u8; 4]>::try_from(payload).map_err(|_| wrong_size())?;
        let increment = u32::from_be_bytes(bytes) & MAX_31;
        match (stream, increment) {
            (0, 0) => return Err(broken(Code::ProtocolError, "a WINDOW_UPDATE by nothing")),
            (_, 0) => return Ok(Event::Spoilt { stream, code: Code::ProtocolError }),
            (0, _) => {
                self.send_window += i64::from(increment);
                if self.send_window > i64::from(MAX_31) {
                    return Err(broken(Code::FlowControlError, "the connection's window is above 2^31-1"));
                }
            }
            _ => {}
        }
        Ok(Event::Window { stream, increment })
    }

    fn take_reset<'i>(&mut self, stream: u32, payload: &[u8]) -> Result<Event<'i>, ConnectionError> {
        let code = <[u8; 4]>::try_from(payload).map_err(|_| wrong_size())?;
        if stream == 0 {
            return Err(broken(Code::ProtocolError, "RST_STREAM on stream 0"));
        }
        self.resets += 1;
        if self.role == Role::Server && self.resets > self.limits.resets {
            return Err(exceeded("resets"));
        }
        Ok(Event::Reset { stream, code: Code::of(u32::from_be_bytes(code)) })
    }

    /// A frame that asks for an answer. Once nothing waits any more, all that were asked for before are taken.
    fn owe(&mut self) -> Result<(), ConnectionError> {
        self.owed_frames = if self.out.is_empty() { 1 } else { self.owed_frames + 1 };
        if self.owed_frames > self.limits.owed_frames { Err(exceeded("owed_frames")) } else { Ok(()) }
    }

    /// A frame that brings nothing any further.
    #[inline]
    fn count_idle(&mut self) -> Result<(), ConnectionError> {
        self.idle_frames += 1;
        if self.idle_frames > self.limits.idle_frames { Err(exceeded("idle_frames")) } else { Ok(()) }
    }
}

fn wrong_size() -> ConnectionError {
    broken(Code::FrameSizeError, "a frame has the wrong length for its type")
}

/// The payload of a frame without its padding (RFC 9113 §6.1).
#[inline]
fn unpadded<'i>(head: &Head, payload: &'i [u8]) -> Result<&'i [u8], ConnectionError> {
    if !head.has(flag::PADDED) {
        return Ok(payload);
    }
    let (padding, rest) = payload.split_first().ok_or(wrong_size())?;
    let len = rest.len().checked_sub(*padding as usize);
    len.map(|len| &rest[..len]).ok_or(broken(Code::ProtocolError, "the padding is longer than its frame"))
}

/// The stream on which one depends.
fn depends_on(priority: &[u8; 5]) -> u32 {
    let &[a, b, c, d, _] = priority;
    u32::from_be_bytes([a, b, c, d]) & MAX_31
}

/// RFC 9113 §6.3: nobody heeds a priority, but it has a form.
fn take_priority<'i>(stream: u32, payload: &[u8]) -> Result<Event<'i>, ConnectionError> {
    if stream == 0 {
        return Err(broken(Code::ProtocolError, "PRIORITY on stream 0"));
    }
    let Ok(priority) = <&[u8; 5]>::try_from(payload) else {
        return Ok(Event::Spoilt { stream, code: Code::FrameSizeError });
    };
    if depends_on(priority) == stream {
        return Ok(Event::Spoilt { stream, code: Code::ProtocolError });
    }
    Ok(Event::Nothing { stream: 0 })
}

#[cfg(test)]
mod tests;
