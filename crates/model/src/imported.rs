//! Where the figures of a record came from that assay did not measure.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// The origin of figures that somebody else measured, elsewhere and by other rules. Nothing about them was observed by
/// assay: no limit, no interval, no check of the machine or the answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    /// The source of the figures: `TechEmpower Framework Benchmarks`.
    pub source: String,
    /// How the source calls that measurement: `Round 22`.
    pub title: String,
    /// The source's own description of its machines; empty when it gave none.
    pub environment: String,
    /// Name of the file that was read.
    pub file: String,
    /// Version of what was measured, as the source names it: a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// One sentence, the same wherever the figures are shown.
impl std::fmt::Display for Imported {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "not measured here: imported from {}", self.source)?;
        if !self.title.is_empty() {
            write!(out, ", {}", self.title)?;
        }
        if !self.environment.is_empty() {
            write!(out, ", on {}", self.environment)?;
        }
        Ok(())
    }
}
