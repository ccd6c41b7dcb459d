//! How requests arrive at a server.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// When requests are issued.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "model")]
pub enum Arrival {
    /// The next request follows the last response.
    #[default]
    Closed,
    /// At even intervals, whatever the answers do.
    Constant {
        /// Offered load in requests per second.
        per_second: f64,
    },
    /// At exponentially distributed intervals, whatever the answers do.
    Poisson {
        /// Offered load in requests per second.
        per_second: f64,
    },
}

/// How requests arrive when a rate is offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalModel {
    /// With exponentially distributed gaps, as many independent users make them.
    #[default]
    Poisson,
    /// With even gaps.
    Constant,
}

impl ArrivalModel {
    /// The schedule of this model at a rate.
    pub fn at(self, per_second: f64) -> Arrival {
        match self {
            Self::Poisson => Arrival::Poisson { per_second },
            Self::Constant => Arrival::Constant { per_second },
        }
    }
}
