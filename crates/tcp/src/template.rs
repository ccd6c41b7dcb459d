//! Frames of one connection: headers that are written once, and what changes from segment to segment.

use std::net::{IpAddr, SocketAddr};

use crate::checksum::Sum;
use crate::connection::SegmentPlan;
use crate::flow::Flow;
use crate::frame::{ETHERNET_BYTES, IPV4_BYTES, IPV6_BYTES, TCP, TCP_BYTES};

/// Hops that a packet may take (RFC 1122 §3.2.1.7).
const HOPS: u8 = 64;
const WITH_IPV4: usize = ETHERNET_BYTES + IPV4_BYTES + TCP_BYTES;
const WITH_IPV6: usize = ETHERNET_BYTES + IPV6_BYTES + TCP_BYTES;

/// Headers of a connection's frames.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    headers: [u8; WITH_IPV6],
    is_ipv4: bool,
    has_checksums: bool,
    /// What never changes of the sums of the IPv4 header, and of TCP's pseudo-header (RFC 9293 §3.1).
    sums: [Sum; 2],
}

impl Template {
    /// Between these hardware addresses; checksums are left out where nobody reads them.
    pub(crate) fn new(ours: [u8; 6], theirs: [u8; 6], flow: &Flow, has_checksums: bool) -> Self {
        let (local, remote) = (flow.local(), flow.remote());
        let mut headers = [0; WITH_IPV6];
        headers[..6].copy_from_slice(&theirs);
        headers[6..12].copy_from_slice(&ours);
        let (ip, is_ipv4) = write_ip(&mut headers, local.ip(), remote.ip());
        write_ports(&mut headers[ip..], local, remote);
        let addresses = if is_ipv4 { ETHERNET_BYTES + 12..ip } else { ETHERNET_BYTES + 8..ip };
        let ports = Sum::of(&headers[ip..ip + 4]);
        let sums =
            [Sum::of(&headers[ETHERNET_BYTES..ip]), ports.and(&headers[addresses]).add(u32::from(TCP))];
        Self { headers, is_ipv4, has_checksums, sums }
    }

    /// Sets the peer's hardware address.
    pub(crate) fn set_peer(&mut self, theirs: [u8; 6]) {
        self.headers[..6].copy_from_slice(&theirs);
    }

    /// Bytes of a frame with that many of options and data.
    pub(crate) fn frame_bytes(&self, options_and_data: usize) -> usize {
        options_and_data + if self.is_ipv4 { WITH_IPV4 } else { WITH_IPV6 }
    }

    /// Writes a frame of [`frame_bytes`](Self::frame_bytes).
    pub(crate) fn write(&self, frame: &mut [u8], fields: &Fields, options: &[u8], data: &[u8]) {
        // Lengths that the compiler knows make these copies a few moves each.
        let tcp = if self.is_ipv4 {
            let Some((headers, _)) = frame.split_first_chunk_mut::<WITH_IPV4>() else { return };
            headers.copy_from_slice(&self.headers[..WITH_IPV4]);
            ETHERNET_BYTES + IPV4_BYTES
        } else {
            let Some((headers, _)) = frame.split_first_chunk_mut::<WITH_IPV6>() else { return };
            headers.copy_from_slice(&self.headers);
            ETHERNET_BYTES + IPV6_BYTES
        };
        let tcp_bytes = frame.len() - tcp;
        let (ip, segment) = frame.split_at_mut(tcp);
        fields.write(segment, options.len());
        let Some((room, rest)) = segment[TCP_BYTES..].split_at_mut_checked(options.len()) else { return };
        room.copy_from_slice(options);
        rest.copy_from_slice(data);
        self.finish_ip(&mut ip[ETHERNET_BYTES..], tcp_bytes as u16);
        if self.has_checksums {
            let sum = self.sums[1].add(tcp_bytes as u32).and(&segment[4..]);
            segment[16..18].copy_from_slice(&sum.checksum().to_be_bytes());
        }
    }

    fn finish_ip(&self, ip: &mut [u8], tcp_bytes: u16) {
        if !self.is_ipv4 {
            ip[4..6].copy_from_slice(&tcp_bytes.to_be_bytes());
            return;
        }
        let length = tcp_bytes + IPV4_BYTES as u16;
        ip[2..4].copy_from_slice(&length.to_be_bytes());
        if self.has_checksums {
            ip[10..12].copy_from_slice(&self.sums[0].add(length.into()).checksum().to_be_bytes());
        }
    }
}

