//! Critical values that hold for all pairs of contenders, and for all looks at the data, at once.
//!
//! The distribution of the largest |t| over all pairs and looks has no closed form when every pair has its own standard
//! error, so it is simulated, from one fixed stream of random numbers: the same question always has the same answer.
//!
//! **Which world is simulated.** Contenders without difference, whose rounds vary normally and all to the same extent. No
//! covariance is estimated from the few rounds at hand. For all pairwise comparisons equal variances are the least
//! favourable case: with unequal ones the pairs depend on each other more, and the true error is smaller (Hayter, Ann.
//! Statist. 12, 1984, proves it for a common variance estimate; `tests/truth/table.rs` shows it for this one). What a round
//! does to all contenders alike cancels in the pairs and needs no place in the simulation.
//!
//! **Looks.** Deciding after each round whether to go on would multiply the chances to be wrong. So the critical value is
//! higher at every look than it would be at a single one, and falls as rounds come in: on the scale of a normal deviate it
//! is C · (R / r)^(1/2 − Δ) after round r of R (Wang & Tsiatis, Biometrics 43, 1987; Δ = 0 is O'Brien & Fleming's rule, which
//! hardly ever stops early, Δ = 1/2 Pocock's, which pays for it at the end). C is such that all looks and pairs together are
//! wrong with probability α. Intervals with these critical values hold at every look, hence at whichever one stops (repeated
//! confidence intervals; Jennison & Turnbull, JRSS B 51, 1989).

mod deviates;
mod experiments;

use crate::error::{at_least, open_unit};
use crate::{StatsError, student};
use deviates::{deviate_of_t, t_of_deviate, weight};
use experiments::{Experiments, Question};

