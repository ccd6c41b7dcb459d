//! What one client does to a server must not be felt by others. Each has felled servers (RFC 9113 §10.5).

use std::time::{Duration, Instant};

use assay_h2::Code::{self, EnhanceYourCalm};
use assay_model::conformance::Severity::{Must, Should};

use crate::objection::{Keeping, Objection};
use crate::origin::{Origin, request};
use crate::peer::block::{self, Literal, indexed, literal, plain};
use crate::peer::frame::{
    END_HEADERS, END_STREAM, Frame, continuation, data, headers, ping, reset, settings,
};
use crate::peer::{ENABLE_PUSH, Heard, INITIAL_WINDOW, Peer};
use crate::rule::{Rule, Tempo};

/// Frames of a flood, and how many of them are sent at once.
const FLOOD: u32 = 10_000;
const AT_ONCE: u32 = 500;
/// Connections that are begun and left.
const LEFT: usize = 50;

pub(super) const RULES: &[Rule] = &[
    Rule::of_http2(
        "h2-rapid-reset",
        Must,
        "house rule (CVE-2023-44487)",
        "Ten thousand requests, each reset at once, do not fell the server.",
        |origin| {
            let (block, fields) = (origin.block(), END_STREAM | END_HEADERS);
            flood(origin, |n| vec![headers(2 * n + 1, fields, &block), reset(2 * n + 1, Code::Cancel)])
        },
    )
    .at(Tempo::Alone),
    Rule::of_http2(
        "h2-ping-flood",
        Must,
        "house rule (CVE-2019-9512)",
        "Ten thousand PINGs whose answers nobody reads do not fell the server.",
        |origin| flood(origin, |n| vec![ping(u64::from(n).to_be_bytes())]),
    )
    .at(Tempo::Alone),
    Rule::of_http2(
        "h2-settings-flood",
        Must,
        "house rule (CVE-2019-9515)",
        "Ten thousand SETTINGS do not fell the server.",
        |origin| flood(origin, |_| vec![settings(&[(ENABLE_PUSH, 0)])]),
    )
    .at(Tempo::Alone),
    Rule::of_http2(
        "h2-empty-data-flood",
        Must,
        "house rule (CVE-2019-9518)",
        "Ten thousand empty DATA do not fell the server.",
        |origin| {
            let head = origin.post(1, &[]);
            flood(origin, |n| if n == 0 { vec![head.clone()] } else { vec![data(1, 0, b"")] })
        },
    )
    .at(Tempo::Alone),
    Rule::of_http2(
        "h2-continuation-flood",
        Should,
        "house rule (CVE-2024-27316)",
        "A field block without end is ended by the server: of ten thousand CONTINUATIONs it does not take all.",
        continuation_flood,
    )
    .at(Tempo::Alone),
    Rule::of_http2(
        "h2-head-bomb",
        Should,
        "house rule (RFC 7541 §7.3)",
        "A block of 20 KB that stands for 60 MB of fields is refused.",
        |origin| {
            origin.needs_served()?;
            origin.needs_table(4000)?;
            let large = literal(Literal::Remembered, &plain("x-large"), &plain(&"x".repeat(3900)));
            let (first, rest) = ([origin.block(), large].concat(), indexed(62).repeat(15_000));
            let mut peer = origin.open()?;
            peer.send(&[headers(1, END_STREAM, &first), continuation(1, END_HEADERS, &rest)])?;
            peer.refuses(1).or_else(|objection| match objection {
                // A connection that is too busy is ended by that name.
                Objection::Broken(why) if why.contains(&EnhanceYourCalm.to_string()) => Ok(()),
                other => Err(other),
            })
        },
    )
    .at(Tempo::Alone),
    Rule::of_http2(
        "h2-head-huge",
        Must,
        "RFC 9113 §10.5.1",
        "A head of a mebibyte is answered, refused or ends the connection; nobody waits for more.",
        head_huge,
    ),
    Rule::of_http2(
        "h2-windows-closed",
        Must,
        "house rule (CVE-2019-9511)",
        "Answers for which no window is opened, up to a thousand, do not keep another request from its own.",
        |origin| {
            let many = origin.theirs.streams.unwrap_or(50).min(50);
            let gets: Vec<Frame> = (0..many).map(|n| origin.get(2 * n + 1)).collect();
            beside(origin, 20, |peer| peer.send(&gets))
        },
    )
    .at(Tempo::Alone),
    Rule::of_http2(
        "h2-connections-silent",
        Must,
        "house rule",
        "Connections that say nothing behind their preface do not keep another request from its answer.",
        |origin| beside(origin, LEFT, |_| Ok(())),
    )
    .at(Tempo::Alone),
    Rule::of_http2(
        "h2-bodies-slow",
        Must,
        "house rule",
        "Requests whose bodies do not come do not keep another from its answer.",
        |origin| beside(origin, LEFT, |peer| peer.send(&[origin.post(1, &[("content-length", "1000")])])),
    )
    .at(Tempo::Alone),
    Rule::of_http2(
        "h2-dropped",
        Must,
        "RFC 9113 §5.4.1",
        "Connections that end inside a frame, wherever that is, do not fell the server.",
        dropped,
    )
    .at(Tempo::Alone),
];

