//! Comparison of one of several that do the same at the same time with the others: an A/A test that names which one is odd.

use crate::ratio::paired_log_ratio;
use crate::robust::median;
use crate::{Interval, StatsError};

/// Pieces into which a series is cut whose neighbours are not independent: with ten to thirty, their means nearly are, and the interval is
/// hardly wider than with more (Schmeiser, Operations Research 30, 1982).
pub const BATCHES: usize = 10;

/// A figure of one over that of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beside {
    /// The ratio.
    pub ratio: Interval,
    /// Times at which both were there.
    pub times: usize,
}

/// The figure of `one` over that of the other where there are two, else over the median of all, so that one who is odd does not make the
/// others look odd. Each time has a figure of each, absent of one that was not there; they are paired by time. `None` for less than two.
///
/// # Errors
/// When a figure is not finite and above zero, or `confidence` is not strictly between 0 and 1.
pub fn beside(times: &[Vec<Option<f64>>], one: usize, confidence: f64) -> Result<Option<Beside>, StatsError> {
    let pair = |figures: &Vec<Option<f64>>| {
        let own = figures[one]?;
        let all: Vec<f64> = figures.iter().copied().flatten().collect();
        let other = figures.iter().enumerate().find_map(|(of, figure)| figure.filter(|_| of != one))?;
        Some((own, if all.len() == 2 { other } else { median(&all).ok()? }))
    };
    let (own, others): (Vec<f64>, Vec<f64>) = times.iter().filter_map(pair).unzip();
    if own.len() < 2 {
        return Ok(None);
    }
    let ratio = paired_log_ratio(&own, &others, confidence)?.interval;
    Ok(Some(Beside { ratio, times: own.len() }))
}

/// The sums of a series' [`BATCHES`] equal pieces in a row; what does not fill them up is left out at the end. `None` of a shorter one.
pub fn batches(counts: &[u64]) -> Option<Vec<u64>> {
    let length = counts.len() / BATCHES;
    let pieces = counts.chunks_exact(length.max(1)).take(BATCHES);
    (length > 0).then(|| pieces.map(|piece| piece.iter().sum()).collect())
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    #[test]
    fn a_series_is_cut_into_equal_pieces() {
        let counts: Vec<u64> = (0..23).collect();
        assert_eq!(batches(&counts), Some((0..10).map(|piece| 4 * piece + 1).collect()));
        assert_eq!(batches(&counts[..9]), None);
    }

    #[test]
    fn of_two_each_is_set_against_the_other_and_of_more_against_the_median() {
        let times = vec![vec![Some(2.0), Some(1.0)], vec![Some(4.0), Some(2.0)]];
        let is = |times: &[Vec<Option<f64>>], one, ratio: f64| {
            let found = beside(times, one, 0.95).unwrap().unwrap().ratio.estimate;
            assert!((found - ratio).abs() < 1e-12, "{found} instead of {ratio}");
        };
        is(&times, 0, 2.0);
        is(&times, 1, 0.5);
        let three = vec![vec![Some(1.0), Some(1.0), Some(3.0)]; 2];
        is(&three, 0, 1.0);
        is(&three, 2, 3.0);
        let once = vec![vec![Some(1.0), Some(2.0)], vec![Some(1.0), None]];
        assert_eq!(beside(&once, 0, 0.95).unwrap(), None);
    }

    /// Speeds of hosts that wander, each by itself: of a deviation in a slice of a tenth of a second six tenths are still there in
    /// the next.
    #[test]
    fn equals_that_wander_are_told_apart_no_more_often_than_is_said() {
        const RUNS: usize = 2000;
        let mut random = ChaCha8Rng::seed_from_u64(42);
        let mut told_apart = [0, 0];
        for _ in 0..RUNS {
            let series: Vec<Vec<u64>> = (0..2)
                .map(|_| {
                    let mut level = 0.0;
                    let mut next = || {
                        level = 0.6 * level + random.random_range(-0.08..0.08);
                        (10_000.0 * f64::exp(level)) as u64
                    };
                    (0..100).map(|_| next()).collect()
                })
                .collect();
            let times_of = |series: &[Vec<u64>]| -> Vec<Vec<Option<f64>>> {
                let at = |time: usize| series.iter().map(|host| Some(host[time] as f64)).collect();
                (0..series[0].len()).map(at).collect()
            };
            let cut: Vec<Vec<u64>> = series.iter().map(|host| batches(host).unwrap()).collect();
            for (count, series) in told_apart.iter_mut().zip([&cut, &series]) {
                let found = beside(&times_of(series), 0, 0.95).unwrap().unwrap();
                *count += usize::from(!found.ratio.contains(1.0));
            }
        }
        let [of_batches, of_slices] = told_apart.map(|count| count as f64 / RUNS as f64);
        assert!(of_batches <= 0.08, "{of_batches} of batches, whose neighbours are nearly independent");
        assert!(of_slices > 0.2, "{of_slices}: slices are no independent repetitions");
    }
}
