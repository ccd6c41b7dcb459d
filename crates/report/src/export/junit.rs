//! A run as continuous integration servers show tests: a suite for each cell, a case for each contender.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::Withheld;
use assay_model::experiment::Cell;
use assay_model::record::{Entry, NotRun, Record, Stage};
use assay_model::rule::Rule;
use assay_model::verdict::{
    AddedLatency, AddedQuantile, AnsweredStanding, AnsweredVerdict, LatencyStanding, LatencyVerdict,
    RedlineVerdict, Standing, Verdict,
};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::unmeasured::answers;
use crate::foreign::line;
use crate::table::or_dash;
use crate::{ReportError, format, rates, words};

/// A contender fails where it answered wrongly, did not build, did not start or died, and, if `strict`, where a number is
/// void or withheld or a redline not confirmed; it is skipped where something it needs is missing or, if not `strict`, where its number
/// is withheld. The figures are in the case's output.
///
/// # Errors
/// [`ReportError::Junit`] when it cannot be written.
pub fn junit(record: &Record, verdict: &Verdict, strict: bool) -> Result<String, ReportError> {
    let mut report = Report::new(line(&format!("assay run {}", record.id)));
    let mut trust = TestSuite::new("trust");
    trust.add_test_cases(verdict.trust.iter().map(|check| of_check(check, strict)));
    report.add_test_suite(trust);
    for cell in &verdict.cells {
        let of = |entry: &Entry| {
            let standing = cell.standings.iter().find(|standing| standing.contender == entry.identity.name);
            of_standing(record, entry, standing, strict)
        };
        report.add_test_suite(suite(record, &cell.cell, of));
    }
    for cell in &verdict.latency {
        report.add_test_suite(suite(record, &cell.cell, |entry| of_latency(record, entry, cell, strict)));
    }
    for cell in &verdict.redlines {
        report.add_test_suite(suite(record, &cell.cell, |entry| of_redline(record, entry, cell, strict)));
    }
    report.add_test_suites(verdict.answered.iter().map(|cell| answered(record, cell, strict)));
    report.add_test_suites(verdict.added_latency.iter().map(|of| added(of, strict)));
    Ok(report.to_string()?)
}

/// Everybody who answers the cell's workload.
fn suite(record: &Record, cell: &Cell, case: impl Fn(&Entry) -> TestCase) -> TestSuite {
    let mut suite = TestSuite::new(line(&cell.to_string()));
    let proper = record.contenders.iter().filter(|entry| entry.control_of.is_none());
    suite.add_test_cases(proper.filter(|entry| answers(record, entry, cell)).map(case));
    suite
}

fn of_check(check: &Check, strict: bool) -> TestCase {
    let status = match check.outcome {
        CheckOutcome::Pass => TestCaseStatus::success(),
        CheckOutcome::Void if strict => failure("void", &words::evidence(check)),
        CheckOutcome::Warn | CheckOutcome::Void => skipped(&words::evidence(check)),
    };
    case(check.rule.name(), status, &told(check))
}

fn of_standing(record: &Record, entry: &Entry, standing: Option<&Standing>, strict: bool) -> TestCase {
    let Some(standing) = standing else { return unmeasured(record, entry) };
    let status = of_measured(record, entry, &standing.checks, standing.withheld.as_ref(), strict);
    let rate = standing.throughput_per_second.map(|of| format::rate_interval(&of));
    let figure = rate.map_or_else(String::new, |of| format!("{} requests/s {}\n", of.estimate, of.interval));
    let checks: String = standing.checks.iter().map(told).collect();
    case(&entry.identity.name, status, &(figure + &checks))
}

/// How it went for one who was under load, at capacity or at a rate.
fn of_measured(
    record: &Record,
    entry: &Entry,
    checks: &[Check],
    withheld: Option<&Withheld>,
    strict: bool,
) -> TestCaseStatus {
    let mut void = checks.iter().filter(|check| check.is_void());
    let wrong = void.clone().find(|check| check.rule == Rule::Errors);
    match (wrong, void.next(), withheld) {
        (Some(check), ..) => failure("wrong answer", &words::evidence(check)),
        (_, Some(check), _) if strict => failure("void", &words::evidence(check)),
        (.., Some(reason)) => of_withheld(reason, strict),
        _ => broken_off(record, entry).map_or_else(TestCaseStatus::success, of_not_run),
    }
}

/// A number that is withheld is void, whatever the reason.
fn of_withheld(reason: &Withheld, strict: bool) -> TestCaseStatus {
    let text = format!("withheld: {}", words::withheld(reason));
    if strict { failure("void", &text) } else { skipped(&text) }
}

