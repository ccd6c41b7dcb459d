//! Programs on our own stack over wires of the kernel's: AF_XDP past its stack, TAP to its stack. Each test has a network of its own.

use assay_wire::xdp::{self, Mode};

use super::Site;
use super::ring::{Net, has_curl_and};
use super::space::{ip, try_ip, within};
use super::support::Server;
use assay_skip::skip;

/// Why there is no virtual cable here, or no TAP device.
fn no_cable() -> Option<String> {
    try_ip("link add probe type veth peer name eborp").and_then(|()| try_ip("link delete probe")).err()
}

fn no_tap() -> Option<String> {
    try_ip("tuntap add dev probe mode tap").and_then(|()| try_ip("link delete probe")).err()
}

/// A site whose two ends are both on our stack.
fn over_cable(wires: [&str; 2]) -> Net {
    Net {
        site: Site::new(),
        wires: wires.map(|wire| Some(wire.to_owned())),
        host: "10.77.0.1",
        addresses: ["10.77.0.1/24", "10.77.0.2/24"],
    }
}

#[test]
fn af_xdp() {
    if !has_curl_and("node", "--version") || !has_curl_and("nginx", "-v") {
        return;
    }
    within("xdp", no_cable, || {
        ip("link set lo up");
        ip("link add left type veth peer name right");
        ip("link set left up");
        ip("link set right up");
        let net = || over_cable(["xdp:left", "xdp:right"]);
        let node = net();
        assert_eq!(node.try_out(&mut node.server("node", "server.js")), 5);
        assert_eq!(node.site.accepted(), 2, "{}", Server::said(&node.site.log));
        let nginx = net();
        let file = nginx.site.configure_nginx(1);
        let mut command = nginx.server("nginx", "");
        // Its worker stays root: one that gave up those rights could not have the socket.
        command.arg("-c").arg(file);
        assert_eq!(nginx.try_out(&mut command), 0);
    });
}

#[test]
fn a_queue_that_somebody_else_has_is_passed_over() {
    if !has_curl_and("node", "--version") {
        return;
    }
    within("xdp", no_cable, || {
        ip("link add wide numtxqueues 2 numrxqueues 2 type veth peer name broad numtxqueues 2 numrxqueues 2");
        ip("link set dev wide up");
        ip("link set dev broad up");
        let held = match xdp::open("wide", 0, Some(Mode::Native)) {
            Ok((held, _)) if xdp::can_share() => held,
            Ok(_) => return skip("root", "two processes on one interface need CAP_SYS_ADMIN"),
            Err(error) => return skip("xdp", error),
        };
        // In the driver each queue faces its like.
        let net = over_cable(["xdp:wide,mode=native", "xdp:broad:1,mode=native"]);
        let mut command = net.server("node", "server.js");
        assert_eq!(net.try_out(command.env("ASSAY_STACK_QUEUES", "2")), 5);
        // More than the two that were answered, where curl gave up on one before the server had its queue.
        assert!(net.site.accepted() >= 2, "{}", Server::said(&net.site.log));
        drop(held);
    });
}

#[test]
fn tap() {
    if !has_curl_and("node", "--version") {
        return;
    }
    within("tap", no_tap, || {
        ip("link set lo up");
        ip("tuntap add dev tap0 mode tap");
        ip("address add 10.77.0.2/24 dev tap0");
        ip("address add fd77::2/64 dev tap0 nodad");
        ip("link set tap0 up");
        for (host, address, any) in
            [("10.77.0.1", "10.77.0.1/24", "0.0.0.0"), ("[fd77::1]", "fd77::1/64", "::")]
        {
            let wires = [Some("tap:tap0".to_owned()), None];
            let net = Net { site: Site::new(), wires, host, addresses: [address, ""] };
            let mut command = net.server("node", "server.js");
            assert_eq!(net.try_out(command.args(["", any])), 5);
            assert_eq!(net.site.accepted(), 2, "{}", Server::said(&net.site.log));
        }
    });
}
