//! A count of hits among a total.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// So many of so many: windows, runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Part")]
pub struct Proportion {
    /// Those in question.
    pub hits: u64,
    /// All among which they are.
    pub of: u64,
}

impl Proportion {
    /// `hits` of `of`.
    pub fn new(hits: usize, of: usize) -> Self {
        Self { hits: hits as u64, of: of as u64 }
    }
}
