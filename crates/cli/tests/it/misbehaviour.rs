//! Servers that misbehave: each is explained, none is counted, none survives, and the others are measured all the same.

use assay_model::load::ErrorClass;
use assay_model::record::{Record, Stage};
use predicates::str::contains;

use crate::support::{Lab, listing, not_run, stderr, stdout, windows};

/// Measures a good contender beside a bad one, which fails at `stage` with these words; returns the lab.
fn beside_good(lab: &Lab, code: i32, stage: Stage, words: &str) {
    lab.good("good");
    let assert = lab.run(&["good", "bad"]).assert().code(code);
    let record = lab.record();
    let why = not_run(&record, "bad");
    assert_eq!(why.stage, stage, "{why:?}");
    assert!(why.reason.contains(words) && why.remedy.is_some(), "{why:?}");
    assert.stdout(contains("bad")).stderr(contains(format!("bad is not run: {}", why.reason)));
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    let good = runs.filter(|run| run.contender == "good" && run.failure.is_none() && run.cells.len() == 1);
    assert_eq!(good.count(), 2);
}

#[test]
fn dies_at_once() {
    let lab = Lab::new();
    lab.script("bad", "echo bad flag >&2; exit 7");
    beside_good(&lab, 10, Stage::Start, "exit status 7 before it was ready");
    assert_eq!(not_run(&lab.record(), "bad").log_tail, ["bad flag"]);
}

#[test]
fn is_no_program() {
    let lab = Lab::new();
    lab.contender("bad", "server", "[run]\ncommand = [\"./server-that-is-not-there\"]");
    beside_good(&lab, 10, Stage::Start, "there is no program `./server-that-is-not-there`");
}

/// A contender that is named is meant to be measured, be it a command or a folder.
#[test]
fn is_a_folder_whose_program_is_not_built() {
    let lab = Lab::new();
    lab.script("bad", "exec ./server-that-is-not-built");
    beside_good(&lab, 10, Stage::Start, "command not found");
    let lab = Lab::new();
    lab.script("bad", "exec ./server-that-is-not-built");
    lab.run(&["./contenders/test/bad", "-o", "o.xml"]).assert().code(10);
    let junit = std::fs::read_to_string(lab.path("o.xml")).expect("JUnit");
    assert!(junit.contains("<failure message=\"did not start: command not found"), "{junit}");
}

#[test]
fn dies_under_load() {
    let lab = Lab::new();
    lab.misbehaving("bad", "mortal");
    beside_good(&lab, 10, Stage::Load, "exit status 3 under load");
    assert_eq!(not_run(&lab.record(), "bad").log_tail, ["fatal: out of answers"]);
}

#[test]
fn answers_with_an_error() {
    let lab = Lab::new();
    lab.misbehaving("bad", "error");
    beside_good(&lab, 11, Stage::Answer, "status 500 instead of 200");
}

#[test]
fn answers_garbage() {
    let lab = Lab::new();
    lab.misbehaving("bad", "garbage");
    beside_good(&lab, 11, Stage::Answer, "no valid HTTP/1.1");
}

#[test]
fn answers_with_another_body() {
    let lab = Lab::new();
    lab.misbehaving("bad", "wrong");
    beside_good(&lab, 11, Stage::Answer, "\"HELLO\" instead of \"hello\"");
}

#[test]
fn turns_wrong_under_load() {
    let lab = Lab::new();
    lab.misbehaving("bad", "turncoat");
    lab.run(&["bad"]).assert().code(11).stdout(contains("withheld"));
    let record = lab.record();
    for window in windows(&record) {
        let (books, counted) = (&window.load.books, &window.load.window);
        assert!(books.balance() && books.errors[&ErrorClass::WrongBody] > 0, "{books:?}");
        assert!(counted.ok <= books.ok && books.ok <= 50, "{books:?} {counted:?}");
    }
}

#[test]
fn turns_wrong_before_so_many_requests_are_over() {
    let lab = Lab::new();
    lab.misbehaving("bad", "turncoat");
    lab.good("good");
    let assert = lab.run(&["good", "bad", "-r", "300 requests"]).assert().code(11);
    let out = stdout(&assert);
    assert!(out.contains("withheld") && out.contains("bad"), "{out}");
    let record = lab.record();
    assert!(windows(&record).iter().all(|window| window.load.books.balance()));
}

#[test]
fn never_listens() {
    let lab = Lab::new();
    lab.script("bad", "exec sleep 1000");
    beside_good(&lab, 10, Stage::Start, "not ready within 1.5 s: nobody listens");
}

#[test]
fn listens_elsewhere() {
    let lab = Lab::new();
    lab.script("bad", "exec \"$ASSAY\" serve --port 0");
    beside_good(&lab, 10, Stage::Start, "not ready within 1.5 s");
    assert!(not_run(&lab.record(), "bad").remedy.as_ref().is_some_and(|r| r.contains("it listens on port")));
}

#[test]
fn never_answers() {
    let lab = Lab::new();
    lab.misbehaving("bad", "silent");
    beside_good(&lab, 10, Stage::Start, "no complete answer");
}

