//! Comparing every contender with every other at once: Holm's p-values and simultaneous intervals.
//!
//! **Intervals** are t intervals of each pair with a critical value that makes all of them cover together
//! ([`crate::simultaneous`]). The alternatives lose something that matters here: Tukey's method pools one variance over
//! contenders that visibly differ in it, and the intervals that match Holm's test exactly (Strassburger & Bretz, Stat. Med.
//! 27, 2008) touch the null value for every rejected pair and so say nothing about the size of a difference.
//!
//! **Holm's p-values** are the more powerful test of "exactly as fast": a pair that only Holm separates is a hint that more
//! rounds would settle it. Verdicts are taken from the intervals ([`crate::tiers`]).

use crate::error::at_least;
use crate::ratio::paired_log_ratio;
use crate::simultaneous::Boundary;
use crate::{Interval, Ratio, StatsError};

/// Two contenders compared, among several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Index of the contender above the fraction bar.
    pub first: usize,
    /// Index of the contender below it; greater than `first`.
    pub second: usize,
    /// The comparison as if it were the only one.
    pub ratio: Ratio,
    /// The ratio's interval such that all pairs' intervals hold together; its `confidence` is that of all at
    /// once.
    pub simultaneous: Interval,
    /// Two-sided p-value of "equally fast", adjusted over all pairs by Holm's method.
    pub adjusted_p: f64,
}

/// Compares all pairs of `series`, one series of per-round speeds for each contender, all from the same
/// rounds.
///
/// The pairs come ordered (0,1), (0,2), …, (1,2), …; a single contender has none. All `simultaneous`
/// intervals together cover with probability `confidence`, and so does each pair's `ratio` on its own. The number of rounds
/// must have been decided without a look at the results; otherwise use [`compare_all_within`].
///
/// # Errors
/// When there are no contenders or more than a thousand rounds, and as [`paired_log_ratio`].
pub fn compare_all(series: &[Vec<f64>], confidence: f64) -> Result<Vec<Pair>, StatsError> {
    at_least("a comparison", 1, series.len())?;
    if series.len() == 1 {
        return Ok(Vec::new());
    }
    compare_all_within(series, &Boundary::once(series.len(), series[0].len(), confidence)?)
}

/// As [`compare_all`], for an experiment that may have been stopped at any look of `boundary`.
///
/// # Errors
/// When there are no contenders or the boundary allows no conclusion after so many rounds, and as [`paired_log_ratio`].
pub fn compare_all_within(series: &[Vec<f64>], boundary: &Boundary) -> Result<Vec<Pair>, StatsError> {
    at_least("a comparison", 1, series.len())?;
    let (confidence, rounds) = (boundary.confidence(), series[0].len());
    let critical = boundary.critical_value(rounds).ok_or(StatsError::OutOfRange {
        name: "the number of rounds",
        range: "one at which the experiment's plan has a look",
        value: rounds as f64,
    })?;
    let mut pairs = Vec::new();
    for (first, a) in series.iter().enumerate() {
        for (second, b) in series.iter().enumerate().skip(first + 1) {
            let ratio = paired_log_ratio(a, b, confidence)?;
            let simultaneous = ratio.with_critical_value(critical, confidence);
            pairs.push(Pair { first, second, ratio, simultaneous, adjusted_p: ratio.difference_p()? });
        }
    }
    let raw: Vec<f64> = pairs.iter().map(|pair| pair.adjusted_p).collect();
    for (pair, p) in pairs.iter_mut().zip(holm_adjusted(&raw)) {
        pair.adjusted_p = p;
    }
    Ok(pairs)
}

/// Step-down adjusted p-values in the order given (Holm, Scand. J. Statist. 6, 1979): the k-th smallest of m,
/// from 1, is multiplied by m − k + 1, never falls below an earlier one, and stops at 1. Rejecting those at
/// most α keeps the chance of any false rejection at α or less.
pub fn holm_adjusted(p_values: &[f64]) -> Vec<f64> {
    let mut by_size: Vec<usize> = (0..p_values.len()).collect();
    by_size.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut floor = 0.0_f64;
    for (earlier, index) in by_size.into_iter().enumerate() {
        floor = floor.max(p_values[index] * (p_values.len() - earlier) as f64).min(1.0);
        adjusted[index] = floor;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of Wikipedia, "Holm–Bonferroni method": 0.01, 0.04, 0.03, 0.005 are adjusted to
    /// 0.03, 0.06, 0.06, 0.02, as by R's `p.adjust(method = "holm")`.
    #[test]
    fn holm_matches_the_worked_example() {
        let adjusted = holm_adjusted(&[0.01, 0.04, 0.03, 0.005]);
        for (got, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm_adjusted(&[0.6, 0.7]), [1.0, 1.0]);
        assert!(holm_adjusted(&[]).is_empty());
    }

    #[test]
    fn an_interval_that_excludes_one_implies_a_small_holm_p() {
        let series = [
            vec![100.0, 103.0, 98.0, 101.0, 99.5, 102.0],
            vec![99.0, 103.5, 97.0, 101.5, 98.0, 102.5],
            vec![95.0, 97.0, 93.5, 96.0, 94.0, 97.5],
            vec![50.0, 52.0, 49.0, 50.5, 49.5, 51.5],
        ];
        let pairs = compare_all(&series, 0.95).unwrap();
        let named: Vec<_> = pairs.iter().map(|p| (p.first, p.second)).collect();
        assert_eq!(named, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
        let distinct: Vec<_> = pairs.iter().filter(|p| !p.simultaneous.contains(1.0)).collect();
        assert_eq!(distinct.len(), 5, "all but the first two contenders differ");
        assert!(distinct.iter().all(|p| p.adjusted_p < 0.05));
        for pair in &pairs {
            let (own, all) = (pair.ratio.interval, pair.simultaneous);
            assert!(all.low < own.low && own.high < all.high && all.confidence == 0.95);
        }
    }

    #[test]
    fn a_single_pair_needs_no_correction() {
        let pairs = compare_all(&[vec![1.0, 1.1, 1.2], vec![2.0, 2.1, 2.5]], 0.95).unwrap();
        assert!((pairs[0].simultaneous.low - pairs[0].ratio.interval.low).abs() < 1e-12);
        assert_eq!(compare_all(&[vec![1.0, 2.0]], 0.95), Ok(vec![]));
        assert!(compare_all(&[], 0.95).is_err());
    }
}
