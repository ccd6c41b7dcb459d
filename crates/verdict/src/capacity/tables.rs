//! The tables of a run: one for each cell measured at capacity, with all windows of all who were measured in it. What lives
//! vary by is learnt from all tables together, because one alone has few restarts (docs/method/statistics.md#how-sure).

use std::collections::{BTreeMap, BTreeSet};

use assay_model::experiment::Cell;
use assay_model::record::Entry;
use assay_model::verdict::{Noise, SelfRatio};
use assay_stats::gauge::{self, Adjusted, Explained, Follower, Gauged, Left, Readings, explain};
use assay_stats::moderation::Prior;
use assay_stats::sequential::Settled;
use assay_stats::simultaneous::{Looks, each_of};
use assay_stats::table::{
    Components, Restlessness, Table, Windows, lend_windows, mean_variance_of_rounds, restless,
};
use assay_stats::tiers::{LEAST_MARGIN, margin_beyond_bias};

use crate::capacity::ranking::{Ranking, ranking};
use crate::doubts::looks::{looks, watched};
use crate::evidence::measured::Measured;
use crate::evidence::sample::{Sample, sample_of};
use crate::evidence::window::{Block, DecodedRecord, Window};
use crate::{CONFIDENCE, closed, interval, with_compared_tails};

/// All tables of a run.
pub(crate) struct Tables<'r> {
    cells: Vec<CellTable<'r>>,
    prior: Prior,
    /// By how much rounds vary for everybody, as a variance of logarithms.
    of_rounds: f64,
    /// At pairs.
    looks: Looks,
    /// At single figures.
    watched: Looks,
    /// Of each table, so that the run as a whole is right with [`CONFIDENCE`].
    confidence: f64,
    explained: Option<f64>,
}

/// How one contender compares with another.
#[derive(Clone, Copy)]
pub(crate) struct Compared {
    /// Interval of the ratio, which ends at the margin where the two are shown to differ and it alone does not say so.
    pub(crate) ratio: assay_stats::Interval,
    /// What is shown of the two: also what the interval does not say.
    pub(crate) settled: Settled,
    /// The smallest difference that is called one in the cell.
    pub(crate) margin: f64,
    /// The smallest difference that such a comparison would show in four runs of five.
    pub(crate) detectable: Option<f64>,
    /// How much the logarithm of the ratio varies from round to round.
    pub(crate) round_sd: f64,
    /// Rounds in which both were measured.
    pub(crate) rounds: usize,
}

/// One cell.
struct CellTable<'r> {
    cell: Cell,
    entries: Vec<&'r Entry>,
    table: Table,
}

/// The windows of one process of a contender in each group of each round, and what the gauge showed in them.
type Process = (Windows, Readings);

impl<'r> Tables<'r> {
    /// Fits all tables of a record.
    pub(crate) fn of(evidence: &'r DecodedRecord<'_>) -> Self {
        let measured = measured(evidence);
        let Explained { tables, share, .. } = explained(&measured);
        let both = measured.into_iter().zip(tables);
        let cells: Vec<CellTable<'r>> =
            both.filter_map(|(of, adjusted)| CellTable::of(evidence, of, adjusted)).collect();
        let cells = with_restless(with_lent_windows(cells));
        let spreads: Vec<_> = cells.iter().map(|cell| cell.table.spreads()).collect();
        let all = cells.len() + with_compared_tails(&evidence.record.experiment).len();
        Self {
            prior: Prior::fit(&spreads).unwrap_or(Prior::none()),
            of_rounds: mean_variance_of_rounds(cells.iter().map(|cell| &cell.table)),
            cells,
            looks: looks(evidence.record),
            watched: watched(evidence.record),
            confidence: each_of(all.max(1), CONFIDENCE),
            explained: share,
        }
    }

    /// What is fitted: the windows of everybody in each cell in which any counts.
    pub(crate) fn measured(evidence: &DecodedRecord<'_>) -> Vec<Measured> {
        let measured = measured(evidence);
        let tables = explained(&measured).tables;
        let of = |(of, adjusted): (InCell<'_>, Adjusted)| {
            let processes = |contender: usize| {
                let all = adjusted.windows.iter().zip(&of.contender_of);
                all.filter(move |(_, of)| **of == contender).map(|(windows, _)| windows)
            };
            let named = |(contender, entry): (usize, &&Entry)| {
                (entry.identity.name.clone(), joined(processes(contender)))
            };
            let contenders = of.entries.iter().enumerate().map(named).collect();
            Measured { contenders, is_tail: false, cell: of.cell }
        };
        measured.into_iter().zip(tables).map(of).collect()
    }

