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
    /// The ratio of their rates, in an interval that holds together with those of all other pairs and looks; it ends at the margin
    /// where they are shown to differ and it alone does not say so. `None` where nothing can be said.
    pub ratio: Option<Interval>,
    /// The logarithm of the ratio; 0 where nothing can be said.
    pub difference: f64,
    /// The standard error of that logarithm; infinite where it is not known.
    pub standard_error: f64,
    /// How many standard errors beyond the margin an estimate must lie to be shown to differ, by the pairs that were left in question in
    /// the end.
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
            difference: 0.0,
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
            _ if present.len() < 2 => None,
            rounds => Some(Boundary::moderated(present.len(), looks, rounds, confidence, lent)?),
        };
        let mut pairs: Vec<Pair> = pairs().map(|pair| self.unjudged(pair, prior)).collect();
        if let Some(boundary) = boundary {
            pairs = self.judge(&pairs, looks, &boundary, margin);
        }
        Ok(Comparison { standings: self.standings(&present, &pairs), pairs })
    }

    /// What is known of a pair before any boundary.
    fn unjudged(&self, (first, second): (usize, usize), prior: &Prior) -> Pair {
        let unknown = Pair::unknown(first, second);
        let Some((difference, standard_error, moderated)) = self.difference(first, second, prior) else {
            return unknown;
        };
        Pair { difference, standard_error, degrees_of_freedom: moderated.degrees_of_freedom, ..unknown }
    }

    /// Judges pairs by the boundary of all of them, and those that it does not show to differ by the lower one that these alone need,
    /// until nothing more is shown ([`Boundary::among`]).
    fn judge(&self, unjudged: &[Pair], looks: Looks, boundary: &Boundary, margin: f64) -> Vec<Pair> {
        let judged = |pair: &Pair, by: &Boundary| self.judged(pair, looks, by, margin);
        let mut pairs: Vec<Pair> = unjudged.iter().map(|pair| judged(pair, boundary)).collect();
        let is_shown = |pair: &Pair| pair.settled == Settled::Distinct;
        loop {
            let shown: Vec<bool> = pairs.iter().map(is_shown).collect();
            let lower = boundary.among(|pair| !shown[pair]);
            for pair in &mut pairs {
                let again = judged(pair, &lower);
                pair.critical_value = again.critical_value;
                if let Some(wider) = pair.ratio
                    && is_shown(&again)
                    && !is_shown(pair)
                {
                    pair.ratio = Some(wider.beyond(margin));
                    pair.settled = Settled::Distinct;
                }
            }
            if pairs.iter().map(is_shown).eq(shown) {
                return pairs;
            }
        }
    }

    /// A pair with its interval by a boundary, and what that shows.
    fn judged(&self, pair: &Pair, looks: Looks, boundary: &Boundary, margin: f64) -> Pair {
        // Whoever was left out of later rounds is at the look at which that was decided.
        let look = match looks {
            Looks::Once => self.rounds(),
            Looks::EveryRound { .. } => self.rounds_of_both(pair.first, pair.second).max(FIRST_LOOK),
        };
        let critical_value = boundary.critical_value_of(look, pair.degrees_of_freedom);
        let reaching = critical_value.and_then(|critical_value| {
            let ratio = around(pair.difference, critical_value * pair.standard_error, boundary.confidence())?;
            Some(Pair { ratio: Some(ratio), critical_value, settled: settled(&ratio, margin), ..*pair })
        });
        reaching.unwrap_or(*pair)
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
