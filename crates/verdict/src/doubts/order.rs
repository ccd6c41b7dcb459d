//! Did the order matter? Two questions to the residuals of all contenders, answered by permutation (Fisher 1935; Edgington
//! and Onghena, Randomization Tests, 2007): does the place within a round tell the throughput, and does the round itself?
//!
//! The order is drawn anew in each round, so neither makes a comparison unfair. Both say that rates are less exact than
//! they could be, and why.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::Evidence;
use assay_model::record::{Record, Run};
use assay_model::rule::Rule;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;
use rand::seq::SliceRandom;

use crate::closed;
use crate::evidence::sample::samples;
use crate::evidence::window::DecodedRecord;

/// Rounds below which no permutation is rare enough.
const FEWEST_ROUNDS: usize = 4;
/// Permutations tried, besides the one that happened.
const PERMUTATIONS: u32 = 999;
/// Probability of such an effect by chance below which it is told: each run asks two such questions.
const RARE: f64 = 0.01;
/// Change of throughput from first to last that is worth telling, however sure it is.
const WORTH_TELLING: f64 = 0.01;

/// A window as the two questions need it.
#[derive(Clone, Copy, Debug)]
struct Point {
    round: usize,
    place: usize,
    /// Logarithm of its throughput over its contender's mean.
    log_ratio: f64,
}

/// The two checks; none where there are too few rounds to ask.
pub(crate) fn checks(evidence: &DecodedRecord<'_>) -> Vec<Check> {
    let (record, points) = (evidence.record, points(evidence));
    if record.rounds.len() < FEWEST_ROUNDS || points.is_empty() || was_split(record) {
        return Vec::new();
    }
    vec![place(&points, record.rounds.len(), record.seed), trend(&points, record.rounds.len(), record.seed)]
}

/// Whether rounds had groups: these were not dealt as whole rounds are, so there is nothing to deal again.
fn was_split(record: &Record) -> bool {
    record.rounds.iter().flat_map(|round| &round.runs).any(|run| run.group > 0)
}

/// Every contender in every cell in which it has a capacity in all rounds; under an offered rate throughput tells nothing.
fn points(evidence: &DecodedRecord<'_>) -> Vec<Point> {
    let record = evidence.record;
    let mut points = Vec::new();
    for cell in closed(record) {
        for sample in samples(evidence, &cell) {
            let Some(logs) =
                sample.rates_by_round().iter().map(|rate| Some((*rate)?.ln())).collect::<Option<Vec<f64>>>()
            else {
                continue;
            };
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            let place = |round: usize| {
                let is_its = |run: &Run| {
                    run.contender == sample.entry.identity.name && run.setting() == cell.setting()
                };
                record.rounds[round].runs.iter().position(is_its)
            };
            points.extend(logs.iter().enumerate().filter_map(|(round, log)| {
                Some(Point { round, place: place(round)?, log_ratio: log - mean })
            }));
        }
    }
    points
}

/// Within rounds: what a round does to all is taken out before places are compared.
fn place(points: &[Point], rounds: usize, seed: u64) -> Check {
    let means = round_means(points, rounds);
    let residuals: Vec<Point> = points
        .iter()
        .map(|point| Point { log_ratio: point.log_ratio - means[point.round], ..*point })
        .collect();
    let places = points.iter().map(|point| point.place + 1).max().unwrap_or(1);
    // Each round's places are dealt again, the same for all cells of it.
    let deal = |random: &mut ChaCha8Rng| -> Vec<Vec<usize>> {
        (0..rounds).map(|_| shuffled(places, random)).collect()
    };
    let slope_with = |dealt: &[Vec<usize>]| {
        slope(residuals.iter().map(|point| (dealt[point.round][point.place] as f64, point.log_ratio)))
    };
    let as_it_was: Vec<Vec<usize>> = vec![(0..places).collect(); rounds];
    let effect = slope_with(&as_it_was);
    let p = rarity(effect, seed, |random| slope_with(&deal(random)));
    let change = (effect * (places - 1) as f64).exp() - 1.0;
    verdict(Rule::Order, change, p)
}

