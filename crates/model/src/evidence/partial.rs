//! A run that is compared before its end.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::state::State;

/// A run that did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Partial {
    /// The run's name.
    pub run: String,
    /// Where it stands.
    pub state: State,
}
