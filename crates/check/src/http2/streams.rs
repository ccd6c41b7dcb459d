//! The states of a stream, and the numbers of streams (RFC 9113 §5.1).

use assay_h2::Code::{self, ProtocolError, RefusedStream, StreamClosed};
use assay_h2::frame::MAX_31;
use assay_model::conformance::Severity::{Must, Should};

use super::demands::{ends, passes_over, resets, resets_while_open, serves};
use crate::objection::{Keeping, Objection};
use crate::origin::Origin;
use crate::peer::frame::{
    END_HEADERS, END_STREAM, Frame, continuation, data, headers, priority, reset, window_update,
};
use crate::peer::{ENABLE_PUSH, Heard, INITIAL_WINDOW, Peer};
use crate::rule::{Rule, Tempo};

/// Settings of a client that takes no body until it opens a window, so that a stream stays half-closed.
const HELD: &[(u16, u32)] = &[(ENABLE_PUSH, 0), (INITIAL_WINDOW, 0)];
/// More streams at once are not opened.
const MANY: u32 = 1000;

pub(super) const RULES: &[Rule] = &[
    Rule::of_http2(
        "h2-idle-data",
        Must,
        "RFC 9113 §5.1",
        "DATA on a stream that nobody opened ends the connection (PROTOCOL_ERROR).",
        |origin| ends_or_resets_idle(origin, data(1, END_STREAM, b"data")),
    ),
    Rule::of_http2(
        "h2-idle-reset",
        Must,
        "RFC 9113 §6.4",
        "RST_STREAM on a stream that nobody opened ends the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[reset(1, Code::Cancel)], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-idle-window",
        Must,
        "RFC 9113 §5.1",
        "WINDOW_UPDATE on a stream that nobody opened ends the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[window_update(1, 100)], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-half-closed-data",
        Must,
        "RFC 9113 §5.1",
        "DATA behind the end of a request, while it is answered, resets the stream (STREAM_CLOSED).",
        |origin| half_closed(origin, &[data(1, END_STREAM, b"more")]),
    ),
    Rule::of_http2(
        "h2-half-closed-headers",
        Must,
        "RFC 9113 §5.1",
        "HEADERS behind the end of a request, while it is answered, reset the stream (STREAM_CLOSED).",
        |origin| half_closed(origin, &[origin.get(1)]),
    ),
    Rule::of_http2(
        "h2-half-closed-continuation",
        Must,
        "RFC 9113 §6.10",
        "A CONTINUATION behind the end of a request, while it is answered, ends the connection.",
        |origin| half_closed(origin, &[continuation(1, END_HEADERS, &[])]),
    ),
    Rule::of_http2(
        "h2-half-closed-window",
        Must,
        "RFC 9113 §5.1",
        "A WINDOW_UPDATE behind the end of a request opens the window of its answer.",
        |origin| {
            let mut peer = held(origin)?;
            peer.send(&[window_update(1, MAX_31)])?;
            origin.rest(&mut peer, 1)
        },
    ),
    Rule::of_http2(
        "h2-half-closed-priority",
        Must,
        "RFC 9113 §5.1",
        "PRIORITY behind the end of a request is taken.",
        |origin| {
            let mut peer = held(origin)?;
            peer.send(&[priority(1, 0, 7), window_update(1, MAX_31)])?;
            origin.rest(&mut peer, 1)
        },
    ),
    Rule::of_http2(
        "h2-half-closed-reset",
        Must,
        "RFC 9113 §5.1",
        "RST_STREAM while a request is answered ends that answer alone.",
        half_closed_reset,
    ),
    Rule::of_http2(
        "h2-closed-data",
        Should,
        "RFC 9113 §6.1",
        "DATA on a stream that has ended resets it (STREAM_CLOSED).",
        |origin| closed(origin, &[data(1, END_STREAM, b"more")], &[StreamClosed]),
    ),
    Rule::of_http2(
        "h2-closed-headers",
        Must,
        "RFC 9113 §5.1.1",
        "HEADERS on a stream that has ended are no new request (STREAM_CLOSED or PROTOCOL_ERROR).",
        |origin| closed(origin, &[origin.get(1)], &[StreamClosed]),
    ),
    Rule::of_http2(
        "h2-closed-continuation",
        Must,
        "RFC 9113 §6.10",
        "A CONTINUATION on a stream that has ended ends the connection.",
        |origin| closed(origin, &[continuation(1, END_HEADERS, &[])], &[StreamClosed]),
    ),
    Rule::of_http2(
        "h2-closed-priority",
        Must,
        "RFC 9113 §5.1",
        "PRIORITY on a stream that has ended is taken.",
        |origin| closed_and_goes_on(origin, priority(1, 0, 7)),
    ),
    Rule::of_http2(
        "h2-closed-window",
        Must,
        "RFC 9113 §5.1",
        "A WINDOW_UPDATE on a stream that has ended, as may be under way, does no harm.",
        |origin| closed_and_goes_on(origin, window_update(1, 100)),
    ),
    Rule::of_http2(
        "h2-closed-reset",
        Must,
        "RFC 9113 §5.1",
        "RST_STREAM on a stream that has ended, as may be under way, does no harm.",
        |origin| closed_and_goes_on(origin, reset(1, Code::Cancel)),
    ),
    Rule::of_http2(
        "h2-reset-data",
        Should,
        "RFC 9113 §6.1",
        "DATA on a stream that the client has reset is objected to (STREAM_CLOSED).",
        |origin| {
            let frames = [origin.post(1, &[]), reset(1, Code::Cancel), data(1, END_STREAM, b"more")];
            resets_while_open(origin, &frames, &[StreamClosed])
        },
    ),
    Rule::of_http2(
        "h2-reset-headers",
        Must,
        "RFC 9113 §5.1.1",
        "HEADERS on a stream that the client has reset are no new request (STREAM_CLOSED or PROTOCOL_ERROR).",
        |origin| {
            let frames = [origin.post(1, &[]), reset(1, Code::Cancel), origin.get(1)];
            resets_while_open(origin, &frames, &[StreamClosed])
        },
    ),
    Rule::of_http2(
        "h2-reset-continuation",
        Must,
        "RFC 9113 §6.10",
        "A CONTINUATION on a stream that the client has reset ends the connection.",
        |origin| {
            let frames = [origin.post(1, &[]), reset(1, Code::Cancel), continuation(1, END_HEADERS, &[])];
            ends(origin, &frames, &[StreamClosed])
        },
    ),
    Rule::of_http2(
        "h2-reset-priority",
        Must,
        "RFC 9113 §5.1",
        "PRIORITY on a stream that the client has reset is taken.",
        |origin| passes_over(origin, &[origin.post(1, &[]), reset(1, Code::Cancel), priority(1, 0, 7)]),
    ),
    Rule::of_http2(
        "h2-reset-code",
        Must,
        "RFC 9113 §7",
        "RST_STREAM with an unknown code is taken like any other.",
        |origin| passes_over(origin, &[origin.post(1, &[]), reset(1, Code::Unknown(0xff))]),
    ),
    Rule::of_http2(
        "h2-stream-even",
        Must,
        "RFC 9113 §5.1.1",
        "A request on a stream with an even number ends the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[origin.get(2)], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-stream-lower",
        Must,
        "RFC 9113 §5.1.1",
        "A request on a stream below one that was opened ends the connection (PROTOCOL_ERROR).",
        |origin| {
            let mut peer = origin.open()?;
            origin.serves(&mut peer, 5)?;
            peer.send(&[origin.get(3)])?;
            peer.ends(&[ProtocolError, StreamClosed])
        },
    ),
    Rule::of_http2(
        "h2-stream-gaps",
        Must,
        "RFC 9113 §5.1.1",
        "Numbers of streams may be left out.",
        |origin| {
            let mut peer = origin.open()?;
            [7, 101, 100_001].into_iter().try_for_each(|stream| origin.serves(&mut peer, stream))
        },
    ),
    Rule::of_http2(
        "h2-stream-highest",
        Must,
        "RFC 9113 §5.1.1",
        "The highest number of a stream, 2^31-1, is one as any other.",
        |origin| {
            let mut peer = origin.open()?;
            origin.serves(&mut peer, MAX_31)
        },
    ),
    Rule::of_http2(
        "h2-streams-many",
        Must,
        "RFC 9113 §5.1.2",
        "As many requests at once as the server takes, up to a hundred, are all answered.",
        streams_many,
    ),
    Rule::of_http2(
        "h2-streams-too-many",
        Must,
        "RFC 9113 §5.1.2",
        "A stream beyond SETTINGS_MAX_CONCURRENT_STREAMS is refused (REFUSED_STREAM or PROTOCOL_ERROR).",
        streams_too_many,
    )
    .at(Tempo::Alone),
    Rule::of_http2(
        "h2-streams-in-turn",
        Must,
        "RFC 9113 §5",
        "A request whose body does not come does not keep another from its answer.",
        |origin| {
            origin.needs_streams(2)?;
            let mut peer = origin.open()?;
            peer.send(&[origin.post(1, &[("content-length", "5")])])?;
            origin.serves(&mut peer, 3)
        },
    ),
    Rule::of_http2(
        "h2-streams-interleaved",
        Must,
        "RFC 9113 §5",
        "Requests whose DATA come in turn are both answered.",
        |origin| {
            origin.needs_streams(2)?;
            let mut peer = origin.open()?;
            let (one, two) = (origin.post(1, &[]), origin.post(3, &[]));
            let body =
                [data(1, 0, b"a"), data(3, 0, b"b"), data(1, END_STREAM, b"c"), data(3, END_STREAM, b"d")];
            peer.send(&[&[one, two][..], &body].concat())?;
            peer.replies(&[1, 3])?;
            origin.serves(&mut peer, 5)
        },
    ),
    Rule::of_http2(
        "h2-stream-priority-before",
        Must,
        "RFC 9113 §5.1.1",
        "PRIORITY on a higher stream does not close the lower ones.",
        |origin| serves(origin, &[priority(9, 0, 7), origin.get(1)]),
    ),
];

