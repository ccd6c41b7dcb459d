//! A single check of whether a number may be believed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rule::Rule;

/// The outcome of one rule about a measurement, with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Stable name of the rule, such as `generator-saturated`.
    #[schemars(with = "String")]
    pub rule: Rule,
    /// What the rule found.
    pub outcome: Outcome,
    /// What was seen, in a sentence with its figures.
    pub evidence: String,
    /// What to do about it; present whenever the outcome is not a pass.
    pub remedy: Option<String>,
}

/// How a check ended, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing to object.
    Pass,
    /// The number stands, with a caveat.
    Warn,
    /// The number must not be used as what it claims to be.
    Void,
}
