//! How many requests a closed loop had in flight, and what else its generator did meanwhile.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// What a closed loop had in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InFlight {
    /// On average.
    pub mean: f64,
    /// What was asked for.
    pub wanted: f64,
    /// Share of its CPU that the generator's busiest thread used, 0 to 1; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_share: Option<f64>,
    /// Share of the window for which its longest-waiting thread waited for its CPU, 0 to 1; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_share: Option<f64>,
}

impl InFlight {
    /// What two generators of one load had in flight together; the busiest and the longest-waiting thread of both speaks.
    pub fn plus(self, other: Self) -> Self {
        let greater = |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::max);
        Self {
            mean: self.mean + other.mean,
            wanted: self.wanted + other.wanted,
            busy_share: greater(self.busy_share, other.busy_share),
            waiting_share: greater(self.waiting_share, other.waiting_share),
        }
    }
}
