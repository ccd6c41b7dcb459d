//! Order-statistic intervals: what runs say about a quantile of runs, whatever their distribution.
//!
//! The number of runs below the true quantile is binomial, so the k-th and l-th smallest enclose it with a
//! probability that depends on nothing but their ranks (David & Nagaraja, *Order Statistics*, 3rd ed. 2003,
//! §7.1). assay uses it for the median over restarts of a latency percentile, for which no distribution can
//! be assumed.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::error::{at_least, finite, open_unit};
use crate::{Interval, StatsError, robust};

/// Values that must lie beyond a quantile for it to be told.
const VALUES_BEYOND: f64 = 100.0;
/// Values that must lie beyond it in each of several rounds of which the middle one is told.
const VALUES_BEYOND_IN_EACH: f64 = 50.0;

/// Whether the quantile `q` of `count` values may be told: n(1 − q) ≥ 100, so that the part beyond it is known to about a
/// tenth (docs/method/measures.md#percentiles).
pub fn is_resolved(count: u64, q: f64) -> bool {
    is_resolved_among(count, q, 1)
}

/// Whether the quantile `q` of `count` values may be told as one of so many rounds: half of that is enough in each, because two rounds have
/// it together, and what is unsure in one adds to what is told of how much rounds vary.
pub fn is_resolved_among(count: u64, q: f64, rounds: usize) -> bool {
    let wanted = if rounds > 1 { VALUES_BEYOND_IN_EACH } else { VALUES_BEYOND };
    // A relative slack of 1e-9: 1 − 0.99 is not exactly 0.01.
    count as f64 * (1.0 - q) * (1.0 + 1e-9) >= wanted
}

/// Two ranks, from 1, and how surely the values at these ranks enclose the quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OrderRanks {
    /// Rank of the lower end; 1 is the least value.
    low: usize,
    /// Rank of the upper end.
    high: usize,
    /// The achieved confidence: at least the target where so few values allow it, else less.
    confidence: f64,
}

/// The ranks that enclose the `quantile` of the population with probability `confidence`, for a sample of
/// `count`.
///
/// Equal-tailed: the lower rank is the highest that misses with probability at most (1 − confidence) / 2, and
/// so from above. Where the sample does not reach far enough on one side, the other side takes up what
/// remains of the allowed error. When even the extremes do not suffice, they are returned with what they
/// achieve (five values: 93.8 % for the median).
///
/// # Errors
/// When there are fewer than two values, or `quantile` or `confidence` is not strictly between 0 and 1.
fn order_ranks(count: usize, quantile: f64, confidence: f64) -> Result<OrderRanks, StatsError> {
    at_least("an order-statistic interval", 2, count)?;
    open_unit("confidence", confidence)?;
    open_unit("quantile", quantile)?;
    let out_of_range =
        |_| StatsError::OutOfRange { name: "quantile", range: "a probability", value: quantile };
    let below = Binomial::new(quantile, count as u64).map_err(out_of_range)?;
    // The rank k lies above the quantile when fewer than k values lie below it, and below it when at least k
    // do.
    let low_misses = |rank: usize| below.cdf(rank as u64 - 1);
    let high_misses = |rank: usize| below.sf(rank as u64 - 1);
    let highest_low = |error: f64| (1..=count).rev().find(|&k| low_misses(k) <= error).unwrap_or(1);
    let lowest_high = |error: f64| (1..=count).find(|&k| high_misses(k) <= error).unwrap_or(count);

    let error = 1.0 - confidence;
    let (mut low, mut high) = (highest_low(error / 2.0), lowest_high(error / 2.0));
    if low_misses(low) > error / 2.0 {
        high = lowest_high(error - low_misses(low));
    } else if high_misses(high) > error / 2.0 {
        low = highest_low(error - high_misses(high));
    }
    Ok(OrderRanks { low, high, confidence: 1.0 - low_misses(low) - high_misses(high) })
}

