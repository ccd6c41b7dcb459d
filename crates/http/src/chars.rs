//! Byte classes of RFC 9110 §5.6, RFC 9110 §5.5 and RFC 3986, and the word-wise search for control characters.

/// Whether a byte may stand in a token (RFC 9110 §5.6.2).
#[inline]
pub(crate) fn is_token(byte: u8) -> bool {
    TOKEN[byte as usize]
}

/// Whether a byte may stand in a request target: RFC 3986, and what the WHATWG URL standard leaves unencoded in a
/// query (`[ ] ^ { | }` and the grave accent), which browsers send. Never a fragment, a quote or a backslash.
#[inline]
pub(crate) fn is_target(byte: u8) -> bool {
    TARGET[byte as usize]
}

/// Whether a byte may stand in a registered name or IPv4 address (RFC 3986 §3.2.2).
#[inline]
pub(crate) fn is_reg_name(byte: u8) -> bool {
    REG_NAME[byte as usize]
}

/// Whether a byte may stand in a field value: visible, SP, HTAB or at least 0x80 (RFC 9110 §5.5).
pub(crate) fn is_field_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// Whether `text` is a token.
pub(crate) fn is_token_text(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&b| is_token(b))
}

/// The offset of the first byte from `at` on that may not stand in a field value, eight bytes at a step.
#[inline]
pub(crate) fn find_control(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let (words, tail) = rest.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let flags = control_flags(u64::from_le_bytes(*word));
        if flags != 0 {
            return Some(at + i * 8 + flags.trailing_zeros() as usize / 8);
        }
    }
    let tail_at = at + words.len() * 8;
    tail.iter().position(|&b| !is_field_text(b)).map(|i| tail_at + i)
}

/// The high bit of each byte that is a control character other than HTAB.
#[inline]
fn control_flags(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let below_space = zero_flags(word & (ONES * 0xe0));
    let tab = zero_flags(word ^ (ONES * b'\t' as u64));
    let delete = zero_flags(word ^ (ONES * 0x7f));
    (below_space & !tab) | delete
}

/// The high bit of each byte that is zero. Without a carry between bytes, unlike the shorter well-known form, so that
/// every flag is exact.
#[inline]
fn zero_flags(word: u64) -> u64 {
    const LOW: u64 = u64::MAX / 255 * 0x7f;
    !(((word & LOW) + LOW) | word | LOW)
}

/// `text` without SP and HTAB at either end (OWS, RFC 9110 §5.6.3).
#[inline]
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// The elements of a comma-separated list, trimmed (RFC 9110 §5.6.1); empty ones included.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(trim)
}

static TOKEN: [bool; 256] = class(b"!#$%&'*+-.^_`|~");
static REG_NAME: [bool; 256] = class(b"-._~%!$&'()*+,;=");
static TARGET: [bool; 256] = class(b"-._~%!$&'()*+,;=:@/?[]^`{|}");

/// Letters, digits and `others`.
const fn class(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut i = 0;
    while i < others.len() {
        table[others[i] as usize] = true;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_in_every_lane_is_classed_like_the_plain_rule() {
        for filler in [b'a', b'\t', b' ', 0x80, 0xff, b'!', 0x7e] {
            for lane in 0..17 {
                for byte in 0..=255u8 {
                    let mut bytes = [filler; 17];
                    bytes[lane] = byte;
                    let plain = bytes.iter().position(|&b| !is_field_text(b));
                    assert_eq!(
                        find_control(&bytes, 0),
                        plain,
                        "byte {byte:#x} in lane {lane} among {filler:#x}"
                    );
                }
            }
        }
    }

    #[test]
    fn two_special_bytes_side_by_side_do_not_mask_each_other() {
        for first in 0..=255u8 {
            for second in 0..=255u8 {
                let bytes = [b'x', first, second, b'x', b'x', b'x', b'x', b'x'];
                let plain = bytes.iter().position(|&b| !is_field_text(b));
                assert_eq!(find_control(&bytes, 0), plain, "{first:#x} {second:#x}");
            }
        }
    }

    #[test]
    fn list_elements_are_trimmed() {
        assert_eq!(list(b" a ,\tb,, c").collect::<Vec<_>>(), [&b"a"[..], b"b", b"", b"c"]);
    }
}
