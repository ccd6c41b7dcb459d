//! The server behind proxies, and what it did while they were under load.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::usage::Usage;

/// The server behind every proxy of a run: a process for each life of a proxy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Upstream {
    /// Name of the contender whose program it is: the reference server.
    pub contender: String,
    /// Its CPUs, as a kernel list.
    pub cpus: String,
    /// Whether the generator had the same CPUs.
    pub beside_generator: bool,
}

/// What a proxy's upstream did during a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpstreamUsage {
    /// By all of its processes.
    #[serde(flatten)]
    pub usage: Usage,
    /// Whether the generator had the same CPUs.
    pub beside_generator: bool,
    /// Requests that it received from before the generator's first to after its last, by its own count: set them against
    /// `load.books`. Absent where it did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
}
