//! When a server is warm, told by the rates of slices of load (docs/method/carousel.md#warm-up).

use assay_model::record::Warmup;

/// Length of one slice of the warm-up, in seconds.
pub(super) const WARMUP_SLICE_S: f64 = 0.25;
/// A rate that is this much higher than it was a second before shows that the server is still warming up, where slices do not vary.
const WARMUP_GAIN: f64 = 1.03;
/// Where they do, a gain must stand out from that by so many of its own standard errors: one in fifteen does by chance.
const STANDARD_ERRORS: f64 = 1.5;
/// A gain above this is none of chance: slices of a machine that is fit to measure do not vary so much, and of a few slices the
/// variation is not well known.
const MOST_BY_CHANCE: f64 = 1.15;
/// A quarter of normal numbers with a standard deviation of 1 are no further from 0.
const QUARTILE_OF_NORMAL: f64 = 0.3186;
/// Slices whose mean is compared: one alone is too noisy.
pub(super) const SMOOTHED_SLICES: usize = 2;
/// Slices back to which it is compared: a second, in which a slow gain adds up to one that can be seen.
const SLICES_BACK: usize = 4;
/// The fewest slices by which a warm-up can be judged.
pub(super) const LEAST_SLICES: usize = SMOOTHED_SLICES + SLICES_BACK;
/// A server is not warm below this share of a rate that it once had under the same load, whatever its slices look like: a compiler pauses
/// between its tiers, and no machine that is fit to measure is twice as slow as before.
const LEAST_SHARE: f64 = 0.5;

/// Whether the rate over the latest slices is no longer higher than it was a second earlier, as far as slices can tell.
pub(super) fn has_settled(per_second: &[f64]) -> bool {
    let mean = |to: usize| {
        let slices = &per_second[to - SMOOTHED_SLICES..to];
        slices.iter().sum::<f64>() / SMOOTHED_SLICES as f64
    };
    let n = per_second.len();
    n >= LEAST_SLICES && mean(n) <= mean(n - SLICES_BACK) * gain_that_shows(per_second)
}

/// The least ratio of two means of slices that is a gain and no chance.
fn gain_that_shows(slices: &[f64]) -> f64 {
    // The variance of the difference of two means of two slices is that of one slice.
    let standard_error = variation(slices) * (2.0 / SMOOTHED_SLICES as f64).sqrt();
    (STANDARD_ERRORS * standard_error).exp().clamp(WARMUP_GAIN, MOST_BY_CHANCE)
}

/// The standard deviation of the logarithms of slices about whatever smooth course they take: second differences know nothing of a
/// steady rise, and the quarter of them that is smallest nothing of its beginning.
fn variation(slices: &[f64]) -> f64 {
    let logs: Vec<f64> = slices.iter().map(|rate| rate.max(1.0).ln()).collect();
    let mut bends: Vec<f64> = logs.windows(3).map(|of| (of[0] - 2.0 * of[1] + of[2]).abs()).collect();
    bends.sort_by(f64::total_cmp);
    // The variance of 1, −2, 1 times independent numbers is six times theirs.
    bends.get(bends.len() / 4).map_or(0.0, |quartile| quartile / 6.0_f64.sqrt() / QUARTILE_OF_NORMAL)
}

/// The mean rate of the last slices; that of all where there are no more than are smoothed.
pub(crate) fn rate_at_the_end(slices: &[f64]) -> f64 {
    let last = &slices[slices.len().saturating_sub(SMOOTHED_SLICES)..];
    last.iter().sum::<f64>() / last.len().max(1) as f64
}

/// Whether the first slices are as fast as those after them: a server that gets warm by load is far slower at first. Answers to so many
/// requests `in_flight` may come in waves, of which a slice has one more or one less by chance.
pub(super) fn is_even(slices: &[f64], in_flight: u32) -> bool {
    let Some((first, later)) = slices.split_first() else { return false };
    let wave = f64::from(in_flight) / WARMUP_SLICE_S;
    later.len() >= SMOOTHED_SLICES && rate_at_the_end(later) <= first * MOST_BY_CHANCE + wave
}

