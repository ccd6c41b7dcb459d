//! Estimates with their intervals.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// An estimate with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Best guess.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability that a procedure like this covers the truth, 0 to 1; 0 where one round gave a single figure, which is
    /// then also both ends.
    pub confidence: f64,
}

impl Interval {
    /// Whether zero lies outside, so that a difference with this interval is shown to be one.
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}
