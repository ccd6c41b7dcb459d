//! Load that servers get before they are measured.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::experiment::Cell;
use crate::usage::Counted;

/// Load given until a fresh server no longer got faster, or the time for it was over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Warmup {
    /// Name of the workload.
    pub workload: String,
    /// Right answers per second in each slice of the warm-up, in order.
    pub per_second: Vec<f64>,
    /// Whether it had stopped getting faster.
    pub settled: bool,
    /// What was counted in one slice more, apart from the window because counting system calls slows each of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
}

/// Load given to a server that was warm and had rested, just before its turns in a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeadIn {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Right answers per second in each quarter of a second, in order.
    pub per_second: Vec<f64>,
}
