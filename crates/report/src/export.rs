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
use crate::warnings::{self, disturbed};
use crate::{
    ReportError, cross_check, foreign, hosts, published, sentences, standings, tables, text, titles, why,
    words,
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
    let in_words = InWords { sentences: sentences::of_run(record, verdict), verdict };
    let document = Document { schema: REPORT_SCHEMA, verdict: in_words, record };
    Ok(foreign::json(&serde_json::to_string_pretty(&words::in_words(serde_json::to_value(&document)?))?)
        + "\n")
}

/// The standings, what they are worth, and how to repeat them, as GitHub-flavoured Markdown.
pub fn markdown(record: &Record, verdict: &Verdict) -> String {
    let mut out = String::new();
    for (i, sentence) in sentences::of_run(record, verdict).iter().enumerate() {
        let sentence = foreign::markdown(sentence);
        out += &if i == 0 { format!("**{sentence}**\n") } else { format!("{sentence}\n") };
    }
    if let Some(state) = words::state_in_words(record.state) {
        out += &format!("Partial: {state}.\n");
    }
    for cell in verdict.cells.iter().filter(|cell| !cell.standings.is_empty()) {
        out += &markdown_standings(record, cell);
    }
    tables::response(record, verdict, &mut out);
    verdict.published.iter().for_each(|published| out += &published::markdown(record, published));
    verdict.cross_checks.iter().for_each(|crossed| out += &cross_check::markdown(record, crossed));
    out += &hosts::markdown(record, verdict);
    tables::costs(record, verdict, &mut out);
    out += &why::markdown(record, verdict);
    out += &markdown_notes(record, verdict);
    if record.imported.is_some() {
        return out;
    }
    let facts = format!(
        "{} rounds, {}; assay {}, seed {}",
        verdict.rounds,
        words::margin_in_words(verdict).unwrap_or_default(),
        record.assay.version,
        record.seed
    );
    let command = foreign::markdown_code(&text::shell(&record.command));
    out + &format!("\n<sub>{}. Repeat with {command}</sub>\n", foreign::markdown(&facts))
}

fn markdown_standings(record: &Record, cell: &CellVerdict) -> String {
    let mut out = standings::table(record, cell).markdown(&titles::cell_title(&cell.cell));
    for note in standings::footnotes(cell) {
        out += &format!("\n{}\n", foreign::markdown(&note));
    }
    out
}

fn markdown_notes(record: &Record, verdict: &Verdict) -> String {
    let mut lines = Vec::new();
    for warning in disturbed::folded(warnings::broken(verdict)) {
        let places = warnings::places_in_words(&warning.places);
        let places = if places.is_empty() { places } else { format!(" [{places}]") };
        let told = warning.with_remedy(&format!("{}{places}", warning.evidence));
        lines.push(format!("- **{}**: {}", warning.label(), foreign::markdown(&told)));
    }
    let asked = record
        .contenders
        .iter()
        .filter_map(|entry| Some((&entry.identity.name, entry.conformance.as_ref()?)));
    for (name, rules) in asked.filter_map(|(name, found)| Some((name, words::broken_rules(found)?))) {
        lines.push(format!("- **{}**: {}", foreign::markdown(name), foreign::markdown(&rules)));
    }
    for absent in absent(record) {
        let round =
            absent.round.map(|round| format!(" in round {}", round.saturating_add(1))).unwrap_or_default();
        let what = format!("{}{round}: {}", absent.stage(), absent.why.reason);
        let what = words::with_remedy(&what, absent.why.remedy.as_deref());
        lines.push(format!("- **{}**: {}", foreign::markdown(&absent.who()), foreign::markdown(&what)));
    }
    for absence in cross_check::absences(record) {
        lines.push(format!("- **Generator**: {}", foreign::markdown(&absence)));
    }
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) }
}
