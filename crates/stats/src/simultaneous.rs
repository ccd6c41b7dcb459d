//! Critical values that hold for all pairs of contenders, and for all looks at the data, at once.
//!
//! The distribution of the largest |t| over all pairs and looks has no closed form when every pair has its own standard
//! error, so it is simulated, from one fixed stream of random numbers: the same question always has the same answer.
//!
//! **Which world is simulated.** Contenders without difference, whose rounds vary normally and all to the same extent. No
//! covariance is estimated from the few rounds at hand. For all pairwise comparisons equal variances are the least
//! favourable case: with unequal ones the pairs depend on each other more, and the true error is smaller (Hayter, Ann.
//! Statist. 12, 1984, proves it for a common variance estimate; `tests/sequential.rs` shows it for this one). What a round
//! does to all contenders alike cancels in the pairs and needs no place in the simulation.
//!
//! **Looks.** Deciding after each round whether to go on would multiply the chances to be wrong. So the critical value is
//! higher at every look than it would be at a single one, and falls as rounds come in: on the scale of a normal deviate it
//! is C · (R / r)^(1/2 − Δ) after round r of R (Wang & Tsiatis, Biometrics 43, 1987; Δ = 0 is O'Brien & Fleming's rule, which
//! hardly ever stops early, Δ = 1/2 Pocock's, which pays for it at the end). C is such that all looks and pairs together are
//! wrong with probability α. Intervals with these critical values hold at every look, hence at whichever one stops (repeated
//! confidence intervals; Jennison & Turnbull, JRSS B 51, 1989).

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use rand::{Rng, RngExt as _};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

use crate::error::{at_least, open_unit};
use crate::{StatsError, student};

/// The first round after which there is a look; the early critical values are so high that it costs later looks nothing.
pub const FIRST_LOOK: usize = 2;
/// Most rounds for which looks can be planned.
pub const MOST_ROUNDS: usize = 1_000;
/// 1/2 − Δ of Wang and Tsiatis.
const FALL: f64 = 0.25;
/// An interval of more standard errors than this would be no statement about anything.
const MOST_STANDARD_ERRORS: f64 = 1_000.0;
/// Simulated differences of one pair in one round, from which the number of simulated experiments follows.
const WORK: usize = 20_000_000;
/// With so many experiments an α of 5 % is met to ± 0.3 % (one standard error) …
const FEWEST_EXPERIMENTS: usize = 5_000;
/// … and with these to ± 0.1 %.
const MOST_EXPERIMENTS: usize = 50_000;
/// Beginning of the stream of random numbers; any constant would do.
const SEED: u64 = 1984;

/// Most degrees of freedom of a prior that make a difference to how pairs hang together.
const MOST_LENT: usize = 160;

/// When results are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looks {
    /// Once, after a number of rounds on which the results had no influence.
    Once,
    /// After each round from [`FIRST_LOOK`] on, to decide whether to go on.
    EveryRound {
        /// Most rounds, fixed before the first look.
        most_rounds: usize,
    },
}

/// The critical values of |t| for one comparison of several contenders, by the number of rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Boundary {
    confidence: f64,
    first_look: usize,
    most_rounds: usize,
    /// The critical value at the last look, as a normal deviate.
    last_deviate: f64,
}

impl Boundary {
    /// For a single look, after `rounds` rounds, at all pairs of so many contenders.
    ///
    /// # Errors
    /// When there are fewer than two rounds or more than [`MOST_ROUNDS`], or `confidence` is not strictly between 0 and 1.
    pub fn once(contenders: usize, rounds: usize, confidence: f64) -> Result<Self, StatsError> {
        Self::planned(contenders, rounds, rounds, confidence, 0)
    }

    /// For a look after each round from [`FIRST_LOOK`] to `most_rounds`, which must be fixed before the first look.
    ///
    /// # Errors
    /// As [`Self::once`].
    pub fn every_round(contenders: usize, most_rounds: usize, confidence: f64) -> Result<Self, StatsError> {
        Self::planned(contenders, FIRST_LOOK.min(most_rounds), most_rounds, confidence, 0)
    }

