//! The table that both sides keep of what was said: who keeps it wrongly takes one request for another (RFC 7541 §2.3, §4).

use assay_h2::Code::{self, CompressionError};
use assay_model::conformance::Severity::{Must, Should};

use crate::objection::{Keeping, Objection};
use crate::origin::{Origin, request};
use crate::peer::block::{Literal, indexed, literal, named, plain, resize};
use crate::peer::frame::{END_HEADERS, END_STREAM, Frame, data, headers, reset};
use crate::peer::{ENABLE_PUSH, Heard, INITIAL_WINDOW, Peer, TABLE_BYTES};
use crate::rule::Rule;

/// The index of what was remembered last, and of what was remembered before that.
const NEWEST: u64 = 62;
const SECOND: u64 = 63;

pub(super) const RULES: &[Rule] = &[
    Rule::of_http2(
        "h2-hpack-remembers",
        Must,
        "RFC 7541 §2.2",
        "Fields that one request has told may be indices in the next, the newest first.",
        |origin| refers(origin, &mut taught(origin)?),
    ),
    Rule::of_http2(
        "h2-hpack-remembers-in-block",
        Must,
        "RFC 7541 §2.3.2",
        "A field may be an index later in the same block.",
        |origin| {
            origin.needs_table(entry_bytes("x-test", "1"))?;
            let [method, scheme, path, authority] = pseudo(origin, Literal::Remembered)?;
            let again = [indexed(NEWEST), named(Literal::Forgotten, NEWEST, &plain("2"))].concat();
            let field = literal(Literal::Remembered, &plain("x-test"), &plain("1"));
            let block = [method, scheme, path, authority, field, again].concat();
            serves(origin, &mut origin.open()?, 1, &block)
        },
    ),
    Rule::of_http2(
        "h2-hpack-remembers-names",
        Must,
        "RFC 7541 §6.2",
        "The name of a field that was told may be an index, with another value.",
        |origin| {
            let mut peer = taught(origin)?;
            let [method, scheme, _, _] = pseudo(origin, Literal::Forgotten)?;
            let path = named(Literal::Forgotten, SECOND, &plain(&origin.target.path));
            let authority = named(Literal::Forgotten, NEWEST, &plain(&origin.target.host));
            serves(origin, &mut peer, 3, &[method, scheme, path, authority].concat())
        },
    ),
    Rule::of_http2(
        "h2-hpack-remembers-refused",
        Must,
        "RFC 9113 §4.3",
        "What a malformed request has told counts in the table, if the connection goes on.",
        |origin| {
            origin.needs_streams(2)?;
            let mut wrong = block_of(origin, Literal::Remembered)?;
            wrong.splice(0..0, literal(Literal::Forgotten, &plain(":test"), &plain("no")));
            unless_ended(remembers(origin, &[headers(1, END_STREAM | END_HEADERS, &wrong)]))
        },
    ),
    Rule::of_http2(
        "h2-hpack-remembers-reset",
        Must,
        "RFC 9113 §4.3",
        "What a request has told that was reset at once counts in the table.",
        |origin| remembers(origin, &[teaching(origin, 1, 0), reset(1, Code::Cancel)]),
    ),
    Rule::of_http2(
        "h2-hpack-remembers-trailers",
        Must,
        "RFC 9113 §4.3",
        "What trailers have told counts in the table.",
        |origin| {
            origin.needs_streams(2)?;
            origin.needs_table(entry_bytes("x-trailer", "1"))?;
            let trailer = literal(Literal::Remembered, &plain("x-trailer"), &plain("1"));
            let end = headers(1, END_STREAM | END_HEADERS, &trailer);
            let mut peer = origin.open()?;
            peer.send(&[origin.post(1, &[]), data(1, 0, b"body"), end])?;
            let block = [origin.block(), indexed(NEWEST)].concat();
            serves(origin, &mut peer, 3, &block)
        },
    ),
    Rule::of_http2(
        "h2-hpack-forgets",
        Must,
        "RFC 7541 §6.2.2",
        "A literal without indexing is not remembered: its index ends the connection (COMPRESSION_ERROR).",
        |origin| forgets(origin, &[], &[literal(Literal::Forgotten, &plain("x-test"), &plain("1"))], NEWEST),
    ),
    Rule::of_http2(
        "h2-hpack-forgets-secrets",
        Must,
        "RFC 7541 §6.2.3",
        "A literal that is never indexed is not remembered: its index ends the connection (COMPRESSION_ERROR).",
        |origin| forgets(origin, &[], &[literal(Literal::Never, &plain("x-test"), &plain("1"))], NEWEST),
    ),
    Rule::of_http2(
        "h2-hpack-resize",
        Must,
        "RFC 7541 §6.3",
        "A change of the table's size at the beginning of a block is taken.",
        |origin| {
            origin.needs_table(1024)?;
            serves(origin, &mut origin.open()?, 1, &[resize(1024), origin.block()].concat())
        },
    ),
    Rule::of_http2(
        "h2-hpack-resize-twice",
        Must,
        "RFC 7541 §4.2",
        "Two changes of the table's size at the beginning of a block are taken.",
        |origin| {
            origin.needs_table(4096)?;
            serves(origin, &mut origin.open()?, 1, &[resize(0), resize(4096), origin.block()].concat())
        },
    ),
    Rule::of_http2(
        "h2-hpack-resize-empties",
        Must,
        "RFC 7541 §4.3",
        "A table of no size remembers nothing.",
        |origin| forgets(origin, &resize(0), &[remembered("x-test", 1)], NEWEST),
    ),
    Rule::of_http2(
        "h2-hpack-resize-evicts",
        Must,
        "RFC 7541 §4.3",
        "A table that is made smaller forgets what it held, also when it is made larger again.",
        |origin| {
            origin.needs_table(4096)?;
            let mut peer = taught(origin)?;
            let block = [resize(0), resize(4096), origin.block(), indexed(NEWEST)].concat();
            peer.send(&[headers(3, END_STREAM | END_HEADERS, &block)])?;
            peer.ends(&[CompressionError])
        },
    ),
    Rule::of_http2(
        "h2-hpack-resize-keeps",
        Must,
        "RFC 7541 §4.3",
        "A table that is made smaller keeps the newest that still fit.",
        |origin| {
            let mut peer = taught(origin)?;
            let room = entry_bytes(":authority", &origin.target.host);
            let [method, scheme, path, _] = pseudo(origin, Literal::Forgotten)?;
            let block = [resize(room as u64), method, scheme, path, indexed(NEWEST)].concat();
            serves(origin, &mut peer, 3, &block)
        },
    ),
    Rule::of_http2(
        "h2-hpack-evicts-oldest",
        Must,
        "RFC 7541 §4.4",
        "What does not fit into the table pushes out the oldest.",
        |origin| {
            origin.needs_table(120)?;
            // Each counts for 6 + 1 + 32 bytes: three fit into 120, the first of four is gone.
            let four = ["x-tes1", "x-tes2", "x-tes3", "x-tes4"].map(|name| remembered(name, 1));
            forgets(origin, &resize(120), &four, NEWEST + 3)
        },
    ),
    Rule::of_http2(
        "h2-hpack-evicts-all",
        Must,
        "RFC 7541 §4.4",
        "A field that is larger than the table empties it.",
        |origin| {
            origin.needs_table(120)?;
            forgets(origin, &resize(120), &[remembered("x-test", 1), remembered("x-large", 200)], NEWEST)
        },
    ),
    Rule::of_http2(
        "h2-hpack-table-obeyed",
        Must,
        "RFC 9113 §6.5.2",
        "A client that keeps no table (SETTINGS_HEADER_TABLE_SIZE 0) gets answers that it can read.",
        |origin| {
            let mut peer = without_table(origin)?;
            [1, 3].into_iter().try_for_each(|stream| origin.serves(&mut peer, stream))
        },
    ),
    Rule::of_http2(
        "h2-hpack-shrink-told",
        Should,
        "RFC 7541 §4.2",
        "A server that is told to keep a smaller table says so at the beginning of its next block.",
        shrink_told,
    ),
];

