//! A record through everything that reads one: the verdict, and every format.

use assay_lab::store;
use assay_model::record::Record;
use assay_model::verdict::Verdict;
use assay_report::export::{self, Choice};
use assay_report::index::{Listed, index};
use assay_report::terminal::{Style, render};
use assay_report::{ReportError, foreign, html};
use assay_verdict::DecodedRecord;

/// Judges the record and tells it in every format. An error that says what is wrong with the record is fine.
///
/// # Panics
/// When a text could steer a terminal, or something breaks.
pub fn tell(record: &Record) {
    let Ok(verdict) = assay_verdict::judge(record) else { return };
    for strict in [false, true] {
        assay_verdict::ending(record, &verdict, strict);
    }
    let _ = assay_verdict::settling(record);
    let _ = assay_verdict::precision(record);
    let _ = DecodedRecord::of(record).map(|evidence| store::histogram_log(&evidence));
    for (width, ascii) in [(40, true), (100, false)] {
        assert_tame(&render(record, &verdict, &Style { width, colour: false, ascii, full: true }));
    }
    texts(record, &verdict).into_iter().flatten().for_each(|text| assert_tame(&text));
}

/// Two records as a comparison.
pub fn compare(base: &Record, new: &Record) {
    let side = |record: &Record| assay_verdict::compare::Side { record: record.clone(), contender: None };
    let _ = assay_verdict::compare::compare(&side(base), &[side(new)], &[]);
    let _ = assay_verdict::compare::interleaved(new);
}

fn texts(record: &Record, verdict: &Verdict) -> Vec<Result<String, ReportError>> {
    let listed = |href| Listed { record, verdict, href };
    vec![
        export::json(record, verdict),
        export::csv(record).map(|text| text.replace("\r\n", "\n")),
        Ok(export::summary(record, verdict).replace("\r\n", "\n")),
        Ok(export::markdown(record, verdict)),
        export::junit(record, verdict, true),
        Ok(export::openmetrics(record, verdict)),
        Ok(export::badge(record, verdict, Choice::default()).unwrap_or_default()),
        Ok(index(&[listed(None), listed(Some(foreign::relative_address(&record.id)))])),
        html::page(record, verdict).map(|_| String::new()),
    ]
}

fn assert_tame(text: &str) {
    let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(acts), "{:?}", text.find(acts).map(|at| text[at..].chars().next()));
}
