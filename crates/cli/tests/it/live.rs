//! What is on a terminal while a run or a load goes on, in a real one, with keys pressed.

use std::time::Duration;

use assay_model::record::{Record, State};
use assay_report::text::width;
use assay_serve::stub::BODY;
use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::support::{Lab, Running, Terminal, eventually};

/// More rounds than anybody waits for, each short.
const LONG: [&str; 12] = [
    "run",
    "one",
    "two",
    "--no-check",
    "--no-aa",
    "-d",
    "200ms",
    "--warmup",
    "50ms",
    "-c",
    "2",
    "--rounds=200",
];

fn two_servers() -> Lab {
    let lab = Lab::new();
    lab.calm("one");
    lab.calm("two");
    lab
}

/// A server that leaves the CPUs to other tests.
fn slow_server(lab: &Lab) -> (Running, String) {
    Running::stub(lab, &["--service", "5ms"])
}

/// The terminal is as it was, which the shell tells behind the exit code.
fn is_restored(all: &str, exit: i32) -> bool {
    all.split(&format!("ended with {exit}\n")).nth(1).is_some_and(|set| {
        let set: Vec<&str> = set.split_whitespace().collect();
        set.contains(&"icanon") && set.contains(&"echo")
    })
}

/// Whether both contenders were measured in every round.
fn are_whole(record: &Record) -> bool {
    record.rounds.iter().all(|round| round.runs.iter().filter(|run| run.cells.len() == 1).count() == 2)
}

#[test]
fn a_quick_run_of_two_commands_shows_its_standings_and_the_result_replaces_them() {
    let lab = Lab::new();
    let [one, other] = [1, 2].map(|seed| {
        let assay = env!("CARGO_BIN_EXE_assay");
        format!("{assay} stub --address 127.0.0.1 --port $PORT --cpus 0 --service 5ms --seed {seed}")
    });
    let arguments = ["run", "--quick", "--warmup", "0s", "-c", "2", "--cmd", &one, "--cmd", &other];
    let Some(terminal) = Terminal::start(&lab, (80, 40), &arguments) else { return };
    let screen = terminal.wait_for("95 % interval");
    for words in ["round ", "req/s", "this round", "2 connections", "q finish this round and stop"] {
        assert!(screen.contains(words), "{words}:\n{screen}");
    }
    let all = terminal.end();
    assert!(is_restored(&all, 0), "{all}");
    assert!(all.contains(" Verdict ") && all.contains("ended with 0"), "{all}");
    assert!(!all.contains("q finish this round") && !all.contains("this round"), "{all}");
}

#[test]
fn q_finishes_the_round_and_the_record_is_whole() {
    let lab = two_servers();
    let Some(terminal) = Terminal::start(&lab, (80, 24), &LONG) else { return };
    terminal.wait_for("round 2 of ");
    terminal.press("q");
    terminal.wait_for("finishing this round, then stopping");
    let all = terminal.end();
    assert!(is_restored(&all, 130) && all.contains("stopped by hand"), "{all}");
    let record = lab.record();
    assert_eq!(record.state, State::Interrupted);
    assert!(record.rounds.len() >= 2 && are_whole(&record), "{:?}", record.rounds);
    lab.command(&["show"]).assert().code(0).stdout(contains("Verdict"));
}

#[test]
fn p_waits_between_windows_and_the_pause_is_told() {
    let lab = two_servers();
    let Some(terminal) = Terminal::start(&lab, (80, 24), &LONG) else { return };
    terminal.wait_for("round 2 of ");
    terminal.press("p");
    let paused = terminal.wait_for("paused for ");
    let round = |screen: &str| {
        screen
            .lines()
            .find(|line| line.contains(" of 200"))
            .map(|line| line.split(" · ").find(|part| part.contains("round")).map(str::to_owned))
    };
    // The load would have gone through several rounds in this time.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(round(&paused), round(&terminal.screen()));
    terminal.press("p");
    eventually("it goes on", || !terminal.screen().contains("p goes on"));
    terminal.press("q");
    let all = terminal.end();
    assert!(is_restored(&all, 130) && all.contains(" Paused "), "{all}");
    let record = lab.record();
    let waited: Duration = record.paused_ns.into();
    assert!(waited >= Duration::from_secs(2) && waited < Duration::from(record.elapsed_ns), "{waited:?}");
    assert!(are_whole(&record));
}

