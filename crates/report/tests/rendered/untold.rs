//! Loads at which no response time is told: every format names them, with the reason.

use assay_model::load::Arrival;
use assay_model::offered::Offered;
use assay_model::record::{NotRun, Record, Stage};
use assay_model::verdict::Verdict;
use assay_report::export::{junit, markdown, openmetrics, summary};
use assay_report::index::{Listed, index};
use assay_report::listing::Entry;
use assay_report::terminal::{Style, render};
use assay_report::{page, sentences, words};
use assay_stats::Histogram;
use assay_verdict::testing;

const WHY: &str = "withheld: no window at capacity counts, so no rate is known";
const STYLE: Style = Style { width: 120, colour: false, ascii: false, full: false };

/// A run in which no window at capacity counts, so that the rates that follow from it were never offered.
fn without_a_rate() -> (Record, Verdict) {
    let mut record = testing::record(&[("a", &[1000.0; 4]), ("b", &[1000.0; 4])]);
    let loads = ["max", "10%", "50%", "common"].map(|load| load.parse().unwrap());
    record.experiment.measures[0].rates = loads.to_vec();
    record.contenders.iter_mut().for_each(|entry| entry.identity.workloads.clear());
    let runs = record.rounds.iter_mut().flat_map(|round| &mut round.runs);
    runs.for_each(|run| run.cells[0].machine.steal_share = 0.5);
    let verdict = testing::judged(&record);
    (record, verdict)
}

/// A run at 5,000 requests a second, of whose four windows three are void.
fn at_a_fixed_rate() -> (Record, Verdict) {
    let mut record = testing::record(&[("a", &[5000.0; 4])]);
    record.experiment.measures[0].rates = vec![Offered::Rate(5000)];
    let mut times = Histogram::new();
    times.record_n(1_000_000, 5000);
    for round in &mut record.rounds {
        let window = &mut round.runs[0].cells[0];
        window.cell.offered = Offered::Rate(5000);
        window.load.arrival = Arrival::Poisson { per_second: 5000.0 };
        window.load.latency.response_hdr = times.to_hdr_base64().ok();
        window.load.latency.response_from_sent_hdr = times.to_hdr_base64().ok();
        window.machine.steal_share = if round.index == 0 { 0.0 } else { 0.5 };
    }
    let mut verdict = testing::judged(&record);
    verdict.trust.clear();
    (record, verdict)
}

#[test]
fn loads_without_a_rate_are_withheld_in_every_format() {
    let (record, verdict) = without_a_rate();
    for (name, text) in
        [("terminal", render(&record, &verdict, &STYLE)), ("Markdown", markdown(&record, &verdict))]
    {
        assert_eq!(text.matches(WHY).count(), 6, "two contenders at three loads, {name}: {text}");
    }
    let table = summary(&record, &verdict);
    let rows = table.lines().filter(|row| row.contains("so no rate is known"));
    assert_eq!(rows.count(), 6, "{table}");
    let xml = junit(&record, &verdict, false).unwrap();
    assert_eq!(xml.matches(&format!("<skipped message=\"{WHY}\"")).count(), 6, "{xml}");
    assert!(!openmetrics(&record, &verdict).contains("assay_offered_requests_per_second{"));
    let page = page::build(&[(&record, &verdict)]).unwrap();
    let page = words::in_words(serde_json::to_value(page.runs).unwrap()).to_string();
    assert_eq!(page.matches("no window at capacity counts, so no rate is known\"").count(), 6, "{page}");
}

#[test]
fn who_died_before_a_rate_was_known_has_failed() {
    let (mut record, verdict) = without_a_rate();
    let why =
        || NotRun { stage: Stage::Load, reason: "it died".to_owned(), remedy: None, log_tail: Vec::new() };
    record.rounds[3].runs.iter_mut().find(|run| run.contender == "a").unwrap().failure = Some(why());
    let xml = junit(&record, &verdict, false).unwrap();
    assert_eq!(xml.matches(": it died\"").count(), 3, "{xml}");
    assert_eq!(xml.matches(WHY).count(), 3, "{xml}");
}

#[test]
fn a_sentence_says_at_which_loads_nobody_is_told_of() {
    let (record, mut verdict) = without_a_rate();
    verdict.trust.clear();
    let told = sentences::of_run(&record, &verdict);
    let all = "On hello at 64 connections and 10 % and 50 % of capacity and a rate for all, nobody's response time can be told: \
               no window at capacity counts, so no rate is known.";
    assert!(told.iter().any(|sentence| sentence == all), "{told:#?}");
}

#[test]
fn a_run_at_fixed_rates_whose_figures_are_withheld_has_a_verdict() {
    let (record, verdict) = at_a_fixed_rate();
    let sentence = "On hello at 64 connections and 5,000/s, nobody's response time can be told: only 1 of 4 windows count (steal).";
    assert_eq!(sentences::of_run(&record, &verdict).first().map(String::as_str), Some(sentence));
    assert_eq!(Entry::of(&record, &verdict).result.as_deref(), Some(sentence));
    assert!(markdown(&record, &verdict).contains("nobody's response time can be told"));
    let page = index(&[Listed { record: &record, verdict: &verdict, href: None }]);
    assert!(page.contains("and 5,000/s, nobody") && !page.contains("nothing was measured"), "{page}");
}

/// A run of one server at 5,000 requests a second, of which everything counts.
fn alone_at_a_rate() -> (Record, Verdict) {
    let (mut record, _) = at_a_fixed_rate();
    record.rounds.iter_mut().for_each(|round| round.runs[0].cells[0].machine.steal_share = 0.0);
    let mut verdict = testing::judged(&record);
    verdict.trust.clear();
    (record, verdict)
}

#[test]
fn who_is_alone_at_a_rate_has_a_sentence_that_says_how_long_it_takes() {
    let (record, mut verdict) = alone_at_a_rate();
    let told = |verdict: &Verdict| sentences::of_run(&record, verdict);
    let sentence = "At 5.00k requests per second (hello at 64), a answers half of them within 1.00 ms and 99 % within 1.00 ms.";
    assert_eq!(told(&verdict), [sentence]);
    let times = verdict.latency[0].standings[0].quantiles.iter_mut();
    times.filter(|of| of.quantile > 0.9).for_each(|of| of.is_lower_bound = true);
    assert!(told(&verdict)[0].ends_with("99 % within 1.00 ms or more."), "{:?}", told(&verdict));
}

/// Without its tail nothing is said of one server at a rate, and there is no other finding.
#[test]
fn a_run_without_a_finding_is_not_called_empty() {
    let (mut record, mut verdict) = alone_at_a_rate();
    verdict.latency[0].standings[0].quantiles.truncate(1);
    let told = |record: &Record| index(&[Listed { record, verdict: &verdict, href: None }]);
    assert!(told(&record).contains(">no finding<"), "{}", told(&record));
    record.rounds.clear();
    assert!(told(&record).contains(">nothing was measured<"), "{}", told(&record));
}
