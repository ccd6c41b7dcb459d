//! One table of a run: several contenders, measured over rounds, in windows that rotate over them.
//!
//! A window's log rate is contender + round + restart + rotation + error. A *round* starts every contender once; what a
//! start draws by lot (memory layout, placement of threads, the compiler's decisions) stays for that *life*. Within a
//! round a short window of each contender is one *rotation*. So there are two levels of replication, and an interval has to
//! hold for new restarts, not for more windows of the same ones (Kalibera & Jones, ISMM 2013). A design that measures each
//! life once is the same with one rotation.
//!
//! Where not all servers can live at once, a round is split into groups, each a *block* of its own: what the machine did to one
//! group it did not do to the next. A contender that lives in every group, once started afresh for each, joins them: two that
//! never lived at once are compared by how each differs from it, and the interval is as much wider as that is less sure.
//!
//! A contender whose restarts vary much may live several times in a block. These *replicas* take turns for it, and the mean of their
//! levels is its level there.
//!
//! From the bottom up: `lives` makes one number of each life, `effects` one of each contender, `spreads` says how much
//! lives vary, [`crate::moderation`] lends what other tables know of that, `compare` judges.

mod compare;
mod components;
mod effects;
mod lives;
mod meetings;
mod restless;
mod spreads;
mod windows;

pub use compare::{Comparison, Pair, Standing};
pub use components::{Components, POWER, detectable, detectable_by};
pub(crate) use effects::inverse;
pub use restless::restless;
pub use windows::lend_windows;

use std::collections::BTreeSet;

use crate::error::{at_least, finite};
use crate::interval::Sample;
use crate::moderation::{Group, Moderated, Prior, Spread};
use crate::simultaneous::{Looks, critical_value_of_one};
use crate::{Interval, StatsError};
use effects::Effects;
use lives::{Life, Lives};
use spreads::{Spreads, pairs_of};

/// The windows of one contender: by block, which is a round or a group of one, and by rotation within the block, the natural
/// logarithm of the rate. `None` is a window that is void or was not measured; rows that end early are filled up with it.
pub type Windows = Vec<Vec<Option<f64>>>;

/// How much the lives of one contender vary, as variances of logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Restlessness {
    /// From one process to the next, without what windows add.
    pub restarts: f64,
    /// What windows add to the contender's level in a round.
    pub windows: f64,
    /// Of the contender's level in a round, with what windows add, and of as many processes as it had there.
    pub level: f64,
}

impl Restlessness {
    /// What several tables say together; `None` where there are none.
    pub fn mean(tables: &[Self]) -> Option<Self> {
        let mean = |of: fn(&Self) -> f64| tables.iter().map(of).sum::<f64>() / tables.len() as f64;
        (!tables.is_empty()).then(|| Self {
            restarts: mean(|table| table.restarts),
            windows: mean(|table| table.windows),
            level: mean(|table| table.level),
        })
    }
}

/// An interval that reaches further than a thousand times its estimate is no statement.
const MOST_REACH: f64 = 6.9;

/// Lives, effects and spreads of one table. Contenders are indices.
pub struct Table {
    lives: Lives,
    spreads: Spreads,
    effects: Effects,
    /// For each contender the least one with which it can be compared through common blocks, however indirectly.
    met: Vec<usize>,
    /// The round of each block.
    round_of: Vec<usize>,
    /// By contender, a variance of its level that no life shows ([`Table::with_unseen`]).
    unseen: Vec<f64>,
    /// By contender, whether its restarts vary far more than those of others ([`Table::with_restless`]).
    restless: Vec<bool>,
}

impl Table {
    /// Fits the model to the windows of each contender, all of whom lived at once in each round.
    ///
    /// # Errors
    /// When there are no contenders, or a logarithm is not finite.
    pub fn fit(contenders: &[Windows]) -> Result<Self, StatsError> {
        let blocks = contenders.iter().map(Vec::len).max().unwrap_or(0);
        let numbers = |n: usize| (0..n).collect::<Vec<_>>();
        Self::fit_replicas(contenders, &numbers(contenders.len()), &numbers(blocks))
    }

