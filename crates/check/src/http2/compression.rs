//! Representations of fields, integers and strings (RFC 7541 §5, §6).

use assay_h2::Code::CompressionError;
use assay_h2::hpack::write_field;
use assay_model::conformance::Severity::Must;

use super::demands::{ends, serves};
use crate::objection::Keeping;
use crate::origin::Origin;
use crate::peer::block::{Literal, coded, indexed, integer, literal, named, plain, resize};
use crate::peer::frame::{END_HEADERS, END_STREAM, headers};
use crate::rule::Rule;

/// `custom-key` and `custom-value`, Huffman-coded (RFC 7541 §C.6.3, §C.4.3).
const NAME: &[u8] = &[0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9, 0x7d, 0x7f];
const VALUE: &[u8] = &[0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf];
/// Where `user-agent` stands in the static table.
const USER_AGENT: u64 = 58;
/// An index beyond both tables, where nothing was remembered.
const BEYOND: u64 = 70;

pub(super) const RULES: &[Rule] = &[
    Rule::of_http2(
        "h2-hpack-usual",
        Must,
        "RFC 7541 §6",
        "A block as clients write it, of indices and Huffman codes, is understood.",
        |origin| {
            let mut block = Vec::new();
            for (name, value) in origin.fields() {
                write_field(name.as_bytes(), value.as_bytes(), &mut block);
            }
            serves_block(origin, &block)
        },
    ),
    Rule::of_http2(
        "h2-hpack-indexed",
        Must,
        "RFC 7541 §6.1",
        "An indexed field of the static table is understood.",
        |origin| {
            let fields = origin.fields();
            let (method, rest) = (indexed(2), crate::peer::block::fields(&fields[1..]));
            serves_block(origin, &[method, rest].concat())
        },
    ),
    Rule::of_http2(
        "h2-hpack-remembered-named",
        Must,
        "RFC 7541 §6.2.1",
        "A literal with incremental indexing whose name is an index is understood.",
        |origin| serves_with(origin, &named(Literal::Remembered, USER_AGENT, &plain("assay"))),
    ),
    Rule::of_http2(
        "h2-hpack-remembered-named-huffman",
        Must,
        "RFC 7541 §6.2.1",
        "A literal with incremental indexing whose name is an index and whose value is Huffman-coded is understood.",
        |origin| serves_with(origin, &named(Literal::Remembered, USER_AGENT, &coded(VALUE))),
    ),
    Rule::of_http2(
        "h2-hpack-remembered-new",
        Must,
        "RFC 7541 §6.2.1",
        "A literal with incremental indexing and a new name is understood.",
        |origin| serves_with(origin, &literal(Literal::Remembered, &plain("x-test"), &plain("ok"))),
    ),
    Rule::of_http2(
        "h2-hpack-remembered-new-huffman",
        Must,
        "RFC 7541 §6.2.1",
        "A literal with incremental indexing and a new name, both Huffman-coded, is understood.",
        |origin| serves_with(origin, &literal(Literal::Remembered, &coded(NAME), &coded(VALUE))),
    ),
    Rule::of_http2(
        "h2-hpack-forgotten-named",
        Must,
        "RFC 7541 §6.2.2",
        "A literal without indexing whose name is an index is understood.",
        |origin| serves_with(origin, &named(Literal::Forgotten, USER_AGENT, &plain("assay"))),
    ),
    Rule::of_http2(
        "h2-hpack-forgotten-named-huffman",
        Must,
        "RFC 7541 §6.2.2",
        "A literal without indexing whose name is an index and whose value is Huffman-coded is understood.",
        |origin| serves_with(origin, &named(Literal::Forgotten, USER_AGENT, &coded(VALUE))),
    ),
    Rule::of_http2(
        "h2-hpack-forgotten-new",
        Must,
        "RFC 7541 §6.2.2",
        "A literal without indexing and with a new name is understood.",
        |origin| serves_with(origin, &literal(Literal::Forgotten, &plain("x-test"), &plain("ok"))),
    ),
    Rule::of_http2(
        "h2-hpack-forgotten-new-huffman",
        Must,
        "RFC 7541 §6.2.2",
        "A literal without indexing and with a new name, both Huffman-coded, is understood.",
        |origin| serves_with(origin, &literal(Literal::Forgotten, &coded(NAME), &coded(VALUE))),
    ),
    Rule::of_http2(
        "h2-hpack-never-named",
        Must,
        "RFC 7541 §6.2.3",
        "A literal that is never indexed and whose name is an index is understood.",
        |origin| serves_with(origin, &named(Literal::Never, USER_AGENT, &plain("assay"))),
    ),
    Rule::of_http2(
        "h2-hpack-never-named-huffman",
        Must,
        "RFC 7541 §6.2.3",
        "A literal that is never indexed, whose name is an index and whose value is Huffman-coded, is understood.",
        |origin| serves_with(origin, &named(Literal::Never, USER_AGENT, &coded(VALUE))),
    ),
    Rule::of_http2(
        "h2-hpack-never-new",
        Must,
        "RFC 7541 §6.2.3",
        "A literal that is never indexed and has a new name is understood.",
        |origin| serves_with(origin, &literal(Literal::Never, &plain("x-test"), &plain("ok"))),
    ),
    Rule::of_http2(
        "h2-hpack-never-new-huffman",
        Must,
        "RFC 7541 §6.2.3",
        "A literal that is never indexed and has a new name, both Huffman-coded, is understood.",
        |origin| serves_with(origin, &literal(Literal::Never, &coded(NAME), &coded(VALUE))),
    ),
    Rule::of_http2(
        "h2-hpack-long-string",
        Must,
        "RFC 7541 §5.1",
        "A string whose length takes several bytes is understood.",
        |origin| {
            serves_with(origin, &literal(Literal::Forgotten, &plain("x-long"), &plain(&"v".repeat(1000))))
        },
    ),
    Rule::of_http2(
        "h2-hpack-index-zero",
        Must,
        "RFC 7541 §6.1",
        "The index 0 ends the connection (COMPRESSION_ERROR).",
        |origin| undecodable(origin, &indexed(0)),
    ),
    Rule::of_http2(
        "h2-hpack-index-beyond",
        Must,
        "RFC 7541 §2.3.3",
        "An index beyond both tables ends the connection (COMPRESSION_ERROR).",
        |origin| undecodable(origin, &indexed(BEYOND)),
    ),
    Rule::of_http2(
        "h2-hpack-remembered-beyond",
        Must,
        "RFC 7541 §2.3.3",
        "A literal with incremental indexing whose name is beyond both tables ends the connection (COMPRESSION_ERROR).",
        |origin| undecodable(origin, &named(Literal::Remembered, BEYOND, &plain("x"))),
    ),
    Rule::of_http2(
        "h2-hpack-forgotten-beyond",
        Must,
        "RFC 7541 §2.3.3",
        "A literal without indexing whose name is beyond both tables ends the connection (COMPRESSION_ERROR).",
        |origin| undecodable(origin, &named(Literal::Forgotten, BEYOND, &plain("x"))),
    ),
    Rule::of_http2(
        "h2-hpack-never-beyond",
        Must,
        "RFC 7541 §2.3.3",
        "A literal that is never indexed and whose name is beyond both tables ends the connection (COMPRESSION_ERROR).",
        |origin| undecodable(origin, &named(Literal::Never, BEYOND, &plain("x"))),
    ),
    Rule::of_http2(
        "h2-hpack-integer-huge",
        Must,
        "RFC 7541 §5.1",
        "An integer that is too large for any use ends the connection (COMPRESSION_ERROR).",
        |origin| undecodable(origin, &[&[0xff; 10][..], &[0x7f]].concat()),
    ),
    Rule::of_http2(
        "h2-hpack-integer-endless",
        Must,
        "RFC 7541 §5.1",
        "An integer that does not end ends the connection (COMPRESSION_ERROR).",
        |origin| undecodable(origin, &[&[0xff][..], &[0x80; 200]].concat()),
    ),
    Rule::of_http2(
        "h2-hpack-string-beyond",
        Must,
        "RFC 7541 §5.2",
        "A string that is longer than its block ends the connection (COMPRESSION_ERROR).",
        |origin| {
            let value = [integer(100, 7, 0), b"short".to_vec()].concat();
            undecodable(origin, &literal(Literal::Forgotten, &plain("x-test"), &value))
        },
    ),
    Rule::of_http2(
        "h2-hpack-huffman-padding-long",
        Must,
        "RFC 7541 §5.2",
        "A Huffman code with more than seven bits of padding ends the connection (COMPRESSION_ERROR).",
        |origin| huffman(origin, &[0x49, 0x50, 0x9f, 0xff]),
    ),
    Rule::of_http2(
        "h2-hpack-huffman-padding-zero",
        Must,
        "RFC 7541 §5.2",
        "A Huffman code padded with zeros ends the connection (COMPRESSION_ERROR).",
        |origin| huffman(origin, &[0x49, 0x50, 0x90]),
    ),
    Rule::of_http2(
        "h2-hpack-huffman-end",
        Must,
        "RFC 7541 §5.2",
        "A Huffman code with the symbol EOS ends the connection (COMPRESSION_ERROR).",
        |origin| huffman(origin, &[0xff, 0xff, 0xff, 0xfd, 0x25, 0x42, 0x7f]),
    ),
    Rule::of_http2(
        "h2-hpack-resize-beyond",
        Must,
        "RFC 7541 §6.3",
        "A table that is made larger than SETTINGS_HEADER_TABLE_SIZE ends the connection (COMPRESSION_ERROR).",
        |origin| {
            let block = [resize(u64::from(origin.theirs.table) + 1), origin.block()].concat();
            ends(origin, &[headers(1, END_STREAM | END_HEADERS, &block)], &[CompressionError])
        },
    ),
    Rule::of_http2(
        "h2-hpack-resize-at-end",
        Must,
        "RFC 7541 §4.2",
        "A change of the table's size at the end of a block ends the connection (COMPRESSION_ERROR).",
        |origin| undecodable(origin, &resize(1)),
    ),
    Rule::of_http2(
        "h2-hpack-resize-inside",
        Must,
        "RFC 7541 §4.2",
        "A change of the table's size between two fields ends the connection (COMPRESSION_ERROR).",
        |origin| {
            let field = literal(Literal::Forgotten, &plain("x-test"), &plain("ok"));
            undecodable(origin, &[resize(1), field].concat())
        },
    ),
];

/// Demands that a request of this block is served.
fn serves_block(origin: &Origin, block: &[u8]) -> Keeping {
    serves(origin, &[headers(1, END_STREAM | END_HEADERS, block)])
}

/// Demands that the plain request is served with this behind its fields.
fn serves_with(origin: &Origin, more: &[u8]) -> Keeping {
    serves_block(origin, &[&origin.block()[..], more].concat())
}

/// Demands that this behind the plain request's fields is not understood.
fn undecodable(origin: &Origin, more: &[u8]) -> Keeping {
    let block = [&origin.block()[..], more].concat();
    ends(origin, &[headers(1, END_STREAM | END_HEADERS, &block)], &[CompressionError])
}

/// Demands that a value of this code is not understood.
fn huffman(origin: &Origin, code: &[u8]) -> Keeping {
    undecodable(origin, &literal(Literal::Forgotten, &plain("x-test"), &coded(code)))
}
