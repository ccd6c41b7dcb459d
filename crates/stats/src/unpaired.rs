//! Comparing series that were not measured in the same rounds, such as those of two runs.
//!
//! What a round does to all its contenders no longer cancels, so the intervals are wider than those of [`crate::ratio`]; and
//! what changed between the two experiments besides the contender is part of the ratio, which no statistics can undo.

use crate::error::logarithms;
use crate::interval::Sample;
use crate::{Interval, StatsError, student};

/// The ratio of two contenders' speeds, first over second, from rounds of different experiments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnpairedRatio {
    /// The ratio of the geometric means and its interval.
    pub interval: Interval,
    /// How much the ratio of one round of each would vary: the standard deviation of its logarithm.
    pub round_cv: f64,
    /// Degrees of freedom of the interval.
    pub degrees_of_freedom: f64,
}

/// Compares two series by their logarithms without assuming that both vary to the same extent: the t interval of Welch
/// (Biometrika 34, 1947) with Satterthwaite's degrees of freedom (Biometrics Bull. 2, 1946).
///
/// # Errors
/// When a series has fewer than two values or one that is not finite and above zero, or when `confidence` is not strictly
/// between 0 and 1.
pub fn welch_log_ratio(first: &[f64], second: &[f64], confidence: f64) -> Result<UnpairedRatio, StatsError> {
    let a = Sample::of("a comparison of two runs", &logarithms(first)?)?;
    let b = Sample::of("a comparison of two runs", &logarithms(second)?)?;
    let [var_a, var_b] = [a, b].map(|sample| sample.standard_error.powi(2));
    let variance = var_a + var_b;
    let per_degree = |variance: f64, sample: Sample| variance.powi(2) / sample.degrees_of_freedom as f64;
    // Without any variation there is no doubt, and no degrees of freedom to speak of.
    let degrees_of_freedom =
        if variance > 0.0 { variance.powi(2) / (per_degree(var_a, a) + per_degree(var_b, b)) } else { 1.0 };
    let mean = a.mean - b.mean;
    let reach = student::critical_value_of(confidence, degrees_of_freedom)? * variance.sqrt();
    let interval = Interval { estimate: mean, low: mean - reach, high: mean + reach, confidence }.exp();
    let rounds = first.len().min(second.len());
    Ok(UnpairedRatio { interval, round_cv: (variance * rounds as f64).sqrt(), degrees_of_freedom })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's sleep data (R's data set `sleep`); R's `t.test(extra ~ group, data = sleep)`, the Welch test, gives
    /// −3.3654832 to 0.2054832 for drug 1 less drug 2.
    #[test]
    fn welch_interval_of_students_sleep_data() {
        let one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0].map(f64::exp);
        let two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4].map(f64::exp);
        let UnpairedRatio { interval: ratio, degrees_of_freedom, .. } =
            welch_log_ratio(&one, &two, 0.95).unwrap();
        assert!((degrees_of_freedom - 17.77647).abs() < 1e-5, "{degrees_of_freedom}");
        for (got, expected) in [(ratio.estimate, -1.58), (ratio.low, -3.3654832), (ratio.high, 0.2054832)] {
            assert!((got.ln() - expected).abs() < 1e-7, "{} instead of {expected}", got.ln());
        }
    }

    #[test]
    fn series_of_different_length_and_without_variation_can_be_compared() {
        let ratio = welch_log_ratio(&[4.0, 4.0], &[2.0, 2.0, 2.0], 0.95).unwrap();
        assert_eq!((ratio.interval.low, ratio.interval.high, ratio.round_cv), (2.0, 2.0, 0.0));
        let wide = welch_log_ratio(&[4.0, 5.0], &[2.0, 2.0, 2.1], 0.95).unwrap();
        assert!(wide.interval.contains(2.2) && wide.interval.low < 1.0);
        assert!(welch_log_ratio(&[4.0], &[2.0, 2.0], 0.95).is_err());
        assert!(welch_log_ratio(&[4.0, 0.0], &[2.0, 2.0], 0.95).is_err());
    }
}
