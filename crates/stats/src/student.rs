//! Student's t distribution: critical values and tail probabilities.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::StatsError;
use crate::error::open_unit;

/// From how many degrees of freedom on the distribution is taken for the normal one, from which its critical values then differ by less
/// than a hundred-thousandth. The inverse of the incomplete beta function is wrong from ten million on, and later never ends.
const AS_GOOD_AS_NORMAL: f64 = 1e5;

/// The critical value t* of a two-sided interval: P(|T| ≤ t*) = `confidence`.
///
/// # Errors
/// [`StatsError::OutOfRange`] when `confidence` is not strictly between 0 and 1 or there are no degrees of
/// freedom.
pub(crate) fn critical_value(confidence: f64, degrees_of_freedom: usize) -> Result<f64, StatsError> {
    critical_value_of(confidence, degrees_of_freedom as f64)
}

/// The critical value for the fractional degrees of freedom of an approximation.
pub(crate) fn critical_value_of(confidence: f64, degrees_of_freedom: f64) -> Result<f64, StatsError> {
    open_unit("confidence", confidence)?;
    // From the tail's probability rather than its complement, which loses digits when confidence is close to 1.
    let tail = (1.0 - confidence) / 2.0;
    Ok(match degrees_of_freedom >= AS_GOOD_AS_NORMAL {
        true => -Normal::standard().inverse_cdf(tail),
        false => -fractional(degrees_of_freedom)?.inverse_cdf(tail),
    })
}

/// P(T ≥ `t`), the p-value of a one-sided test.
///
/// # Errors
/// [`StatsError::OutOfRange`] when there are no degrees of freedom.
pub(crate) fn upper_tail_p(t: f64, degrees_of_freedom: usize) -> Result<f64, StatsError> {
    Ok(distribution(degrees_of_freedom)?.sf(t))
}

fn distribution(degrees_of_freedom: usize) -> Result<StudentsT, StatsError> {
    fractional(degrees_of_freedom as f64)
}

fn fractional(value: f64) -> Result<StudentsT, StatsError> {
    let none = |_| StatsError::OutOfRange { name: "degrees of freedom", range: "at least 1", value };
    StudentsT::new(0.0, 1.0, value).map_err(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, "Critical Values of the Student's-t
    /// Distribution".
    #[test]
    fn critical_values_are_those_of_the_nist_table() {
        let table = [
            (0.90, 1, 6.314),
            (0.95, 4, 2.776),
            (0.95, 9, 2.262),
            (0.95, 19, 2.093),
            (0.98, 4, 3.747),
            (0.99, 9, 3.250),
            (0.998, 4, 7.173),
            (0.998, 9, 4.297),
            (0.95, 100, 1.984),
        ];
        for (confidence, df, expected) in table {
            let t = critical_value(confidence, df).unwrap();
            assert!((t - expected).abs() < 6e-4, "t({confidence}, {df}) = {t}, not {expected}");
        }
    }

    #[test]
    fn very_many_degrees_of_freedom_give_the_normal_distribution() {
        let almost = critical_value_of(0.95, AS_GOOD_AS_NORMAL - 1.0).unwrap();
        for df in [AS_GOOD_AS_NORMAL, 1e7, 8.76e8, 1e300, f64::INFINITY] {
            let t = critical_value_of(0.95, df).unwrap();
            assert!((t - 1.959_964).abs() < 1e-6, "{df}: {t}");
            assert!((t / almost - 1.0).abs() < 2e-5, "no step: {t} after {almost}");
            assert!((critical_value_of(0.6, df).unwrap() - 0.841_621).abs() < 1e-6, "{df}");
        }
    }

    #[test]
    fn p_values_invert_critical_values_far_into_the_tail() {
        for df in [1, 4, 9, 19, 200] {
            for alpha in [0.5, 0.05, 1e-3, 1e-5] {
                let p = 2.0 * upper_tail_p(critical_value(1.0 - alpha, df).unwrap(), df).unwrap();
                assert!((p / alpha - 1.0).abs() < 1e-6, "df {df}: {p} instead of {alpha}");
            }
        }
    }

    #[test]
    fn impossible_parameters_are_refused() {
        assert!(critical_value(1.0, 5).is_err() && critical_value(0.0, 5).is_err());
        assert!(critical_value(f64::NAN, 5).is_err() && critical_value(0.95, 0).is_err());
    }
}