#[test]
fn becomes_a_daemon() {
    let lab = Lab::new();
    // Forks twice and leaves its session; the parent is content.
    lab.script("bad", "(setsid \"$ASSAY\" serve --port \"$PORT\" &) ; sleep 0.3; exit 0");
    beside_good(&lab, 10, Stage::Start, "forks and detaches");
}

#[test]
fn ignores_sigterm() {
    let lab = Lab::new();
    lab.misbehaving("stubborn", "stubborn");
    lab.run(&["stubborn", "--rounds", "1"]).assert().code(0);
    assert_eq!(lab.record().rounds[0].runs[0].failure, None);
}

#[test]
fn floods_its_log() {
    let lab = Lab::new();
    // More than the limit before it serves, and without an end while it does.
    lab.script("talker", "yes | head -c 2000000; yes & exec \"$ASSAY\" serve --port \"$PORT\"");
    lab.run(&["talker", "--rounds", "1"]).assert().code(0);
    let logs = lab.run_folder().join("logs");
    for name in listing(&logs) {
        let length = std::fs::metadata(logs.join(&name)).expect("log").len();
        assert!(length < 1 << 20, "{name} has {length} bytes");
    }
    let log = std::fs::read_to_string(logs.join("talker-0.log")).expect("log");
    assert!(log.contains("[assay: the log ends here"), "{} bytes", log.len());
    assert!(!log.ends_with("its end follows]\n"), "{} bytes", log.len());
}

#[test]
fn a_command_that_is_not_found_is_told_at_once_with_its_last_words() {
    let lab = Lab::new();
    let run =
        ["run", "--cmd", "no-such-server --port $PORT", "-d", "100ms", "--warmup", "0s", "--rounds", "5"];
    let assert = lab.assay(&run).assert().code(10);
    let told = stderr(&assert);
    assert!(
        told.contains("is not run: command not found") && told.contains("no-such-server: not found"),
        "{told}"
    );
    assert!(told.contains("nobody is left to be measured: the run ends before its first round"), "{told}");
}

#[test]
fn a_command_that_dies_at_once_is_tried_once_and_its_error_is_told_without_the_stack() {
    let lab = Lab::new();
    let script = "echo \"Error: Cannot find module 'expresss'\" >&2; seq -f '    at load (loader:%g:1)' 40 >&2; exit 3";
    for check in [&[][..], &["--no-check"]] {
        let run = [&["run", "--cmd", script, "-d", "100ms", "--rounds", "5"], check].concat();
        let told = stderr(&lab.assay(&run).assert().code(10));
        assert_eq!(told.matches("\n  | Error: Cannot find module 'expresss'\n").count(), 1, "{told}");
        assert!(told.contains("[36 lines of the stack left out]") && !told.contains("round 2"), "{told}");
    }
}

/// The server knows a port of its own, and was given long to start.
#[test]
fn a_server_on_another_port_is_told_before_its_time_is_over() {
    let lab = Lab::new();
    lab.contender(
        "elsewhere",
        "server",
        "[run]\ncommand = [\"${ASSAY}\", \"serve\", \"--port\", \"38471\"]\nready_timeout_s = 600",
    );
    let assert = lab.run(&["elsewhere"]).assert().code(10);
    let told = stderr(&assert);
    assert!(told.contains("it listens on port 38471: let it use $PORT, or give --port"), "{told}");
    // A command of the user's own will listen there the next time, too.
    let lab = Lab::new();
    let own = ["run", "--cmd", "\"$ASSAY\" serve --port 0", "--rounds", "5"];
    let told = stderr(&lab.assay(&own).assert().code(10));
    assert_eq!(told.matches("it listens on port ").count(), 1, "{told}");
    assert!(told.contains("the run ends before its first round"), "{told}");
    assert!(lab.record().rounds.is_empty());
}

#[test]
fn a_comparison_ends_when_a_side_is_dead() {
    let lab = Lab::new();
    let commands =
        ["compare", "--cmd", "\"$ASSAY\" serve --port $PORT", "--cmd", "echo no config >&2; exit 3"];
    let quick = ["-d", "100ms", "--warmup", "0s", "--rounds", "5", "-c", "2"];
    let told = stderr(&lab.assay(&commands).args(quick).assert().code(10));
    let left = "one of two is left, and there is nothing to compare it with: the run ends after 1 round";
    assert!(told.contains(left) && !told.contains("round 2"), "{told}");
    assert_eq!(told.matches("| no config").count(), 1, "{told}");
    let text = std::fs::read_to_string(lab.run_folder().join("record.json")).expect("record");
    let record: Record = serde_json::from_str(&text).expect("a record");
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    assert!(runs.clone().count() > 1 && runs.clone().all(|run| run.cells.is_empty()), "nothing is measured");
}

#[test]
fn where_nobody_could_be_measured_there_is_no_table_and_no_advice_to_measure_more() {
    let lab = Lab::new();
    let run =
        lab.assay(&["run", "--cmd", "echo why >&2; exit 3", "--no-check", "-d", "50ms"]).assert().code(10);
    let told = stdout(&run);
    assert_eq!(told.matches("Failed ").count(), 1, "{told}");
    for empty in ["req/s", "connections", "measure at least", "more rounds", "A/A"] {
        assert!(!told.contains(empty), "{empty} is in {told}");
    }
}
