//! A log-linear histogram of durations, with the bucket layout of HdrHistogram at two significant figures.
//!
//! Values below 256 have a bucket each; from there on every octave [2ⁿ, 2ⁿ⁺¹) is cut into 128 equal buckets.
//! A bucket is therefore never wider than 1/128 of its lower edge, and its midpoint is within 1/256 = 0.39 %
//! of every value in it. The bucket numbers equal those of an HdrHistogram with lowest discernible value 1
//! and two significant figures (Tene, <https://hdrhistogram.org>), so histograms are exchanged without loss
//! ([`Histogram::to_hdr_base64`]).

use std::fmt;

/// log₂ of the number of buckets in an octave.
const SUB_BITS: u32 = 7;
/// Values are told apart below 2 to this power; 2⁴³ ns is 2 h 26 min.
const RANGE_BITS: u32 = 43;
/// The bucket of everything at or above [`Histogram::LIMIT`]: one more than the buckets of all octaves below
/// it.
const OVERFLOW: usize = ((RANGE_BITS - SUB_BITS + 1) as usize) << SUB_BITS;
/// How many buckets there are: 37 KiB of counts, of which a run touches a few.
const BUCKETS: usize = OVERFLOW + 1;

/// Counts of durations by size; see the [module](self) for the layout.
///
/// The unit of a value is the caller's; assay records nanoseconds. Besides the buckets it keeps the exact
/// number, sum, least and greatest of the values.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// One bucket that holds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Least value that belongs here.
    pub low: u64,
    /// Greatest value that belongs here.
    pub high: u64,
    /// How many values were recorded.
    pub count: u64,
}

impl Histogram {
    /// The first value that is too large to be told apart from larger ones: 2⁴³, 2 h 26 min in nanoseconds.
    pub const LIMIT: u64 = 1 << RANGE_BITS;

    /// An empty histogram, with all the memory that recording and merging will ever need.
    pub fn new() -> Self {
        Self { counts: Box::new([0; BUCKETS]), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Counts one value: a shift, a `leading_zeros` and an increment; no branch, no allocation.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts `n` values of the same size. Counts stop at `u64::MAX` instead of wrapping.
    #[inline]
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        let bucket = &mut self.counts[index_of(value)];
        *bucket = bucket.saturating_add(n);
        self.count = self.count.saturating_add(n);
        self.sum = self.sum.saturating_add(u128::from(value) * u128::from(n));
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Counts `n` values of which only the bucket is known, the one that holds `value`: the sum grows by its
    /// midpoint, the extremes reach to its edges.
    pub(crate) fn record_bucket(&mut self, value: u64, n: u64) {
        let index = index_of(value);
        self.record_n(midpoint_of(index), n);
        self.min = self.min.min(low_of(index));
        self.max = self.max.max(high_of(index).min(Self::LIMIT));
    }

    /// Adds everything that `other` has counted. Order and grouping of merges make no difference to the
    /// result.
    pub fn merge(&mut self, other: &Self) {
        // Many of a record are.
        if other.is_empty() {
            return;
        }
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts.iter()) {
            *mine = mine.saturating_add(*theirs);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many values were recorded, exactly.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The sum of all values, exactly.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The least value, exactly; `None` when empty.
    pub fn min(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min)
    }

    /// The greatest value, exactly; `None` when empty.
    pub fn max(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max)
    }

    /// The arithmetic mean, from the exact sum; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.count as f64)
    }

    /// How many values were at or above [`Self::LIMIT`] and share the last bucket. When this is not 0, a
    /// quantile that falls among them reads "at least [`Self::LIMIT`]".
    pub fn saturated(&self) -> u64 {
        self.counts[OVERFLOW]
    }

    /// The value of rank ⌈`q` · count⌉ (at least 1), as in HdrHistogram; `None` when empty or `q` is not in
    /// 0..=1.
    ///
    /// It answers with the midpoint of the bucket, kept within the exact least and greatest value: at most
    /// 0.39 % from the true sample. (HdrHistogram answers with the upper edge of the same bucket, up to 0.78
    /// % too high.)
    pub fn quantile(&self, q: f64) -> Option<u64> {
        if self.is_empty() || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = 0u64;
        let index = self.counts.iter().position(|&count| {
            seen = seen.saturating_add(count);
            seen >= rank
        })?;
        Some(midpoint_of(index).clamp(self.min, self.max))
    }