/// What changes in TCP's header.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fields {
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    /// Of [`crate::connection::flag`].
    pub(crate) flags: u8,
    pub(crate) window: u16,
}

impl Fields {
    pub(crate) fn of(plan: &SegmentPlan) -> Self {
        let (sequence, acknowledgement) = (plan.sequence.0, plan.acknowledgement.0);
        Self { sequence, acknowledgement, flags: plan.flags, window: plan.window }
    }

    fn write(&self, segment: &mut [u8], options_bytes: usize) {
        let Some((header, _)) = segment.split_first_chunk_mut::<TCP_BYTES>() else { return };
        header[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        header[8..12].copy_from_slice(&self.acknowledgement.to_be_bytes());
        header[12] = (((TCP_BYTES + options_bytes) / 4) << 4) as u8;
        header[13] = self.flags;
        header[14..16].copy_from_slice(&self.window.to_be_bytes());
    }
}

/// The IP header without lengths and checksum, and where it ends. IPv4: not to be fragmented, so that it needs no number (RFC 6864
/// §4.1).
fn write_ip(headers: &mut [u8; WITH_IPV6], local: IpAddr, remote: IpAddr) -> (usize, bool) {
    let (ethernet, ip) = headers.split_at_mut(ETHERNET_BYTES);
    match (local, remote) {
        (IpAddr::V4(local), IpAddr::V4(remote)) => {
            ethernet[12..].copy_from_slice(&[0x08, 0x00]);
            ip[..10].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, HOPS, TCP]);
            ip[12..16].copy_from_slice(&local.octets());
            ip[16..20].copy_from_slice(&remote.octets());
            (ETHERNET_BYTES + IPV4_BYTES, true)
        }
        (local, remote) => {
            ethernet[12..].copy_from_slice(&[0x86, 0xdd]);
            ip[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 0, TCP, HOPS]);
            ip[8..24].copy_from_slice(&as_ipv6(local));
            ip[24..40].copy_from_slice(&as_ipv6(remote));
            (ETHERNET_BYTES + IPV6_BYTES, false)
        }
    }
}

fn as_ipv6(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

fn write_ports(tcp: &mut [u8], local: SocketAddr, remote: SocketAddr) {
    tcp[..2].copy_from_slice(&local.port().to_be_bytes());
    tcp[2..4].copy_from_slice(&remote.port().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::flag;
    use crate::frame::Located;

    /// The checksums by an independent implementation.
    fn is_right_for_smoltcp(frame: &[u8]) -> bool {
        use smoltcp::wire::{IpAddress, Ipv4Packet, Ipv6Packet, TcpPacket};
        let ip = &frame[ETHERNET_BYTES..];
        let (ends, payload): ([IpAddress; 2], &[u8]) = if ip[0] >> 4 == 4 {
            let packet = Ipv4Packet::new_checked(ip).unwrap();
            assert!(packet.verify_checksum());
            ([packet.src_addr().into(), packet.dst_addr().into()], packet.payload())
        } else {
            let packet = Ipv6Packet::new_checked(ip).unwrap();
            ([packet.src_addr().into(), packet.dst_addr().into()], &ip[IPV6_BYTES..])
        };
        TcpPacket::new_checked(payload).unwrap().verify_checksum(&ends[0], &ends[1])
    }

    #[test]
    fn what_is_written_is_read_with_its_checksums() {
        for (local, remote) in [("10.77.0.1:80", "10.77.0.2:49152"), ("[fd77::1]:80", "[fd77::2]:49152")] {
            let [local, remote] = [local, remote].map(|end| end.parse().unwrap());
            let template =
                Template::new([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], &Flow::new(local, remote), true);
            for data in [&b""[..], b"odd", b"even"] {
                let options = [1, 1, 4, 2];
                let mut frame = vec![0xff; template.frame_bytes(4 + data.len())];
                let fields = Fields { sequence: 7, acknowledgement: 9, flags: flag::ACK, window: 1000 };
                template.write(&mut frame, &fields, &options, data);
                let located = Located::find(&frame, true).unwrap();
                assert_eq!(located.flow, Flow::new(remote, local), "as its receiver sees it");
                let segment = located.read(&frame).unwrap();
                assert_eq!((segment.sequence.0, segment.acknowledgement.0, segment.window), (7, 9, 1000));
                assert_eq!((segment.flags, segment.options, segment.data), (flag::ACK, &options[..], data));
                assert!(is_right_for_smoltcp(&frame));
                let at = frame.len() - 1;
                frame[at] ^= 1;
                assert_eq!(Located::find(&frame, true), None, "a bit was changed");
            }
        }
    }
}
