//! What a record means: computed from it, never stored beside it.

mod proxy;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::check::Check;
use crate::conformance::Score;
use crate::core_hour::Money;
use crate::cross_check::CrossCheck;
use crate::energy::EnergyPerAnswer;
use crate::evidence::{Bottleneck, Withheld};
use crate::experiment::{Cell, Protocol};
use crate::hosts::HostStanding;
use crate::network::Network;
use crate::published::Figures;
use crate::why::Why;

pub use crate::evidence::{Ages, LimitedBy, SelfRatio};
pub use crate::interval::Interval;
pub use proxy::{AddedLatency, AddedQuantile, ProxyCost};

/// The judgement of a whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Checks over the whole run, each with its evidence.
    pub trust: Vec<Check>,
    /// Rounds that count.
    pub rounds: u32,
    /// Smallest difference that is called one, as a share (0.01 is 1 %): the greatest of all cells ([`CellVerdict::margin`]).
    pub margin: f64,
    /// How far a contender seemed to differ from itself; absent when none took part twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_floor: Option<NoiseFloor>,
    /// How noisy the run was; absent where too few rounds tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// What the time went into; absent where nobody took turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// One judgement per cell measured at capacity, in the experiment's order.
    pub cells: Vec<CellVerdict>,
    /// One judgement per cell measured at a given rate, in the experiment's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<LatencyVerdict>,
    /// One judgement per cell in which a redline was searched, in the experiment's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redlines: Vec<RedlineVerdict>,
    /// Shares of requests answered in time, one judgement per closed loop, where the experiment asks for them; without times, one per
    /// closed loop that ends with a number of requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<AnsweredVerdict>,
    /// The figures of the work that the experiment repeats, and ours beside them; absent where it repeats none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Beside>,
    /// What each host did, the servers' first; empty where all was on one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostStanding>,
    /// What other generators say of the same servers, one judgement per cell that they loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cross_checks: Vec<CrossCheck>,
    /// Every contender on the user-space stack against itself on the kernel's; empty where only one stack was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack_cost: Vec<StackCost>,
    /// Where along a workload's number the one stack overtakes the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crossings: Vec<Crossing>,
    /// Every contender over a protocol against itself over the one beneath; empty where only one was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocol_cost: Vec<ProtocolCost>,
    /// Every proxy against the server behind it, alone in its place; empty where no proxy was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proxy_cost: Vec<ProxyCost>,
    /// What every proxy adds to response times at a given rate; empty where none was measured at one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added_latency: Vec<AddedLatency>,
    /// Where the time of those goes that were profiled, one entry per cell; empty where nobody was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<Why>,
}

/// What a protocol costs a contender: the same program in the same rounds, with it and with the protocol that it runs over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::evidence::with_sentences)]
pub struct ProtocolCost {
    /// Name of the contender.
    pub contender: String,
    /// The cell over the protocol; the other differs from it in that only.
    #[serde(flatten)]
    pub cell: Cell,
    /// The protocol beneath, with which it is compared.
    pub base: Protocol,
    /// Connections of the cell beneath, one request in flight on each, where it differs in that too: as many requests are in flight
    /// there as on the streams of HTTP/2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_connections: Option<u32>,
    /// Right answers per second over the protocol; absent when withheld.
    pub per_second: Option<Interval>,
    /// Its throughput over the protocol beneath.
    pub base_per_second: Option<Interval>,
    /// The first throughput over the second, paired by round, each pair on its own; absent when either is withheld.
    pub ratio: Option<Interval>,
    /// What may be said of it: [`Call::Distinct`] where the interval leaves the margin around 1.
    pub call: Option<Call>,
    /// 50th percentile of the service time over the protocol to that over the one beneath, medians over rounds.
    pub p50_ratio: Option<f64>,
    /// Why there is no ratio, if so.
    #[serde(rename = "withheld_for", default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
}

