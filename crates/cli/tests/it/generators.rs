//! Generators of other projects in a run: real ones, missing ones, and such as no project has.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use assay_model::generator::GeneratorName;
use assay_model::generator_window::{CountedBy, GeneratorWindow};
use assay_model::record::Record;
use assay_skip::skip;
use predicates::str::contains;

use crate::support::{Lab, stderr, stdout};

/// The windows under a generator, in the order in which they were measured.
fn windows(record: &Record, name: GeneratorName) -> Vec<&GeneratorWindow> {
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    runs.flat_map(|run| &run.by_generator).filter(|window| window.generator == name).collect()
}

/// Puts a program of this name before all others: what it does behind `-v`, with which it is asked for its version.
fn with_program(lab: &Lab, name: &str, script: &str) -> String {
    let text = format!("#!/bin/sh\n[ \"$1\" != -v ] || {{ echo '{name} 9.9.9'; exit 1; }}\n{script}\n");
    lab.write(&format!("bin/{name}"), &text);
    let program = lab.path("bin").join(name);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("executable");
    format!("{}:{}", lab.path("bin").display(), std::env::var("PATH").expect("a PATH"))
}

#[test]
fn wrk_and_ours_load_the_same_servers_and_their_counts_are_the_servers() {
    if Command::new("wrk").arg("-v").output().is_err() {
        return skip("tools", "needs wrk, apt-get install wrk");
    }
    let lab = Lab::new();
    lab.good("first");
    lab.good("second");
    let assert = lab.run(&["first", "second", "--generator", "assay,wrk", "-c", "4"]).assert().code(0);
    // Wherever its lines end.
    let out = stdout(&assert).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in
        ["hello, 4 connections: by generator", "told p99", "coordinated omission", "counted by the servers"]
    {
        assert!(out.contains(words), "{words}:\n{out}");
    }
    let record = lab.record();
    let [wrk] = record.generators.as_slice() else { panic!("{:?}", record.generators) };
    assert!(wrk.name == GeneratorName::Wrk && wrk.not_run.is_none() && wrk.left_out.is_empty(), "{wrk:?}");
    assert!(wrk.version.as_deref().is_some_and(|version| version.starts_with("4.")), "{wrk:?}");
    for name in [GeneratorName::Assay, GeneratorName::Wrk] {
        let windows = windows(&record, name);
        assert_eq!(windows.len(), 4, "two servers in two rounds");
        for window in windows {
            assert_eq!(window.failure, None, "{name}");
            let told = window.told.as_ref().expect("an answer");
            let counted = window.server_counted.expect("the server counts");
            assert!(told.right > 0 && told.failed == 0, "{name}: {told:?}");
            assert!((told.right..=told.right + 4).contains(&counted), "{name}: {} of {counted}", told.right);
            assert_eq!(window.right(), Some((counted, CountedBy::Server)));
            assert!(window.cpu_ns.is_some_and(|cpu| cpu.0 > 0) && told.percentile(0.99).is_some(), "{name}");
        }
    }
    assert!(record.rounds[0].runs.iter().all(|run| !run.cells.is_empty()), "ours ranks as ever");
}

#[test]
fn a_generator_that_is_missing_is_told_with_the_command_that_installs_it() {
    let lab = Lab::new();
    lab.good("only");
    let assert = lab.run(&["only", "--generator", "wrk"]).env("PATH", "/nowhere").assert().code(0);
    assert!(stderr(&assert).contains("wrk is not on the PATH"), "{}", stderr(&assert));
    assert!(stdout(&assert).contains("apt-get install wrk"), "{}", stdout(&assert));
    let record = lab.record();
    let why = record.generators[0].not_run.as_ref().expect("not run");
    assert_eq!(why.remedy.as_deref(), Some("apt-get install wrk"));
    assert!(windows(&record, GeneratorName::Assay).is_empty(), "ours is compared with nobody");
}

