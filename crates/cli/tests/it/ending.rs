//! However a run is ended, what was measured is kept and nothing it started stays.

use assay_model::record::{Record, State};
use assert_cmd::assert::OutputAssertExt as _;
use rustix::process::{Signal, kill_process_group};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt;

use crate::support::{Lab, Running, eventually, listing};

fn start(lab: &Lab, arguments: &[&str]) -> Running {
    let mut command = lab.command(&[&["run", "--warmup", "0s", "-c", "2", "--no-aa"], arguments].concat());
    // A group of its own, as a shell gives to a job.
    command.process_group(0);
    Running::start(command)
}

fn whole_windows(record: &Record) -> usize {
    let runs = || record.rounds.iter().flat_map(|round| &round.runs);
    assert!(runs().all(|run| run.failure.is_none() && run.cells.len() == 1), "{:?}", record.rounds);
    runs().flat_map(|run| &run.cells).filter(|window| window.load.books.balance()).count()
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let lab = Lab::new();
    lab.calm("one");
    lab.calm("two");
    let mut run = start(&lab, &["one", "two", "-d", "200ms", "--rounds", "100"]);
    run.wait_for("round 1 of 100 saved");
    // As a terminal does it: everybody in the foreground gets the signal.
    kill_process_group(run.pid(), Signal::INT).expect("signalled");
    let (status, out) = run.end();
    assert_eq!(status.code(), Some(130), "{}", run.said);
    assert!(
        run.said.contains("Ctrl-C again stops at once") && out.contains("Verdict"),
        "{}\n{out}",
        run.said
    );
    let record = lab.record();
    assert_eq!(record.state, State::Interrupted);
    assert_eq!(record.rounds[0].runs.len(), 2);
    assert!(whole_windows(&record) >= 2);
    lab.command(&["show"]).assert().code(0);
}

#[test]
fn a_polite_end_is_an_interruption_too() {
    let lab = Lab::new();
    lab.calm("one");
    let mut run = start(&lab, &["one", "-d", "200ms", "--rounds", "100"]);
    run.wait_for("round 1 of 100 saved");
    run.signal(Signal::TERM);
    assert_eq!(run.end().0.code(), Some(130), "{}", run.said);
    assert_eq!(lab.record().state, State::Interrupted);
}

#[test]
fn ctrl_c_twice_stops_in_the_middle_of_a_measurement() {
    let lab = Lab::new();
    lab.misbehaving("stubborn", "stubborn");
    let mut run = start(&lab, &["stubborn", "-d", "10m", "--rounds", "2"]);
    measuring(&lab);
    run.signal(Signal::INT);
    run.wait_for("Ctrl-C again stops at once");
    assert!(run.is_alive());
    run.signal(Signal::INT);
    assert_eq!(run.end().0.code(), Some(130), "{}", run.said);
    let record = lab.record();
    assert_eq!((record.state, whole_windows(&record)), (State::Interrupted, 0));
}

#[test]
fn ctrl_c_ends_a_build_at_once() {
    let lab = Lab::new();
    lab.contender("slow", "server", "[build]\ncommand = [\"sleep\", \"1000\"]\n[run]\ncommand = [\"true\"]");
    let mut run = start(&lab, &["slow"]);
    eventually("it builds", || lab.processes().iter().any(|line| line.contains(": sleep 1000")));
    run.signal(Signal::INT);
    assert_eq!(run.end().0.code(), Some(130), "{}", run.said);
    assert_eq!(lab.record().state, State::Interrupted);
    // Nobody said how long it may take, so it said how it is made shorter.
    assert!(
        run.said.contains("min at most; ") && run.said.contains("; --quick for a first look, Ctrl-C"),
        "{}",
        run.said
    );
}

/// There is no measurement yet that could be finished.
#[test]
fn ctrl_c_ends_the_wait_for_a_server_at_once() {
    let lab = Lab::new();
    lab.contender("slow", "server", "[run]\ncommand = [\"sleep\", \"1000\"]\nready_timeout_s = 1000");
    let mut run = start(&lab, &["slow"]);
    eventually("it starts", || lab.processes().iter().any(|line| line.contains(": sleep 1000")));
    run.signal(Signal::INT);
    assert_eq!(run.end().0.code(), Some(130), "{}", run.said);
    assert_eq!(lab.record().state, State::Interrupted);
}

