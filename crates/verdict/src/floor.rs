//! The A/A control: a contender against itself, restarted independently in the same rounds; and how noisy the run was.

use assay_model::check::{Check, Outcome};
use assay_model::record::Record;
use assay_model::rule::Rule;
use assay_model::verdict::{Noise, NoiseFloor, SelfRatio};

use super::tables::Tables;
use super::words::{exactly, percent};
use super::{median, objection, pass};

/// What the contender that took part twice differs from itself by; `None` when there is none, or too few rounds.
pub(crate) fn noise_floor(record: &Record, tables: &Tables<'_>) -> Option<NoiseFloor> {
    let twin = record.contenders.iter().find(|entry| entry.twin_of.is_some())?;
    let ratios = tables.self_ratios();
    let widths = ratios.iter().map(|of| (of.ratio.high / of.ratio.low).sqrt() - 1.0);
    let half_width = median(&widths.collect::<Vec<f64>>())?;
    Some(NoiseFloor { contender: twin.twin_of.clone()?, half_width, ratios })
}

/// Whether the machine is fit to compare: a contender must not differ from itself.
pub(crate) fn check(floor: Option<&NoiseFloor>, noise: Option<&Noise>) -> Check {
    let noise = noise.map_or_else(
        || "too few rounds to tell how much restarts vary".to_owned(),
        |noise| format!("restarts vary by {}", percent(noise.restart_cv)),
    );
    let Some(floor) = floor else {
        let evidence = format!("{noise}; no contender took part twice as an A/A control");
        return objection(
            Rule::NoiseFloor,
            Outcome::Warn,
            evidence,
            "measure at least two rounds, and without --no-aa",
        );
    };
    let apart = floor.ratios.iter().find(|one| one.ratio.low > 1.0 || one.ratio.high < 1.0);
    let Some(SelfRatio { cell, ratio }) = apart else {
        return pass(
            Rule::NoiseFloor,
            format!("{noise}; A/A control: {} is not shown to differ from itself", floor.contender),
        );
    };
    let evidence = format!(
        "{} differs from itself on {cell}: restarted it was {} times as fast, between {} and {}",
        floor.contender,
        exactly(ratio.estimate),
        exactly(ratio.low),
        exactly(ratio.high)
    );
    let remedy =
        "trust no difference of this size: look for what disturbs the machine, and measure more rounds";
    objection(Rule::NoiseFloor, Outcome::Warn, evidence, remedy)
}
