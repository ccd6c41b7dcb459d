//! How sure a rank is: bootstrap intervals of every contender's place.

use rand::{Rng, RngExt as _};

use crate::StatsError;
use crate::error::{at_least, logarithms, open_unit, same_length};

/// A contender's place, 1 being the fastest, and the range of places that resampled rounds give it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankInterval {
    /// Place by the geometric mean over all rounds.
    pub estimate: usize,
    /// Best plausible place.
    pub low: usize,
    /// Worst plausible place.
    pub high: usize,
    /// Share of the resamples that the range is meant to hold.
    pub confidence: f64,
}

/// Rank intervals by the block bootstrap: whole rounds are drawn with replacement, so what a round did to all
/// contenders stays together; contenders are ranked by geometric mean in each of `resamples` draws; the
/// interval is the central `confidence` of a contender's ranks. Answers in the order of `series`, one series
/// of per-round speeds per contender.
///
/// The bootstrap's ranks are indicative, not a test: contenders that truly tie swap places less often in
/// resamples than in new experiments, and few rounds make the intervals too short (Hall & Miller, Ann.
/// Statist. 37, 2009). Tiers are decided by [`crate::tiers`] alone.
///
/// # Errors
/// When there are no contenders, fewer than two rounds, no resamples, series of unequal length or a value
/// that is not finite and above zero, or when `confidence` is not strictly between 0 and 1.
pub fn rank_intervals<R: Rng + ?Sized>(
    series: &[Vec<f64>],
    confidence: f64,
    resamples: usize,
    rng: &mut R,
) -> Result<Vec<RankInterval>, StatsError> {
    open_unit("confidence", confidence)?;
    at_least("a ranking", 1, series.len())?;
    at_least("a bootstrap", 1, resamples)?;
    let logs = series.iter().map(|s| logarithms(s)).collect::<Result<Vec<_>, _>>()?;
    let rounds = logs[0].len();
    at_least("a bootstrap over rounds", 2, rounds)?;
    logs.iter().try_for_each(|s| same_length(rounds, s.len()))?;

    let mut drawn: Vec<Vec<usize>> = vec![Vec::with_capacity(resamples); logs.len()];
    for _ in 0..resamples {
        let draw: Vec<usize> = (0..rounds).map(|_| rng.random_range(0..rounds)).collect();
        drawn.iter_mut().zip(ranks(&logs, &draw)).for_each(|(ranks, rank)| ranks.push(rank));
    }
    let all: Vec<usize> = (0..rounds).collect();
    let interval = |(estimate, ranks): (usize, Vec<usize>)| central(estimate, ranks, confidence);
    Ok(ranks(&logs, &all).into_iter().zip(drawn).map(interval).collect())
}

/// Each contender's place over the given rounds; equal sums share the better place.
fn ranks(logs: &[Vec<f64>], rounds: &[usize]) -> Vec<usize> {
    let sums: Vec<f64> = logs.iter().map(|s| rounds.iter().map(|&r| s[r]).sum()).collect();
    sums.iter().map(|mine| 1 + sums.iter().filter(|other| *other > mine).count()).collect()
}

/// The central `confidence` of the drawn ranks, extended to the estimate where resampling left it outside.
fn central(estimate: usize, mut ranks: Vec<usize>, confidence: f64) -> RankInterval {
    ranks.sort_unstable();
    let last = ranks.len() - 1;
    let cut = ((1.0 - confidence) / 2.0 * ranks.len() as f64).floor() as usize;
    let (low, high) = (ranks[cut.min(last)], ranks[last - cut.min(last)]);
    RankInterval { estimate, low: low.min(estimate), high: high.max(estimate), confidence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng as _;

    fn places(series: &[Vec<f64>], seed: u64) -> Vec<(usize, usize, usize)> {
        let intervals = rank_intervals(series, 0.95, 2000, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
        intervals.iter().map(|i| (i.low, i.estimate, i.high)).collect()
    }

    #[test]
    fn clear_winners_are_sure_and_close_rivals_are_not() {
        let slow = vec![50.0, 51.0, 49.0, 50.0, 52.0, 50.5];
        let one = vec![100.0, 104.0, 98.0, 101.0, 97.0, 103.0];
        let two = vec![101.0, 102.0, 99.0, 99.5, 98.5, 102.5];
        assert_eq!(places(&[slow, one, two], 1), [(3, 3, 3), (1, 1, 2), (1, 2, 2)]);
    }

    #[test]
    fn what_a_round_does_to_everybody_does_not_blur_the_ranks() {
        // The second is 1 % slower in every round, while rounds differ by a factor of two.
        let first = vec![100.0, 200.0, 130.0, 160.0, 110.0];
        let second = first.iter().map(|v| v * 0.99).collect();
        assert_eq!(places(&[first, second], 2), [(1, 1, 1), (2, 2, 2)]);
    }

    #[test]
    fn the_same_seed_gives_the_same_intervals() {
        let series = [vec![1.0, 1.3, 0.9, 1.1], vec![1.1, 1.0, 1.2, 0.95], vec![1.05, 1.1, 1.0, 1.02]];
        assert_eq!(places(&series, 7), places(&series, 7));
    }

    #[test]
    fn unusable_input_is_refused() {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        assert!(rank_intervals(&[], 0.95, 10, &mut rng).is_err());
        assert!(rank_intervals(&[vec![1.0]], 0.95, 10, &mut rng).is_err());
        assert!(rank_intervals(&[vec![1.0, 2.0], vec![1.0]], 0.95, 10, &mut rng).is_err());
        assert!(rank_intervals(&[vec![1.0, 2.0]], 0.95, 0, &mut rng).is_err());
    }
}