/// A frame on a stream that is idle. RFC 9113 §6.1 has DATA reset its stream (STREAM_CLOSED), §5.1 end the connection.
fn ends_or_resets_idle(origin: &Origin, frame: Frame) -> Keeping {
    resets(origin, &[frame], &[ProtocolError, StreamClosed])
}

/// A connection with a request on stream 1 whose answer waits for a window.
fn held(origin: &Origin) -> Result<Peer, Objection> {
    origin.needs_body(1)?;
    let mut peer = origin.open_with(HELD)?;
    peer.send(&[window_update(0, MAX_31 - 65_535), origin.get(1)])?;
    let is_whole = peer.head(1)?.is_whole;
    peer.demand(!is_whole, "its answer ended although no window was open")?;
    Ok(peer)
}

fn half_closed(origin: &Origin, frames: &[Frame]) -> Keeping {
    let mut peer = held(origin)?;
    peer.send(frames)?;
    peer.resets(1, &[StreamClosed])
}

fn half_closed_reset(origin: &Origin) -> Keeping {
    let mut peer = held(origin)?;
    peer.send(&[reset(1, Code::Cancel), window_update(1, 100)])?;
    let later = peer.goes_on()?;
    let goes_on = later.iter().any(|heard| matches!(heard, Heard::Data { stream: 1, .. }));
    peer.demand(!goes_on, "it went on with an answer that was reset")
}

