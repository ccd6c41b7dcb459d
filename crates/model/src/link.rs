//! What joined client and server, and what went over it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Nanos;

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
    /// Settings inside the namespaces, by name, where they differ from the kernel's own.
    pub sysctls: BTreeMap<String, String>,
    /// Whether it was made without root, in a user namespace.
    pub user_namespace: bool,
}

/// The token bucket filter at each end of a link (tc-tbf(8)).
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkUse {
    /// From the generator to the server.
    pub to_server: Flow,
    /// From the server to the generator.
    pub to_generator: Flow,
}

/// What went over a link in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Bytes with all headers from Ethernet's up. A link without a shape counts the headers of packets that travel as one
    /// (generic segmentation offload) once.
    pub bytes: u64,
    /// Packets; on a link without a shape those that travel as one count as one.
    pub packets: u64,
}

impl LinkUse {
    /// What came since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let flow = |now: Flow, then: Flow| Flow {
            bytes: now.bytes.saturating_sub(then.bytes),
            // The kernel counts packets of a shaped link in 32 bits.
            packets: u64::from((now.packets as u32).wrapping_sub(then.packets as u32)),
        };
        Self {
            to_server: flow(self.to_server, earlier.to_server),
            to_generator: flow(self.to_generator, earlier.to_generator),
        }
    }
}

impl Flow {
    /// Share of what a link of so many bits per second carries in `time`, 0 to 1.
    pub fn share_of(&self, bits_per_second: u64, time: Nanos) -> f64 {
        let most = bits_per_second as f64 * time.as_secs_f64();
        if most > 0.0 { (self.bytes as f64 * 8.0 / most).min(1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_compared_even_when_they_begin_anew() {
        let at = |bytes, packets| LinkUse { to_server: Flow { bytes, packets }, ..LinkUse::default() };
        let between = at(1_500, 2).since(&at(500, u64::from(u32::MAX)));
        assert_eq!(between, at(1_000, 3));
    }

    #[test]
    fn a_share_is_of_what_the_time_allows() {
        let flow = Flow { bytes: 62_500_000, packets: 0 };
        assert_eq!(flow.share_of(1_000_000_000, Nanos::from_millis(1_000)), 0.5);
        assert_eq!(flow.share_of(100_000_000, Nanos::from_millis(1_000)), 1.0);
        assert_eq!(flow.share_of(1_000, Nanos::ZERO), 0.0);
    }
}
