//! An object made and serialised anew for every request.

use assay_model::conformance::Severity::Must;
use serde_json::{Value, json};

use super::common;
use crate::objection::{Keeping, shown};
use crate::route::TestType::Json;
use crate::rule::{Rule, Tempo};
use crate::site::Site;

const SOURCE: &str = "TechEmpower, json";

pub(super) const RULES: &[Rule] = common::rules_of_type!(
    Json, "json", SOURCE,
    type "application/json" by |site| common::media_type(site, Json, "application/json"),
    path of 5,
    [
        Rule::new(
            "json-value",
            Must,
            SOURCE,
            "The body is {\"message\":\"Hello, World!\"} as a JSON value.",
            value,
        ),
    ]
);

fn value(site: &Site) -> Keeping {
    let (talk, answer) = common::ask(site, Json)?;
    let given: Value = serde_json::from_slice(&answer.body)
        .map_err(|error| talk.fault(&format!("the body is no JSON ({error})")))?;
    let right = given == json!({ "message": "Hello, World!" });
    talk.demand(right, &format!("the body is {}", shown(&answer.body)))
}
