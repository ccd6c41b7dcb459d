//! Stopping early without being wrong more often, by simulating whole experiments with fixed seeds.
//!
//! The model of one measurement: the logarithm of a speed is contender + round + restart; a round disturbs all its
//! contenders alike, with a standard deviation of 5 %.
#![allow(clippy::unwrap_used, reason = "a helper may fail as loudly as the test that calls it")]

use assay_stats::sequential::{Look, Settled, look};
use assay_stats::simultaneous::Boundary;
use rand::{Rng, RngExt as _};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

const EXPERIMENTS: u32 = 4_000;
const MARGIN: f64 = 0.01;
const ROUND_SD: f64 = 0.05;

/// A contender: its true speed, and how much restarts vary.
type Contender = (f64, f64);

/// A standard normal number (Box & Muller 1958).
fn normal(rng: &mut impl Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Measures round after round until every pair is settled or no round is left, and gives the last look and its round.
fn run_until_settled(
    contenders: &[Contender],
    boundary: &Boundary,
    margin: f64,
    rng: &mut impl Rng,
) -> (Vec<Look>, usize) {
    let mut series = vec![Vec::new(); contenders.len()];
    for rounds in 1..=boundary.most_rounds() {
        let round = ROUND_SD * normal(rng);
        for (series, (speed, sd)) in series.iter_mut().zip(contenders) {
            series.push(Some(speed * (round + sd * normal(rng)).exp()));
        }
        let looks = look(&series, margin, boundary).unwrap();
        let settled = looks.iter().all(|look| look.settled != Settled::Open);
        if settled || rounds == boundary.most_rounds() {
            return (looks, rounds);
        }
    }
    unreachable!("the last round returns")
}

/// How often any pair was called distinct, how often all intervals covered the truth, and the mean number of rounds.
fn simulate(contenders: &[Contender], most_rounds: usize, margin: f64, seed: u64) -> (f64, f64, f64) {
    let boundary = Boundary::every_round(contenders.len(), most_rounds, 0.95).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut distinct, mut covered, mut spent) = (0, 0, 0);
    for _ in 0..EXPERIMENTS {
        let (looks, rounds) = run_until_settled(contenders, &boundary, margin, &mut rng);
        let truth = |look: &Look| contenders[look.first].0 / contenders[look.second].0;
        distinct += u32::from(looks.iter().any(|look| look.settled == Settled::Distinct));
        covered += u32::from(looks.iter().all(|l| l.ratio.is_none_or(|ratio| ratio.contains(truth(l)))));
        spent += rounds;
    }
    let share = |count: u32| f64::from(count) / f64::from(EXPERIMENTS);
    (share(distinct), share(covered), spent as f64 / f64::from(EXPERIMENTS))
}

#[test]
fn stopping_early_keeps_the_error_rate_and_the_coverage_for_equals() {
    for (seed, contenders, most_rounds) in [(1, 2, 4), (2, 2, 10), (3, 2, 40), (4, 5, 6), (5, 5, 20)] {
        for margin in [0.0, MARGIN] {
            let equals = vec![(100.0, 0.02); contenders];
            let (distinct, covered, _) = simulate(&equals, most_rounds, margin, seed);
            let case = format!("{contenders} contenders, at most {most_rounds} rounds, margin {margin}");
            assert!(distinct <= 0.055, "{case}: distinct in {distinct}");
            assert!(covered >= 0.945, "{case}: covered in {covered}");
        }
    }
}

#[test]
fn it_does_so_for_restarts_that_vary_differently_and_for_true_differences() {
    let uneven = [(100.0, 0.002), (100.0, 0.01), (100.0, 0.02), (100.0, 0.04), (100.0, 0.08)];
    for (seed, most_rounds) in [(6, 6), (7, 20)] {
        let (distinct, covered, _) = simulate(&uneven, most_rounds, 0.0, seed);
        assert!(distinct <= 0.055 && covered >= 0.945, "{most_rounds} rounds: {distinct}, {covered}");
        let spread = [(100.0, 0.02), (103.0, 0.01), (106.0, 0.03), (150.0, 0.02)];
        let (_, covered, _) = simulate(&spread, most_rounds, MARGIN, seed + 10);
        assert!(covered >= 0.945, "{most_rounds} rounds: covered {covered}");
    }
}

/// What looking without paying would cost, as the reason for all this: t intervals at 95 %, stopped as soon as one of them
/// excludes 1.
#[test]
fn looking_without_paying_is_wrong_far_too_often() {
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let wrong = (0..EXPERIMENTS).filter(|_| {
        let differences: Vec<f64> = (0..20).map(|_| 0.02 * normal(&mut rng)).collect();
        (4..=20).any(|rounds| {
            let interval = assay_stats::interval::mean_interval(&differences[..rounds], 0.95).unwrap();
            !interval.contains(0.0)
        })
    });
    let share = wrong.count() as f64 / f64::from(EXPERIMENTS);
    assert!(share > 0.15, "{share}");
}

#[test]
fn differences_are_found_and_rounds_are_saved() {
    let (distinct, _, rounds) = simulate(&[(100.0, 0.014), (200.0, 0.014)], 20, MARGIN, 30);
    assert!(distinct > 0.99 && rounds < 5.5, "twice as fast: {distinct} after {rounds} rounds");
    let (distinct, _, rounds) = simulate(&[(105.0, 0.014), (100.0, 0.014)], 20, MARGIN, 31);
    assert!(distinct > 0.95 && rounds < 14.0, "5 % faster: {distinct} after {rounds} rounds");
    let (distinct, covered, rounds) = simulate(&[(100.0, 0.003), (100.0, 0.003)], 20, MARGIN, 32);
    assert!(distinct < 0.01 && covered > 0.945 && rounds < 8.0, "equal: {distinct} after {rounds} rounds");
}
