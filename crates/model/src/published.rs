//! Figures of others: as they published them, and set beside ours.
//!
//! Other machines, years and networks: only the ratios within each table can be compared, never figures across.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Withheld;
use crate::network::Network;
use crate::verdict::Interval;

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
    /// The network of ours that stands beside it; [`Beside::network`] when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// A figure for each column.
    pub values: Vec<f64>,
}

/// A published table and ours beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Beside {
    /// Where the published figures are from, and on what machine.
    pub source: String,
    /// What they are, in words.
    pub quantity: String,
    /// What they are.
    pub figures: Figures,
    /// Name of the contender to which the others stand in ratio, in both tables: the first of the source's that was measured
    /// here; absent where none was.
    pub baseline: Option<String>,
    /// The network of our figures where a row names no other: loopback on the kernel's stack if that was measured, else the
    /// first of the kernel's, since whoever publishes seldom has another stack, else the first.
    pub network: Network,
    /// What differs from column to column, as the source has it.
    pub columns: Vec<String>,
    /// The source's contenders in its order, then the others of ours.
    pub rows: Vec<BesideRow>,
}

/// One contender in both tables. Every list has an entry for each column, absent where there is no figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::evidence::with_sentences)]
pub struct BesideRow {
    /// How the source calls it; our name where the source does not have it.
    pub title: String,
    /// Name of the contender here; absent where there is none.
    pub contender: Option<String>,
    /// The network of our figures, where it is not [`Beside::network`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// The published figures.
    pub values: Vec<Option<f64>>,
    /// Published figure over that of the baseline.
    pub ratio_to_baseline: Vec<Option<f64>>,
    /// Our figures.
    pub ours: Vec<Option<Interval>>,
    /// Our figure over that of the baseline, paired by round.
    pub our_ratio: Vec<Option<Interval>>,
    /// Why it was not run, if so.
    pub not_run: Option<String>,
    /// Why its figures are withheld although it was run, if so.
    #[serde(rename = "withheld_for", default)]
    pub withheld: Option<Withheld>,
}