/// Sends ten thousand times these frames and reads nothing. The server may take them or end the connection; whether it is
/// still there is asked afterwards.
fn flood(origin: &Origin, frames: impl Fn(u32) -> Vec<Frame>) -> Keeping {
    let mut peer = origin.open()?;
    for first in (0..FLOOD).step_by(AT_ONCE as usize) {
        let many: Vec<Frame> = (first..first + AT_ONCE).flat_map(&frames).collect();
        // A server that stops reading is defending itself.
        if peer.send(&many).is_err() {
            return Ok(());
        }
    }
    let deadline = Instant::now() + peer.end_patience();
    while let Ok(Some(heard)) = peer.hear(deadline) {
        if matches!(heard, Heard::End | Heard::GoAway { .. }) {
            break;
        }
    }
    Ok(())
}

fn continuation_flood(origin: &Origin) -> Keeping {
    let mut peer = origin.open()?;
    peer.send(&[headers(1, END_STREAM, &origin.block())])?;
    let field = literal(Literal::Forgotten, &plain("x-more"), &plain("and so on"));
    let some = vec![continuation(1, 0, &field); 100];
    for _ in 0..FLOOD / 100 {
        if peer.send(&some).is_err() {
            return Ok(());
        }
        let soon = Instant::now() + Duration::from_millis(1);
        while let Some(heard) = peer.hear(soon)? {
            if matches!(heard, Heard::End | Heard::GoAway { .. } | Heard::Reset { .. } | Heard::Fields { .. })
            {
                return Ok(());
            }
        }
    }
    peer.ends(&[EnhanceYourCalm])
}

fn head_huge(origin: &Origin) -> Keeping {
    let fields = origin.fields_with("GET", &[("x-huge", &"x".repeat(1 << 20))]);
    let block = block::fields(&fields);
    let (first, rest) = block.split_at(16_000);
    let mut frames = vec![headers(1, END_STREAM, first)];
    frames.extend(rest.chunks(16_000).map(|fragment| continuation(1, 0, fragment)));
    frames.push(continuation(1, END_HEADERS, &[]));
    let mut peer = origin.open()?;
    peer.send(&frames)?;
    let deadline = peer.deadline();
    loop {
        match peer.must_hear(deadline, "answer, refusal or end")? {
            Heard::Fields { .. } | Heard::Reset { .. } | Heard::End => return Ok(()),
            Heard::GoAway { .. } => return Ok(()),
            _ => {}
        }
    }
}

/// Demands that a request is served beside so many connections on which this was said, and whose windows stay closed.
fn beside(origin: &Origin, many: usize, say: impl Fn(&mut Peer) -> Keeping) -> Keeping {
    let mut others = Vec::with_capacity(many);
    for _ in 0..many {
        let mut peer = origin.open_with(&[(ENABLE_PUSH, 0), (INITIAL_WINDOW, 0)])?;
        say(&mut peer)?;
        others.push(peer);
    }
    let mut peer = origin.open()?;
    origin.serves(&mut peer, 1).map_err(|objection| objection.on(format!("beside {many} others")))
}

fn dropped(origin: &Origin) -> Keeping {
    let get = request(1, END_STREAM, &origin.fields());
    for cut in 0..LEFT {
        let mut peer = origin.open()?;
        // All that was sent is read before the end: else the kernel resets the connection, and the part may never be seen.
        peer.goes_on()?;
        let bytes = get.bytes();
        peer.send_bytes(&bytes[..bytes.len() * cut / LEFT], "a part of HEADERS")?;
    }
    Ok(())
}
