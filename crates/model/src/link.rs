//! What joined client and server, and what went over it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// A link between two network namespaces, as it was set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkFacts {
    /// Address of the servers.
    pub server_address: String,
    /// Address of the generator.
    pub generator_address: String,
    /// Largest packet on it, in bytes without the Ethernet header.
    pub mtu_bytes: u32,
    /// Largest packet that stands for many on their way through the kernel (generic segmentation offload), in bytes; as
    /// large as the largest one where it is off.
    pub gso_max_bytes: u32,
    /// What its rate is held to; absent when to nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<LinkShape>,
    /// Frames that it loses in each direction, drawn at random, of a million; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_per_million: Option<u32>,
    /// Whether all goes through a third namespace in the middle, whose bridge holds the rate and loses what is to be lost.
    #[serde(default)]
    pub middle: bool,
    /// Settings inside the namespaces, by name, where they differ from the kernel's own.
    pub sysctls: BTreeMap<String, String>,
    /// Whether it was made without root, in a user namespace.
    pub user_namespace: bool,
}

/// The token bucket filter of each direction of a link (tc-tbf(8)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkShape {
    /// What it lets pass in each direction, Ethernet headers included.
    pub bits_per_second: u64,
    /// What it lets pass at once after a pause.
    pub burst_bytes: u32,
    /// What waits before it at most; more is lost.
    pub queue_bytes: u32,
}

/// What went over a link, in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkUse {
    /// From the generator to the server.
    pub to_server: Flow,
    /// From the server to the generator.
    pub to_generator: Flow,
}

/// What went over a link in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Bytes with all headers from Ethernet's up, where they leave the link. A link without a namespace in the middle counts
    /// the headers of packets that travel as one (generic segmentation offload) once.
    pub bytes: u64,
    /// Packets; on a link without a namespace in the middle those that travel as one count as one.
    pub packets: u64,
    /// Frames lost because a loss was asked for.
    #[serde(default)]
    pub lost_frames: u64,
    /// Frames lost because the queue before the rate's filter was full.
    #[serde(default)]
    pub overflowed_frames: u64,
    /// Bytes per second over the busiest stretch that was as long as the window.
    pub peak_bytes_per_second: f64,
}

impl LinkUse {
    /// Two spans together, one after the other.
    #[must_use]
    pub fn then(&self, later: &Self) -> Self {
        Self {
            to_server: self.to_server.then(&later.to_server),
            to_generator: self.to_generator.then(&later.to_generator),
        }
    }
}

impl Flow {
    fn then(&self, later: &Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(later.bytes),
            packets: self.packets.saturating_add(later.packets),
            lost_frames: self.lost_frames.saturating_add(later.lost_frames),
            overflowed_frames: self.overflowed_frames.saturating_add(later.overflowed_frames),
            peak_bytes_per_second: self.peak_bytes_per_second.max(later.peak_bytes_per_second),
        }
    }

    /// Share of what a link of so many bits per second carries, at the busiest, 0 to 1. A pause before it lets a little more
    /// pass.
    pub fn peak_share_of(&self, bits_per_second: u64) -> f64 {
        (self.peak_bytes_per_second * 8.0 / bits_per_second.max(1) as f64).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_the_rate() {
        let flow = Flow { peak_bytes_per_second: 62_500_000.0, ..Flow::default() };
        assert_eq!(flow.peak_share_of(1_000_000_000), 0.5);
        assert_eq!(flow.peak_share_of(400_000_000), 1.0);
        assert_eq!(Flow::default().peak_share_of(0), 0.0);
    }
}
