//! A comparison in words, the same for every format.

use assay_model::check::Outcome;
use assay_model::comparison::{Change, Comparison, Crossing, Finding, Metric, Pairing, Row, Shift};

use crate::format;

/// What a change is not shown to be.
pub(super) const NOT_SHOWN: &str = "~";

/// Heads of the columns of [`figures`].
pub(super) const HEADS: [&str; 6] = ["figure", "base", "new", "change", "interval", ""];

/// One change as six texts: figure, base, new, change, interval, verdict.
pub(super) fn figures(row: &Row, change: &Change) -> [String; 6] {
    let value = |value: f64| match change.metric {
        Metric::Rps => format::rate(value),
        Metric::P50 | Metric::P99 | Metric::Cpu => format::duration(value),
        Metric::Rss => format::bytes(value as u64),
    };
    let ratio = change.ratio.map(|ratio| format::change(&ratio));
    let shown = match change.call {
        Shift::NotShown => NOT_SHOWN.to_owned(),
        Shift::Better | Shift::Worse => ratio.as_ref().map_or(NOT_SHOWN.to_owned(), |r| r.estimate.clone()),
    };
    let verdict = match change.call {
        Shift::Better => "better",
        Shift::Worse => "worse",
        Shift::NotShown => "",
    };
    let interval = ratio.map_or_else(|| "–".to_owned(), |ratio| ratio.interval);
    [name(row, change.metric), value(change.base), value(change.new), shown, interval, verdict.to_owned()]
}

fn name(row: &Row, metric: Metric) -> String {
    let time = if row.cell.offered.is_capacity() { "service" } else { "response" };
    match metric {
        Metric::Rps => "req/s".to_owned(),
        Metric::P50 | Metric::P99 => format!("{} {time}", metric.name()),
        Metric::Cpu => "cpu/req".to_owned(),
        Metric::Rss => "rss".to_owned(),
    }
}

/// `hello at 64: new against old`; runs are named when they differ.
pub(super) fn title(row: &Row) -> String {
    let (base, new) = (&row.base, &row.new);
    if base.run == new.run {
        return format!("{}: {} against {}", row.cell, new.contender, base.contender);
    }
    format!("{}: {}:{} against {}:{}", row.cell, new.run, new.contender, base.run, base.contender)
}

/// How to read the tables.
pub(super) fn legend(comparison: &Comparison) -> String {
    let pairing = match comparison.pairing {
        Pairing::Rounds => "compared within rounds",
        Pairing::Runs => "means of different runs compared",
    };
    let rounds = comparison.rows.iter().flat_map(|row| &row.changes).map(|change| change.rounds);
    format!(
        "{NOT_SHOWN} not shown to differ by more than {}; {} intervals that hold for all rows together; {pairing}, {}",
        format::percent(comparison.margin),
        format::percent(comparison.confidence),
        match (rounds.clone().min(), rounds.max()) {
            (Some(1), Some(1)) => "1 round".to_owned(),
            (Some(least), Some(most)) if least == most => format!("{most} rounds"),
            (Some(least), Some(most)) => format!("{least} to {most} rounds"),
            _ => "no rounds".to_owned(),
        }
    )
}

/// How grave a finding is.
pub(super) fn gravity(finding: &Finding) -> Outcome {
    match finding.outcome {
        Crossing::Shown => Outcome::Void,
        Crossing::Possible { .. } | Crossing::Unknown => Outcome::Warn,
        Crossing::Excluded => Outcome::Pass,
    }
}

/// A finding as a sentence.
pub(super) fn sentence(comparison: &Comparison, finding: &Finding) -> String {
    let Some(row) = comparison.rows.get(finding.row as usize) else { return String::new() };
    let threshold = finding.threshold;
    let metric = threshold.metric;
    let what = format!("{} of {}, {}", name(row, metric), row.new.contender, row.cell);
    let bound = format::signed_percent(threshold.change);
    let ratio = row.changes.iter().find(|change| change.metric == metric).and_then(|change| change.ratio);
    let change = ratio.map(|ratio| format::change(&ratio));
    let interval = change.as_ref().map_or_else(String::new, |change| change.interval.clone());
    let estimate = change.map_or_else(String::new, |change| change.estimate);
    match finding.outcome {
        Crossing::Shown => format!("{what}: {estimate} {interval} is beyond {bound}, and that is no noise"),
        Crossing::Excluded => format!("{what}: {interval} is on the right side of {bound}"),
        Crossing::Possible { rounds_needed: Some(rounds) } => format!(
            "{what}: {interval} reaches over {bound}: possible, but not shown; about {rounds} rounds would tell"
        ),
        Crossing::Possible { rounds_needed: None } => format!(
            "{what}: {interval} reaches over {bound}: possible, but not shown, and more rounds will hardly tell"
        ),
        Crossing::Unknown => {
            let reason = row.withheld.as_deref().unwrap_or("too few rounds tell of it on both sides");
            format!("{what}: cannot be judged ({reason})")
        }
    }
}

/// A finding's label: what a script would look for.
pub(super) fn label(finding: &Finding) -> &'static str {
    match finding.outcome {
        Crossing::Shown => "regression",
        Crossing::Excluded => "kept",
        Crossing::Possible { .. } => "not shown",
        Crossing::Unknown => "not judged",
    }
}
