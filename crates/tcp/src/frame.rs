//! TCP segments inside frames: whose they are, where they lie, and whether they are whole.

use crate::checksum::Sum;
use crate::connection::Segment;
use crate::connection::flag;
use crate::connection::sequence::Seq;
use crate::flow::{Flow, mapped};

/// Bytes of an Ethernet header (IEEE 802.3).
pub(crate) const ETHERNET_BYTES: usize = 14;
/// Bytes of a header without options (RFC 791 §3.1).
pub(crate) const IPV4_BYTES: usize = 20;
/// Bytes of a header (RFC 8200 §3).
pub(crate) const IPV6_BYTES: usize = 40;
/// Bytes of a header without options (RFC 9293 §3.1).
pub(crate) const TCP_BYTES: usize = 20;
/// The protocol's number (RFC 9293 §1).
pub(crate) const TCP: u8 = 6;

/// Where in a frame a segment lies. What finds and reads it is inlined, so that it stays in registers: in memory, wide loads would
/// have to wait for narrow stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) flow: Flow,
    /// Of [`flag`].
    pub(crate) flags: u8,
    tcp: u16,
    data: u16,
    end: u16,
}

impl Located {
    /// The segment in a frame; `None` for all other frames, for fragments, and for what is cut off or, where checksums count, spoilt.
    #[inline(always)]
    pub(crate) fn find(frame: &[u8], has_checksums: bool) -> Option<Self> {
        match u16_at(frame, 12)? {
            0x0800 => Self::in_ipv4(frame, has_checksums),
            0x86dd => Self::in_ipv6(frame, has_checksums),
            _ => None,
        }
    }

    #[inline(always)]
    fn in_ipv4(frame: &[u8], has_checksums: bool) -> Option<Self> {
        let header: &[u8; IPV4_BYTES] = frame.get(ETHERNET_BYTES..)?.first_chunk()?;
        let header_bytes = usize::from(header[0] & 0x0f) * 4;
        let is_fragment = u16_at(header, 6)? & 0x3fff != 0;
        if header[0] >> 4 != 4 || header[9] != TCP || header_bytes < IPV4_BYTES || is_fragment {
            return None;
        }
        let (start, end) = (ETHERNET_BYTES + header_bytes, ETHERNET_BYTES + usize::from(u16_at(header, 2)?));
        if has_checksums {
            let is_intact = Sum::of(frame.get(ETHERNET_BYTES..start)?).is_intact();
            let pseudo = Sum::of(&header[12..]).add(u32::from(TCP)).add(end.checked_sub(start)? as u32);
            if !is_intact || !pseudo.and(frame.get(start..end)?).is_intact() {
                return None;
            }
        }
        Self::in_tcp(frame, start, end, [mapped(u32_at(header, 12)?), mapped(u32_at(header, 16)?)])
    }

    fn in_ipv6(frame: &[u8], has_checksums: bool) -> Option<Self> {
        let header: &[u8; IPV6_BYTES] = frame.get(ETHERNET_BYTES..)?.first_chunk()?;
        if header[0] >> 4 != 6 || header[6] != TCP {
            return None;
        }
        let start = ETHERNET_BYTES + IPV6_BYTES;
        let end = start + usize::from(u16_at(header, 4)?);
        if has_checksums {
            let pseudo = Sum::of(&header[8..]).add(u32::from(TCP)).add((end - start) as u32);
            if !pseudo.and(frame.get(start..end)?).is_intact() {
                return None;
            }
        }
        let [source, destination] = [8, 24].map(|at| header[at..].first_chunk().copied());
        let addresses = [u128::from_be_bytes(source?), u128::from_be_bytes(destination?)];
        Self::in_tcp(frame, start, end, addresses)
    }

    #[inline(always)]
    fn in_tcp(frame: &[u8], start: usize, end: usize, [source, destination]: [u128; 2]) -> Option<Self> {
        let header: &[u8; TCP_BYTES] = frame.get(start..end)?.first_chunk()?;
        let data = start + usize::from(header[12] >> 4) * 4;
        if data < start + TCP_BYTES || data > end {
            return None;
        }
        let flow = Flow::of_arrival(source, destination, u32_at(header, 0)?);
        let [tcp, data, end] = [start as u16, data as u16, end as u16];
        Some(Self { flow, flags: header[13], tcp, data, end })
    }

    /// Reads it from the frame in which it was found.
    #[inline(always)]
    pub(crate) fn read<'f>(&self, frame: &'f [u8]) -> Option<Segment<'f>> {
        let [tcp, data, end] = [self.tcp, self.data, self.end].map(usize::from);
        let header: &[u8; TCP_BYTES] = frame.get(tcp..)?.first_chunk()?;
        Some(Segment {
            sequence: Seq(u32_at(header, 4)?),
            acknowledgement: Seq(u32_at(header, 8)?),
            flags: self.flags,
            window: u16_at(header, 14)?,
            options: frame.get(tcp + TCP_BYTES..data)?,
            data: frame.get(data..end)?,
        })
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether the segment may end a handshake.
    pub(crate) fn is_answer(&self) -> bool {
        self.flags & (flag::SYN | flag::ACK | flag::RST) == flag::ACK
    }

    /// Whether the segment asks for a connection.
    pub(crate) fn is_request(&self) -> bool {
        flag::is_request(self.flags)
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
            let located = Located::find(&frame, false).unwrap();
            let ends = ["10.77.0.1:80", "10.77.0.2:49152"].map(|end| end.parse().unwrap());
            assert_eq!(located.flow, Flow::new(ends[0], ends[1]));
            assert_eq!([located.flow.local(), located.flow.remote()], ends);
            let segment = located.read(&frame).unwrap();
            assert_eq!(
                (segment.sequence, segment.data, segment.length()),
                (Seq(256), &b"ten octets"[..], 11)
            );
            assert!(located.has(flag::SYN) && located.has(flag::ACK) && !located.is_request());
            assert_eq!(Located::find(&frame, true), None, "it has no checksums");
        }
    }

    #[test]
    fn leaves_fragments_and_what_is_cut_off_alone() {
        let mut fragment = frame();
        fragment[ETHERNET_BYTES + 6] = 0x20;
        assert_eq!(Located::find(&fragment, false), None);
        for length in 0..frame().len() {
            assert_eq!(Located::find(&frame()[..length], false), None, "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn reads_any_bytes_without_harm(
            ethertype in 0u8..3, mut frame in prop::collection::vec(any::<u8>(), 14..200), has_checksums in any::<bool>(),
        ) {
            let kinds = [[0x08, 0x00], [0x86, 0xdd], [0x08, 0x06]];
            frame[12..14].copy_from_slice(&kinds[usize::from(ethertype)]);
            if let Some(located) = Located::find(&frame, has_checksums) {
                let segment = located.read(&frame).unwrap();
                prop_assert!(segment.data.len() + segment.options.len() < frame.len());
            }
        }
    }
}
