//! One file that stands for several workloads, which differ in a number.

use serde::{Deserialize, Serialize};

use super::{Expect, RequestKind, Workload};
use crate::JsonSchema;
use crate::template::with_values;

/// A number that a workload's file leaves open: `${NAME}` in its requests and answers stands for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parameter {
    /// Its name, `[a-z]+`.
    pub name: String,
    /// What it is, each a workload of its own.
    pub values: Vec<u32>,
}

/// From which file a workload came that is one of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Family {
    /// Name in the file, by which all of them are selected.
    pub name: String,
    /// Name of the number in which they differ.
    pub parameter: String,
    /// That number.
    pub value: u32,
}

impl Workload {
    /// The workloads that a file stands for: one for each value of its parameter, called `NAME-VALUE`, or itself.
    pub fn expand(self) -> Vec<Self> {
        let Some(parameter) = &self.parameter else { return vec![self] };
        parameter.values.iter().map(|&value| self.member(&parameter.name, value)).collect()
    }

    /// Whether it, or the family that it belongs to, has this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.family.as_ref().is_some_and(|family| family.name == name)
    }

    /// The name of its family, or its own.
    pub fn family_name(&self) -> &str {
        self.family.as_ref().map_or(&self.name, |family| &family.name)
    }

    fn member(&self, parameter: &str, value: u32) -> Self {
        Self {
            name: format!("{}-{value}", self.name),
            about: with_number(&self.about, parameter, value),
            parameter: None,
            family: Some(Family { name: self.name.clone(), parameter: parameter.to_owned(), value }),
            requests: self.requests.iter().map(|request| request.with(parameter, value)).collect(),
            ..self.clone()
        }
    }
}

impl RequestKind {
    fn with(&self, parameter: &str, value: u32) -> Self {
        let set = |text: &String| with_number(text, parameter, value);
        let expect = &self.expect;
        Self {
            path: set(&self.path),
            headers: self.headers.iter().map(|(name, text)| (name.clone(), set(text))).collect(),
            body: self.body.as_ref().map(set),
            expect: Expect {
                body: expect.body.as_ref().map(set),
                body_file: expect.body_file.as_ref().map(set),
                json: expect.json.as_ref().map(set),
                shape: expect.shape.as_ref().map(set),
                contains: expect.contains.as_ref().map(set),
                ..expect.clone()
            },
            ..self.clone()
        }
    }
}

/// `text` with `${name}` replaced by a number.
fn with_number(text: &str, name: &str, number: u32) -> String {
    with_values(text, |known| (known == name).then(|| number.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family() -> Workload {
        serde_json::from_str(
            r#"{"name": "queries", "about": "${n} rows", "parameter": {"name": "n", "values": [1, 20]},
                "request": [{"path": "/queries?queries=${n}&x=${random:1..2}",
                             "expect": {"shape": "[${n} * any]"}}]}"#,
        )
        .expect("workload")
    }

    #[test]
    fn a_family_is_one_workload_for_each_value() {
        let members = family().expand();
        assert_eq!(members.iter().map(|w| w.name.as_str()).collect::<Vec<_>>(), ["queries-1", "queries-20"]);
        let last = &members[1];
        assert_eq!((last.about.as_str(), last.family_name()), ("20 rows", "queries"));
        assert_eq!(last.requests[0].path, "/queries?queries=20&x=${random:1..2}");
        assert_eq!(last.requests[0].expect.shape.as_deref(), Some("[20 * any]"));
        assert!(last.is_called("queries") && last.is_called("queries-20") && !last.is_called("queries-1"));
        assert_eq!(last.clone().expand().len(), 1, "a member stands for itself");
    }
}
