//! A comparison on a terminal.

use assay_model::check::Outcome;
use assay_model::comparison::{Comparison, Row, Shift};

use super::words;
use crate::terminal::{ALARM, CAUTION, FAINT, HEADING, PLAIN, Page, Style};
use crate::text::{width, wrap};

/// Tables, thresholds and caveats, lines ending in `\n`.
pub fn render(comparison: &Comparison, style: &Style) -> String {
    let mut page = Page::new(style);
    comparison.rows.iter().for_each(|row| table(&mut page, row));
    paragraph(&mut page, "", &words::legend(comparison), FAINT);
    for finding in &comparison.findings {
        let ansi = match words::gravity(finding) {
            Outcome::Void => ALARM,
            Outcome::Warn => CAUTION,
            Outcome::Pass => PLAIN,
        };
        paragraph(&mut page, words::label(finding), &words::sentence(comparison, finding), ansi);
    }
    for caveat in &comparison.caveats {
        let (label, ansi) = match caveat.outcome {
            Outcome::Void => ("NOT COMPARABLE", ALARM),
            Outcome::Warn | Outcome::Pass => ("warning", CAUTION),
        };
        let remedy = caveat.remedy.as_ref().map(|remedy| format!(" → {remedy}")).unwrap_or_default();
        paragraph(&mut page, label, &format!("{}{remedy}", caveat.evidence), ansi);
    }
    page.finish()
}

fn table(page: &mut Page, row: &Row) {
    page.line(&[(HEADING, &format!(" {}", words::title(row)))]);
    if let Some(reason) = &row.withheld {
        paragraph(page, "withheld", reason, CAUTION);
        return page.line(&[]);
    }
    let lines: Vec<[String; 6]> =
        row.changes.iter().map(|change| words::figures(row, change).map(|text| page.spell(&text))).collect();
    let widest = |column: usize| {
        let texts = lines.iter().map(|line| width(&line[column]));
        texts.max().unwrap_or(0).max(width(words::HEADS[column]))
    };
    let widths: [usize; 6] = std::array::from_fn(widest);
    page.line(&[(FAINT, &aligned(&words::HEADS.map(str::to_owned), &widths))]);
    for (change, line) in row.changes.iter().zip(&lines) {
        let ansi = match change.call {
            Shift::Worse => CAUTION,
            Shift::Better => HEADING,
            Shift::NotShown => PLAIN,
        };
        page.line(&[(ansi, &aligned(line, &widths))]);
    }
    page.line(&[]);
}

/// Names to the left, numbers to the right.
fn aligned(texts: &[String; 6], widths: &[usize; 6]) -> String {
    let columns = texts.iter().zip(widths).enumerate().map(|(column, (text, columns))| {
        let space = " ".repeat(columns - width(text).min(*columns));
        if column == 0 || column == 5 { format!("  {text}{space}") } else { format!("  {space}{text}") }
    });
    columns.collect()
}

fn paragraph(page: &mut Page, label: &str, text: &str, ansi: anstyle::Style) {
    let text = if label.is_empty() { text.to_owned() } else { format!("{label}: {text}") };
    let text = page.spell(&text);
    for (i, line) in wrap(&text, page.width().saturating_sub(3)).iter().enumerate() {
        page.line(&[(ansi, &format!("{}{line}", if i == 0 { " " } else { "   " }))]);
    }
}
