//! Scripts of calls on sockets, run on the kernel's stack and under the library: they must print the same.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]
mod support;

use std::path::Path;
use std::process::Command;

use support::{Server, compiled, is_installed, on_wire, preloaded};

#[test]
fn calls_on_sockets_are_the_kernels() {
    compare("sockets.py");
}

#[test]
fn waiting_is_the_kernels() {
    compare("events.py");
}

#[test]
fn processes_share_listeners_as_with_the_kernel() {
    compare("processes.py");
}

#[test]
fn who_may_listen_is_the_kernels_to_say() {
    if is_installed("/usr/bin/python3", "--version") {
        // In memory, as the ring wants.
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let wire = format!("ring:{}/ring", folder.path().display());
        let log = folder.path().join("log");
        let mut command = on_wire("/usr/bin/python3", &log, &wire, "server");
        compare_with("listening.py", command.env("ASSAY_STACK_ADDRESS", "10.77.0.1/24"), &log);
    }
}

#[test]
fn calls_by_number_are_the_kernels() {
    compare_program("calls.c", &["numbers"]);
}

#[test]
fn streams_of_the_c_library_carry_every_byte() {
    compare_program("calls.c", &["streams"]);
}

#[test]
fn what_was_sent_of_a_file_is_told_when_the_rest_cannot_be_read() {
    compare_program("calls.c", &["sendfile"]);
}

/// What the kernel carries here the library cannot: it says so.
#[test]
fn an_epoll_instance_of_ours_is_not_let_into_another() {
    if is_installed("/usr/bin/python3", "--version") {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/nested.py");
        let output = preloaded("/usr/bin/python3", &log).arg(script).output().unwrap();
        let told = "inner EPERM\nlater None EPERM []\ntaken out None None\napart 1 1 []\n";
        assert_eq!(String::from_utf8_lossy(&output.stdout), told, "{output:?}");
        assert_eq!(Server::said(&log).matches("is to hang in another").count(), 2);
    }
}

#[test]
fn select_sees_descriptors_from_1024_up() {
    compare_program("calls.c", &["select"]);
}

#[test]
fn a_handler_of_signals_may_use_sockets_at_any_moment() {
    compare_program("storm.c", &["1000"]);
}

#[test]
fn a_handler_that_nobody_could_make_wait_does_no_harm() {
    compare_program("storm.c", &["200", "unseen"]);
}

#[test]
fn what_another_thread_does_ends_a_wait() {
    for way in ["added", "modified", "shut", "listener_shut"] {
        compare_program("threads.c", &[way]);
    }
}

#[test]
fn threads_that_leave_together_leave_nobody_asleep() {
    compare_program("threads.c", &["together"]);
}

#[test]
fn calls_go_on_after_a_signal_or_end_as_the_kernels() {
    compare_program("threads.c", &["restarted"]);
}

#[test]
fn who_jumps_out_of_a_wait_holds_nobody_up() {
    for way in ["jumped", "jumped_unseen"] {
        compare_program("threads.c", &[way]);
    }
}

#[test]
fn a_cancelled_thread_holds_nobody_up() {
    for way in ["cancelled", "cancelled_at_work"] {
        compare_program("threads.c", &[way]);
    }
}

/// Compiles a program in C, runs it on the kernel's stack and on ours over the kernel's, and compares what it printed. Neither lives
/// for ever, should it wait for ever.
fn compare_program(source: &str, arguments: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let (program, log) = (compiled(source, folder.path()), folder.path().join("log"));
    let run = |command: &mut Command| {
        let output = command.args(["--signal=KILL", "300"]).arg(&program).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?} {}", Server::said(&log));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run(&mut preloaded("timeout", &log)), run(&mut Command::new("timeout")));
    assert!(Server::said(&log).contains("connected"), "it was our stack: {}", Server::said(&log));
}

/// Runs the script on the kernel's stack and on ours over the kernel's, and compares what it printed.
fn compare(script: &str) {
    if !is_installed("/usr/bin/python3", "--version") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    compare_with(script, &mut preloaded("/usr/bin/python3", &log), &log);
    let said = Server::said(&log);
    assert!(
        said.contains("connected") && !said.contains("connected 0 received_bytes 0\n"),
        "it was our stack: {said}"
    );
}

/// Compares what a script prints, with Python started by `ours`, where the library says something in `log`.
fn compare_with(script: &str, ours: &mut Command, log: &Path) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(script);
    let run = |command: &mut Command| {
        let output = command.arg(&path).output().unwrap();
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (expected, complaints) = run(&mut Command::new("/usr/bin/python3"));
    assert!(!expected.is_empty() && complaints.is_empty(), "{complaints}");
    let (printed, complaints) = run(ours);
    let said = Server::said(log);
    assert!(printed == expected, "expected:\n{expected}\nprinted:\n{printed}{complaints}{said}");
}
