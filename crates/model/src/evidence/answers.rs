//! What was done with answers, and what they were.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::learnt::{Held, Learnt};

/// What answers were held against, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// What the server itself answered before the load.
    Learnt(Held),
    /// What the workload says of shape, length or content.
    Rules,
    /// The body that the workload names.
    Body,
}

/// What was done with every answer on some workloads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// What it was held against.
    pub against: Against,
    /// Names of the workloads.
    pub workloads: Vec<String>,
}

/// How a contender answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// Its name.
    pub contender: String,
    /// Its answers, and what was asked.
    pub answer: Learnt,
}
