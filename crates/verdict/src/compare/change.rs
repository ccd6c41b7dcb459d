//! How much each metric changed in one row, and whether that is more than noise.

use assay_model::comparison::{Change, Metric, Shift};
use assay_model::record::Record;
use assay_stats::ratio::paired_log_ratio;
use assay_stats::robust::geometric_mean;
use assay_stats::simultaneous::Boundary;
use assay_stats::unpaired::welch_log_ratio;
use assay_stats::{Interval, tiers};

use super::series::series;
use super::{Party, Planned};
use crate::CONFIDENCE;

/// The change of every metric that both sides have. There are `rows` rows of each metric: each interval gets its share of
/// the permitted error, so that all of them hold together (Bonferroni).
pub(super) fn changes(row: &Planned<'_>, rows: usize, margin: f64) -> Vec<Change> {
    let confidence = 1.0 - (1.0 - CONFIDENCE) / rows as f64;
    Metric::ALL.into_iter().filter_map(|metric| change(row, metric, confidence, margin)).collect()
}

fn change(row: &Planned<'_>, metric: Metric, confidence: f64, margin: f64) -> Option<Change> {
    let of = |party: &Party<'_>| series(party.evidence, &party.contender, &row.cell, metric);
    let (base, new) = (of(&row.base), of(&row.new));
    let measured = if row.base.evidence.record.id == row.new.evidence.record.id {
        within_rounds(&base, &new, row.base.evidence.record, confidence)
    } else {
        between_runs(&base, &new, confidence)
    }?;
    let ratio = measured.ratio.map(|(interval, _)| interval);
    Some(Change {
        metric,
        base: measured.base,
        new: measured.new,
        ratio: ratio.map(crate::interval),
        rounds: u32::try_from(measured.rounds).unwrap_or(u32::MAX),
        round_cv: measured.ratio.map(|(_, cv)| cv),
        call: ratio.map_or(Shift::NotShown, |ratio| shift(&ratio, metric, margin)),
    })
}

/// Means of both sides, and their ratio (new over base) with its variation from round to round.
struct Measured {
    base: f64,
    new: f64,
    rounds: usize,
    ratio: Option<(Interval, f64)>,
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
        Some((ratio.with_critical_value(critical, confidence), ratio.round_cv()))
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
        ratio: ratio.map(|ratio| (ratio.interval, ratio.round_cv)),
    })
}

fn shift(ratio: &Interval, metric: Metric, margin: f64) -> Shift {
    match (tiers::call(ratio, margin), metric.more_is_better()) {
        (tiers::Call::Tie, _) => Shift::NotShown,
        (tiers::Call::Faster, true) | (tiers::Call::Slower, false) => Shift::Better,
        (tiers::Call::Faster, false) | (tiers::Call::Slower, true) => Shift::Worse,
    }
}