/// Over rounds: what they did to all contenders.
fn trend(points: &[Point], rounds: usize, seed: u64) -> Check {
    let means = round_means(points, rounds);
    let slope_with =
        |order: &[usize]| slope(order.iter().zip(&means).map(|(&round, &mean)| (round as f64, mean)));
    let effect = slope_with(&(0..rounds).collect::<Vec<_>>());
    let p = rarity(effect, seed, |random| slope_with(&shuffled(rounds, random)));
    let change = (effect * (rounds - 1) as f64).exp() - 1.0;
    verdict(Rule::Trend, change, p)
}

fn verdict(rule: Rule, change_share: f64, p: f64) -> Check {
    let is_told = p <= RARE && change_share.abs() >= WORTH_TELLING;
    let outcome = if is_told { CheckOutcome::Warn } else { CheckOutcome::Pass };
    Check { rule, outcome, evidence: Evidence::Change { change_share, p } }
}

fn round_means(points: &[Point], rounds: usize) -> Vec<f64> {
    let mean = |round: usize| {
        let of: Vec<f64> = points.iter().filter(|p| p.round == round).map(|p| p.log_ratio).collect();
        of.iter().sum::<f64>() / of.len().max(1) as f64
    };
    (0..rounds).map(mean).collect()
}

fn shuffled(n: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(random);
    order
}

/// Least-squares slope; zero where x does not vary.
fn slope(points: impl Iterator<Item = (f64, f64)>) -> f64 {
    let points: Vec<(f64, f64)> = points.collect();
    let n = points.len().max(1) as f64;
    let (mean_x, mean_y) =
        (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let square: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    let product: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

/// Share of permutations, the one that happened among them, with an effect at least as great.
fn rarity(effect: f64, seed: u64, mut permuted: impl FnMut(&mut ChaCha8Rng) -> f64) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // Rounding must not make an equal effect a smaller one.
    let bar = effect.abs() * (1.0 - 1e-9);
    let as_great = (0..PERMUTATIONS).filter(|_| permuted(&mut random).abs() >= bar).count();
    (as_great + 1) as f64 / f64::from(PERMUTATIONS + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    /// Eight rounds of five contenders in random places; `effect` gives a window's logarithm from round and place.
    fn experiment(seed: u64, effect: impl Fn(usize, usize) -> f64) -> Vec<Point> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut points = Vec::new();
        for round in 0..8 {
            for place in shuffled(5, &mut random) {
                let noise = (random.next_u64() as f64 / u64::MAX as f64 - 0.5) * 0.02;
                points.push(Point { round, place, log_ratio: effect(round, place) + noise });
            }
        }
        points
    }

    #[test]
    fn a_tired_machine_is_found_out() {
        let tired = experiment(1, |_, place| -0.01 * place as f64);
        let check = place(&tired, 8, 7);
        assert_eq!(check.outcome, CheckOutcome::Warn, "{check:?}");
        assert!(
            matches!(check.evidence, Evidence::Change { change_share, .. } if (-0.05..-0.03).contains(&change_share)),
            "{check:?}"
        );
        assert_eq!(trend(&tired, 8, 7).outcome, CheckOutcome::Pass);
    }

    #[test]
    fn a_machine_that_warms_up_over_the_rounds_is_found_out() {
        let warming = experiment(2, |round, _| 0.01 * round as f64);
        assert_eq!(place(&warming, 8, 7).outcome, CheckOutcome::Pass);
        let check = trend(&warming, 8, 7);
        assert_eq!(check.outcome, CheckOutcome::Warn, "{check:?}");
        assert!(
            matches!(check.evidence, Evidence::Change { change_share, .. } if (0.07..0.08).contains(&change_share)),
            "{check:?}"
        );
    }

    #[test]
    fn noise_is_seldom_called_an_effect() {
        let noise = |seed| experiment(seed, |_, _| 0.0);
        let alarms = (0..100).filter(|&seed| place(&noise(seed), 8, 7).outcome != CheckOutcome::Pass).count();
        assert!(alarms <= 5, "{alarms} of 100");
        let alarms = (0..100).filter(|&seed| trend(&noise(seed), 8, 7).outcome != CheckOutcome::Pass).count();
        assert!(alarms <= 5, "{alarms} of 100");
    }

    #[test]
    fn a_sure_effect_that_is_tiny_is_not_told() {
        let tiny = experiment(3, |round, _| 1e-3 * round as f64);
        assert_eq!(trend(&tiny, 8, 7).outcome, CheckOutcome::Pass);
    }
}
