//! The speed of CPUs beside a window and within it, each by a fixed piece of work.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::units::Nanos;

/// CPU time of each part of the probe's work on one CPU at one moment: more is slower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpeedTimes {
    /// Of messages sent through a local socket.
    pub system_calls_ns: Nanos,
    /// Of a walk through memory that no cache foresees.
    pub memory_ns: Nanos,
    /// Of multiplications that each wait for the one before.
    pub arithmetic_ns: Nanos,
}

/// The speed of one CPU at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuSpeed {
    /// Its number.
    pub cpu: u32,
    /// What the probe took there.
    #[serde(flatten)]
    pub times: SpeedTimes,
}

/// The speed of the CPUs of server and generator beside a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSpeed {
    /// Right before the generator was started.
    pub before: Vec<CpuSpeed>,
    /// Right after it ended.
    pub after: Vec<CpuSpeed>,
}

/// What a fixed piece of work took on the CPUs of server and generator, again and again while a turn lasted: more is slower.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gauged {
    /// From one reading to the next, the first at the beginning of the turn's load.
    pub interval_ns: Nanos,
    /// CPU time of the server's CPUs that all readings took.
    pub used_ns: Nanos,
    /// The mean over the server's CPUs in each interval; 0 where none was read.
    pub server_ns: Vec<Nanos>,
    /// The mean over those CPUs of the generator that are not the server's; empty where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generator_ns: Vec<Nanos>,
}

impl Gauged {
    /// Whether it told anything of the server's CPUs.
    pub fn was_read(&self) -> bool {
        self.server_ns.iter().any(|ns| *ns > Nanos::ZERO)
    }
}

/// What a gauge of the CPUs within turns told of a run, and what it took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GaugeSeen {
    /// Share of the variance of turns of one life that it explains, together with the time that others took, 0 to 1.
    pub explained_share: f64,
    /// Share of the server's CPUs' time that it took, 0 to 1.
    pub cpu_share: f64,
}
