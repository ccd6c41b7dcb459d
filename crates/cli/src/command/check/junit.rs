//! Findings as JUnit XML: one suite per server, one case per rule.

use assay_model::conformance::{CheckedServer, Finding, Ruling, Severity};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::failure::Failure;

pub(super) fn text(servers: &[CheckedServer]) -> Result<String, Failure> {
    let mut report = Report::new("assay check");
    report.add_test_suites(servers.iter().map(suite));
    report.to_string().map_err(|error| Failure::Bug(error.to_string()))
}

fn suite(server: &CheckedServer) -> TestSuite {
    let mut suite = TestSuite::new(server.name.as_str());
    if let Some(reason) = &server.not_run {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(reason.reason.as_str());
        suite.add_test_case(TestCase::new("asked", status));
    }
    let findings = server.conformance.iter().flat_map(|conformance| &conformance.findings);
    suite.add_test_cases(findings.map(|finding| case(server, finding)));
    suite
}

fn case(server: &CheckedServer, finding: &Finding) -> TestCase {
    let mut status = match (finding.ruling, finding.severity) {
        (Ruling::Kept, _) => TestCaseStatus::success(),
        (Ruling::Broken, Severity::Must) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        (Ruling::Broken, Severity::Should) | (Ruling::NotApplicable, _) => TestCaseStatus::skipped(),
    };
    if let Some(evidence) = &finding.evidence {
        let message = format!("{} ({}): {evidence}", finding.sentence, finding.source);
        status.set_message(message);
    }
    let mut case = TestCase::new(finding.rule.as_str(), status);
    case.set_classname(server.name.as_str());
    case
}
