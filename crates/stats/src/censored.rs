//! Quantiles of durations of which some are known only to exceed a bound.
//!
//! A request that was given up after 2 s took longer than 2 s, and nobody knows how much. Counted with its bound, it
//! takes its place among the others from below, so every quantile under the least bound is exact and every other one is
//! itself a lower bound (right censoring; Kaplan and Meier 1958).

use crate::Histogram;

/// A quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    /// Value of the quantile, to the resolution of the histogram.
    pub value: u64,
    /// Whether the truth may be greater.
    pub is_lower_bound: bool,
}

/// The quantile `q` of durations that ended (`ended`) and durations that were cut off (`censored`, at their bounds).
/// `None` when there are none or `q` is not in 0..=1.
pub fn quantile(ended: &Histogram, censored: &Histogram, q: f64) -> Option<Quantile> {
    let mut all = ended.clone();
    all.merge(censored);
    let value = all.quantile(q)?;
    // A value in the bucket of the least bound may lie beside it by half a bucket.
    let is_lower_bound = censored.min().is_some_and(|least| value >= least - least / 256);
    Some(Quantile { value, is_lower_bound })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_below_every_bound_is_exact_and_the_rest_is_a_bound() {
        let (mut ended, mut censored) = (Histogram::new(), Histogram::new());
        (1..=100).for_each(|value| ended.record(value));
        let exact = |value| Some(Quantile { value, is_lower_bound: false });
        assert_eq!(quantile(&ended, &censored, 1.0), exact(100));
        censored.record_n(50, 100);
        assert_eq!(quantile(&ended, &censored, 0.245), exact(49));
        let bound = |value| Some(Quantile { value, is_lower_bound: true });
        assert_eq!(quantile(&ended, &censored, 0.5), bound(50));
        assert_eq!(quantile(&ended, &censored, 0.9), bound(80));
        assert_eq!(quantile(&Histogram::new(), &Histogram::new(), 0.5), None);
    }
}