/// What the stack costs a contender: the same program in the same rounds on two networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::evidence::with_sentences)]
pub struct StackCost {
    /// Name of the contender.
    pub contender: String,
    /// The cell on the user-space stack; the other differs from it in the network only.
    #[serde(flatten)]
    pub cell: Cell,
    /// The network of the kernel's stack with which it is compared.
    pub kernel: Network,
    /// Whether both went over the same kind of wire, so that the stack alone differs.
    pub same_wire: bool,
    /// Right answers per second on the user-space stack; absent when withheld.
    pub user_per_second: Option<Interval>,
    /// Its throughput on the kernel's stack.
    pub kernel_per_second: Option<Interval>,
    /// Throughput on the user-space stack over that on the kernel's, paired by round, each pair on its own; absent when
    /// either is withheld.
    pub ratio: Option<Interval>,
    /// What may be said of it: [`Call::Distinct`] where the interval leaves the margin around 1.
    pub call: Option<Call>,
    /// 50th percentile of the service time on the user-space stack over that on the kernel's, medians over rounds.
    pub p50_ratio: Option<f64>,
    /// Why there is no ratio, if so.
    #[serde(rename = "withheld_for", default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
}

/// Between which two values of a workload's number a contender's ratio of stacks passes 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Crossing {
    /// Name of the contender.
    pub contender: String,
    /// Name of the workloads that differ in the number.
    pub family: String,
    /// What the number is called: `bytes`.
    pub parameter: String,
    /// Connections held open.
    pub connections: u32,
    /// Requests in flight on one connection at most.
    pub pipeline: u32,
    /// The network of the user-space stack.
    pub user: Network,
    /// That of the kernel's.
    pub kernel: Network,
    /// The stack that is faster at the smaller numbers is the user-space one.
    pub user_is_faster_below: bool,
    /// Greatest number at which the first stack is shown to be faster.
    pub after: u32,
    /// Least number at which the second one is.
    pub before: u32,
    /// Where both would be equal if the logarithm of the ratio ran straight over that of the number between the two; absent
    /// where a ratio is missing.
    pub estimate: Option<f64>,
}

/// One contender against itself, restarted independently: what equals seem to differ by on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseFloor {
    /// Name of the contender that took part twice.
    pub contender: String,
    /// Half-width of the ratio's interval as a share (0.01 is 1 %): the median over the cells.
    pub half_width: f64,
    /// Throughput of the one over that of the other in each cell, the intervals simultaneous over all cells.
    pub ratios: Vec<SelfRatio>,
}

/// How noisy a run was, over all cells measured at capacity. Each is a coefficient of variation: 0.02 is 2 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// By how much restarts of one server vary, beyond what their windows do.
    pub restart_cv: f64,
    /// By how much windows of one life vary.
    pub window_cv: f64,
    /// Windows of a typical life.
    pub windows_per_life: f64,
}

/// What the time of a run whose servers took turns went into.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// Share of the rounds' time in which something was measured that counts, 0 to 1.
    pub measured_share: f64,
}

/// The response times of one cell at a given rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyVerdict {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Contenders, the shortest 99th percentile first.
    pub standings: Vec<LatencyStanding>,
    /// Every pair of contenders whose tails can be compared; only where all were offered the same rate.
    pub pairs: Vec<LatencyPair>,
}

/// One contender's response times at a given rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::evidence::with_sentences)]
pub struct LatencyStanding {
    /// Name of the contender.
    pub contender: String,
    /// Offered load in requests per second; absent where no rate is known, so that none was offered.
    pub offered_per_second: Option<f64>,
    /// The offered rate as a share of the contender's capacity in the same cell over all rounds; absent when that is not known.
    pub share_of_capacity: Option<f64>,
    /// Rounds whose window counts.
    pub rounds: u32,
    /// The percentiles that may be told, rising.
    pub quantiles: Vec<ResponseQuantile>,
    /// What an answer takes of the machine's energy; absent where that is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyPerAnswer>,
    /// Failed requests over all rounds.
    pub failed: u64,
    /// Checks that did not pass.
    pub checks: Vec<Check>,
    /// Why nothing is told, if so.
    #[serde(rename = "withheld_for", default)]
    pub withheld: Option<Withheld>,
}

/// A percentile of the response time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseQuantile {
    /// The quantile, 0 to 1.
    pub quantile: f64,
    /// Median over the rounds with its order-statistic interval, in nanoseconds.
    pub response_ns: Interval,
    /// Whether it reaches requests of which it is only known that they took longer, so that the truth may be greater.
    pub is_lower_bound: bool,
}

