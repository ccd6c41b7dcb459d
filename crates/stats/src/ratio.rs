//! How many times faster one contender is than another: paired log ratios and equivalence.

use crate::error::{logarithms, not_negative, same_length};
use crate::interval::Sample;
use crate::{Interval, StatsError, student};

/// The ratio of two contenders' speeds over paired rounds, first over second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The geometric mean of the rounds' ratios and its t interval.
    pub interval: Interval,
    sample: Sample,
}

/// Compares two series that were measured in the same rounds.
///
/// The logarithm of the ratio is taken within each round, so whatever a round does to both alike (heat,
/// neighbours, the kernel's mood) cancels; the mean of these differences gets a t interval with R − 1 degrees
/// of freedom and is taken back to a ratio. Paired differences in blocks: Box, Hunter & Hunter, *Statistics
/// for Experimenters*, 2nd ed. 2005, §3.2; logarithms for ratios of performance: Fleming & Wallace, CACM
/// 29(3), 1986.
///
/// # Errors
/// When the series differ in length, have fewer than two rounds or a value that is not finite and above zero,
/// or when `confidence` is not strictly between 0 and 1.
pub fn paired_log_ratio(first: &[f64], second: &[f64], confidence: f64) -> Result<Ratio, StatsError> {
    same_length(first.len(), second.len())?;
    let (a, b) = (logarithms(first)?, logarithms(second)?);
    let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    let sample = Sample::of("a paired ratio", &differences)?;
    Ok(Ratio { interval: sample.exponential_interval(confidence)?, sample })
}

impl Ratio {
    /// The interval that reaches `critical` standard errors to both sides, which the caller knows to cover with
    /// probability `confidence` (see [`crate::simultaneous`]).
    pub fn with_critical_value(&self, critical: f64, confidence: f64) -> Interval {
        self.sample.interval_of(critical, confidence).exp()
    }

    /// How much the ratio varies from round to round: the standard deviation of its logarithm, which is about its
    /// coefficient of variation. [`crate::planning`] asks for it.
    pub fn round_cv(&self) -> f64 {
        self.sample.standard_error * (self.rounds() as f64).sqrt()
    }

    /// Rounds that were compared.
    pub fn rounds(&self) -> usize {
        self.sample.degrees_of_freedom + 1
    }

    /// The p-value of "the true ratio lies outside 1/(1+`margin`) … 1+`margin`", by two one-sided tests; the
    /// two contenders are equivalent when it is at most α. This is the larger of the two tests' p-values, and
    /// it is at most α exactly when the 1 − 2α interval lies within the margin (Schuirmann, J. Pharmacokinet.
    /// Biopharm. 15, 1987).
    ///
    /// # Errors
    /// When `margin` is negative or not finite.
    pub fn equivalence_p(&self, margin: f64) -> Result<f64, StatsError> {
        not_negative("margin", margin)?;
        let (reach, df) = (margin.ln_1p(), self.sample.degrees_of_freedom);
        let not_slower = student::upper_tail_p(self.statistic(self.sample.mean + reach), df)?;
        let not_faster = student::upper_tail_p(self.statistic(reach - self.sample.mean), df)?;
        Ok(not_slower.max(not_faster))
    }

    /// A distance in standard errors. Rounds without any variation leave no doubt: the distance is infinite,
    /// or 0 for 0.
    fn statistic(&self, distance: f64) -> f64 {
        if distance == 0.0 { 0.0 } else { distance / self.sample.standard_error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student (1908): hours of additional sleep with two drugs, the same ten patients; as in R's data set
    /// `sleep`.
    const DRUG_1: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    const DRUG_2: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    fn sleep(confidence: f64) -> Ratio {
        paired_log_ratio(&DRUG_2.map(f64::exp), &DRUG_1.map(f64::exp), confidence).unwrap()
    }

    fn close(got: f64, expected: f64, tolerance: f64) {
        assert!((got - expected).abs() <= tolerance, "{got} instead of {expected}");
    }

    /// R's `t.test(extra ~ group, data = sleep, paired = TRUE)`: t = 4.0621, df = 9, 0.7001142
    /// to 2.4598858.
    #[test]
    fn paired_ratio_of_students_sleep_data() {
        let ratio = sleep(0.95);
        close(ratio.interval.estimate.ln(), 1.58, 1e-12);
        close(ratio.interval.low.ln(), 0.7001142, 5e-8);
        close(ratio.interval.high.ln(), 2.4598858, 5e-8);
        close(ratio.statistic(ratio.sample.mean), 4.0621, 5e-5);
        // R's `sd(extra[group == 2] - extra[group == 1])`.
        close(ratio.round_cv(), 1.229995, 5e-7);
        assert_eq!(ratio.rounds(), 10);
    }

    /// Schuirmann's definition: significant at α exactly when the 1 − 2α interval fits into the margin.
    #[test]
    fn equivalence_agrees_with_the_interval_inclusion_rule() {
        let ratio = sleep(0.95);
        for alpha in [0.01, 0.05, 0.2] {
            let margin = sleep(1.0 - 2.0 * alpha).interval.high - 1.0;
            close(ratio.equivalence_p(margin).unwrap(), alpha, 1e-9);
            assert!(ratio.equivalence_p(margin * 0.99).unwrap() > alpha);
        }
        assert!(ratio.equivalence_p(0.0).unwrap() > 0.5, "nothing is equivalent within a margin of nothing");
    }

    #[test]
    fn identical_and_proportional_series_leave_no_doubt() {
        let same = paired_log_ratio(&[3.0, 4.0, 5.0], &[3.0, 4.0, 5.0], 0.95).unwrap();
        assert_eq!((same.interval.low, same.interval.high), (1.0, 1.0));
        assert_eq!(same.equivalence_p(0.01), Ok(0.0));
        let twice = paired_log_ratio(&[2.0, 4.0, 8.0], &[1.0, 2.0, 4.0], 0.95).unwrap();
        close(twice.interval.estimate, 2.0, 1e-12);
        assert!(twice.equivalence_p(0.01).unwrap() > 0.999);
    }

    #[test]
    fn unusable_pairs_are_refused() {
        let unequal = paired_log_ratio(&[1.0, 2.0], &[1.0], 0.95);
        assert_eq!(unequal, Err(StatsError::UnequalLengths { first: 2, second: 1 }));
        assert!(matches!(paired_log_ratio(&[1.0], &[1.0], 0.95), Err(StatsError::TooFew { needed: 2, .. })));
        assert!(matches!(
            paired_log_ratio(&[1.0, -2.0], &[1.0, 1.0], 0.95),
            Err(StatsError::NotPositive { .. })
        ));
    }
}
