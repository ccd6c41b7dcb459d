//! A server that did not live to the end of a measurement.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::units::Nanos;

/// A server that ended while it was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerEnded {
    /// The name of its program.
    pub program: String,
    /// The process that ended.
    pub pid: u32,
    /// When, from the begin of the load.
    pub after_ns: Nanos,
}
