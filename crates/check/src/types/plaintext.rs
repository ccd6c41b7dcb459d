//! A short text, asked for 16 deep.

use assay_model::conformance::Severity::Must;

use super::common;
use crate::objection::{Keeping, Objection, shown};
use crate::route::TestType::Plaintext;
use crate::rule::{Rule, Tempo};
use crate::site::Site;

const SOURCE: &str = "TechEmpower, plaintext";
const TEXT: &[u8] = b"Hello, World!";
/// Requests in one pipeline.
const PIPELINE: usize = 16;

pub(super) const RULES: &[Rule] = common::rules_of_type!(
    Plaintext, "plaintext", SOURCE,
    type "text/plain" by |site| common::media_type(site, Plaintext, "text/plain"),
    path of 10,
    [
        Rule::new(
            "plaintext-body",
            Must,
            SOURCE,
            "Each of 16 pipelined answers has the body `Hello, World!`.",
            body,
        ),
    ]
);

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
