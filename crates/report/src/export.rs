//! Files for other programs and places: Markdown for a pull request, CSV for a spreadsheet, JSON for a script, JUnit for a
//! continuous integration server, OpenMetrics for a time series database, a drawing of the standings for a README.

mod badge;
mod csv;
mod junit;
mod openmetrics;
mod summary;

pub use badge::{Choice, badge};
pub use csv::csv;
pub use junit::junit;
pub use openmetrics::openmetrics;
pub use summary::summary;

use assay_model::record::Record;
use assay_model::verdict::{CellVerdict, LatencyVerdict, RedlineVerdict, Standing, Verdict};
use serde::Serialize;

use crate::absent::absent;
use crate::standings::{Column, telling};
use crate::{
    ReportError, cross_check, disturbed, foreign, format, hosts, notes, protocol, proxy, published, stack,
    text, why, words,
};

/// Name and version of the format that [`json`] writes.
pub const REPORT_SCHEMA: &str = "assay-report/1";

/// Record and verdict as one JSON document.
///
/// # Errors
/// [`ReportError::Json`] when a value cannot be written.
pub fn json(record: &Record, verdict: &Verdict) -> Result<String, ReportError> {
    #[derive(Serialize)]
    struct InWords<'a> {
        sentences: Vec<String>,
        #[serde(flatten)]
        verdict: &'a Verdict,
    }
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        verdict: InWords<'a>,
        record: &'a Record,
    }
    let in_words = InWords { sentences: words::sentences(record, verdict), verdict };
    let document = Document { schema: REPORT_SCHEMA, verdict: in_words, record };
    Ok(foreign::json(&serde_json::to_string_pretty(&words::in_words(serde_json::to_value(&document)?))?)
        + "\n")
}

/// The standings, what they are worth, and how to repeat them, as GitHub-flavoured Markdown.
pub fn markdown(record: &Record, verdict: &Verdict) -> String {
    let mut out = String::new();
    for (i, sentence) in words::sentences(record, verdict).iter().enumerate() {
        let sentence = foreign::markdown(sentence);
        out += &if i == 0 { format!("**{sentence}**\n") } else { format!("{sentence}\n") };
    }
    if let Some(state) = notes::state_in_words(record.state) {
        out += &format!("Partial: {state}.\n");
    }
    for cell in verdict.cells.iter().filter(|cell| !cell.standings.is_empty()) {
        out += &markdown_standings(record, cell);
    }
    for cell in &verdict.latency {
        out += &markdown_latency(record, cell);
    }
    verdict.redlines.iter().for_each(|cell| out += &markdown_redlines(cell));
    verdict.answered.iter().for_each(|cell| out += &published::markdown_answered(cell));
    verdict.published.iter().for_each(|published| out += &published::markdown(record, published));
    out += &cross_check::markdown(record, verdict);
    out += &hosts::markdown(record, verdict);
    out += &stack::markdown(record, verdict);
    out += &protocol::markdown(record, verdict);
    out += &proxy::markdown(verdict);
    out += &why::markdown(record, verdict);
    out += &markdown_notes(record, verdict);
    if record.imported.is_some() {
        return out;
    }
    let facts = format!(
        "{} rounds, {}; assay {}, seed {}",
        verdict.rounds,
        notes::margin_in_words(verdict).unwrap_or_default(),
        record.assay.version,
        record.seed
    );
    let command = foreign::markdown_code(&text::shell(&record.command));
    out + &format!("\n<sub>{}. Repeat with {command}</sub>\n", foreign::markdown(&facts))
}

fn markdown_standings(record: &Record, cell: &CellVerdict) -> String {
    let columns: Vec<&Column> = telling(cell).filter(|column| column.in_markdown).collect();
    let mut out = format!("\n### {}\n\n", foreign::markdown(&notes::cell_title(&cell.cell)));
    let in_flight = cell.cell.in_flight();
    let head = |column: &&Column| match column.head {
        "p50" => format!(" p50 at {in_flight} in flight |"),
        head => format!(" {head} |"),
    };
    out += &format!("| contender |{}\n", columns.iter().map(head).collect::<String>());
    let aligned = columns.iter().map(|column| if column.is_text { ":--|" } else { "--:|" });
    out += &format!("|:--|{}\n", aligned.collect::<String>());
    for standing in &cell.standings {
        out += &markdown_row(record, standing, &columns);
    }
    for note in notes::footnotes(cell) {
        out += &format!("\n{}\n", foreign::markdown(&note));
    }
    out
}