#[test]
fn ctrl_c_before_anything_could_be_told_is_an_interruption_and_says_so() {
    let lab = Lab::new();
    let waits = ["--cmd", "sleep 1000", "--cmd", "sleep 1001", "--ready-timeout", "1h"];
    for (command, reason) in
        [("why", "before anybody was profiled"), ("compare", "before two of the commands")]
    {
        let mut run = Running::start(lab.command(&[&[command], &waits[..]].concat()));
        eventually("it starts", || lab.processes().iter().any(|line| line.contains(": sleep 100")));
        run.signal(Signal::INT);
        assert_eq!(run.end().0.code(), Some(130), "{}", run.said);
        assert!(run.said.contains("was stopped") && run.said.contains(reason), "{}", run.said);
    }
}

#[test]
fn a_killed_assay_leaves_no_process_and_no_scratch() {
    let lab = Lab::new();
    lab.misbehaving("stubborn", "stubborn");
    let mut run = start(&lab, &["stubborn", "-d", "10m"]);
    measuring(&lab);
    assert_eq!(listing(&lab.path("tmp")).len(), 1);
    run.signal(Signal::KILL);
    assert_eq!(run.end().0.code(), None);
    eventually("the supervisors end everything", || lab.processes().is_empty());
    assert_eq!(listing(&lab.path("tmp")), Vec::<String>::new());
    // The record says that the run did not come to an end, and can be read.
    let text = std::fs::read_to_string(lab.run_folder().join("record.json")).expect("record");
    let record: Record = serde_json::from_str(&text).expect("a record");
    assert_eq!(record.state, State::Running);
    lab.command(&["show"]).assert().code(0);
}

/// Kills a run as soon as a program sleeps that it waits for; then nothing is left of that.
fn killed_while_it_waits(lab: &Lab, mut run: Running) {
    let sleeps = |line: &String| line.contains(": sleep 1000");
    eventually("it waits for a program", || lab.processes().iter().any(sleeps));
    run.signal(Signal::KILL);
    run.end();
    eventually("the supervisors end everything", || lab.processes().is_empty());
    assert_eq!(listing(&lab.path("tmp")), Vec::<String>::new());
}

/// A lab with a server that needs a database of this kind.
fn with_database(kind: &str) -> Lab {
    let lab = Lab::new();
    let workload = format!(
        "name = \"db\"\nabout = \"\"\ndatabase = \"{kind}\"\n[[request]]\npath = \"/\"\nexpect = {{}}\n"
    );
    lab.write("workloads/db.toml", &workload);
    let server = "name = \"one\"\ntitle = \"One\"\nlanguage = \"test\"\nkind = \"server\"\nworkloads = [\"db\"]\n\
                  [run]\ncommand = [\"true\"]\n";
    lab.write("contenders/test/one/contender.toml", server);
    lab
}

#[test]
fn a_kill_while_a_cluster_is_made_leaves_no_folder() {
    let lab = with_database("postgresql");
    for program in ["initdb", "postgres"] {
        lab.write(&format!("bin/{program}"), "#!/bin/sh\nexec sleep 1000\n");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(lab.path("bin").join(program), mode).expect("a program");
    }
    // PostgreSQL does not run as root; whoever runs it then must find it.
    std::fs::set_permissions(lab.path(""), std::fs::Permissions::from_mode(0o711)).expect("permissions");
    let mut command = lab.command(&["run", "one", "-w", "db", "--no-aa", "--no-check"]);
    command
        .env("PATH", format!("{}:{}", lab.path("bin").display(), std::env::var("PATH").unwrap_or_default()));
    killed_while_it_waits(&lab, Running::start(command));
}

#[test]
fn a_kill_while_a_document_store_is_built_leaves_no_folder() {
    let lab = with_database("mongodb");
    let store = "name = \"store\"\ntitle = \"Store\"\nlanguage = \"test\"\nkind = \"server\"\nprovides = \"mongodb\"\n\
                 workloads = []\n[build]\ncommand = [\"sleep\", \"1000\"]\n[run]\ncommand = [\"true\"]\n";
    lab.write("contenders/test/store/contender.toml", store);
    killed_while_it_waits(&lab, start(&lab, &["one", "-w", "db", "--no-check"]));
}

#[test]
fn a_kill_while_a_command_before_the_load_runs_leaves_no_folder() {
    let lab = Lab::new();
    lab.calm("one");
    killed_while_it_waits(&lab, start(&lab, &["one", "--no-check", "--before", "exec sleep 1000"]));
}

/// Waits until the generator of a ten-minute window runs.
fn measuring(lab: &Lab) {
    let is_window = |line: &String| line.contains(" load http://") && line.contains(" -d 600s ");
    eventually("a window is measured", || {
        lab.processes().iter().any(|line| is_window(line) && !line.contains(" supervise "))
    });
}
