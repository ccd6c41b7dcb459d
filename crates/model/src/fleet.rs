//! How the clocks of several hosts, or processes, stand to each other, as data.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::units::Nanos;

/// How another monotonic clock stands to ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// What it shows more than ours at the same moment, in nanoseconds; negative where it shows less.
    pub offset_ns: i64,
    /// The offset is known to within so much, both ways: half of the shortest round trip.
    pub error_ns: Nanos,
    /// Questions for the time that it follows from.
    pub round_trips: u32,
}
