//! The version of assay that made something.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// A program's identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// Version of assay.
    pub version: String,
    /// `release` or `debug`; only the former measures well.
    pub profile: String,
}
