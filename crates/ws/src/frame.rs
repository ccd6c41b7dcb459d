//! The head of a frame (RFC 6455 §5.2).

use crate::{Fault, Mask};

/// The longest payload of a control frame (RFC 6455 §5.5).
pub const CONTROL_BYTES_MAX: usize = 125;

const FINAL: u8 = 0x80;
const RESERVED: u8 = 0x70;
const OPCODE: u8 = 0x0f;
const MASKED: u8 = 0x80;
const LENGTH: u8 = 0x7f;

/// The side that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that opened the connection: it masks what it sends.
    Client,
    /// The side that accepted it: it masks nothing.
    Server,
}

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// Goes on with the message that was begun.
    Continuation = 0x0,
    /// Begins a text.
    Text = 0x1,
    /// Begins a message of any bytes.
    Binary = 0x2,
    /// Ends the connection.
    Close = 0x8,
    /// Asks for a pong.
    Ping = 0x9,
    /// Answers a ping.
    Pong = 0xa,
}

/// What a message is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// Any bytes.
    Binary,
}

impl Kind {
    /// The opcode with which such a message begins.
    pub fn opcode(self) -> Opcode {
        match self {
            Self::Text => Opcode::Text,
            Self::Binary => Opcode::Binary,
        }
    }
}

impl Opcode {
    /// Whether it may stand inside a fragmented message.
    pub fn is_control(self) -> bool {
        self as u8 & 0x8 != 0
    }

    fn of(bits: u8) -> Result<Self, Fault> {
        Ok(match bits {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xa => Self::Pong,
            reserved => return Err(Fault::ReservedOpcode(reserved)),
        })
    }
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the frame is for.
    pub opcode: Opcode,
    /// Whether the message ends with it.
    pub is_final: bool,
    /// The mask of its payload.
    pub mask: Mask,
    /// Bytes of its payload.
    pub payload: u64,
    /// Bytes of the head itself, at most 14.
    pub len: usize,
}

/// Reads the head of a frame that `from` has sent, at the start of `bytes`; `None` while it is not whole.
///
/// # Errors
/// A [`Fault`] of the head itself. Whether its opcode may come now is for [`Reader`](crate::Reader) to say.
#[inline]
pub fn scan_header(bytes: &[u8], from: Side) -> Result<Option<Header>, Fault> {
    let Some(&first) = bytes.first() else { return Ok(None) };
    if first & RESERVED != 0 {
        return Err(Fault::ReservedBit);
    }
    let opcode = Opcode::of(first & OPCODE)?;
    let is_final = first & FINAL != 0;
    if opcode.is_control() && !is_final {
        return Err(Fault::FragmentedControl);
    }
    let Some(&second) = bytes.get(1) else { return Ok(None) };
    let is_masked = second & MASKED != 0;
    match (from, is_masked) {
        (Side::Client, false) => return Err(Fault::Unmasked),
        (Side::Server, true) => return Err(Fault::Masked),
        _ => {}
    }
    if opcode.is_control() && usize::from(second & LENGTH) > CONTROL_BYTES_MAX {
        return Err(Fault::LongControl);
    }
    let Some((payload, at)) = scan_length(bytes, second & LENGTH)? else { return Ok(None) };
    if !is_masked {
        return Ok(Some(Header { opcode, is_final, mask: Mask::NONE, payload, len: at }));
    }
    let mask = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    Ok(mask.map(|mask| Header { opcode, is_final, mask: Mask::new(*mask), payload, len: at + 4 }))
}

/// The payload's length and where it ends; the shortest form alone is right.
#[inline]
fn scan_length(bytes: &[u8], short: u8) -> Result<Option<(u64, usize)>, Fault> {
    let long = &bytes[2..];
    let (length, least, at) = match short {
        126 => {
            let Some(two) = long.first_chunk::<2>() else { return Ok(None) };
            (u64::from(u16::from_be_bytes(*two)), 126, 4)
        }
        127 => {
            let Some(eight) = long.first_chunk::<8>() else { return Ok(None) };
            (u64::from_be_bytes(*eight), 1 << 16, 10)
        }
        short => (u64::from(short), 0, 2),
    };
    if length < least || length > i64::MAX as u64 {
        return Err(Fault::BadLength);
    }
    Ok(Some((length, at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render;

    #[test]
    fn what_is_rendered_is_read_back_and_no_prefix_of_it_is_whole() {
        for opcode in
            [Opcode::Continuation, Opcode::Text, Opcode::Binary, Opcode::Close, Opcode::Ping, Opcode::Pong]
        {
            for payload in [0, 1, 125, 126, 127, 65_535, 65_536, i64::MAX as u64] {
                for (from, mask) in [(Side::Client, Some(Mask::new([9, 8, 7, 6]))), (Side::Server, None)] {
                    let is_final = opcode.is_control() || payload % 2 == 0;
                    if opcode.is_control() && payload > 125 {
                        continue;
                    }
                    let mut bytes = Vec::new();
                    render::header(opcode, is_final, mask, payload, &mut bytes);
                    let mask = mask.unwrap_or_default();
                    let header = Header { opcode, is_final, mask, payload, len: bytes.len() };
                    assert_eq!(scan_header(&bytes, from), Ok(Some(header)));
                    (0..bytes.len()).for_each(|n| assert_eq!(scan_header(&bytes[..n], from), Ok(None)));
                }
            }
        }
    }

    #[test]
    fn each_fault_of_a_head_has_its_name() {
        for (bytes, fault) in [
            (&[0xc1, 0x80][..], Fault::ReservedBit),
            (&[0xa1, 0x80], Fault::ReservedBit),
            (&[0x91, 0x80], Fault::ReservedBit),
            (&[0x83, 0x80], Fault::ReservedOpcode(3)),
            (&[0x8f, 0x80], Fault::ReservedOpcode(15)),
            (&[0x09, 0x80], Fault::FragmentedControl),
            (&[0x81, 0x01], Fault::Unmasked),
            (&[0x89, 0xfe], Fault::LongControl),
            (&[0x81, 0xfe, 0, 125], Fault::BadLength),
            (&[0x81, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff], Fault::BadLength),
            (&[0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0], Fault::BadLength),
        ] {
            assert_eq!(scan_header(bytes, Side::Client), Err(fault));
            // Not later than with its last byte, and not something else before.
            (0..bytes.len()).for_each(|n| {
                assert!([Ok(None), Err(fault)].contains(&scan_header(&bytes[..n], Side::Client)));
            });
        }
        assert_eq!(scan_header(&[0x81, 0x81], Side::Server), Err(Fault::Masked));
    }
}
