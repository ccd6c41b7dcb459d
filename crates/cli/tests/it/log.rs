//! The diagnostic log: why a run did what it did.

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::support::{Lab, QUICK, stderr};

/// Two of the same, to be run and looked at.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.calm("one");
    lab.calm("other");
    lab
}

/// The topics of a log, each once, in the order in which they come up.
fn topics(log: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in log.lines() {
        let mut words = line.split_whitespace();
        let (time, level, topic) = (words.next(), words.next(), words.next());
        if time.is_some_and(|time| time.ends_with('s')) && matches!(level, Some("INFO" | "DEBUG")) {
            let topic = topic.and_then(|topic| topic.strip_suffix(':')).expect("a topic");
            if !found.contains(&topic) {
                found.push(topic);
            }
        }
    }
    found
}

fn run(lab: &Lab, arguments: &[&str]) -> Command {
    let mut command = lab.run(&[&["one", "other", "--rounds", "1"], arguments].concat());
    command.env_remove("ASSAY_LOG");
    command
}

#[test]
fn a_run_tells_why_it_does_what_it_does_when_it_is_asked() {
    let told = stderr(&run(&lab(), &["-vv"]).assert());
    for (what, why) in [
        (" INFO design: the servers of a round take turns:", "there are several"),
        (" INFO design: 1 rounds", "are planned"),
        (" INFO warmup: one ", "on hello "),
        (" INFO stop: no further round:", "as many as were planned"),
        ("DEBUG contender: one is ready", "round 1"),
        ("DEBUG window: one at hello", "per_second"),
    ] {
        assert!(told.lines().any(|line| line.contains(what) && line.contains(why)), "{what} {why}: {told}");
    }
    assert!(topics(&stderr(&run(&lab(), &[]).assert())).is_empty());
}

#[test]
fn topics_are_chosen_by_a_variable_which_goes_before_the_flag() {
    let told = stderr(&run(&lab(), &["-v"]).env("ASSAY_LOG", "stop,contender=debug").assert());
    assert_eq!(topics(&told), ["contender", "stop"], "{told}");
}

#[test]
fn a_topic_that_does_not_exist_is_an_error_before_anything_starts() {
    let lab = lab();
    let refused = run(&lab, &[]).env("ASSAY_LOG", "warmpu=debug").assert().code(2).stdout("");
    refused.stderr(contains("no topic `warmpu`").and(contains("warmup")));
    assert!(!lab.runs().exists());
}

#[test]
fn a_comparison_tells_its_design_and_a_command_its_end() {
    let lab = Lab::new();
    let server =
        "exec \"$ASSAY\" stub --service 5ms --address \"$ADDRESS\" --port \"$PORT\" --cpus \"$CPUS\"";
    let broken = format!("MODE=1 {server} --no-such-flag");
    let arguments = ["compare", "--cmd", server, "--cmd", &broken, "-v"];
    let told = stderr(
        &lab.assay(&[&arguments[..], &QUICK].concat())
            .env_remove("ASSAY_LOG")
            .env("ASSAY", env!("CARGO_BIN_EXE_assay"))
            .assert(),
    );
    assert!(told.contains("design: the others are compared with"), "{told}");
    assert!(told.lines().any(|line| line.contains("contender:") && line.contains("failed:")), "{told}");
}
