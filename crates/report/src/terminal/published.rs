//! Figures of others beside ours, and shares answered in time.

use assay_model::record::Record;
use assay_model::verdict::{AnsweredStanding, AnsweredVerdict, Beside, BesideRow};

use super::table::{Column, Row, table};
use super::{Page, prose};
use crate::{format, notes, published, words};

/// Both tables as one: in every column their figure and ours.
pub(super) fn figures(page: &mut Page, record: &Record, verdict: &Beside) {
    let texts = |page: &Page, text: &dyn Fn(&BesideRow) -> String| {
        verdict.rows.iter().map(|row| page.spell(&text(row))).collect::<Vec<String>>()
    };
    let mut columns = Vec::new();
    for index in 0..verdict.columns.len() {
        let both = |row: &BesideRow| published::figures(verdict, row, index).join(" | ");
        columns.push(Column::new(published::head(verdict, index), 0, texts(page, &both)));
        let interval = |row: &BesideRow| published::interval(verdict, row, index);
        columns.push(Column::new("interval", 2, texts(page, &interval)));
    }
    columns.push(Column::new("", 1, texts(page, &|row| published::remark(row))));
    let rows: Vec<Row<'_>> =
        verdict.rows.iter().map(|row| Row { contender: &row.title, withheld: None }).collect();
    table(page, record, &published::title(verdict), &rows, columns);
    prose::theirs(page, &verdict.source, &words::published::scaled(record, verdict));
}

/// The shares of one closed loop.
pub(super) fn answered(page: &mut Page, record: &Record, verdict: &AnsweredVerdict) {
    let standings = &verdict.standings;
    let column = |head: String, drop, text: &dyn Fn(&AnsweredStanding) -> String| {
        Column::new(head, drop, standings.iter().map(|standing| page.spell(&text(standing))).collect())
    };
    let mut columns = Vec::new();
    for (index, ms) in verdict.within_ms.iter().enumerate() {
        let drop = if published::is_told_first(&record.experiment, *ms) { 1 } else { 3 };
        let head = page.spell(&format::duration(ms * 1e6));
        columns.push(column(head, drop, &|standing| published::share(standing, index)));
    }
    columns.push(column("slowest".to_owned(), 2, &|standing| {
        notes::or_dash(standing.slowest_ns, format::duration)
    }));
    if standings.iter().any(|standing| standing.unanswered > 0) {
        columns.push(column("unanswered".to_owned(), 0, &|standing| format::count(standing.unanswered)));
    }
    let rows: Vec<Row<'_>> = (standings.iter())
        .map(|standing| Row { contender: &standing.contender, withheld: standing.withheld.as_ref() })
        .collect();
    table(page, record, &published::answered_title(&verdict.cell), &rows, columns);
}
