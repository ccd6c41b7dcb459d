//! How a run spends its budget: on how many restarts, and on how many turns of each, by what it has seen of its own noise; and of
//! whom there is nothing left to be told apart, who then gets fewer turns (docs/method/carousel.md#restarts-or-turns).

use std::collections::{BTreeMap, BTreeSet};

use assay_model::experiment::{Cell, Experiment};
use assay_model::record::{Entry, Record, Round, Run, Turn};
use assay_model::units::Nanos;
use assay_stats::planning::{self, Components, Costs, Course};
use assay_stats::tiers::LEAST_MARGIN;

use crate::capacity::tables::Tables;
use crate::during::outlook::{Past, components, usual};
use crate::during::settling::told_apart;
use crate::evidence::window::{DecodedRecord, Unreadable};
use crate::{CONFIDENCE, median, with_compared_tails};

/// Rotations per turn of a contender that is told apart from everybody: fewer turns than others have, and never none, because rates and tails are
/// told of all.
pub const SETTLED_EVERY: u32 = 2;
/// The turns that this leaves, of the fewest that a round has: two of three.
const SETTLED_SHARE_OF_FEW: f64 = 2.0 / 3.0;

/// What there is to spend, and what things take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Means {
    /// Time for further rounds.
    pub left: Nanos,
    /// What a further round takes besides its turns.
    pub round: Nanos,
    /// One turn of everybody in each cell.
    pub rotation: Nanos,
    /// Fewest and most rounds of the whole run.
    pub rounds: [u32; 2],
    /// Fewest and most turns of a life in a cell.
    pub turns: [u32; 2],
}

/// What is to come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Further {
    /// Further rounds.
    pub rounds: u32,
    /// Turns of a life in each cell of such a round.
    pub turns: u32,
}

/// Contenders that are told apart from everybody in a cell, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled(BTreeSet<(String, Cell)>);

impl Settled {
    /// Whether none of a contender's pairs in a cell is open.
    pub fn has(&self, contender: &str, cell: &Cell) -> bool {
        self.0.contains(&(contender.to_owned(), cell.clone()))
    }

    /// Turns of a contender in a cell for each turn of one who is not told apart.
    pub fn share_of(&self, contender: &str, cell: &Cell) -> f64 {
        if self.has(contender, cell) { 1.0 / f64::from(SETTLED_EVERY) } else { 1.0 }
    }
}

/// How many processes take turns in the next round for each contender whose restarts vary much, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replicas(BTreeMap<String, u32>);

impl Replicas {
    /// How many processes a contender has.
    pub fn number(&self, contender: &str) -> u32 {
        self.0.get(contender).copied().unwrap_or(1)
    }

    /// By what the tables of a run say; the control is one process, as what it is a control of began, and so is the limit.
    fn of(record: &Record, tables: &Tables<'_>) -> Self {
        let mut told = tables.restlessness();
        told.retain(|name, _| record.entry_of(name).is_some_and(is_own));
        let numbers = planning::replicas(&told.values().cloned().collect::<Vec<_>>());
        let is_compared = record.experiment.comparing.is_some();
        // Each has two turns at least, as far as the last round tells.
        // `as` saturates, and half of the turns is a small number.
        let most = (record.rounds.last().map_or(0.0, windows_of_a_life) / 2.0) as usize;
        let numbers = numbers.into_iter().map(|number| number.min(most));
        let several = told.keys().zip(numbers).filter(|(_, number)| *number > 1 && !is_compared);
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self(several.map(|(name, of)| ((*name).to_owned(), number(of))).collect())
    }
}

/// What a run has shown so far of what it costs and of what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Contenders that get fewer turns.
    pub settled: Settled,
    /// Contenders that get several processes.
    pub replicas: Replicas,
    /// One turn of everybody in each cell, where whoever is settled has fewer.
    pub rotation: Nanos,
    plan: planning::ComparisonPlan,
    noise: Components,
    done: Vec<f64>,
}

/// The first rounds of a run of so many contenders, if it is as noisy as an earlier one, or as is usual; `None` where not a single
/// round fits.
pub fn opening(
    experiment: &Experiment,
    contenders: usize,
    means: &Means,
    past: Option<&Past>,
) -> Option<Further> {
    allot(&plan(experiment, contenders), &expected(experiment, past), means, Vec::new())
}

impl Seen {
    /// Looks at a record whose rounds had turns; `past` is an earlier run like it, if there is one.
    ///
    /// # Errors
    /// [`Unreadable`] when a histogram of the record cannot be read.
    pub fn of(record: &Record, past: Option<&Past>) -> Result<Self, Unreadable> {
        let evidence = &DecodedRecord::of(record)?;
        let tables = Tables::of(evidence);
        let settled = Settled(told_apart(evidence, &tables));
        let cells = turned_cells(record.rounds.last());
        // A round that was planned too short takes the time of the next, so few rotations are what is planned for.
        let share =
            |participant: &str, cell: &Cell| settled.share_of(participant, cell).max(SETTLED_SHARE_OF_FEW);
        let of_cell = |(cell, turns): (&&Cell, &CellTurns)| {
            let shares: f64 = turns.participants.iter().map(|participant| share(participant, cell)).sum();
            turns.each.as_secs_f64() * shares * turns.repeats
        };
        let (own, expected) = (tables.components(), expected(&record.experiment, past));
        let contenders = own_contenders(record);
        Ok(Self {
            rotation: Nanos::from_secs_f64(cells.iter().map(of_cell).sum()),
            plan: plan(&record.experiment, contenders),
            noise: own.map_or(expected, |own| own.with_expected(&expected, tables.count())),
            done: record.rounds.iter().map(windows_of_a_life).collect(),
            replicas: Replicas::of(record, &tables),
            settled,
        })
    }

