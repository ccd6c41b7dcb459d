//! Functions that have a name although no symbol of a file names them: of a Go program without symbols, and what HotSpot and V8 compiled.

use std::process::Command;

use assay_model::profile::{Facet, FrameKind, Sampled};
use assay_skip::skip;

use super::runtimes::go;
use super::{Program, sampled, samples_in};

/// A loop in a function of its own.
const GO: &str = include_str!("busy.go");
const JAVA: &str = include_str!("Busy.java");
const JAVASCRIPT: &str = include_str!("busy.js");
/// Fewest samples in it, and its name in any language.
const ENOUGH: u64 = 20;
const OWN: &str = "ofMyOwn";

/// Whether all functions of that name are code of one kind.
fn is_of(sampled: &Sampled, kind: FrameKind) -> bool {
    let of_name = |symbol: &String| symbol.contains(OWN);
    let mut named = sampled.frames.iter().filter(|frame| frame.symbol.as_ref().is_some_and(of_name));
    named.all(|frame| frame.kind == kind)
}

#[test]
fn functions_of_a_go_program_without_symbols_have_their_names() {
    let folder = tempfile::tempdir().expect("a folder");
    // Linked for one address, or for any: then the loader moves what the table is about.
    for flags in [&["-ldflags=-s -w"][..], &["-ldflags=-s -w", "-buildmode=pie"]] {
        let Some(program) = go(&folder, GO, flags) else { return };
        let program = Program::start(&mut Command::new(program));
        let is_busy = |sampled: &Sampled| samples_in(sampled, OWN) >= ENOUGH;
        let Some((sampled, _)) = sampled(&program.on_all_cpus(), is_busy) else { return };
        assert!(is_of(&sampled, FrameKind::Native), "{flags:?}: {:?}", sampled.frames);
        assert!(sampled.named_share().is_some_and(|share| share > 0.9), "{:?}", sampled.named_share());
    }
}

#[test]
fn a_method_that_java_compiled_is_named_without_a_perf_map() {
    if !Command::new("javac").arg("-version").output().is_ok_and(|told| told.status.success()) {
        return skip("tools", "there is no javac");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("Busy.java");
    std::fs::write(&source, JAVA).expect("written");
    // The second one only interprets, so what runs is the interpreter.
    for (flag, name) in [("-Xmixed", "Busy.ofMyOwn"), ("-Xint", "Interpreter")] {
        let program = Program::start(Command::new("java").arg(flag).arg(&source));
        let is_busy = |sampled: &Sampled| samples_in(sampled, name) >= ENOUGH;
        let Some((sampled, _)) = sampled(&program.on_all_cpus(), is_busy) else { return };
        assert!(is_of(&sampled, FrameKind::Jit), "{:?}", sampled.frames);
    }
}

#[test]
fn a_function_that_node_compiled_is_named_by_the_log_that_it_was_told_to_write() {
    if !Command::new("node").arg("--version").output().is_ok_and(|told| told.status.success()) {
        return skip("tools", "there is no node");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("busy.js");
    std::fs::write(&source, JAVASCRIPT).expect("written");
    let log = format!("--logfile={}/v8-%p.log", folder.path().display());
    let telling = ["--log-code", &log, "--no-logfile-per-isolate"];
    let program = Program::start(Command::new("node").args(telling).arg(&source));
    // With the mark of the compiler that optimises, so it is V8 that told it.
    let is_busy = |sampled: &Sampled| samples_in(sampled, "JS:*ofMyOwn") >= ENOUGH;
    let Some((sampled, refused)) = sampled(&program.on_all_cpus(), is_busy) else { return };
    assert!(is_of(&sampled, FrameKind::Jit), "{:?}", sampled.frames);
    assert!(refused.iter().all(|refused| refused.what != Facet::Symbols), "{refused:?}");
}
