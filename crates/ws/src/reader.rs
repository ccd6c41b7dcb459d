//! Frames one after the other, as the parts of messages that they are (RFC 6455 §5.4 to §5.6).

use crate::close::may_be_sent;
use crate::frame::{CONTROL_BYTES_MAX, Header, Kind, Opcode, Side, scan_header};
use crate::{Fault, Mask, Payload, Utf8};

/// What is refused for its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest message in bytes, whatever number of frames it comes in.
    pub message_bytes: u64,
    /// Most frames of one message: empty ones cost who sends them next to nothing.
    pub frames: u32,
}

impl Limits {
    /// 1 MiB in 65,536 frames.
    pub const DEFAULT: Self = Self { message_bytes: 1 << 20, frames: 1 << 16 };
}

/// Reads what one side sends on one connection.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    from: Side,
    limits: Limits,
    /// The message that was begun.
    message: Option<Message>,
    /// The frame whose payload is being read; only of a message.
    frame: Option<Frame>,
    is_closed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    kind: Kind,
    bytes: u64,
    frames: u32,
    /// Whether no part of it has been told.
    is_new: bool,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    left: u64,
    mask: Mask,
    is_final: bool,
}

/// What one step of reading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'i> {
    /// Bytes of the input that are dealt with.
    pub consumed: usize,
    /// What they were; absent while more must come.
    pub event: Option<Event<'i>>,
}

/// Something that was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'i> {
    /// A message, or a part of one.
    Data(Data<'i>),
    /// Asks for a pong with the same payload.
    Ping(Payload<'i>),
    /// An answer to a ping, or a sign of life.
    Pong(Payload<'i>),
    /// The other side ends the connection, with a code if it gave one; what comes behind is dropped.
    Close(Option<u16>),
}

/// A message, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'i> {
    /// What the message is made of. Whether a text is UTF-8 is not checked here: [`Utf8`], [`Assembly`](crate::Assembly).
    pub kind: Kind,
    /// Bytes of the data, as they came.
    pub payload: Payload<'i>,
    /// Whether the message begins with it.
    pub is_first: bool,
    /// Whether the message ends with it.
    pub is_last: bool,
}

impl Reader {
    /// A reader of what `from` sends.
    pub fn new(from: Side, limits: Limits) -> Self {
        Self { from, limits, message: None, frame: None, is_closed: false }
    }

    /// Reads what comes next. To be called until it consumes nothing, with all that was not consumed before.
    ///
    /// # Errors
    /// A [`Fault`], after which nothing of the connection is to be believed.
    #[inline]
    pub fn next<'i>(&mut self, input: &'i [u8]) -> Result<Step<'i>, Fault> {
        if self.is_closed {
            return Ok(Step { consumed: input.len(), event: None });
        }
        if let Some(frame) = self.frame {
            return Ok(self.read_payload(frame, input, 0));
        }
        let Some(header) = scan_header(input, self.from)? else {
            return Ok(Step { consumed: 0, event: None });
        };
        if header.opcode.is_control() {
            return self.control(&header, input);
        }
        self.begin_frame(&header)?;
        let frame = Frame { left: header.payload, mask: header.mask, is_final: header.is_final };
        Ok(self.read_payload(frame, input, header.len))
    }

    /// Takes note of a frame of a message.
    #[inline]
    fn begin_frame(&mut self, header: &Header) -> Result<(), Fault> {
        let mut message = match (header.opcode, self.message) {
            (Opcode::Continuation, None) => return Err(Fault::NothingToContinue),
            (Opcode::Continuation, Some(message)) => message,
            (_, Some(_)) => return Err(Fault::Interleaved),
            (Opcode::Text, None) => Message::new(Kind::Text),
            (_, None) => Message::new(Kind::Binary),
        };
        // Neither can overflow: a payload has less than 2^63 bytes, and the message at most so many as the limit.
        message.bytes = message.bytes.saturating_add(header.payload);
        message.frames = message.frames.saturating_add(1);
        if message.bytes > self.limits.message_bytes {
            return Err(Fault::MessageTooLong);
        }
        if message.frames > self.limits.frames {
            return Err(Fault::TooManyFrames);
        }
        self.message = Some(message);
        Ok(())
    }

    /// Reads as much of the payload as has come behind the first `at` bytes.
    #[inline]
    fn read_payload<'i>(&mut self, frame: Frame, input: &'i [u8], at: usize) -> Step<'i> {
        let Some(message) = &mut self.message else { return Step { consumed: at, event: None } };
        let masked = &input[at..];
        let masked = &masked[..masked.len().min(usize::try_from(frame.left).unwrap_or(usize::MAX))];
        let left = frame.left - masked.len() as u64;
        let is_last = left == 0 && frame.is_final;
        self.frame = (left > 0).then(|| Frame { left, mask: frame.mask.after(masked.len()), ..frame });
        // An empty part tells something only where the message ends.
        if masked.is_empty() && !is_last {
            return Step { consumed: at, event: None };
        }
        let payload = Payload { masked, mask: frame.mask };
        let is_first = std::mem::take(&mut message.is_new);
        let data = Data { kind: message.kind, payload, is_first, is_last };
        if is_last {
            self.message = None;
        }
        Step { consumed: at + masked.len(), event: Some(Event::Data(data)) }
    }

    /// A control frame, once all of it has come.
    fn control<'i>(&mut self, header: &Header, input: &'i [u8]) -> Result<Step<'i>, Fault> {
        // At most `CONTROL_BYTES_MAX`.
        let end = header.len + header.payload as usize;
        let Some(masked) = input.get(header.len..end) else { return Ok(Step { consumed: 0, event: None }) };
        let payload = Payload { masked, mask: header.mask };
        let event = match header.opcode {
            Opcode::Ping => Event::Ping(payload),
            Opcode::Pong => Event::Pong(payload),
            _ => {
                self.is_closed = true;
                Event::Close(close_code(payload)?)
            }
        };
        Ok(Step { consumed: end, event: Some(event) })
    }
}

impl Message {
    fn new(kind: Kind) -> Self {
        Self { kind, bytes: 0, frames: 0, is_new: true }
    }
}

/// The code of a close frame, which may have none, and behind it a reason for people (RFC 6455 §5.5.1).
fn close_code(payload: Payload<'_>) -> Result<Option<u16>, Fault> {
    let mut bytes = [0; CONTROL_BYTES_MAX];
    let bytes = &mut bytes[..payload.len()];
    bytes.copy_from_slice(payload.masked);
    payload.mask.apply(bytes);
    let Some((code, reason)) = bytes.split_first_chunk::<2>() else {
        return if bytes.is_empty() { Ok(None) } else { Err(Fault::ShortClose) };
    };
    let code = u16::from_be_bytes(*code);
    if !may_be_sent(code) {
        return Err(Fault::BadCloseCode(code));
    }
    let mut check = Utf8::default();
    check.push(reason)?;
    check.finish()?;
    Ok(Some(code))
}

#[cfg(test)]
mod tests;
