//! What a proxy costs: what was found of it beside the way without it.

use serde::{Deserialize, Serialize};

use super::Call;
use crate::JsonSchema;
use crate::evidence::Withheld;
use crate::experiment::Cell;
use crate::interval::Interval;

/// What a proxy costs in throughput: it, and the reference server in its place, in the same rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::evidence::with_sentences)]
pub struct ProxyCost {
    /// Name of the proxy.
    pub contender: String,
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Name of the server that answers without a proxy: the program that is also behind it.
    pub straight: String,
    /// Right answers per second through the proxy; absent when withheld.
    pub per_second: Option<Interval>,
    /// Right answers per second of the server alone, on the CPUs that the proxy has.
    pub straight_per_second: Option<Interval>,
    /// The first throughput over the second, paired by round, each pair on its own; absent when either is withheld.
    pub ratio: Option<Interval>,
    /// What may be said of it: [`Call::Distinct`] where the interval leaves the margin around 1.
    pub call: Option<Call>,
    /// CPU time of the proxy for each right answer, in nanoseconds: median over the rounds.
    pub cpu_per_request_ns: Option<f64>,
    /// CPU time of the upstream behind it for each right answer, in nanoseconds: median over the rounds.
    pub upstream_cpu_per_request_ns: Option<f64>,
    /// Why there is no ratio, if so.
    #[serde(rename = "withheld_for", default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
}

/// What a proxy adds to response times at a given rate: windows through it, and straight to the upstream behind it, in pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::evidence::with_sentences)]
pub struct AddedLatency {
    /// Name of the proxy.
    pub contender: String,
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Offered load in requests per second, the same in both windows of a pair.
    pub offered_per_second: f64,
    /// Pairs of windows that count, one of each round.
    pub pairs: u32,
    /// The percentiles that may be told, rising.
    pub quantiles: Vec<AddedQuantile>,
    /// Why nothing is told, if so.
    #[serde(rename = "withheld_for", default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
}

/// A percentile of the response time through a proxy less the same percentile straight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddedQuantile {
    /// The quantile, 0 to 1.
    pub quantile: f64,
    /// Through the proxy, in nanoseconds: median over the rounds.
    pub through_ns: f64,
    /// Straight to the upstream, in nanoseconds: median over the rounds.
    pub straight_ns: f64,
    /// The difference of the two windows of each pair, in nanoseconds: median over the pairs with its order-statistic interval.
    /// A pair of windows alone has no interval.
    pub added_ns: Interval,
}
