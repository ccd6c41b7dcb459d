//! Field blocks and their frames (RFC 9113 §4.3, §6.2, §6.10).

use assay_h2::Code::{self, CompressionError, ProtocolError};
use assay_h2::frame::Kind;
use assay_model::conformance::Severity::{Must, Should};

use super::demands::{answers, ends, serves};
use crate::objection::Keeping;
use crate::origin::Origin;
use crate::peer::block;
use crate::peer::frame::{
    END_HEADERS, END_STREAM, Frame, PADDED, continuation, data, headers, padded, ping, priority, reset,
    settings, window_update,
};
use crate::rule::Rule;

/// What a field counts for beside its name and value (RFC 9113 §6.5.2).
const FIELD_BYTES: usize = 32;
const INTERRUPTED: &[Code] = &[ProtocolError];

pub(super) const RULES: &[Rule] = &[
    Rule::of_http2(
        "h2-continuation",
        Must,
        "RFC 9113 §6.10",
        "A field block may go on in a CONTINUATION.",
        |origin| serves(origin, &in_pieces(origin, 2)),
    ),
    Rule::of_http2(
        "h2-continuations",
        Must,
        "RFC 9113 §6.10",
        "A field block may go on in any number of CONTINUATIONs, cut anywhere.",
        |origin| serves(origin, &in_pieces(origin, 8)),
    ),
    Rule::of_http2(
        "h2-continuation-all",
        Must,
        "RFC 9113 §6.2",
        "HEADERS may be empty where a CONTINUATION follows.",
        |origin| {
            let frames = [headers(1, END_STREAM, &[]), continuation(1, END_HEADERS, &origin.block())];
            serves(origin, &frames)
        },
    ),
    Rule::of_http2(
        "h2-continuation-empty",
        Must,
        "RFC 9113 §6.10",
        "A CONTINUATION may be empty.",
        |origin| {
            let frames = [headers(1, END_STREAM, &origin.block()), continuation(1, END_HEADERS, &[])];
            serves(origin, &frames)
        },
    ),
    Rule::of_http2(
        "h2-continuation-unknown-flags",
        Must,
        "RFC 9113 §4.1",
        "Undefined flags of a CONTINUATION are ignored.",
        |origin| {
            let [first, second] = halves(origin);
            serves(origin, &[first, second.with_flags(END_HEADERS | 0xfb)])
        },
    ),
    Rule::of_http2("h2-headers-padded", Must, "RFC 9113 §6.2", "HEADERS may be padded.", |origin| {
        let payload = padded(20, &origin.block(), 20);
        serves(origin, &[headers(1, END_STREAM | END_HEADERS | PADDED, &payload)])
    }),
    Rule::of_http2(
        "h2-headers-padded-most",
        Must,
        "RFC 9113 §6.2",
        "HEADERS may have 255 bytes of padding.",
        |origin| {
            let payload = padded(255, &origin.block(), 255);
            serves(origin, &[headers(1, END_STREAM | END_HEADERS | PADDED, &payload)])
        },
    ),
    Rule::of_http2(
        "h2-headers-padding-too-long",
        Must,
        "RFC 9113 §6.2",
        "HEADERS whose padding is longer than they are end the connection (PROTOCOL_ERROR).",
        |origin| {
            let payload = padded(255, &origin.block()[..8], 0);
            ends(origin, &[headers(1, END_STREAM | END_HEADERS | PADDED, &payload)], &[ProtocolError])
        },
    ),
    Rule::of_http2(
        "h2-headers-on-zero",
        Must,
        "RFC 9113 §6.2",
        "HEADERS on stream 0 end the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[origin.get(0)], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-interrupted-by-data",
        Must,
        "RFC 9113 §6.10",
        "DATA inside a field block ends the connection (PROTOCOL_ERROR).",
        |origin| interrupted(origin, data(1, 0, b"data")),
    ),
    Rule::of_http2(
        "h2-interrupted-by-headers",
        Must,
        "RFC 9113 §6.2",
        "HEADERS of another stream inside a field block end the connection (PROTOCOL_ERROR).",
        |origin| interrupted(origin, origin.get(3)),
    ),
    Rule::of_http2(
        "h2-interrupted-by-own-headers",
        Must,
        "RFC 9113 §6.10",
        "HEADERS of the same stream inside its field block end the connection (PROTOCOL_ERROR).",
        |origin| interrupted(origin, origin.get(1)),
    ),
    Rule::of_http2(
        "h2-interrupted-by-priority",
        Must,
        "RFC 9113 §6.2",
        "PRIORITY inside a field block ends the connection (PROTOCOL_ERROR).",
        |origin| interrupted(origin, priority(1, 0, 0)),
    ),
    Rule::of_http2(
        "h2-interrupted-by-reset",
        Must,
        "RFC 9113 §6.10",
        "RST_STREAM inside a field block ends the connection (PROTOCOL_ERROR).",
        |origin| interrupted(origin, reset(1, Code::Cancel)),
    ),
    Rule::of_http2(
        "h2-interrupted-by-settings",
        Must,
        "RFC 9113 §6.10",
        "SETTINGS inside a field block end the connection (PROTOCOL_ERROR).",
        |origin| interrupted(origin, settings(&[])),
    ),
    Rule::of_http2(
        "h2-interrupted-by-ping",
        Must,
        "RFC 9113 §6.10",
        "A PING inside a field block ends the connection (PROTOCOL_ERROR).",
        |origin| interrupted(origin, ping(*b"inside!!")),
    ),
    Rule::of_http2(
        "h2-interrupted-by-window",
        Must,
        "RFC 9113 §6.10",
        "A WINDOW_UPDATE inside a field block ends the connection (PROTOCOL_ERROR).",
        |origin| interrupted(origin, window_update(0, 1)),
    ),
    Rule::of_http2(
        "h2-interrupted-by-unknown",
        Must,
        "RFC 9113 §5.5",
        "A frame of an unknown type inside a field block ends the connection (PROTOCOL_ERROR).",
        |origin| interrupted(origin, Frame::new(Kind::Unknown(0x16), 0, 0, b"unknown")),
    ),
    Rule::of_http2(
        "h2-continuation-of-another",
        Must,
        "RFC 9113 §6.10",
        "A CONTINUATION of another stream inside a field block ends the connection (PROTOCOL_ERROR).",
        |origin| interrupted(origin, continuation(3, END_HEADERS, &[0x82])),
    ),
    Rule::of_http2(
        "h2-continuation-on-zero",
        Must,
        "RFC 9113 §6.10",
        "A CONTINUATION on stream 0 ends the connection (PROTOCOL_ERROR).",
        |origin| interrupted(origin, continuation(0, END_HEADERS, &[0x82])),
    ),
    Rule::of_http2(
        "h2-continuation-behind-end",
        Must,
        "RFC 9113 §6.10",
        "A CONTINUATION behind HEADERS with END_HEADERS ends the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[origin.post(1, &[]), continuation(1, END_HEADERS, &[])], INTERRUPTED),
    ),
    Rule::of_http2(
        "h2-continuation-behind-last",
        Must,
        "RFC 9113 §6.10",
        "A CONTINUATION behind one with END_HEADERS ends the connection (PROTOCOL_ERROR).",
        |origin| {
            let [first, second] = halves(origin);
            let last = second.with_flags(END_HEADERS);
            ends(origin, &[first, last, continuation(1, END_HEADERS, &[])], INTERRUPTED)
        },
    ),
    Rule::of_http2(
        "h2-continuation-behind-data",
        Must,
        "RFC 9113 §6.10",
        "A CONTINUATION behind DATA ends the connection (PROTOCOL_ERROR).",
        |origin| {
            let frames = [origin.post(1, &[]), data(1, 0, b"data"), continuation(1, END_HEADERS, &[])];
            ends(origin, &frames, INTERRUPTED)
        },
    ),
    Rule::of_http2(
        "h2-continuation-of-nothing",
        Must,
        "RFC 9113 §6.10",
        "A CONTINUATION on a stream that nobody opened ends the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[continuation(1, END_HEADERS, &origin.block())], INTERRUPTED),
    ),
    Rule::of_http2(
        "h2-block-undecodable",
        Must,
        "RFC 9113 §4.3",
        "A field block that cannot be decoded ends the connection (COMPRESSION_ERROR).",
        |origin| undecodable(origin, &[0x40, 0x01, 0xff, 0xff, 0xff]),
    ),
    Rule::of_http2(
        "h2-block-cut",
        Must,
        "RFC 9113 §4.3",
        "A field block that ends inside a field ends the connection (COMPRESSION_ERROR).",
        |origin| undecodable(origin, &[0x00, 0x05, b'x']),
    ),
    Rule::of_http2(
        "h2-block-of-trailers",
        Must,
        "RFC 9113 §4.3",
        "Trailers that cannot be decoded end the connection (COMPRESSION_ERROR).",
        |origin| {
            let frames = [
                origin.post(1, &[]),
                data(1, 0, b"body"),
                headers(1, END_STREAM | END_HEADERS, &[0x00, 0x05, b'x']),
            ];
            ends(origin, &frames, &[CompressionError])
        },
    ),
    Rule::of_http2(
        "h2-headers-end-behind-continuation",
        Must,
        "RFC 9113 §6.2",
        "END_STREAM on HEADERS counts, whatever CONTINUATIONs follow.",
        |origin| {
            let [first, second] = halves(origin);
            answers(origin, &[first, second.with_flags(END_HEADERS)])
        },
    ),
    Rule::of_http2(
        "h2-headers-long",
        Should,
        "house rule",
        "A head of 24 KiB, or as long as SETTINGS_MAX_HEADER_LIST_SIZE allows, is answered or refused with a status.",
        headers_long,
    ),
];

