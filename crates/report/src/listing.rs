//! Many runs, each in a few lines: when, of whom, by which command, and what came out.

use std::fmt::Write as _;

use assay_model::record::{Record, State};
use assay_model::verdict::Verdict;
use serde::Serialize;

use crate::absent::absent;
use crate::terminal::Style;
use crate::text::{ascii, elide, shell};
use crate::{foreign, sentences};

/// Columns by which what belongs to a run is set in.
const INDENT: usize = 2;

/// A run as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The run's name.
    pub id: String,
    /// When it began, in UTC (RFC 3339).
    pub started_at: String,
    /// How far it came.
    pub state: State,
    /// The command line that measured it.
    pub command: String,
    /// The contenders that were measured, A/A controls aside.
    pub contenders: Vec<String>,
    /// What came out, in one sentence; none where nothing may be said.
    pub result: Option<String>,
}

impl Entry {
    /// What a list shows of a run.
    pub fn of(record: &Record, verdict: &Verdict) -> Self {
        let measured = record.contenders.iter().filter(|entry| entry.control_of.is_none());
        Self {
            id: record.id.clone(),
            started_at: record.started_at.clone(),
            state: record.state,
            command: shell(&record.command),
            contenders: measured.map(|entry| entry.identity.name.clone()).collect(),
            result: result(record, verdict),
        }
    }
}

/// What tells most of a run: its first finding, or where nobody was measured, why not.
fn result(record: &Record, verdict: &Verdict) -> Option<String> {
    if record.imported.is_some() || is_anybody_measured(record) {
        return sentences::of_run(record, verdict).into_iter().next();
    }
    let absent = absent(record);
    let others = match absent.len().saturating_sub(1) {
        0 => String::new(),
        1 => " (and 1 other)".to_owned(),
        more => format!(" (and {more} others)"),
    };
    let first = absent.first().map(|of| format!("{}{others} was not measured: {}.", of.who(), of.why.reason));
    Some(first.unwrap_or_else(|| "Nobody was measured.".to_owned()))
}

/// Whether there is a window of anybody but the limit, or of the limit where nobody else was asked for.
pub(crate) fn is_anybody_measured(record: &Record) -> bool {
    let is_alone = record.contenders.iter().all(|entry| entry.identity.is_limit());
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    let counts = |name: &str| is_alone || !record.is_limit(name);
    runs.into_iter().any(|run| !run.cells.is_empty() && counts(&run.contender))
}

/// The list for a terminal; no line is longer than it is wide.
pub fn text(entries: &[Entry], style: &Style) -> String {
    let text: String = entries.iter().map(|entry| paragraph(entry, style.width)).collect();
    if style.ascii { ascii(&text) } else { text }
}

fn paragraph(entry: &Entry, width: usize) -> String {
    let state = match entry.state {
        State::Complete => "",
        State::Running => ", unfinished",
        State::BudgetSpent => ", cut short by its budget",
        State::Interrupted => ", interrupted",
    };
    let mut out = format!("{}  {}{state}\n", foreign::line(&entry.id), moment(&entry.started_at));
    let more =
        [Some(format!("$ {}", entry.command)), Some(entry.contenders.join(", ")), entry.result.clone()];
    for line in more.into_iter().flatten().filter(|line| !line.is_empty()) {
        let room = width.saturating_sub(INDENT);
        let _ = writeln!(out, "{:INDENT$}{}", "", elide(&foreign::line(&line), room, "…"));
    }
    out
}

/// A time as people read it: `2026-11-22T12:00:43Z` is `2026-11-22 12:00 UTC`.
fn moment(started_at: &str) -> String {
    let text = foreign::line(started_at);
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_in_lines_that_fit() {
        let entry = Entry {
            id: "20261122-120043-run".to_owned(),
            started_at: "2026-11-22T12:00:43Z".to_owned(),
            state: State::Interrupted,
            command: "assay run nginx node -w hello".to_owned(),
            contenders: vec!["nginx".to_owned(), "node".to_owned()],
            result: Some("nginx is the fastest of two, by 2.4 times, and this sentence goes on".to_owned()),
        };
        let style = Style { width: 60, colour: false, ascii: false, full: false };
        assert_eq!(
            text(&[entry], &style),
            "20261122-120043-run  2026-11-22 12:00 UTC, interrupted\n  $ assay run nginx node -w hello\n  nginx, node\n  \
             nginx is the fastest of two, by 2.4 times, and this sente…\n"
        );
    }

    #[test]
    fn of_a_run_without_figures_the_reason_is_told_and_of_others_the_finding() {
        use assay_model::record::{NotRun, Stage};
        let mut record = assay_verdict::testing::record(&[("a", &[1000.0, 1010.0]), ("b", &[900.0, 910.0])]);
        record.assay.profile = "debug".to_owned();
        let told = |record: &Record| Entry::of(record, &assay_verdict::testing::judged(record)).result;
        assert!(told(&record).is_some_and(|told| told.starts_with("Do not use these numbers: ")));
        record.rounds.clear();
        assert_eq!(told(&record).as_deref(), Some("Nobody was measured."));
        for (entry, reason) in record.contenders.iter_mut().zip(["needs Gloop", "needs Bloop"]) {
            let (reason, remedy) = (reason.to_owned(), None);
            entry.not_run = Some(NotRun { stage: Stage::Needs, reason, remedy, log_tail: Vec::new() });
        }
        assert_eq!(told(&record).as_deref(), Some("a (and 1 other) was not measured: needs Gloop."));
        record.contenders[0].identity.kind = assay_model::contender::Kind::Limit;
        let told = told(&record);
        assert_eq!(
            told.as_deref(),
            Some("b (and 1 other) was not measured: needs Bloop."),
            "the limit depends on others"
        );
    }
}
