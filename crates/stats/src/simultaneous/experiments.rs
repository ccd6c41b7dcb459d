//! Simulated experiments in which nobody differs: how far off their pairs are, and how far the worst of any number of them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng as _;
use rand::{Rng, RngExt as _};
use rand_distr::StandardNormal;

use super::deviates::{deviate_of_t, weight};

/// Simulated differences of one pair in one round, from which the number of simulated experiments follows.
const WORK: usize = 20_000_000;
/// With so many experiments an α of 5 % is met to ± 0.3 % (one standard error) …
const FEWEST_EXPERIMENTS: usize = 5_000;
/// … and with these to ± 0.1 %.
const MOST_EXPERIMENTS: usize = 50_000;
/// Beginning of the stream of random numbers; any constant would do.
const SEED: u64 = 1984;
/// No critical value that is simulated is less than this share of that of one pair at one look; what is less far off is not kept.
const KEPT_FROM: f64 = 0.95;

/// What has to be simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Question {
    pub(super) contenders: usize,
    /// The rounds after which the first and the last look are.
    pub(super) first: usize,
    pub(super) last: usize,
    /// The bits of a number between 0 and 1.
    pub(super) confidence: u64,
    /// Degrees of freedom of a prior that is common to all pairs.
    pub(super) lent: usize,
}

/// How far off the pairs of all experiments were, as far as it matters.
pub(super) struct Experiments {
    /// How many may have a pair beyond the critical value.
    allowed: usize,
    /// The critical deviate of one pair at one look, which is known.
    of_one_pair: f64,
    /// The critical deviate of all pairs.
    of_all_pairs: f64,
    /// The number of an experiment, that of a pair, and its largest weighted deviate over all looks: the largest first.
    extremes: Vec<(usize, usize, f64)>,
}

impl Experiments {
    /// The simulation's answer, computed once in the life of the process: a report asks for the same one in every cell.
    pub(super) fn of(question: Question, of_one_pair: f64) -> Arc<Self> {
        static ANSWERS: LazyLock<Mutex<HashMap<Question, Arc<Experiments>>>> = LazyLock::new(Mutex::default);
        let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(
            answers.entry(question).or_insert_with(|| Arc::new(Self::simulated(question, of_one_pair))),
        )
    }

    fn simulated(question: Question, of_one_pair: f64) -> Self {
        let pairs = question.contenders * (question.contenders - 1) / 2;
        let experiments = (WORK / (pairs * question.last)).clamp(FEWEST_EXPERIMENTS, MOST_EXPERIMENTS);
        let weights: Vec<f64> = (1..=question.last).map(|round| weight(round, question.last)).collect();
        let kept_from = of_one_pair * KEPT_FROM;
        let (mut rng, mut extremes) = (ChaCha8Rng::seed_from_u64(SEED), Vec::new());
        for experiment in 0..experiments {
            let largest = largest_deviates(question, &weights, kept_from, &mut rng);
            let far = largest.into_iter().enumerate().filter(|(_, deviate)| *deviate > kept_from);
            extremes.extend(far.map(|(pair, deviate)| (experiment, pair, deviate)));
        }
        extremes.sort_unstable_by(|(.., a), (.., b)| b.total_cmp(a));
        let allowed = ((1.0 - f64::from_bits(question.confidence)) * experiments as f64) as usize;
        let mut simulated = Self { allowed, of_one_pair, of_all_pairs: of_one_pair, extremes };
        simulated.of_all_pairs = simulated.critical_deviate(|_| true);
        simulated
    }

    /// The deviate that the largest of all pairs exceeds in a share α of the experiments.
    pub(super) fn of_all_pairs(&self) -> f64 {
        self.of_all_pairs
    }

    /// The deviate that the largest of the pairs in question exceeds in a share α of the experiments. Pairs are counted from those of
    /// the first contender with all others on.
    pub(super) fn critical_deviate(&self, is_in_question: impl Fn(usize) -> bool) -> f64 {
        let mut beyond = BTreeSet::new();
        for (experiment, _, deviate) in self.extremes.iter().filter(|(_, pair, _)| is_in_question(*pair)) {
            beyond.insert(*experiment);
            if beyond.len() > self.allowed {
                return deviate.max(self.of_one_pair);
            }
        }
        self.of_one_pair
    }
}

/// The largest deviate of each pair over all looks of one simulated experiment, each look's with the weight of its round; 0 where it
/// is not above `kept_from`.
fn largest_deviates(question: Question, weights: &[f64], kept_from: f64, rng: &mut impl Rng) -> Vec<f64> {
    let Question { contenders, first, lent, .. } = question;
    // The prior's own sum of squares, of differences of two: it is the same for all pairs.
    let mut prior = vec![0.0; lent];
    fill_normal(&mut prior, rng);
    let prior = 2.0 * prior.iter().map(|value| value * value).sum::<f64>();
    let mut sums = vec![0.0; contenders * (contenders - 1) / 2];
    let (mut squares, mut largest) = (sums.clone(), sums.clone());
    let mut results = vec![0.0; contenders];
    for (round, weight) in (1..).zip(weights) {
        fill_normal(&mut results, rng);
        let pairs = results.iter().enumerate().flat_map(|(i, a)| results[i + 1..].iter().map(move |b| a - b));
        for ((difference, sum), square) in pairs.zip(&mut sums).zip(&mut squares) {
            *sum += difference;
            *square += difference * difference;
        }
        if round >= first {
            let (df, squared_weight) = ((round - 1 + lent) as f64, weight * weight);
            for ((sum, square), largest) in sums.iter().zip(&squares).zip(&mut largest) {
                let (over, under) = squared_t(*sum, *square, prior, round as f64, df);
                // A deviate is less than its t, so that most of them need not be computed, nor divided for.
                if over * squared_weight > largest.max(kept_from).powi(2) * under {
                    *largest = largest.max(deviate_of_t((over / under).sqrt(), df) * weight);
                }
            }
        }
    }
    largest
}

/// t² of a sample of n values as a fraction, given their sum and sum of squares, and the prior's sum of squares.
fn squared_t(sum: f64, square: f64, prior: f64, n: f64, degrees_of_freedom: f64) -> (f64, f64) {
    (sum * sum * degrees_of_freedom, n * (prior + square) - sum * sum)
}

fn fill_normal(values: &mut [f64], rng: &mut impl Rng) {
    values.fill_with(|| rng.sample(StandardNormal));
}