/// The first round after which there is a look; the early critical values are so high that it costs later looks nothing.
pub const FIRST_LOOK: usize = 2;
/// Most rounds for which looks can be planned.
pub const MOST_ROUNDS: usize = 1_000;
/// An interval of more standard errors than this would be no statement about anything.
const MOST_STANDARD_ERRORS: f64 = 1_000.0;
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
    /// Several pairs, or several looks; absent for one pair at one look, which needs no simulation.
    simulated: Option<Question>,
    /// The critical value of one pair at the last look alone, as a normal deviate.
    of_one_pair: f64,
    /// The critical value of the pairs in question at the last look, as a normal deviate.
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
        let of_one_pair = deviate_of_one_pair(last, confidence, lent)?;
        let contenders = contenders.max(2);
        let question = Question { contenders, first, last, confidence: confidence.to_bits(), lent };
        let simulated = (contenders > 2 || first < last).then_some(question);
        let last_deviate =
            simulated.map_or(of_one_pair, |question| Experiments::of(question, of_one_pair).of_all_pairs());
        Ok(Self { confidence, first_look: first, most_rounds: last, simulated, of_one_pair, last_deviate })
    }

    /// The boundary that those pairs need which are left in question: no lower than that of one of them, no higher than that of all.
    /// Pairs are counted from those of the first contender with all others on.
    ///
    /// Judging the pairs that are left by it, after all others were shown to differ, and so on until nothing more is shown, keeps the
    /// chance of ever calling equals different at α (step-down; Romano & Wolf, J. Am. Stat. Assoc. 100, 2005). When the first
    /// two equals are called different, all equals are still in question, so that the boundary is no lower than theirs. Intervals that
    /// hold together need the boundary of all pairs.
    #[must_use]
    pub fn among(&self, is_in_question: impl Fn(usize) -> bool) -> Self {
        let Some(question) = self.simulated else { return *self };
        let last_deviate = Experiments::of(question, self.of_one_pair).critical_deviate(is_in_question);
        Self { last_deviate, ..*self }
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

/// How many standard errors one estimate, as the rate of a contender or the ratio of one pair, must be given on both sides to cover by
/// itself at the look after so many rounds, and at all others that are planned. `None` where nothing may be concluded, as
/// [`Boundary::critical_value`] says.
///
/// # Errors
/// When `confidence` is not strictly between 0 and 1, there are no degrees of freedom, or more than [`MOST_ROUNDS`] are planned.
pub fn critical_value_of_one(
    looks: Looks,
    rounds: usize,
    degrees_of_freedom: f64,
    confidence: f64,
) -> Result<Option<f64>, StatsError> {
    if looks == Looks::Once {
        return student::critical_value_of(confidence, degrees_of_freedom).map(Some);
    }
    let rounds = rounds.max(FIRST_LOOK);
    let lent = (degrees_of_freedom - (rounds - 1) as f64).max(0.0);
    Ok(Boundary::moderated(2, looks, rounds, confidence, lent)?.critical_value_of(rounds, degrees_of_freedom))
}

/// The critical value below which no boundary of [`Boundary::moderated`] is at its last look, after so many rounds: that of one pair at
/// one look, which needs no simulation. It is for a standard error with so many degrees of freedom.
pub(crate) fn least_critical_value(
    rounds: usize,
    confidence: f64,
    lent: f64,
    degrees_of_freedom: f64,
) -> Result<f64, StatsError> {
    at_least("a comparison", 2, rounds)?;
    Ok(t_of_deviate(deviate_of_one_pair(rounds, confidence, nearest_below(lent))?, degrees_of_freedom))
}

/// The critical value of one pair at one look after so many rounds, as a normal deviate.
fn deviate_of_one_pair(rounds: usize, confidence: f64, lent: usize) -> Result<f64, StatsError> {
    let df = (rounds - 1 + lent) as f64;
    Ok(deviate_of_t(student::critical_value_of(confidence, df)?, df))
}

/// Few different questions make few simulations; and fewer degrees of freedom are the safe side.
fn nearest_below(lent: f64) -> usize {
    const ASKED: [usize; 14] = [0, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 48, 80, MOST_LENT];
    ASKED.into_iter().rev().find(|&asked| asked as f64 <= lent).unwrap_or(0)
}

/// What each of so many tables of a run must be judged with, so that all of them hold together with `confidence` (Šidák, J. Am.
/// Stat. Assoc. 62, 1967): exact for tables that are independent of each other, and safe for those that depend on the same
/// restarts.
pub fn each_of(tables: usize, confidence: f64) -> f64 {
    confidence.powf(1.0 / tables.max(1) as f64)
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
    fn the_fewer_pairs_are_in_question_the_lower_is_the_boundary_down_to_that_of_one() {
        for boundary in
            [Boundary::once(6, 5, 0.95).unwrap(), Boundary::moderated(6, Looks::Once, 3, 0.99, 4.0).unwrap()]
        {
            let value = |of: Boundary| of.critical_value(of.most_rounds()).unwrap();
            let left: Vec<f64> = (0..=15).map(|few| value(boundary.among(|pair| pair < few))).collect();
            assert!(left.is_sorted(), "{left:?}");
            assert_eq!(left[15], value(boundary), "all pairs");
            assert!(left[15] / left[3] > 1.1, "{left:?}");
        }
        let one = Boundary::once(6, 5, 0.95).unwrap().among(|pair| pair == 7).critical_value(5).unwrap();
        assert!((0.99..1.03).contains(&(one / once(2, 5))), "{one} instead of {}", once(2, 5));
    }

    /// The pairs of three among six contenders depend on each other as those of three alone do, so they need the same boundary.
    #[test]
    fn the_pairs_of_a_few_need_the_boundary_of_a_few() {
        let of_three_among_six = |pair: usize| [0, 1, 5].contains(&pair);
        let among = Boundary::once(6, 5, 0.95).unwrap().among(of_three_among_six).critical_value(5).unwrap();
        assert!((among / once(3, 5) - 1.0).abs() < 0.03, "{among} instead of {}", once(3, 5));
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
