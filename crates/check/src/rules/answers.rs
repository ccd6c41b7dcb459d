//! What every answer must have, and what an answer to HEAD must not.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use assay_http::date::parse_imf;
use assay_model::conformance::Severity::Must;

use super::delivery::plain_answer;
use crate::answer::Answer;
use crate::objection::{Keeping, Objection};
use crate::rule::{Rule, Tempo};
use crate::site::Site;

/// How far a server's clock may be off: other machines are asked as well, and clocks of machines differ.
const CLOCK_TOLERANCE_S: u64 = 3600;
/// After which a date must have changed.
pub(crate) const DATE_MOVES_AFTER: Duration = Duration::from_secs(3);

pub(super) const RULES: &[Rule] = &[
    Rule::new("head-method", Must, "RFC 9110 §9.1", "HEAD is answered with the status of GET.", head_method),
    Rule::new(
        "head-no-content",
        Must,
        "RFC 9110 §9.3.2",
        "An answer to HEAD has no content, whatever its Content-Length says.",
        head_no_content,
    ),
    Rule::new(
        "head-length",
        Must,
        "RFC 9110 §8.6",
        "A Content-Length in an answer to HEAD is the one that GET would have got.",
        head_length,
    ),
    Rule::new(
        "date",
        Must,
        "RFC 9110 §6.6.1",
        "Every answer has a Date in the fixed format, near to now.",
        date,
    ),
    Rule::new("date-moves", Must, "RFC 9110 §6.6.1", "The Date has changed after 3 s.", date_moves)
        .at(Tempo::Slow),
];

fn head_method(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&site.request("HEAD", "", ""))?;
    let answer = talk.answer_to_head()?;
    let wrong = format!("status {} instead of {}", answer.status(), site.plain.status);
    talk.demand(answer.status() == site.plain.status, &wrong)
}

fn head_no_content(site: &Site) -> Keeping {
    let mut talk = site.open()?;
    talk.send(&site.request("HEAD", "", ""))?;
    let answer = talk.answer_to_head()?;
    if !answer.head.keeps_alive() {
        return talk.end();
    }
    // Content would stand before the next answer.
    talk.send(&site.get())?;
    plain_answer(site, &mut talk)
}

fn head_length(site: &Site) -> Keeping {
    let length = site.plain.body.as_ref().map(|body| body.len() as u64);
    let length = length.ok_or_else(|| Objection::not_applicable("its content differs from time to time"))?;
    let mut talk = site.open()?;
    talk.send(&site.request("HEAD", "", ""))?;
    let answer = talk.answer_to_head()?;
    let told = answer.head.message.content_length.filter(|_| answer.status() == site.plain.status);
    let told = told.ok_or_else(|| Objection::not_applicable("its answer to HEAD tells no length"))?;
    talk.demand(told == length, &format!("HEAD tells {told} bytes, GET brings {length}"))
}

fn date(site: &Site) -> Keeping {
    for request in [site.get(), site.request_for("GET", super::NOWHERE, "", "")] {
        let mut talk = site.open()?;
        talk.send(&request)?;
        let answer = talk.answer()?;
        // Required in 2xx, 3xx and 4xx only.
        if answer.status() >= 500 {
            continue;
        }
        let told = date_of(&answer).map_err(|problem| talk.fault(&problem))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        talk.demand(told.abs_diff(now) <= CLOCK_TOLERANCE_S, "its Date is more than an hour off")?;
    }
    Ok(())
}

fn date_moves(site: &Site) -> Keeping {
    moves(site, &site.get())
}

/// Demands that the dates of two answers, 3 s apart, differ.
pub(crate) fn moves(site: &Site, request: &[u8]) -> Keeping {
    let mut talk = site.open()?;
    talk.send(request)?;
    let first = date_of(&talk.answer()?).map_err(|problem| talk.fault(&problem))?;
    std::thread::sleep(DATE_MOVES_AFTER);
    let mut talk = site.open()?;
    talk.send(request)?;
    let second = date_of(&talk.answer()?).map_err(|problem| talk.fault(&problem))?;
    talk.demand(second > first, "its Date is still that of 3 s before")
}

/// Unix seconds of an answer's Date.
pub(crate) fn date_of(answer: &Answer) -> Result<u64, String> {
    let date = answer.field("Date").ok_or("the answer has no Date")?;
    parse_imf(date.as_bytes()).ok_or_else(|| format!("`{date}` is no IMF-fixdate"))
}
