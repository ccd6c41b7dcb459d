//! What joins client and server, in words.

use assay_model::host::HostFacts;
use assay_model::link::LinkFacts;
use assay_model::network::{Network, Stack, Wire};

/// The TCP and the wire, with what it does about losses: the machine's choice for the kernel's (tcp(7)), RFC 5681 for ours, nothing
/// in memory, where none is lost.
pub(crate) fn network_in_words(network: Network, host: &HostFacts) -> String {
    let control = match (network.stack(), network.wire()) {
        (Stack::Kernel, _) => host.congestion_control.as_deref(),
        (Stack::User, Wire::Ring) => None,
        (Stack::User, _) => Some("NewReno"),
    };
    let control = control.map(|name| format!(" (congestion control {name})")).unwrap_or_default();
    format!("{}{control}", network.in_words())
}

/// What joined client and server, in a sentence.
pub(crate) fn link_in_words(link: &str, facts: &LinkFacts) -> String {
    let rate = facts.shape.as_ref().map_or_else(
        || "as fast as the CPUs carry it".to_owned(),
        |shape| {
            let megabits = shape.bits_per_second as f64 / 1e6;
            format!(
                "{megabits} Mbit/s in each direction, headers included (tbf, burst {} bytes)",
                shape.burst_bytes
            )
        },
    );
    let loss = facts.loss_per_million.map_or_else(String::new, |share| {
        format!(", {} % of all frames lost at random in each direction", f64::from(share) / 1e4)
    });
    let rights = if facts.user_namespace { " in a user namespace" } else { "" };
    let middle = if facts.middle { " through a bridge in a third, frame by frame" } else { "" };
    let mtu = facts.mtu_bytes;
    format!("{link}: two network namespaces{rights}, a virtual cable{middle} with MTU {mtu}, {rate}{loss}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_told_with_what_its_tcp_does_about_losses() {
        let host = HostFacts { congestion_control: Some("bbr".to_owned()), ..HostFacts::default() };
        let words = |name: &str, host: &HostFacts| network_in_words(name.parse().expect("a network"), host);
        assert_eq!(words("kernel/veth", &host), "the kernel's stack over veth (congestion control bbr)");
        assert_eq!(words("kernel/veth", &HostFacts::default()), "the kernel's stack over veth");
        assert!(words("user/xdp", &host).ends_with("(congestion control NewReno)"));
        assert!(!words("user/ring", &host).contains("congestion"));
    }
}
