//! The machine's own speed beside each window: how it relates to the rest of a run, and which windows were outliers.

use crate::error::{StatsError, at_least, logarithms, same_length};
use crate::robust::median;

/// Normal deviations of a robust scale beyond which a speed is an outlier (Iglewicz and Hoaglin 1993).
const OUTLIER_DEVIATIONS: f64 = 3.5;
/// A speed that differs by less than this from the usual one is none, however steady the machine is.
const OUTLIER_FLOOR: f64 = 0.03;
/// The standard deviation of a normal distribution over its median absolute deviation.
const NORMAL_MAD: f64 = 1.482_602_218_505_602;

/// The speed of each window relative to the median window, 1 being as fast: the geometric mean over the pieces of work, so
/// that none counts for more because it takes longer. `times[w]` are window `w`'s times, each piece at the same place.
///
/// # Errors
/// When there is no window, a window has other pieces than the first, or a time is not positive.
pub fn relative_speeds(times: &[Vec<f64>]) -> Result<Vec<f64>, StatsError> {
    let pieces = times.first().map_or(0, Vec::len);
    at_least("the machine's speed", 1, pieces)?;
    times.iter().try_for_each(|window| same_length(pieces, window.len()))?;
    let mut logs = vec![0.0; times.len()];
    for piece in 0..pieces {
        let own = logarithms(&times.iter().map(|window| window[piece]).collect::<Vec<_>>())?;
        let usual = median(&own)?;
        logs.iter_mut().zip(own).for_each(|(sum, log)| *sum += usual - log);
    }
    Ok(logs.into_iter().map(|sum| (sum / pieces as f64).exp()).collect())
}

/// Windows that ran on a machine that was much faster or slower than usual, by the median and the median absolute
/// deviation of the log speeds.
///
/// # Errors
/// When there is no speed, or one is not positive.
pub fn outliers(speeds: &[f64]) -> Result<Vec<bool>, StatsError> {
    let logs = logarithms(speeds)?;
    let usual = median(&logs)?;
    let away: Vec<f64> = logs.iter().map(|log| (log - usual).abs()).collect();
    let limit = (OUTLIER_DEVIATIONS * NORMAL_MAD * median(&away)?).max(OUTLIER_FLOOR.ln_1p());
    Ok(away.into_iter().map(|away| away > limit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_slows_by_a_fifth_is_seen_in_every_piece() {
        let times =
            vec![vec![1.0, 2.0, 5.0], vec![1.0, 2.0, 5.0], vec![1.25, 2.5, 6.25], vec![1.0, 2.0, 5.0]];
        let speeds = relative_speeds(&times).expect("times");
        assert!((speeds[2] - 0.8).abs() < 1e-12 && speeds[0] == 1.0, "{speeds:?}");
        assert_eq!(outliers(&speeds), Ok(vec![false, false, true, false]));
        // One piece alone tells a third of it.
        let speeds = relative_speeds(&[vec![1.0, 1.0, 1.0], vec![1.0, 1.0, 1.0], vec![1.0, 8.0, 1.0]]);
        assert!((speeds.expect("times")[2] - 0.5).abs() < 1e-12);
        assert!(relative_speeds(&[]).is_err() && relative_speeds(&[vec![1.0], vec![0.0]]).is_err());
        assert!(relative_speeds(&[vec![1.0], vec![1.0, 2.0]]).is_err());
    }

    #[test]
    fn a_steady_machine_has_no_outliers_and_a_restless_one_only_far_ones() {
        assert_eq!(outliers(&[1.0, 1.001, 0.999, 1.02]), Ok(vec![false; 4]));
        let restless = [0.9, 1.1, 1.0, 0.95, 1.05, 0.6];
        assert_eq!(outliers(&restless), Ok(vec![false, false, false, false, false, true]));
        assert!(outliers(&[1.0, f64::NAN, 1.0]).is_err() && outliers(&[]).is_err());
    }
}
