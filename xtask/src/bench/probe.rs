//! What is measured in runs of its own, because looking changes the speed: system calls, and memory.

use std::process::Command;

use crate::measure::Place;
use crate::measure::client::{Client, Load, limit};
use crate::measure::process::{complete, complete_watched};
use crate::measure::tool::Tool;

const PERF: Tool = Tool { program: "perf", install: "apt-get install linux-perf" };
const STRACE: Tool = Tool { program: "strace", install: "apt-get install strace" };

/// System calls per right answer over a client's whole life, connecting included; `None` when neither perf nor strace
/// can count here.
///
/// # Errors
/// When a person asks to end.
pub(super) fn system_calls(client: &dyn Client, load: &Load, place: &Place) -> Result<Option<f64>, String> {
    for count in [count_by_perf, count_by_strace] {
        let counted = count(client, load, place);
        place.go_on()?;
        if let Ok(per_answer) = counted {
            return Ok(Some(per_answer));
        }
    }
    Ok(None)
}

/// The kernel's own trace point, which hardly slows the client.
fn count_by_perf(client: &dyn Client, load: &Load, place: &Place) -> Result<f64, String> {
    let log = place.scratch().join("perf.csv");
    let mut perf = Command::new(PERF.find().ok_or_else(|| PERF.advice())?);
    perf.args(["stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-o"]).arg(&log).arg("--");
    let right = run_under(perf, client, load, place)?;
    let text = std::fs::read_to_string(log).map_err(|error| error.to_string())?;
    let line = text.lines().find(|line| line.contains("sys_enter")).ok_or("perf counted nothing")?;
    let calls: f64 = line.split(',').next().and_then(|n| n.parse().ok()).ok_or("perf may not count")?;
    Ok(calls / right)
}

/// A stop at every call: the client gets slower, and one that takes what is there in batches takes more at a time.
fn count_by_strace(client: &dyn Client, load: &Load, place: &Place) -> Result<f64, String> {
    let log = place.scratch().join("strace.txt");
    let mut strace = Command::new(STRACE.find().ok_or_else(|| STRACE.advice())?);
    strace.args(["-c", "-f", "-o"]).arg(&log);
    let right = run_under(strace, client, load, place)?;
    let text = std::fs::read_to_string(log).map_err(|error| error.to_string())?;
    let total = text.lines().rev().find(|line| line.trim_end().ends_with(" total")).ok_or("no total")?;
    // % time, seconds, microseconds per call, calls, and errors if there were any.
    let calls: f64 = total.split_ascii_whitespace().nth(3).and_then(|n| n.parse().ok()).ok_or("no calls")?;
    Ok(calls / right)
}

fn run_under(mut tracer: Command, client: &dyn Client, load: &Load, place: &Place) -> Result<f64, String> {
    let traced = client.command(load, place).ok_or("cannot make this load")?;
    tracer.arg(traced.get_program()).args(traced.get_args());
    let ended = complete(&mut tracer, limit(load), place)?.with_code(client.codes(), "traced")?;
    Ok(client.read(&ended.stdout)?.right as f64)
}

/// Resident memory of the client per connection: its peak with many less its peak with few, over the difference.
///
/// # Errors
/// When a person asks to end.
pub(super) fn bytes_per_connection(
    client: &dyn Client,
    few: &Load,
    many: &Load,
    place: &Place,
) -> Result<Option<f64>, String> {
    let mut peaks = [0.0; 2];
    for (peak, load) in peaks.iter_mut().zip([few, many]) {
        let Some(mut command) = client.command(load, place) else { return Ok(None) };
        let ended = complete_watched(&mut command, limit(load), place);
        place.go_on()?;
        match ended.and_then(|ended| ended.with_code(client.codes(), client.name())) {
            Ok(ended) => *peak = ended.rss_peak_bytes as f64,
            Err(_) => return Ok(None),
        }
    }
    Ok(Some((peaks[1] - peaks[0]) / f64::from(many.connections - few.connections)))
}
