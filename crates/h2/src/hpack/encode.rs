//! From fields to a block of bytes.

use super::static_table::{field_index, name_index};
use super::table::Table;
use super::{huffman, integer};

/// The size of a table as both sides assume it (RFC 9113 §6.5.2).
const DEFAULT_BYTES: usize = 4096;

/// The encoder of one direction of a connection.
#[derive(Debug)]
pub struct Encoder {
    table: Table,
    /// The size that the table has got and the peer has not been told of.
    resized: Option<usize>,
}

/// What becomes of a field in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// The field is remembered, and is a number from then on: for what comes again and again.
    Remember,
    /// The field is not remembered: for what changes every time.
    Forget,
    /// The field is not remembered, and must not be by anybody who passes it on (RFC 7541 §7.1.3): for secrets.
    Never,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { table: Table::new(DEFAULT_BYTES), resized: None }
    }
}

impl Encoder {
    /// The peer lets the table be so large (SETTINGS_HEADER_TABLE_SIZE); ours never is larger than the usual 4 KiB.
    pub fn limit(&mut self, bytes: usize) {
        let max = bytes.min(DEFAULT_BYTES);
        if max != self.table.max() {
            self.table.resize(max);
            self.resized = Some(max);
        }
    }

    /// A number that changes with the table: equal fields have equal blocks while it stays the same.
    pub fn version(&self) -> u64 {
        self.table.version()
    }

    /// Prepares for a block: a change of the table's size comes first (RFC 7541 §4.2).
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some(max) = self.resized.take() {
            integer::write(max, 5, 0x20, out);
            // The next block is another one: it does not say so again.
            self.table.resize(max);
        }
    }

    /// Appends a field.
    pub fn field(&mut self, name: &[u8], value: &[u8], indexing: Indexing, out: &mut Vec<u8>) {
        let (mut whole, mut named) = (field_index(name, value), name_index(name));
        if whole.is_none() {
            let (found, same_name) = self.table.find(name, value);
            (whole, named) = (found, named.or(same_name));
        }
        match (whole, indexing) {
            (Some(index), Indexing::Remember | Indexing::Forget) => integer::write(index, 7, 0x80, out),
            _ => {
                literal(named, name, value, indexing, out);
                if indexing == Indexing::Remember {
                    self.table.insert(name, value);
                }
            }
        }
    }
}

/// Appends a field by the static table alone, for a block that is written once and sent on any connection.
pub fn write_field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    match field_index(name, value) {
        Some(index) => integer::write(index, 7, 0x80, out),
        None => literal(name_index(name), name, value, Indexing::Forget, out),
    }
}

fn literal(named: Option<usize>, name: &[u8], value: &[u8], indexing: Indexing, out: &mut Vec<u8>) {
    let (prefix, flags) = match indexing {
        Indexing::Remember => (6, 0x40),
        Indexing::Forget => (4, 0x00),
        Indexing::Never => (4, 0x10),
    };
    integer::write(named.unwrap_or(0), prefix, flags, out);
    if named.is_none() {
        string(name, out);
    }
    string(value, out);
}

/// Appends a string, coded where that makes it shorter.
fn string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::encoded_len(text);
    if coded < text.len() {
        integer::write(coded, 7, 0x80, out);
        huffman::encode(text, out);
    } else {
        integer::write(text.len(), 7, 0, out);
        out.extend_from_slice(text);
    }
}