#[test]
fn what_a_generator_cannot_do_is_an_error_before_anything_starts() {
    let lab = Lab::new();
    lab.good("only");
    for (arguments, words) in [
        (
            &["--generator", "wkr"][..],
            "`wkr` is no load generator that assay can drive; it knows assay, wrk,",
        ),
        (&["--generator", "wrk2"], "wrk2 has no closed loop, only a rate (hello at 2)"),
        (&["--generator", "ab", "--pipeline", "4"], "ab does not pipeline"),
        (&["--generator", "wrk", "--stack", "user"], "wrk has no TCP stack in user space"),
        (&["--generator", "h2load", "-r", "500 requests"], "h2load is not asked for a number of requests"),
    ] {
        let all = [&["only"], arguments].concat();
        let refused = lab.run(&all).assert().code(2);
        assert!(stderr(&refused).contains(words), "{words}:\n{}", stderr(&refused));
    }
    assert!(!lab.runs().exists(), "nothing was begun");
}

/// One cell of two is left out, with the reason; the other is measured.
#[test]
fn a_cell_that_a_generator_cannot_make_is_left_out_and_told() {
    let lab = Lab::new();
    lab.calm("only");
    let sleeping = "sleep 1; echo '  10 requests in 1.00s, 1B read'";
    let path = with_program(&lab, "wrk", sleeping);
    let arguments = ["only", "--generator", "wrk", "-r", "max,50/s", "--rounds", "1"];
    let assert = lab.run(&arguments).env("PATH", path).assert().code(0);
    let out = stdout(&assert).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("wrk has no rate, only a closed loop: hello at 2, 50/s is left out"), "{out}");
    let record = lab.record();
    assert_eq!(record.generators[0].version.as_deref(), Some("9.9.9"));
    assert_eq!(windows(&record, GeneratorName::Wrk).len(), 1);
}

/// A generator that prints without end, lies about time, leaves processes behind or fails is told, ended with all that it started, and no fault of
/// the server's.
#[test]
fn a_generator_is_not_trusted() {
    for (script, words) in [
        ("exec yes 'Requests/sec: 1'", "wrk: signal 13"),
        ("head -c 2000000 /dev/zero", "printed more than 1048576 bytes"),
        ("(trap '' TERM; sleep 1000) & echo 'nothing'", "its answer has no line of totals"),
        ("echo '10 requests in 1000000.00h, 1B read'", "and lived for"),
        ("echo '10 requests in 0.00s, 1B read'", "instead of 1 s"),
        ("echo 'cannot connect' >&2; exit 7", "exit status 7 cannot connect"),
    ] {
        let lab = Lab::new();
        lab.calm("only");
        let path = with_program(&lab, "wrk", script);
        let run =
            lab.run(&["only", "--generator", "wrk", "--rounds", "1"]).env("PATH", path).assert().code(0);
        let record = lab.record();
        let [window] = windows(&record, GeneratorName::Wrk)[..] else { panic!("one window") };
        let failure = window.failure.as_deref().unwrap_or_default();
        assert!(
            failure.contains(words) || script.starts_with("exec yes") && failure.contains("more than"),
            "{script}: {failure}"
        );
        assert!(stdout(&run).contains("wrk failed once on only"), "{}", stdout(&run));
        assert!(record.rounds[0].runs.iter().all(|run| run.failure.is_none()));
    }
}

#[test]
fn a_count_that_the_server_does_not_know_of_is_told() {
    let lab = Lab::new();
    lab.good("only");
    let path = with_program(&lab, "wrk", "sleep 1; echo '1000000000 requests in 1.00s, 1B read'");
    let run = lab.run(&["only", "--generator", "wrk", "--rounds", "1"]).env("PATH", path).assert().code(0);
    run.stdout(contains("req/s: counted by the servers (only)"));
    let record = lab.record();
    let [window] = windows(&record, GeneratorName::Wrk)[..] else { panic!("one window") };
    assert_eq!(window.right(), Some((0, CountedBy::Server)), "nobody asked anything");
}
