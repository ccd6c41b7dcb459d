//! A comparison on a terminal.

use assay_model::check::{Check, CheckOutcome};
use assay_model::comparison::{Comparison, Row, Shift};

use super::{sentence, words};
use crate::notes;
use crate::terminal::{ALARM, CAUTION, FAINT, GAP, HEADING, PLAIN, Page, Style, prose};
use crate::text::{elide, width, wrap};

/// The sentences, how it was measured, tables, thresholds, caveats, and whether to trust it, lines ending in `\n`.
pub fn render(comparison: &Comparison, style: &Style) -> String {
    let mut page = Page::new(style);
    let (first, rest) = words::caveats(comparison);
    // A contender that answers differently is not faster or slower.
    if first.is_empty() {
        for sentence in sentence::sentences(comparison) {
            paragraph(&mut page, "", &sentence, HEADING);
        }
    }
    first.into_iter().for_each(|caveat| told(&mut page, caveat));
    if let Some(design) = sentence::design(comparison) {
        paragraph(&mut page, "", &design, FAINT);
    }
    page.line(&[]);
    comparison.rows.iter().for_each(|row| table(&mut page, row));
    if let Some(legend) = words::legend(comparison) {
        paragraph(&mut page, "", &legend, FAINT);
    }
    for finding in &comparison.findings {
        let ansi = match words::gravity(finding) {
            CheckOutcome::Void => ALARM,
            CheckOutcome::Warn => CAUTION,
            CheckOutcome::Pass => PLAIN,
        };
        paragraph(&mut page, words::label(finding), &words::sentence(comparison, finding), ansi);
    }
    rest.into_iter().for_each(|caveat| told(&mut page, caveat));
    page.line(&[]);
    let objections =
        prose::Objections { broken: super::broken(comparison), judged: super::judged(comparison) };
    prose::trust_of(
        &mut page,
        &comparison.trust,
        Some(notes::margin_of_all(comparison.margin)),
        None,
        objections,
    );
    page.finish()
}

fn told(page: &mut Page, caveat: &Check) {
    let (label, text) = words::caveat(caveat);
    match caveat.outcome {
        CheckOutcome::Void => paragraph(page, &label.to_uppercase(), &text, ALARM),
        CheckOutcome::Warn => paragraph(page, label, &text, CAUTION),
        CheckOutcome::Pass => paragraph(page, label, &text, PLAIN),
    }
}

fn table(page: &mut Page, row: &Row) {
    paragraph(page, "", &words::title(row), HEADING);
    if let Some(reason) = &row.withheld {
        paragraph(page, "withheld", &crate::words::withheld(reason), CAUTION);
        return page.line(&[]);
    }
    let lines: Vec<(Shift, [String; 6])> = words::lines(row)
        .into_iter()
        .map(|(call, line)| (call, line.map(|text| page.spell(&text))))
        .collect();
    let widest = |column: usize| {
        let texts = lines.iter().map(|(_, line)| width(&line[column]));
        texts.max().unwrap_or(0).max(width(words::HEADS[column]))
    };
    let widths: [usize; 6] = std::array::from_fn(widest);
    let columns = fitting(&widths, page.width());
    page.line(&[(FAINT, &aligned(&words::HEADS.map(str::to_owned), &widths, &columns))]);
    for (call, line) in &lines {
        let ansi = match call {
            Shift::Worse => CAUTION,
            Shift::Better => HEADING,
            Shift::Equal | Shift::NotShown | Shift::NotCalled => PLAIN,
        };
        page.line(&[(ansi, &aligned(line, &widths, &columns))]);
    }
    page.line(&[]);
}

/// The columns that fit into so many: figure and change stay, the others go in the order in which they are least missed.
fn fitting(widths: &[usize; 6], room: usize) -> Vec<usize> {
    let mut columns = vec![0, 1, 2, 3, 4, 5];
    for least_missed in [5, 1, 4, 2] {
        if columns.iter().map(|&column| GAP.len() + widths[column]).sum::<usize>() <= room {
            break;
        }
        columns.retain(|column| *column != least_missed);
    }
    columns
}

/// Names to the left, numbers to the right.
fn aligned(texts: &[String; 6], widths: &[usize; 6], columns: &[usize]) -> String {
    let cell = |&column: &usize| {
        let (text, left) = (&texts[column], column == 0 || column == 5);
        let space = " ".repeat(widths[column].saturating_sub(width(text)));
        if left { format!("{GAP}{text}{space}") } else { format!("{GAP}{space}{text}") }
    };
    columns.iter().map(cell).collect()
}

fn paragraph(page: &mut Page, label: &str, text: &str, ansi: anstyle::Style) {
    let text = if label.is_empty() { text.to_owned() } else { format!("{label}: {text}") };
    let text = page.spell(&text);
    for (i, line) in wrap(&text, page.width().saturating_sub(3)).iter().enumerate() {
        // A word longer than the terminal, such as a file's name, is cut.
        let line = elide(line, page.width() - 3, page.ellipsis());
        page.line(&[(ansi, &format!("{}{line}", if i == 0 { " " } else { "   " }))]);
    }
}
