//! A comparison in words, the same for every format.

use assay_model::check::{Check, CheckOutcome};
use assay_model::comparison::{
    Change, Comparison, Metric, Pairing, Row, Shift, ThresholdFinding, ThresholdOutcome,
};
use assay_model::rule::Rule;

use crate::table::{self, Column, Table, Weight};
use crate::{foreign, format};

/// What stands for a change that is shown to be less than the margin.
const EQUAL: &str = "~";
/// What stands for one of which nothing is shown.
const NOT_SHOWN: &str = "?";

/// One change as six texts: figure, base, new, change, interval, verdict.
pub(crate) fn figures(row: &Row, change: &Change) -> [String; 6] {
    let value = |value: Option<f64>| match (change.metric, value) {
        (_, None) => "–".to_owned(),
        (Metric::Rps, Some(value)) => format::rate(value),
        (Metric::P50 | Metric::P99 | Metric::Cpu, Some(value)) => format::duration(value),
        (Metric::Memory, Some(value)) => format::bytes(value as u64),
    };
    let ratio = change.ratio.map(|ratio| format::change(&ratio));
    let shown = match change.call {
        Shift::Equal => EQUAL.to_owned(),
        Shift::NotShown => NOT_SHOWN.to_owned(),
        Shift::Better | Shift::Worse | Shift::NotCalled => {
            ratio.as_ref().map_or(NOT_SHOWN.to_owned(), |ratio| ratio.estimate.clone())
        }
    };
    let verdict = match change.call {
        Shift::Better => "better",
        Shift::Worse => "worse",
        Shift::Equal => "equal",
        Shift::NotShown => "cannot tell",
        Shift::NotCalled => "",
    };
    let interval = ratio.map_or_else(|| "–".to_owned(), |ratio| ratio.interval);
    [name(row, change.metric), value(change.base), value(change.new), shown, interval, verdict.to_owned()]
}

/// One line of a row's table: what was found, and the texts of [`figures`].
pub(super) type Line = (Shift, [String; 6]);

/// The table of a row's lines: figure and change stay, the others go in the order in which they are least missed.
pub(super) fn table(lines: &[Line]) -> Table<'_, Line> {
    let text = |column: usize| move |(_, texts): &Line| texts[column].clone();
    let bold = |(call, texts): &Line| match call {
        Shift::NotCalled => foreign::markdown(&texts[3]),
        _ => format!("**{}**", foreign::markdown(&texts[3])),
    };
    Table::new("figure", lines, weighed)
        .column(Column::numbers("base").drop(3).foreign(), text(1))
        .column(Column::numbers("new").drop(1).foreign(), text(2))
        .column(Column::numbers("change").in_files_if(false), text(3))
        .column(Column::numbers("change").on_terminals_if(false), bold)
        .column(Column::intervals("interval").drop(2).foreign(), text(4))
        .column(Column::words("").drop(4).foreign(), text(5))
}

fn weighed((call, texts): &Line) -> table::Row {
    let weight = match call {
        Shift::Worse => Weight::Bad,
        Shift::Better => Weight::Good,
        Shift::Equal | Shift::NotShown | Shift::NotCalled => Weight::Plain,
    };
    table::Row::named(&texts[0]).weighing(weight)
}

/// The lines of a row's table: one for each change, and one more for each that was measured both ways.
pub(super) fn lines(row: &Row) -> Vec<Line> {
    row.changes
        .iter()
        .flat_map(|change| [Some((change.call, figures(row, change))), by_turns(change)])
        .flatten()
        .collect()
}

/// The ratio with one under load at a time, below that of both at the same time.
fn by_turns(change: &Change) -> Option<Line> {
    let ratio = format::change(&change.alternating?);
    let nothing = String::new;
    Some((
        Shift::NotCalled,
        ["  by turns".to_owned(), nothing(), nothing(), ratio.estimate, ratio.interval, nothing()],
    ))
}

