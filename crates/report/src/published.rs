//! Figures of others beside ours, and shares answered in time: the words of every format, and Markdown.

use assay_model::experiment::{Cell, Experiment};
use assay_model::offered::Offered;
use assay_model::published::Figures;
use assay_model::record::Record;
use assay_model::verdict::{AnsweredStanding, AnsweredVerdict, Beside, BesideRow};

use crate::table::{Column, DASH, Row, Table, or_dash};
use crate::{foreign, format, titles, words};

/// What a table of both shows; the source is told beside it.
pub(crate) fn title(beside: &Beside) -> String {
    let quantity = &beside.quantity;
    let on = beside.network;
    match (&beside.baseline, beside.figures) {
        (_, Figures::AnsweredWithinMs) => format!("theirs | ours (on {on}): {quantity}"),
        (Some(name), Figures::Throughput) => {
            let row = beside.rows.iter().find(|row| row.contender.as_ref() == Some(name));
            let title = row.map_or(name, |row| &row.title);
            format!("theirs | ours (on {on}): {quantity} over {title}'s in the same table")
        }
        (None, Figures::Throughput) => {
            format!(
                "theirs | ours (on {on}): {quantity}; no contender was measured in both, so nothing compares"
            )
        }
    }
}

/// What a column is headed with.
fn head(beside: &Beside, column: usize) -> String {
    let text = beside.columns.get(column).map_or("", String::as_str);
    match (beside.figures, text.parse::<f64>()) {
        (Figures::AnsweredWithinMs, Ok(ms)) => format::duration(ms * 1e6),
        _ => text.to_owned(),
    }
}

/// What is compared in a row and column: shares as they are, throughputs as ratios.
fn figures(beside: &Beside, row: &BesideRow, column: usize) -> [String; 2] {
    let of = |list: &[Option<f64>]| list.get(column).copied().flatten();
    let estimates = |list: &[Option<assay_model::verdict::Interval>]| -> Option<f64> {
        list.get(column).copied().flatten().map(|own| own.estimate)
    };
    let (theirs, ours, in_words): (_, _, fn(f64) -> String) = match (beside.figures, &beside.baseline) {
        (Figures::AnsweredWithinMs, _) => (of(&row.values), estimates(&row.ours), format::percent),
        (Figures::Throughput, Some(_)) => {
            (of(&row.ratio_to_baseline), estimates(&row.our_ratio), format::quotient)
        }
        (Figures::Throughput, None) => (of(&row.values), estimates(&row.ours), format::rate),
    };
    [theirs, ours].map(|value| value.map_or_else(|| DASH.to_owned(), in_words))
}

/// The interval of our figure in a row and column.
fn interval(beside: &Beside, row: &BesideRow, column: usize) -> String {
    let shares = beside.figures == Figures::AnsweredWithinMs;
    let list = if shares { &row.ours } else { &row.our_ratio };
    match list.get(column).copied().flatten() {
        Some(of) if shares => format::percent_interval(&of).interval,
        Some(of) => format::quotient_interval(&of).interval,
        None => DASH.to_owned(),
    }
}

/// Why there is nothing of ours, or on which network ours is where that is another than the title's, in a word or two.
fn remark(row: &BesideRow) -> String {
    let of_network = || row.network.map(|network| format!("ours on {network}"));
    match (&row.not_run, &row.withheld) {
        (Some(why), _) if row.contender.is_none() => why.clone(),
        (Some(_), _) => "not run".to_owned(),
        (None, Some(_)) => "withheld".to_owned(),
        (None, None) => of_network().unwrap_or_default(),
    }
}

/// What a table of shares answered in time shows; without times only who took how long for a number of requests.
pub(crate) fn answered_title(verdict: &AnsweredVerdict) -> String {
    let load = match verdict.cell.offered {
        Offered::Requests(n) => format!("{} requests", format::count(u64::from(n))),
        _ => "a closed loop's requests".to_owned(),
    };
    let cell = titles::cell_title(&verdict.cell);
    if verdict.within_ms.is_empty() {
        format!("{cell}: {load}, the slowest answer of all rounds")
    } else {
        format!("{cell}: share of {load} answered within")
    }
}

/// Whether a time is one that is told where there is room for a few only: a power of ten, or one of the source's.
fn is_told_first(experiment: &Experiment, ms: f64) -> bool {
    let published = experiment.published.iter().filter(|of| of.figures == Figures::AnsweredWithinMs);
    let mut theirs = published.flat_map(|of| &of.columns).filter_map(|column| column.parse::<f64>().ok());
    let exponent = ms.log10();
    (exponent - exponent.round()).abs() < 1e-9 || theirs.any(|their| their == ms)
}

/// The share answered within the time of this index.
fn share(standing: &AnsweredStanding, index: usize) -> String {
    standing.shares.get(index).map_or_else(|| DASH.to_owned(), |share| format::percent_of_all(share.estimate))
}

