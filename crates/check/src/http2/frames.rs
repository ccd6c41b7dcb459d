//! Frames: what is ignored in them, how long they may be, and however they arrive (RFC 9113 §4.1, §4.2, §5.5).

use assay_h2::Code::FrameSizeError;
use assay_h2::frame::{FRAME_BYTES, Kind};
use assay_model::conformance::Severity::Must;

use super::demands::{answers, ends, passes_over, resets, serves};
use crate::objection::{Keeping, Objection};
use crate::origin::Origin;
use crate::peer::Heard;
use crate::peer::frame::{
    END_HEADERS, END_STREAM, Frame, continuation, data, go_away, headers, ping, priority, settings,
    window_update,
};
use crate::rule::Rule;

/// A type of frame that nobody has defined.
const UNKNOWN: Kind = Kind::Unknown(0x16);
/// Frames that are longer than a server takes are not sent where it takes more than this.
const LONGEST_BYTES: u32 = 1 << 20;

pub(super) const RULES: &[Rule] = &[
    Rule::of_http2(
        "h2-unknown-type",
        Must,
        "RFC 9113 §4.1",
        "A frame of an unknown type is ignored.",
        |origin| passes_over(origin, &[Frame::new(UNKNOWN, 0, 0, b"unknown")]),
    ),
    Rule::of_http2(
        "h2-unknown-type-on-stream",
        Must,
        "RFC 9113 §5.5",
        "A frame of an unknown type inside a request is ignored.",
        |origin| {
            let unknown = Frame::new(UNKNOWN, 0xff, 1, b"unknown");
            answers(origin, &[origin.post(1, &[]), unknown, data(1, END_STREAM, b"body")])
        },
    ),
    Rule::of_http2(
        "h2-unknown-type-longest",
        Must,
        "RFC 9113 §4.2",
        "A frame of an unknown type may have 16,384 bytes.",
        |origin| passes_over(origin, &[Frame::new(UNKNOWN, 0, 0, &[0; FRAME_BYTES])]),
    ),
    Rule::of_http2(
        "h2-unknown-flags-ping",
        Must,
        "RFC 9113 §4.1",
        "Undefined flags of a PING are ignored.",
        |origin| pong(origin, ping(*b"flagged!").with_flags(0xfe)),
    ),
    Rule::of_http2(
        "h2-unknown-flags-settings",
        Must,
        "RFC 9113 §4.1",
        "Undefined flags of SETTINGS are ignored.",
        |origin| passes_over(origin, &[settings(&[]).with_flags(0xfe)]),
    ),
    Rule::of_http2(
        "h2-unknown-flags-headers",
        Must,
        "RFC 9113 §4.1",
        "Undefined flags of HEADERS are ignored.",
        |origin| serves(origin, &[origin.get(1).with_flags(0xd2)]),
    ),
    Rule::of_http2(
        "h2-unknown-flags-data",
        Must,
        "RFC 9113 §4.1",
        "Undefined flags of DATA are ignored.",
        |origin| answers(origin, &[origin.post(1, &[]), data(1, END_STREAM, b"body").with_flags(0xf6)]),
    ),
    Rule::of_http2(
        "h2-unknown-flags-others",
        Must,
        "RFC 9113 §4.1",
        "Flags of frames that have none are ignored: PRIORITY, WINDOW_UPDATE.",
        |origin| {
            let frames = [priority(1, 0, 0), window_update(0, 1)];
            passes_over(origin, &frames.map(|frame| frame.with_flags(0xff)))
        },
    ),
    Rule::of_http2(
        "h2-reserved-bit-ping",
        Must,
        "RFC 9113 §4.1",
        "The reserved bit of a PING is ignored.",
        |origin| pong(origin, ping(*b"reserved").with_reserved_bit()),
    ),
    Rule::of_http2(
        "h2-reserved-bit-headers",
        Must,
        "RFC 9113 §4.1",
        "The reserved bit of HEADERS is ignored.",
        |origin| serves(origin, &[origin.get(1).with_reserved_bit()]),
    ),
    Rule::of_http2(
        "h2-reserved-bit-window",
        Must,
        "RFC 9113 §6.9",
        "The reserved bit before the increment of a WINDOW_UPDATE is ignored.",
        |origin| passes_over(origin, &[window_update(0, 1 << 31 | 1)]),
    ),
    Rule::of_http2(
        "h2-reserved-bit-goaway",
        Must,
        "RFC 9113 §6.8",
        "The reserved bit before the last stream of a GOAWAY is ignored.",
        |origin| serves(origin, &[origin.get(1), go_away(1 << 31, assay_h2::Code::NoError)]),
    ),
    Rule::of_http2("h2-data-longest", Must, "RFC 9113 §4.2", "DATA may have 16,384 bytes.", |origin| {
        answers(origin, &[origin.post(1, &[]), data(1, END_STREAM, &[b'x'; FRAME_BYTES])])
    }),
    Rule::of_http2(
        "h2-data-too-long",
        Must,
        "RFC 9113 §4.2",
        "DATA longer than SETTINGS_MAX_FRAME_SIZE resets its stream or ends the connection (FRAME_SIZE_ERROR).",
        |origin| {
            let payload = too_long(origin, 1)?;
            resets(origin, &[origin.post(1, &[]), data(1, END_STREAM, &payload)], &[FrameSizeError])
        },
    ),
    Rule::of_http2(
        "h2-headers-too-long",
        Must,
        "RFC 9113 §4.2",
        "HEADERS longer than SETTINGS_MAX_FRAME_SIZE end the connection (FRAME_SIZE_ERROR).",
        |origin| {
            let mut block = origin.block();
            block.resize(too_long(origin, 1)?.len(), 0x82);
            ends(origin, &[headers(1, END_STREAM | END_HEADERS, &block)], &[FrameSizeError])
        },
    ),
    Rule::of_http2(
        "h2-continuation-too-long",
        Must,
        "RFC 9113 §4.2",
        "A CONTINUATION longer than SETTINGS_MAX_FRAME_SIZE ends the connection (FRAME_SIZE_ERROR).",
        |origin| {
            let fragment = vec![0x82; too_long(origin, 1)?.len()];
            let frames = [headers(1, END_STREAM, &origin.block()), continuation(1, END_HEADERS, &fragment)];
            ends(origin, &frames, &[FrameSizeError])
        },
    ),
    Rule::of_http2(
        "h2-settings-too-long",
        Must,
        "RFC 9113 §4.2",
        "SETTINGS longer than SETTINGS_MAX_FRAME_SIZE end the connection (FRAME_SIZE_ERROR).",
        |origin| {
            let many = too_long(origin, 6)?.len() / 6;
            ends(origin, &[settings(&vec![(0xfafa, 0); many])], &[FrameSizeError])
        },
    ),
    Rule::of_http2(
        "h2-frames-apart",
        Must,
        "RFC 9113 §4.1",
        "A request of which every byte arrives alone is answered like a whole one.",
        frames_apart,
    ),
    Rule::of_http2(
        "h2-frames-together",
        Must,
        "RFC 9113 §4.1",
        "Frames that arrive together are each heeded: settings, pings and ten requests at once.",
        frames_together,
    ),
];

