//! PING, RST_STREAM, PUSH_PROMISE and what they may not look like (RFC 9113 §6.4, §6.6, §6.7).

use assay_h2::Code::{self, FrameSizeError, ProtocolError};
use assay_h2::frame::Kind;
use assay_model::conformance::Severity::Must;

use super::demands::{ends, passes_over};
use crate::objection::Keeping;
use crate::origin::Origin;
use crate::peer::Heard;
use crate::peer::frame::{ACK, END_HEADERS, Frame, data, ping, reset};
use crate::rule::Rule;

/// Pings that are sent at once.
const PINGS: u8 = 20;
/// The bytes of an answer to no PING, and of the PING behind it: a server reads both in order.
const UNASKED: &[u8; 8] = b"unasked!";
const BEHIND: &[u8; 8] = b"a marker";

pub(super) const RULES: &[Rule] = &[
    Rule::of_http2(
        "h2-ping",
        Must,
        "RFC 9113 §6.7",
        "A PING is answered with its own eight bytes.",
        |origin| pongs(origin, 1),
    ),
    Rule::of_http2(
        "h2-pings",
        Must,
        "RFC 9113 §6.7",
        "Each of twenty PINGs at once is answered, in their order.",
        |origin| pongs(origin, PINGS),
    ),
    Rule::of_http2(
        "h2-ping-inside-request",
        Must,
        "RFC 9113 §6.7",
        "A PING is answered while a request is still to come.",
        |origin| {
            let mut peer = origin.open()?;
            peer.send(&[origin.post(1, &[]), data(1, 0, b"half")])?;
            peer.goes_on().map(drop)
        },
    ),
    Rule::of_http2(
        "h2-ping-ack-unanswered",
        Must,
        "RFC 9113 §6.7",
        "The answer to a PING is not answered.",
        ping_ack,
    ),
    Rule::of_http2(
        "h2-ping-on-stream",
        Must,
        "RFC 9113 §6.7",
        "A PING on a stream ends the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[Frame::new(Kind::Ping, 0, 1, b"a stream")], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-ping-short",
        Must,
        "RFC 9113 §6.7",
        "A PING of less than eight bytes ends the connection (FRAME_SIZE_ERROR).",
        |origin| ends(origin, &[Frame::new(Kind::Ping, 0, 0, b"short")], &[FrameSizeError]),
    ),
    Rule::of_http2(
        "h2-ping-long",
        Must,
        "RFC 9113 §6.7",
        "A PING of more than eight bytes ends the connection (FRAME_SIZE_ERROR).",
        |origin| ends(origin, &[Frame::new(Kind::Ping, 0, 0, b"too long!")], &[FrameSizeError]),
    ),
    Rule::of_http2(
        "h2-reset-on-zero",
        Must,
        "RFC 9113 §6.4",
        "RST_STREAM on stream 0 ends the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[reset(0, Code::Cancel)], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-reset-short",
        Must,
        "RFC 9113 §6.4",
        "RST_STREAM of less than four bytes ends the connection (FRAME_SIZE_ERROR).",
        |origin| reset_of(origin, &[0, 0, 8]),
    ),
    Rule::of_http2(
        "h2-reset-long",
        Must,
        "RFC 9113 §6.4",
        "RST_STREAM of more than four bytes ends the connection (FRAME_SIZE_ERROR).",
        |origin| reset_of(origin, &[0, 0, 0, 8, 0]),
    ),
    Rule::of_http2(
        "h2-push-promise",
        Must,
        "RFC 9113 §8.4",
        "A PUSH_PROMISE of a client's ends the connection (PROTOCOL_ERROR).",
        |origin| {
            let promise = [&[0, 0, 0, 2], &origin.block()[..]].concat();
            let frames = [origin.post(1, &[]), Frame::new(Kind::PushPromise, END_HEADERS, 1, &promise)];
            ends(origin, &frames, &[ProtocolError])
        },
    ),
    Rule::of_http2(
        "h2-reset-of-request",
        Must,
        "RFC 9113 §5.4.2",
        "RST_STREAM ends one request; the connection goes on.",
        |origin| passes_over(origin, &[origin.post(1, &[]), data(1, 0, b"half"), reset(1, Code::Cancel)]),
    ),
];

/// Demands an answer to each of so many PINGs, and in their order.
fn pongs(origin: &Origin, many: u8) -> Keeping {
    let mut peer = origin.open()?;
    let opaque = |n: u8| [n, 1, 2, 3, 0xff, 0x80, 0, n];
    peer.send(&(0..many).map(|n| ping(opaque(n))).collect::<Vec<Frame>>())?;
    let (deadline, mut next) = (peer.deadline(), 0);
    while next < many {
        match peer.must_hear(deadline, "answer to each PING")? {
            Heard::Ping { ack: true, opaque: theirs } => {
                peer.demand(
                    theirs == opaque(next),
                    "the answer to a PING has other bytes, or comes out of turn",
                )?;
                next += 1;
            }
            Heard::Ping { ack: false, .. } => return Err(peer.fault("a PING was answered without ACK")),
            Heard::End => return Err(peer.fault("it ended the connection")),
            _ => {}
        }
    }
    Ok(())
}

/// Nobody has asked for the answer that is sent, so a server may take it for an error; the end of the connection is no answer.
fn ping_ack(origin: &Origin) -> Keeping {
    let mut peer = origin.open()?;
    peer.send(&[Frame::new(Kind::Ping, ACK, 0, UNASKED), ping(*BEHIND)])?;
    let deadline = peer.deadline();
    loop {
        match peer.must_hear(deadline, "answer to a PING, and no end of the connection")? {
            Heard::Ping { opaque, .. } if opaque == *UNASKED => {
                return Err(peer.fault("it answered an answer"));
            }
            Heard::Ping { ack: true, opaque } if opaque == *BEHIND => return Ok(()),
            Heard::GoAway { .. } | Heard::End => return Ok(()),
            _ => {}
        }
    }
}

fn reset_of(origin: &Origin, payload: &[u8]) -> Keeping {
    ends(origin, &[origin.post(1, &[]), Frame::new(Kind::RstStream, 0, 1, payload)], &[FrameSizeError])
}