/// The published figure of a contender in a cell, where one of the same kind as a window's exists: requests per second.
pub(crate) fn published_per_second(experiment: &Experiment, contender: &str, cell: &Cell) -> Option<f64> {
    let published = experiment.published.as_ref().filter(|of| of.figures == Figures::Throughput)?;
    let first = || experiment.measures.first().map(|measure| measure.workload.as_str());
    let in_its_place = published.workload.as_deref().or_else(first) == Some(cell.workload.as_str());
    let connections = cell.connections.to_string();
    let column = published.columns.iter().position(|column| *column == connections)?;
    let row = published.rows.iter().find(|row| row.contender.as_deref() == Some(contender))?;
    row.values.get(column).copied().filter(|_| in_its_place && cell.offered.is_capacity())
}

/// The source's table and ours as one: in every column their figure and ours.
pub(crate) fn table(beside: &Beside) -> Table<'_, BesideRow> {
    let mut table = Table::new("", &beside.rows, |row| Row::named(&row.title));
    for column in 0..beside.columns.len() {
        let head = head(beside, column);
        let theirs = Column::numbers("").in_files_as(format!("{head}: theirs")).on_terminals_if(false);
        let ours = Column::numbers("").in_files_as("ours").on_terminals_if(false);
        table = table
            .column(Column::numbers(head).in_files_if(false), |row| figures(beside, row, column).join(" | "))
            .column(theirs, |row| figures(beside, row, column)[0].clone())
            .column(ours, |row| figures(beside, row, column)[1].clone())
            .column(Column::intervals("interval").drop(2), |row| interval(beside, row, column));
    }
    table.column(Column::labels("").drop(1).foreign(), remark)
}

/// The table in GitHub-flavoured Markdown, with its source and what follows from it and ours.
pub(crate) fn markdown(record: &Record, beside: &Beside) -> String {
    let mut out = format!(
        "\n### {}\n\nTheirs: {}.\n\n{}",
        foreign::markdown(&title(beside)),
        foreign::markdown(&beside.source),
        table(beside).markdown_lines()
    );
    let sentences = words::published::scaled(record, beside);
    sentences.iter().for_each(|sentence| out += &format!("\n{}\n", foreign::markdown(sentence)));
    out
}

/// The shares of one closed loop that were answered in time.
pub(crate) fn answered<'v>(record: &Record, verdict: &'v AnsweredVerdict) -> Table<'v, AnsweredStanding> {
    let standings = &verdict.standings;
    let mut table =
        Table::new("contender", standings, |of| Row::of(record, &of.contender, of.withheld.as_ref()));
    for (index, ms) in verdict.within_ms.iter().enumerate() {
        let drop = if is_told_first(&record.experiment, *ms) { 1 } else { 3 };
        table = table.column(Column::numbers(format::duration(ms * 1e6)).drop(drop), |of| share(of, index));
    }
    let is_any_unanswered = standings.iter().any(|standing| standing.unanswered > 0);
    table
        .column(Column::numbers("slowest").drop(2), |of| or_dash(of.slowest_ns, format::duration))
        .column(Column::numbers("unanswered").on_terminals_if(is_any_unanswered), |of| {
            format::count(of.unanswered)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::experiment::Measure;
    use assay_model::published::{Published, PublishedRow};

    #[test]
    fn a_window_has_its_published_figure_and_no_other() {
        let row = PublishedRow {
            title: "A".to_owned(),
            contender: Some("a".to_owned()),
            network: None,
            values: vec![100.0, 200.0],
        };
        let published = Published {
            source: String::new(),
            quantity: String::new(),
            figures: Figures::Throughput,
            workload: None,
            cpus: None,
            columns: vec!["64".to_owned(), "128".to_owned()],
            rows: vec![row],
        };
        let experiment = Experiment {
            published: Some(published),
            ..Experiment::new("e", vec![Measure::capacity("hello", vec![64, 128])])
        };
        let of = |contender, cell: &Cell| published_per_second(&experiment, contender, cell);
        assert_eq!(of("a", &Cell::closed("hello", 128)), Some(200.0));
        assert_eq!(of("b", &Cell::closed("hello", 128)), None);
        assert_eq!(of("a", &Cell::closed("json", 128)), None);
        let at_a_rate = Cell { offered: Offered::Common, ..Cell::closed("hello", 64) };
        assert_eq!(of("a", &at_a_rate), None);
    }

    #[test]
    fn a_number_of_requests_without_times_has_no_share_in_its_title() {
        let cell = Cell { offered: Offered::Requests(3000), ..Cell::closed("hello", 64) };
        let of = |within_ms| AnsweredVerdict { cell: cell.clone(), within_ms, standings: Vec::new() };
        assert_eq!(
            answered_title(&of(Vec::new())),
            "hello, 64 connections: 3,000 requests, the slowest answer of all rounds"
        );
        assert_eq!(
            answered_title(&of(vec![10.0])),
            "hello, 64 connections: share of 3,000 requests answered within"
        );
    }

    #[test]
    fn powers_of_ten_and_the_times_of_the_source_come_first() {
        let plain = Experiment::new("e", Vec::new());
        assert!(is_told_first(&plain, 100.0) && is_told_first(&plain, 0.1) && !is_told_first(&plain, 1800.0));
    }
}