    /// A table of rounds that may have been split into groups, of contenders that may have had several processes in one: there is a row of
    /// windows for each process. `contender_of` holds the contender of each row, and `round_of` the round of each block in the order in
    /// which the rows have their blocks; both are counted from 0.
    ///
    /// # Errors
    /// As [`Self::fit`], and when there are more rows than have a contender, or windows of more blocks than have a round.
    pub fn fit_replicas(
        rows: &[Windows],
        contender_of: &[usize],
        round_of: &[usize],
    ) -> Result<Self, StatsError> {
        at_least("a table", 1, rows.len())?;
        at_least("contenders of a table's rows", rows.len(), contender_of.len())?;
        at_least("blocks of a table", rows.iter().map(Vec::len).max().unwrap_or(0), round_of.len())?;
        let known: Vec<f64> = rows.iter().flatten().flatten().copied().flatten().collect();
        finite(&known)?;
        let lives = lives_of(rows, &contender_of[..rows.len()]);
        let spreads = spreads::spreads(&lives, round_of);
        let effects = effects::effects(&lives, &spreads);
        let (unseen, restless) = (vec![0.0; lives.len()], vec![false; lives.len()]);
        Ok(Self { met: met(&lives), lives, spreads, effects, round_of: round_of.to_vec(), unseen, restless })
    }

    /// The table where the level of each contender is unsure by this variance besides what its lives vary: all of them have the same error
    /// ([`crate::gauge`]).
    #[must_use]
    pub fn with_unseen(self, unseen: Vec<f64>) -> Self {
        Self { unseen, ..self }
    }

    /// The table where the restarts of some contenders vary far more than those of others, as the tables of the run say together ([`restless()`]):
    /// pairs with one of these have a [`Prior`] of another kind.
    #[must_use]
    pub fn with_restless(self, restless: Vec<bool>) -> Self {
        Self { restless, ..self }
    }

    /// How many contenders there are.
    pub fn contenders(&self) -> usize {
        self.lives.len()
    }

    /// How many rounds there are, complete or not.
    pub fn rounds(&self) -> usize {
        let blocks = self.blocks();
        self.round_of[..blocks].iter().max().map_or(0, |last| last + 1)
    }

