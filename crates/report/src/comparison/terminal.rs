//! A comparison on a terminal.

use assay_model::check::{Check, CheckOutcome};
use assay_model::comparison::{Comparison, Row};

use super::{sentence, words};
use crate::terminal::table::{Fitted, Names};
use crate::terminal::{ALARM, CAUTION, FAINT, GAP, HEADING, PLAIN, Page, Style, prose};

/// How the names of figures stand: all of each, below a head.
const FIGURES: Names = Names { indent: GAP.len(), width: 0..=usize::MAX, is_headed: true };

/// The sentences, how it was measured, tables, thresholds, caveats, and whether to trust it, lines ending in `\n`.
pub fn render(comparison: &Comparison, style: &Style) -> String {
    let mut page = Page::new(style);
    let (first, rest) = words::caveats(comparison);
    // A contender that answers differently is not faster or slower.
    if first.is_empty() {
        for sentence in sentence::sentences(comparison) {
            prose::hanging(&mut page, HEADING, &sentence);
        }
    }
    first.into_iter().for_each(|caveat| told(&mut page, caveat));
    if let Some(design) = sentence::design(comparison) {
        prose::hanging(&mut page, FAINT, &design);
    }
    page.line(&[]);
    comparison.rows.iter().for_each(|row| table(&mut page, row));
    if let Some(legend) = words::legend(comparison) {
        prose::hanging(&mut page, FAINT, &legend);
    }
    for finding in &comparison.findings {
        let ansi = match words::gravity(finding) {
            CheckOutcome::Void => ALARM,
            CheckOutcome::Warn => CAUTION,
            CheckOutcome::Pass => PLAIN,
        };
        labelled(&mut page, words::label(finding), &words::sentence(comparison, finding), ansi);
    }
    rest.into_iter().for_each(|caveat| told(&mut page, caveat));
    page.line(&[]);
    let objections =
        prose::Objections { broken: super::broken(comparison), judged: super::judged(comparison) };
    prose::trust_of(
        &mut page,
        comparison.trust.iter().map(|told| &told.check),
        Some(crate::words::margin_of_all(comparison.margin)),
        None,
        objections,
    );
    page.finish()
}

fn told(page: &mut Page, caveat: &Check) {
    let (label, text) = words::caveat(caveat);
    match caveat.outcome {
        CheckOutcome::Void => labelled(page, &label.to_uppercase(), &text, ALARM),
        CheckOutcome::Warn => labelled(page, label, &text, CAUTION),
        CheckOutcome::Pass => labelled(page, label, &text, PLAIN),
    }
}

fn table(page: &mut Page, row: &Row) {
    prose::hanging(page, HEADING, &words::title(row));
    if let Some(reason) = &row.withheld {
        labelled(page, "withheld", &crate::words::withheld(reason), CAUTION);
        return page.line(&[]);
    }
    let lines = words::lines(row);
    Fitted::new(page, &words::table(&lines), &FIGURES).write(page);
    page.line(&[]);
}

fn labelled(page: &mut Page, label: &str, text: &str, ansi: anstyle::Style) {
    prose::hanging(page, ansi, &format!("{label}: {text}"));
}
