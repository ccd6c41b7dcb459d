//! Documents for programs: the figures as they are, and beside them the sentences that a person would read.

use assay_model::check::Check;
use assay_model::evidence::{Bottleneck, Withheld};
use assay_model::verdict::LimitedBy;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::evidence::withheld;
use super::evidence::{bottleneck, evidence};
use super::remedy::remedy;

/// The names of what a sentence is made of.
pub(crate) const FINDINGS: [&str; 3] = ["found", "withheld_for", "limit_found"];

/// The document with a sentence beside each finding: `evidence` and `remedy` beside `found` in checks, `withheld` beside
/// `withheld_for`, `limit_evidence` beside `limit_found`.
pub fn in_words(document: Value) -> Value {
    match document {
        Value::Array(items) => items.into_iter().map(in_words).collect(),
        Value::Object(fields) => Value::Object(with_sentences(fields)),
        other => other,
    }
}

fn with_sentences(fields: Map<String, Value>) -> Map<String, Value> {
    let told = sentences(&fields);
    // What is told in a sentence needs none inside.
    let inside = |(name, field): (String, Value)| {
        let field = if FINDINGS.contains(&name.as_str()) { field } else { in_words(field) };
        (name, field)
    };
    fields.into_iter().map(inside).chain(told).collect()
}

fn sentences(fields: &Map<String, Value>) -> Vec<(String, Value)> {
    let text = |name: &str, sentence: String| (name.to_owned(), Value::String(sentence));
    let mut told = Vec::new();
    if let Some(check) = fields.get("found").and_then(|_| read::<Check>(&Value::Object(fields.clone()))) {
        told.push(text("evidence", evidence(&check)));
        told.push(("remedy".to_owned(), remedy(&check).map_or(Value::Null, Value::String)));
    }
    if let Some(reason) = fields.get("withheld_for") {
        let sentence = read::<Withheld>(reason).map(|reason| Value::String(withheld(&reason)));
        told.push(("withheld".to_owned(), sentence.unwrap_or(Value::Null)));
    }
    if let Some(because) = fields.get("limit_found").and_then(read::<Bottleneck>) {
        let by = fields.get("limited_by").and_then(|by| serde_json::from_value(by.clone()).ok());
        told.push(text("limit_evidence", bottleneck(by.unwrap_or(LimitedBy::Unknown), &because)));
    }
    told
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    value.is_object().then(|| serde_json::from_value(value.clone()).ok()).flatten()
}