/// What share of all requests was answered within given times, in one closed loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnsweredVerdict {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// The times, rising, in milliseconds since a request was sent; empty where the experiment names none.
    pub within_ms: Vec<f64>,
    /// Contenders, those that answered most soonest first.
    pub standings: Vec<AnsweredStanding>,
}

/// How soon one contender answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::evidence::with_sentences)]
pub struct AnsweredStanding {
    /// Name of the contender.
    pub contender: String,
    /// Rounds whose window counts.
    pub rounds: u32,
    /// Share of all requests that were answered rightly within each of the times, 0 to 1: median over the rounds with its
    /// order-statistic interval. One that failed or was given up counts as never answered.
    pub shares: Vec<Interval>,
    /// The slowest right answer of all rounds, in nanoseconds; absent where there was none.
    pub slowest_ns: Option<f64>,
    /// Requests of all rounds.
    pub requests: u64,
    /// Those of them that failed or were given up.
    pub unanswered: u64,
    /// Checks that did not pass, of a loop that ends with a number of requests; those of one at capacity stand with its capacity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// Why nothing is told, if so.
    #[serde(rename = "withheld_for", default)]
    pub withheld: Option<Withheld>,
}

/// The redlines of one cell: the highest rates that keep the objective, which is in the cell's load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RedlineVerdict {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Contenders, the highest redline first.
    pub standings: Vec<RedlineStanding>,
}

/// One contender's redline: it lies between the rate that was kept and the rate that was missed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RedlineStanding {
    /// Name of the contender.
    pub contender: String,
    /// Highest rate known to keep the objective, in requests per second; absent when none is.
    pub kept_per_second: Option<f64>,
    /// Lowest rate known to miss it; absent when none is.
    pub missed_per_second: Option<f64>,
    /// Median response time at that rate, in nanoseconds, where no rate keeps the objective; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_at_missed_ns: Option<f64>,
    /// Shortest response time there, in nanoseconds; absent where some rate keeps the objective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fastest_at_missed_ns: Option<f64>,
    /// Highest rate at which a server kept it again after it had been overloaded, 0 for one that did so at no rate; absent when
    /// that was not found out.
    pub recovered_per_second: Option<f64>,
    /// The kept rate over the contender's capacity in the same cell; absent when either is not known.
    pub share_of_capacity: Option<f64>,
    /// Trials made.
    pub trials: u32,
    /// Servers that were started for them; 0 for one that was running already.
    pub servers: u32,
    /// Windows measured.
    pub windows: u32,
    /// Those that were void.
    pub void_windows: u32,
    /// How the search ended.
    pub end: RedlineEnd,
}

impl RedlineStanding {
    /// Whether the search came to its end.
    pub fn is_settled(&self) -> bool {
        matches!(self.end, RedlineEnd::Confirmed | RedlineEnd::AboveHighest | RedlineEnd::BelowLowest)
    }

    /// Whether something is known of where it lies, confirmed or not.
    pub fn is_found(&self) -> bool {
        self.is_settled() || (self.kept_per_second.is_some() && self.missed_per_second.is_some())
    }
}

/// How a search for a redline ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RedlineEnd {
    /// Both bounds are confirmed.
    Confirmed,
    /// Even twice the capacity keeps the objective.
    AboveHighest,
    /// Even a small part of the capacity misses it, where requests need not wait for each other.
    BelowLowest,
    /// The run or its trials were over before; the bounds are the best known.
    Unfinished,
    /// Too many windows in a row were void.
    TooManyVoid,
}

/// The tails of two contenders at the same rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyPair {
    /// Name of the one with the longer 99th percentile.
    pub longer: String,
    /// Name of the other.
    pub shorter: String,
    /// 99th percentile of the first over that of the second: median over the rounds' ratios with its order-statistic
    /// interval, each pair on its own.
    pub ratio: Interval,
    /// What may be said.
    pub call: Call,
}

/// The judgement of one workload at one number of connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellVerdict {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Contenders, fastest first; the limit stands among them.
    pub standings: Vec<Standing>,
    /// Every pair of ranked contenders, the faster one first.
    pub pairs: Vec<Pair>,
    /// Smallest difference that is called one in this cell, as a share: more than elsewhere only where the A/A control differs from
    /// itself.
    #[serde(default)]
    pub margin: f64,
    /// Smallest difference that a typical pair would have shown with a chance of 80 %, as a share (0.04 is 4 %); absent where
    /// that is nothing useful.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
}

