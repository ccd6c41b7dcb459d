//! Field blocks: their decoding, and which representations they are made of.

use assay_h2::Code::*;
use assay_h2::hpack::Decoder;

use super::connection::{Connection, End, Taken};

/// A field, as name and value.
pub(super) type Field = (Vec<u8>, Vec<u8>);

/// Bytes of a list of fields that are told.
const LIST_BYTES: usize = 64 << 10;

/// Rules about blocks that cannot be decoded.
const UNDECODABLE: &[&str] = &[
    "h2-block-undecodable",
    "h2-block-cut",
    "h2-block-of-trailers",
    "h2-hpack-index-zero",
    "h2-hpack-index-beyond",
    "h2-hpack-remembered-beyond",
    "h2-hpack-forgotten-beyond",
    "h2-hpack-never-beyond",
    "h2-hpack-integer-huge",
    "h2-hpack-integer-endless",
    "h2-hpack-string-beyond",
    "h2-hpack-huffman-padding-long",
    "h2-hpack-huffman-padding-zero",
    "h2-hpack-huffman-end",
    "h2-hpack-resize-beyond",
    "h2-hpack-resize-at-end",
    "h2-hpack-resize-inside",
    "h2-hpack-forgets",
    "h2-hpack-forgets-secrets",
    "h2-hpack-resize-empties",
    "h2-hpack-resize-evicts",
    "h2-hpack-evicts-oldest",
    "h2-hpack-evicts-all",
];

impl Connection {
    /// The fields of a block, and whether there are more than it takes; nothing where it cannot be decoded and that is overlooked.
    pub(super) fn decode(&mut self, block: &[u8]) -> Result<Option<(Vec<Field>, bool)>, End> {
        self.check_representations(block)?;
        let resizes = block.first().is_some_and(|first| first & 0xe0 == 0x20);
        let is_untold = std::mem::take(&mut self.awaits_change) && !resizes;
        self.wrong(is_untold, &[], CompressionError)?;
        self.right(resizes, "h2-hpack-resize")?;
        self.right(resizes && block.get(1).is_some_and(|next| next & 0xe0 == 0x20), "h2-hpack-resize-twice")?;
        if self.breaks("h2-hpack-remembers") || (resizes && self.breaks("h2-hpack-resize-keeps")) {
            self.decoder = Decoder::new(4096);
        }
        let mut fields = Vec::new();
        let told = |name: &[u8], value: &[u8]| fields.push((name.to_vec(), value.to_vec()));
        let size = self.decoder.decode(block, LIST_BYTES, told);
        if self.wrong(size.is_err(), UNDECODABLE, CompressionError)? {
            return Ok(None);
        }
        Ok(Some((fields, size.is_ok_and(|size| size > LIST_BYTES))))
    }

    /// Objects to the representation that it is told to object to.
    fn check_representations(&self, block: &[u8]) -> Taken {
        let has = |text: &[u8]| block.windows(text.len()).any(|window| window == text);
        let begins_with_index = block.first().is_some_and(|first| first & 0x80 != 0);
        self.right(begins_with_index, "h2-hpack-usual")?;
        self.right(begins_with_index, "h2-hpack-indexed")?;
        self.right(has(b"x-long"), "h2-hpack-long-string")?;
        self.right(has(b"x-test"), "h2-hpack-remembers-in-block")?;
        for representation in representations(block) {
            let is_usual = representation == "forgotten-new" && !has(b"x-test");
            self.right(!is_usual, &format!("h2-hpack-{representation}"))?;
            self.right(representation == "forgotten-dynamic", "h2-hpack-remembers-names")?;
        }
        Ok(())
    }
}

/// The literals of a block, each by its kind, by whether its name is an index and whether its strings are coded.
fn representations(block: &[u8]) -> Vec<String> {
    let (mut at, mut found) = (0, Vec::new());
    while let Some(first) = block.get(at).copied() {
        let (kind, prefix) = match first {
            0x80.. => ("", 7),
            0x40..=0x7f => ("remembered", 6),
            0x20..=0x3f => ("", 5),
            0x10..=0x1f => ("never", 4),
            _ => ("forgotten", 4),
        };
        let Some((index, used)) = integer(&block[at..], prefix) else { break };
        at += used;
        if kind.is_empty() {
            continue;
        }
        let mut coded = false;
        for _ in 0..if index == 0 { 2 } else { 1 } {
            let Some((length, used)) = block.get(at..).and_then(|rest| integer(rest, 7)) else {
                return found;
            };
            coded |= block[at] & 0x80 != 0;
            at += used + length;
        }
        let name = match index {
            0 => "new",
            1..=61 => "named",
            _ => "dynamic",
        };
        found.push(format!("{kind}-{name}{}", if coded { "-huffman" } else { "" }));
    }
    found
}

/// An integer and its length (RFC 7541 §5.1), as long as it is a short one.
fn integer(bytes: &[u8], prefix: u32) -> Option<(usize, usize)> {
    let full = (1usize << prefix) - 1;
    let first = usize::from(*bytes.first()?) & full;
    if first < full {
        return Some((first, 1));
    }
    let mut value = full;
    for (place, byte) in bytes[1..].iter().enumerate().take(4) {
        value += usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((value, place + 2));
        }
    }
    None
}
