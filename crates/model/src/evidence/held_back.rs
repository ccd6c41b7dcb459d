//! What a quota did, and what a contender differs from itself by.

use serde::{Deserialize, Serialize};

use super::Proportion;
use crate::JsonSchema;
use crate::experiment::Cell;
use crate::interval::Interval;

/// What a quota of CPU time did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldBack {
    /// Whether it held back the server, or assay itself.
    pub server: bool,
    /// Windows in which anybody was held back.
    pub windows: Proportion,
    /// Time for which it was held back in the worst window, in sum over CPUs, as a share of the window.
    pub share: f64,
}

/// A contender's throughput over its own, paired by round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfRatio {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// The ratio.
    pub ratio: Interval,
}
