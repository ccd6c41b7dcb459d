//! How contenders changed from a base: computed from records, never stored beside them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::check::Check;
use crate::design::{Comparing, Design};
use crate::evidence::Withheld;
use crate::experiment::Cell;
use crate::verdict::{Interval, SelfRatio};

/// Name and version of the format of [`Comparison`].
pub const COMPARISON_SCHEMA: &str = "assay-comparison/1";

/// One base against one or more others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// How the rounds of both sides belong together.
    pub pairing: Pairing,
    /// Who was compared with whom, by which design, and why; absent where runs of other commands are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparing: Option<Comparing>,
    /// The A/A control: the base over itself, restarted independently and measured by the same design; empty where there was
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub control: Vec<SelfRatio>,
    /// Probability with which the intervals of one metric cover, all rows together, 0 to 1.
    pub confidence: f64,
    /// Smallest difference in throughput that is called one, as a share (0.01 is 1 %).
    pub margin: f64,
    /// What the comparison as a whole suffers from.
    pub caveats: Vec<Check>,
    /// Whether the runs can be trusted; what passed only where all come from one run.
    pub trust: Vec<RunCheck>,
    /// What speaks against single figures of those who are compared.
    pub objections: Vec<Objection>,
    /// One row per contender and cell.
    pub rows: Vec<Row>,
    /// What became of each threshold in each row.
    pub findings: Vec<ThresholdFinding>,
}

/// How the rounds of both sides belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// Both were measured in the same rounds: differences are taken within rounds.
    Rounds,
    /// They come from different runs: their means are compared, and whatever changed in between is part of the change.
    Runs,
}

/// A check of a whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunCheck {
    /// The run's name; absent where all that is compared comes from one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The check.
    #[serde(flatten)]
    pub check: Check,
}

/// What speaks against the figures of one contender in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Objection {
    /// The run's name; absent where all that is compared comes from one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Name of the contender.
    pub contender: String,
    /// The cell.
    pub cell: Cell,
    /// What is objected to.
    pub check: Check,
}

/// A contender in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// The run's name.
    pub run: String,
    /// The contender's name in it.
    pub contender: String,
}

/// One contender against its base in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = crate::evidence::with_sentences)]
pub struct Row {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// What it is compared with.
    pub base: Subject,
    /// What is compared.
    pub new: Subject,
    /// The change of each metric that both sides have.
    pub changes: Vec<Change>,
    /// Why nothing is told, if so.
    #[serde(rename = "withheld_for", default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
}

/// The change of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The metric.
    pub metric: Metric,
    /// The base's figure in the metric's unit: throughput in a typical round, or its geometric mean over the rounds where runs are compared;
    /// of all others the median over its rounds, so that `new` over `base` is not exactly `ratio`. Absent where it is withheld, and only
    /// the ratio of a duet is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<f64>,
    /// The figure of the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<f64>,
    /// New over base, the mean over rounds on the logarithmic scale, its interval simultaneous over all rows of this metric; absent where one
    /// round says nothing of it.
    pub ratio: Option<Interval>,
    /// Rounds that count: common ones when rounds are paired, else those of the side that has fewer.
    pub rounds: u32,
    /// How much the ratio varies from round to round: standard deviation of its logarithm; absent as `ratio` is.
    pub round_cv: Option<f64>,
    /// How the ratio was measured.
    pub design: Design,
    /// The ratio from windows in which one of the two was under load at a time, for comparison with that of a duet;
    /// absent where `ratio` is that already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternating: Option<Interval>,
    /// Smallest difference that is called one here, as a share.
    pub margin: f64,
    /// Smallest change that such a comparison would show in four runs of five, as a share; absent where that says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
    /// What may be said.
    pub call: Shift,
}