    /// For pairs whose variances are moderated ([`crate::moderation`]) and gain `lent` degrees of freedom by it: at a look
    /// after `rounds` rounds.
    ///
    /// # Errors
    /// As [`Self::once`].
    pub fn moderated(
        contenders: usize,
        looks: Looks,
        rounds: usize,
        confidence: f64,
        lent: f64,
    ) -> Result<Self, StatsError> {
        let lent = nearest_below(lent);
        match looks {
            Looks::Once => Self::planned(contenders, rounds, rounds, confidence, lent),
            Looks::EveryRound { most_rounds } => {
                Self::planned(contenders, FIRST_LOOK.min(most_rounds), most_rounds, confidence, lent)
            }
        }
    }

    fn planned(
        contenders: usize,
        first: usize,
        last: usize,
        confidence: f64,
        lent: usize,
    ) -> Result<Self, StatsError> {
        open_unit("confidence", confidence)?;
        at_least("a comparison", 2, first)?;
        if last > MOST_ROUNDS {
            let (name, range) = ("rounds", "at most a thousand");
            return Err(StatsError::OutOfRange { name, range, value: last as f64 });
        }
        let last_deviate = if contenders > 2 || first < last {
            remembered(Question {
                contenders: contenders.max(2),
                first,
                last,
                confidence: confidence.to_bits(),
                lent,
            })
        } else {
            let degrees_of_freedom = (last - 1 + lent) as f64;
            deviate_of_t(student::critical_value_of(confidence, degrees_of_freedom)?, degrees_of_freedom)
        };
        Ok(Self { confidence, first_look: first, most_rounds: last, last_deviate })
    }

    /// How many standard errors from 0 a pair's mean over `rounds` rounds must lie to count; `None` when nothing may be
    /// concluded: where no look is planned, and so early that it would take more than a thousand.
    pub fn critical_value(&self, rounds: usize) -> Option<f64> {
        self.critical_value_of(rounds, rounds.checked_sub(1)? as f64)
    }

    /// The critical value for a standard error with other degrees of freedom than rounds less one.
    pub fn critical_value_of(&self, rounds: usize, degrees_of_freedom: f64) -> Option<f64> {
        let planned = (self.first_look..=self.most_rounds).contains(&rounds) && degrees_of_freedom > 0.0;
        let value = || t_of_deviate(self.last_deviate / weight(rounds, self.most_rounds), degrees_of_freedom);
        planned.then(value).filter(|value| *value <= MOST_STANDARD_ERRORS)
    }

    /// The probability with which all intervals at all looks cover together.
    pub fn confidence(&self) -> f64 {
        self.confidence
    }

    /// The last round after which a look is planned.
    pub fn most_rounds(&self) -> usize {
        self.most_rounds
    }
}

/// What has to be simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Question {
    contenders: usize,
    first: usize,
    last: usize,
    /// The bits of a number between 0 and 1.
    confidence: u64,
    lent: usize,
}

/// Few different questions make few simulations; and fewer degrees of freedom are the safe side.
fn nearest_below(lent: f64) -> usize {
    const ASKED: [usize; 14] = [0, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 48, 80, MOST_LENT];
    ASKED.into_iter().rev().find(|&asked| asked as f64 <= lent).unwrap_or(0)
}

/// The simulation's answer, computed once in the life of the process: a report asks for the same one in every cell.
fn remembered(question: Question) -> f64 {
    static ANSWERS: LazyLock<Mutex<HashMap<Question, f64>>> = LazyLock::new(Mutex::default);
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    *answers.entry(question).or_insert_with(|| simulated(question))
}

