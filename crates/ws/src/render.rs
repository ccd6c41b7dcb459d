//! Frames as bytes.

use crate::{Mask, Opcode};

/// Appends the head of a frame with `payload` bytes, which the caller appends behind it, masked if there is a mask.
#[inline]
pub fn header(opcode: Opcode, is_final: bool, mask: Option<Mask>, payload: u64, out: &mut Vec<u8>) {
    let masked = if mask.is_some() { 0x80 } else { 0 };
    out.push(opcode as u8 | if is_final { 0x80 } else { 0 });
    match (u8::try_from(payload), u16::try_from(payload)) {
        (Ok(short @ ..=125), _) => out.push(masked | short),
        (_, Ok(two)) => {
            out.push(masked | 126);
            out.extend_from_slice(&two.to_be_bytes());
        }
        _ => {
            out.push(masked | 127);
            out.extend_from_slice(&payload.to_be_bytes());
        }
    }
    if let Some(mask) = mask {
        out.extend_from_slice(&mask.bytes());
    }
}

/// Appends a whole frame of a server.
#[inline]
pub fn plain(opcode: Opcode, payload: &[u8], out: &mut Vec<u8>) {
    header(opcode, true, None, payload.len() as u64, out);
    out.extend_from_slice(payload);
}

/// Appends a whole frame of a client.
#[inline]
pub fn masked(opcode: Opcode, payload: &[u8], mask: Mask, out: &mut Vec<u8>) {
    header(opcode, true, Some(mask), payload.len() as u64, out);
    let start = out.len();
    out.extend_from_slice(payload);
    mask.apply(&mut out[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_as_long_as_the_length_of_its_payload_needs() {
        let lengths = [(0, 2), (125, 2), (126, 4), (65_535, 4), (65_536, 10), (u64::MAX >> 1, 10)];
        for (payload, length) in lengths {
            for (mask, more) in [(None, 0), (Some(Mask::NONE), 4)] {
                let mut bytes = Vec::new();
                header(Opcode::Text, true, mask, payload, &mut bytes);
                assert_eq!(bytes.len(), length + more, "{payload}");
            }
        }
    }

    #[test]
    fn the_examples_of_the_standard_are_rendered() {
        // RFC 6455 §5.7.
        let mut out = Vec::new();
        plain(Opcode::Text, b"Hello", &mut out);
        assert_eq!(out, [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]);
        out.clear();
        masked(Opcode::Text, b"Hello", Mask::new([0x37, 0xfa, 0x21, 0x3d]), &mut out);
        assert_eq!(out, [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]);
    }
}