/// The sample median with its order-statistic interval; `confidence` in the answer is what was achieved.
///
/// # Errors
/// When there are fewer than two values, one is not finite, or `confidence` is not strictly between 0 and 1.
pub fn median_interval(values: &[f64], confidence: f64) -> Result<Interval, StatsError> {
    finite(values)?;
    let ranks = order_ranks(values.len(), 0.5, confidence)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted[ranks.low - 1], sorted[ranks.high - 1]);
    Ok(Interval { estimate: robust::median(values)?, low, high, confidence: ranks.confidence })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(count: usize, quantile: f64) -> (usize, usize, f64) {
        let r = order_ranks(count, quantile, 0.95).unwrap();
        (r.low, r.high, (r.confidence * 1000.0).round() / 10.0)
    }

    /// docs/method/measures.md#percentiles (5, 6, 10 and 20), and textbook tables of "confidence intervals for the
    /// population median".
    #[test]
    fn a_quantile_is_resolved_by_a_hundred_values_beyond_it() {
        for (count, q, resolved) in [
            (10_000, 0.99, true),
            (9_999, 0.99, false),
            (100_000, 0.999, true),
            (200, 0.5, true),
            (199, 0.5, false),
        ] {
            assert_eq!(is_resolved(count, q), resolved, "{count} values at {q}");
        }
        assert!(
            is_resolved_among(5_000, 0.99, 2) && !is_resolved_among(4_999, 0.99, 2),
            "half in each of two"
        );
    }

    #[test]
    fn median_ranks_match_the_published_table() {
        let table = [
            (5, 1, 5, 93.8),
            (6, 1, 6, 96.9),
            (7, 1, 7, 98.4),
            (8, 1, 8, 99.2),
            (9, 2, 8, 96.1),
            (10, 2, 9, 97.9),
            (11, 2, 10, 98.8),
            (12, 3, 10, 96.1),
            (15, 4, 12, 96.5),
            (17, 5, 13, 95.1),
            (20, 6, 15, 95.9),
        ];
        for (count, low, high, percent) in table {
            assert_eq!(ranks(count, 0.5), (low, high, percent), "R = {count}");
        }
    }

    #[test]
    fn the_far_side_makes_up_for_a_quantile_near_the_edge() {
        // Of 40 values, the greatest misses the 90th percentile in 0.9⁴⁰ = 1.5 % of cases and the 32nd in 1.5
        // %.
        assert_eq!(ranks(40, 0.9), (32, 40, 97.0));
        // Of 30, the greatest misses it in 4.2 %: what is left of 5 % moves the lower end from rank 23 to 22
        // (0.2 %).
        assert_eq!(ranks(30, 0.9), (22, 30, 95.6));
        // With 10 no pair of ranks comes near 95 %.
        assert_eq!(ranks(10, 0.99), (1, 10, 9.6));
    }

    #[test]
    fn ranks_mirror_for_mirrored_quantiles() {
        for count in 2..60 {
            for q in [0.05, 0.1, 0.25, 0.4] {
                let (lower, upper) =
                    (order_ranks(count, q, 0.95).unwrap(), order_ranks(count, 1.0 - q, 0.95).unwrap());
                assert_eq!(
                    (lower.low, lower.high),
                    (count + 1 - upper.high, count + 1 - upper.low),
                    "{count} {q}"
                );
                assert!((lower.confidence - upper.confidence).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn median_interval_picks_the_values_at_the_ranks() {
        let i = median_interval(&[7.0, 1.0, 3.0, 9.0, 5.0, 2.0, 10.0, 4.0, 8.0, 6.0], 0.95).unwrap();
        assert_eq!((i.estimate, i.low, i.high), (5.5, 2.0, 9.0));
        assert!((i.confidence - 0.979).abs() < 5e-4);
        assert!(median_interval(&[1.0], 0.95).is_err() && order_ranks(5, 1.0, 0.95).is_err());
    }
}
