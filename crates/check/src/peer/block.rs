//! Field blocks written by hand: every representation of RFC 7541 §6, right or wrong.

/// What becomes of a literal field in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Literal {
    /// With incremental indexing (RFC 7541 §6.2.1).
    Remembered,
    /// Without indexing (RFC 7541 §6.2.2).
    Forgotten,
    /// Never indexed (RFC 7541 §6.2.3).
    Never,
}

impl Literal {
    /// Bits of the index in the first byte, and its other bits.
    fn prefix(self) -> (u32, u8) {
        match self {
            Self::Remembered => (6, 0x40),
            Self::Forgotten => (4, 0x00),
            Self::Never => (4, 0x10),
        }
    }
}

/// An integer with a prefix of so many bits, whose first byte has these other bits (RFC 7541 §5.1).
pub(crate) fn integer(value: u64, prefix: u32, flags: u8) -> Vec<u8> {
    let full = (1u64 << prefix) - 1;
    if value < full {
        return vec![flags | value as u8];
    }
    let (mut bytes, mut left) = (vec![flags | full as u8], value - full);
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
    bytes
}

/// A string as it is (RFC 7541 §5.2).
pub(crate) fn plain(text: &str) -> Vec<u8> {
    [integer(text.len() as u64, 7, 0), text.as_bytes().to_vec()].concat()
}

/// A string that is said to be Huffman-coded.
pub(crate) fn coded(code: &[u8]) -> Vec<u8> {
    [integer(code.len() as u64, 7, 0x80), code.to_vec()].concat()
}

/// A field of the tables.
pub(crate) fn indexed(index: u64) -> Vec<u8> {
    integer(index, 7, 0x80)
}

/// A field whose name and value are strings that are already written.
pub(crate) fn literal(kind: Literal, name: &[u8], value: &[u8]) -> Vec<u8> {
    [&[kind.prefix().1], name, value].concat()
}

/// A field whose name is in the tables, and whose value is a string that is already written.
pub(crate) fn named(kind: Literal, index: u64, value: &[u8]) -> Vec<u8> {
    let (prefix, flags) = kind.prefix();
    [&integer(index, prefix, flags), value].concat()
}

/// A change of the table's size (RFC 7541 §6.3).
pub(crate) fn resize(bytes: u64) -> Vec<u8> {
    integer(bytes, 5, 0x20)
}

/// Fields in the simplest representation, so that whoever reads the evidence sees them.
pub(crate) fn fields<'f>(all: impl IntoIterator<Item = &'f (String, String)>) -> Vec<u8> {
    let field = |(name, value): &(String, String)| literal(Literal::Forgotten, &plain(name), &plain(value));
    all.into_iter().flat_map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_h2::hpack::Decoder;

    /// What stands in blocks, by a decoder that is judged by the RFC's own examples.
    fn read(block: &[u8]) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let read =
            Decoder::new(4096).decode(block, 1 << 20, |name, value| fields.push((text(name), text(value))));
        read.expect("a block");
        fields
    }

    #[test]
    fn what_is_written_is_read() {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let long = "v".repeat(300);
        let all = [field("a", "b"), field("c", &long)];
        assert_eq!(read(&fields(&all)), all);
        for kind in [Literal::Remembered, Literal::Forgotten, Literal::Never] {
            let block = [named(kind, 4, &plain("/x")), literal(kind, &plain("n"), &plain("v"))].concat();
            assert_eq!(read(&block), [field(":path", "/x"), field("n", "v")]);
        }
        let block = [resize(100), resize(4096), indexed(2), named(Literal::Never, 58, &plain("me"))].concat();
        assert_eq!(read(&block), [field(":method", "GET"), field("user-agent", "me")]);
    }
}
