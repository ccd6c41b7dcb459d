//! One end of the cable: its address and settings. [`set_up`] acts on the namespace of the socket it is given,
//! [`set_sysctls`] on the caller's.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::LinkAttribute;

use crate::device::{self, Device, LOOPBACK_INDEX};
use crate::netlink::Netlink;

/// The device's name, at both ends: each namespace has only this one beside loopback.
pub const DEVICE: &str = "assay0";
/// Addresses of the server and of the generator, from the range that is set aside for measuring network devices (RFC 2544,
/// RFC 6890). They mean nothing outside the namespaces.
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
pub(crate) const GENERATOR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
pub(crate) const PREFIX_BITS: u8 = 30;

/// Settings: room for connections, no memory of one contender when the next one comes, and as many questions for a neighbour as
/// the user-space stack asks, so that a cable which loses frames keeps neither from the other.
const SYSCTLS: [(&str, &str); 6] = [
    ("net.core.somaxconn", "65535"),
    ("net.ipv4.tcp_max_syn_backlog", "65535"),
    ("net.ipv4.ip_local_port_range", "1024 65535"),
    ("net.ipv4.tcp_tw_reuse", "1"),
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.neigh.assay0.mcast_solicit", "10"),
];

/// Brings this end to life. With `frame_by_frame` no packet stands for several: the kernel cuts what it sends before the
/// device, so that on a cable that counts and loses frames a frame is a frame, whosever TCP has sent it.
pub(crate) fn set_up(netlink: &Netlink, address: Ipv4Addr, frame_by_frame: bool) -> io::Result<Device> {
    let mut device = device::find(netlink, DEVICE)?;
    if frame_by_frame {
        device::set(netlink, device.index, LinkAttribute::GsoMaxSegs(1))?;
        device.gso_max_bytes = device.mtu_bytes;
    }
    let mut message = AddressMessage::default();
    message.header.family = netlink_packet_route::AddressFamily::Inet;
    message.header.prefix_len = PREFIX_BITS;
    message.header.index = device.index;
    message.attributes.push(AddressAttribute::Local(IpAddr::V4(address)));
    message.attributes.push(AddressAttribute::Address(IpAddr::V4(address)));
    netlink.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)?;
    for index in [LOOPBACK_INDEX, device.index] {
        device::set_up(netlink, index)?;
    }
    Ok(device)
}

/// Gives the caller's namespace its settings; those that took. A kernel may keep some of them for the machine alone.
pub(crate) fn set_sysctls() -> BTreeMap<String, String> {
    let set = SYSCTLS.iter().filter(|(name, value)| {
        std::fs::write(format!("/proc/sys/{}", name.replace('.', "/")), value).is_ok()
    });
    set.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