fn markdown_row(record: &Record, standing: &Standing, columns: &[&Column]) -> String {
    let name = foreign::markdown(&standing.contender);
    if let Some(reason) = &standing.withheld {
        let rest = " |".repeat(columns.len().saturating_sub(1));
        return format!("| {name} | withheld: {} |{rest}\n", foreign::markdown(&words::withheld(reason)));
    }
    let limit = if notes::is_limit(record, &standing.contender) { " (limit)" } else { "" };
    let cells = columns.iter().map(|column| format!(" {} |", (column.text)(standing)));
    format!("| {name}{limit} |{}\n", cells.collect::<String>())
}

fn markdown_latency(record: &Record, verdict: &LatencyVerdict) -> String {
    let mut out = format!("\n### {}\n\n", foreign::markdown(&notes::latency_title(record, &verdict.cell)));
    out += "| contender | offered/s | of own capacity | p50 | p90 | p99 | interval | p99.9 |\n";
    out += "|:--|--:|--:|--:|--:|--:|:-:|--:|\n";
    for standing in &verdict.standings {
        let name = foreign::markdown(&standing.contender);
        if let Some(reason) = &standing.withheld {
            out += &format!(
                "| {name} | withheld: {} | | | | | | |\n",
                foreign::markdown(&words::withheld(reason))
            );
            continue;
        }
        let limit = if notes::is_limit(record, &standing.contender) { " (limit)" } else { "" };
        out += &format!(
            "| {name}{limit} | {} | {} | {} | {} | {} | {} | {} |\n",
            format::rate(standing.offered_per_second),
            or_dash(standing.share_of_capacity.map(format::percent)),
            notes::quantile_text(standing, 0.5),
            notes::quantile_text(standing, 0.9),
            notes::quantile_text(standing, 0.99),
            notes::quantile_interval(standing, 0.99),
            notes::quantile_text(standing, 0.999),
        );
    }
    out
}

fn markdown_redlines(verdict: &RedlineVerdict) -> String {
    let mut out = format!("\n### {}\n\n", foreign::markdown(&notes::redline_title(&verdict.cell)));
    out += "| contender | keeps/s | misses/s | of capacity | recovers at | trials | servers | |\n";
    out += "|:--|--:|--:|--:|--:|--:|--:|:--|\n";
    for standing in &verdict.standings {
        out += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            foreign::markdown(&standing.contender),
            notes::or_dash(standing.kept_per_second, format::rate),
            notes::or_dash(standing.missed_per_second, format::rate),
            notes::or_dash(standing.share_of_capacity, format::percent),
            notes::or_dash(standing.recovered_per_second, format::rate),
            standing.trials,
            standing.servers,
            notes::redline_end_in_words(standing.end),
        );
    }
    out
}

fn markdown_notes(record: &Record, verdict: &Verdict) -> String {
    let mut lines = Vec::new();
    for warning in disturbed::folded(notes::broken(verdict)) {
        let places = notes::places_in_words(&warning.places);
        let places = if places.is_empty() { places } else { format!(" [{places}]") };
        let told = format!("{}{places}{}", warning.evidence, warning.remedy_after());
        lines.push(format!("- **{}**: {}", warning.label(), foreign::markdown(&told)));
    }
    let asked = record
        .contenders
        .iter()
        .filter_map(|entry| Some((&entry.identity.name, entry.conformance.as_ref()?)));
    for (name, rules) in asked.filter_map(|(name, found)| Some((name, notes::broken_rules(found)?))) {
        lines.push(format!("- **{}**: {}", foreign::markdown(name), foreign::markdown(&rules)));
    }
    for absent in absent(record) {
        let round =
            absent.round.map(|round| format!(" in round {}", round.saturating_add(1))).unwrap_or_default();
        let remedy = absent.why.remedy.as_ref().map(|remedy| format!(" → {remedy}")).unwrap_or_default();
        let what = format!("{}{round}: {}{remedy}", absent.stage(), absent.why.reason);
        lines.push(format!("- **{}**: {}", foreign::markdown(&absent.who()), foreign::markdown(&what)));
    }
    for absence in cross_check::absences(record) {
        lines.push(format!("- **Generator**: {}", foreign::markdown(&absence)));
    }
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) }
}

fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "–".to_owned())
}
