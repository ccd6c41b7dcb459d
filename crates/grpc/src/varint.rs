//! Numbers of variable length (protobuf.dev/programming-guides/encoding#varints).

/// Bytes of the longest number.
const MOST_BYTES: usize = 10;

/// Appends a number.
#[inline]
pub(crate) fn write(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The number at the start of `bytes`, and what follows it; `None` when it has no end within ten bytes, or is above 2⁶⁴.
#[inline]
pub(crate) fn read(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(MOST_BYTES) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            let fits = at < MOST_BYTES - 1 || *byte <= 1;
            return fits.then(|| (value, &bytes[at + 1..]));
        }
    }
    None
}
