//! What several generators say of the same servers: computed from the record, never stored beside it.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::experiment::Cell;
use crate::generator::GeneratorName;
use crate::generator_window::CountedBy;
use crate::interval::Interval;

/// One cell in which several generators loaded the same servers, one after the other in each round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CrossCheck {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Every contender under every generator, in the record's order, ours first.
    pub standings: Vec<CrossCheckStanding>,
    /// Every pair of contenders under every other generator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<CrossCheckPair>,
}

/// One contender under one generator. Ours is measured here as the others are, in windows of its own, which are none of those
/// that rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CrossCheckStanding {
    /// Name of the contender.
    pub contender: String,
    /// The generator that loaded it.
    pub generator: GeneratorName,
    /// Rounds whose window counts.
    pub rounds: u32,
    /// Windows that do not count, as others used the CPUs.
    pub void: u32,
    /// Right answers per second, the geometric mean over the rounds; absent where there were none.
    pub per_second: Option<Interval>,
    /// Who counted these answers.
    pub counted_by: Option<CountedBy>,
    /// Throughput over that under our generator, paired by round; absent for ours, and where either is not known.
    pub to_ours: Option<Interval>,
    /// Right answers per second of the generator's own CPU time, median over the rounds.
    pub per_cpu_second: Option<f64>,
    /// Share of its threads' CPUs that the generator used, 0 to 1, median over the rounds. One that uses all of them tells its own
    /// speed.
    pub busy_share: Option<f64>,
    /// Whether it used so much that its ratios are not held against ours.
    pub is_saturated: bool,
    /// The 50th percentile as the generator tells it, in nanoseconds, median over the rounds. Generators do not agree on what a
    /// response time is: it is for nobody to compare.
    pub told_p50_ns: Option<f64>,
    /// The 99th percentile as it tells it.
    pub told_p99_ns: Option<f64>,
    /// Requests that it calls failed, over all rounds.
    pub failed: u64,
    /// By how much its count of answers leaves the server's, as a share, at its worst; absent where the server does not count.
    pub miscount: Option<f64>,
    /// Windows in which it failed itself.
    pub failures: u32,
    /// Why it did, the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Two contenders under another generator: whether it tells of them what ours does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CrossCheckPair {
    /// Name of the one that comes first in the record.
    pub first: String,
    /// Name of the other.
    pub second: String,
    /// The generator that loaded both.
    pub generator: GeneratorName,
    /// Throughput of the first over that of the second under this generator, paired by round.
    pub ratio: Interval,
    /// Throughput of the first over that of the second under ours.
    pub ours: Interval,
    /// The one ratio over the other, paired by round; its interval is one of all pairs' of the cell at once.
    pub apart: Interval,
    /// Whether the two generators are shown to tell different ratios.
    pub is_apart: bool,
}
