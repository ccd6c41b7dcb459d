//! Whether a machine is fit to measure on: the JSON of `assay doctor --json`.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::check::CheckOutcome;
use crate::host::{HostFacts, Isolation};
use crate::units::Nanos;

/// Name and version of the format of [`Diagnosis`].
pub const DOCTOR_SCHEMA: &str = "assay-doctor/1";

/// The state of a machine, finding by finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// [`DOCTOR_SCHEMA`].
    pub schema: String,
    /// The verdict: as bad as the worst finding.
    pub fitness: Fitness,
    /// The machine.
    pub host: HostFacts,
    /// The CPUs that `assay run` would use.
    pub isolation: Isolation,
    /// What was measured; absent for the saved files of another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    /// All findings, grouped by [`Finding::area`], the good ones too.
    pub findings: Vec<Finding>,
}

/// Whether to measure on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// Nothing was found that spoils a measurement.
    Fit,
    /// Measurements are possible and noisier, or speak for this set-up only.
    UsableWithCaution,
    /// Measurements would be void, or would not run.
    Unfit,
}

/// One property of a machine, with what it means for a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable name, such as `governor`.
    pub rule: String,
    /// The part of the machine that it belongs to.
    pub area: Area,
    /// Pass: good. Warn: usable with caution. Void: unfit.
    pub outcome: CheckOutcome,
    /// How it is here.
    pub state: String,
    /// What that costs, in a sentence; absent where it costs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// Where the cost is known from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How to mend it; present whenever the outcome is not a pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// What `--fix` would set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<KernelSetting>,
}

/// The parts of a machine, in the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// Processors and who else uses them.
    Cpu,
    /// Clocks and timers.
    Time,
    /// Ports, queues and the loopback interface.
    Network,
    /// What this process may have.
    Limits,
    /// What the kernel offers to assay.
    Kernel,
}

/// A kernel setting that can be written, and taken back, as a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Setting")]
pub struct KernelSetting {
    /// The file under `/proc/sys` or `/sys`.
    pub path: String,
    /// Its value now.
    pub from: String,
    /// A better one.
    pub to: String,
}

/// What a short measurement showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// How long the machine was watched.
    pub span_ns: Nanos,
    /// Share of all allowed CPUs' time that other programs used, interrupts included, 0 to 1.
    pub other_share: f64,
    /// The share on the CPU on which it was greatest.
    pub worst_cpu_share: f64,
    /// Share of CPU time that a hypervisor took away, 0 to 1.
    pub steal_share: f64,
    /// Share of the span in which some task waited for a CPU, 0 to 1; absent where the kernel does not tell.
    pub pressure_share: Option<f64>,
    /// Device interrupts a second on the CPU that got most of them.
    pub interrupts_per_second: f64,
    /// Soft interrupts a second on the CPU that got most of them.
    pub softirqs_per_second: f64,
    /// Cost of one reading of the monotonic clock.
    pub clock_read_ns: f64,
    /// How late timed sleeps ended, 50th percentile.
    pub wake_late_p50_ns: Nanos,
    /// How late a thread woke, 99th percentile.
    pub wake_late_p99_ns: Nanos,
    /// Share of time that a spinning thread on each CPU lost to interruptions, 0 to 1: the worst CPU's.
    pub spin_lost_share: f64,
    /// Slowest over fastest of equal pieces of work, minus 1: the worst CPU's middle half.
    pub speed_spread: f64,
}

impl Fitness {
    /// The verdict over findings: as bad as the worst.
    pub fn of(findings: &[Finding]) -> Self {
        match findings.iter().map(|finding| finding.outcome).max() {
            None | Some(CheckOutcome::Pass) => Self::Fit,
            Some(CheckOutcome::Warn) => Self::UsableWithCaution,
            Some(CheckOutcome::Void) => Self::Unfit,
        }
    }
}
