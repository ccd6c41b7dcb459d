//! Virtual Ethernet devices (veth(4)): made in pairs, found by name, set up. All functions act on the namespace of the
//! socket they are given.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoBridge, InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};

use crate::netlink::Netlink;

/// The loopback device is the first in every namespace.
pub(crate) const LOOPBACK_INDEX: u32 = 1;

/// What left by a device so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
}

/// A device as the kernel made it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    pub(crate) index: u32,
    pub(crate) mtu_bytes: u32,
    pub(crate) gso_max_bytes: u32,
    pub(crate) sent: Counted,
}

/// Makes a cable: one end here, the other in the namespace `space`, both with `queues` queues in each direction.
pub(crate) fn create_cable(
    netlink: &Netlink,
    near: &str,
    far: &str,
    space: BorrowedFd<'_>,
    queues: u32,
) -> io::Result<()> {
    let end = |name: &str| {
        let mut message = named(name);
        message.attributes.push(LinkAttribute::NumTxQueues(queues));
        message.attributes.push(LinkAttribute::NumRxQueues(queues));
        message
    };
    let mut far = end(far);
    far.attributes.push(LinkAttribute::NetNsFd(space.as_raw_fd()));
    let mut near = end(near);
    near.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(far))),
    ]));
    netlink.ask(RouteNetlinkMessage::NewLink(near), NLM_F_CREATE | NLM_F_EXCL).map(drop)
}

/// Makes a bridge that passes everything on.
pub(crate) fn make_bridge(netlink: &Netlink, name: &str) -> io::Result<Device> {
    let mut bridge = named(name);
    bridge.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Bridge),
        LinkInfo::Data(InfoData::Bridge(vec![InfoBridge::MulticastSnooping(false)])),
    ]));
    netlink.ask(RouteNetlinkMessage::NewLink(bridge), NLM_F_CREATE | NLM_F_EXCL)?;
    find(netlink, name)
}

/// Changes a device.
pub(crate) fn set(netlink: &Netlink, index: u32, attribute: LinkAttribute) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes.push(attribute);
    netlink.ask(RouteNetlinkMessage::SetLink(message), 0).map(drop)
}

/// Brings a device to life.
pub(crate) fn set_up(netlink: &Netlink, index: u32) -> io::Result<()> {
    let mut up = LinkMessage::default();
    up.header.index = index;
    up.header.flags = LinkFlags::Up;
    up.header.change_mask = LinkFlags::Up;
    netlink.ask(RouteNetlinkMessage::SetLink(up), 0).map(drop)
}

/// The device of that name.
pub(crate) fn find(netlink: &Netlink, name: &str) -> io::Result<Device> {
    let answers = netlink.ask(RouteNetlinkMessage::GetLink(named(name)), 0)?;
    let found = answers.into_iter().find_map(|answer| match answer {
        RouteNetlinkMessage::NewLink(link) => Some(link),
        _ => None,
    });
    let link = found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let mut device =
        Device { index: link.header.index, mtu_bytes: 0, gso_max_bytes: 0, sent: Counted::default() };
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::Mtu(bytes) => device.mtu_bytes = *bytes,
            LinkAttribute::GsoMaxSize(bytes) => device.gso_max_bytes = *bytes,
            LinkAttribute::Stats64(all) => {
                device.sent = Counted { bytes: all.tx_bytes, packets: all.tx_packets };
            }
            _ => {}
        }
    }
    Ok(device)
}

fn named(name: &str) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::IfName(name.to_owned()));
    message
}
