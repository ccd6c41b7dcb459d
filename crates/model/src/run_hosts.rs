//! Hosts as a record tells of them that a run used beside the one that led it.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::fleet::ClockOffset;
use crate::host::HostFacts;

/// A host on which something of a run was started: its servers, or its database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedHost {
    /// What it was called.
    pub name: String,
    /// Where load reached its servers, or the servers their database.
    pub address: String,
    /// CPUs of what was started there, as its kernel lists them.
    pub cpus: String,
    /// The machine.
    pub host: HostFacts,
    /// How its monotonic clock stood to ours before the first round.
    pub clock: ClockOffset,
}

/// A host from which the load of a run came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorHost {
    /// What it was called, in the record and as a generator of each window.
    pub name: String,
    /// CPUs of the generator there, as its kernel lists them.
    pub cpus: String,
    /// The machine.
    pub host: HostFacts,
    /// How its monotonic clock stood to ours before the first round; each load compares them anew.
    pub clock: ClockOffset,
}
