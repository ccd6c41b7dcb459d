//! The page of a run that has a run before it, and of one that goes on.

use assay_model::comparison::Shift;
use assay_model::record::{Record, State};
use assay_model::verdict::Verdict;
use assay_report::html::{self, LiveEdition};
use assay_report::page::{self, PageRun, Since};

use crate::again;
use crate::support::sample;

fn told() -> (Record, Verdict, Since) {
    again::again(sample()).unwrap()
}

#[test]
fn what_moved_since_the_last_run_is_told_by_the_rules_of_comparisons() {
    let (record, verdict, since) = told();
    let page = page::build(&[PageRun { record: &record, verdict: &verdict, since: Some(&since) }]).unwrap();
    let since = page.runs[0].head.since.as_ref().unwrap();
    assert_eq!(since.run, "2026-11-19T22-07-31-showdown");
    let (moved, others): (Vec<_>, Vec<_>) =
        since.rows.iter().partition(|row| matches!(row.call, Some(Shift::Better | Shift::Worse)));
    assert!(!moved.is_empty() && moved.iter().all(|row| row.contender == again::MOVED), "{moved:?}");
    for row in moved {
        assert!(
            row.sentence.starts_with("gin is ") && row.sentence.contains("% faster than before ["),
            "{row:?}"
        );
        assert_eq!((row.figure.as_str(), row.call), ("req/s", Some(Shift::Better)));
    }
    assert!(others.iter().any(|row| row.contender == "nginx"), "{others:?}");
    assert!(since.caveats.iter().any(|caveat| caveat.contains("different runs")), "{:?}", since.caveats);
    let without = page::build(&[(&record, &verdict)]).unwrap();
    assert_eq!(without.runs[0].head.since, None);
}

#[test]
fn the_page_has_what_other_generators_say_and_which_were_not_run() {
    let (record, verdict, _) = told();
    let head = page::build(&[(&record, &verdict)]).unwrap().runs.remove(0).head;
    let [cell] = head.by_generator.as_slice() else { panic!("{:?}", head.by_generator) };
    assert_eq!(cell.standings, verdict.cross_checks[0].standings);
    assert!(cell.notes.iter().any(|note| note.contains("coordinated omission")), "{:?}", cell.notes);
    assert_eq!(
        head.generators_missing,
        ["oha was to load the servers too: oha is not on the PATH → cargo install oha"]
    );
}

#[test]
fn a_page_that_follows_its_run_may_ask_its_server_and_nobody_else() {
    let (mut record, verdict) = sample();
    record.state = State::Running;
    let LiveEdition { html, update } = html::live(&record, &verdict).unwrap();
    assert!(
        html.contains("content=\"default-src 'none'; connect-src 'self'; script-src 'sha256-"),
        "the policy"
    );
    assert!(html.contains(r#"<script id="assay-live" type="application/json">"events"</script>"#));
    assert!(!update.contains('\n'), "an event is one line");
    let update: serde_json::Value = serde_json::from_str(&update).unwrap();
    assert!(html.contains(update["data"].as_str().unwrap()), "both show the same");
    assert_eq!(update.get("saved"), None);
}

#[test]
fn at_its_end_it_hands_over_the_report_that_needs_no_server() {
    let (record, verdict) = sample();
    let report = html::page(&record, &verdict).unwrap();
    assert!(!report.contains("'none'; connect-src") && !report.contains("id=\"assay-live\""));
    let LiveEdition { html, update } = html::ended((&record, &verdict).into(), &report).unwrap();
    let update: serde_json::Value = serde_json::from_str(&update).unwrap();
    assert_eq!((html.as_str(), update["saved"].as_str()), (report.as_str(), Some(report.as_str())));
    assert!(report.contains(update["data"].as_str().unwrap()));
}

#[test]
fn a_run_in_which_nothing_is_measured_yet_has_a_page() {
    let (mut record, _) = sample();
    record.state = State::Running;
    record.rounds.clear();
    let verdict = assay_verdict::judge(&record).unwrap();
    assert!(html::live(&record, &verdict).unwrap().html.contains("<title>showdown"));
}
