//! What is measured in runs of its own, because looking changes the speed: system calls, and memory.

use std::ffi::OsString;
use std::path::Path;

use assay_lab::generator::{Manner, Tool};

use crate::measure::Testbed;
use crate::measure::client::{Client, Load, run_as};

const PERF: Tool = Tool { program: "perf", install: "apt-get install linux-perf" };
const STRACE: Tool = Tool { program: "strace", install: "apt-get install strace" };

/// System calls per right answer over a client's whole life, connecting included; `None` when neither perf nor strace
/// can count here.
///
/// # Errors
/// When a person asks to end.
pub(super) fn system_calls(client: Client, load: &Load, testbed: &Testbed) -> Result<Option<f64>, String> {
    for count in [count_by_perf, count_by_strace] {
        let counted = count(client, load, testbed);
        testbed.go_on()?;
        if let Ok(per_answer) = counted {
            return Ok(Some(per_answer));
        }
    }
    Ok(None)
}

/// The kernel's own trace point, which hardly slows the client.
fn count_by_perf(client: Client, load: &Load, testbed: &Testbed) -> Result<f64, String> {
    let log = testbed.scratch().join("perf.csv");
    let words = ["stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-o"];
    let right = run_under(PERF, &words, &log, (client, load), testbed)?;
    let text = std::fs::read_to_string(log).map_err(|error| error.to_string())?;
    let line = text.lines().find(|line| line.contains("sys_enter")).ok_or("perf counted nothing")?;
    let calls: f64 = line.split(',').next().and_then(|n| n.parse().ok()).ok_or("perf may not count")?;
    Ok(calls / right)
}

/// A stop at every call: the client gets slower, and one that takes what is there in batches takes more at a time.
fn count_by_strace(client: Client, load: &Load, testbed: &Testbed) -> Result<f64, String> {
    let log = testbed.scratch().join("strace.txt");
    let right = run_under(STRACE, &["-c", "-f", "-o"], &log, (client, load), testbed)?;
    let text = std::fs::read_to_string(log).map_err(|error| error.to_string())?;
    let total = text.lines().rev().find(|line| line.trim_end().ends_with(" total")).ok_or("no total")?;
    // % time, seconds, microseconds per call, calls, and errors if there were any.
    let calls: f64 = total.split_ascii_whitespace().nth(3).and_then(|n| n.parse().ok()).ok_or("no calls")?;
    Ok(calls / right)
}

/// Right answers of a load that a tracer follows, which writes what it counted into `log`.
fn run_under(
    tracer: Tool,
    words: &[&str],
    log: &Path,
    (client, load): (Client, &Load),
    testbed: &Testbed,
) -> Result<f64, String> {
    let program = tracer.find().ok_or_else(|| tracer.advice())?;
    let mut under: Vec<OsString> = vec![program.into()];
    under.extend(words.iter().map(OsString::from));
    under.extend([log.into(), "--".into()]);
    let manner = Manner { under, ..Manner::default() };
    Ok(run_as(client, load, &manner, testbed)?.told.right as f64)
}

/// Resident memory of the client per connection: its peak with many less its peak with few, over the difference.
///
/// # Errors
/// When a person asks to end.
pub(super) fn bytes_per_connection(
    client: Client,
    few: &Load,
    many: &Load,
    testbed: &Testbed,
) -> Result<Option<f64>, String> {
    let mut peaks = [0.0; 2];
    for (peak, load) in peaks.iter_mut().zip([few, many]) {
        if client.refusal(load).is_some() {
            return Ok(None);
        }
        let finished = run_as(client, load, &Manner { is_weighed: true, ..Manner::default() }, testbed);
        testbed.go_on()?;
        match finished.ok().and_then(|finished| finished.rss_peak_bytes) {
            Some(bytes) => *peak = bytes as f64,
            None => return Ok(None),
        }
    }
    Ok(Some((peaks[1] - peaks[0]) / f64::from(many.connections - few.connections)))
}
