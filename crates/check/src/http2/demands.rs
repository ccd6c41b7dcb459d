//! What is demanded of a server that has heard some frames. A request among them is on stream 1.

use assay_h2::Code;

use crate::objection::{Keeping, Objection};
use crate::origin::{Fields, Origin, request};
use crate::peer::EARLY;
use crate::peer::frame::{END_STREAM, Frame};

/// A stream above all that rules use.
const LATER: u32 = 1001;

/// Demands that the connection ends, without a code or with one of these.
pub(super) fn ends(origin: &Origin, frames: &[Frame], codes: &[Code]) -> Keeping {
    let mut peer = origin.open()?;
    peer.send(frames)?;
    peer.ends(codes)
}

/// Demands that stream 1 is reset with one of these codes, or that the connection ends.
pub(super) fn resets(origin: &Origin, frames: &[Frame], codes: &[Code]) -> Keeping {
    let mut peer = origin.open()?;
    peer.send(frames)?;
    peer.resets(1, codes)
}

/// Demands that stream 1, whose request is still to come, is reset with one of these codes, or that the connection ends. Who has
/// answered before may overlook what comes then (RFC 9113 §8.1).
pub(super) fn resets_while_open(origin: &Origin, frames: &[Frame], codes: &[Code]) -> Keeping {
    let mut peer = origin.open()?;
    peer.send(frames)?;
    peer.resets_while_open(1, codes)
}

/// Demands that the request is not served.
pub(super) fn refuses(origin: &Origin, frames: &[Frame]) -> Keeping {
    origin.needs_served()?;
    let mut peer = origin.open()?;
    peer.send(frames)?;
    peer.refuses(1)
}

/// Demands that a request is not served whose head is right and whose rest is malformed. A server that answers the head, for which
/// no rest need come, has not looked at that (RFC 9113 §8.1).
pub(super) fn refuses_rest(origin: &Origin, head: &Frame, rest: &[Frame]) -> Keeping {
    let refused = refuses(origin, &[std::slice::from_ref(head), rest].concat());
    match refused {
        Err(Objection::Broken(_)) if answers_head(origin, head)? => Err(Objection::not_applicable(EARLY)),
        other => other,
    }
}

fn answers_head(origin: &Origin, head: &Frame) -> Result<bool, Objection> {
    let mut peer = origin.open()?;
    peer.send(std::slice::from_ref(head))?;
    Ok(peer.head(1).is_ok())
}

/// Demands that the plain request, changed so, is not served.
pub(super) fn refuses_when(origin: &Origin, change: impl FnOnce(&mut Fields)) -> Keeping {
    let mut fields = origin.fields();
    change(&mut fields);
    refuses(origin, &[request(1, END_STREAM, &fields)])
}

/// Demands that the plain request is not served with this field more.
pub(super) fn refuses_field(origin: &Origin, name: &str, value: &str) -> Keeping {
    refuses_when(origin, |fields| fields.push((name.to_owned(), value.to_owned())))
}

/// Demands that the frames do no harm: a plain request behind them is served.
pub(super) fn passes_over(origin: &Origin, frames: &[Frame]) -> Keeping {
    let mut peer = origin.open()?;
    peer.send(frames)?;
    origin.serves(&mut peer, LATER)
}

/// Demands that the request is answered like the plain one.
pub(super) fn serves(origin: &Origin, frames: &[Frame]) -> Keeping {
    let mut peer = origin.open()?;
    peer.send(frames)?;
    origin.plain(&mut peer, 1)
}

/// Demands that the plain request is answered as always with this field more.
pub(super) fn serves_field(origin: &Origin, name: &str, value: &str) -> Keeping {
    serves(origin, &[request(1, END_STREAM, &origin.fields_with("GET", &[(name, value)]))])
}

/// Demands that the request, whose method need not be allowed, gets a whole answer, and that the connection goes on.
pub(super) fn answers(origin: &Origin, frames: &[Frame]) -> Keeping {
    let mut peer = origin.open()?;
    peer.send(frames)?;
    peer.reply(1)?;
    origin.serves(&mut peer, LATER)
}
