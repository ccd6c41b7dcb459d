//! Sentences beside findings, in schemas.

use schemars::Schema;
use serde_json::{Value, json};

/// Says in a schema that documents for readers have a sentence beside these findings.
pub(crate) fn with_sentences(schema: &mut Schema) {
    let sentences = [
        (
            "withheld_for",
            "withheld",
            "Why it is withheld, in a sentence; only in what is written for readers.",
        ),
        (
            "limit_found",
            "limit_evidence",
            "What the limit was concluded from, in a sentence; only there, too.",
        ),
    ];
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (finding, sentence, about) in sentences {
        if properties.contains_key(finding) {
            let text = json!({ "description": about, "type": ["string", "null"] });
            properties.insert(sentence.to_owned(), text);
        }
    }
}
