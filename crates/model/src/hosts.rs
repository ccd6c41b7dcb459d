//! The hosts of a run: what each did, as the verdict tells it.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::evidence::HostMeasure;
use crate::interval::Interval;
use crate::lab::HostRole;
use crate::units::Nanos;

/// What one host did in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostStanding {
    /// The host by its name.
    pub name: String,
    /// What it was there for.
    pub role: HostRole,
    /// Its clock is known to within so much, in the load in which that was least.
    pub clock_error_ns: Nanos,
    /// Windows of load in which it had a part; of a servers' host those of its rounds.
    pub windows: u32,
    /// Those in which it was lost.
    pub lost: u32,
    /// What befell it first, where it was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_for: Option<String>,
    /// Windows in which it was late: it began so long after the others that it mattered, or sent less or later than was due.
    pub late: u32,
    /// Windows in which its CPU was the limit of what it sent.
    pub saturated: u32,
    /// Windows in which others had its CPU.
    pub disturbed: u32,
    /// When it began, after the moment on which all had agreed; where it was farthest from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_ns: Option<i64>,
    /// Its share of all right answers, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers_share: Option<f64>,
    /// Share of its CPU that its busiest thread used: the median over windows, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_share: Option<f64>,
    /// Longest share of a window for which its threads waited for their CPUs, on average over these, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_share: Option<f64>,
    /// 99th percentile of what it sent requests too late by, in the window in which that was greatest; absent in closed loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_p99_ns: Option<Nanos>,
    /// What its answers differ by from those of the other hosts in the same windows, and those of its servers from the same ones in the
    /// rounds of other hosts; empty where there is no other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<BesideHosts>,
}

impl HostStanding {
    /// Whether it was late, lost, limited or disturbed, or its answers are not those of the others.
    pub fn is_odd(&self) -> bool {
        self.lost + self.late + self.saturated + self.disturbed > 0
            || self.beside.iter().any(|beside| beside.is_apart)
    }
}

/// A figure of one host over that of the others: of the load in the same windows, of two over the other's, of more over their median; of the
/// servers over that of the rounds of all others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BesideHosts {
    /// The figure.
    pub measure: HostMeasure,
    /// The ratio; the intervals of all hosts and figures hold at once.
    pub ratio: Interval,
    /// Windows that it is taken from; of the servers rounds.
    pub windows: u32,
    /// Whether the host is shown to differ.
    pub is_apart: bool,
}
