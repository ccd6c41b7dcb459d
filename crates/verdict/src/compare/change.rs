//! How much each metric changed in one row, and whether that is more than noise.

use assay_model::comparison::{Change, Metric, Shift};
use assay_model::design::Design;
use assay_model::experiment::Cell;
use assay_model::record::Record;
use assay_stats::Interval;
use assay_stats::duet::Duet;
use assay_stats::ratio::paired_log_ratio;
use assay_stats::robust::geometric_mean;
use assay_stats::sequential::{Settled, settled};
use assay_stats::simultaneous::{Boundary, Looks};
use assay_stats::table::detectable_by;
use assay_stats::unpaired::welch_log_ratio;

use super::series::{figure_of, pair, series};
use super::{Margins, Party, Planned};
use crate::capacity::tables::Compared;
use crate::doubts::looks::looks;
use crate::{CONFIDENCE, median};

/// The change of every metric that both sides have.
pub(super) fn changes(row: &Planned<'_>, rows: usize, margins: &Margins) -> Vec<Change> {
    let confidence = each_of(rows);
    let change = |metric| {
        let (of_turns, at_once) = (of_turns(row, metric, confidence), of_duet(row, metric, confidence));
        (of_turns.is_some() || at_once.is_some()).then(|| told(row, metric, of_turns, at_once, margins))
    };
    Metric::ALL.into_iter().filter_map(change).collect()
}

/// The change of the throughput by windows of both at once alone, where turns are not to be believed.
pub(super) fn of_duet_alone(row: &Planned<'_>, rows: usize, margins: &Margins) -> Option<Change> {
    let at_once = of_duet(row, Metric::Rps, each_of(rows))?;
    Some(told(row, Metric::Rps, None, Some(at_once), margins))
}

/// There are so many rows of each metric: each interval gets its share of the permitted error, so that all of them hold together
/// (Bonferroni).
fn each_of(rows: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / rows as f64
}

fn told(
    row: &Planned<'_>,
    metric: Metric,
    of_turns: Option<Measured>,
    at_once: Option<Told>,
    margins: &Margins,
) -> Change {
    let design = if at_once.is_some() { Design::Duet } else { Design::Alternating };
    let by_turns = of_turns.as_ref().and_then(|measured| measured.ratio);
    let told = at_once.or(by_turns);
    let margin = told.and_then(|told| told.margin()).unwrap_or_else(|| margins.of(design));
    // Rates of a single round stand for none beside the ratio of several.
    let rates = of_turns.as_ref().filter(|measured| at_once.is_none() || measured.ratio.is_some());
    let rounds = told.map(|told| told.rounds).or(of_turns.as_ref().map(|measured| measured.rounds));
    Change {
        metric,
        base: rates.map(|measured| measured.base),
        new: rates.map(|measured| measured.new),
        ratio: told.map(|told| crate::interval(told.interval)),
        rounds: u32::try_from(rounds.unwrap_or(0)).unwrap_or(u32::MAX),
        round_cv: told.map(|told| told.cv),
        design,
        alternating: at_once.and(by_turns).map(|ratio| crate::interval(ratio.interval)),
        margin,
        detectable: told.and_then(|told| told.detectable(margin)),
        call: told.map_or(Shift::NotShown, |told| shift(&told, metric, &row.cell, margin)),
    }
}

/// Figures and ratio by windows in which one was under load at a time.
fn of_turns(row: &Planned<'_>, metric: Metric, confidence: f64) -> Option<Measured> {
    if metric == Metric::Rps
        && let Some(measured) = in_tables(row, confidence)
    {
        return Some(measured);
    }
    let record = row.base.evidence.record;
    let measured = if record.id == row.new.evidence.record.id {
        let names = [row.base.contender.as_str(), row.new.contender.as_str()];
        within_rounds(pair(row.base.evidence, names, &row.cell, metric), metric, record, confidence)
    } else {
        let [base, new] =
            [&row.base, &row.new].map(|party| series(party.evidence, &party.contender, &row.cell, metric));
        between_runs(&base, &new, metric, confidence)
    };
    // As each run tells them by itself, so that nobody finds two figures for one.
    let of = |party: &Party<'_>| figure_of(party.verdict, &party.contender, &row.cell, metric);
    measured.map(|measured| Measured {
        base: of(&row.base).unwrap_or(measured.base),
        new: of(&row.new).unwrap_or(measured.new),
        ..measured
    })
}

/// Throughput as the run's own verdict has it, where both are of one run and at capacity: shown to differ here, too, whoever is there.
fn in_tables(row: &Planned<'_>, confidence: f64) -> Option<Measured> {
    let (tables, names) = (row.tables?, [&row.base.contender, &row.new.contender]);
    let [base, new] = names.map(|name| tables.rate(&row.cell, name));
    let compared = tables.compared(&row.cell, [&row.new.contender, &row.base.contender], confidence)?;
    let Compared { ratio, settled, margin, detectable, round_sd, rounds } = compared;
    let (interval, settled) = match settled != Settled::Distinct && row.is_shown() {
        true => (ratio.beyond(margin), Settled::Distinct),
        false => (ratio, settled),
    };
    let judged = Judged::InTables { settled, margin, detectable };
    Some(Measured {
        base: base?,
        new: new?,
        rounds,
        ratio: Some(Told { interval, cv: round_sd, rounds, judged }),
    })
}

