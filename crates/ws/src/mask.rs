//! The mask with which a client hides its payloads from intermediaries (RFC 6455 §5.3).

/// Four bytes, over and over, that are XORed with a payload. Those of zeros change nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mask([u8; 4]);

impl Mask {
    /// The mask of a frame that has none.
    pub const NONE: Self = Self([0; 4]);

    /// A mask of these bytes, in the order in which they stand in the frame.
    pub fn new(bytes: [u8; 4]) -> Self {
        Self(bytes)
    }

    /// Bytes of the mask, in the order in which they stand in the frame.
    pub fn bytes(self) -> [u8; 4] {
        self.0
    }

    /// The mask of what follows the first `n` bytes of a payload.
    #[inline]
    pub fn after(self, n: usize) -> Self {
        let mut bytes = self.0;
        bytes.rotate_left(n % 4);
        Self(bytes)
    }

    /// Masks or unmasks bytes where they are, eight at a step, which compilers make wider still.
    #[inline]
    pub fn apply(self, bytes: &mut [u8]) {
        if self == Self::NONE {
            return;
        }
        let [a, b, c, d] = self.0;
        let word = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
        let (words, rest) = bytes.as_chunks_mut::<8>();
        for eight in words {
            *eight = (u64::from_ne_bytes(*eight) ^ word).to_ne_bytes();
        }
        // Fewer than eight bytes, and what is before them is a multiple of four.
        rest.iter_mut().zip(self.0.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
    }
}

/// A payload, or a part of one, as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'i> {
    /// The payload as it stood in the frame.
    pub masked: &'i [u8],
    /// The mask from its first byte on.
    pub mask: Mask,
}

impl Payload<'_> {
    /// Length of the payload in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.masked.len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.masked.is_empty()
    }

    /// Appends its bytes, unmasked.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(self.masked);
        self.mask.apply(&mut out[start..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Unmasks as RFC 6455 §5.3 writes it.
    fn by_the_book(mask: [u8; 4], bytes: &[u8]) -> Vec<u8> {
        bytes.iter().enumerate().map(|(i, byte)| byte ^ mask[i % 4]).collect()
    }

    proptest! {
        #[test]
        fn words_mask_as_single_bytes_do_wherever_a_payload_is_cut(
            mask: [u8; 4], bytes in proptest::collection::vec(any::<u8>(), 0..100), cut in 0usize..100, offset in 0usize..8,
        ) {
            // An offset moves the bytes away from any alignment.
            let mut padded = [vec![0; offset], bytes.clone()].concat();
            let (first, second) = padded[offset..].split_at_mut(cut.min(bytes.len()));
            Mask::new(mask).apply(first);
            Mask::new(mask).after(first.len()).apply(second);
            prop_assert_eq!(&padded[offset..], by_the_book(mask, &bytes));
            let mut out = b"before".to_vec();
            Payload { masked: &padded[offset..], mask: Mask::new(mask) }.append_to(&mut out);
            prop_assert_eq!(out, [b"before", &bytes[..]].concat());
        }
    }
}
