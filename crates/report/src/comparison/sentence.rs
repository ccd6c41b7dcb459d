//! What a comparison says, in one sentence for each row; and how it was measured, in another.

use assay_model::comparison::{Change, Comparison, Metric, Row, Shift};
use assay_model::design::{Because, Comparing, Design};

use super::words::name;
use crate::format;

/// `new is 2.1 % slower than old [1.4 … 2.8 %]`, one sentence for each row.
pub(super) fn sentences(comparison: &Comparison) -> Vec<String> {
    let cells: std::collections::BTreeSet<_> = comparison.rows.iter().map(|row| &row.cell).collect();
    let place = |row: &Row| if cells.len() > 1 { format!("{}: ", row.cell) } else { String::new() };
    comparison.rows.iter().map(|row| format!("{}{}", place(row), sentence(row))).collect()
}

fn sentence(row: &Row) -> String {
    let (base, new) = (&row.base.contender, &row.new.contender);
    match base == new {
        true => worded(row, &format!("{}:{base}", row.base.run), &format!("{}:{new}", row.new.run)),
        false => worded(row, base, new),
    }
}

/// `nginx is 2.1 % slower than before [1.4 … 2.8 %]`: a row whose base is the same contender in an earlier run.
pub(crate) fn since(row: &Row) -> String {
    worded(row, "before", &row.new.contender)
}

/// The change that tells most of a row: that of throughput, or at a given rate of the tail. `None` where none is told.
pub(crate) fn foremost(row: &Row) -> Option<&Change> {
    let of =
        |metric: Metric| row.changes.iter().find(|change| change.metric == metric && change.ratio.is_some());
    let is_told = row.withheld.is_none();
    is_told.then(|| of(Metric::Rps).or_else(|| of(Metric::P99)).or_else(|| of(Metric::P50))).flatten()
}

fn worded(row: &Row, base: &str, new: &str) -> String {
    if let Some(reason) = &row.withheld {
        return format!("cannot tell whether {new} differs from {base}: {}", crate::words::withheld(reason));
    }
    match foremost(row) {
        Some(change) => told(row, change, base, new),
        None => format!("cannot tell whether {new} differs from {base}: too few rounds tell of both"),
    }
}

fn told(row: &Row, change: &Change, base: &str, new: &str) -> String {
    let Some(ratio) = change.ratio else { return String::new() };
    let subject = match change.metric {
        Metric::Rps => new.to_owned(),
        metric => format!("{} of {new}", name(row, metric)),
    };
    let of = format::magnitude(&ratio);
    let interval = format::change(&ratio).interval;
    match change.call {
        Shift::Better | Shift::Worse => {
            let direction = direction(change.metric, ratio.estimate);
            match of.estimate.strip_suffix(" times") {
                Some(times) if change.metric == Metric::Rps => {
                    format!("{subject} is {times} times as fast as {base} {}", of.interval)
                }
                Some(times) => format!("{subject} is {times} times that of {base} {}", of.interval),
                None => format!("{subject} is {} {direction} than {base} {}", of.estimate, of.interval),
            }
        }
        Shift::Equal => format!(
            "{subject} does not differ from {base} by more than {} {interval}",
            format::percent(change.margin)
        ),
        Shift::NotShown | Shift::NotCalled => {
            let could = change.detectable.map_or_else(
                || "this comparison could see hardly anything".to_owned(),
                |least| format!("this comparison could see changes from about {}", format::percent(least)),
            );
            format!("cannot tell whether {subject} differs from {base} {interval}: {could}")
        }
    }
}

fn direction(metric: Metric, ratio: f64) -> &'static str {
    match (metric, ratio > 1.0) {
        (Metric::Rps, true) => "faster",
        (Metric::Rps, false) => "slower",
        (_, true) => "longer",
        (_, false) => "shorter",
    }
}

/// How it was measured and why so, with what the base differs from itself by; nothing for runs that were measured for
/// something else.
pub(super) fn design(comparison: &Comparison) -> Option<String> {
    let comparing = comparison.comparing.as_ref()?;
    let how = match comparing.design {
        Design::Duet => {
            "duet: both under load at the same time on the same CPUs, figures from turns of one at a time"
        }
        Design::Alternating => "alternating: one under load at a time",
    };
    let several = comparison.control.len() > 1;
    let control = comparison.control.iter().map(|of| {
        let place = if several { format!(" in {}", of.cell) } else { String::new() };
        format!("; {} over itself{place} {}", comparing.base, format::change(&of.ratio).interval)
    });
    Some(format!("{how}, {}{}", because(comparing), control.collect::<String>()))
}

fn because(comparing: &Comparing) -> String {
    match &comparing.because {
        Because::AskedFor => "as asked for".to_owned(),
        Because::OneKind => "because both are builds of one kind of server".to_owned(),
        Because::DifferentPrograms { base, other } => {
            format!("because {base} and {other} are different programs")
        }
        Because::NotClosed => "because not all loads are closed loops of a given time".to_owned(),
        Because::UserStack => "because a server on the user-space stack has a wire to itself".to_owned(),
        Because::Database => "because they would share the database".to_owned(),
        Because::ShapedLink => "because they would share the rate or the loss of the link".to_owned(),
        Because::NotTogether => "because they cannot live at the same time".to_owned(),
        Because::SharedCpus => "because server and generator have the same CPUs".to_owned(),
    }
}