pub(super) fn name(row: &Row, metric: Metric) -> String {
    let time = if row.cell.offered.is_capacity() { "service" } else { "response" };
    match metric {
        Metric::Rps => "req/s".to_owned(),
        Metric::P50 | Metric::P99 => format!("{} {time}", metric.name()),
        Metric::Cpu => "cpu/req".to_owned(),
        Metric::Memory => "memory".to_owned(),
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

/// How to read the tables; nothing where nothing was compared.
pub(crate) fn legend(comparison: &Comparison) -> Option<String> {
    let pairing = match comparison.pairing {
        Pairing::Rounds => "compared within rounds",
        Pairing::Runs => "means of different runs compared",
    };
    let rounds = comparison.rows.iter().flat_map(|row| &row.changes).map(|change| change.rounds);
    let (least, most) = (rounds.clone().min()?, rounds.max()?);
    let any =
        |call: Shift| comparison.rows.iter().flat_map(|row| &row.changes).any(|change| change.call == call);
    let not_called = if any(Shift::NotCalled) {
        "; percentiles of a closed loop follow from its throughput, and are not called better or worse"
    } else {
        ""
    };
    let is_median = comparison.rows.iter().flat_map(|row| &row.changes).any(|of| of.metric != Metric::Rps);
    let medians = if is_median {
        "; base and new of times, CPU and memory are medians over rounds, their changes ratios of geometric \
         means"
    } else {
        ""
    };
    Some(format!(
        "{EQUAL} shown to differ by {} at most; {NOT_SHOWN} not shown to differ, nor not to; {} intervals that hold for all \
         rows together; {pairing}, {}{medians}{not_called}",
        margins(comparison),
        format::percent(comparison.confidence),
        match (least, most) {
            (1, 1) => "1 round".to_owned(),
            (least, most) if least == most => format!("{most} rounds"),
            (least, most) => format!("{least} to {most} rounds"),
        }
    ))
}

/// The margins of all changes: one, or from one to another.
fn margins(comparison: &Comparison) -> String {
    let all = comparison.rows.iter().flat_map(|row| &row.changes).map(|change| change.margin);
    let (least, most) =
        all.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), m| (least.min(m), most.max(m)));
    match least < most {
        true => format!("{} or {}", format::percent(least), format::percent(most)),
        false => format::percent(comparison.margin),
    }
}

/// How grave a finding is.
pub(super) fn gravity(finding: &ThresholdFinding) -> CheckOutcome {
    match finding.outcome {
        ThresholdOutcome::Shown | ThresholdOutcome::NotAlike => CheckOutcome::Void,
        ThresholdOutcome::Possible { .. } | ThresholdOutcome::Unknown => CheckOutcome::Warn,
        ThresholdOutcome::Excluded => CheckOutcome::Pass,
    }
}

/// A finding as a sentence.
pub(super) fn sentence(comparison: &Comparison, finding: &ThresholdFinding) -> String {
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
        ThresholdOutcome::Shown => {
            format!("{what}: {estimate} {interval} is beyond {bound}, and that is no noise")
        }
        ThresholdOutcome::Excluded => format!("{what}: {interval} is on the right side of {bound}"),
        ThresholdOutcome::Possible { rounds_needed: Some(rounds) } => format!(
            "{what}: {interval} reaches over {bound}: possible, but not shown; about {rounds} rounds would tell"
        ),
        ThresholdOutcome::Possible { rounds_needed: None } => format!(
            "{what}: {interval} reaches over {bound}: possible, but not shown, and more rounds will hardly tell"
        ),
        ThresholdOutcome::NotAlike => format!("{what}: means nothing, because the sides do not answer alike"),
        ThresholdOutcome::Unknown => {
            let reason = row
                .withheld
                .as_ref()
                .map_or_else(|| "too few rounds tell of it on both sides".to_owned(), crate::words::withheld);
            format!("{what}: cannot be judged ({reason})")
        }
    }
}

/// A finding's label: what a script would look for.
pub(super) fn label(finding: &ThresholdFinding) -> &'static str {
    match finding.outcome {
        ThresholdOutcome::Shown => "regression",
        ThresholdOutcome::Excluded => "kept",
        ThresholdOutcome::Possible { .. } => "not shown",
        ThresholdOutcome::Unknown => "not judged",
        ThresholdOutcome::NotAlike => "void",
    }
}

/// The caveats that come before all figures, and the others.
pub(super) fn caveats(comparison: &Comparison) -> (Vec<&Check>, Vec<&Check>) {
    comparison.caveats.iter().partition(|caveat| is_first(caveat))
}

/// Whether figures mean nothing before it is read.
pub(super) fn is_first(caveat: &Check) -> bool {
    caveat.rule == Rule::LikeAnswers && caveat.outcome == CheckOutcome::Void
}

/// A caveat as a label and a sentence.
pub(super) fn caveat(caveat: &Check) -> (&'static str, String) {
    let label = match caveat.outcome {
        CheckOutcome::Void => "not comparable",
        CheckOutcome::Warn => "warning",
        CheckOutcome::Pass => "note",
    };
    let remedy = crate::words::remedy(caveat);
    (label, crate::words::with_remedy(&crate::words::evidence(caveat), remedy.as_deref()))
}

/// All caveats as sentences, those first that come before all figures.
pub(crate) fn caveats_in_words(comparison: &Comparison) -> Vec<String> {
    let (first, others) = caveats(comparison);
    first.into_iter().chain(others).map(|of| caveat(of).1).collect()
}
