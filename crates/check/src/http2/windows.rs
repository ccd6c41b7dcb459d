//! Flow control (RFC 9113 §5.2, §6.9).

use assay_h2::Code::{FlowControlError, FrameSizeError, ProtocolError};
use assay_h2::frame::{FRAME_BYTES, Kind, MAX_31};
use assay_model::conformance::Severity::Must;

use super::demands::{answers, ends, passes_over, resets_while_open};
use crate::objection::{Keeping, Objection};
use crate::origin::Origin;
use crate::peer::frame::{END_STREAM, Frame, PADDED, data, padded, settings, window_update};
use crate::peer::{ENABLE_PUSH, Heard, INITIAL_WINDOW, Peer};
use crate::rule::Rule;

/// Bytes of a body that no first window of a server's usually takes: it has to open it again.
const UPLOAD_BYTES: usize = 300_000;
/// The window of a connection until it is opened.
const CONNECTION_WINDOW: usize = 65_535;

pub(super) const RULES: &[Rule] = &[
    Rule::of_http2(
        "h2-window-closed",
        Must,
        "RFC 9113 §6.9.1",
        "Nothing of a body is sent while the window of its stream is 0.",
        |origin| first_data(origin, &[(INITIAL_WINDOW, 0)], 0),
    ),
    Rule::of_http2(
        "h2-window-of-one",
        Must,
        "RFC 9113 §6.9.1",
        "No more is sent than the window of a stream allows, be it one byte.",
        |origin| first_data(origin, &[(INITIAL_WINDOW, 1)], 1),
    ),
    Rule::of_http2(
        "h2-window-opened",
        Must,
        "RFC 9113 §6.9",
        "A window that is opened byte by byte brings the body byte by byte.",
        window_opened,
    ),
    Rule::of_http2(
        "h2-window-of-connection",
        Must,
        "RFC 9113 §6.9.1",
        "No more is sent on all streams than the window of the connection allows.",
        window_of_connection,
    ),
    Rule::of_http2(
        "h2-window-grown",
        Must,
        "RFC 9113 §6.9.2",
        "A greater SETTINGS_INITIAL_WINDOW_SIZE opens the windows of streams under way.",
        |origin| {
            let mut peer = held(origin, 0)?;
            peer.send(&[settings(&[(INITIAL_WINDOW, 1)])])?;
            arrives(&mut peer, 1)
        },
    ),
    Rule::of_http2(
        "h2-window-negative",
        Must,
        "RFC 9113 §6.9.2",
        "A smaller SETTINGS_INITIAL_WINDOW_SIZE makes windows negative, and what opens them counts from there.",
        window_negative,
    ),
    Rule::of_http2(
        "h2-window-zero-increment",
        Must,
        "RFC 9113 §6.9",
        "A WINDOW_UPDATE by nothing ends the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[window_update(0, 0)], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-window-zero-increment-on-stream",
        Must,
        "RFC 9113 §6.9",
        "A WINDOW_UPDATE of a stream by nothing resets it (PROTOCOL_ERROR).",
        |origin| resets_while_open(origin, &[origin.post(1, &[]), window_update(1, 0)], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-window-short",
        Must,
        "RFC 9113 §6.9",
        "A WINDOW_UPDATE of less than four bytes ends the connection (FRAME_SIZE_ERROR).",
        |origin| ends(origin, &[Frame::new(Kind::WindowUpdate, 0, 0, &[0, 0, 1])], &[FrameSizeError]),
    ),
    Rule::of_http2(
        "h2-window-long",
        Must,
        "RFC 9113 §6.9",
        "A WINDOW_UPDATE of more than four bytes ends the connection (FRAME_SIZE_ERROR).",
        |origin| ends(origin, &[Frame::new(Kind::WindowUpdate, 0, 0, &[0, 0, 0, 1, 0])], &[FrameSizeError]),
    ),
    Rule::of_http2(
        "h2-window-overflow",
        Must,
        "RFC 9113 §6.9.1",
        "A window of the connection above 2^31-1 ends it (FLOW_CONTROL_ERROR).",
        |origin| ends(origin, &[window_update(0, MAX_31), window_update(0, MAX_31)], &[FlowControlError]),
    ),
    Rule::of_http2(
        "h2-window-overflow-on-stream",
        Must,
        "RFC 9113 §6.9.1",
        "A window of a stream above 2^31-1 resets it (FLOW_CONTROL_ERROR).",
        |origin| overflows(origin, &[window_update(1, MAX_31), window_update(1, MAX_31)]),
    ),
    Rule::of_http2(
        "h2-window-overflow-by-settings",
        Must,
        "RFC 9113 §6.9.2",
        "SETTINGS that bring the window of a stream above 2^31-1 end the connection (FLOW_CONTROL_ERROR).",
        |origin| overflows(origin, &[window_update(1, MAX_31 - 1), settings(&[(INITIAL_WINDOW, MAX_31)])]),
    ),
    Rule::of_http2(
        "h2-window-update",
        Must,
        "RFC 9113 §6.9",
        "A WINDOW_UPDATE of the connection is taken at any time.",
        |origin| passes_over(origin, &[window_update(0, 100)]),
    ),
    Rule::of_http2(
        "h2-window-update-on-stream",
        Must,
        "RFC 9113 §6.9",
        "A WINDOW_UPDATE of a stream is taken while its request is still to come.",
        |origin| {
            let mut peer = origin.open_with(&[(ENABLE_PUSH, 0)])?;
            peer.send(&[origin.post(1, &[]), window_update(1, 100), data(1, END_STREAM, b"body")])?;
            peer.head(1).map(drop)
        },
    ),
    Rule::of_http2(
        "h2-window-given-back",
        Must,
        "RFC 9113 §5.2",
        "A body of 300,000 bytes is taken: windows are opened again, or the request is answered before.",
        window_given_back,
    ),
    Rule::of_http2("h2-data-padded", Must, "RFC 9113 §6.1", "DATA may be padded.", |origin| {
        answers(origin, &[origin.post(1, &[]), data(1, END_STREAM | PADDED, &padded(9, b"body", 9))])
    }),
    Rule::of_http2("h2-data-padding-alone", Must, "RFC 9113 §6.1", "DATA may be padding alone.", |origin| {
        let only = data(1, END_STREAM | PADDED, &padded(255, b"", 255));
        answers(origin, &[origin.post(1, &[]), data(1, 0, b"body"), only])
    }),
    Rule::of_http2(
        "h2-data-padding-too-long",
        Must,
        "RFC 9113 §6.1",
        "DATA whose padding is as long as they are or longer end the connection (PROTOCOL_ERROR).",
        |origin| {
            let frames = [origin.post(1, &[]), data(1, END_STREAM | PADDED, &padded(8, b"body", 3))];
            ends(origin, &frames, &[ProtocolError])
        },
    ),
    Rule::of_http2(
        "h2-data-on-zero",
        Must,
        "RFC 9113 §6.1",
        "DATA on stream 0 end the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[data(0, END_STREAM, b"data")], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-data-parts",
        Must,
        "RFC 9113 §8.1",
        "A body may come in many DATA frames.",
        |origin| {
            let mut frames = vec![origin.post(1, &[("content-length", "26")])];
            frames.extend(
                (b'a'..=b'z').map(|letter| data(1, if letter == b'z' { END_STREAM } else { 0 }, &[letter])),
            );
            answers(origin, &frames)
        },
    ),
    Rule::of_http2(
        "h2-data-empty",
        Must,
        "RFC 9113 §6.1",
        "DATA may be empty, in the middle and at the end.",
        |origin| {
            let body = [data(1, 0, b""), data(1, 0, b"body"), data(1, 0, b""), data(1, END_STREAM, b"")];
            answers(origin, &[&[origin.post(1, &[])][..], &body].concat())
        },
    ),
];

/// A connection with windows of this size, on whose stream 1 the head of an answer has arrived.
fn held(origin: &Origin, window: u32) -> Result<Peer, Objection> {
    origin.needs_body(window as usize + 1)?;
    let mut peer = origin.open_with(&[(ENABLE_PUSH, 0), (INITIAL_WINDOW, window)])?;
    peer.send(&[origin.get(1)])?;
    peer.head(1)?;
    Ok(peer)
}

/// Demands that of the first body so many bytes come, and no more, when a connection begins with these settings.
pub(super) fn first_data(origin: &Origin, all: &[(u16, u32)], bytes: usize) -> Keeping {
    origin.needs_body(bytes + 1)?;
    let mut peer = origin.open_with(&[&[(ENABLE_PUSH, 0)][..], all].concat())?;
    peer.send(&[origin.get(1)])?;
    peer.head(1)?;
    arrives(&mut peer, bytes)
}

/// Demands that so many bytes of the body on stream 1 come, and no more.
fn arrives(peer: &mut Peer, bytes: usize) -> Keeping {
    let (deadline, mut come) = (peer.deadline(), 0);
    while come < bytes {
        match peer.must_hear(deadline, "part of a body, although its window is open")? {
            Heard::End => return Err(peer.fault("it ended the connection")),
            heard => come += body_bytes(&heard),
        }
    }
    come += peer.goes_on()?.iter().map(body_bytes).sum::<usize>();
    peer.demand(come == bytes, &format!("{come} bytes of the body came where the window allows {bytes}"))
}

fn body_bytes(heard: &Heard) -> usize {
    match heard {
        Heard::Data { bytes, .. } => bytes.len(),
        _ => 0,
    }
}

fn window_opened(origin: &Origin) -> Keeping {
    let mut peer = held(origin, 0)?;
    for _ in 0..origin.body_bytes.min(3) {
        peer.send(&[window_update(1, 1)])?;
        arrives(&mut peer, 1)?;
    }
    if origin.body_bytes > 3 {
        peer.send(&[window_update(1, MAX_31 - 3), window_update(0, MAX_31 - CONNECTION_WINDOW as u32)])?;
        peer.body(1)?;
    }
    Ok(())
}

fn window_of_connection(origin: &Origin) -> Keeping {
    origin.needs_body(1)?;
    let streams = (CONNECTION_WINDOW / origin.body_bytes + 2) as u32;
    if streams > 100 {
        let why =
            format!("a hundred answers of {} bytes do not fill a connection's window", origin.body_bytes);
        return Err(Objection::not_applicable(why));
    }
    origin.needs_streams(streams)?;
    let mut peer = origin.open_with(&[(ENABLE_PUSH, 0), (INITIAL_WINDOW, MAX_31)])?;
    let asked = (0..streams).map(|n| origin.get(2 * n + 1));
    peer.send(&asked.collect::<Vec<Frame>>())?;
    arrives(&mut peer, CONNECTION_WINDOW)
}

fn window_negative(origin: &Origin) -> Keeping {
    let mut peer = held(origin, 2)?;
    arrives(&mut peer, 2)?;
    // The window is at 0; with 2 less it is at -2, and 3 more make one byte of it.
    peer.send(&[settings(&[(INITIAL_WINDOW, 0)]), window_update(1, 2)])?;
    arrives(&mut peer, 0)?;
    peer.send(&[window_update(1, 1)])?;
    arrives(&mut peer, 1)
}

/// Demands that these frames, which open the window of stream 1 too far, are objected to. The request is still to come, so that
/// the stream is open, unless the server has answered already.
fn overflows(origin: &Origin, frames: &[Frame]) -> Keeping {
    let mut peer = origin.open_with(&[(ENABLE_PUSH, 0), (INITIAL_WINDOW, 1)])?;
    peer.send(&[&[origin.post(1, &[])][..], frames].concat())?;
    peer.resets_while_open(1, &[FlowControlError])
}

fn window_given_back(origin: &Origin) -> Keeping {
    let mut peer = origin.open()?;
    peer.send(&[origin.post(1, &[("content-length", &UPLOAD_BYTES.to_string())])])?;
    let (mut stream, mut connection) = (u64::from(origin.theirs.window), CONNECTION_WINDOW as u64);
    let (deadline, mut left) = (peer.deadline(), UPLOAD_BYTES);
    while left > 0 {
        let n = left.min(stream.min(connection) as usize).min(FRAME_BYTES);
        if n > 0 {
            left -= n;
            (stream, connection) = (stream - n as u64, connection - n as u64);
            peer.send(&[data(1, if left == 0 { END_STREAM } else { 0 }, &vec![b'x'; n])])?;
            continue;
        }
        match peer.must_hear(deadline, "window for the rest of a body")? {
            Heard::Window { stream: 0, increment } => connection += u64::from(increment),
            Heard::Window { stream: 1, increment } => stream += u64::from(increment),
            Heard::Fields { stream: 1, .. } | Heard::Reset { stream: 1, .. } => return Ok(()),
            Heard::End => return Err(peer.fault("it ended the connection")),
            _ => {}
        }
    }
    peer.reply(1).map(drop)
}
