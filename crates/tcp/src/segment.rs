//! TCP segments inside frames: whose they are and what they carry. Nothing is checked here that the stack checks itself.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Bytes of an Ethernet header (IEEE 802.3).
pub(crate) const ETHERNET_BYTES: usize = 14;
const IPV6_BYTES: usize = 40;
const TCP: u8 = 6;

/// The two ends of a connection, seen from here. IPv4 addresses are mapped (RFC 4291 §2.5.5.2), so that one table holds both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flow {
    local: u128,
    remote: u128,
    ports: u32,
}

impl Flow {
    pub(crate) fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        let ports = u32::from(local.port()) << 16 | u32::from(remote.port());
        Self { local: bits(local.ip()), remote: bits(remote.ip()), ports }
    }

    /// Our end.
    pub(crate) fn local(&self) -> SocketAddr {
        SocketAddr::new(address(self.local), (self.ports >> 16) as u16)
    }

    /// The peer's end.
    pub(crate) fn remote(&self) -> SocketAddr {
        SocketAddr::new(address(self.remote), self.ports as u16)
    }
}

fn bits(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => mapped(ip.to_bits()),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

fn mapped(ip: u32) -> u128 {
    0xffff << 32 | u128::from(ip)
}

fn address(bits: u128) -> IpAddr {
    Ipv6Addr::from_bits(bits).to_canonical()
}

/// What a frame's TCP header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The connection, seen by who receives it.
    pub(crate) flow: Flow,
    /// The sequence number of its first octet.
    pub(crate) sequence: u32,
    /// Octets of data.
    pub(crate) data_bytes: u32,
    /// SYN is set.
    pub(crate) syn: bool,
    /// FIN is set.
    pub(crate) fin: bool,
    /// ACK is set.
    pub(crate) ack: bool,
    /// The sender has no room for more.
    pub(crate) window_closed: bool,
}

impl Segment {
    /// The segment in a frame; `None` for all other frames, for fragments and for what is cut off.
    pub(crate) fn parse(frame: &[u8]) -> Option<Self> {
        let packet = frame.get(ETHERNET_BYTES..)?;
        match u16_at(frame, 12)? {
            0x0800 => Self::in_ipv4(packet),
            0x86dd => Self::in_ipv6(packet),
            _ => None,
        }
    }

    fn in_ipv4(packet: &[u8]) -> Option<Self> {
        let header = packet.get(..20)?;
        let header_bytes = usize::from(header[0] & 0x0f) * 4;
        let is_fragment = u16_at(header, 6)? & 0x3fff != 0;
        if header[9] != TCP || header_bytes < 20 || is_fragment {
            return None;
        }
        let payload = packet.get(header_bytes..usize::from(u16_at(header, 2)?))?;
        Self::in_tcp(payload, mapped(u32_at(header, 12)?), mapped(u32_at(header, 16)?))
    }

    fn in_ipv6(packet: &[u8]) -> Option<Self> {
        let header = packet.get(..IPV6_BYTES)?;
        if header[6] != TCP {
            return None;
        }
        let payload = packet.get(IPV6_BYTES..IPV6_BYTES + usize::from(u16_at(header, 4)?))?;
        let [source, destination] = [8, 24].map(|at| header[at..].first_chunk().copied());
        Self::in_tcp(payload, u128::from_be_bytes(source?), u128::from_be_bytes(destination?))
    }

    /// RFC 9293 §3.1.
    fn in_tcp(payload: &[u8], source: u128, destination: u128) -> Option<Self> {
        let header = payload.get(..20)?;
        let (source_port, destination_port) = (u16_at(header, 0)?, u16_at(header, 2)?);
        let data = payload.get(usize::from(header[12] >> 4) * 4..)?;
        let ports = u32::from(destination_port) << 16 | u32::from(source_port);
        Some(Self {
            flow: Flow { local: destination, remote: source, ports },
            sequence: u32_at(header, 4)?,
            data_bytes: data.len() as u32,
            syn: header[13] & 0x02 != 0,
            fin: header[13] & 0x01 != 0,
            ack: header[13] & 0x10 != 0,
            window_closed: u16_at(header, 14)? == 0,
        })
    }

    /// Sequence numbers that it takes: data, SYN and FIN.
    pub(crate) fn length(&self) -> u32 {
        self.data_bytes + u32::from(self.syn) + u32::from(self.fin)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A segment of ten octets of data over IPv4, written by hand after RFC 791 and RFC 9293.
    fn frame() -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00]);
        frame.extend([0x45, 0, 0, 50, 0, 0, 0x40, 0, 64, TCP, 0, 0, 10, 77, 0, 2, 10, 77, 0, 1]);
        frame.extend([0xc0, 0, 0, 80, 0, 0, 1, 0, 0, 0, 0, 0, 0x50, 0x12, 0, 0, 0, 0, 0, 0]);
        frame.extend(b"ten octets");
        frame
    }

    #[test]
    fn reads_a_segment_behind_its_headers() {
        let mut padded = frame();
        padded.extend([0; 6]);
        for frame in [frame(), padded] {
            let segment = Segment::parse(&frame).unwrap();
            let ends = ["10.77.0.1:80", "10.77.0.2:49152"].map(|end| end.parse().unwrap());
            assert_eq!(segment.flow, Flow::new(ends[0], ends[1]));
            assert_eq!([segment.flow.local(), segment.flow.remote()], ends);
            assert_eq!((segment.sequence, segment.data_bytes, segment.length()), (256, 10, 11));
            assert!(segment.syn && segment.ack && !segment.fin && segment.window_closed);
        }
    }

    #[test]
    fn leaves_fragments_and_what_is_cut_off_alone() {
        let mut fragment = frame();
        fragment[ETHERNET_BYTES + 6] = 0x20;
        assert_eq!(Segment::parse(&fragment), None);
        for length in 0..frame().len() {
            assert_eq!(Segment::parse(&frame()[..length]), None, "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn reads_any_bytes_without_harm(ethertype in 0u8..3, mut frame in prop::collection::vec(any::<u8>(), 14..200)) {
            let kinds = [[0x08, 0x00], [0x86, 0xdd], [0x08, 0x06]];
            frame[12..14].copy_from_slice(&kinds[usize::from(ethertype)]);
            if let Some(segment) = Segment::parse(&frame) {
                prop_assert!((segment.data_bytes as usize) < frame.len());
            }
        }
    }
}
