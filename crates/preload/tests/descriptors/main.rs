//! Every call of Linux that makes, moves or ends a descriptor, in a program in C: it must print the same on the kernel's stack and
//! under the library.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]
mod support;
#[path = "../../src/table.rs"]
#[allow(dead_code, unreachable_pub, reason = "the library's own list, as data")]
mod table;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use assay_skip::skip;
use support::{Server, compiled, preloaded};
use table::{CALLS, Call, Care};

/// A call, made in one way.
struct Case<'a> {
    call: &'a Call,
    way: &'static str,
    care: Care,
}

fn cases() -> impl Iterator<Item = Case<'static>> {
    CALLS.iter().flat_map(|call| {
        let ways = [("function", call.function), ("number", call.number), ("instruction", call.instruction)];
        ways.into_iter().filter_map(move |(way, care)| Some(Case { call, way, care: care? }))
    })
}

#[test]
fn every_call_has_a_case_and_every_case_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let listed = Command::new(compiled("descriptors.c", folder.path())).arg("--list").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let listed: BTreeSet<&str> = listed.lines().collect();
    let known: BTreeSet<&str> = CALLS.iter().map(|call| call.name).collect();
    assert_eq!(known.len(), CALLS.len(), "each is there once");
    assert_eq!(listed, known);
}

#[test]
fn the_marks_are_true_after_every_call() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled("descriptors.c", folder.path());
    let failures: Vec<String> = cases().filter_map(|case| case.failure(&program, folder.path())).collect();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases().count(), failures.join("\n"));
}

impl Case<'_> {
    /// What was otherwise than on the kernel's stack, if anything.
    fn failure(&self, program: &Path, folder: &Path) -> Option<String> {
        let log = folder.join("log");
        let expected = self.run(Command::new(program), folder);
        if expected.contains("not here") {
            skip("kernel", format_args!("{} {}: {}", self.call.name, self.way, expected.trim()));
            return None;
        }
        let printed = self.run(preloaded(&program.to_string_lossy(), &log), folder);
        let is_right = match self.care {
            Care::Followed | Care::Checked => printed == expected,
            Care::Refused => !printed.contains("yes") && printed.ends_with("done\n"),
        };
        let title = format!("{} by {} ({:?})", self.call.name, self.way, self.care);
        let (said, works) = (Server::said(&log), expected.ends_with("done\n"));
        (!is_right || !works)
            .then(|| format!("{title}\nthe kernel's:\n{expected}ours:\n{printed}the library said:\n{said}"))
    }

    fn run(&self, mut command: Command, folder: &Path) -> String {
        let file = folder.join("file");
        std::fs::write(&file, "").unwrap();
        command.args([self.call.name, self.way]).arg(&file).stdin(Stdio::null());
        let Output { stdout, stderr, .. } = command.output().unwrap();
        String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned()
    }
}
