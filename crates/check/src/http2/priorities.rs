//! Priorities, which nobody heeds any more and everybody has to read (RFC 9113 §5.3, §6.3).

use assay_h2::Code::{FrameSizeError, ProtocolError};
use assay_h2::frame::Kind;
use assay_model::conformance::Severity::{Must, Should};

use super::demands::{ends, resets, resets_while_open, serves};
use crate::objection::Keeping;
use crate::origin::Origin;
use crate::peer::frame::{
    END_HEADERS, END_STREAM, Frame, PADDED, PRIORITY, dependence, headers, padded, priority,
};
use crate::rule::Rule;

/// The bit before the stream on which one depends alone.
const EXCLUSIVE: u32 = 1 << 31;

pub(super) const RULES: &[Rule] = &[
    Rule::of_http2(
        "h2-priority-least",
        Must,
        "RFC 9113 §6.3",
        "PRIORITY with the least weight, 1, is taken.",
        |origin| serves(origin, &[priority(1, 0, 0), origin.get(1)]),
    ),
    Rule::of_http2(
        "h2-priority-most",
        Must,
        "RFC 9113 §6.3",
        "PRIORITY with the greatest weight, 256, is taken.",
        |origin| serves(origin, &[priority(1, 0, 255), origin.get(1)]),
    ),
    Rule::of_http2(
        "h2-priority-dependent",
        Must,
        "RFC 9113 §6.3",
        "PRIORITY that names a stream that there is not is taken.",
        |origin| serves(origin, &[priority(1, 99, 15), origin.get(1)]),
    ),
    Rule::of_http2(
        "h2-priority-exclusive",
        Must,
        "RFC 9113 §6.3",
        "PRIORITY that is exclusive is taken.",
        |origin| serves(origin, &[priority(1, EXCLUSIVE, 15), origin.get(1)]),
    ),
    Rule::of_http2(
        "h2-priority-idle",
        Must,
        "RFC 9113 §6.3",
        "PRIORITY on a stream that nobody opens is taken.",
        |origin| serves(origin, &[priority(99, 0, 15), origin.get(1)]),
    ),
    Rule::of_http2("h2-headers-priority", Must, "RFC 9113 §6.2", "HEADERS may have a priority.", |origin| {
        let block = [dependence(0, 15), origin.block()].concat();
        serves(origin, &[headers(1, END_STREAM | END_HEADERS | PRIORITY, &block)])
    }),
    Rule::of_http2(
        "h2-headers-priority-padded",
        Must,
        "RFC 9113 §6.2",
        "HEADERS may have a priority and padding.",
        |origin| {
            let block = [dependence(0, 15), origin.block()].concat();
            let flags = END_STREAM | END_HEADERS | PRIORITY | PADDED;
            serves(origin, &[headers(1, flags, &padded(9, &block, 9))])
        },
    ),
    Rule::of_http2(
        "h2-headers-priority-cut",
        Must,
        "RFC 9113 §4.2",
        "HEADERS too short for the priority that they announce end the connection (FRAME_SIZE_ERROR).",
        |origin| {
            let frame = headers(1, END_STREAM | END_HEADERS | PRIORITY, &[0, 0, 0]);
            ends(origin, &[frame], &[FrameSizeError])
        },
    ),
    Rule::of_http2(
        "h2-priority-on-zero",
        Must,
        "RFC 9113 §6.3",
        "PRIORITY on stream 0 ends the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[priority(0, 1, 15)], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-priority-short",
        Must,
        "RFC 9113 §6.3",
        "PRIORITY of less than five bytes resets its stream (FRAME_SIZE_ERROR).",
        |origin| priority_of(origin, &[0, 0, 0, 0]),
    ),
    Rule::of_http2(
        "h2-priority-long",
        Must,
        "RFC 9113 §6.3",
        "PRIORITY of more than five bytes resets its stream (FRAME_SIZE_ERROR).",
        |origin| priority_of(origin, &[0, 0, 0, 0, 0, 0]),
    ),
    Rule::of_http2(
        "h2-priority-of-itself",
        Should,
        "RFC 7540 §5.3.1",
        "PRIORITY that makes a stream depend on itself resets it (PROTOCOL_ERROR).",
        |origin| resets_while_open(origin, &[origin.post(1, &[]), priority(1, 1, 15)], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-headers-priority-of-itself",
        Should,
        "RFC 7540 §5.3.1",
        "HEADERS that make a stream depend on itself reset it (PROTOCOL_ERROR).",
        |origin| {
            let block = [dependence(1, 15), origin.block()].concat();
            resets(origin, &[headers(1, END_STREAM | END_HEADERS | PRIORITY, &block)], &[ProtocolError])
        },
    ),
];

fn priority_of(origin: &Origin, payload: &[u8]) -> Keeping {
    let frames = [origin.post(1, &[]), Frame::new(Kind::Priority, 0, 1, payload)];
    resets_while_open(origin, &frames, &[FrameSizeError])
}
