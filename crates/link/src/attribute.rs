//! Attributes of netlink messages for which there is no type in the library: kind, length, value, filled up to four bytes
//! (kernel: userspace-api/netlink/intro.rst).

/// Bytes before a value: its length with them, and its kind.
const HEADER_BYTES: usize = 4;
/// Marks a value that is attributes itself; and what else is no part of a kind.
const NESTED: u16 = 1 << 15;
const FLAGS: u16 = 3 << 14;

/// Attributes one behind the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    bytes: Vec<u8>,
}

impl Attributes {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// With one more, of any bytes.
    #[must_use]
    pub(crate) fn bytes_of(mut self, kind: u16, value: &[u8]) -> Self {
        let length = (HEADER_BYTES + value.len()) as u16;
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// With a text, which ends with a zero.
    #[must_use]
    pub(crate) fn text(self, kind: u16, value: &str) -> Self {
        self.bytes_of(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// With a number in network order, as nf_tables has them.
    #[must_use]
    pub(crate) fn number(self, kind: u16, value: u32) -> Self {
        self.bytes_of(kind, &value.to_be_bytes())
    }

    /// With attributes inside.
    #[must_use]
    pub(crate) fn nest(self, kind: u16, value: Self) -> Self {
        self.bytes_of(kind | NESTED, &value.bytes)
    }
}

/// Kinds and values of attributes one behind the other; what is cut off is not there.
pub(crate) fn children(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let ([a, b, c, d], _) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let length = usize::from(u16::from_ne_bytes([*a, *b]));
        let value = bytes.get(HEADER_BYTES..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([*c, *d]) & !FLAGS, value))
    })
}

/// A text without its end.
pub(crate) fn text(value: &[u8]) -> &str {
    str::from_utf8(value).unwrap_or_default().trim_end_matches('\0')
}

/// A number of 64 bits in network order.
pub(crate) fn number(value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(u64::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let inner = Attributes::default().text(1, "counter").number(2, 7);
        let all = Attributes::default().bytes_of(5, b"abc").nest(4, inner);
        let found: Vec<(u16, &[u8])> = children(all.bytes()).collect();
        assert_eq!(found[0], (5, &b"abc"[..]));
        assert_eq!(found[1].0, 4);
        let inside: Vec<(u16, &[u8])> = children(found[1].1).collect();
        assert_eq!((inside[0].0, text(inside[0].1)), (1, "counter"));
        assert_eq!(inside[1], (2, &[0, 0, 0, 7][..]));
        assert_eq!((found.len(), inside.len()), (2, 2));
    }

    #[test]
    fn what_is_cut_off_is_not_there() {
        let all = Attributes::default().number(1, 1).number(2, 2);
        assert_eq!(children(&all.bytes()[..12]).count(), 1);
        assert_eq!(children(&[9, 0, 1]).count(), 0);
        assert_eq!(children(&[0; 8]).count(), 0, "a length that is too short");
        assert_eq!((number(&[0, 0, 0, 0, 0, 0, 1, 0]), number(&[1])), (Some(256), None));
    }
}