/// A connection on which the request on stream 1 was answered to its end.
fn answered(origin: &Origin) -> Result<Peer, Objection> {
    let mut peer = origin.open()?;
    origin.serves(&mut peer, 1)?;
    Ok(peer)
}

fn closed(origin: &Origin, frames: &[Frame], codes: &[Code]) -> Keeping {
    let mut peer = answered(origin)?;
    peer.send(frames)?;
    peer.resets(1, codes)
}

fn closed_and_goes_on(origin: &Origin, frame: Frame) -> Keeping {
    let mut peer = answered(origin)?;
    peer.send(&[frame])?;
    origin.serves(&mut peer, 3)
}

fn streams_many(origin: &Origin) -> Keeping {
    let many = origin.theirs.streams.unwrap_or(100).min(100);
    let streams: Vec<u32> = (0..many).map(|n| 2 * n + 1).collect();
    let mut peer = origin.open()?;
    peer.send(&streams.iter().map(|stream| origin.get(*stream)).collect::<Vec<Frame>>())?;
    let replies = peer.replies(&streams)?;
    let wrong = replies.iter().find_map(|reply| origin.difference(reply));
    wrong.map_or(Ok(()), |difference| Err(peer.fault(&difference)))
}

fn streams_too_many(origin: &Origin) -> Keeping {
    let Some(most) = origin.theirs.streams.filter(|most| *most <= MANY) else {
        return Err(Objection::not_applicable(format!("it names no limit of {MANY} streams or less")));
    };
    origin.needs_body(1)?;
    let mut peer = origin.open_with(HELD)?;
    let block = origin.block();
    let get = |n: u32| headers(2 * n + 1, END_STREAM | END_HEADERS, &block);
    peer.send(&(0..=most).map(get).collect::<Vec<Frame>>())?;
    peer.resets(2 * most + 1, &[RefusedStream])
}
