//! Hardware addresses of hosts on the link: asked before connecting, by ARP (RFC 826) or neighbour discovery (RFC 4861).
//!
//! Only about those whom somebody here wants to reach is anything remembered. Questions of others are answered elsewhere.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use assay_model::units::Nanos;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol, Icmpv6Packet,
    Icmpv6Repr, IpProtocol, Ipv6Packet, Ipv6Repr, NdiscRepr, RawHardwareAddress,
};

use crate::frame::ETHERNET_BYTES;

/// Between two questions (RFC 4861 §10, RETRANS_TIMER).
pub(crate) const QUESTION_INTERVAL: Nanos = Nanos::from_millis(1_000);
/// How long an answer is believed (as smoltcp and, by default, Linux believe it).
const LIFETIME: Nanos = Nanos::from_millis(60_000);
/// Hops of messages that must not have passed a router (RFC 4861 §7.1).
const HOPS_ON_LINK: u8 = 255;

/// Hosts on the link that somebody wants to reach, by address.
#[derive(Default)]
pub(crate) struct Neighbours(HashMap<IpAddr, Neighbour>);

#[derive(Clone, Copy, Default)]
struct Neighbour {
    /// The address, and when it was told.
    told: Option<([u8; 6], Nanos)>,
    /// When it was last asked for; `None` before that.
    asked_at: Option<Nanos>,
}

impl Neighbours {
    /// The hardware address of `ip`, if it is known.
    pub(crate) fn find(&self, ip: IpAddr, now: Nanos) -> Option<[u8; 6]> {
        let (hardware, at) = self.0.get(&ip)?.told?;
        (now - at < LIFETIME).then_some(hardware)
    }

    /// Whether it is time to ask for `ip`, as the caller then does.
    pub(crate) fn is_to_be_asked(&mut self, ip: IpAddr, now: Nanos) -> bool {
        let neighbour = self.0.entry(ip).or_default();
        let is_time = neighbour.asked_at.is_none_or(|at| now - at >= QUESTION_INTERVAL);
        if is_time {
            neighbour.asked_at = Some(now);
        }
        is_time
    }

    /// Learns from a frame. Returns whether somebody's address has become known or changed.
    pub(crate) fn learn(&mut self, frame: &[u8], now: Nanos) -> bool {
        let Some((ip, hardware)) = told_by(frame).filter(|(_, hardware)| hardware.is_unicast()) else {
            return false;
        };
        let Some(neighbour) = self.0.get_mut(&ip) else { return false };
        let is_news = neighbour.told.is_none_or(|(old, at)| old != hardware.0 || now - at >= LIFETIME);
        neighbour.told = Some((hardware.0, now));
        is_news
    }
}

/// The neighbour whose hardware address a frame tells.
fn told_by(frame: &[u8]) -> Option<(IpAddr, EthernetAddress)> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    match ethernet.ethertype() {
        EthernetProtocol::Arp => {
            let packet = ArpPacket::new_checked(ethernet.payload()).ok()?;
            let ArpRepr::EthernetIpv4 { source_hardware_addr, source_protocol_addr, .. } =
                ArpRepr::parse(&packet).ok()?
            else {
                return None;
            };
            Some((source_protocol_addr.into(), source_hardware_addr))
        }
        EthernetProtocol::Ipv6 => told_by_ipv6(ethernet.payload()),
        _ => None,
    }
}

fn told_by_ipv6(packet: &[u8]) -> Option<(IpAddr, EthernetAddress)> {
    let packet = Ipv6Packet::new_checked(packet).ok()?;
    if packet.next_header() != IpProtocol::Icmpv6 || packet.hop_limit() != HOPS_ON_LINK {
        return None;
    }
    let message = Icmpv6Packet::new_checked(packet.payload()).ok()?;
    let (source, destination) = (packet.src_addr(), packet.dst_addr());
    let (ip, address) =
        match Icmpv6Repr::parse(&source, &destination, &message, &ChecksumCapabilities::ignored()).ok()? {
            Icmpv6Repr::Ndisc(NdiscRepr::NeighborAdvert { target_addr, lladdr, .. }) => {
                (target_addr, lladdr?)
            }
            Icmpv6Repr::Ndisc(NdiscRepr::NeighborSolicit { lladdr, .. }) => (source, lladdr?),
            _ => return None,
        };
    Some((ip.into(), EthernetAddress(*address.as_bytes().first_chunk()?)))
}