/// The value that the largest weighted deviate over all pairs and looks exceeds in a share α of simulated experiments.
fn simulated(question: Question) -> f64 {
    let pairs = question.contenders * (question.contenders - 1) / 2;
    let experiments = (WORK / (pairs * question.last)).clamp(FEWEST_EXPERIMENTS, MOST_EXPERIMENTS);
    let weights: Vec<f64> = (1..=question.last).map(|round| weight(round, question.last)).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut largest: Vec<f64> =
        (0..experiments).map(|_| largest_deviate(question, &weights, &mut rng)).collect();
    largest.sort_unstable_by(f64::total_cmp);
    let exceeding = ((1.0 - f64::from_bits(question.confidence)) * experiments as f64) as usize;
    largest[experiments - 1 - exceeding.min(experiments - 1)]
}

/// The largest deviate over all pairs and looks of one simulated experiment, each look's with the weight of its round.
fn largest_deviate(question: Question, weights: &[f64], rng: &mut impl Rng) -> f64 {
    let Question { contenders, first, lent, .. } = question;
    // The prior's own sum of squares, of differences of two: it is the same for all pairs.
    let mut prior = vec![0.0; lent];
    fill_normal(&mut prior, rng);
    let prior = 2.0 * prior.iter().map(|value| value * value).sum::<f64>();
    let mut sums = vec![0.0; contenders * (contenders - 1) / 2];
    let mut squares = sums.clone();
    let mut results = vec![0.0; contenders];
    let mut largest = 0.0_f64;
    for (round, weight) in (1..).zip(weights) {
        fill_normal(&mut results, rng);
        let pairs = results.iter().enumerate().flat_map(|(i, a)| results[i + 1..].iter().map(move |b| a - b));
        for ((difference, sum), square) in pairs.zip(&mut sums).zip(&mut squares) {
            *sum += difference;
            *square += difference * difference;
        }
        if round >= first {
            let degrees_of_freedom = (round - 1 + lent) as f64;
            let t = largest_t(&sums, &squares, prior, round as f64, degrees_of_freedom);
            // A deviate is less than its t, so that most of them need not be computed.
            if t * weight > largest {
                largest = largest.max(deviate_of_t(t, degrees_of_freedom) * weight);
            }
        }
    }
    largest
}

/// The largest |t| of several samples of n values, given their sums and sums of squares, and the prior's sum of squares.
fn largest_t(sums: &[f64], squares: &[f64], prior: f64, n: f64, degrees_of_freedom: f64) -> f64 {
    let squared_t =
        |(sum, square): (&f64, &f64)| sum * sum * degrees_of_freedom / (n * (prior + square) - sum * sum);
    sums.iter().zip(squares).map(squared_t).fold(0.0, f64::max).sqrt()
}

/// What each of so many tables of a run must be judged with, so that all of them hold together with `confidence` (Šidák, J. Am.
/// Stat. Assoc. 62, 1967): exact for tables that are independent of each other, and safe for those that depend on the same
/// restarts.
pub fn each_of(tables: usize, confidence: f64) -> f64 {
    confidence.powf(1.0 / tables.max(1) as f64)
}

fn weight(round: usize, last: usize) -> f64 {
    (round as f64 / last as f64).powf(FALL)
}

/// About the normal deviate that is as rare as `t` (Wallace, Ann. Math. Statist. 30, 1959). It only gives the boundary its
/// shape: what is lost in the approximation, the simulation puts right.
fn deviate_of_t(t: f64, df: f64) -> f64 {
    (8.0 * df + 1.0) / (8.0 * df + 3.0) * (df * (t * t / df).ln_1p()).sqrt()
}

/// The inverse of [`deviate_of_t`].
fn t_of_deviate(deviate: f64, df: f64) -> f64 {
    let unscaled = deviate * (8.0 * df + 3.0) / (8.0 * df + 1.0);
    (df * (unscaled * unscaled / df).exp_m1()).sqrt()
}

