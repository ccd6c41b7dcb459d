//! However the bytes arrive, the answers are the same.

use assay_model::conformance::Severity::{Must, Should};

use crate::answer::Answer;
use crate::dialogue::Dialogue;
use crate::objection::{Keeping, Objection};
use crate::rule::Rule;
use crate::site::Site;

/// Connections that wait for their second half at once.
const HALVES_AT_ONCE: usize = 64;
/// Requests in one pipeline.
const PIPELINE: usize = 16;
/// Bytes of a piece when a pipeline is sent in pieces: no divisor of a line, so that every place is cut sooner or later.
const PIECE_BYTES: usize = 37;

pub(super) const RULES: &[Rule] = &[
    Rule::new(
        "split-anywhere",
        Must,
        "RFC 9112 §2.2",
        "A request that is cut in two at any byte is answered like a whole one.",
        split_anywhere,
    ),
    Rule::new(
        "lines-apart",
        Must,
        "RFC 9112 §2.2",
        "A request of which every line arrives alone is answered like a whole one.",
        lines_apart,
    ),
    Rule::new(
        "bytes-apart",
        Must,
        "RFC 9112 §2.2",
        "A request of which every byte arrives alone is answered like a whole one.",
        bytes_apart,
    ),
    Rule::new(
        "pipeline-order",
        Must,
        "RFC 9112 §9.3.2",
        "Pipelined requests are all answered, in their order.",
        pipeline_order,
    ),
    Rule::new(
        "pipeline-pieces",
        Must,
        "RFC 9112 §9.3.2",
        "Pipelined requests that are cut anywhere are all answered, in their order.",
        pipeline_pieces,
    ),
    Rule::new(
        "empty-line-first",
        Should,
        "RFC 9112 §2.2",
        "An empty line before a request is ignored.",
        empty_line_first,
    ),
];

fn split_anywhere(site: &Site) -> Keeping {
    let request = site.get();
    let cuts: Vec<usize> = (1..request.len()).collect();
    cuts.chunks(HALVES_AT_ONCE).try_for_each(|cuts| {
        let mut waiting = Vec::new();
        for &at in cuts {
            let mut talk = site.open()?;
            talk.send(&request[..at])?;
            waiting.push((at, talk));
        }
        site.pause();
        waiting.into_iter().try_for_each(|(at, mut talk)| {
            talk.send(&request[at..])?;
            plain_answer(site, &mut talk).map_err(|objection| objection.on(format!("cut at byte {at}")))
        })
    })
}

fn lines_apart(site: &Site) -> Keeping {
    in_pieces(site, &mut site.get().split_inclusive(|byte| *byte == b'\n'))
}

fn bytes_apart(site: &Site) -> Keeping {
    in_pieces(site, &mut site.get().chunks(1))
}

fn in_pieces(site: &Site, pieces: &mut dyn Iterator<Item = &[u8]>) -> Keeping {
    let mut talk = site.open()?;
    for piece in pieces {
        talk.send(piece)?;
        site.pause();
    }
    plain_answer(site, &mut talk)
}

fn pipeline_order(site: &Site) -> Keeping {
    let pipeline = Pipeline::of(site)?;
    let mut talk = site.open()?;
    talk.send(&pipeline.bytes)?;
    pipeline.read(site, &mut talk)
}

fn pipeline_pieces(site: &Site) -> Keeping {
    let pipeline = Pipeline::of(site)?;
    let mut talk = site.open()?;
    for piece in pipeline.bytes.chunks(PIECE_BYTES) {
        talk.send(piece)?;
        site.pause();
    }
    pipeline.read(site, &mut talk)
}

fn empty_line_first(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&[b"\r\n", site.get().as_slice()].concat())?;
    plain_answer(site, &mut talk)
}

/// Demands that the next answer is the plain one.
pub(super) fn plain_answer(site: &Site, talk: &mut Dialogue) -> Keeping {
    next_plain(site, talk).map(drop)
}

/// The next answer, which has to be the plain one.
pub(super) fn next_plain(site: &Site, talk: &mut Dialogue) -> Result<Answer, Objection> {
    let answer = talk.answer()?;
    match site.difference(&answer) {
        Some(difference) => Err(talk.fault(&difference)),
        None => Ok(answer),
    }
}

/// Plain requests and, where their answers can be told apart, requests for a path that does not exist, in turn.
struct Pipeline {
    bytes: Vec<u8>,
    statuses: Vec<u16>,
}

impl Pipeline {
    fn of(site: &Site) -> Result<Self, Objection> {
        site.needs_keep_alive()?;
        let get = site.get();
        let missing = site.request_for("GET", super::NOWHERE, "", "");
        let answer = site.ask(&missing)?;
        let distinct = answer.status() != site.plain.status && !answer.is_last();
        let (mut bytes, mut statuses) = (Vec::new(), Vec::new());
        for i in 0..PIPELINE {
            // Not simply in turn: two in a row that change places must be seen, whichever they are.
            let other = distinct && (i % 2 == 1 || i % 8 == 4);
            bytes.extend_from_slice(if other { &missing } else { &get });
            statuses.push(if other { answer.status() } else { site.plain.status });
        }
        Ok(Self { bytes, statuses })
    }

    fn read(&self, site: &Site, talk: &mut Dialogue) -> Keeping {
        for (i, &status) in self.statuses.iter().enumerate() {
            let place = |objection: Objection| objection.on(format!("answer {} of {PIPELINE}", i + 1));
            let answer = talk.answer().map_err(place)?;
            let difference = match status == site.plain.status {
                true => site.difference(&answer),
                false => (answer.status() != status)
                    .then(|| format!("status {} instead of {status}", answer.status())),
            };
            if let Some(difference) = difference {
                return Err(place(talk.fault(&difference)));
            }
            // It may end the connection whenever it says so; what was sent behind is the client's to send again.
            if answer.is_last() {
                return Ok(());
            }
        }
        Ok(())
    }
}