/// The plain request, its block cut into so many pieces.
fn in_pieces(origin: &Origin, pieces: usize) -> Vec<Frame> {
    let block = origin.block();
    let mut fragments: Vec<&[u8]> = block.chunks(block.len().div_ceil(pieces)).collect();
    let last = fragments.pop().unwrap_or_default();
    let mut frames: Vec<Frame> = Vec::new();
    for fragment in fragments {
        frames.push(match frames.is_empty() {
            true => headers(1, END_STREAM, fragment),
            false => continuation(1, 0, fragment),
        });
    }
    frames.push(continuation(1, END_HEADERS, last));
    frames
}

/// The plain request in two frames, neither of which says that the block ends.
fn halves(origin: &Origin) -> [Frame; 2] {
    let block = origin.block();
    let (first, second) = block.split_at(block.len() / 2);
    [headers(1, END_STREAM, first), continuation(1, 0, second)]
}

/// Demands that a frame inside a field block ends the connection.
fn interrupted(origin: &Origin, by: Frame) -> Keeping {
    let [first, second] = halves(origin);
    ends(origin, &[first, by, second.with_flags(END_HEADERS)], INTERRUPTED)
}

/// Demands that these bytes, at the end of the plain request's block, are not understood.
fn undecodable(origin: &Origin, more: &[u8]) -> Keeping {
    let block = [origin.block(), more.to_vec()].concat();
    ends(origin, &[headers(1, END_STREAM | END_HEADERS, &block)], &[CompressionError])
}

fn headers_long(origin: &Origin) -> Keeping {
    let fields = origin.fields_with("GET", &[("x-long", "")]);
    let counted: usize = fields.iter().map(|(name, value)| name.len() + value.len() + FIELD_BYTES).sum();
    let room = (24 << 10).min(origin.theirs.list as usize).saturating_sub(counted);
    let fields = origin.fields_with("GET", &[("x-long", &"x".repeat(room))]);
    let block = block::fields(&fields);
    let (first, rest) = block.split_at(block.len() / 2);
    answers(origin, &[headers(1, END_STREAM, first), continuation(1, END_HEADERS, rest)])
}
