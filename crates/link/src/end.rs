//! One end of the cable: its device, address, shape and settings. All functions act on the namespace of the socket they
//! are given, except [`set_sysctls`], which acts on the caller's.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

use assay_model::link::LinkShape;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption, TcStats2};

use crate::netlink::Netlink;
use crate::shape;

/// The device's name, at both ends: each namespace has only this one beside loopback.
pub const DEVICE: &str = "assay0";
/// The loopback device is the first in every namespace.
const LOOPBACK_INDEX: u32 = 1;
/// Addresses of the server and of the generator, from the range that is set aside for measuring network devices (RFC 2544,
/// RFC 6890). They mean nothing outside the namespaces.
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
pub(crate) const GENERATOR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
pub(crate) const PREFIX_BITS: u8 = 30;
const QDISC: &str = "tbf";

/// Settings, with what they are for: room for connections, and no memory of one contender when the next one comes.
const SYSCTLS: [(&str, &str); 5] = [
    ("net.core.somaxconn", "65535"),
    ("net.ipv4.tcp_max_syn_backlog", "65535"),
    ("net.ipv4.ip_local_port_range", "1024 65535"),
    ("net.ipv4.tcp_tw_reuse", "1"),
    ("net.ipv4.tcp_no_metrics_save", "1"),
];

/// What left by an end so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
}

/// A device as the kernel made it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    index: u32,
    pub(crate) mtu_bytes: u32,
    pub(crate) gso_max_bytes: u32,
    sent: Counted,
}

/// Makes the cable: one end here, the other in the namespace `other`.
pub(crate) fn lay_cable(netlink: &Netlink, other: BorrowedFd<'_>) -> io::Result<()> {
    let mut far = named();
    far.attributes.push(LinkAttribute::NetNsFd(other.as_raw_fd()));
    let mut near = named();
    near.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(far))),
    ]));
    netlink.ask(RouteNetlinkMessage::NewLink(near), NLM_F_CREATE | NLM_F_EXCL).map(drop)
}

/// Brings this end to life.
pub(crate) fn set_up(netlink: &Netlink, address: Ipv4Addr, shape: Option<&LinkShape>) -> io::Result<Device> {
    let device = device(netlink)?;
    if let Some(shape) = shape {
        netlink.ask(queueing(device.index, shape), NLM_F_CREATE | NLM_F_EXCL)?;
    }
    let mut message = AddressMessage::default();
    message.header.family = netlink_packet_route::AddressFamily::Inet;
    message.header.prefix_len = PREFIX_BITS;
    message.header.index = device.index;
    message.attributes.push(AddressAttribute::Local(IpAddr::V4(address)));
    message.attributes.push(AddressAttribute::Address(IpAddr::V4(address)));
    netlink.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)?;
    for index in [LOOPBACK_INDEX, device.index] {
        let mut up = LinkMessage::default();
        up.header.index = index;
        up.header.flags = LinkFlags::Up;
        up.header.change_mask = LinkFlags::Up;
        netlink.ask(RouteNetlinkMessage::SetLink(up), 0)?;
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

/// What left by this end so far. The filter counts every segment with its headers; without one the device counts.
pub(crate) fn sent(netlink: &Netlink, is_shaped: bool) -> io::Result<Counted> {
    if !is_shaped {
        return Ok(device(netlink)?.sent);
    }
    let answers = netlink.dump(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()))?;
    let sent = answers.iter().find_map(|answer| match answer {
        RouteNetlinkMessage::NewQueueDiscipline(message) => passed(message),
        _ => None,
    });
    sent.ok_or_else(|| io::Error::other("the link has lost its shape"))
}

fn passed(message: &TcMessage) -> Option<Counted> {
    if !message.attributes.contains(&TcAttribute::Kind(QDISC.to_owned())) {
        return None;
    }
    let statistics = message.attributes.iter().filter_map(|attribute| match attribute {
        TcAttribute::Stats2(statistics) => Some(statistics),
        _ => None,
    });
    statistics.flatten().find_map(|statistic| match statistic {
        TcStats2::Basic(basic) => Some(Counted { bytes: basic.bytes, packets: basic.packets.into() }),
        _ => None,
    })
}

/// The device of this end.
fn device(netlink: &Netlink) -> io::Result<Device> {
    let answers = netlink.ask(RouteNetlinkMessage::GetLink(named()), 0)?;
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

fn named() -> LinkMessage {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::IfName(DEVICE.to_owned()));
    message
}

fn queueing(device_index: u32, shape: &LinkShape) -> RouteNetlinkMessage {
    let mut message = TcMessage::with_index(device_index.cast_signed());
    message.header.handle = TcHandle { major: 1, minor: 0 };
    message.header.parent = TcHandle::ROOT;
    message.attributes.push(TcAttribute::Kind(QDISC.to_owned()));
    let options = shape::options(shape).into_iter().map(TcOption::Other);
    message.attributes.push(TcAttribute::Options(options.collect()));
    RouteNetlinkMessage::NewQueueDiscipline(message)
}