/// Whether the rate at the end of these slices is far below one that the server once had under the same load.
pub(super) fn is_far_below(best: f64, slices: &[f64]) -> bool {
    rate_at_the_end(slices) < LEAST_SHARE * best
}

/// Slices before the rate was what it was in the end: as much load later lives get. All of them where it never settled.
pub(super) fn slices_needed(warmup: &Warmup) -> usize {
    let slices = &warmup.per_second;
    if !warmup.settled || slices.len() <= SMOOTHED_SLICES { slices.len() } else { first_at_the_end(slices) }
}

/// The first of more than two slices from which on the rate was what it was in the end.
pub(super) fn first_at_the_end(slices: &[f64]) -> usize {
    let mean =
        |from: usize| slices[from..from + SMOOTHED_SLICES].iter().sum::<f64>() / SMOOTHED_SLICES as f64;
    let last = slices.len() - SMOOTHED_SLICES;
    let (end, gain) = (mean(last), gain_that_shows(slices));
    (0..last).find(|&from| mean(from) * gain >= end).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    #[test]
    fn a_server_has_settled_when_it_is_no_faster_than_a_second_before() {
        assert!(has_settled(&[100.0; 6]) && !has_settled(&[100.0; 5]));
        let slow = |time_constant_s: f64, n: usize| -> Vec<f64> {
            (0..n).map(|i| 1.0 - 0.5 * (-(i as f64) * WARMUP_SLICE_S / time_constant_s).exp()).collect()
        };
        // From slice to slice it gains less than the threshold from the beginning, over a second it does not.
        assert!(!has_settled(&slow(10.0, 8)), "71 % of its speed");
        assert!(has_settled(&slow(0.1, 8)));
        assert!(has_settled(&slow(10.0, 200)));
    }

    /// After how many slices a server is taken for warm, of 40 at most, whose rate is `rate(t)` after `t` seconds of load and whose
    /// slices vary by a tenth.
    fn slices_until_warm(rate: impl Fn(f64) -> f64, seed: u64) -> usize {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let mut slices = Vec::new();
        while slices.len() < 40 && !has_settled(&slices) {
            let noise: f64 = (0..12).map(|_| chance.random_range(-0.5..0.5)).sum();
            slices.push(1e5 * rate(slices.len() as f64 * WARMUP_SLICE_S) * (0.1 * noise).exp());
        }
        slices.len()
    }

    #[test]
    fn chance_is_taken_for_no_gain_and_a_gain_for_no_chance() {
        let flat: Vec<usize> = (0..400).map(|seed| slices_until_warm(|_| 1.0, seed)).collect();
        let at_once = flat.iter().filter(|slices| **slices == LEAST_SLICES).count();
        assert!(at_once > 320, "{at_once} of 400 are warm at once");
        assert!(flat.iter().all(|slices| *slices < 20), "{:?}", flat.iter().max());
        let compiled = |t: f64| if t < 1.0 { 0.3 } else { 1.0 };
        let growing = |t: f64| 0.25 + 0.75 * (t / 3.0).min(1.0);
        let early = |rate: &dyn Fn(f64) -> f64, least: usize| {
            (0..400).filter(|seed| slices_until_warm(rate, *seed) < least).count()
        };
        let too_early = [early(&compiled, 7), early(&growing, 9)];
        assert!(too_early[0] == 0 && too_early[1] < 8, "{too_early:?} of 400");
    }

    #[test]
    fn later_lives_get_the_load_after_which_the_first_was_what_it_was_in_the_end() {
        let needed = |per_second: &[f64], settled: bool| {
            let (workload, per_second) = ("hello".to_owned(), per_second.to_vec());
            slices_needed(&Warmup { workload, per_second, settled, counted: None })
        };
        assert_eq!(needed(&[100.0; 6], true), 0, "a compiled server");
        assert_eq!(needed(&[50.0, 70.0, 90.0, 99.0, 100.0, 100.0, 101.0], true), 3);
        assert_eq!(needed(&[10.0, 20.0, 40.0, 80.0, 160.0, 320.0], false), 6, "it never settled");
        assert_eq!((needed(&[], true), needed(&[1.0], true)), (0, 1));
    }
}