/// Standard normal numbers, two at a time (Box & Muller, Ann. Math. Statist. 29, 1958).
fn fill_normal(values: &mut [f64], rng: &mut impl Rng) {
    for pair in values.chunks_mut(2) {
        let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
        let radius = (-2.0 * u.ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * v).sin_cos();
        pair[0] = radius * cos;
        if let Some(second) = pair.get_mut(1) {
            *second = radius * sin;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(contenders: usize, rounds: usize) -> f64 {
        Boundary::once(contenders, rounds, 0.95).unwrap().critical_value(rounds).unwrap()
    }

    fn every(contenders: usize, most_rounds: usize) -> Vec<f64> {
        let boundary = Boundary::every_round(contenders, most_rounds, 0.95).unwrap();
        (1..=most_rounds).filter_map(|rounds| boundary.critical_value(rounds)).collect()
    }

    #[test]
    fn one_pair_at_one_look_is_students_t() {
        for rounds in [2, 5, 6, 20] {
            let t = student::critical_value(0.95, rounds - 1).unwrap();
            assert!((once(2, rounds) / t - 1.0).abs() < 1e-12);
        }
    }

    /// With very many rounds the largest |t| over all pairs is the studentised range over √2: Tukey's q for infinite
    /// degrees of freedom, 3.314 for three, 3.858 for five and 4.474 for ten (Harter, Ann. Math. Statist. 31, 1960). With 200
    /// rounds t itself is still 1.5 % wider so far out.
    #[test]
    fn many_rounds_approach_tukeys_range() {
        for (contenders, q) in [(3, 3.314), (5, 3.858), (10, 4.474)] {
            let expected = q / std::f64::consts::SQRT_2;
            let got = once(contenders, 200);
            assert!((0.99..1.03).contains(&(got / expected)), "{contenders}: {got} instead of {expected}");
        }
    }

    #[test]
    fn a_deviate_is_less_than_its_t() {
        for df in [1.0, 2.0, 10.0, 1160.0] {
            for t in [1e-9, 0.1, 1.0, 3.0, 1e3, 1e9] {
                assert!(deviate_of_t(t, df) < t, "{t} with {df}");
            }
        }
    }

    #[test]
    fn critical_values_fall_as_rounds_come_in_and_never_reach_that_of_a_single_look() {
        for (contenders, rounds) in [(2, 6), (2, 40), (10, 20)] {
            let values = every(contenders, rounds);
            assert!(values.is_sorted_by(|early, late| early > late), "{values:?}");
            assert!(values[values.len() - 1] > once(contenders, rounds));
        }
    }

    #[test]
    fn simultaneous_values_lie_between_those_of_one_pair_and_of_bonferroni() {
        for (contenders, rounds) in [(3, 6), (5, 6), (10, 6), (10, 20), (40, 6)] {
            let pairs = (contenders * (contenders - 1) / 2) as f64;
            let bonferroni = student::critical_value(1.0 - 0.05 / pairs, rounds - 1).unwrap();
            let got = once(contenders, rounds);
            assert!(
                once(2, rounds) < got && got < bonferroni,
                "{contenders} at {rounds}: {got} {bonferroni}"
            );
        }
    }

    #[test]
    fn nothing_may_be_concluded_where_no_look_is_planned() {
        let boundary = Boundary::every_round(2, 6, 0.95).unwrap();
        assert_eq!((boundary.critical_value(1), boundary.critical_value(7)), (None, None));
        assert_eq!(boundary.critical_value(6).map(f64::is_finite), Some(true));
        assert_eq!(Boundary::every_round(10, 40, 0.95).unwrap().critical_value(3), None, "far too early");
        assert_eq!(Boundary::once(2, 6, 0.95).unwrap().critical_value(5), None);
        assert!(Boundary::once(2, 1, 0.95).is_err() && Boundary::once(2, 6, 1.0).is_err());
        assert!(Boundary::every_round(2, MOST_ROUNDS + 1, 0.95).is_err());
    }
}
