//! Many runs, each in a few lines: when, of whom, by which command, and what came out.

use std::fmt::Write as _;

use assay_model::record::{Record, State};
use assay_model::verdict::Verdict;
use serde::Serialize;

use crate::terminal::Style;
use crate::text::{ascii, elide, shell};
use crate::{foreign, words};

/// Columns by which what belongs to a run is set in.
const INDENT: usize = 2;

/// A run as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its name.
    pub id: String,
    /// When it began, in UTC (RFC 3339).
    pub started_at: String,
    /// How far it came.
    pub state: State,
    /// The command line that measured it.
    pub command: String,
    /// Who was measured, A/A controls aside.
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
            result: words::sentences(record, verdict).into_iter().next(),
        }
    }
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
}