    /// How many blocks there are: as many as rounds, unless these were split into groups.
    pub fn blocks(&self) -> usize {
        self.lives.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The level of one life, freed of what the machine did within its block; `None` where it has no window.
    pub fn life(&self, contender: usize, block: usize) -> Option<f64> {
        Some(self.lives.get(contender)?.get(block)?.as_ref()?.level)
    }

    /// How many lives of the contender there are.
    pub fn lived(&self, contender: usize) -> usize {
        self.lives.get(contender).map_or(0, |lives| lives.iter().flatten().count())
    }

    /// The logarithm of a contender's rate in a typical round; `None` for one without a window.
    ///
    /// These decide the order: the difference of two of them is the logarithm of the estimate in the pair's interval.
    pub fn effect(&self, contender: usize) -> Option<f64> {
        Some((*self.effects.of_contenders.get(contender)?)? + self.effects.round)
    }

    /// The spreads of all pairs, from which [`Prior::fit`] learns over the tables of a run.
    pub fn spreads(&self) -> Group {
        let lives: usize = self.lives.iter().flatten().flatten().count();
        let contenders = (0..self.contenders()).filter(|&i| self.lived(i) > 0).count();
        let blocks = (0..self.blocks())
            .filter(|&b| self.lives.iter().any(|of| of.get(b).is_some_and(Option::is_some)));
        // What is left of the lives after contenders' and blocks' effects.
        let independent = (lives + 1) as f64 - (contenders + blocks.count()) as f64;
        let pairs = pairs_of(self.contenders()).zip(&self.spreads.pairs);
        let spreads = pairs.map(|(pair, spread)| self.marked(pair, *spread)).collect();
        Group { spreads, independent: independent.max(0.0) }
    }

    /// The ratio of one pair, first over second, as if it were the only one: for what is compared with a limit or with
    /// itself. `looks` says how often the run is looked at. `None` where nothing can be said: the two never met, no variance is known,
    /// or it is too early.
    ///
    /// # Errors
    /// As [`critical_value_of_one`].
    pub fn ratio(
        &self,
        (first, second): (usize, usize),
        prior: &Prior,
        looks: Looks,
        confidence: f64,
    ) -> Result<Option<Interval>, StatsError> {
        let Some((difference, error, moderated)) = self.difference(first, second, prior) else {
            return Ok(None);
        };
        let (rounds, known) = (self.rounds_of_both(first, second), moderated.degrees_of_freedom);
        let critical = critical_value_of_one(looks, rounds, known, confidence)?;
        Ok(critical.and_then(|critical| around(difference, critical * error, confidence)))
    }

    /// How much the effects of rounds on all contenders vary, as a variance of logarithms; `None` where there are fewer than two rounds.
    fn variance_of_rounds(&self) -> Option<f64> {
        let effects: Vec<f64> = self.effects.of_blocks.iter().copied().flatten().collect();
        let sample = Sample::of("rounds of a table", &effects).ok().filter(|_| self.rounds() > 1)?;
        Some(sample.variance())
    }

    /// The rate of one contender with the interval that holds for other rounds on this machine; `prior` is that of the pairs, and
    /// `of_rounds` the variance by which rounds vary for everybody. The estimate is that of [`Table::effect`], so rates stand in the order
    /// of the table, and `looks` says how often the run is looked at. `None` where no interval can be told.
    ///
    /// # Errors
    /// As [`critical_value_of_one`].
    pub fn rate(
        &self,
        contender: usize,
        (prior, of_rounds): (&Prior, f64),
        looks: Looks,
        confidence: f64,
    ) -> Result<Option<Interval>, StatsError> {
        let doubt = self.doubt(contender, prior, of_rounds);
        let (Some(effect), Some(of_lives)) = (self.effect(contender), doubt) else { return Ok(None) };
        let all = of_lives.variance + self.unseen(contender);
        let degrees_of_freedom = with_known(of_lives.degrees_of_freedom, of_lives.variance, all);
        let critical =
            critical_value_of_one(looks, self.rounds_of(contender).len(), degrees_of_freedom, confidence)?;
        Ok(critical.and_then(|critical| around(effect, critical * all.sqrt(), confidence)))
    }

    /// The variance of [`Table::effect`]: what rounds do to all contenders, which only as many numbers tell as there are rounds, and what a
    /// contender's own lives add, of which those of all others tell (Satterthwaite, *Biometrics* 2, 1946). By the weights of the fit the
    /// two are not correlated. `None` for one that was not measured in two rounds.
    fn doubt(&self, contender: usize, prior: &Prior, of_rounds: f64) -> Option<Moderated> {
        let lives = self.lives.get(contender)?;
        let blocks: Vec<usize> = (0..lives.len()).filter(|&block| lives[block].is_some()).collect();
        let rounds = self.rounds_of(contender).len();
        let n = blocks.len() as f64;
        let told_by_others = |block: &usize| 1.0 - self.effects.share(contender, *block);
        let share = blocks.iter().map(told_by_others).sum::<f64>() / n;
        let own = self.own(contender, prior);
        let own = own.map_or((0.0, 1.0), |own| (share * own.variance / n, own.degrees_of_freedom));
        let common = (of_rounds / n, rounds as f64 - 1.0);
        let variance = common.0 + own.0;
        let squares = common.0.powi(2) / common.1 + own.0.powi(2) / own.1;
        let degrees_of_freedom = if squares > 0.0 { variance.powi(2) / squares } else { common.1 };
        (rounds > 1).then_some(Moderated { variance, degrees_of_freedom })
    }

    /// The rounds in which a contender was measured.
    fn rounds_of(&self, contender: usize) -> BTreeSet<usize> {
        let lived = self.lives.get(contender).into_iter().flatten().zip(&self.round_of);
        lived.filter(|(life, _)| life.is_some()).map(|(_, round)| *round).collect()
    }

    /// The number of rounds in which both were measured.
    pub fn rounds_of_both(&self, first: usize, second: usize) -> usize {
        self.rounds_of(first).intersection(&self.rounds_of(second)).count()
    }

    /// How much the lives of a contender vary around what a block does to all: moderated as the spread of a pair of two that vary like it.
    /// `None` for one without a pair.
    fn own(&self, contender: usize, prior: &Prior) -> Option<Moderated> {
        let spread = spreads::own_spread(&self.lives[contender]);
        let of_pair = Spread {
            variance: 2.0 * self.spreads.contenders[contender],
            within: 2.0 * spread.within,
            ..self.marked((contender, contender), spread)
        };
        let is_compared = (0..self.contenders())
            .any(|other| self.spread(contender, other).is_some_and(|spread| spread.degrees_of_freedom > 0.0));
        let moderated = prior.moderate(&of_pair).filter(|_| is_compared)?;
        Some(Moderated { variance: moderated.variance / 2.0, ..moderated })
    }

    /// By how much the lives of each contender vary, and why; `None` for one that was not measured in two rounds.
    pub fn restlessness(&self) -> Vec<Option<Restlessness>> {
        let of = |(contender, lives): (usize, &Vec<Option<Life>>)| {
            let lived: Vec<&Life> = lives.iter().flatten().collect();
            let own = spreads::own_spread(lives);
            let level = *self.spreads.contenders.get(contender)?;
            let replicas = lived.iter().map(|life| life.replicas as f64).sum::<f64>() / lived.len() as f64;
            let restarts = (level - own.within).max(0.0) * replicas;
            (own.degrees_of_freedom > 0.0).then_some(Restlessness { restarts, windows: own.within, level })
        };
        self.lives.iter().enumerate().map(of).collect()
    }

    /// Difference of effects, its standard error, and the moderated variance behind it.
    fn difference(&self, first: usize, second: usize, prior: &Prior) -> Option<(f64, f64, Moderated)> {
        let effect = |i: usize| self.effects.of_contenders.get(i).copied().flatten();
        let difference = effect(first)? - effect(second)?;
        if first == second || self.met[first] != self.met[second] {
            return None;
        }
        let moderated = prior.moderate(&self.spread(first, second)?)?;
        let of_lives = self.effects.variance((first, second), moderated.variance, &self.spreads);
        let all = of_lives + self.unseen(first) + self.unseen(second);
        let degrees_of_freedom = with_known(moderated.degrees_of_freedom, of_lives, all);
        Some((difference, all.sqrt(), Moderated { degrees_of_freedom, ..moderated }))
    }

    fn unseen(&self, contender: usize) -> f64 {
        self.unseen.get(contender).copied().unwrap_or(0.0)
    }

    fn spread(&self, first: usize, second: usize) -> Option<Spread> {
        let wanted = (first.min(second), first.max(second));
        let place = pairs_of(self.contenders()).position(|pair| pair == wanted)?;
        Some(self.marked(wanted, *self.spreads.pairs.get(place)?))
    }

    /// A pair's spread that knows whether one of the two is restless.
    fn marked(&self, (first, second): (usize, usize), spread: Spread) -> Spread {
        let is_restless = |contender: usize| self.restless.get(contender).is_some_and(|of| *of);
        Spread { is_restless: is_restless(first) || is_restless(second), ..spread }
    }
}

/// How much the effects of rounds on all contenders vary, as the mean variance of logarithms over the tables of a run: what [`Table::rate`]
/// wants. 0 where no table has two rounds.
pub fn mean_variance_of_rounds<'t>(tables: impl IntoIterator<Item = &'t Table>) -> f64 {
    let all: Vec<f64> = tables.into_iter().filter_map(Table::variance_of_rounds).collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

/// Degrees of freedom of a variance of which a part was estimated with so many, and the rest is known (Satterthwaite, *Biometrics* 2,
/// 1946).
fn with_known(degrees_of_freedom: f64, estimated: f64, all: f64) -> f64 {
    if estimated > 0.0 { degrees_of_freedom * (all / estimated).powi(2) } else { degrees_of_freedom }
}

/// The interval of a ratio whose logarithm lies `reach` around `difference`; `None` where it says nothing about anything.
fn around(difference: f64, reach: f64, confidence: f64) -> Option<Interval> {
    let interval =
        Interval { estimate: difference, low: difference - reach, high: difference + reach, confidence };
    (reach <= MOST_REACH).then(|| interval.exp())
}

fn lives_of(rows: &[Windows], contender_of: &[usize]) -> Lives {
    let blocks = rows.iter().map(Vec::len).max().unwrap_or(0);
    let block = |b: usize| -> lives::Round<'_> {
        rows.iter().map(|windows| windows.get(b).map_or(&[][..], Vec::as_slice)).collect()
    };
    let by_block = lives::lives(&(0..blocks).map(block).collect::<Vec<_>>(), contender_of);
    let in_block = |contender: usize, processes: &Vec<Option<Life>>| {
        let own = processes.iter().zip(contender_of).filter(|(_, of)| **of == contender);
        lives::mean(&own.filter_map(|(life, _)| life.as_ref()).collect::<Vec<_>>())
    };
    let contenders = contender_of.iter().max().map_or(0, |last| last + 1);
    (0..contenders).map(|i| by_block.iter().map(|processes| in_block(i, processes)).collect()).collect()
}

/// Joins whoever lived in the same block.
fn met(lives: &Lives) -> Vec<usize> {
    let blocks = lives.iter().map(Vec::len).max().unwrap_or(0);
    let mut met: Vec<usize> = (0..lives.len()).collect();
    for block in 0..blocks {
        let present: Vec<usize> =
            (0..lives.len()).filter(|&i| lives[i].get(block).is_some_and(Option::is_some)).collect();
        let joined: Vec<usize> = present.iter().map(|&i| met[i]).collect();
        let Some(&least) = joined.iter().min() else { continue };
        met.iter_mut().filter(|of| joined.contains(of)).for_each(|of| *of = least);
    }
    met
}