/// A frame that asks for the hardware address of `target`; `None` when the two are of different families.
pub(crate) fn question(hardware: [u8; 6], ours: IpAddr, target: IpAddr) -> Option<Vec<u8>> {
    let hardware = EthernetAddress(hardware);
    match (ours, target) {
        (IpAddr::V4(ours), IpAddr::V4(target)) => Some(request(hardware, ours, target)),
        (IpAddr::V6(ours), IpAddr::V6(target)) => Some(solicitation(hardware, ours, target)),
        _ => None,
    }
}

/// RFC 826.
fn request(hardware: EthernetAddress, ours: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
    let request = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Request,
        source_hardware_addr: hardware,
        source_protocol_addr: ours,
        target_hardware_addr: EthernetAddress([0; 6]),
        target_protocol_addr: target,
    };
    let to = EthernetAddress::BROADCAST;
    let mut frame = ethernet(hardware, to, EthernetProtocol::Arp, request.buffer_len());
    request.emit(&mut ArpPacket::new_unchecked(&mut frame[ETHERNET_BYTES..]));
    frame
}

/// RFC 4861 §4.3.
fn solicitation(hardware: EthernetAddress, ours: Ipv6Addr, target: Ipv6Addr) -> Vec<u8> {
    let lladdr = Some(RawHardwareAddress::from(hardware));
    let message = Icmpv6Repr::Ndisc(NdiscRepr::NeighborSolicit { target_addr: target, lladdr });
    let group = asked_as(target);
    let ip = Ipv6Repr {
        src_addr: ours,
        dst_addr: group,
        next_header: IpProtocol::Icmpv6,
        payload_len: message.buffer_len(),
        hop_limit: HOPS_ON_LINK,
    };
    // RFC 2464 §7: a group's last four octets.
    let [.., a, b, c, d] = group.octets();
    let to = EthernetAddress([0x33, 0x33, a, b, c, d]);
    let length = ip.buffer_len() + message.buffer_len();
    let mut frame = ethernet(hardware, to, EthernetProtocol::Ipv6, length);
    let mut packet = Ipv6Packet::new_unchecked(&mut frame[ETHERNET_BYTES..]);
    ip.emit(&mut packet);
    let mut body = Icmpv6Packet::new_unchecked(packet.payload_mut());
    message.emit(&ours, &group, &mut body, &ChecksumCapabilities::default());
    frame
}

/// The group in which whoever has this address listens (RFC 4291 §2.7.1).
fn asked_as(target: Ipv6Addr) -> Ipv6Addr {
    let prefix = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 0).to_bits();
    Ipv6Addr::from_bits(prefix | (target.to_bits() & 0xff_ffff))
}

fn ethernet(from: EthernetAddress, to: EthernetAddress, kind: EthernetProtocol, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; ETHERNET_BYTES + length];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes[..]);
    frame.set_src_addr(from);
    frame.set_dst_addr(to);
    frame.set_ethertype(kind);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const HARDWARE: [u8; 6] = [2, 0, 0, 0, 0, 7];

    #[test]
    fn remembers_those_who_were_asked_for_and_only_for_a_while() {
        for (ours, theirs) in [("10.77.0.1", "10.77.0.2"), ("fd77::1", "fd77::2")] {
            let [ours, theirs]: [IpAddr; 2] = [ours, theirs].map(|ip| ip.parse().unwrap());
            // Who asks tells its own address, too.
            let frame = question(HARDWARE, theirs, ours).unwrap();
            let mut neighbours = Neighbours::default();
            assert!(!neighbours.learn(&frame, Nanos(1)), "nobody wants to reach it");
            assert!(
                neighbours.is_to_be_asked(theirs, Nanos(1)) && !neighbours.is_to_be_asked(theirs, Nanos(2))
            );
            assert!(neighbours.learn(&frame, Nanos(3)) && !neighbours.learn(&frame, Nanos(4)));
            assert_eq!(neighbours.find(theirs, Nanos(5)), Some(HARDWARE));
            assert_eq!(neighbours.find(theirs, Nanos(5) + LIFETIME), None);
            assert!(neighbours.is_to_be_asked(theirs, Nanos(5) + LIFETIME));
        }
    }
}
