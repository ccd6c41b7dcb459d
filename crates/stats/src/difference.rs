//! What one contender spends more than another, in the unit in which it spends: paired differences of means.
//!
//! Speeds are compared as ratios ([`crate::ratio`]). What a request costs is a sum of parts, and parts add up only on their own
//! scale: a part that one contender does not have at all has no logarithm.

use crate::error::{finite, same_length};
use crate::interval::Sample;
use crate::{Interval, StatsError};

/// The mean of a series and its t interval with R − 1 degrees of freedom.
///
/// # Errors
/// When there are fewer than two values, one is not finite, or `confidence` is not strictly between 0 and 1.
pub fn mean_interval(values: &[f64], confidence: f64) -> Result<Interval, StatsError> {
    finite(values)?;
    Sample::of("an interval of a mean", values)?.interval(confidence)
}

/// The mean of `first` less `second` over the rounds in which both were measured, and its t interval: what a round does to both
/// alike cancels (Box, Hunter & Hunter, *Statistics for Experimenters*, 2nd ed. 2005, §3.2).
///
/// # Errors
/// When the series differ in length, have fewer than two rounds or a value that is not finite, or when `confidence` is not
/// strictly between 0 and 1.
pub fn paired_difference(first: &[f64], second: &[f64], confidence: f64) -> Result<Interval, StatsError> {
    same_length(first.len(), second.len())?;
    let differences: Vec<f64> = first.iter().zip(second).map(|(first, second)| first - second).collect();
    mean_interval(&differences, confidence)
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng as _;

    use super::*;
    use crate::simulation::normal;
    use crate::simultaneous::each_of;

    /// Student (1908): hours of additional sleep with two drugs, the same ten patients; as in R's data set `sleep`.
    const DRUG_1: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    const DRUG_2: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    /// R's `t.test(extra ~ group, data = sleep, paired = TRUE)` and `t.test(extra)` of the second drug.
    #[test]
    fn the_intervals_of_students_sleep_data() {
        let close = |got: Interval, expected: [f64; 3]| {
            for (got, expected) in [got.estimate, got.low, got.high].into_iter().zip(expected) {
                assert!((got - expected).abs() < 1e-6, "{got} instead of {expected}");
            }
        };
        close(paired_difference(&DRUG_2, &DRUG_1, 0.95).unwrap(), [1.58, 0.7001142, 2.4598858]);
        let two = mean_interval(&DRUG_2, 0.95).unwrap();
        assert!((two.estimate - 2.33).abs() < 1e-12 && two.contains(2.33) && two.low > 0.89, "{two:?}");
    }

    #[test]
    fn unusable_series_are_refused() {
        assert!(mean_interval(&[1.0], 0.95).is_err() && mean_interval(&[1.0, f64::NAN], 0.95).is_err());
        assert!(paired_difference(&[1.0, 2.0], &[1.0], 0.95).is_err());
        assert!(paired_difference(&[1.0, 2.0], &[1.0, 2.0], 1.0).is_err());
        let still = paired_difference(&[0.0, 0.0], &[0.0, 0.0], 0.95).unwrap();
        assert_eq!((still.estimate, still.low, still.high), (0.0, 0.0, 0.0), "a part that neither has");
    }

    /// Twelve parts of two budgets over five restarts, of which each has its own spread and its own true difference: in 95 % of
    /// experiments all twelve intervals together cover the truth.
    #[test]
    fn intervals_of_all_parts_cover_the_truth_together() {
        const PARTS: usize = 12;
        const ROUNDS: usize = 5;
        const EXPERIMENTS: usize = 2_000;
        let mut rng = ChaCha8Rng::seed_from_u64(20_261_123);
        let confidence = each_of(PARTS, 0.95);
        let mut covered = 0;
        for _ in 0..EXPERIMENTS {
            let all = (0..PARTS).all(|part| {
                let (truth, spread) = (part as f64 * 300.0 - 900.0, 20.0 * (part + 1) as f64);
                let series = |mean: f64, rng: &mut ChaCha8Rng| -> Vec<f64> {
                    (0..ROUNDS).map(|_| mean + spread * normal(rng)).collect()
                };
                let (b, a) = (series(5_000.0 + truth, &mut rng), series(5_000.0, &mut rng));
                paired_difference(&b, &a, confidence).unwrap().contains(truth)
            });
            covered += usize::from(all);
        }
        // Three standard errors of a binomial share of 2000 are 1.5 %.
        let share = covered as f64 / EXPERIMENTS as f64;
        assert!((0.935..0.966).contains(&share), "{share}");
    }
}