/// A ratio, new over base.
#[derive(Clone, Copy)]
struct Told {
    interval: Interval,
    /// How much it varies from round to round, as the standard deviation of its logarithm.
    cv: f64,
    /// Rounds that tell of it.
    rounds: usize,
    judged: Judged,
}

/// What decides whether a ratio is shown to differ from 1.
#[derive(Clone, Copy)]
enum Judged {
    /// The tables of the run, which may show more than the interval does, by the margin of the cell.
    InTables { settled: Settled, margin: f64, detectable: Option<f64> },
    /// The interval, which has so many degrees of freedom.
    ByInterval { degrees_of_freedom: f64 },
}

impl Told {
    /// The smallest difference that is called one, where that is known already.
    fn margin(&self) -> Option<f64> {
        match self.judged {
            Judged::InTables { margin, .. } => Some(margin),
            Judged::ByInterval { .. } => None,
        }
    }

    /// The smallest change that would be shown in four runs of five.
    fn detectable(&self, margin: f64) -> Option<f64> {
        match self.judged {
            Judged::InTables { detectable, .. } => detectable,
            Judged::ByInterval { degrees_of_freedom } => {
                detectable_by(&self.interval, degrees_of_freedom, margin)
            }
        }
    }

    fn settled(&self, margin: f64) -> Settled {
        match self.judged {
            Judged::InTables { settled, .. } => settled,
            Judged::ByInterval { .. } => settled(&self.interval, margin),
        }
    }
}

/// The ratio of throughputs by windows in which both were under load, where there are such.
fn of_duet(row: &Planned<'_>, metric: Metric, confidence: f64) -> Option<Told> {
    if metric != Metric::Rps {
        return None;
    }
    let (told, rounds) = row.played().ratio(looks(row.base.evidence.record), confidence)?;
    let Duet { ratio, spread, degrees_of_freedom, .. } = told;
    Some(Told { interval: ratio, cv: spread, rounds, judged: Judged::ByInterval { degrees_of_freedom } })
}

/// Figures of both sides, and their ratio (new over base) with its variation from round to round.
struct Measured {
    base: f64,
    new: f64,
    rounds: usize,
    ratio: Option<Told>,
}

fn within_rounds(
    [base, new]: [Vec<Option<f64>>; 2],
    metric: Metric,
    record: &Record,
    confidence: f64,
) -> Option<Measured> {
    let both = base.iter().zip(&new).filter_map(|(base, new)| Some(((*base)?, (*new)?)));
    let (base, new): (Vec<f64>, Vec<f64>) = both.unzip();
    let critical = boundary(record, base.len(), confidence).and_then(|it| it.critical_value(base.len()));
    let ratio = critical.and_then(|critical| {
        let ratio = paired_log_ratio(&new, &base, confidence).ok()?;
        Some(Told {
            interval: ratio.with_critical_value(critical, confidence),
            cv: ratio.round_cv(),
            rounds: base.len(),
            judged: Judged::ByInterval { degrees_of_freedom: base.len() as f64 - 1.0 },
        })
    });
    Some(Measured { base: typical(&base, metric)?, new: typical(&new, metric)?, rounds: base.len(), ratio })
}

/// What stands for a figure of several rounds: of throughput the mean of logarithms, of which the ratio is made; of all others the median,
/// as everywhere else.
fn typical(values: &[f64], metric: Metric) -> Option<f64> {
    if metric == Metric::Rps { geometric_mean(values).ok() } else { median(values) }
}

/// A run whose results were looked at after each round pays for it here too, for all pairs that may have been why it ended.
fn boundary(record: &Record, rounds: usize, confidence: f64) -> Option<Boundary> {
    let told = match looks(record) {
        Looks::Once => Boundary::once(2, rounds, confidence),
        Looks::EveryRound { most_rounds } => {
            let proper = record.contenders.iter().filter(|entry| entry.control_of.is_none()).count();
            Boundary::every_round(proper, most_rounds, confidence)
        }
    };
    told.ok()
}

fn between_runs(
    base: &[Option<f64>],
    new: &[Option<f64>],
    metric: Metric,
    confidence: f64,
) -> Option<Measured> {
    let [base, new] = [base, new].map(|side| side.iter().copied().flatten().collect::<Vec<f64>>());
    let ratio = welch_log_ratio(&new, &base, confidence).ok();
    Some(Measured {
        base: typical(&base, metric)?,
        new: typical(&new, metric)?,
        rounds: base.len().min(new.len()),
        ratio: ratio.map(|ratio| Told {
            interval: ratio.interval,
            cv: ratio.round_cv,
            rounds: base.len().min(new.len()),
            judged: Judged::ByInterval { degrees_of_freedom: ratio.degrees_of_freedom },
        }),
    })
}

fn shift(told: &Told, metric: Metric, cell: &Cell, margin: f64) -> Shift {
    if matches!(metric, Metric::P50 | Metric::P99) && cell.offered.is_capacity() {
        return Shift::NotCalled;
    }
    match told.settled(margin) {
        Settled::Equivalent => Shift::Equal,
        Settled::Open => Shift::NotShown,
        Settled::Distinct if (told.interval.estimate > 1.0) == metric.more_is_better() => Shift::Better,
        Settled::Distinct => Shift::Worse,
    }
}
