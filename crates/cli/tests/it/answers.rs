//! Where nobody says what is right: what a server answers before the load is held against what it answers under it, and
//! against what others answer.

use assay_model::check::CheckOutcome;
use assay_model::learnt::Held;
use assay_model::load::ErrorClass;
use assay_model::record::Record;
use assay_model::rule::Rule;
use assay_stats::Histogram;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::support::{Lab, QUICK, Running, report, stdout};

/// A command line with a programmed server (see `fixtures/server.py`).
fn command(mode: &str) -> String {
    format!("python3 {}/tests/fixtures/server.py {mode}", env!("CARGO_MANIFEST_DIR"))
}

/// What the lives of a run were held against.
fn held(record: &Record) -> Vec<Held> {
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    runs.flat_map(|run| &run.learnt).map(|learnt| learnt.held).collect()
}

#[test]
fn a_build_that_answers_otherwise_is_not_called_kept() {
    let lab = Lab::new();
    let (old, new) = (command("json"), command("down"));
    let sides = ["compare", "--cmd", &old, "--cmd", &new, "--fail-on", "rps:-99%"];
    let out = stdout(&lab.assay(&[&sides[..], &QUICK].concat()).assert().code(12));
    for words in ["NOT COMPARABLE: the sides do not answer alike", "database is down", "void: req/s"] {
        assert!(out.contains(words), "{words}:\n{out}");
    }
    assert!(out.trim_start().starts_with("NOT COMPARABLE") && !out.contains("kept: "), "{out}");
    let run = crate::support::listing(&lab.runs()).remove(0);
    let record: Record = serde_json::from_str(
        &std::fs::read_to_string(lab.runs().join(run).join("record.json")).expect("record"),
    )
    .expect("a record");
    let held = held(&record);
    assert!(!held.is_empty() && held.iter().all(|held| *held == Held::Body), "{held:?}");
    // The same of what was stored.
    let [base, new] = [0, 1].map(|side| format!("last:{}", record.contenders[side].identity.name));
    lab.assay(&["compare", &base, &new, "--fail-on", "rps:-99%", "--format", "junit"])
        .assert()
        .code(12)
        .stdout(contains("<error message=").and(contains("do not answer alike")));
    lab.assay(&["compare", &base, &new]).assert().code(0).stdout(contains("do not answer alike"));
    lab.assay(&["compare", &base, &new, "--strict"]).assert().code(12);
    lab.assay(&["show"]).assert().code(0).stdout(contains("like answers: the sides do not answer alike"));
}

#[test]
fn a_body_that_varies_honestly_fails_nobody() {
    let lab = Lab::new();
    let counter = command("counter");
    let assert = lab.run(&["--cmd", &counter]).env("ASSAY_LOG", "answers").assert().code(0);
    let assert = assert.stderr(contains("answers: ").and(contains("which leaves open what is right")));
    let record = lab.record();
    assert_eq!(held(&record), [Held::Shape; 2]);
    let books = record.rounds.iter().flat_map(|round| &round.runs).map(|run| &run.cells[0].load.books);
    assert!(books.clone().count() == 2 && books.into_iter().all(|books| books.ok > 0 && books.failed() == 0));
    let out = stdout(&assert).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("every answer was compared with the shape"), "{out}");
}

#[test]
fn bodies_of_one_shape_are_told_and_compared() {
    let lab = Lab::new();
    let (old, new) = (command("json"), command("greeting"));
    let sides = ["compare", "--cmd", &old, "--cmd", &new, "--fail-on", "rps:-99%"];
    lab.assay(&[&sides[..], &QUICK].concat())
        .assert()
        .code(0)
        .stdout(contains("note: bodies differ and are alike").and(contains("void: ").not()));
}

#[test]
fn a_server_that_answers_otherwise_under_load_answers_wrongly() {
    let lab = Lab::new();
    let collapsing = command("collapsing");
    lab.run(&["--cmd", &collapsing]).assert().code(11);
    let record = lab.record();
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    let wrong =
        runs.flat_map(|run| &run.cells).map(|window| window.load.books.errors.get(&ErrorClass::WrongHeader));
    assert!(wrong.into_iter().any(|count| count.is_some_and(|count| *count > 0)));
}

#[test]
fn a_load_learns_before_and_says_so() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let load = |more: &[&str]| lab.assay(&[&["load", &url, "-n", "100", "-c", "2"], more].concat()).assert();
    let told = stdout(&load(&[]).code(0)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("answers every answer was compared"), "{told}");
    assert!(told.contains("to the last byte: 200 text/plain, 5 bytes 'hello'"), "{told}");
    let learnt = report(&load(&["--json"]).code(0)).learnt;
    assert!(learnt.len() == 1 && learnt[0].held == Held::Body && learnt[0].asked > 2, "{learnt:?}");
    let expected = report(&load(&["--json", "--expect-status", "200"]).code(0));
    assert!(expected.learnt.is_empty());
}

#[test]
fn a_load_whose_answers_are_spoilt_ends_as_a_run_does() {
    let lab = Lab::new();
    for (faults, class) in
        [("wrong-byte=0.05", ErrorClass::WrongBody), ("reset-in-body=0.05", ErrorClass::ResetInBody)]
    {
        let (_stub, url) = Running::stub(&lab, &["--faults", faults, "--seed", "2"]);
        let arguments = ["load", &url, "--json", "-n", "2000", "-c", "2", "--expect-body", "as programmed"];
        let report = report(&lab.assay(&arguments).assert().code(11));
        assert!(report.books.balance() && report.books.errors[&class] > 0, "{:?}", report.books);
    }
    let (_server, url) = Running::serve(&lab);
    // What is wrong with all of them is told once.
    let absent = lab.assay(&["load", &format!("{url}/nosuch"), "-n", "50", "-c", "2"]).assert().code(11);
    let told = stdout(&absent).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(told.matches("got status 404").count(), 1);
    assert!(told.contains("nothing is at this path: give another in the URL"), "{told}");
    assert!(!told.contains("per answer") && told.contains("no right answer, so no percentile"), "{told}");
    // More than anybody can send: what was due was not offered.
    let void = ["load", &url, "-d", "100ms", "-c", "1", "-r", "1M"];
    let told = lab.assay(&void).assert().code(0);
    told.stdout(contains("do not believe").and(contains("requests were sent in the window in which")));
    lab.assay(&[&void[..], &["--strict", "--json"]].concat()).assert().code(12);
}

/// Requests that outlast the window are those that tell how slow the server is.
#[test]
fn times_are_of_the_requests_that_began_in_the_window() {
    let lab = Lab::new();
    let (_stub, url) = Running::stub(&lab, &["--service", "400ms"]);
    let arguments = ["load", &url, "--json", "-c", "8", "-d", "200ms"];
    let report = report(&lab.assay(&arguments).assert().code(0));
    assert_eq!((report.window.ok, report.books.ok), (0, 8), "none ends in the window");
    let times = Histogram::from_hdr_base64(&report.latency.service_hdr).expect("times");
    assert_eq!(times.count(), 8);
    assert!(times.min().is_some_and(|ns| ns >= 398_000_000), "{:?}", times.min());
    let length = report.checks.iter().find(|check| check.rule == Rule::WindowLength).expect("told");
    assert_eq!(length.outcome, CheckOutcome::Warn, "{length:?}");
}
