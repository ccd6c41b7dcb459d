//! The limit beside servers of one's own: it answers as many bytes as they do, or says why not.

use assay_model::record::{Record, Run, Stage};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::support::{Lab, QUICK, Running, not_run, stdout};

/// A lab whose catalogue has the reference server as its limit.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.limit("assay");
    lab
}

fn run(lab: &Lab, asked: &[&str]) -> assert_cmd::assert::Assert {
    lab.assay(&[&["run"], asked].concat()).args(QUICK).assert()
}

/// The lengths of a contender's answers, as each of its lives learnt them.
fn lengths(record: &Record, contender: &str) -> Vec<[u64; 2]> {
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    let own: Vec<&Run> = runs.filter(|run| run.contender == contender).collect();
    assert!(own.iter().all(|run| run.failure.is_none() && !run.cells.is_empty()), "{own:?}");
    own.iter().flat_map(|run| &run.learnt).map(|learnt| learnt.body_bytes).collect()
}

#[test]
fn it_answers_as_many_bytes_as_a_command_of_ones_own() {
    let lab = lab();
    let own = "\"$ASSAY\" serve --port $PORT";
    let told = stdout(&run(&lab, &["--cmd", own, "--path", "/json", "--no-check"]).code(0));
    assert!(told.contains("assay (limit)"), "{told}");
    assert_eq!(lengths(&lab.record(), "assay"), [[27, 27]; 2], "{{\"message\":\"Hello, World!\"}} has 27");
    let without = lab.assay(&["run", "--cmd", own, "--path", "/json", "!assay", "--dry-run"]).assert();
    without.code(0).stdout(contains("assay-serve-port").and(contains("contenders  assay ").not()));
}

#[test]
fn it_is_asked_with_the_body_that_others_are_and_for_the_least_that_they_answer() {
    let lab = lab();
    let serve = "exec \"$ASSAY\" serve --port $PORT";
    lab.write(
        "mine.toml",
        "name = \"mine\"\nabout = \"\"\n[[request]]\nmethod = \"POST\"\npath = \"/echo\"\nbody = \"1234567\"\n\
         expect = { body = \"1234567\" }\n[[request]]\npath = \"/bytes/300\"\n",
    );
    let other = format!("{serve} --connections 500");
    run(&lab, &["--cmd", serve, "--cmd", &other, "-w", "./mine.toml", "--no-check"]).code(0);
    let record = lab.record();
    assert_eq!(lengths(&record, "assay"), [[7, 7], [300, 300], [7, 7], [300, 300]]);
    let books = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    let failed: u64 = books.map(|window| window.load.books.failed()).sum();
    assert_eq!(failed, 0);
    let limit = record.rounds[0].runs.iter().find(|run| run.contender == "assay").expect("it lived");
    assert!(limit.cells[0].load.books.ok > 0);
}

#[test]
fn rules_are_asked_of_it_at_the_path_that_is_measured() {
    let lab = lab();
    run(&lab, &["--cmd", "\"$ASSAY\" serve --port $PORT", "--path", "/bytes/70"]).code(0);
    let record = lab.record();
    let conformance = |at: usize| record.contenders[at].conformance.as_ref().expect("asked");
    assert!(record.contenders[0].identity.is_limit());
    assert_eq!(conformance(0).findings, conformance(1).findings, "the same server");
    assert!(!conformance(0).breaks_a_must());
}

#[test]
fn beside_a_server_that_runs_already_it_is_there_too() {
    let lab = lab();
    let (_server, url) = Running::serve(&lab);
    run(&lab, &[&format!("{url}/plaintext"), "--yes"]).code(0);
    let record = lab.record();
    assert_eq!(lengths(&record, "assay"), [[13, 13]; 2]);
    let control = record.contenders.iter().find(|entry| entry.control_of.is_some()).expect("a control");
    assert_eq!(lengths(&record, &control.identity.name), [[13, 13]; 2], "it is at the same address");
}

#[test]
fn where_nobody_answers_rightly_it_is_not_run_and_says_why() {
    let lab = lab();
    let told = run(&lab, &["--cmd", "\"$ASSAY\" serve --port $PORT", "--path", "/nothing", "--no-check"]);
    told.code(11).stderr(contains("status 404"));
    let record = lab.record();
    assert!(record.rounds.iter().all(|round| round.runs.iter().all(|run| run.contender != "assay")));
    let told = not_run(&record, "assay");
    assert!(told.reason.contains("none of them is known to answer rightly"), "{told:?}");
}

#[test]
fn a_command_that_does_not_start_is_what_failed_and_not_the_limit() {
    let lab = lab();
    run(&lab, &["--cmd", "false"]).code(10);
    assert_eq!(not_run(&lab.record(), "assay").stage, Stage::Needs);
}

/// No token of the user's is for the reference server, and sides of a comparison are set against each other.
#[test]
fn where_it_has_no_place_it_takes_no_part() {
    let lab = lab();
    let serve = "exec \"$ASSAY\" serve --port $PORT";
    let sides = ["compare", "--cmd", serve, "--cmd", &format!("{serve} --connections 500")];
    let told = stdout(&lab.assay(&sides).args(QUICK).assert().code(0));
    assert!(!told.contains("limit)"), "{told}");
    let planned = |asked: &[&str]| {
        let told = stdout(&lab.assay(&[&["run", "--dry-run"], asked].concat()).assert().code(0));
        told.lines().find(|line| line.starts_with("contenders")).expect("who").to_owned()
    };
    assert!(planned(&["--cmd", "./server"]).contains("assay, server"));
    assert!(!planned(&["--cmd", "./server", "--before", "echo A=b"]).contains("assay"));
    assert!(!planned(&["http://192.0.2.1/", "--yes"]).contains("assay"), "it is on another machine");
}
