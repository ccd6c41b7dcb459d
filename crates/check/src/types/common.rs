//! What the answers of all test types have in common.

use crate::answer::Answer;
use crate::dialogue::Dialogue;
use crate::objection::{Keeping, Objection};
use crate::route::{Route, TestType};
use crate::rules::{date_of, moves};
use crate::site::Site;

/// Asks for a type; the dialogue is for the evidence.
pub(super) fn ask(site: &Site, kind: TestType) -> Result<(Dialogue, Answer), Objection> {
    let mut talk = site.open()?;
    talk.send(&request(site, kind)?)?;
    let answer = talk.answer()?;
    Ok((talk, answer))
}

pub(super) fn request(site: &Site, kind: TestType) -> Result<Vec<u8>, Objection> {
    Ok(site.request_for("GET", &route_of(site, kind)?.path, "", ""))
}

pub(super) fn route_of(site: &Site, kind: TestType) -> Result<&Route, Objection> {
    let route = site.target.routes.iter().find(|route| route.kind == kind);
    route.ok_or_else(|| Objection::not_applicable("it does not answer this type"))
}

/// 200 and a body.
pub(super) fn status(site: &Site, kind: TestType) -> Keeping {
    let (talk, answer) = ask(site, kind)?;
    talk.demand(answer.status() == 200, &format!("status {} instead of 200", answer.status()))?;
    talk.demand(!answer.body.is_empty(), "the body is empty")
}

pub(super) fn server(site: &Site, kind: TestType) -> Keeping {
    let (talk, answer) = ask(site, kind)?;
    talk.demand(answer.field("Server").is_some(), "the answer has no Server")
}

pub(super) fn date(site: &Site, kind: TestType) -> Keeping {
    let (talk, answer) = ask(site, kind)?;
    date_of(&answer).map(drop).map_err(|problem| talk.fault(&problem))
}

pub(super) fn date_moves(site: &Site, kind: TestType) -> Keeping {
    moves(site, &request(site, kind)?)
}

pub(super) fn length(site: &Site, kind: TestType) -> Keeping {
    let (talk, answer) = ask(site, kind)?;
    let told = ["Content-Length", "Transfer-Encoding"].iter().any(|name| answer.field(name).is_some());
    talk.demand(told, "the answer has neither Content-Length nor Transfer-Encoding")
}

/// The media type, which may only have a charset besides.
pub(super) fn media_type(site: &Site, kind: TestType, wanted: &str) -> Keeping {
    let (talk, answer) = ask(site, kind)?;
    let given = answer.field("Content-Type").ok_or_else(|| talk.fault("the answer has no Content-Type"))?;
    let lower = given.to_ascii_lowercase();
    let (media, parameters) = lower.split_once(';').unwrap_or((&lower, ""));
    let parameters = parameters.trim();
    let right = media.trim() == wanted && (parameters.is_empty() || parameters.starts_with("charset="));
    talk.demand(right, &format!("Content-Type `{given}` instead of `{wanted}`"))
}

/// The path is at least as long as the one that the type names, so that nobody saves bytes.
pub(super) fn route(site: &Site, kind: TestType, shortest: usize) -> Keeping {
    let whole = &route_of(site, kind)?.path;
    // How many rows are asked for is no part of it.
    let path = whole.trim_end_matches(|c: char| c.is_ascii_digit());
    if path.len() >= shortest {
        return Ok(());
    }
    Err(Objection::Broken(format!("the path `{path}` is shorter than {shortest} characters")))
}
