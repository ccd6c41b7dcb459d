//! The noise floor: a contender against itself, restarted independently in the same rounds.

use assay_model::check::{Check, Outcome};
use assay_model::experiment::Cell;
use assay_model::record::Entry;
use assay_model::verdict::{Interval, NoiseFloor, SelfRatio};
use assay_stats::Ratio;
use assay_stats::ratio::paired_log_ratio;
use assay_stats::tiers::LEAST_MARGIN;

use super::sample::sample_of;
use super::window::Evidence;
use super::words::percent;
use super::{CONFIDENCE, closed, interval, median, objection, pass};

/// The name of the rule.
const RULE: &str = "noise-floor";

/// Largest margin of an equivalence, and noise floor of a machine that is fit to compare.
const MOST_EQUIVALENT: f64 = 0.05;

/// What the contender that took part twice differs from itself by; `None` when there is none, or too few rounds.
pub(crate) fn noise_floor(evidence: &Evidence<'_>) -> Option<NoiseFloor> {
    let record = evidence.record;
    let twin = record.contenders.iter().find(|entry| entry.twin_of.is_some())?;
    let original = record.contenders.iter().find(|entry| Some(&entry.name) == twin.twin_of.as_ref())?;
    let of = |cell: Cell| Some((self_ratio(evidence, original, twin, &cell)?, cell));
    let measured: Vec<(Ratio, Cell)> = closed(record).into_iter().filter_map(of).collect();
    let widths = measured.iter().map(|(ratio, _)| ratio.interval.relative_half_width());
    let half_width = median(&widths.collect::<Vec<f64>>())?;
    // As many cells, as many chances to miss 1 (Bonferroni).
    let each = 1.0 - (1.0 - CONFIDENCE) / measured.len().max(1) as f64;
    let simultaneous = |(ratio, cell): (Ratio, Cell)| {
        let of_all = Interval { confidence: CONFIDENCE, ..interval(ratio.at_confidence(each).ok()?) };
        Some(SelfRatio { cell, ratio: of_all })
    };
    let ratios = measured.into_iter().filter_map(simultaneous).collect();
    Some(NoiseFloor { contender: original.name.clone(), half_width, ratios })
}

fn self_ratio(evidence: &Evidence<'_>, original: &Entry, twin: &Entry, cell: &Cell) -> Option<Ratio> {
    let rates = |entry| sample_of(evidence, entry, cell).rates();
    let both = rates(original).into_iter().zip(rates(twin)).filter_map(|(first, second)| first.zip(second));
    let (first, second): (Vec<f64>, Vec<f64>) = both.unzip();
    paired_log_ratio(&first, &second, CONFIDENCE).ok()
}

/// The smallest difference that is called one: what equals differ by, and never less than anybody cares for.
pub(crate) fn margin(floor: Option<&NoiseFloor>) -> f64 {
    floor.map_or(LEAST_MARGIN, |floor| floor.half_width.max(LEAST_MARGIN))
}

/// The largest difference that may be called none, when two are to be called equivalent. Equals that seem to differ by more
/// show that the machine is noisy, and not that such a difference is nothing.
pub(crate) fn equivalence_margin(margin: f64) -> f64 {
    margin.min(MOST_EQUIVALENT)
}

/// Whether the machine is fit to compare: a contender must not differ from itself.
pub(crate) fn check(floor: Option<&NoiseFloor>) -> Check {
    let Some(floor) = floor else {
        let evidence =
            format!("not measured: the margin of a tie is the least one, {}", percent(LEAST_MARGIN));
        return objection(RULE, Outcome::Warn, evidence, "measure at least two rounds, and without --no-aa");
    };
    let apart = floor.ratios.iter().find(|one| one.ratio.low > 1.0 || one.ratio.high < 1.0);
    let Some(SelfRatio { cell, ratio }) = apart else {
        let half_width = percent(floor.half_width);
        let evidence = format!("noise floor {half_width} ({} against itself)", floor.contender);
        if floor.half_width <= MOST_EQUIVALENT {
            return pass(RULE, evidence);
        }
        let evidence = format!("{evidence}: no smaller difference can be shown");
        return objection(RULE, Outcome::Warn, evidence, "measure more rounds, or on a quieter machine");
    };
    let evidence = format!(
        "{} differs from itself on {cell}: restarted it was {:.3} times as fast, between {:.3} and {:.3}",
        floor.contender, ratio.estimate, ratio.low, ratio.high
    );
    let remedy =
        "trust no difference of this size: look for what disturbs the machine, and measure more rounds";
    objection(RULE, Outcome::Warn, evidence, remedy)
}
