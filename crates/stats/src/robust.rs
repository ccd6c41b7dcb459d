//! Summaries of a series in one number: median, geometric and trimmed mean, and a robust location.

use crate::StatsError;
use crate::error::{at_least, finite, logarithms};

/// What a median of absolute deviations is multiplied by to estimate a normal distribution's standard deviation.
const NORMAL_CONSISTENT: f64 = 1.4826;
/// A scale below this is rounding, and nothing is an outlier by it.
const LEAST_SCALE: f64 = 1e-9;
/// Most steps of an iteration that converges within ten or so.
const MOST_STEPS: usize = 50;
/// An iteration has come to rest when it moves by no more than this.
const AT_REST: f64 = 1e-10;

/// The middle value, or the mean of the two middle ones.
///
/// # Errors
/// When there are no values or one is not finite.
pub fn median(values: &[f64]) -> Result<f64, StatsError> {
    at_least("a median", 1, values.len())?;
    finite(values)?;
    Ok(middle(&mut values.to_vec()).unwrap_or(f64::NAN))
}

/// The median of values that are known to be finite; sorts them.
pub(crate) fn middle(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// Huber's tuning constant for 95 % efficiency at the normal distribution (Ann. Math. Statist. 35, 1964).
pub(crate) const CLIP: f64 = 1.345;

/// ψ(r) / r of Huber's function: 1, and less for a residual beyond [`CLIP`] times the scale.
pub(crate) fn huber_weight(residual: f64, scale: f64) -> f64 {
    let clip = CLIP * scale;
    if residual.abs() <= clip { 1.0 } else { clip / residual.abs() }
}

/// Huber's M-estimate of location, with its variance; `None` without values. Every value must be finite.
pub(crate) fn huber(values: &[f64]) -> Option<(f64, f64)> {
    let mut location = middle(&mut values.to_vec())?;
    let mut deviations: Vec<f64> = values.iter().map(|value| (value - location).abs()).collect();
    let scale = spread_of(&mut deviations);
    for _ in 0..MOST_STEPS {
        let weights = values.iter().map(|value| huber_weight(value - location, scale));
        let (sum, all) =
            values.iter().zip(weights).fold((0.0, 0.0), |(sum, all), (v, w)| (sum + v * w, all + w));
        let moved = (sum / all - location).abs();
        location = sum / all;
        if moved < AT_REST {
            break;
        }
    }
    let n = values.len() as f64;
    let clipped = |value: &f64| (value - location) * huber_weight(value - location, scale);
    let squares: f64 = values.iter().map(|value| clipped(value).powi(2)).sum();
    let unclipped =
        values.iter().filter(|value| (*value - location).abs() <= CLIP * scale).count().max(1) as f64;
    Some((location, if n > 1.0 { squares / (n - 1.0) / n * (n / unclipped).powi(2) } else { 0.0 }))
}

/// Robust standard deviation from absolute deviations: by the middle one, or by the mean one where more than half are zero;
/// infinite where nothing deviates, so that nothing is an outlier.
pub fn spread_of(deviations: &mut [f64]) -> f64 {
    let mean = deviations.iter().sum::<f64>() / deviations.len().max(1) as f64;
    let middle = middle(deviations).unwrap_or(0.0);
    let scale = if middle > LEAST_SCALE { NORMAL_CONSISTENT * middle } else { mean };
    if scale > LEAST_SCALE { scale } else { f64::INFINITY }
}

/// The number whose logarithm is the mean of the logarithms; of a single value, exactly that.
///
/// # Errors
/// When there are no values or one is not finite and above zero.
pub fn geometric_mean(values: &[f64]) -> Result<f64, StatsError> {
    at_least("a geometric mean", 1, values.len())?;
    match (logarithms(values)?.as_slice(), values) {
        (_, [only]) => Ok(*only),
        (logs, _) => Ok((logs.iter().sum::<f64>() / logs.len() as f64).exp()),
    }
}

/// The mean of all but the best and the worst value: the framework showdown's figure, printed beside the
/// interval and never instead of it.
///
/// # Errors
/// When there are fewer than three values or one is not finite.
pub fn trimmed_mean(values: &[f64]) -> Result<f64, StatsError> {
    at_least("a trimmed mean", 3, values.len())?;
    finite(values)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let kept = &sorted[1..sorted.len() - 1];
    Ok(kept.iter().sum::<f64>() / kept.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even_counts() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 3.0, 2.0])), (Ok(2.0), Ok(2.5)));
        assert!(median(&[]).is_err() && median(&[f64::NAN]).is_err());
    }

    #[test]
    fn geometric_mean_of_reciprocals_is_one() {
        assert_eq!(geometric_mean(&[7.0]).map(|mean| (mean * 1e12).round()), Ok(7e12));
        assert!((geometric_mean(&[0.25, 8.0, 0.5]).unwrap() - 1.0).abs() < 1e-15);
        assert!(geometric_mean(&[]).is_err() && geometric_mean(&[1.0, 0.0]).is_err());
    }

    #[test]
    fn trimmed_mean_drops_exactly_one_value_at_each_end() {
        assert_eq!(trimmed_mean(&[1000.0, 10.0, 0.0, 11.0, 12.0]), Ok(11.0));
        assert_eq!(trimmed_mean(&[5.0, 5.0, 2.0]), Ok(5.0));
        assert!(trimmed_mean(&[1.0, 2.0]).is_err());
    }

    #[test]
    fn a_robust_location_ignores_what_is_far_off_and_is_the_mean_where_nothing_is() {
        let (location, variance) = huber(&[2.0, 2.0, 3.0, 4.0, 4.0]).unwrap();
        assert!((location - 3.0).abs() < 1e-9 && (variance - 0.2).abs() < 1e-9, "{location} {variance}");
        let (location, _) = huber(&[1.0, 2.0, 3.0, 4.0, 5000.0]).unwrap();
        assert!((2.9..4.0).contains(&location), "{location}");
        assert_eq!(huber(&[7.0, 7.0, 7.0]), Some((7.0, 0.0)));
        assert_eq!((huber(&[7.0]), huber(&[])), (Some((7.0, 0.0)), None));
    }
}