/// One contender in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::evidence::with_sentences)]
pub struct Standing {
    /// Name of the contender.
    pub contender: String,
    /// Validated responses per second in a typical round; at a rate that was asked for, the geometric mean over the rounds. Absent when
    /// withheld.
    pub throughput_per_second: Option<Interval>,
    /// Throughput of each round that counts, in the rounds' order; absent where a round gave none.
    pub rounds_per_second: Vec<Option<f64>>,
    /// Mean of the rounds but the best and the worst, where the experiment asks for it and there are three.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trimmed_mean_per_second: Option<f64>,
    /// Throughput over that of the limit, paired by round; absent without a limit, and for the limit itself.
    pub share_of_limit: Option<Interval>,
    /// Tier, 1 is the fastest; absent for the limit and for the unranked.
    pub tier: Option<u32>,
    /// Compact letters: two contenders that share one are not shown to differ.
    pub letters: String,
    /// Service time at this many in flight, 50th percentile: median over rounds, in nanoseconds.
    pub p50_ns: Option<Interval>,
    /// Service time at this many in flight, 99th percentile: median over rounds, in nanoseconds.
    pub p99_ns: Option<Interval>,
    /// CPU time of the server per right answer: median over rounds, in nanoseconds.
    pub cpu_per_request_ns: Option<f64>,
    /// What a million right answers cost by that CPU time, where the price of an hour of a CPU was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_per_million: Option<Money>,
    /// What an answer takes of the machine's energy; absent where that is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyPerAnswer>,
    /// Share of the server's CPUs that its processes used: median over the windows whose rate counts, 0 to 1.
    pub server_busy_share: Option<f64>,
    /// Share of the busiest generator thread's CPU: median over the windows whose rate counts, 0 to 1; absent where none does.
    pub generator_busy_share: Option<f64>,
    /// Memory at a window's end, median over the rounds, in bytes ([`crate::usage::Usage::memory_bytes`]).
    pub memory_bytes: Option<u64>,
    /// From start to first right answer: median over rounds, in nanoseconds.
    pub startup_ns: Option<f64>,
    /// How many of the rules of HTTP/1.1 and of its test types it keeps; absent when it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conformance: Option<Score>,
    /// Failed requests over all rounds.
    pub failed: u64,
    /// What held the throughput where it is.
    pub limited_by: LimitedBy,
    /// What that was concluded from.
    #[serde(rename = "limit_found", default)]
    pub limit_evidence: Bottleneck,
    /// What the generator could send here, over what it sent: its capacity as shown against the limit, with the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<f64>,
    /// What an answer costs the server.
    #[serde(default)]
    pub price: Price,
    /// How old its servers were when they were measured; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ages: Option<Ages>,
    /// Checks that did not pass.
    pub checks: Vec<Check>,
    /// Why it is not ranked, if it is not.
    #[serde(rename = "withheld_for", default)]
    pub withheld: Option<Withheld>,
}

/// What one right answer costs a server: medians over rounds. Absent where the machine did not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: Option<f64>,
    /// CPU time in kernel mode, in nanoseconds.
    pub system_ns: Option<f64>,
    /// Times a thread gave up its CPU to wait.
    pub voluntary_switches: Option<f64>,
    /// Times a thread was taken off its CPU.
    pub involuntary_switches: Option<f64>,
    /// Page faults of both kinds.
    pub page_faults: Option<f64>,
    /// System calls on its CPUs.
    pub system_calls: Option<f64>,
    /// Cycles of its CPUs.
    pub cycles: Option<f64>,
    /// Instructions on its CPUs.
    pub instructions: Option<f64>,
    /// Resident memory before the first load, in bytes.
    pub rss_idle_bytes: Option<f64>,
}

/// The comparison of two contenders in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// Name of the one with the higher estimate.
    pub faster: String,
    /// Name of the other.
    pub slower: String,
    /// Throughput of the first over that of the second, paired by round; simultaneous over all pairs of the cell.
    pub ratio: Interval,
    /// What may be said.
    pub call: Call,
}

/// What may be said of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Shown to differ by more than the margin.
    Distinct,
    /// Not shown to differ.
    Tie,
    /// Shown to differ by less than the margin (two one-sided tests).
    Equivalent,
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
