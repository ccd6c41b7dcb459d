//! Integers with a prefix (RFC 7541 §5.1).

use super::HpackError;

/// The largest integer that is understood: beyond any index or length that a limit lets through.
const MAX: u64 = u32::MAX as u64;

/// Reads an integer whose first byte, at the start of `input`, leaves it `prefix` bits; returns it with its length.
///
/// # Errors
/// It is cut short or larger than any that could be meant.
#[inline]
pub(super) fn read(input: &[u8], prefix: u32) -> Result<(usize, usize), HpackError> {
    let full = (1u64 << prefix) - 1;
    let first = u64::from(*input.first().ok_or(HpackError::Truncated)?) & full;
    if first < full {
        return Ok((first as usize, 1));
    }
    let mut value = full;
    for (place, byte) in input[1..].iter().enumerate().take(5) {
        value += u64::from(byte & 0x7f) << (7 * place);
        if value > MAX {
            return Err(HpackError::Integer);
        }
        if byte & 0x80 == 0 {
            return Ok((value as usize, place + 2));
        }
    }
    Err(if input.len() > 5 { HpackError::Integer } else { HpackError::Truncated })
}

/// Appends an integer with `prefix` bits in its first byte, whose other bits are `flags`.
pub(super) fn write(value: usize, prefix: u32, flags: u8, out: &mut Vec<u8>) {
    let full = (1usize << prefix) - 1;
    if value < full {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | full as u8);
    let mut left = value - full;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc() {
        for (value, prefix, bytes) in [(10, 5, &[10][..]), (1337, 5, &[31, 154, 10]), (42, 8, &[42])] {
            let mut out = Vec::new();
            write(value, prefix, 0, &mut out);
            assert_eq!((&*out, read(bytes, prefix)), (bytes, Ok((value, bytes.len()))));
        }
    }

    #[test]
    fn what_is_cut_short_or_too_large_is_told_apart() {
        assert_eq!(read(&[], 5), Err(HpackError::Truncated));
        assert_eq!(read(&[31, 154], 5), Err(HpackError::Truncated));
        assert_eq!(read(&[31, 0xff, 0xff, 0xff, 0xff, 0x7f], 5), Err(HpackError::Integer));
        assert_eq!(read(&[31, 0x80, 0x80, 0x80, 0x80, 0x80, 0], 5), Err(HpackError::Integer));
        assert_eq!(read(&[31, 0x80, 0x80, 0], 5), Ok((31, 4)), "zeros at the end are no harm");
    }
}
