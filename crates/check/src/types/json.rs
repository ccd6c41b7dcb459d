//! An object made and serialised anew for every request.

use assay_model::conformance::Severity::Must;
use serde_json::{Value, json};

use super::common;
use crate::objection::{Keeping, shown};
use crate::route::TestType::Json;
use crate::rule::{Rule, Tempo};
use crate::site::Site;

const SOURCE: &str = "TechEmpower, json";
/// Length of `/json`.
const SHORTEST_PATH: usize = 5;

pub(super) const RULES: &[Rule] = &[
    Rule::new("json-status", Must, SOURCE, "The answer has status 200 and a body.", |s| {
        common::status(s, Json)
    }),
    Rule::new(
        "json-value",
        Must,
        SOURCE,
        "The body is {\"message\":\"Hello, World!\"} as a JSON value.",
        value,
    ),
    Rule::new("json-type", Must, SOURCE, "Content-Type is application/json.", |s| {
        common::media_type(s, Json, "application/json")
    }),
    Rule::new("json-length", Must, SOURCE, "The answer tells its length or is chunked.", |s| {
        common::length(s, Json)
    }),
    Rule::new("json-server", Must, SOURCE, "The answer has a Server.", |s| common::server(s, Json)),
    Rule::new("json-date", Must, SOURCE, "The answer has a Date that is an HTTP date.", |s| {
        common::date(s, Json)
    }),
    Rule::new("json-date-moves", Must, SOURCE, "The Date has changed after 3 s.", |s| {
        common::date_moves(s, Json)
    })
    .at(Tempo::Slow),
    Rule::new("json-route", Must, SOURCE, "The path has at least 5 characters.", |s| {
        common::route(s, Json, SHORTEST_PATH)
    }),
];

fn value(site: &Site) -> Keeping {
    let (talk, answer) = common::ask(site, Json)?;
    let given: Value = serde_json::from_slice(&answer.body)
        .map_err(|error| talk.fault(&format!("the body is no JSON ({error})")))?;
    let right = given == json!({ "message": "Hello, World!" });
    talk.demand(right, &format!("the body is {}", shown(&answer.body)))
}
