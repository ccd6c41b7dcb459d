//! A short text, asked for 16 deep.

use assay_model::conformance::Severity::Must;

use super::common;
use crate::objection::{Keeping, Objection, shown};
use crate::route::TestType::Plaintext;
use crate::rule::{Rule, Tempo};
use crate::site::Site;

const SOURCE: &str = "TechEmpower, plaintext";
const TEXT: &[u8] = b"Hello, World!";
/// Length of `/plaintext`.
const SHORTEST_PATH: usize = 10;
/// Requests in one pipeline.
const PIPELINE: usize = 16;

pub(super) const RULES: &[Rule] = &[
    Rule::new("plaintext-status", Must, SOURCE, "The answer has status 200 and a body.", |s| {
        common::status(s, Plaintext)
    }),
    Rule::new(
        "plaintext-body",
        Must,
        SOURCE,
        "Each of 16 pipelined answers has the body `Hello, World!`.",
        body,
    ),
    Rule::new("plaintext-type", Must, SOURCE, "Content-Type is text/plain.", |s| {
        common::media_type(s, Plaintext, "text/plain")
    }),
    Rule::new("plaintext-length", Must, SOURCE, "The answer tells its length or is chunked.", |s| {
        common::length(s, Plaintext)
    }),
    Rule::new("plaintext-server", Must, SOURCE, "The answer has a Server.", |s| common::server(s, Plaintext)),
    Rule::new("plaintext-date", Must, SOURCE, "The answer has a Date that is an HTTP date.", |s| {
        common::date(s, Plaintext)
    }),
    Rule::new("plaintext-date-moves", Must, SOURCE, "The Date has changed after 3 s.", |s| {
        common::date_moves(s, Plaintext)
    })
    .at(Tempo::Slow),
    Rule::new("plaintext-route", Must, SOURCE, "The path has at least 10 characters.", |s| {
        common::route(s, Plaintext, SHORTEST_PATH)
    }),
];

fn body(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&common::request(site, Plaintext)?.repeat(PIPELINE))?;
    for i in 1..=PIPELINE {
        let place = |objection: Objection| objection.on(format!("answer {i} of {PIPELINE}"));
        let answer = talk.answer().map_err(place)?;
        talk.demand(answer.body == TEXT, &format!("the body is {}", shown(&answer.body))).map_err(place)?;
    }
    Ok(())
}
