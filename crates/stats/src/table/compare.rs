//! Several contenders of a table compared at once: order, tiers, letters and pairs, all from the same effects.

use std::collections::BTreeSet;

use super::spreads::pairs_of;
use super::{Table, around};
use crate::letters::letters;
use crate::moderation::Prior;
use crate::sequential::{Settled, settled};
use crate::simultaneous::{Boundary, FIRST_LOOK, Looks};
use crate::tiers::tiers;
use crate::{Interval, StatsError};

/// Two contenders compared, among several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The one above the fraction bar.
    pub first: usize,
    /// The one below it; it stands later among those who were compared.
    pub second: usize,
    /// The ratio of their rates, in an interval that holds together with those of all other pairs and looks; `None` where
    /// nothing can be said.
    pub ratio: Option<Interval>,
    /// The standard error of the logarithm of the ratio; infinite where it is not known.
    pub standard_error: f64,
    /// How many standard errors the interval reaches to both sides.
    pub critical_value: f64,
    /// Degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
    /// What it shows.
    pub settled: Settled,
}

/// A contender's place.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The contender's number.
    pub contender: usize,
    /// The logarithm of its rate in a typical round.
    pub effect: f64,
    /// From 1.
    pub tier: usize,
    /// Two share one exactly when they are not shown to differ.
    pub letters: String,
}

/// The comparison of all with all.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Fastest first. Tiers never fall from one to the next, and no two of one tier are shown to differ.
    pub standings: Vec<Standing>,
    /// Every pair, ordered as the contenders were named.
    pub pairs: Vec<Pair>,
}

impl Pair {
    fn unknown(first: usize, second: usize) -> Self {
        Self {
            first,
            second,
            ratio: None,
            standard_error: f64::INFINITY,
            critical_value: f64::INFINITY,
            degrees_of_freedom: 0.0,
            settled: Settled::Open,
        }
    }
}

impl Comparison {
    /// Contenders of pairs that are neither shown to differ nor to be equivalent: whoever is worth measuring again.
    pub fn open(&self) -> BTreeSet<usize> {
        let open = self.pairs.iter().filter(|pair| pair.settled == Settled::Open);
        open.flat_map(|pair| [pair.first, pair.second]).collect()
    }
}

impl Table {
    /// Compares `contenders` with each other. `margin` is the largest difference that is none, 0.01 for 1 %; `looks` says
    /// how often the run is looked at, and `confidence` is that of all pairs of the table together (for several tables see
    /// [`crate::simultaneous::each_of`]).
    ///
    /// Whoever has no window has no standing.
    ///
    /// # Errors
    /// When `confidence` is not strictly between 0 and 1.
    pub fn compare(
        &self,
        contenders: &[usize],
        prior: &Prior,
        looks: Looks,
        confidence: f64,
        margin: f64,
    ) -> Result<Comparison, StatsError> {
        let present: Vec<usize> = contenders.iter().copied().filter(|&i| self.effect(i).is_some()).collect();
        let pairs = || pairs_of(present.len()).map(|(a, b)| (present[a], present[b]));
        let lent =
            pairs().filter_map(|(a, b)| Some(prior.lent(&self.spread(a, b)?))).fold(f64::INFINITY, f64::min);
        let boundary = match self.rounds() {
            0 | 1 => None,
            rounds => Some(Boundary::moderated(present.len(), looks, rounds, confidence, lent)?),
        };
        let pairs: Vec<Pair> =
            pairs().map(|pair| self.pair(pair, prior, looks, boundary.as_ref(), margin)).collect();
        Ok(Comparison { standings: self.standings(&present, &pairs), pairs })
    }

    fn pair(
        &self,
        (first, second): (usize, usize),
        prior: &Prior,
        looks: Looks,
        boundary: Option<&Boundary>,
        margin: f64,
    ) -> Pair {
        let mut pair = Pair::unknown(first, second);
        let Some((difference, standard_error, moderated)) = self.difference(first, second, prior) else {
            return pair;
        };
        let degrees_of_freedom = moderated.degrees_of_freedom;
        pair = Pair { standard_error, degrees_of_freedom, ..pair };
        // Whoever was left out of later rounds is at the look at which that was decided.
        let look = match looks {
            Looks::Once => self.rounds(),
            Looks::EveryRound { .. } => self.rounds_of_both(first, second).max(FIRST_LOOK),
        };
        let Some(boundary) = boundary else { return pair };
        if let Some(critical_value) = boundary.critical_value_of(look, degrees_of_freedom)
            && let Some(ratio) = around(difference, critical_value * standard_error, boundary.confidence())
        {
            pair = Pair { ratio: Some(ratio), critical_value, settled: settled(&ratio, margin), ..pair };
        }
        pair
    }

    fn rounds_of_both(&self, first: usize, second: usize) -> usize {
        let of = |contender: usize| -> BTreeSet<usize> {
            let lived = self.lives[contender].iter().zip(&self.round_of);
            lived.filter(|(life, _)| life.is_some()).map(|(_, round)| *round).collect()
        };
        of(first).intersection(&of(second)).count()
    }

    fn standings(&self, present: &[usize], pairs: &[Pair]) -> Vec<Standing> {
        let effect = |i: usize| self.effect(i).unwrap_or(f64::NEG_INFINITY);
        let mut order = present.to_vec();
        order.sort_by(|&a, &b| effect(b).total_cmp(&effect(a)));
        let distinct = |a: usize, b: usize| {
            let same =
                |pair: &&Pair| (pair.first, pair.second) == (a, b) || (pair.first, pair.second) == (b, a);
            pairs.iter().find(same).is_some_and(|pair| pair.settled == Settled::Distinct)
        };
        // Letters are given by position in the order, and read by it again.
        let positions: Vec<usize> = (0..order.len()).collect();
        let letters = letters(&positions, |a, b| distinct(order[a], order[b]));
        let tiers = tiers(&order, distinct);
        let numbered = (1..).zip(&tiers).flat_map(|(tier, members)| members.iter().map(move |&i| (tier, i)));
        numbered
            .zip(letters)
            .map(|((tier, contender), letters)| Standing {
                contender,
                effect: effect(contender),
                tier,
                letters,
            })
            .collect()
    }
}
