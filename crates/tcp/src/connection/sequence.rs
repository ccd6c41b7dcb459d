//! Sequence numbers (RFC 9293 §3.4): 32 bits that wrap, compared over less than half of their circle.

use std::ops::{Add, Sub};

/// The number of an octet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Seq(pub(crate) u32);

impl Seq {
    /// Whether it comes before `other`.
    pub(crate) fn is_before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Whether it is `other` or comes before it.
    pub(crate) fn is_within(self, other: Self) -> bool {
        !other.is_before(self)
    }

    /// The later of the two.
    pub(crate) fn max(self, other: Self) -> Self {
        if self.is_before(other) { other } else { self }
    }

    /// The earlier of the two.
    pub(crate) fn min(self, other: Self) -> Self {
        if other.is_before(self) { other } else { self }
    }

    /// Octets from `earlier` to here; none when it is not earlier.
    pub(crate) fn beyond(self, earlier: Self) -> u32 {
        if earlier.is_before(self) { self - earlier } else { 0 }
    }
}

impl Add<u32> for Seq {
    type Output = Self;

    fn add(self, octets: u32) -> Self {
        Self(self.0.wrapping_add(octets))
    }
}

impl Sub<u32> for Seq {
    type Output = Self;

    fn sub(self, octets: u32) -> Self {
        Self(self.0.wrapping_sub(octets))
    }
}

/// The distance, for a `self` that is not earlier.
impl Sub for Seq {
    type Output = u32;

    fn sub(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_holds_where_numbers_wrap() {
        let (before, after) = (Seq(u32::MAX - 1), Seq(3));
        assert!(before.is_before(after) && !after.is_before(before));
        assert!(before.is_within(before) && !before.is_before(before));
        assert_eq!((before.max(after), before.min(after)), (after, before));
        assert_eq!((after - before, after.beyond(before), before.beyond(after)), (5, 5, 0));
        assert_eq!((before + 5, after - 5), (after, before));
    }
}
