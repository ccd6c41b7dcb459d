//! Where a run stands.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Rounds are being measured, or the process died while they were.
    Running,
    /// Every planned round was measured, or every pair settled before that in a run that stops then.
    Complete,
    /// The budget did not allow for all rounds.
    BudgetSpent,
    /// Stopped by a person; all finished rounds are here.
    Interrupted,
}
