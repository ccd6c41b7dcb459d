//! What hosts of a load differ by.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// Hosts that differ by less are not told apart: connections never fall evenly on the threads of a server.
pub const HOST_MARGIN: f64 = 0.05;

/// A figure that hosts of a load are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostMeasure {
    /// Right answers per connection, in closed loops.
    Throughput,
    /// Median of the service time; under a rate, of the response time.
    Median,
    /// 99th percentile of it.
    P99,
    /// Throughput of the servers that lived there, in closed loops.
    Served,
}

/// Hosts of one role of which none was shown to differ from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostsAlike {
    /// Whether they are those of the servers; else of the load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_servers: bool,
    /// Hosts that were compared.
    pub hosts: u64,
    /// Windows in which they were; of the servers rounds.
    pub windows: u64,
    /// Whether these are pieces of the window of one load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_one_load: bool,
}

/// A host whose answers are not those of the other hosts in the same windows, or whose servers are not as fast as on others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostApart {
    /// The host.
    pub host: String,
    /// The other one where there are two; absent where it is compared with the median of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    /// The figure in which they differ.
    pub measure: HostMeasure,
    /// Its figure over theirs.
    pub ratio: f64,
    /// Lower end of the ratio's interval.
    pub low_ratio: f64,
    /// Upper end.
    pub high_ratio: f64,
    /// Windows that it is taken from; of the servers rounds.
    pub windows: u32,
    /// Whether these are pieces of the window of one load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_one_load: bool,
}