    /// How the rest of the time is spent; `None` where no further round fits. The cost of a rotation is what was seen.
    pub fn rest(&self, means: &Means) -> Option<Further> {
        allot(&self.plan, &self.noise, &Means { rotation: self.rotation, ..*means }, self.done.clone())
    }
}

/// What all turns of a round took, from the beginning of each to that of the next.
pub fn time_in_turns(round: &Round) -> Nanos {
    turned_cells(Some(round)).values().map(|turns| Nanos(turns.each.0.saturating_mul(turns.count))).sum()
}

fn allot(
    plan: &planning::ComparisonPlan,
    noise: &Components,
    means: &Means,
    done: Vec<f64>,
) -> Option<Further> {
    let costs = Costs { round_s: means.round.as_secs_f64(), rotation_s: means.rotation.as_secs_f64() };
    let course = Course {
        done,
        left_s: means.left.as_secs_f64(),
        rounds: means.rounds.map(|rounds| rounds as usize),
        rotations: means.turns.map(|turns| turns as usize),
    };
    let rest = planning::rest(plan, noise, &costs, &course).ok().flatten()?;
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Some(Further { rounds: number(rest.rounds), turns: number(rest.rotations) })
}

/// Where nobody is compared, the run is spent as if two were.
fn plan(experiment: &Experiment, contenders: usize) -> planning::ComparisonPlan {
    let at_capacity = experiment.cells().iter().filter(|cell| cell.offered.is_capacity()).count();
    planning::ComparisonPlan {
        contenders: contenders.max(2),
        tables: (at_capacity + with_compared_tails(experiment).len()).max(1),
        confidence: CONFIDENCE,
        margin: LEAST_MARGIN,
        looks: experiment.until_settled,
        // That is the run's own affair ([`Means::turns`]).
        least_rotations: 1,
    }
}

/// What noise is to be expected of turns.
fn expected(experiment: &Experiment, past: Option<&Past>) -> Components {
    let noise = past.map_or_else(|| usual(experiment, Some(1)), |past| past.noise);
    components(&noise, Some(1))
}

fn own_contenders(record: &Record) -> usize {
    record.contenders.iter().filter(|entry| is_own(entry) && entry.not_run.is_none()).count()
}

/// Whether it is neither a control nor the limit.
fn is_own(entry: &Entry) -> bool {
    entry.control_of.is_none() && !entry.identity.is_limit()
}

/// The turns of one cell in a round.
struct CellTurns {
    /// From the beginning of one to that of the next, on average.
    each: Nanos,
    count: u64,
    /// How many times as many there were as turns that nobody disturbed would have been.
    repeats: f64,
    /// Contenders that took them.
    participants: BTreeSet<String>,
}

fn turned_cells(round: Option<&Round>) -> BTreeMap<&Cell, CellTurns> {
    let mut taken: BTreeMap<&Cell, Vec<(&Run, &Turn)>> = BTreeMap::new();
    for run in round.into_iter().flat_map(|round| &round.runs) {
        for window in run.cells.iter().filter(|window| !window.turns.is_empty()) {
            taken.entry(&window.cell).or_default().extend(window.turns.iter().map(|turn| (run, turn)));
        }
    }
    taken.into_iter().map(|(cell, turns)| (cell, CellTurns::of(&turns))).collect()
}

impl CellTurns {
    fn of(turns: &[(&Run, &Turn)]) -> Self {
        let spans: Vec<[u64; 2]> = turns
            .iter()
            .map(|(_, turn)| [turn.offset_ns.0, turn.load.settle_ns.0.saturating_add(turn.load.window_ns.0)])
            .collect();
        let wanted: BTreeSet<(&str, u32, u32)> =
            turns.iter().map(|(run, turn)| (run.contender.as_str(), run.replica, turn.rotation)).collect();
        Self {
            each: each(&spans),
            count: turns.len() as u64,
            repeats: turns.len() as f64 / wanted.len().max(1) as f64,
            participants: turns.iter().map(|(run, _)| run.contender.clone()).collect(),
        }
    }
}

/// What turns take, each with its beginning and its length: the length on average, because turns at a slow server are longer, and what
/// is typically between two, because somebody may have paused the run.
fn each(turns: &[[u64; 2]]) -> Nanos {
    let mut turns = turns.to_vec();
    turns.sort_unstable();
    let lengths: u64 = turns.iter().fold(0, |sum, [_, length]| sum.saturating_add(*length));
    let between = turns.windows(2).map(|pair| (pair[1][0] - pair[0][0]).saturating_sub(pair[0][1]) as f64);
    let between = median(&between.collect::<Vec<_>>()).unwrap_or(0.0) as u64;
    Nanos((lengths / (turns.len() as u64).max(1)).saturating_add(between))
}

/// Of a contender that is not told apart: the most turns of a cell that others did not disturb, and of the cells a typical one.
fn windows_of_a_life(round: &Round) -> f64 {
    let mut most: BTreeMap<&Cell, f64> = BTreeMap::new();
    for window in round.runs.iter().flat_map(|run| &run.cells).filter(|window| !window.turns.is_empty()) {
        let known = most.entry(&window.cell).or_default();
        *known = known.max(window.turns.iter().filter(|turn| !turn.is_void()).count() as f64);
    }
    median(&most.into_values().collect::<Vec<_>>()).unwrap_or(1.0)
}

#[cfg(test)]
mod tests;