    /// How many values were at or below `value`, to the resolution of a bucket: it counts the whole bucket
    /// that `value` falls into, so it is exact below 256 and wherever `value` is the upper edge of a bucket.
    pub fn count_at_or_below(&self, value: u64) -> u64 {
        self.counts[..=index_of(value)].iter().fold(0, |sum: u64, &count| sum.saturating_add(count))
    }

    /// The buckets that hold something, by rising value.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        let bucket = |(i, &count): (usize, &u64)| Bucket { low: low_of(i), high: high_of(i), count };
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(bucket)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("sum", &self.sum)
            .field("min", &self.min())
            .field("max", &self.max())
            .field("buckets", &self.buckets().map(|b| (b.low, b.count)).collect::<Vec<_>>())
            .finish()
    }
}

/// The bucket of `value`. Below 256 the shift is 0 and the bucket is the value; above, the value's 8 leading
/// bits select one of the 128 buckets of octave number `shift`, which begin at (`shift` + 1) · 128.
#[inline]
fn index_of(value: u64) -> usize {
    let shift = 63 - SUB_BITS - (value | 0xff).leading_zeros();
    (((shift as usize) << SUB_BITS) + (value >> shift) as usize).min(OVERFLOW)
}

/// How many bits a bucket leaves undistinguished: the inverse of the shift in [`index_of`].
fn shift_of(index: usize) -> u32 {
    (index >> SUB_BITS).saturating_sub(1) as u32
}

fn low_of(index: usize) -> u64 {
    let shift = shift_of(index);
    (index as u64 - (u64::from(shift) << SUB_BITS)) << shift
}

fn high_of(index: usize) -> u64 {
    if index == OVERFLOW { u64::MAX } else { low_of(index) + (1 << shift_of(index)) - 1 }
}

/// The middle of a bucket; of the overflow bucket, whose middle means nothing, its lower edge.
fn midpoint_of(index: usize) -> u64 {
    if index == OVERFLOW { Histogram::LIMIT } else { low_of(index) + (1 << shift_of(index)) / 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_range_without_gap_or_overlap() {
        let mut next = 0;
        for index in 0..OVERFLOW {
            assert_eq!(low_of(index), next, "bucket {index}");
            assert_eq!((index_of(low_of(index)), index_of(high_of(index))), (index, index));
            next = high_of(index) + 1;
        }
        assert_eq!((next, low_of(OVERFLOW)), (Histogram::LIMIT, Histogram::LIMIT));
        assert_eq!((index_of(Histogram::LIMIT), index_of(u64::MAX)), (OVERFLOW, OVERFLOW));
    }

    #[test]
    fn an_empty_histogram_has_no_statistics() {
        let empty = Histogram::new();
        assert_eq!((empty.count(), empty.min(), empty.max(), empty.mean()), (0, None, None, None));
        assert_eq!((empty.quantile(0.5), empty.buckets().count(), empty.saturated()), (None, 0, 0));
    }

    #[test]
    fn small_values_are_exact() {
        let mut h = Histogram::new();
        (1..=100).for_each(|v| h.record(v));
        assert_eq!([0.0, 0.01, 0.5, 0.99, 1.0].map(|q| h.quantile(q)), [1, 1, 50, 99, 100].map(Some));
        assert_eq!((h.count(), h.sum(), h.mean()), (100, 5050, Some(50.5)));
        assert_eq!(
            (h.count_at_or_below(0), h.count_at_or_below(42), h.count_at_or_below(5000)),
            (0, 42, 100)
        );
        assert_eq!((h.quantile(-0.1), h.quantile(1.1), h.quantile(f64::NAN)), (None, None, None));
    }

    #[test]
    fn quantiles_stay_within_the_exact_extremes() {
        let mut h = Histogram::new();
        h.record_n(1_000_001, 3);
        assert_eq!((h.quantile(0.0), h.quantile(1.0)), (Some(1_000_001), Some(1_000_001)));
    }

    #[test]
    fn values_beyond_the_limit_are_counted_visibly() {
        let mut h = Histogram::new();
        [5, Histogram::LIMIT - 1, Histogram::LIMIT, u64::MAX].into_iter().for_each(|v| h.record(v));
        assert_eq!((h.count(), h.saturated(), h.max()), (4, 2, Some(u64::MAX)));
        assert_eq!(h.quantile(1.0), Some(Histogram::LIMIT));
        assert_eq!(h.sum(), 5 + 2 * u128::from(Histogram::LIMIT) - 1 + u128::from(u64::MAX));
        assert_eq!(h.buckets().last().map(|b| (b.low, b.high)), Some((Histogram::LIMIT, u64::MAX)));
    }
}
