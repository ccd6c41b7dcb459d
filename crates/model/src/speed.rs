//! The speed of CPUs beside a window, by a fixed piece of work.

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