/// What may be said of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shift {
    /// Shown to be better by more than the margin.
    Better,
    /// Shown to be worse by more than the margin.
    Worse,
    /// Shown not to differ by more than the margin.
    Equal,
    /// Neither is shown: more than the margin is possible, and so is less.
    NotShown,
    /// Not to be called: a percentile of a closed loop follows from its throughput (Little's law), and is no better for it.
    NotCalled,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Validated responses per second; only where the load is the capacity.
    Rps,
    /// 50th percentile of the service time, or of the response time at an offered rate, in nanoseconds.
    P50,
    /// The 99th percentile of the service time.
    P99,
    /// CPU time of the server per right answer, in nanoseconds.
    Cpu,
    /// Memory of the server at the end of a window, in bytes: its proportional set size, or where the kernel does not tell that, its resident
    /// size.
    #[serde(rename = "rss")]
    Memory,
}

impl Metric {
    /// All, in the order in which they are printed.
    pub const ALL: [Self; 5] = [Self::Rps, Self::P50, Self::P99, Self::Cpu, Self::Memory];

    /// Name of the figure in arguments and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rps => "rps",
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::Cpu => "cpu",
            Self::Memory => "rss",
        }
    }

    fn is_called(self, name: &str) -> bool {
        self.name() == name || (self == Self::Memory && name == "memory")
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        self == Self::Rps
    }
}

/// A change that shall not happen unnoticed: `rps:-3%`, `p99:+10%`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Threshold {
    /// Of what.
    pub metric: Metric,
    /// The change as a share: −0.03 for a fall by 3 %.
    pub change: f64,
}

impl fmt::Display for Threshold {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A share of a percentage as it was written is rarely a binary fraction; nine digits give it back.
        let percent = (self.change * 1e11).round() / 1e9;
        write!(out, "{}:{percent:+}%", self.metric.name())
    }
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = || {
            let (name, change) = text.split_once(':')?;
            let metric = Metric::ALL.into_iter().find(|metric| metric.is_called(name.trim()))?;
            let percent = change.trim().strip_suffix('%')?.trim();
            let signed = percent.starts_with(['+', '-']);
            let change = percent.parse::<f64>().ok()? / 100.0;
            (signed && change.is_finite() && change > -1.0 && change != 0.0)
                .then_some(Self { metric, change })
        };
        parsed().ok_or_else(|| {
            format!(
                "`{text}` is no threshold; write for example rps:-3%, p50:+5%, p99:+10%, cpu:+5% or memory:+20%"
            )
        })
    }
}

impl TryFrom<String> for Threshold {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Threshold> for String {
    fn from(threshold: Threshold) -> Self {
        threshold.to_string()
    }
}

/// What became of a threshold in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub struct ThresholdFinding {
    /// The threshold.
    pub threshold: Threshold,
    /// Index of the row.
    pub row: u32,
    /// What was found.
    #[serde(flatten)]
    pub outcome: ThresholdOutcome,
}

/// Whether a threshold was crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum ThresholdOutcome {
    /// The whole interval lies beyond it: shown beyond the noise.
    Shown,
    /// The whole interval lies on this side of it.
    Excluded,
    /// The interval reaches over it: possible, not shown.
    Possible {
        /// Rounds that would probably tell, the measured ones included; absent when a thousand would not.
        rounds_needed: Option<u32>,
    },
    /// There is nothing to judge by.
    Unknown,
    /// The sides do not answer alike, so that no difference of their figures means anything.
    NotAlike,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read_as_people_write_them_and_written_so_again() {
        for (text, metric, change) in [
            ("rps:-3%", Metric::Rps, -0.03),
            ("p99:+10%", Metric::P99, 0.1),
            ("rss:+2.5%", Metric::Memory, 0.025),
        ] {
            let threshold: Threshold = text.parse().unwrap();
            assert_eq!((threshold.metric, threshold.to_string()), (metric, text.to_owned()));
            assert!((threshold.change - change).abs() < 1e-12);
        }
        assert_eq!("memory:+2.5%".parse::<Threshold>(), "rss:+2.5%".parse::<Threshold>());
        for bad in ["rps", "rps:3%", "rps:-3", "speed:-3%", "rps:-100%", "rps:+0%", "rps:-x%", ""] {
            assert!(bad.parse::<Threshold>().is_err(), "{bad}");
        }
    }
}
