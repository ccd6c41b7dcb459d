//! The A/A control: a contender against itself, restarted independently in the same rounds; and how noisy the run was.

use std::collections::BTreeSet;

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, RestartsUnknown};
use assay_model::experiment::Cell;
use assay_model::offered::Offered;
use assay_model::record::Record;
use assay_model::rule::Rule;
use assay_model::verdict::{Noise, NoiseFloor};

use crate::capacity::tables::Tables;
use crate::evidence::sample::sample_of;
use crate::evidence::window::DecodedRecord;
use crate::{closed, median};

/// What the contender that took part twice differs from itself by; `None` when there is none, or too few rounds.
pub(crate) fn noise_floor(record: &Record, tables: &Tables<'_>) -> Option<NoiseFloor> {
    let contender = controlled(record)?.to_owned();
    let ratios = tables.self_ratios();
    let widths = ratios.iter().map(|of| (of.ratio.high / of.ratio.low).sqrt() - 1.0);
    let half_width = median(&widths.collect::<Vec<f64>>())?;
    Some(NoiseFloor { contender, half_width, ratios })
}

/// Name of the contender that takes part twice.
fn controlled(record: &Record) -> Option<&str> {
    record.contenders.iter().find_map(|entry| entry.control_of.as_deref())
}

/// Whether the machine is fit to compare: a contender must not differ from itself. A run that was to measure nobody at capacity, as
/// the search for a redline, is not told that it lacks a control.
pub(crate) fn check(
    evidence: &DecodedRecord<'_>,
    floor: Option<&NoiseFloor>,
    noise: Option<&Noise>,
) -> Option<Check> {
    let record = evidence.record;
    let measures = &record.experiment.measures;
    if floor.is_none() && !measures.iter().any(|measure| measure.rates.contains(&Offered::Capacity)) {
        return None;
    }
    let apart =
        |of: &NoiseFloor| of.ratios.iter().find(|one| one.ratio.low > 1.0 || one.ratio.high < 1.0).cloned();
    let apart = floor.and_then(apart);
    let outcome = if floor.is_none() || apart.is_some() { CheckOutcome::Warn } else { CheckOutcome::Pass };
    let evidence = Evidence::NoiseFloor {
        restart_cv: noise.map(|noise| noise.restart_cv),
        restarts_unknown: noise.is_none().then(|| restarts_unknown(evidence)),
        contender: controlled(record).map(str::to_owned),
        is_compared: floor.is_some(),
        apart,
    };
    Some(Check { rule: Rule::NoiseFloor, outcome, evidence })
}

/// What keeps the tables from telling how much restarts vary.
fn restarts_unknown(evidence: &DecodedRecord<'_>) -> RestartsUnknown {
    let cells = closed(evidence.record);
    let counting: Vec<(usize, usize)> = cells.iter().map(|cell| counting(evidence, cell)).collect();
    let rounds = counting.iter().map(|(rounds, _)| *rounds).max().unwrap_or(0);
    let contenders = counting.iter().map(|(_, contenders)| *contenders).max().unwrap_or(0);
    match (rounds, contenders) {
        (0 | 1, _) => RestartsUnknown::FewRounds,
        (_, 0 | 1) => RestartsUnknown::OneContender,
        _ => RestartsUnknown::Apart,
    }
}

/// The rounds of a cell in which anybody has a rate that counts, and those who have one, with limits and controls.
fn counting(evidence: &DecodedRecord<'_>, cell: &Cell) -> (usize, usize) {
    let all = evidence.record.contenders.iter();
    let rates = all.map(|entry| sample_of(evidence, entry, cell).rates_by_round());
    let rated: Vec<Vec<Option<f64>>> = rates.filter(|rates| rates.iter().any(Option::is_some)).collect();
    let rounds: BTreeSet<usize> = rated
        .iter()
        .flat_map(|rates| rates.iter().enumerate().filter(|(_, rate)| rate.is_some()))
        .map(|(round, _)| round)
        .collect();
    (rounds.len(), rated.len())
}
