//! Ports, queues and the loopback interface.

use assay_model::doctor::{Area::Network, Finding};

use super::facts::Facts;
use super::finding::{caution, good, setting, unfit};

/// Connections that experiments commonly ask for.
const USUAL_CONNECTIONS: u32 = 16_384;
/// Fewer than this and even small experiments run out, because a closed connection keeps its port for 60 s (TIME-WAIT).
const FEWEST_PORTS: u32 = 1_024;
/// Queue that holds the connections of the largest usual experiment.
const GOOD_QUEUE: u32 = 4_096;
/// The loopback's MTU by default: a whole segment of the largest size fits.
const LOOPBACK_MTU: u32 = 65_536;

pub(super) fn ports(facts: &Facts) -> Option<Finding> {
    let ports = facts.ports?;
    let [first, last] = facts.host.ephemeral_ports?;
    let state = format!("{ports} ports for outgoing connections ({first} to {last})");
    if ports >= USUAL_CONNECTIONS {
        return good("ports", Network, state).done();
    }
    let note = if ports < FEWEST_PORTS { unfit } else { caution };
    note("ports", Network, state, "widen net.ipv4.ip_local_port_range")
        .costs(format!("at most {ports} connections to one server; more fail with EADDRNOTAVAIL, which voids the window"), "ip(7)")
        .set([setting("/proc/sys/net/ipv4/ip_local_port_range", format!("{first} {last}"), "1024 65535")])
        .done()
}

pub(super) fn port_reuse(facts: &Facts) -> Option<Finding> {
    let reuse = facts.tw_reuse?;
    let meaning = ["never", "always", "on loopback"].get(reuse as usize).copied().unwrap_or("unknown");
    let state = format!("ports in TIME-WAIT are used again: {meaning} (tcp_tw_reuse = {reuse})");
    if reuse > 0 {
        return good("port-reuse", Network, state).done();
    }
    caution("port-reuse", Network, state, "set net.ipv4.tcp_tw_reuse to 2")
        .costs(
            "a load that opens a connection per request is out of ports after about 28,000 requests a minute",
            "kernel: networking/ip-sysctl.rst",
        )
        .set([setting("/proc/sys/net/ipv4/tcp_tw_reuse", reuse, 2)])
        .done()
}

pub(super) fn accept_queue(facts: &Facts) -> Option<Finding> {
    let length = facts.host.somaxconn?;
    let state = format!("an accept queue holds at most {length} (somaxconn)");
    if length >= GOOD_QUEUE {
        return good("accept-queue", Network, state).done();
    }
    caution("accept-queue", Network, state, "raise net.core.somaxconn")
        .costs(
            "connections beyond it are dropped and tried again after 1 s",
            "listen(2); RFC 6298, section 2.1",
        )
        .set([setting("/proc/sys/net/core/somaxconn", length, GOOD_QUEUE)])
        .done()
}

pub(super) fn syn_queue(facts: &Facts) -> Option<Finding> {
    let length = facts.host.syn_backlog?;
    let state = format!("{length} half-open connections (tcp_max_syn_backlog)");
    if length >= 1024 {
        return good("syn-queue", Network, state).done();
    }
    caution("syn-queue", Network, state, "raise net.ipv4.tcp_max_syn_backlog")
        .costs(
            "a burst of more new connections than this meets SYN cookies or drops, and 1 s of waiting",
            "tcp(7)",
        )
        .set([setting("/proc/sys/net/ipv4/tcp_max_syn_backlog", length, GOOD_QUEUE)])
        .done()
}

pub(super) fn loopback(facts: &Facts) -> Option<Finding> {
    let mtu = facts.loopback_mtu?;
    let state = format!("packets of up to {mtu} bytes");
    if mtu >= LOOPBACK_MTU {
        return good("loopback", Network, state).done();
    }
    caution("loopback", Network, state, "ip link set lo mtu 65536")
        .costs(
            "large bodies travel in more packets than on an ordinary loopback",
            "kernel: drivers/net/loopback.c sets 65536",
        )
        .done()
}
