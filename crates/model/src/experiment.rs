//! What is to be measured: `experiments/NAME.toml`, or the arguments of `assay run`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A plan: which contenders, under which loads, how often and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// Unique name, `[a-z0-9-]+`.
    pub name: String,
    /// One sentence for people.
    #[serde(default)]
    pub about: String,
    /// Selectors of contenders: a name, `lang:go`, `kind:server`, a path; `!` before one excludes.
    pub contenders: Vec<String>,
    /// The loads, each measured in every round.
    #[serde(rename = "measure")]
    pub measures: Vec<Measure>,
    /// Most rounds; each starts every contender afresh, in random order.
    #[serde(default = "default_rounds")]
    pub rounds: u32,
    /// Longest time for all rounds, in seconds; no round is begun that would exceed it. Absent: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// Longest time for which load is given to a fresh server before its first measurement, in seconds; it ends as soon
    /// as the server no longer gets faster.
    #[serde(default = "default_warmup_s")]
    pub warmup_s: f64,
    /// Load given before each window, at that window's own level, in seconds.
    #[serde(default = "default_settle_s")]
    pub settle_s: f64,
    /// Length of one measured window, in seconds.
    #[serde(default = "default_window_s")]
    pub window_s: f64,
    /// Longest wait for one response, in seconds.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: f64,
}

/// One workload at one or more numbers of connections, closed loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// Name of the workload.
    pub workload: String,
    /// Numbers of connections, each a cell of its own.
    pub connections: Vec<u32>,
}

/// One cell of an experiment: a workload at a number of connections.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Name of the workload.
    pub workload: String,
    /// Connections held open, each with one request in flight.
    pub connections: u32,
}

impl Experiment {
    /// Every cell in the order in which the file names them.
    pub fn cells(&self) -> Vec<Cell> {
        let of = |m: &Measure| {
            let workload = m.workload.clone();
            m.connections
                .iter()
                .map(move |&connections| Cell { workload: workload.clone(), connections })
                .collect::<Vec<_>>()
        };
        self.measures.iter().flat_map(of).collect()
    }
}

fn default_rounds() -> u32 {
    6
}

fn default_warmup_s() -> f64 {
    5.0
}

fn default_settle_s() -> f64 {
    0.1
}

fn default_window_s() -> f64 {
    1.0
}

fn default_timeout_s() -> f64 {
    5.0
}
