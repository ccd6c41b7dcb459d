//! Looking at the results after every round, and stopping when nothing is left to find out.
//!
//! A pair is settled when its interval has left the margin of a tie, or lies inside it. The intervals come from a
//! [`Boundary`] that was fixed before the first round and covers all looks together, so the decision to stop may depend
//! on them in any way: at whatever round the experiment ends, they still cover as they say, and the chance that any
//! pair is ever called distinct without being so is at most 1 − confidence.
//!
//! A contender may be left out once all its pairs are settled, to spend the rounds on others; its pairs keep what was
//! known then. Adding rounds beyond the planned number is not allowed for: plan for the most that the budget permits.

use crate::error::{at_least, not_negative};
use crate::ratio::paired_log_ratio;
use crate::simultaneous::Boundary;
use crate::tiers::{Call, call};
use crate::{Interval, StatsError};

/// What is known of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Shown to differ by more than the margin.
    Distinct,
    /// Shown to differ by less than the margin.
    Equivalent,
    /// Neither yet: another round may tell.
    Open,
}

/// A pair of contenders at a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Index of the contender above the fraction bar.
    pub first: usize,
    /// Index of the contender below it; greater than `first`.
    pub second: usize,
    /// Rounds in which both have a result.
    pub rounds: usize,
    /// The ratio of their speeds, to be reported if this look is the last one: it covers at every look together with those
    /// of all other pairs. `None` while so few rounds say nothing.
    pub ratio: Option<Interval>,
    /// What it shows.
    pub settled: Settled,
}

/// Looks at all pairs of `series`, one series of per-round speeds for each contender; a round without a result (void, or
/// left out) is `None`. `margin` is the largest difference that is none, 0.01 for 1 %.
///
/// Pairs come ordered (0,1), (0,2), …, (1,2), …. The boundary must be that of at least as many contenders.
///
/// # Errors
/// When there are no contenders, a value is not finite and above zero, or `margin` is negative or not finite.
pub fn look(series: &[Vec<Option<f64>>], margin: f64, boundary: &Boundary) -> Result<Vec<Look>, StatsError> {
    at_least("a look", 1, series.len())?;
    not_negative("margin", margin)?;
    let pairs = (0..series.len()).flat_map(|i| (i + 1..series.len()).map(move |j| (i, j)));
    pairs
        .map(|(first, second)| {
            let both = series[first].iter().zip(&series[second]);
            let (a, b): (Vec<f64>, Vec<f64>) = both.filter_map(|(a, b)| Some(((*a)?, (*b)?))).unzip();
            let ratio = repeated_interval(&a, &b, boundary)?;
            let settled = ratio.map_or(Settled::Open, |ratio| settled(&ratio, margin));
            Ok(Look { first, second, rounds: a.len(), ratio, settled })
        })
        .collect()
}

/// The interval of the ratio of two paired series at this look; `None` where the boundary allows no conclusion.
fn repeated_interval(a: &[f64], b: &[f64], boundary: &Boundary) -> Result<Option<Interval>, StatsError> {
    let Some(critical) = boundary.critical_value(a.len()) else { return Ok(None) };
    let ratio = paired_log_ratio(a, b, boundary.confidence())?;
    Ok(Some(ratio.with_critical_value(critical, boundary.confidence())))
}

/// What an interval of a ratio shows. Inside the margin is shown to be equivalent: the interval-inclusion form of two
/// one-sided tests (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987).
pub fn settled(ratio: &Interval, margin: f64) -> Settled {
    if call(ratio, margin) != Call::Tie {
        Settled::Distinct
    } else if ratio.low >= 1.0 / (1.0 + margin) && ratio.high <= 1.0 + margin {
        Settled::Equivalent
    } else {
        Settled::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: [f64; 6] = [200.0, 203.0, 198.0, 201.0, 199.5, 202.0];
    const SLOW: [f64; 6] = [100.0, 101.0, 99.5, 100.5, 99.8, 100.9];

    fn results(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    fn at(rounds: usize, boundary: &Boundary) -> Look {
        look(&[results(&FAST[..rounds]), results(&SLOW[..rounds])], 0.01, boundary).unwrap()[0]
    }

    #[test]
    fn a_great_difference_is_settled_early_and_nothing_is_said_too_early() {
        let boundary = Boundary::every_round(2, 40, 0.95).unwrap();
        assert_eq!((at(1, &boundary).ratio, at(1, &boundary).settled), (None, Settled::Open));
        assert_eq!(at(5, &boundary).settled, Settled::Distinct);
    }

    #[test]
    fn equals_are_settled_when_their_interval_fits_into_the_margin() {
        let boundary = Boundary::every_round(2, 6, 0.95).unwrap();
        let same = look(&[results(&SLOW), results(&SLOW.map(|v| v * 1.001))], 0.01, &boundary).unwrap();
        assert_eq!(same[0].settled, Settled::Equivalent);
        let narrow = look(&[results(&SLOW), results(&SLOW.map(|v| v * 1.001))], 0.0, &boundary).unwrap();
        assert_eq!(narrow[0].settled, Settled::Distinct, "without a margin every difference is one");
    }

    #[test]
    fn rounds_without_both_results_do_not_count() {
        let boundary = Boundary::every_round(3, 6, 0.95).unwrap();
        let mut gappy = results(&FAST);
        gappy[2] = None;
        let dropped = results(&SLOW[..3]);
        let looks = look(&[gappy, results(&SLOW), dropped], 0.01, &boundary).unwrap();
        let rounds: Vec<usize> = looks.iter().map(|look| look.rounds).collect();
        assert_eq!(rounds, [5, 2, 3]);
    }

    #[test]
    fn the_interval_is_wider_than_one_that_was_planned_for_this_round_alone() {
        let (once, every) = (Boundary::once(2, 6, 0.95).unwrap(), Boundary::every_round(2, 6, 0.95).unwrap());
        let [once, every] = [once, every].map(|boundary| at(6, &boundary).ratio.unwrap());
        assert!(every.low < once.low && once.high < every.high && every.confidence == 0.95);
        let beyond = Boundary::every_round(2, 5, 0.95).unwrap();
        assert_eq!(at(6, &beyond).settled, Settled::Open, "a round that was not planned settles nothing");
    }

    #[test]
    fn unusable_input_is_refused() {
        let boundary = Boundary::every_round(2, 6, 0.95).unwrap();
        assert!(look(&[], 0.01, &boundary).is_err());
        assert!(look(&[results(&FAST), results(&SLOW)], -1.0, &boundary).is_err());
        assert!(look(&[results(&FAST), results(&[0.0; 6])], 0.01, &boundary).is_err());
    }
}
