//! The hosts of a run: what the network between them carries, and what each did, as the verdict tells it.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::evidence::HostMeasure;
use crate::interval::Interval;
use crate::lab::HostRole;
use crate::units::Nanos;

/// Bytes of an answer that a frame of Ethernet carries: an MTU of 1500 less the headers of IPv4 and TCP with time stamps.
const FRAME_CARRIES: f64 = 1448.0;
/// What a frame takes on the wire beside them: these headers, Ethernet's own with its checksum, the preamble and the gap between two.
const FRAME_TAKES: f64 = 52.0 + 18.0 + 20.0;

/// What the network carries from the servers' host to hosts of the load, or from the database's to those of the servers, measured before the
/// first round
/// (docs/method/fleet.md#the-network-between-hosts).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostLink {
    /// The host that answered, where that was not the only one of servers: several took turns, or it is the database's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The hosts that asked at once; none is the host on which assay was started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The shortest time of a small answer while each host had one request in flight: the network's and both kernels' part of every
    /// service time. Absent where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_ns: Option<Nanos>,
    /// Large answers; absent where they were not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<Carried>,
    /// Whether a CPU of either side was busy all the time, so that the network carries as much at least.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_at_least: bool,
    /// Large requests, in the other direction; absent where no request of the run has a body, and in records from before they were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_server: Option<CarriedToServer>,
    /// Why it is not known, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What the network carries to the servers' host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CarriedToServer {
    /// Large requests; each counts as one answer.
    #[serde(flatten)]
    pub carried: Carried,
    /// Whether a CPU of either side was busy all the time, so that the network carries as much at least.
    pub is_at_least: bool,
}

/// Bytes of answers, or of requests that were answered, that came over a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Carried {
    /// Bytes of TCP's streams in a second, heads included.
    pub bytes_per_second: f64,
    /// The answers in them.
    pub answers_per_second: f64,
}

impl Carried {
    /// What they take of a network of Ethernet in a second, each answer in frames of its own: so small answers, which are mostly headers,
    /// and large ones are told in the same unit.
    pub fn wire_bytes_per_second(&self) -> f64 {
        let of_each = self.bytes_per_second / self.answers_per_second.max(f64::MIN_POSITIVE);
        let frames = (of_each / FRAME_CARRIES).ceil() * self.answers_per_second;
        self.bytes_per_second + frames * FRAME_TAKES
    }
}

impl HostLink {
    /// Bytes on the wire in a second that it was shown to carry from the server and not more; absent where that is not known.
    pub fn capacity(&self) -> Option<f64> {
        self.carried.filter(|_| !self.is_at_least).map(|carried| carried.wire_bytes_per_second())
    }

    /// Bytes on the wire in a second that it was shown to carry to the server and not more; absent where that is not known.
    pub fn capacity_to_server(&self) -> Option<f64> {
        self.to_server.filter(|way| !way.is_at_least).map(|way| way.carried.wire_bytes_per_second())
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_answers_take_more_of_a_network_than_their_bytes() {
        let carried = |bytes_per_second, answers_per_second| Carried { bytes_per_second, answers_per_second };
        assert_eq!(carried(1448.0 * 100.0, 100.0).wire_bytes_per_second(), 1538.0 * 100.0);
        assert_eq!(carried(100.0 * 1000.0, 1000.0).wire_bytes_per_second(), 190.0 * 1000.0);
        assert_eq!(carried(0.0, 0.0).wire_bytes_per_second(), 0.0);
        let link = HostLink { carried: Some(carried(1448.0, 1.0)), ..HostLink::default() };
        assert_eq!(link.capacity(), Some(1538.0));
        assert_eq!(HostLink { is_at_least: true, ..link }.capacity(), None);
        assert_eq!(HostLink::default().capacity(), None);
    }
}
