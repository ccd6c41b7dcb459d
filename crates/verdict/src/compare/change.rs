//! How much each metric changed in one row, and whether that is more than noise.

use assay_model::comparison::{Change, Metric, Shift};
use assay_model::design::Design;
use assay_model::experiment::Cell;
use assay_model::record::Record;
use assay_stats::duet::Duet;
use assay_stats::ratio::paired_log_ratio;
use assay_stats::robust::geometric_mean;
use assay_stats::simultaneous::Boundary;
use assay_stats::table::detectable_by;
use assay_stats::unpaired::welch_log_ratio;
use assay_stats::{Interval, tiers};

use super::series::series;
use super::{Margins, Party, Planned};
use crate::{CONFIDENCE, duet};

/// The change of every metric that both sides have. There are `rows` rows of each metric: each interval gets its share of
/// the permitted error, so that all of them hold together (Bonferroni).
pub(super) fn changes(row: &Planned<'_>, rows: usize, margins: &Margins) -> Vec<Change> {
    let confidence = 1.0 - (1.0 - CONFIDENCE) / rows as f64;
    Metric::ALL.into_iter().filter_map(|metric| change(row, metric, confidence, margins)).collect()
}

fn change(row: &Planned<'_>, metric: Metric, confidence: f64, margins: &Margins) -> Option<Change> {
    let of = |party: &Party<'_>| series(party.evidence, &party.contender, &row.cell, metric);
    let (base, new) = (of(&row.base), of(&row.new));
    let measured = if row.base.evidence.record.id == row.new.evidence.record.id {
        within_rounds(&base, &new, row.base.evidence.record, confidence)
    } else {
        between_runs(&base, &new, confidence)
    }?;
    let at_once = of_duet(row, metric, confidence);
    let design = if at_once.is_some() { Design::Duet } else { Design::Alternating };
    let told = at_once.or(measured.ratio);
    let margin = margins.of(design);
    Some(Change {
        metric,
        base: measured.base,
        new: measured.new,
        ratio: told.map(|told| crate::interval(told.interval)),
        rounds: u32::try_from(told.map_or(measured.rounds, |told| told.rounds)).unwrap_or(u32::MAX),
        round_cv: told.map(|told| told.cv),
        design,
        alternating: at_once.and(measured.ratio).map(|ratio| crate::interval(ratio.interval)),
        margin,
        detectable: told.and_then(|told| told.detectable(margin)),
        call: told.map_or(Shift::NotShown, |told| shift(&told.interval, metric, &row.cell, margin)),
    })
}

/// A ratio, new over base.
#[derive(Clone, Copy)]
struct Told {
    interval: Interval,
    /// How much it varies from round to round, as the standard deviation of its logarithm.
    cv: f64,
    degrees_of_freedom: f64,
    /// Rounds that tell of it.
    rounds: usize,
}

impl Told {
    /// The smallest change that such an interval would show in four runs of five.
    fn detectable(&self, margin: f64) -> Option<f64> {
        detectable_by(&self.interval, self.degrees_of_freedom, margin)
    }
}

/// The ratio of throughputs by windows in which both were under load, where there are such.
fn of_duet(row: &Planned<'_>, metric: Metric, confidence: f64) -> Option<Told> {
    let is_one = row.base.evidence.record.id == row.new.evidence.record.id;
    if metric != Metric::Rps || !is_one {
        return None;
    }
    let names = (&row.base.contender, &row.new.contender);
    let (told, rounds) = duet::ratio(row.base.evidence, &row.cell, names.0, names.1, confidence)?;
    let Duet { ratio, spread, degrees_of_freedom, .. } = told;
    Some(Told { interval: ratio, cv: spread, degrees_of_freedom, rounds })
}

/// Means of both sides, and their ratio (new over base) with its variation from round to round.
struct Measured {
    base: f64,
    new: f64,
    rounds: usize,
    ratio: Option<Told>,
}

fn within_rounds(
    base: &[Option<f64>],
    new: &[Option<f64>],
    record: &Record,
    confidence: f64,
) -> Option<Measured> {
    let both = base.iter().zip(new).filter_map(|(base, new)| Some(((*base)?, (*new)?)));
    let (base, new): (Vec<f64>, Vec<f64>) = both.unzip();
    let critical = boundary(record, base.len(), confidence).and_then(|it| it.critical_value(base.len()));
    let ratio = critical.and_then(|critical| {
        let ratio = paired_log_ratio(&new, &base, confidence).ok()?;
        Some(Told {
            interval: ratio.with_critical_value(critical, confidence),
            cv: ratio.round_cv(),
            degrees_of_freedom: base.len() as f64 - 1.0,
            rounds: base.len(),
        })
    });
    Some(Measured {
        base: geometric_mean(&base).ok()?,
        new: geometric_mean(&new).ok()?,
        rounds: base.len(),
        ratio,
    })
}

/// A run that was allowed to stop when its pairs were settled has looked after each round, and pays for it here too.
fn boundary(record: &Record, rounds: usize, confidence: f64) -> Option<Boundary> {
    let planned = record.experiment.rounds as usize;
    if record.experiment.until_settled && planned >= rounds {
        let proper = record.contenders.iter().filter(|entry| entry.twin_of.is_none()).count();
        return Boundary::every_round(proper, planned, confidence).ok();
    }
    Boundary::once(2, rounds, confidence).ok()
}

fn between_runs(base: &[Option<f64>], new: &[Option<f64>], confidence: f64) -> Option<Measured> {
    let [base, new] = [base, new].map(|side| side.iter().copied().flatten().collect::<Vec<f64>>());
    let ratio = welch_log_ratio(&new, &base, confidence).ok();
    Some(Measured {
        base: geometric_mean(&base).ok()?,
        new: geometric_mean(&new).ok()?,
        rounds: base.len().min(new.len()),
        ratio: ratio.map(|ratio| Told {
            interval: ratio.interval,
            cv: ratio.round_cv,
            degrees_of_freedom: (base.len().min(new.len()) as f64 - 1.0).max(1.0),
            rounds: base.len().min(new.len()),
        }),
    })
}

fn shift(ratio: &Interval, metric: Metric, cell: &Cell, margin: f64) -> Shift {
    if matches!(metric, Metric::P50 | Metric::P99) && cell.offered.is_capacity() {
        return Shift::NotCalled;
    }
    let within = ratio.low >= 1.0 / (1.0 + margin) && ratio.high <= 1.0 + margin;
    match (tiers::call(ratio, margin), metric.more_is_better()) {
        (tiers::Call::Tie, _) if within => Shift::Equal,
        (tiers::Call::Tie, _) => Shift::NotShown,
        (tiers::Call::Faster, true) | (tiers::Call::Slower, false) => Shift::Better,
        (tiers::Call::Faster, false) | (tiers::Call::Slower, true) => Shift::Worse,
    }
}
