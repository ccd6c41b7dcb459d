//! Frames as a client may write them, right or wrong, and any frame in words (RFC 9113 §4.1, §6).

use assay_h2::Code;
use assay_h2::frame::{HEAD_BYTES, Head, Kind, MAX_31};

pub(crate) use assay_h2::frame::flag::{ACK, END_HEADERS, END_STREAM, PADDED, PRIORITY};

/// Bytes of a payload that are told, escaped.
const TOLD_BYTES: usize = 90;
/// Settings of a frame that are told.
const TOLD_SETTINGS: usize = 6;

/// One frame.
#[derive(Clone, Debug)]
pub(crate) struct Frame(Vec<u8>);

impl Frame {
    pub(crate) fn new(kind: Kind, flags: u8, stream: u32, payload: &[u8]) -> Self {
        let head = Head { len: payload.len(), kind, flags, stream };
        Self([&head.bytes(), payload].concat())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The frame with the bit set that is reserved before the number of its stream.
    pub(crate) fn with_reserved_bit(self) -> Self {
        self.with(5, 0x80)
    }

    /// The frame with more flags.
    pub(crate) fn with_flags(self, flags: u8) -> Self {
        self.with(4, flags)
    }

    fn with(mut self, at: usize, bits: u8) -> Self {
        self.0[at] |= bits;
        self
    }

    /// The frame with more before its part of a field block; nothing where it has none.
    pub(crate) fn with_before_block(&self, more: &[u8]) -> Option<Self> {
        let head = Head::read(&self.0)?;
        let before = match head.kind {
            Kind::Headers => 5 * usize::from(head.has(PRIORITY)) + usize::from(head.has(PADDED)),
            Kind::Continuation => 0,
            _ => return None,
        };
        let (before, block) = self.0.split_at_checked(HEAD_BYTES + before)?;
        if block.is_empty() {
            return None;
        }
        let mut bytes = [before, more, block].concat();
        let len = (bytes.len() - HEAD_BYTES) as u32;
        bytes[..3].copy_from_slice(&len.to_be_bytes()[1..]);
        Some(Self(bytes))
    }

    /// The frame in words.
    pub(crate) fn in_words(&self) -> String {
        match Head::read(&self.0) {
            Some(head) => in_words(&head, &self.0[HEAD_BYTES..]),
            None => String::new(),
        }
    }
}

pub(crate) fn data(stream: u32, flags: u8, payload: &[u8]) -> Frame {
    Frame::new(Kind::Data, flags, stream, payload)
}

pub(crate) fn headers(stream: u32, flags: u8, payload: &[u8]) -> Frame {
    Frame::new(Kind::Headers, flags, stream, payload)
}

pub(crate) fn continuation(stream: u32, flags: u8, fragment: &[u8]) -> Frame {
    Frame::new(Kind::Continuation, flags, stream, fragment)
}

pub(crate) fn priority(stream: u32, dependency: u32, weight: u8) -> Frame {
    Frame::new(Kind::Priority, 0, stream, &dependence(dependency, weight))
}

/// On which stream one depends and how much it weighs, as PRIORITY and HEADERS write it; the top bit of `dependency` says
/// that it alone does.
pub(crate) fn dependence(dependency: u32, weight: u8) -> Vec<u8> {
    [&dependency.to_be_bytes()[..], &[weight]].concat()
}

pub(crate) fn reset(stream: u32, code: Code) -> Frame {
    Frame::new(Kind::RstStream, 0, stream, &code.number().to_be_bytes())
}

/// Settings, as numbers and values.
pub(crate) fn settings(all: &[(u16, u32)]) -> Frame {
    let payload: Vec<u8> =
        all.iter().flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()).collect();
    Frame::new(Kind::Settings, 0, 0, &payload)
}

pub(crate) fn settings_ack() -> Frame {
    Frame::new(Kind::Settings, ACK, 0, &[])
}

pub(crate) fn ping(opaque: [u8; 8]) -> Frame {
    Frame::new(Kind::Ping, 0, 0, &opaque)
}

pub(crate) fn go_away(last: u32, code: Code) -> Frame {
    let payload = [last.to_be_bytes(), code.number().to_be_bytes()].concat();
    Frame::new(Kind::GoAway, 0, 0, &payload)
}

pub(crate) fn window_update(stream: u32, increment: u32) -> Frame {
    Frame::new(Kind::WindowUpdate, 0, stream, &increment.to_be_bytes())
}

/// A payload with so much padding said to be behind it (RFC 9113 §6.1).
pub(crate) fn padded(said: u8, payload: &[u8], padding: usize) -> Vec<u8> {
    [&[said], payload, &vec![0; padding][..]].concat()
}

/// A frame in words: its type, its stream, its flags and what it says.
pub(crate) fn in_words(head: &Head, payload: &[u8]) -> String {
    let mut words = name(head.kind);
    let is_of_connection = matches!(head.kind, Kind::Settings | Kind::Ping | Kind::GoAway | Kind::Unknown(_));
    if head.stream != 0 || !is_of_connection {
        words += &format!(" on stream {}", head.stream);
    }
    let mut told = flags(head);
    told.extend(said(head.kind, payload));
    if !told.is_empty() {
        words += &format!(" ({})", told.join(", "));
    }
    words
}

fn name(kind: Kind) -> String {
    let name = match kind {
        Kind::Data => "DATA",
        Kind::Headers => "HEADERS",
        Kind::Priority => "PRIORITY",
        Kind::RstStream => "RST_STREAM",
        Kind::Settings => "SETTINGS",
        Kind::PushPromise => "PUSH_PROMISE",
        Kind::Ping => "PING",
        Kind::GoAway => "GOAWAY",
        Kind::WindowUpdate => "WINDOW_UPDATE",
        Kind::Continuation => "CONTINUATION",
        Kind::Unknown(number) => return format!("a frame of type {number:#04x}"),
    };
    name.to_owned()
}