/// The four pseudo-header fields, the last two in this representation.
fn pseudo(origin: &Origin, kind: Literal) -> Result<[Vec<u8>; 4], Objection> {
    let fields = origin.fields();
    let [method, scheme, path, authority] = fields.as_slice() else {
        return Err(Objection::not_applicable("its request has other fields"));
    };
    let simple = |(name, value): &(String, String)| literal(Literal::Forgotten, &plain(name), &plain(value));
    let written = |(name, value): &(String, String)| literal(kind, &plain(name), &plain(value));
    Ok([simple(method), simple(scheme), written(path), written(authority)])
}

fn block_of(origin: &Origin, kind: Literal) -> Result<Vec<u8>, Objection> {
    Ok(pseudo(origin, kind)?.concat())
}

/// The plain request, whose path and authority are to be remembered.
fn teaching(origin: &Origin, stream: u32, flags: u8) -> Frame {
    headers(stream, flags | END_HEADERS, &block_of(origin, Literal::Remembered).unwrap_or_default())
}

/// What a field counts for in the table (RFC 7541 §4.1).
fn entry_bytes(name: &str, value: &str) -> usize {
    name.len() + value.len() + 32
}

/// For rules about path and authority in the table.
fn needs_room(origin: &Origin) -> Keeping {
    let [path, host] = [&origin.target.path, &origin.target.host];
    origin.needs_table(entry_bytes(":path", path) + entry_bytes(":authority", host))
}

