//! What the rounds of a run were.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// Why it is not known how much restarts vary. Two contenders show it that count in two common rounds; one of the two may be the
/// A/A control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RestartsUnknown {
    /// Fewer than two rounds count.
    FewRounds,
    /// Nobody but one contender counts.
    OneContender,
    /// There are several contenders, of which no two count in two common rounds.
    Apart,
}

/// Rounds in which everybody was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rounds {
    /// How many.
    pub complete: u32,
    /// Those of them that count, because the rates of two contenders do, or that of the only one; absent where all count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counting: Option<u32>,
    /// Who had several processes in some, because its restarts varied much, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replicated: Vec<String>,
}
