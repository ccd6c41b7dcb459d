//! What hosts of a load differ by.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

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
}

/// A host whose answers are not those of the other hosts in the same windows.
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
    /// Windows that it is taken from.
    pub windows: u32,
}
