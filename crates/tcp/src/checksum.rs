//! The Internet's checksum (RFC 1071): a sum of 16-bit words in ones' complement.

/// A sum that is not folded yet, of big-endian words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// The sum of these bytes; an odd one at the end is a word's first.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::default().and(bytes)
    }

    /// With these bytes, which begin at an even offset. Four bytes at a time: words add up the same way in pairs (RFC 1071 §2).
    #[must_use]
    pub(crate) fn and(mut self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<4>();
        for word in words {
            self.0 += u64::from(u32::from_be_bytes(*word));
        }
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        Self(self.0 + u64::from(u32::from_be_bytes(last)))
    }

    /// With a number.
    #[must_use]
    pub(crate) fn add(self, number: u32) -> Self {
        Self(self.0 + u64::from(number))
    }

    fn fold(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// What makes the sum right.
    pub(crate) fn checksum(self) -> u16 {
        !self.fold()
    }

    /// Whether the sum is right, with the checksum among the words.
    pub(crate) fn is_intact(self) -> bool {
        self.fold() == 0xffff
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sums_as_the_rfc_does() {
        // RFC 1071 §3.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::of(&bytes).fold(), 0xddf2);
        assert!(Sum::of(&bytes).add(Sum::of(&bytes).checksum().into()).is_intact());
    }

    proptest! {
        #[test]
        fn sums_pairs_as_it_would_single_words(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
            let sum: u32 = words.sum();
            prop_assert_eq!(u32::from(Sum::of(&bytes).fold()) % 0xffff, sum % 0xffff);
        }
    }
}
