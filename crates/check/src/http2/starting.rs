//! How a connection begins (RFC 9113 §3.4, §6.5.3).

use std::time::Instant;

use assay_h2::Code::ProtocolError;
use assay_h2::frame::PREFACE;
use assay_model::conformance::Severity::Must;

use super::demands::passes_over;
use super::is_not_spoken;
use crate::objection::Keeping;
use crate::origin::Origin;
use crate::peer::frame::{Frame, ping, settings};
use crate::peer::{Heard, Peer, USUAL};
use crate::rule::Rule;
use crate::rules::each;

/// The rule that is broken by a server that does not speak HTTP/2.
pub(crate) const SPOKEN: Rule = Rule::of_http2(
    "h2-spoken",
    Must,
    "RFC 9113 §3.2, §3.3",
    "HTTP/2 is spoken where it is asked for: chosen by ALPN over TLS, else with prior knowledge.",
    |origin| passes_over(origin, &[]),
);

pub(super) const RULES: &[Rule] = &[
    SPOKEN,
    Rule::of_http2(
        "h2-settings-first",
        Must,
        "RFC 9113 §3.4",
        "The first frame that the server sends is SETTINGS.",
        settings_first,
    ),
    Rule::of_http2(
        "h2-preface-apart",
        Must,
        "RFC 9113 §3.4",
        "A preface of which every byte arrives alone begins a connection.",
        preface_apart,
    ),
    Rule::of_http2(
        "h2-preface-and-request",
        Must,
        "RFC 9113 §3.4",
        "A request right behind the preface, before the server has said anything, is answered.",
        preface_and_request,
    ),
    Rule::of_http2(
        "h2-preface-wrong",
        Must,
        "RFC 9113 §3.4",
        "What is no preface begins no connection: it ends, or is answered in HTTP/1.1.",
        preface_wrong,
    ),
    Rule::of_http2(
        "h2-preface-without-settings",
        Must,
        "RFC 9113 §3.4",
        "A first frame other than SETTINGS ends the connection.",
        preface_without_settings,
    ),
    Rule::of_http2(
        "h2-settings-empty",
        Must,
        "RFC 9113 §3.4",
        "The client's first SETTINGS may be empty.",
        |origin| {
            let mut peer = origin.open_with(&[])?;
            peer.goes_on().map(drop)
        },
    ),
    Rule::of_http2(
        "h2-settings-acknowledged",
        Must,
        "RFC 9113 §6.5.3",
        "SETTINGS are acknowledged.",
        |origin| acknowledged(origin, 1),
    ),
    Rule::of_http2(
        "h2-settings-each-acknowledged",
        Must,
        "RFC 9113 §6.5.3",
        "Each of several SETTINGS frames is acknowledged once.",
        |origin| acknowledged(origin, 3),
    ),
    Rule::of_http2(
        "h2-settings-ack-unanswered",
        Must,
        "RFC 9113 §6.5",
        "The acknowledgement of SETTINGS is not acknowledged.",
        ack_unanswered,
    ),
];

fn settings_first(origin: &Origin) -> Keeping {
    let mut peer = begun(origin)?;
    let first = peer.must_hear(peer.deadline(), "SETTINGS")?;
    peer.demand(first == Heard::Settings { ack: false }, "its first frame is no SETTINGS")
}

/// A connection whose client has said what it says first, and has not waited for anything.
fn begun(origin: &Origin) -> Result<Peer, crate::objection::Objection> {
    let mut peer = origin.connect()?;
    peer.send_preface()?;
    peer.send(&[settings(USUAL)])?;
    Ok(peer)
}

fn preface_apart(origin: &Origin) -> Keeping {
    let mut peer = origin.connect()?;
    for byte in [PREFACE, settings(USUAL).bytes()].concat() {
        peer.send_bytes(&[byte], "a byte of preface and SETTINGS")?;
        peer.pause();
    }
    peer.settle()?;
    peer.widen()?;
    origin.serves(&mut peer, 1)
}

fn preface_and_request(origin: &Origin) -> Keeping {
    let mut peer = origin.connect()?;
    let all = [PREFACE, settings(USUAL).bytes(), origin.get(1).bytes()].concat();
    peer.send_bytes(&all, "preface, SETTINGS and HEADERS on stream 1 at once")?;
    peer.widen()?;
    origin.plain(&mut peer, 1)
}

fn preface_wrong(origin: &Origin) -> Keeping {
    each(
        ["PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\n\n", "NOT A PREFACE\r\n\r\n"],
        |text| {
            let mut peer = origin.connect()?;
            peer.send_bytes(text.as_bytes(), &format!("\"{}\"", text.escape_debug()))?;
            peer.send(&[settings(&[])])?;
            // A port that speaks both refuses in HTTP/1.1 what does not begin HTTP/2.
            peer.ends(&[ProtocolError]).or_else(|objection| match is_not_spoken(&objection) {
                true => Ok(()),
                false => Err(objection),
            })
        },
    )
}

fn preface_without_settings(origin: &Origin) -> Keeping {
    [ping(*b"too soon"), origin.get(1)].into_iter().try_for_each(|first: Frame| {
        let mut peer = origin.connect()?;
        peer.send_preface()?;
        peer.send(&[first])?;
        peer.ends(&[ProtocolError])
    })
}

/// Demands that so many SETTINGS frames, and the first one, are acknowledged once each.
fn acknowledged(origin: &Origin, times: usize) -> Keeping {
    let mut peer = origin.open()?;
    peer.send(&vec![settings(USUAL); times])?;
    peer.goes_on()?;
    // Whoever answers a PING first, as may be, has not forgotten them.
    let deadline = Instant::now() + peer.end_patience();
    while peer.acknowledged() < times + 1 {
        if peer.must_hear(deadline, "acknowledgement of SETTINGS")? == Heard::End {
            return Err(peer.fault("it ended the connection"));
        }
    }
    let count = peer.acknowledged();
    peer.demand(count == times + 1, &format!("{} SETTINGS were acknowledged {count} times", times + 1))
}

/// An acknowledgement that nobody waits for may be taken for an error, so the one that is due is all that is sent.
fn ack_unanswered(origin: &Origin) -> Keeping {
    let mut peer = origin.open()?;
    peer.goes_on()?;
    peer.demand(peer.acknowledged() <= 1, "it acknowledged an acknowledgement")
}
