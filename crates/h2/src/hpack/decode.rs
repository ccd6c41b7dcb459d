//! From a block of bytes to fields.

use super::table::Table;
use super::{HpackError, huffman, integer};

/// What a field counts for beside its name and value (RFC 9113 §6.5.2).
const FIELD_BYTES: usize = 32;

/// The most that is kept of a table, however large the peer may make it: a name that is repeated by its index costs a byte there,
/// and its whole length here. No peer fills it with fields of its own.
const KEPT_BYTES: usize = 1 << 20;

/// The decoder of one direction of a connection: every block must pass through it, in order, even one that is refused.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    /// The size up to which the peer may let the table grow (SETTINGS_HEADER_TABLE_SIZE).
    limit: usize,
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Decoder {
    /// A decoder whose table is `limit` bytes large at most.
    pub fn new(limit: usize) -> Self {
        Self { table: Table::new(limit), limit, name: Vec::new(), value: Vec::new() }
    }

    /// Lets the peer make its table as large as `limit` from now on, as a later SETTINGS says.
    pub fn allow(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// A number that changes with the table: equal blocks mean equal fields while it stays the same.
    pub fn version(&self) -> u64 {
        self.table.version()
    }

    /// Tells each field of a block, and returns what the list counts for (RFC 9113 §6.5.2). Those beyond `most` bytes are
    /// not told, only counted: a block of a few kilobytes can stand for megabytes.
    ///
    /// # Errors
    /// The connection cannot go on: what follows would be decoded wrongly (COMPRESSION_ERROR).
    pub fn decode(
        &mut self,
        block: &[u8],
        most: usize,
        mut tell: impl FnMut(&[u8], &[u8]),
    ) -> Result<usize, HpackError> {
        let (mut rest, mut size, mut has_begun) = (block, 0usize, false);
        while let Some(&first) = rest.first() {
            if first & 0xe0 == 0x20 {
                rest = self.resize(rest, has_begun)?;
                continue;
            }
            has_begun = true;
            if first & 0x80 != 0 {
                let (index, used) = integer::read(rest, 7)?;
                rest = &rest[used..];
                let (name, value) = self.table.get(index).ok_or(HpackError::Index)?;
                count(&mut size, most, name, value, &mut tell);
            } else {
                rest = self.read_literal(rest, first)?;
                count(&mut size, most, &self.name, &self.value, &mut tell);
            }
        }
        Ok(size)
    }

    /// The table changes its size (RFC 7541 §6.3), which may happen at the beginning of a block only (§4.2).
    fn resize<'b>(&mut self, block: &'b [u8], has_begun: bool) -> Result<&'b [u8], HpackError> {
        let (max, used) = integer::read(block, 5)?;
        if has_begun || max > self.limit {
            return Err(HpackError::SizeUpdate);
        }
        self.table.resize(max.min(KEPT_BYTES));
        Ok(&block[used..])
    }

    /// Reads a literal field (RFC 7541 §6.2) into `name` and `value`, and remembers it if it is to be.
    fn read_literal<'b>(&mut self, block: &'b [u8], first: u8) -> Result<&'b [u8], HpackError> {
        let is_indexed = first & 0x40 != 0;
        let (index, used) = integer::read(block, if is_indexed { 6 } else { 4 })?;
        let mut rest = &block[used..];
        self.name.clear();
        if index == 0 {
            rest = read_string(rest, &mut self.name)?;
        } else {
            let (name, _) = self.table.get(index).ok_or(HpackError::Index)?;
            self.name.extend_from_slice(name);
        }
        self.value.clear();
        rest = read_string(rest, &mut self.value)?;
        if is_indexed {
            self.table.insert(&self.name, &self.value);
        }
        Ok(rest)
    }
}

#[inline]
fn count(size: &mut usize, most: usize, name: &[u8], value: &[u8], tell: &mut impl FnMut(&[u8], &[u8])) {
    *size = size.saturating_add(name.len() + value.len() + FIELD_BYTES);
    if *size <= most {
        tell(name, value);
    }
}

/// Reads a string (RFC 7541 §5.2) and appends it; returns what is behind it.
fn read_string<'b>(block: &'b [u8], out: &mut Vec<u8>) -> Result<&'b [u8], HpackError> {
    let is_coded = block.first().ok_or(HpackError::Truncated)? & 0x80 != 0;
    let (length, used) = integer::read(block, 7)?;
    let text = block[used..].get(..length).ok_or(HpackError::Truncated)?;
    if is_coded {
        huffman::decode(text, out)?;
    } else {
        out.extend_from_slice(text);
    }
    Ok(&block[used + length..])
}
