//! What a quota of CPU time did.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::units::Nanos;

/// A quota of CPU time that a control group sets (kernel: scheduler/sched-bwc.rst), and what it did over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throttled {
    /// CPU time that it allows for each second, in CPUs.
    pub quota_cpus: f64,
    /// How long it held back whom it binds, summed over the CPUs.
    pub throttled_ns: Nanos,
}

impl Throttled {
    /// Two spans together, one after the other.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        Self { throttled_ns: self.throttled_ns + later.throttled_ns, ..later }
    }
}
