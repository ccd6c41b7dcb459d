//! How a connection ends, and how errors are told (RFC 9113 §5.4, §6.8).

use assay_h2::Code::{self, FrameSizeError, NoError, ProtocolError};
use assay_h2::frame::Kind;
use assay_model::conformance::Severity::{Must, Should};

use super::demands::{ends, passes_over, serves};
use crate::objection::{Keeping, Objection};
use crate::origin::Origin;
use crate::peer::frame::{END_STREAM, Frame, data, go_away, ping, settings};
use crate::peer::{ENABLE_PUSH, Heard, Peer};
use crate::rule::Rule;

/// Requests on one connection, one after the other.
const MANY: u32 = 100;

pub(super) const RULES: &[Rule] = &[
    Rule::of_http2(
        "h2-goaway",
        Must,
        "RFC 9113 §6.8",
        "A request that is under way is answered although the client says GOAWAY behind it.",
        |origin| serves(origin, &[origin.get(1), go_away(0, NoError)]),
    ),
    Rule::of_http2(
        "h2-goaway-code",
        Must,
        "RFC 9113 §7",
        "A GOAWAY with an unknown code is taken like any other: a request before it is answered, or the connection ends.",
        |origin| {
            let mut peer = origin.open()?;
            peer.send(&[origin.get(1), go_away(0, Code::Unknown(0xff))])?;
            answered_or_ended(&mut peer)
        },
    ),
    Rule::of_http2(
        "h2-goaway-debug",
        Must,
        "RFC 9113 §6.8",
        "A GOAWAY may have any data behind its code.",
        |origin| {
            let payload = [&go_away(0, NoError).bytes()[9..], b"for no reason at all"].concat();
            serves(origin, &[origin.get(1), Frame::new(Kind::GoAway, 0, 0, &payload)])
        },
    ),
    Rule::of_http2(
        "h2-goaway-on-stream",
        Must,
        "RFC 9113 §6.8",
        "A GOAWAY on a stream ends the connection (PROTOCOL_ERROR).",
        |origin| ends(origin, &[Frame::new(Kind::GoAway, 0, 1, &[0; 8])], &[ProtocolError]),
    ),
    Rule::of_http2(
        "h2-goaway-short",
        Must,
        "RFC 9113 §4.2",
        "A GOAWAY of less than eight bytes ends the connection (FRAME_SIZE_ERROR).",
        |origin| ends(origin, &[Frame::new(Kind::GoAway, 0, 0, &[0; 7])], &[FrameSizeError]),
    ),
    Rule::of_http2(
        "h2-error-ends",
        Must,
        "RFC 9113 §5.4.1",
        "After an error of the connection it ends.",
        |origin| {
            let mut peer = broken(origin)?;
            let deadline = peer.deadline();
            while peer.must_hear(deadline, "end of the connection")? != Heard::End {}
            Ok(())
        },
    ),
    Rule::of_http2(
        "h2-error-told",
        Should,
        "RFC 9113 §5.4.1",
        "Before a connection is ended for an error, a GOAWAY says which.",
        |origin| match told(origin)? {
            Some(_) => Ok(()),
            None => Err(Objection::Broken("it ended the connection without a word".to_owned())),
        },
    ),
    Rule::of_http2(
        "h2-error-last-stream",
        Must,
        "RFC 9113 §6.8",
        "The last stream that a GOAWAY names is not below one that was answered.",
        |origin| {
            let (peer, last) = match told(origin)? {
                Some(told) => told,
                None => return Err(Objection::not_applicable("it sends no GOAWAY")),
            };
            peer.demand(last >= 1, "its GOAWAY says that it has not looked at stream 1, which it answered")
        },
    ),
    Rule::of_http2(
        "h2-error-silences",
        Must,
        "RFC 9113 §5.4.1",
        "A request behind an error of the connection is not served.",
        error_silences,
    ),
    Rule::of_http2(
        "h2-stream-error-spares",
        Should,
        "RFC 9113 §5.4.2",
        "A malformed request spoils its stream alone; the connection goes on.",
        |origin| {
            origin.needs_streams(2)?;
            let upper = origin.fields_with("GET", &[("X-Upper", "1")]);
            passes_over(origin, &[crate::origin::request(1, END_STREAM, &upper)])
        },
    ),
    Rule::of_http2(
        "h2-half-close",
        Should,
        "RFC 9293 §3.6",
        "A client that ends its direction behind a request still gets the answer.",
        |origin| {
            let mut peer = origin.open()?;
            peer.send(&[origin.get(1)])?;
            peer.finish_sending();
            origin.plain(&mut peer, 1)
        },
    ),
    Rule::of_http2(
        "h2-requests-many",
        Should,
        "RFC 9113 §9.1",
        "A hundred requests are answered one after the other on one connection.",
        requests_many,
    ),
];

/// A connection on which a request was answered, and that has an error then.
fn broken(origin: &Origin) -> Result<Peer, Objection> {
    let mut peer = origin.open()?;
    origin.serves(&mut peer, 1)?;
    peer.send(&[data(0, END_STREAM, b"data")])?;
    Ok(peer)
}

/// The last stream that the GOAWAY for an error names; nothing where the connection ends without one.
fn told(origin: &Origin) -> Result<Option<(Peer, u32)>, Objection> {
    let mut peer = broken(origin)?;
    let deadline = peer.deadline();
    loop {
        match peer.must_hear(deadline, "GOAWAY, and no end of the connection")? {
            Heard::GoAway { last, code } if code != NoError => return Ok(Some((peer, last))),
            Heard::End => return Ok(None),
            _ => {}
        }
    }
}

/// A server may say that it takes no more (RFC 9113 §6.8), and then it has left no request without an answer.
fn requests_many(origin: &Origin) -> Keeping {
    let mut peer = origin.open()?;
    (0..MANY).map(|n| 2 * n + 1).try_for_each(|stream| {
        origin.serves(&mut peer, stream).map_err(|objection| match peer.retired_before(stream) {
            Some(last) => objection
                .with(|_| peer.fault(&format!("its GOAWAY says that it takes none behind stream {last}"))),
            None => objection,
        })
    })
}

fn answered_or_ended(peer: &mut Peer) -> Keeping {
    let deadline = peer.deadline();
    loop {
        match peer.must_hear(deadline, "answer or end")? {
            Heard::Fields { stream: 1, .. } | Heard::End | Heard::GoAway { .. } => return Ok(()),
            Heard::Reset { stream: 1, .. } => return Err(peer.fault("it reset the request")),
            _ => {}
        }
    }
}

fn error_silences(origin: &Origin) -> Keeping {
    let mut peer = broken(origin)?;
    peer.send(&[origin.get(3), ping(*b"anybody?"), settings(&[(ENABLE_PUSH, 0)])])?;
    let deadline = peer.deadline();
    loop {
        match peer.must_hear(deadline, "end of the connection")? {
            Heard::End => return Ok(()),
            Heard::Fields { stream: 3, .. } => return Err(peer.fault("it served what lies behind")),
            _ => {}
        }
    }
}
