//! A comparison as JUnit XML, which continuous integration servers show as tests: a suite per row, a case per threshold.

use assay_model::comparison::{Change, Comparison, Row, ThresholdFinding, ThresholdOutcome};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{sentence, words};
use crate::ReportError;
use crate::foreign::line;

/// Without thresholds every figure is a case that passes, so that the numbers can be read there.
///
/// # Errors
/// [`ReportError::Junit`] when it cannot be written.
pub fn junit(comparison: &Comparison) -> Result<String, ReportError> {
    let mut report = Report::new("assay compare");
    let sentences = sentence::sentences(comparison);
    for (index, (row, sentence)) in (0..).zip(comparison.rows.iter().zip(sentences)) {
        let mut suite = TestSuite::new(line(&words::title(row)));
        let mut verdict = TestCase::new("verdict", TestCaseStatus::success());
        verdict.set_system_out(line(&sentence));
        suite.add_test_case(verdict);
        suite.add_test_cases(row.changes.iter().map(|change| figure(row, change)));
        let findings = comparison.findings.iter().filter(|finding| finding.row == index);
        suite.add_test_cases(findings.map(|finding| threshold(comparison, finding)));
        if let Some(reason) = &row.withheld {
            let mut status = TestCaseStatus::skipped();
            status.set_message(line(&crate::words::withheld(reason)));
            suite.add_test_case(TestCase::new("withheld", status));
        }
        report.add_test_suite(suite);
    }
    Ok(report.to_string()?)
}

fn figure(row: &Row, change: &Change) -> TestCase {
    let [name, rest @ ..] = words::figures(row, change);
    let mut case = TestCase::new(line(&name), TestCaseStatus::success());
    let [base, new, shown, interval, verdict] = rest;
    case.set_system_out(line(format!("{base} → {new}, {shown} {interval} {verdict}").trim_end()));
    case
}

fn threshold(comparison: &Comparison, finding: &ThresholdFinding) -> TestCase {
    let sentence = line(&words::sentence(comparison, finding));
    let mut status = match finding.outcome {
        ThresholdOutcome::Shown => TestCaseStatus::non_success(NonSuccessKind::Failure),
        ThresholdOutcome::NotAlike => TestCaseStatus::non_success(NonSuccessKind::Error),
        ThresholdOutcome::Unknown => TestCaseStatus::skipped(),
        ThresholdOutcome::Excluded | ThresholdOutcome::Possible { .. } => TestCaseStatus::success(),
    };
    if !matches!(status, TestCaseStatus::Success { .. }) {
        status.set_message(sentence.clone());
    }
    let mut case = TestCase::new(finding.threshold.to_string(), status);
    case.set_system_out(sentence);
    case
}
