//! Findings as text: one line per rule, and a table over several servers.

use std::fmt::Write as _;

use assay_model::conformance::{CheckedServer, Conformance, RuleFinding, Ruling, Severity};
use assay_model::record::NotRun;
use assay_report::foreign;
use assay_report::format::score;

use crate::command::list::table as columns;

/// What came of one server: every rule, or only the broken ones, and the sum.
pub(super) fn server(server: &CheckedServer, quiet: bool) -> String {
    let over = if server.protocol.is_http1() { String::new() } else { format!(" over {}", server.protocol) };
    let mut out = format!("{}, GET {}{over}\n", foreign::line(&server.name), foreign::line(&server.path));
    match (&server.conformance, &server.not_run) {
        (Some(conformance), _) => {
            let shown = conformance.findings.iter().filter(|f| !quiet || f.ruling == Ruling::Broken);
            shown.for_each(|found| out += &finding(found));
            let _ = writeln!(out, "  {}\n", sum(conformance));
        }
        (None, Some(reason)) => out += &absence(reason),
        (None, None) => {}
    }
    out
}

fn finding(finding: &RuleFinding) -> String {
    let mark = match (finding.ruling, finding.severity) {
        (Ruling::Kept, _) => "kept",
        (Ruling::Broken, Severity::Must) => "BROKEN",
        (Ruling::Broken, Severity::Should) => "broken",
        (Ruling::NotApplicable, _) => "n/a",
    };
    let severity = match finding.severity {
        Severity::Must => "must",
        Severity::Should => "should",
    };
    let mut line = format!(
        "  {mark:<6}  {severity:<6}  {:<20}  {} ({})\n",
        finding.rule, finding.sentence, finding.source
    );
    if let Some(evidence) = &finding.evidence {
        let _ = writeln!(line, "          {}", foreign::line(evidence));
    }
    line
}

fn sum(conformance: &Conformance) -> String {
    let broken = |severity| conformance.broken().filter(|finding| finding.severity == severity).count();
    format!(
        "{} rules kept; broken: {} must, {} should",
        score(&conformance.score()),
        broken(Severity::Must),
        broken(Severity::Should)
    )
}

fn absence(reason: &NotRun) -> String {
    let mut out = format!("  not asked: {}\n", foreign::line(&reason.reason));
    if let Some(remedy) = &reason.remedy {
        let _ = writeln!(out, "  → {}", foreign::line(remedy));
    }
    for line in &reason.log_tail {
        let _ = writeln!(out, "    {}", foreign::line(line));
    }
    out + "\n"
}

/// One row per server: rules kept, and the names of the broken ones.
pub(super) fn table(servers: &[CheckedServer]) -> String {
    let head = ["server", "kept", "broken must", "broken should"].map(str::to_owned).to_vec();
    let row = |server: &CheckedServer| {
        let mut row = vec![server.name.clone()];
        match &server.conformance {
            Some(conformance) => {
                row.push(score(&conformance.score()));
                row.extend([Severity::Must, Severity::Should].map(|of| names(conformance, of)));
            }
            None => row.extend(["–", "not asked", ""].map(str::to_owned)),
        }
        row
    };
    columns(&std::iter::once(head).chain(servers.iter().map(row)).collect::<Vec<_>>())
}

fn names(conformance: &Conformance, severity: Severity) -> String {
    let broken = conformance.broken().filter(|finding| finding.severity == severity);
    let names: Vec<&str> = broken.map(|finding| finding.rule.as_str()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(" ") }
}
