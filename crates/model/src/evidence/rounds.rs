//! What the rounds of a run were.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// Rounds in which everybody was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rounds {
    /// How many.
    pub complete: u32,
    /// Who had several processes in some, because its restarts varied much, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replicated: Vec<String>,
}
