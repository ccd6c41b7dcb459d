//! Confidence intervals for one series: of its mean, and of its geometric mean.

use crate::error::{at_least, logarithms};
use crate::{StatsError, student};

/// The logarithm of the largest number, or of one over the smallest, at which an interval ends.
const MOST_LOG: f64 = 345.0;

/// An estimate with the range that covers the true value with a stated probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The best single guess.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// How often, over repetitions of the whole experiment, such an interval covers the truth: 0.95 for 95 %.
    pub confidence: f64,
}

impl Interval {
    /// Whether `value` lies inside; the ends belong to the interval.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The part of an interval of a ratio that lies beyond a margin on the side of its estimate, for a ratio that was shown in another way to lie
    /// there: both statements hold together (Guilbaud, Biometrical J. 50, 2008).
    #[must_use]
    pub fn beyond(self, margin: f64) -> Self {
        let (least, most) = (1.0 + margin, 1.0 / (1.0 + margin));
        if self.estimate > 1.0 {
            Self { low: self.low.max(least), ..self }
        } else {
            Self { high: self.high.min(most), ..self }
        }
    }

    /// An interval of a logarithm, on the original scale. One that covers everything ends where numbers, and the quotient of two, are
    /// still finite.
    pub(crate) fn exp(self) -> Self {
        let finite = |log: f64| log.clamp(-MOST_LOG, MOST_LOG).exp();
        Self { estimate: finite(self.estimate), low: finite(self.low), high: finite(self.high), ..self }
    }

    /// For an interval of a positive quantity: by what fraction the ends differ from the middle on the
    /// logarithmic scale, √(high / low) − 1. This is the ± of "78.0 k ± 1.2 %".
    pub fn relative_half_width(&self) -> f64 {
        (self.high / self.low).sqrt() - 1.0
    }
}

/// Mean and standard error of a sample, from which every t interval here is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub(crate) mean: f64,
    pub(crate) standard_error: f64,
    pub(crate) degrees_of_freedom: usize,
}

impl Sample {
    /// Summarises at least two values, which the caller has found to be finite.
    pub(crate) fn of(what: &'static str, values: &[f64]) -> Result<Self, StatsError> {
        at_least(what, 2, values.len())?;
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let standard_error = (squares / (n - 1.0) / n).sqrt();
        Ok(Self { mean, standard_error, degrees_of_freedom: values.len() - 1 })
    }

    /// The variance of a single value.
    pub(crate) fn variance(&self) -> f64 {
        self.standard_error.powi(2) * (self.degrees_of_freedom + 1) as f64
    }

    /// mean ± t* · standard error.
    pub(crate) fn interval(&self, confidence: f64) -> Result<Interval, StatsError> {
        let critical = student::critical_value(confidence, self.degrees_of_freedom)?;
        Ok(self.interval_of(critical, confidence))
    }

    /// mean ± `critical` · standard error.
    pub(crate) fn interval_of(&self, critical: f64, confidence: f64) -> Interval {
        let reach = critical * self.standard_error;
        Interval { estimate: self.mean, low: self.mean - reach, high: self.mean + reach, confidence }
    }

    /// The interval of a sample of logarithms, on the original scale.
    pub(crate) fn exponential_interval(&self, confidence: f64) -> Result<Interval, StatsError> {
        Ok(self.interval(confidence)?.exp())
    }
}

/// The interval of a geometric mean: the t interval of the logarithms, taken back to the original scale.
///
/// This is how the throughput of one contender over restarts is reported. The logarithm makes a factor of 1.1
/// up and down count the same, and keeps the lower end above zero.
///
/// # Errors
/// When there are fewer than two values, one is not finite and above zero, or `confidence` is not strictly
/// between 0 and 1.
pub fn geometric_mean_interval(values: &[f64], confidence: f64) -> Result<Interval, StatsError> {
    Sample::of("an interval of a geometric mean", &logarithms(values)?)?.exponential_interval(confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student (1908), "The probable error of a mean", Biometrika 6:1–25: additional hours of sleep, drug 2
    /// less drug 1. The interval is that of R's `t.test(extra ~ group, data = sleep, paired = TRUE)`.
    const SLEEP_GAIN_HOURS: [f64; 10] = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];

    fn close(got: f64, expected: f64, tolerance: f64) {
        assert!((got - expected).abs() <= tolerance, "{got} instead of {expected}");
    }

    #[test]
    fn an_interval_that_covers_everything_has_ends_and_a_width() {
        let all = Interval { estimate: 0.0, low: -1e4, high: 1e4, confidence: 0.95 }.exp();
        assert!(all.low > 0.0 && all.high.is_finite() && all.relative_half_width().is_finite(), "{all:?}");
    }

    #[test]
    fn the_interval_of_students_sleep_data_on_the_logarithmic_scale() {
        let values = SLEEP_GAIN_HOURS.map(f64::exp);
        let i = geometric_mean_interval(&values, 0.95).unwrap();
        close(i.estimate.ln(), 1.58, 1e-12);
        close(i.low.ln(), 0.7001142, 5e-8);
        close(i.high.ln(), 2.4598858, 5e-8);
        close(i.relative_half_width().ln_1p(), (2.4598858 - 0.7001142) / 2.0, 5e-8);
    }

    #[test]
    fn unusable_series_are_refused() {
        let alone = geometric_mean_interval(&[1.0], 0.95);
        let what = "an interval of a geometric mean";
        assert_eq!(alone, Err(StatsError::TooFew { what, needed: 2, got: 1 }));
        let zero = geometric_mean_interval(&[1.0, 2.0, 0.0], 0.95);
        assert_eq!(zero, Err(StatsError::NotPositive { index: 2, value: 0.0 }));
    }
}