#[test]
fn keys_are_explained_and_the_lines_fit_whatever_the_size() {
    let lab = two_servers();
    let Some(terminal) = Terminal::start(&lab, (80, 24), &LONG) else { return };
    terminal.wait_for("95 % interval");
    terminal.press("?");
    let help = terminal.wait_for("back to the standings");
    assert!(help.contains("of one CPU"), "{help}");
    terminal.press("?");
    for (columns, rows) in [(200, 50), (60, 12), (100, 30)] {
        terminal.resize(columns, rows);
        terminal.press("?");
        terminal.wait_for("back to the standings");
        terminal.press("?");
        let screen = terminal.wait_for("p pause");
        let count = screen.matches("q finish this round").count();
        assert_eq!(count, 1, "at {columns} columns and {rows} rows:\n{screen}");
        assert!(screen.lines().all(|line| width(line) <= columns as usize), "{screen}");
        assert!(screen.contains("round ") && screen.contains("req/s"), "{screen}");
    }
    terminal.press("C-c");
    let all = terminal.end();
    assert!(is_restored(&all, 130), "{all}");
    assert!(all.contains("finishing this measurement; Ctrl-C again stops at once"), "{all}");
}

#[test]
fn a_polite_end_gives_the_terminal_back_and_colours_are_left_out_where_asked() {
    let lab = two_servers();
    let Some(terminal) = Terminal::start_with(&lab, (80, 24), &[("NO_COLOR", "1")], &LONG) else { return };
    terminal.wait_for("95 % interval");
    let screen = terminal.coloured();
    assert!(!screen.contains('\x1b'), "{screen:?}");
    let line =
        lab.processes().into_iter().find(|line| line.contains("--rounds=200") && !line.contains("sh -c"));
    let line = line.expect("it runs");
    let pid: i32 = line.split(':').next().and_then(|pid| pid.parse().ok()).expect("a process");
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("signalled");
    let all = terminal.end();
    assert!(is_restored(&all, 130), "{all}");
}

#[test]
fn lines_are_had_on_a_terminal_too() {
    let lab = two_servers();
    let arguments = [&LONG[..11], &["--rounds=2", "--progress", "plain"]].concat();
    let Some(terminal) = Terminal::start(&lab, (100, 60), &arguments) else { return };
    let all = terminal.end();
    assert!(all.contains("round 1 of 2 saved") && is_restored(&all, 0), "{all}");
    assert!(!all.contains("q finish"), "{all}");
}

#[test]
fn nothing_is_told_but_warnings_where_that_is_asked_for() {
    let lab = two_servers();
    let quiet = lab.run(&["one", "two", "--progress", "none"]).assert().code(0);
    quiet.stderr(contains("rounds").not().and(contains("saved").not()).and(contains("record ")));
}

#[test]
fn a_load_shows_the_last_second_in_figures() {
    let lab = Lab::new();
    let (_server, url) = slow_server(&lab);
    let arguments = ["load", &url, "-c", "4", "-d", "6s", "--expect-body", BODY];
    let Some(terminal) = Terminal::start(&lab, (80, 24), &arguments) else { return };
    let screen = terminal.wait_for("last second");
    for words in [
        "left",
        "4 connections",
        "in flight",
        "/s   p50 ",
        "p99 ",
        "max ",
        "none failed",
        "service times",
        "█",
    ] {
        assert!(screen.contains(words), "{words}:\n{screen}");
    }
    let all = terminal.end();
    assert!(all.contains("throughput ") && !all.contains("last second") && is_restored(&all, 0), "{all}");
}

#[test]
fn what_fails_under_a_load_is_told_by_class() {
    let lab = Lab::new();
    let (_server, url) = slow_server(&lab);
    let arguments = ["load", &url, "-c", "4", "-d", "6s", "--expect-body", "other", "--ascii"];
    let Some(terminal) = Terminal::start(&lab, (100, 24), &arguments) else { return };
    let screen = terminal.wait_for(" failed: ");
    assert!(screen.contains("in the last second") && screen.is_ascii(), "{screen}");
    terminal.press("C-c");
    assert!(is_restored(&terminal.end(), 130));
}

#[test]
fn a_load_tells_a_line_each_second_where_that_is_asked_for() {
    let lab = Lab::new();
    let (_server, url) = slow_server(&lab);
    let told = |arguments: &[&str]| {
        lab.assay(&[&["load", &url, "-d", "1500ms"], arguments].concat()).assert().code(0)
    };
    told(&["--progress", "plain"]).stderr(contains("/s in the last second"));
    told(&[]).stderr(contains("last second").not());
}
