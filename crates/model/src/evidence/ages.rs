//! How old servers were when they were measured.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::units::Nanos;

/// How old servers were when what counts of them was measured: from the youngest to the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ages {
    /// Least load that one had behind it when something that counts began.
    pub loaded_from_ns: Nanos,
    /// Most load that one had behind it when something that counts ended.
    pub loaded_to_ns: Nanos,
    /// Least time since it was started.
    pub lived_from_ns: Nanos,
    /// Most time.
    pub lived_to_ns: Nanos,
}

impl Ages {
    /// From the youngest to the oldest of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            loaded_from_ns: self.loaded_from_ns.min(other.loaded_from_ns),
            loaded_to_ns: self.loaded_to_ns.max(other.loaded_to_ns),
            lived_from_ns: self.lived_from_ns.min(other.lived_from_ns),
            lived_to_ns: self.lived_to_ns.max(other.lived_to_ns),
        }
    }
}