    /// How the turns of each contender follow the gauge, by its name and the workload.
    pub(crate) fn followers(evidence: &DecodedRecord<'_>) -> Vec<(String, String, Follower)> {
        let measured = measured(evidence);
        let mut followers = explained(&measured).followers;
        let all = measured.iter().flat_map(|of| {
            let processes = of.contender_of.iter().zip(&of.gauged);
            processes.map(|(contender, gauged)| (of.entries[*contender], &of.cell, gauged.contender))
        });
        all.filter_map(|(entry, cell, number)| {
            let follower = followers.remove(&number)?;
            Some((entry.original().to_owned(), cell.workload.clone(), follower))
        })
        .collect()
    }

    /// What the gauge leaves of the turns of a record.
    pub(crate) fn left(evidence: &DecodedRecord<'_>) -> Vec<Left> {
        gauge::left(&gauged(&measured(evidence)))
    }

    /// The share of the variance of turns of one life that the gauge explains, 0 to 1; absent where it was not read.
    pub(crate) fn explained(&self) -> Option<f64> {
        self.explained
    }

    /// Compares those called `names` in a cell; an empty ranking where nothing can be said.
    pub(crate) fn ranking(&self, cell: &Cell, names: &[&str]) -> Ranking {
        let Some(of) = self.cell(cell) else { return Ranking::default() };
        let indices: Vec<usize> = names.iter().filter_map(|name| of.place(name)).collect();
        let margin = self.margin(cell);
        let compared = of.table.compare(&indices, &self.prior, self.looks, self.confidence, margin);
        compared.map_or_else(|_| Ranking::default(), |compared| ranking(&compared, &of.names(), margin))
    }

    /// Two contenders of a cell, the first over the second, as [`Tables::ranking`] compares them: by themselves, or with all who take part
    /// where the results of the run were looked at after each round. `None` where nothing can be said.
    pub(crate) fn compared(&self, cell: &Cell, names: [&str; 2], confidence: f64) -> Option<Compared> {
        let of = self.cell(cell)?;
        let [first, second] = [of.place(names[0])?, of.place(names[1])?];
        let others = of.entries.iter().enumerate().filter(|(_, entry)| entry.control_of.is_none());
        let others = others.map(|(place, _)| place).filter(|place| ![first, second].contains(place));
        let mut all = vec![first, second];
        if self.looks != Looks::Once {
            all.extend(others);
        }
        let margin = self.margin(cell);
        let compared = of.table.compare(&all, &self.prior, self.looks, confidence, margin).ok()?;
        let pair = compared.pairs.into_iter().find(|pair| (pair.first, pair.second) == (first, second))?;
        let rounds = of.table.rounds_of_both(first, second);
        Some(Compared {
            ratio: pair.ratio?,
            settled: pair.settled,
            margin,
            detectable: pair.detectable(margin),
            round_sd: pair.standard_error * (rounds as f64).sqrt(),
            rounds,
        })
    }

    /// The rate of a contender in a typical round, in right answers per second; all rows of a cell are in the order of these.
    pub(crate) fn rate(&self, cell: &Cell, name: &str) -> Option<f64> {
        let of = self.cell(cell)?;
        Some(of.table.effect(of.place(name)?)?.exp())
    }

    /// The rate of a contender with the interval that holds for other rounds; `None` where none can be told.
    pub(crate) fn rate_interval(&self, cell: &Cell, name: &str) -> Option<assay_stats::Interval> {
        let of = self.cell(cell)?;
        of.table.rate(of.place(name)?, (&self.prior, self.of_rounds), self.watched, CONFIDENCE).ok().flatten()
    }

    /// Throughput of one contender over another's, with an interval of its own.
    pub(crate) fn ratio(&self, cell: &Cell, first: &str, second: &str) -> Option<assay_stats::Interval> {
        self.ratio_at(cell, first, second, CONFIDENCE)
    }

