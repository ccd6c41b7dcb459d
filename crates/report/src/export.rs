//! Files for other programs and places: Markdown for a pull request, CSV for a spreadsheet, JSON for a script, JUnit for a
//! continuous integration server, OpenMetrics for a time series database, a drawing of the standings for a README.

mod badge;
mod csv;
mod junit;
mod openmetrics;
mod summary;
mod unmeasured;

pub use badge::{Choice, badge};
pub use csv::csv;
pub use junit::junit;
pub use openmetrics::openmetrics;
pub use summary::summary;

use assay_model::record::Record;
use assay_model::verdict::{CellVerdict, Verdict};
use serde::Serialize;

use crate::absent::absent;
use crate::{
    ReportError, cross_check, disturbed, foreign, hosts, notes, protocol, proxy, published, rates, stack,
    standings, text, why, words,
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
        out += &rates::response_times(record, cell).markdown(&notes::latency_title(record, &cell.cell));
    }
    for cell in &verdict.redlines {
        out += &rates::redlines(record, cell).markdown(&notes::redline_title(&cell.cell));
    }
    for cell in &verdict.answered {
        out += &published::answered(record, cell).markdown(&published::answered_title(cell));
    }
    verdict.published.iter().for_each(|published| out += &published::markdown(record, published));
    verdict.cross_checks.iter().for_each(|crossed| out += &cross_check::markdown(record, crossed));
    out += &hosts::markdown(record, verdict);
    out += &markdown_costs(record, verdict);
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
    let mut out = standings::table(record, cell).markdown(&notes::cell_title(&cell.cell));
    for note in notes::footnotes(cell) {
        out += &format!("\n{}\n", foreign::markdown(&note));
    }
    out
}

/// What stacks, protocols and proxies cost.
fn markdown_costs(record: &Record, verdict: &Verdict) -> String {
    let mut out = String::new();
    for of in &stack::comparisons(record, verdict) {
        out += &stack::table(record, of).markdown(&format!("Stack cost: {}", stack::title(of)));
    }
    for of in &protocol::comparisons(verdict) {
        out += &protocol::table(record, of).markdown(&protocol::title(of));
    }
    for of in &proxy::costs(verdict) {
        out += &proxy::cost_table(record, of).markdown(&format!("Proxies: {}", proxy::cost_title(of)));
    }
    for of in &proxy::added(verdict) {
        out += &proxy::added_table(record, of).markdown(&format!("Proxies: {}", proxy::added_title(of)));
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
