//! Load is sent to other machines only with consent. All in a network namespace without a way out, so that nothing is sent.

use std::process::Command;

use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::*;
use predicates::str::contains;

use crate::support::Lab;
use assay_skip::skip;

/// An address for documentation (RFC 5737).
const STRANGER: &str = "http://192.0.2.1:8080/";

/// `prepare; ASSAY ARGUMENTS` in a network of its own; `None` where this user may not make one.
fn alone(lab: &Lab, prepare: &str, arguments: &[&str]) -> Option<Command> {
    let is_allowed =
        Command::new("unshare").args(["--net", "true"]).output().is_ok_and(|done| done.status.success());
    if !is_allowed {
        let need = if rustix::process::geteuid().is_root() { "netns" } else { "root" };
        skip(need, "needs the right to make a network namespace");
        return None;
    }
    let assay = lab.command(arguments);
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", &format!("{prepare}; exec \"$@\""), "sh"]).arg(assay.get_program());
    command.args(assay.get_args());
    command.envs(assay.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(assay.get_current_dir().expect("folder"));
    Some(command)
}

#[test]
fn a_stranger_is_named_and_nothing_is_sent_without_a_terminal_or_yes() {
    let lab = Lab::new();
    for arguments in [
        &["load", STRANGER][..],
        &["run", STRANGER, "--path", "/"],
        &["redline", STRANGER, "--path", "/", "--slo", "p99<10ms"],
        &["check", STRANGER],
    ] {
        let Some(mut command) = alone(&lab, "true", arguments) else { return };
        let told = contains("192.0.2.1 is not this machine").and(contains("--yes"));
        command.assert().code(2).stdout("").stderr(told);
    }
    assert!(!lab.runs().exists());
}

#[test]
fn yes_is_consent() {
    let lab = Lab::new();
    let Some(mut command) =
        alone(&lab, "true", &["load", STRANGER, "--yes", "-d", "100ms", "--timeout", "1s"])
    else {
        return;
    };
    // It was tried, and there is no way to it.
    command.assert().code(10).stderr(contains("is not this machine").not());
}

#[test]
fn on_a_terminal_a_person_is_asked() {
    let lab = Lab::new();
    for (answer, code, words) in
        [("n", 2, "nothing was sent"), ("", 2, "nothing was sent"), ("y", 10, "[y/N]")]
    {
        let Some(inner) = alone(&lab, "true", &["load", STRANGER, "-d", "100ms", "--timeout", "1s"]) else {
            return;
        };
        let quote =
            |word: &std::ffi::OsStr| format!("'{}'", word.to_str().expect("text").replace('\'', "'\\''"));
        let line: Vec<String> =
            std::iter::once(inner.get_program()).chain(inner.get_args()).map(quote).collect();
        // script(1) is a terminal.
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line.join(" "), "/dev/null"]);
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut command = assert_cmd::Command::from_std(command);
        let assert = command.write_stdin(format!("{answer}\n")).assert().code(code);
        assert.stdout(contains("192.0.2.1 is not this machine").and(contains(words)));
    }
}

#[test]
fn every_address_of_this_machine_is_its_own() {
    let lab = Lab::new();
    let up = "ip link set lo up; ip address add 192.0.2.1/32 dev lo";
    for url in [
        STRANGER,
        "http://127.0.0.1:8080/",
        "http://localhost:8080/",
        "http://[::1]:8080/",
        "http://0.0.0.0:8080/",
    ] {
        let Some(mut command) = alone(&lab, up, &["load", url, "-d", "100ms"]) else { return };
        // Nobody listens.
        command.assert().code(10).stderr(contains("is not this machine").not());
    }
}
