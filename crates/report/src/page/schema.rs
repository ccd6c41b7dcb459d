//! The schema of the page's data: the page is given sentences, not the findings of which they are made.

use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// The findings and the sentence that the page is given in the place of each.
const IN_WORDS: [(&str, &str); 3] =
    [("found", "evidence"), ("withheld_for", "withheld"), ("limit_found", "limit_evidence")];
/// Sentences that are always there.
const ALWAYS: [&str; 2] = ["evidence", "limit_evidence"];

/// The schema of a type as it is written, without findings, and without the types that only these have.
pub(super) fn in_words<T: JsonSchema>() -> Schema {
    let mut schema = SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<T>();
    if let Some(types) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        types.values_mut().for_each(told);
    }
    let mut used = BTreeSet::new();
    let own: Map<String, Value> = schema.as_object().cloned().unwrap_or_default();
    let types = own.get("$defs").cloned().unwrap_or_default();
    let root = own.into_iter().filter(|(name, _)| name != "$defs").collect();
    use_types(&Value::Object(root), &types, &mut used);
    if let Some(types) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        types.retain(|name, _| used.contains(name));
    }
    schema
}

fn told(of: &mut Value) {
    for (finding, sentence) in IN_WORDS {
        let Some(properties) = of.get_mut("properties").and_then(Value::as_object_mut) else { return };
        if properties.remove(finding).is_none() {
            continue;
        }
        if ALWAYS.contains(&sentence) {
            properties[sentence]["type"] = json!("string");
        }
        let Some(required) = of.get_mut("required").and_then(Value::as_array_mut) else { continue };
        let was_required = required.iter().any(|name| name == finding);
        required.retain(|name| name != finding && name != sentence);
        required.extend(was_required.then(|| json!(sentence)));
    }
}

/// Every type that is named in a part of a schema, and those that these name.
fn use_types(part: &Value, types: &Value, used: &mut BTreeSet<String>) {
    match part {
        Value::Array(items) => items.iter().for_each(|item| use_types(item, types, used)),
        Value::Object(fields) => {
            let named = fields.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/$defs/"));
            if let Some(name) = named.filter(|name| used.insert((*name).to_owned())) {
                use_types(&types[name], types, used);
            }
            fields.values().for_each(|field| use_types(field, types, used));
        }
        _ => {}
    }
}
