//! Options of a segment (RFC 9293 §3.2): segment size, window scale (RFC 7323 §2), selective acknowledgement (RFC 2018).
//!
//! Timestamps (RFC 7323 §3) are left out: round-trip times come from the times at which segments left, which loss recovery
//! needs anyway, and they would take 12 bytes of each segment. Who asks for them is answered without.

use super::sequence::Seq;

const END: u8 = 0;
const NOTHING: u8 = 1;
const SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
/// The largest shift (RFC 7323 §2.3).
const MAX_SCALE: u8 = 14;
/// Ranges told at once: as many as fit beside nothing else (RFC 2018 §3).
pub(crate) const SACK_BLOCKS: usize = 4;

/// Options of a SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Most octets of data in a segment to its sender.
    pub(crate) segment_bytes: Option<u16>,
    /// How its sender's windows are shifted.
    pub(crate) scale: Option<u8>,
    /// Whether the sender understands selective acknowledgements.
    pub(crate) sack: bool,
}

impl Offer {
    /// Reads those of a SYN; what is malformed ends the list.
    pub(crate) fn parse(options: &[u8]) -> Self {
        let mut offer = Self::default();
        for (kind, value) in each(options) {
            match (kind, value) {
                (SEGMENT_SIZE, &[high, low]) => offer.segment_bytes = Some(u16::from_be_bytes([high, low])),
                (WINDOW_SCALE, &[scale]) => offer.scale = Some(scale.min(MAX_SCALE)),
                (SACK_PERMITTED, []) => offer.sack = true,
                _ => {}
            }
        }
        offer
    }
}

/// Ranges that the peer has beyond what it acknowledges.
pub(crate) fn sack_blocks(options: &[u8]) -> impl Iterator<Item = (Seq, Seq)> {
    let ranges = each(options).filter(|(kind, _)| *kind == SACK).flat_map(|(_, value)| value.chunks_exact(8));
    ranges.filter_map(|range| {
        let (start, end) = range.split_first_chunk::<4>()?;
        Some((Seq(u32::from_be_bytes(*start)), Seq(u32::from_be_bytes(*end.first_chunk()?))))
    })
}

/// Kinds and values in order.
fn each(mut rest: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        while let [NOTHING, tail @ ..] = rest {
            rest = tail;
        }
        let (&kind, tail) = rest.split_first().filter(|(kind, _)| **kind != END)?;
        let (&length, tail) = tail.split_first()?;
        let (value, tail) = tail.split_at_checked(usize::from(length).checked_sub(2)?)?;
        rest = tail;
        Some((kind, value))
    })
}

/// Options as they are written, padded to whole words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    bytes: [u8; 40],
    length: u8,
}

impl Written {
    const NONE: Self = Self { bytes: [NOTHING; 40], length: 0 };
    /// Most that there can be (RFC 9293 §3.1: a header has 60 octets at most).
    pub(crate) const MOST_BYTES: usize = 40;

    /// Options of a SYN.
    pub(crate) fn offer(offer: &Offer) -> Self {
        let mut written = Self::NONE;
        if let Some(bytes) = offer.segment_bytes {
            let [high, low] = bytes.to_be_bytes();
            written.add(&[SEGMENT_SIZE, 4, high, low]);
        }
        if let Some(scale) = offer.scale {
            written.add(&[NOTHING, WINDOW_SCALE, 3, scale]);
        }
        if offer.sack {
            written.add(&[NOTHING, NOTHING, SACK_PERMITTED, 2]);
        }
        written
    }

    /// Ranges beyond what is acknowledged, [`SACK_BLOCKS`] of them at most.
    pub(crate) fn ranges(ranges: impl Iterator<Item = (Seq, Seq)>) -> Self {
        let mut written = Self::NONE;
        written.add(&[NOTHING, NOTHING, SACK, 2]);
        for (start, end) in ranges.take(SACK_BLOCKS) {
            written.add(&start.0.to_be_bytes());
            written.add(&end.0.to_be_bytes());
            written.bytes[3] += 8;
        }
        written
    }

    fn add(&mut self, option: &[u8]) {
        let start = usize::from(self.length);
        self.bytes[start..start + option.len()].copy_from_slice(option);
        self.length += option.len() as u8;
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let offer = Offer { segment_bytes: Some(1460), scale: Some(7), sack: true };
        let written = Written::offer(&offer);
        assert_eq!(written.as_slice().len() % 4, 0);
        assert_eq!(Offer::parse(written.as_slice()), offer);
        let ranges: Vec<_> = (0..6).map(|n| (Seq(u32::MAX - 9) + n * 10, Seq(u32::MAX) + n * 10)).collect();
        let written = Written::ranges(ranges.iter().copied());
        assert_eq!(written.as_slice().len(), 36);
        assert_eq!(sack_blocks(written.as_slice()).collect::<Vec<_>>(), ranges[..4]);
    }

    #[test]
    fn reads_what_linux_writes() {
        // A SYN of Linux 6.1: segment size, SACK permitted, timestamps, nothing, scale.
        let linux = [2, 4, 5, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7];
        let offer = Offer { segment_bytes: Some(1460), scale: Some(7), sack: true };
        assert_eq!(Offer::parse(&linux), offer);
        assert_eq!(Offer::parse(&[3, 3, 200]).scale, Some(MAX_SCALE));
    }

    proptest! {
        #[test]
        fn reads_any_bytes_without_harm(options in prop::collection::vec(any::<u8>(), 0..41)) {
            let _ = Offer::parse(&options);
            prop_assert!(sack_blocks(&options).count() <= 5);
        }
    }
}
