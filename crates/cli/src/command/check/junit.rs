//! Findings as JUnit XML: one suite per server, one case per rule.

use assay_model::conformance::{CheckedServer, RuleFinding, Ruling, Severity};
use assay_report::foreign::line;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::failure::Failure;

/// Why a server was not asked.
const STOPPED: &str = "not asked: the check was stopped";

/// What came of the servers that were asked; one that was `unasked` has an error in the place of its rules.
pub(super) fn text(servers: &[CheckedServer], unasked: &[String]) -> Result<String, Failure> {
    let mut report = Report::new("assay check");
    report.add_test_suites(servers.iter().map(suite));
    report.add_test_suites(unasked.iter().map(|name| without_rules(name, STOPPED)));
    report.to_string().map_err(|error| Failure::Bug(error.to_string()))
}

fn suite(server: &CheckedServer) -> TestSuite {
    let mut suite = match &server.not_run {
        Some(why) => without_rules(&server.name, &why.reason),
        None => TestSuite::new(line(&server.name)),
    };
    let findings = server.conformance.iter().flat_map(|conformance| &conformance.findings);
    suite.add_test_cases(findings.map(|finding| case(server, finding)));
    suite
}

fn without_rules(name: &str, why: &str) -> TestSuite {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(line(why));
    let mut suite = TestSuite::new(line(name));
    suite.add_test_case(TestCase::new("asked", status));
    suite
}

fn case(server: &CheckedServer, finding: &RuleFinding) -> TestCase {
    let mut status = match (finding.ruling, finding.severity) {
        (Ruling::Kept, _) => TestCaseStatus::success(),
        (Ruling::Broken, Severity::Must) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        (Ruling::Broken, Severity::Should) | (Ruling::NotApplicable, _) => TestCaseStatus::skipped(),
    };
    if let Some(evidence) = &finding.evidence {
        let message = format!("{} ({}): {evidence}", finding.sentence, finding.source);
        status.set_message(line(&message));
    }
    let mut case = TestCase::new(line(&finding.rule), status);
    case.set_classname(line(&server.name));
    case
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_answers_stays_text() {
        let hostile = "\u{1b}[31m\u{9b}\u{202e}\u{0}\u{fffe}]]><!-- \" onerror='x'";
        let finding = RuleFinding {
            rule: hostile.to_owned(),
            source: hostile.to_owned(),
            sentence: hostile.to_owned(),
            severity: Severity::Must,
            ruling: Ruling::Broken,
            evidence: Some(hostile.to_owned()),
        };
        let conformance = Some(assay_model::conformance::Conformance {
            elapsed_ns: assay_model::units::Nanos::ZERO,
            findings: vec![finding],
        });
        let server = CheckedServer {
            name: hostile.to_owned(),
            title: hostile.to_owned(),
            path: hostile.to_owned(),
            protocol: assay_model::protocol::Protocol::H1,
            conformance,
            not_run: None,
        };
        let xml = text(&[server], &[]).expect("XML");
        assert!(
            !xml.contains(|c: char| (c.is_control() && c != '\n') || "\u{202e}\u{fffe}".contains(c)),
            "{xml:?}"
        );
        assert_eq!((xml.matches("<testcase").count(), xml.matches("<!--").count()), (1, 0), "{xml}");
    }
}
