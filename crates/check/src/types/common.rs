//! What the answers of all test types have in common, and the rules about that.

use crate::answer::Answer;
use crate::dialogue::Dialogue;
use crate::objection::{Keeping, Objection};
use crate::route::{Route, TestType};
use crate::rules::{date_of, moves};
use crate::site::Site;

/// The rules of a type: seven that all types of the framework benchmarks have, around its own. `$media` is the type that answers have, and
/// `$judge` asks for it; `$shortest` is the length of the path that the type names.
macro_rules! rules_of_type {
    ($kind:ident, $name:literal, $source:expr, type $media:literal by $judge:expr, path of $shortest:literal, [$($own:expr),+ $(,)?]) => {
        &[
            Rule::new(concat!($name, "-status"), Must, $source, "The answer has status 200 and a body.", |site| {
                common::status(site, $kind)
            }),
            $($own,)+
            Rule::new(concat!($name, "-type"), Must, $source, concat!("Content-Type is ", $media, "."), $judge),
            Rule::new(concat!($name, "-length"), Must, $source, "The answer tells its length or is chunked.", |site| {
                common::length(site, $kind)
            }),
            Rule::new(concat!($name, "-server"), Must, $source, "The answer has a Server.", |site| {
                common::server(site, $kind)
            }),
            Rule::new(concat!($name, "-date"), Must, $source, "The answer has a Date that is an HTTP date.", |site| {
                common::date(site, $kind)
            }),
            Rule::new(concat!($name, "-date-moves"), Must, $source, "The Date has changed after 3 s.", |site| {
                common::date_moves(site, $kind)
            })
            .at(Tempo::Slow),
            Rule::new(
                concat!($name, "-route"),
                Must,
                $source,
                concat!("The path has at least ", $shortest, " characters."),
                |site| common::route(site, $kind, $shortest),
            ),
        ]
    };
}
pub(super) use rules_of_type;

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