    fn ratio_at(
        &self,
        cell: &Cell,
        first: &str,
        second: &str,
        confidence: f64,
    ) -> Option<assay_stats::Interval> {
        let of = self.cell(cell)?;
        let pair = (of.place(first)?, of.place(second)?);
        of.table.ratio(pair, &self.prior, self.watched, confidence).ok().flatten()
    }

    /// The A/A control in each cell: one contender over itself, restarted independently; simultaneous over the cells.
    pub(crate) fn self_ratios(&self) -> Vec<SelfRatio> {
        let ratio = |of: &CellTable<'_>| {
            let ratio = self.self_ratio(of)?;
            Some(SelfRatio {
                cell: of.cell.clone(),
                ratio: crate::Interval { confidence: CONFIDENCE, ..interval(ratio) },
            })
        };
        self.cells.iter().filter_map(ratio).collect()
    }

    fn self_ratio(&self, of: &CellTable<'_>) -> Option<assay_stats::Interval> {
        let control = of.entries.iter().find(|entry| entry.control_of.is_some())?;
        let each = each_of(self.cells.len().max(1), CONFIDENCE);
        self.ratio_at(&of.cell, control.control_of.as_deref()?, &control.identity.name, each)
    }

    /// The smallest difference that is called one in a cell: the least one that anybody cares for, and never less than a bias
    /// that the A/A control shows.
    pub(crate) fn margin(&self, cell: &Cell) -> f64 {
        let control = self.cell(cell).and_then(|of| self.self_ratio(of));
        margin_beyond_bias(LEAST_MARGIN, control.as_ref())
    }

    /// The greatest margin of all cells.
    pub(crate) fn greatest_margin(&self) -> f64 {
        self.cells.iter().map(|of| self.margin(&of.cell)).fold(LEAST_MARGIN, f64::max)
    }

    /// What restarts and windows vary by, over all cells.
    pub(crate) fn noise(&self) -> Option<Noise> {
        let components = Components::of_run(self.cells.iter().map(|of| &of.table))?;
        Some(Noise {
            restart_cv: components.restart_sd,
            window_cv: components.window_sd,
            windows_per_life: components.windows,
        })
    }

    /// The parts of the noise, over all cells: before two rounds of anybody, what windows say alone.
    pub(crate) fn components(&self) -> Option<Components> {
        let tables = || self.cells.iter().map(|of| &of.table);
        Components::of_run(tables()).or_else(|| Components::of_windows(tables()))
    }

    /// What each table says of how much the restarts of each contender vary, by name; of controls and limits as well.
    pub(crate) fn restlessness(&self) -> BTreeMap<&'r str, Vec<Restlessness>> {
        restlessness(&self.cells)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.cells.len()
    }

    fn cell(&self, cell: &Cell) -> Option<&CellTable<'r>> {
        self.cells.iter().find(|of| of.cell == *cell)
    }
}

impl<'r> CellTable<'r> {
    fn of(evidence: &DecodedRecord<'_>, of: InCell<'r>, adjusted: Adjusted) -> Option<Self> {
        let InCell { cell, entries, contender_of, .. } = of;
        let groups = evidence.blocks(&cell).into_iter().filter(|block| block.replica == 0);
        let round_of: Vec<usize> = groups.map(|block| block.round).collect();
        Some(Self { table: adjusted.table(&contender_of, &round_of).ok()?, entries, cell })
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.identity.name == name)
    }

    fn names(&self) -> Vec<&'r str> {
        self.entries.iter().map(|entry| entry.identity.name.as_str()).collect()
    }
}

fn restlessness<'r>(cells: &[CellTable<'r>]) -> BTreeMap<&'r str, Vec<Restlessness>> {
    let mut all: BTreeMap<&str, Vec<Restlessness>> = BTreeMap::new();
    for of in cells {
        for (name, told) in of.names().into_iter().zip(of.table.restlessness()) {
            all.entry(name).or_default().extend(told);
        }
    }
    all
}

/// Cells whose tables know how much windows usually vary.
fn with_lent_windows<'r>(cells: Vec<CellTable<'r>>) -> Vec<CellTable<'r>> {
    let (rest, tables): (Vec<_>, Vec<Table>) =
        cells.into_iter().map(|of| ((of.cell, of.entries), of.table)).unzip();
    let both = rest.into_iter().zip(lend_windows(tables));
    both.map(|((cell, entries), table)| CellTable { cell, entries, table }).collect()
}

