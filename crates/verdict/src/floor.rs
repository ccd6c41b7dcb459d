//! The A/A control: a contender against itself, restarted independently in the same rounds; and how noisy the run was.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::Evidence;
use assay_model::offered::Offered;
use assay_model::record::Record;
use assay_model::rule::Rule;
use assay_model::verdict::{Noise, NoiseFloor};

use super::median;
use super::tables::Tables;

/// What the contender that took part twice differs from itself by; `None` when there is none, or too few rounds.
pub(crate) fn noise_floor(record: &Record, tables: &Tables<'_>) -> Option<NoiseFloor> {
    let contender = controlled(record)?.to_owned();
    let ratios = tables.self_ratios();
    let widths = ratios.iter().map(|of| (of.ratio.high / of.ratio.low).sqrt() - 1.0);
    let half_width = median(&widths.collect::<Vec<f64>>())?;
    Some(NoiseFloor { contender, half_width, ratios })
}

/// Who takes part twice.
fn controlled(record: &Record) -> Option<&str> {
    record.contenders.iter().find_map(|entry| entry.control_of.as_deref())
}

/// Whether the machine is fit to compare: a contender must not differ from itself. A run that was to measure nobody at capacity, as
/// the search for a redline, is not told that it lacks a control.
pub(crate) fn check(record: &Record, floor: Option<&NoiseFloor>, noise: Option<&Noise>) -> Option<Check> {
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
        contender: controlled(record).map(str::to_owned),
        is_compared: floor.is_some(),
        apart,
    };
    Some(Check { rule: Rule::NoiseFloor, outcome, evidence })
}