/// A connection on which path and authority were told, and a request answered.
fn taught(origin: &Origin) -> Result<Peer, Objection> {
    needs_room(origin)?;
    let mut peer = origin.open()?;
    peer.send(&[teaching(origin, 1, END_STREAM)])?;
    origin.plain(&mut peer, 1)?;
    Ok(peer)
}

/// Demands that the plain answer comes to a request whose path and authority are what these frames have told.
fn remembers(origin: &Origin, frames: &[Frame]) -> Keeping {
    needs_room(origin)?;
    let mut peer = origin.open()?;
    peer.send(frames)?;
    refers(origin, &mut peer)
}

/// Demands that a request is served on stream 3 whose path and authority are the last that the table has.
fn refers(origin: &Origin, peer: &mut Peer) -> Keeping {
    let [method, scheme, _, _] = pseudo(origin, Literal::Forgotten)?;
    serves(origin, peer, 3, &[method, scheme, indexed(SECOND), indexed(NEWEST)].concat())
}

/// Demands that a request of this block is served.
fn serves(origin: &Origin, peer: &mut Peer, stream: u32, block: &[u8]) -> Keeping {
    peer.send(&[headers(stream, END_STREAM | END_HEADERS, block)])?;
    origin.plain(peer, stream)
}

/// Demands that an index means nothing behind these fields, in a table of this size.
fn forgets(origin: &Origin, size: &[u8], fields: &[Vec<u8>], index: u64) -> Keeping {
    let first = [size, &origin.block(), &fields.concat()].concat();
    let mut peer = origin.open()?;
    serves(origin, &mut peer, 1, &first)?;
    let second = [origin.block(), indexed(index)].concat();
    peer.send(&[headers(3, END_STREAM | END_HEADERS, &second)])?;
    peer.ends(&[CompressionError])
}

/// A field to be remembered, with a value of so many bytes.
fn remembered(name: &str, bytes: usize) -> Vec<u8> {
    literal(Literal::Remembered, &plain(name), &plain(&"v".repeat(bytes)))
}

/// A server may end the connection for what came before; then there is nothing to be remembered.
fn unless_ended(keeping: Keeping) -> Keeping {
    let compression = CompressionError.to_string();
    match keeping {
        Err(Objection::Broken(why)) if why.starts_with("it end") && !why.contains(&compression) => {
            Err(Objection::not_applicable("it ends the connection for a malformed request"))
        }
        other => other,
    }
}

fn without_table(origin: &Origin) -> Result<Peer, Objection> {
    let mut peer = origin.open_with(&[(ENABLE_PUSH, 0), (INITIAL_WINDOW, 1 << 30), (TABLE_BYTES, 0)])?;
    peer.widen()?;
    Ok(peer)
}

fn shrink_told(origin: &Origin) -> Keeping {
    let mut peer = without_table(origin)?;
    peer.send(&[request(1, END_STREAM, &origin.fields())])?;
    let deadline = peer.deadline();
    loop {
        match peer.must_hear(deadline, "head of an answer")? {
            // RFC 7541 §6.3: the first three bits of a change are 001.
            Heard::Fields { stream: 1, block, .. } => {
                let told = block.first().is_some_and(|first| first & 0xe0 == 0x20);
                return peer.demand(told, "its first block does not begin with a change of the table's size");
            }
            Heard::End => return Err(peer.fault("it ended the connection")),
            _ => {}
        }
    }
}
