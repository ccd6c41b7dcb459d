//! What the network between hosts carries, as it was measured.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
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