/// A payload that is longer than the server takes, and whose length is a multiple of `step`.
fn too_long(origin: &Origin, step: usize) -> Result<Vec<u8>, Objection> {
    let takes = origin.theirs.frame;
    if takes > LONGEST_BYTES {
        let why = format!("it takes frames of {takes} bytes, and longer ones are not sent");
        return Err(Objection::not_applicable(why));
    }
    Ok(vec![0; (takes as usize / step + 1) * step])
}

/// Demands that a PING is answered with its own bytes.
fn pong(origin: &Origin, ping: Frame) -> Keeping {
    let mut peer = origin.open()?;
    let sent = ping.bytes()[9..].to_vec();
    peer.send(&[ping])?;
    let deadline = peer.deadline();
    loop {
        match peer.must_hear(deadline, "answer to the PING")? {
            Heard::Ping { ack: true, opaque } if opaque[..] == *sent => return Ok(()),
            Heard::End => return Err(peer.fault("it ended the connection")),
            _ => {}
        }
    }
}

fn frames_apart(origin: &Origin) -> Keeping {
    let mut peer = origin.open()?;
    let request = origin.get(1);
    for byte in peer.fitted(&request).bytes() {
        peer.send_bytes(&[*byte], "a byte of HEADERS on stream 1")?;
        peer.pause();
    }
    origin.plain(&mut peer, 1)
}

fn frames_together(origin: &Origin) -> Keeping {
    origin.needs_streams(10)?;
    let mut peer = origin.open()?;
    let streams: Vec<u32> = (0..10).map(|n| 2 * n + 1).collect();
    let mut frames = vec![settings(&[]), window_update(0, 1), ping(*b"together")];
    frames.extend(streams.iter().map(|stream| origin.get(*stream)));
    peer.send(&frames)?;
    let replies = peer.replies(&streams)?;
    let wrong = replies.iter().find_map(|reply| origin.difference(reply));
    wrong.map_or(Ok(()), |difference| Err(peer.fault(&difference)))
}
