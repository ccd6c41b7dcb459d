//! Frames (RFC 9113 §4, §6): their heads read and written, and the small ones whole.

/// Bytes of a frame's head.
pub const HEAD_BYTES: usize = 9;

/// The payload that every peer takes (SETTINGS_MAX_FRAME_SIZE at least, RFC 9113 §6.5.2), and the longest that we take.
pub const FRAME_BYTES: usize = 16_384;

/// What a client says first (RFC 9113 §3.4); a SETTINGS frame follows.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The largest stream number, and the largest window.
pub const MAX_31: u32 = (1 << 31) - 1;

/// Flags of a frame.
pub mod flag {
    /// The last frame of the stream (DATA, HEADERS).
    pub const END_STREAM: u8 = 0x1;
    /// An answer (SETTINGS, PING).
    pub const ACK: u8 = 0x1;
    /// The header block ends with this frame (HEADERS, CONTINUATION).
    pub const END_HEADERS: u8 = 0x4;
    /// The payload is padded (DATA, HEADERS).
    pub const PADDED: u8 = 0x8;
    /// A priority is told, which nobody heeds any more (HEADERS, RFC 9113 §5.3).
    pub const PRIORITY: u8 = 0x20;
}

/// The type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of RFC 9113 §6")]
pub enum Kind {
    Data,
    Headers,
    Priority,
    RstStream,
    Settings,
    PushPromise,
    Ping,
    GoAway,
    WindowUpdate,
    Continuation,
    /// A type that is not known and is to be ignored (RFC 9113 §5.5).
    Unknown(u8),
}

impl Kind {
    /// The type with this number.
    pub fn of(number: u8) -> Self {
        match number {
            0 => Self::Data,
            1 => Self::Headers,
            2 => Self::Priority,
            3 => Self::RstStream,
            4 => Self::Settings,
            5 => Self::PushPromise,
            6 => Self::Ping,
            7 => Self::GoAway,
            8 => Self::WindowUpdate,
            9 => Self::Continuation,
            other => Self::Unknown(other),
        }
    }

    /// Its number.
    pub fn number(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::Headers => 1,
            Self::Priority => 2,
            Self::RstStream => 3,
            Self::Settings => 4,
            Self::PushPromise => 5,
            Self::Ping => 6,
            Self::GoAway => 7,
            Self::WindowUpdate => 8,
            Self::Continuation => 9,
            Self::Unknown(number) => number,
        }
    }
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Bytes of payload.
    pub len: usize,
    /// Type of the frame.
    pub kind: Kind,
    /// Flags of the frame.
    pub flags: u8,
    /// Stream of the frame; 0 for the connection.
    pub stream: u32,
}

impl Head {
    /// The head at the start of `bytes`, if it is there whole.
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, kind, flags, w, x, y, z] = bytes.first_chunk::<HEAD_BYTES>()?;
        Some(Self {
            len: u32::from_be_bytes([0, a, b, c]) as usize,
            kind: Kind::of(kind),
            flags,
            stream: u32::from_be_bytes([w, x, y, z]) & MAX_31,
        })
    }

    /// The head as it is sent.
    #[inline]
    pub fn bytes(&self) -> [u8; HEAD_BYTES] {
        // A payload is no longer than 2^24 - 1 bytes.
        let [_, a, b, c] = (self.len as u32).to_be_bytes();
        let [w, x, y, z] = self.stream.to_be_bytes();
        [a, b, c, self.kind.number(), self.flags, w, x, y, z]
    }

    /// Whether it has all of these flags.
    #[inline]
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }
}

/// Appends the head of a frame.
#[inline]
pub fn write_head(kind: Kind, flags: u8, stream: u32, len: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&Head { len, kind, flags, stream }.bytes());
}

/// Appends a header block: a HEADERS frame, and CONTINUATION frames where it is longer than one frame.
pub fn write_block(stream: u32, block: &[u8], end_stream: bool, out: &mut Vec<u8>) {
    let end = if end_stream { flag::END_STREAM } else { 0 };
    let (first, mut rest) = block.split_at(block.len().min(FRAME_BYTES));
    let ends = |rest: &[u8]| if rest.is_empty() { flag::END_HEADERS } else { 0 };
    write_head(Kind::Headers, end | ends(rest), stream, first.len(), out);
    out.extend_from_slice(first);
    while !rest.is_empty() {
        let (next, left) = rest.split_at(rest.len().min(FRAME_BYTES));
        write_head(Kind::Continuation, ends(left), stream, next.len(), out);
        out.extend_from_slice(next);
        rest = left;
    }
}

/// Appends a WINDOW_UPDATE; stream 0 is the connection.
pub fn write_window_update(stream: u32, increment: u32, out: &mut Vec<u8>) {
    write_head(Kind::WindowUpdate, 0, stream, 4, out);
    out.extend_from_slice(&increment.to_be_bytes());
}

/// Appends a RST_STREAM.
pub fn write_reset(stream: u32, code: u32, out: &mut Vec<u8>) {
    write_head(Kind::RstStream, 0, stream, 4, out);
    out.extend_from_slice(&code.to_be_bytes());
}

/// Appends a GOAWAY; streams above `last` were not looked at.
pub fn write_go_away(last: u32, code: u32, out: &mut Vec<u8>) {
    write_head(Kind::GoAway, 0, 0, 8, out);
    out.extend_from_slice(&last.to_be_bytes());
    out.extend_from_slice(&code.to_be_bytes());
}

/// Appends a PING or the answer to one.
pub fn write_ping(opaque: [u8; 8], ack: bool, out: &mut Vec<u8>) {
    write_head(Kind::Ping, if ack { flag::ACK } else { 0 }, 0, 8, out);
    out.extend_from_slice(&opaque);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_as_it_was_written() {
        for number in 0..=255 {
            let kind = Kind::of(number);
            assert_eq!(kind.number(), number);
            let head = Head { len: 0x01_02_03, kind, flags: 0xa5, stream: MAX_31 };
            assert_eq!(Head::read(&head.bytes()), Some(head));
        }
        assert_eq!(Head::read(&[0; 8]), None);
        assert_eq!(Head::read(&[0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]).unwrap().stream, MAX_31);
    }

    #[test]
    fn a_long_block_goes_on_in_further_frames() {
        let block: Vec<u8> = (0..40_000).map(|n| n as u8).collect();
        let mut out = Vec::new();
        write_block(5, &block, true, &mut out);
        let (mut at, mut back, mut heads) = (0, Vec::new(), Vec::new());
        while let Some(head) = Head::read(&out[at..]) {
            back.extend_from_slice(&out[at + HEAD_BYTES..][..head.len]);
            at += HEAD_BYTES + head.len;
            heads.push((head.kind, head.flags));
        }
        assert_eq!(back, block);
        let (end, more) = (flag::END_HEADERS, Kind::Continuation);
        assert_eq!(heads, [(Kind::Headers, flag::END_STREAM), (more, 0), (more, end)]);
    }
}
