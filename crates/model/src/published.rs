//! Figures of others: as they published them, and set beside ours.
//!
//! Other machines, years and networks: only the ratios within each table can be compared, never figures across.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::network::Network;

/// Figures of others, as they were published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// Where, and on what machine.
    pub source: String,
    /// What the figures are, in words: `requests per second`.
    pub quantity: String,
    /// What of ours stands beside them.
    #[serde(default)]
    pub figures: Figures,
    /// Name of the workload in which ours are found; absent for the experiment's first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The CPUs that served at the source; absent where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<SourceCpus>,
    /// What differs from column to column, as a number: see [`Figures`].
    pub columns: Vec<String>,
    /// A row for each contender.
    #[serde(rename = "row")]
    pub rows: Vec<PublishedRow>,
}

/// What the figures of a published table are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figures {
    /// Requests answered per second; a column is a number of connections.
    #[default]
    Throughput,
    /// Share of all requests that were answered in time, 0 to 1; a column is a time in milliseconds.
    AnsweredWithinMs,
}

/// The CPUs of a source's server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceCpus {
    /// How many.
    pub count: u32,
    /// What the source counts: `hardware threads`, `cores`.
    pub unit: String,
}

/// The published figures of one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedRow {
    /// How the source calls it.
    pub title: String,
    /// Name of the contender here; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contender: Option<String>,
    /// The network of ours that stands beside it; [`crate::verdict::Beside::network`] when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// A figure for each column.
    pub values: Vec<f64>,
}