fn of_latency(record: &Record, entry: &Entry, cell: &LatencyVerdict, strict: bool) -> TestCase {
    let of_entry = cell.standings.iter().find(|standing| standing.contender == entry.identity.name);
    // Whoever was offered no rate and died besides has failed.
    let has_died =
        |of: &LatencyStanding| of.offered_per_second.is_none() && broken_off(record, entry).is_some();
    let Some(standing) = of_entry.filter(|of| !has_died(of)) else { return unmeasured(record, entry) };
    let status = of_measured(record, entry, &standing.checks, standing.withheld.as_ref(), strict);
    let [p50, p99] = [0.5, 0.99].map(|quantile| rates::quantile_text(standing, quantile));
    let checks: String = standing.checks.iter().map(told).collect();
    let figures = standing.offered_per_second.map_or_else(String::new, |offered| {
        format!("p50 {p50}, p99 {p99} at {} requests/s\n", format::rate(offered))
    });
    case(&entry.identity.name, status, &(figures + &checks))
}

/// How soon contenders answered in a cell. Contenders that were not measured are reported with the cell's rates.
fn answered(record: &Record, cell: &AnsweredVerdict, strict: bool) -> TestSuite {
    let mut suite = TestSuite::new(line(&format!("{}, answered in time", cell.cell)));
    suite.add_test_cases(cell.standings.iter().map(|standing| {
        let within = cell.within_ms.iter().zip(&standing.shares);
        let shares: String = within
            .map(|(ms, share)| format!("{} within {ms} ms\n", format::percent_of_all(share.estimate)))
            .collect();
        let AnsweredStanding { contender, checks, withheld, .. } = standing;
        let status = record.entry_of(contender).map_or_else(
            || of_told(withheld.as_ref(), strict),
            |entry| of_measured(record, entry, checks, withheld.as_ref(), strict),
        );
        case(contender, status, &shares)
    }));
    suite
}

/// What a proxy adds to response times in a cell.
fn added(of: &AddedLatency, strict: bool) -> TestSuite {
    let mut suite = TestSuite::new(line(&format!("{}, added by {}", of.cell, of.contender)));
    let added = |one: &AddedQuantile| {
        format!("p{} {}\n", format::percentile(one.quantile), format::duration(one.added_ns.estimate))
    };
    let quantiles: String = of.quantiles.iter().map(added).collect();
    suite.add_test_case(case(&of.contender, of_told(of.withheld.as_ref(), strict), &quantiles));
    suite
}

fn of_told(withheld: Option<&Withheld>, strict: bool) -> TestCaseStatus {
    withheld.map_or_else(TestCaseStatus::success, |reason| of_withheld(reason, strict))
}

fn of_redline(record: &Record, entry: &Entry, cell: &RedlineVerdict, strict: bool) -> TestCase {
    let Some(standing) = cell.standings.iter().find(|standing| standing.contender == entry.identity.name)
    else {
        return unmeasured(record, entry);
    };
    let kept = or_dash(standing.kept_per_second, format::rate);
    let missed = or_dash(standing.missed_per_second, format::rate);
    let status = match standing.kept_per_second {
        _ if strict && !standing.is_settled() => failure("void", words::redline_end_in_words(standing.end)),
        Some(_) => TestCaseStatus::success(),
        None => skipped(words::redline_end_in_words(standing.end)),
    };
    case(&entry.identity.name, status, &format!("keeps {kept} requests/s, misses {missed}\n"))
}

fn unmeasured(record: &Record, entry: &Entry) -> TestCase {
    let status = match entry.not_run.as_ref().or_else(|| broken_off(record, entry)) {
        Some(why) => of_not_run(why),
        None => skipped("not measured here"),
    };
    case(&entry.identity.name, status, "")
}

/// The first life of a contender that ended early.
fn broken_off<'r>(record: &'r Record, entry: &Entry) -> Option<&'r NotRun> {
    let mut lives =
        record.rounds.iter().flat_map(|round| &round.runs).filter(|run| run.contender == entry.identity.name);
    lives.find_map(|run| run.failure.as_ref())
}

/// What is missing on this machine is no fault of the contender's.
fn of_not_run(why: &NotRun) -> TestCaseStatus {
    let stage = words::stage_in_words(why.stage);
    let text = words::with_remedy(&format!("{stage}: {}", why.reason), why.remedy.as_deref());
    if why.stage == Stage::Needs { skipped(&text) } else { failure(stage, &text) }
}

fn failure(kind: &str, text: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(kind);
    status.set_message(line(text));
    status
}

fn skipped(text: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(line(text));
    status
}

fn case(name: &str, status: TestCaseStatus, output: &str) -> TestCase {
    let mut case = TestCase::new(line(name), status);
    let lines: Vec<String> = output.lines().map(line).collect();
    if !lines.is_empty() {
        case.set_system_out(lines.join("\n"));
    }
    case
}

fn told(check: &Check) -> String {
    let wrong = format!("{}: {}", check.rule, words::evidence(check));
    words::with_remedy(&wrong, words::remedy(check).as_deref()) + "\n"
}
