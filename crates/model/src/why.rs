//! Where the time of servers goes, and where one spends more of it than another: computed from profiles, never stored beside them.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::cause::HeldUp;
use crate::core_hour::Money;
use crate::energy::EnergyPerAnswer;
use crate::experiment::Cell;
use crate::interval::Interval;
use crate::network::Network;
use crate::part::Part;

/// What profiles tell of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// The cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Every contender that was profiled there, the one that spends least on an answer first.
    pub spendings: Vec<Spending>,
    /// Every other contender against the first of them.
    pub differences: Vec<Difference>,
    /// On the user-space stack: every contender against itself on the kernel's, in the same rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<Difference>,
    /// Version of the rules by which functions belong to parts.
    pub rules_version: u32,
}

/// Where the time of one server goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spending {
    /// Name of the contender.
    pub contender: String,
    /// Restarts that were profiled.
    pub restarts: u32,
    /// Samples of its stacks in all of them.
    pub samples: u64,
    /// CPU time for each right answer while it was profiled, by the kernel's accounts of its processes; in nanoseconds.
    pub cpu_ns: Interval,
    /// CPU time for each right answer in the windows of the same cell, in which nobody looked; absent where none counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwatched_cpu_ns: Option<f64>,
    /// How much more CPU time an answer took in the slice than in the windows of the same restart, as a share of the latter: less
    /// than zero where it took less. Absent where no restart has both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watching: Option<Interval>,
    /// What a million right answers cost by their CPU time, where the price of an hour of a CPU was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_per_million: Option<Money>,
    /// What a right answer takes of the machine's energy in the windows of the cell; absent where that is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyPerAnswer>,
    /// CPU time in the kernel for each right answer, where there was no right to see what the kernel does; it is in the part that
    /// is not assigned. In nanoseconds, zero where the kernel was seen.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub unseen_ns: f64,
    /// Share of the samples of its CPUs in which other programs ran, 0 to 1; zero where these cannot be seen.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub others_share: f64,
    /// The time that its samples stand for over that CPU time: what is far from 1 was sampled badly.
    pub sampled_share: f64,
    /// Share of the samples whose own function has no name, 0 to 1.
    pub unnamed_share: f64,
    /// Code in which many of these are, each file once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unnamed: Vec<Unnamed>,
    /// Where it goes, the greatest part first; together they are [`Spending::cpu_ns`].
    pub parts: Vec<PartSpending>,
    /// What it did so often for each right answer, the most frequent first.
    pub counts: Vec<CountSpending>,
    /// Time for which its threads could have run but waited for a CPU, for each right answer, in nanoseconds; absent where the
    /// kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_ns: Option<f64>,
    /// Where its threads slept, the longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Waiting>,
    /// What holds its answers up, what accounts for most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_up: Vec<HeldUp>,
    /// Why some of it could not be told, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// Code of which many functions have no name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unnamed {
    /// The file that it is in; absent for code that was compiled while the program ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Samples in it, in all restarts.
    pub samples: u64,
    /// Those of them in functions without a name.
    pub unnamed: u64,
}

/// A place at which the threads of a server slept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// The kernel's function in which they slept.
    pub channel: String,
    /// Share of the time of all its threads that was spent there, 0 to 1: mean over restarts.
    pub share: f64,
}

/// One part of what a server spends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartSpending {
    /// The part.
    pub part: Part,
    /// CPU time for each right answer, in nanoseconds: mean over restarts.
    pub ns: Interval,
}

/// How often a server does something for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountSpending {
    /// What it does.
    #[serde(flatten)]
    pub event: Event,
    /// How often for each right answer: mean over restarts.
    pub per_answer: f64,
}

/// Something that can be counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A system call by its name.
    SystemCall {
        /// The kernel's name of it: `epoll_wait`.
        name: String,
    },
    /// A thread gave up its CPU to wait.
    VoluntarySwitch,
    /// A thread was taken off its CPU.
    InvoluntarySwitch,
    /// A page of memory was not there.
    PageFault,
}

/// Where one server spends more of its time than another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Name of the contender with which the other is compared: the one that spends less.
    pub base: String,
    /// Name of the other.
    pub contender: String,
    /// Where both are one contender on two networks, that of the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_network: Option<Network>,
    /// Likewise, that of the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contender_network: Option<Network>,
    /// Restarts in which both were profiled.
    pub restarts: u32,
    /// CPU time for each right answer of the base in these restarts, in nanoseconds.
    pub base_ns: f64,
    /// The other's.
    pub contender_ns: f64,
    /// The other's less the base's; its interval stands alone.
    pub total_ns: Interval,
    /// The parts that are shown to differ, the greatest difference first; their intervals hold together, those of the parts that
    /// do not differ included.
    pub parts: Vec<PartDifference>,
    /// How many parts are not shown to differ.
    pub alike: u32,
    /// What these add to the difference together, in nanoseconds.
    pub alike_ns: f64,
}

/// One part in which two servers differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartDifference {
    /// The part.
    pub part: Part,
    /// The base's, in nanoseconds for each right answer.
    pub base_ns: f64,
    /// The other's.
    pub contender_ns: f64,
    /// The other's less the base's.
    pub difference_ns: Interval,
    /// What the one that spends more there does more often, the greatest difference first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<CountDifference>,
}

/// What two servers do not do equally often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountDifference {
    /// What they do.
    #[serde(flatten)]
    pub event: Event,
    /// How often the base does it for each right answer.
    pub base: f64,
    /// How often the other does.
    pub contender: f64,
}

fn is_nothing(amount: &f64) -> bool {
    *amount == 0.0
}