fn flags(head: &Head) -> Vec<String> {
    let known: &[(u8, &str)] = match head.kind {
        Kind::Data => &[(END_STREAM, "END_STREAM"), (PADDED, "PADDED")],
        Kind::Headers => &[
            (END_STREAM, "END_STREAM"),
            (END_HEADERS, "END_HEADERS"),
            (PADDED, "PADDED"),
            (PRIORITY, "PRIORITY"),
        ],
        Kind::Settings | Kind::Ping => &[(ACK, "ACK")],
        Kind::Continuation => &[(END_HEADERS, "END_HEADERS")],
        _ => &[],
    };
    let others = known.iter().fold(head.flags, |left, (bit, _)| left & !bit);
    let mut told: Vec<String> =
        known.iter().filter(|(bit, _)| head.has(*bit)).map(|(_, name)| (*name).to_owned()).collect();
    if others != 0 {
        told.push(format!("flags {others:#04x}"));
    }
    told
}

/// What the payload says.
fn said(kind: Kind, payload: &[u8]) -> Option<String> {
    match kind {
        Kind::RstStream if payload.len() == 4 => Some(code(payload).to_string()),
        Kind::WindowUpdate if payload.len() == 4 => Some(format!("by {}", number(payload) & MAX_31)),
        Kind::GoAway if payload.len() >= 8 => {
            let last = number(payload) & MAX_31;
            Some(format!("last stream {last}, {}", code(&payload[4..])))
        }
        Kind::Settings if payload.len().is_multiple_of(6) => {
            let all = payload.as_chunks::<6>().0.iter().take(TOLD_SETTINGS);
            let told: Vec<String> = all.map(setting).collect();
            (!told.is_empty()).then(|| told.join(", "))
        }
        _ => contents(payload),
    }
}

fn setting(bytes: &[u8; 6]) -> String {
    let id = u16::from_be_bytes([bytes[0], bytes[1]]);
    let value = number(&bytes[2..]);
    match id {
        1 => format!("HEADER_TABLE_SIZE {value}"),
        2 => format!("ENABLE_PUSH {value}"),
        3 => format!("MAX_CONCURRENT_STREAMS {value}"),
        4 => format!("INITIAL_WINDOW_SIZE {value}"),
        5 => format!("MAX_FRAME_SIZE {value}"),
        6 => format!("MAX_HEADER_LIST_SIZE {value}"),
        _ => format!("setting {id:#x} {value}"),
    }
}

fn contents(payload: &[u8]) -> Option<String> {
    let start = &payload[..payload.len().min(TOLD_BYTES)];
    match payload.len() {
        0 => None,
        all if all == start.len() => Some(format!("\"{}\"", start.escape_ascii())),
        all => Some(format!("{all} bytes")),
    }
}

/// The number in the first four bytes; 0 where there are fewer.
pub(crate) fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk::<4>().map_or(0, |four| u32::from_be_bytes(*four))
}

/// The code in the first four bytes.
pub(crate) fn code(bytes: &[u8]) -> Code {
    Code::of(number(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_block_may_begin_with_more() {
        let with_x = |frame: Frame| frame.with_before_block(b"x").map(|frame| frame.in_words());
        let told = |words: &str| Some(words.to_owned());
        assert_eq!(with_x(headers(1, END_HEADERS, b"b")), told(r#"HEADERS on stream 1 (END_HEADERS, "xb")"#));
        let padded = headers(1, PADDED, &padded(2, b"b", 2)).with_reserved_bit();
        let more = padded.with_before_block(b"x").expect("a block");
        assert_eq!(more.bytes(), b"\0\0\x05\x01\x08\x80\0\0\x01\x02xb\0\0");
        let block = [&dependence(0, 1)[..], b"b"].concat();
        assert_eq!(
            with_x(headers(1, PRIORITY, &block)),
            told(r#"HEADERS on stream 1 (PRIORITY, "\x00\x00\x00\x00\x01xb")"#)
        );
        assert_eq!(with_x(headers(1, 0, b"")), None);
        assert_eq!(with_x(continuation(1, 0, b"b")), told(r#"CONTINUATION on stream 1 ("xb")"#));
        assert_eq!(with_x(headers(1, PRIORITY, b"cut")), None);
        assert_eq!(with_x(data(1, 0, b"b")), None);
    }

    #[test]
    fn frames_are_told_in_words() {
        let told = |frame: Frame| frame.in_words();
        assert_eq!(told(settings(&[(4, 1), (0xff, 2)])), "SETTINGS (INITIAL_WINDOW_SIZE 1, setting 0xff 2)");
        assert_eq!(told(settings_ack()), "SETTINGS (ACK)");
        assert_eq!(
            told(data(0, END_STREAM | 0x40, b"x\0")),
            r#"DATA on stream 0 (END_STREAM, flags 0x40, "x\x00")"#
        );
        assert_eq!(told(data(1, 0, &[0; 5000])), "DATA on stream 1 (5000 bytes)");
        assert_eq!(told(reset(3, Code::Cancel)), "RST_STREAM on stream 3 (CANCEL)");
        assert_eq!(told(go_away(7, Code::NoError)), "GOAWAY (last stream 7, NO_ERROR)");
        assert_eq!(told(window_update(0, 9)), "WINDOW_UPDATE on stream 0 (by 9)");
        assert_eq!(told(Frame::new(Kind::Unknown(0x16), 0, 0, b"")), "a frame of type 0x16");
    }
}
