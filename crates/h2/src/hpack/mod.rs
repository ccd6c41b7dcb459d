//! Compressed heads: HPACK (RFC 7541), both ways and whole.

mod decode;
mod encode;
mod huffman;
mod integer;
mod static_table;
mod table;
#[cfg(test)]
mod tests;

pub use decode::Decoder;
pub use encode::{Encoder, Indexing, write_field};

/// A block that cannot be decoded. All that follows on the connection could not be either (RFC 7541 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HpackError {
    /// The block ends within a field.
    #[error("the header block ends within a field")]
    Truncated,
    /// An index that names no field (RFC 7541 §2.3.3).
    #[error("the header block refers to a field that is in no table")]
    Index,
    /// An integer larger than any index or length that could be meant (RFC 7541 §5.1).
    #[error("the header block has an integer of more than 32 bits")]
    Integer,
    /// Wrong padding, or the symbol that is never sent (RFC 7541 §5.2).
    #[error("the header block has a string that is no Huffman code")]
    Huffman,
    /// The table was made larger than it may be, or in the middle of a block (RFC 7541 §4.2, §6.3).
    #[error("the header block changes the table's size beyond its limit, or behind a field")]
    SizeUpdate,
}