/// Cells whose tables know who is restless in all of them together.
fn with_restless<'r>(cells: Vec<CellTable<'r>>) -> Vec<CellTable<'r>> {
    let (names, told): (Vec<&str>, Vec<_>) = restlessness(&cells).into_iter().unzip();
    let restless: BTreeMap<&str, bool> = names.into_iter().zip(restless(&told)).collect();
    let told = |of: CellTable<'r>| {
        let marks = of.names().iter().map(|name| restless[name]).collect();
        CellTable { table: of.table.with_restless(marks), ..of }
    };
    cells.into_iter().map(told).collect()
}

/// Everybody who has a window in a cell, with all of them.
struct InCell<'r> {
    cell: Cell,
    entries: Vec<&'r Entry>,
    /// Of each process of everybody.
    gauged: Vec<Gauged>,
    /// The place of the contender of each among the entries.
    contender_of: Vec<usize>,
}

/// All cells in which anybody has a window.
fn measured<'r>(evidence: &'r DecodedRecord<'_>) -> Vec<InCell<'r>> {
    // Rates follow the gauge alike in all cells of a contender's workload, and in those of its control.
    let mut followers = Vec::new();
    let mut follower = |entry: &'r Entry, cell: &Cell| {
        let own = (entry.original(), cell.setting(), cell.workload.clone());
        followers.iter().position(|known| *known == own).unwrap_or_else(|| {
            followers.push(own);
            followers.len() - 1
        })
    };
    let mut in_cell = |cell: Cell| {
        let mut of = InCell { entries: Vec::new(), gauged: Vec::new(), contender_of: Vec::new(), cell };
        let blocks = evidence.blocks(&of.cell);
        for entry in &evidence.record.contenders {
            let processes = processes(&blocks, &sample_of(evidence, entry, &of.cell));
            if !processes.is_empty() {
                of.contender_of.extend(processes.iter().map(|_| of.entries.len()));
                of.entries.push(entry);
            }
            let contender = follower(entry, &of.cell);
            let gauged = |(windows, readings)| Gauged { contender, windows, readings };
            of.gauged.extend(processes.into_iter().map(gauged));
        }
        of
    };
    let cells = closed(evidence.record).into_iter().map(&mut in_cell);
    cells.filter(|of| !of.entries.is_empty()).collect()
}

fn explained(measured: &[InCell<'_>]) -> Explained {
    explain(&gauged(measured))
}

fn gauged<'m>(measured: &'m [InCell<'_>]) -> Vec<&'m [Gauged]> {
    measured.iter().map(|of| of.gauged.as_slice()).collect()
}

/// The logarithms of the rates of all windows that count, by rotation, and what the gauge showed in each: those of the first
/// replicas, those of the second ones, and so on. None where no window counts.
fn processes(blocks: &[Block], sample: &Sample<'_>) -> Vec<Process> {
    let windows: BTreeMap<&Block, &Window<'_>> = blocks
        .iter()
        .zip(sample.rated_blocks())
        .filter_map(|(block, window)| Some((block, window?)))
        .collect();
    let groups = || blocks.iter().filter(|block| block.replica == 0);
    let of = |replica: u32| -> Process {
        let window = |group: &Block| windows.get(&Block { replica, ..*group });
        let told = |group: &Block| {
            window(group).map_or_else(Default::default, |window| (window.log_rates(), window.readings()))
        };
        groups().map(told).unzip()
    };
    let numbers: BTreeSet<u32> = blocks.iter().map(|block| block.replica).collect();
    let counts = |(windows, _): &Process| windows.iter().flatten().any(Option::is_some);
    numbers.into_iter().map(of).filter(counts).collect()
}

/// The windows of processes that took turns for a contender as if one of them had had all turns.
fn joined<'w>(processes: impl Iterator<Item = &'w Windows>) -> Windows {
    let mut all = Windows::new();
    for windows in processes {
        all.resize(all.len().max(windows.len()), Vec::new());
        for (into, own) in all.iter_mut().zip(windows) {
            into.resize(into.len().max(own.len()), None);
            into.iter_mut().zip(own).for_each(|(into, own)| *into = into.or(*own));
        }
    }
    all
}
