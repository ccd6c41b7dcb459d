//! How far apart generators begin whose hosts' clocks differ by seconds: time namespaces on this machine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use assay_host::cpuset;
use assay_model::load::LoadReport;

use super::table;
use crate::measure::process::Running;
use crate::measure::{Testbed, under_way};

/// How far each host's monotonic clock is ahead, in seconds.
const AHEAD_S: [i32; 3] = [0, 10, -10];
/// Requests of one start and in a second: so few that no generator has the CPU which another needs to begin, for here they share what
/// hosts have for themselves.
const REQUESTS: &str = "60";
const RATE: &str = "300";
/// Longest time of one.
const LIMIT: Duration = Duration::from_secs(60);

/// What one start told.
struct Start {
    /// From the first generator's begin to the last one's, in nanoseconds.
    apart: u64,
    /// What the clocks may be off by beyond that: of the two worst together.
    clock_error: u64,
}

/// Begins a load from three hosts so many times against the server at `url`, and prints how far apart they began.
pub(super) fn starts(count: u32, url: &str, testbed: &Testbed) -> Result<(), String> {
    let lab = lab(testbed.scratch()).map_err(|error| format!("lab file: {error}"))?;
    under_way(&format!("{count} starts"));
    let told = (0..count).map(|_| start(url, &lab, testbed)).collect::<Result<Vec<Start>, _>>()?;
    table::head(
        &["starts", "clocks ahead by", "apart: p50", "p90", "p99", "most", "clocks known to ±: p50", "most"]
            .map(String::from),
    );
    let of = |figure: fn(&Start) -> u64| {
        let mut all: Vec<u64> = told.iter().map(figure).collect();
        all.sort_unstable();
        all
    };
    let (apart, error) = (of(|start| start.apart), of(|start| start.clock_error));
    let ahead: Vec<String> = AHEAD_S.iter().map(|seconds| format!("{seconds} s")).collect();
    let us = |all: &[u64], quantile| format!("{} µs", at(all, quantile) / 1000);
    table::row(&[
        count.to_string(),
        ahead.join(", "),
        us(&apart, 0.5),
        us(&apart, 0.9),
        us(&apart, 0.99),
        us(&apart, 1.0),
        us(&error, 0.5),
        us(&error, 1.0),
    ]);
    Ok(())
}

/// The nearest rank of a quantile; 0 of nothing.
fn at(sorted: &[u64], quantile: f64) -> u64 {
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0)
}

fn lab(folder: &Path) -> std::io::Result<PathBuf> {
    let host = |(number, ahead): (usize, &i32)| {
        format!(
            "[[host]]\nname = \"host{number}\"\ntransport = \"command\"\nroles = [\"generator\"]\ncommand = [\"unshare\", \"--time\", \
             \"--monotonic\", \"{ahead}\", \"--fork\", \"--kill-child\", \"--\"]\n\n"
        )
    };
    let file = folder.join("lab.toml");
    std::fs::write(&file, AHEAD_S.iter().enumerate().map(host).collect::<String>())?;
    Ok(file)
}

fn start(url: &str, lab: &Path, testbed: &Testbed) -> Result<Start, String> {
    let mut command = Command::new(&testbed.assay);
    command.args(["load", url, "--json", "--yes", "-c", "6", "-n", REQUESTS, "-r", RATE, "--lab"]).arg(lab);
    let ended = Running::start(&mut command, &cpuset::allowed())?.finish(LIMIT, testbed)?;
    let ended = ended.with_code(&[0, 11], "assay load")?;
    let report: LoadReport =
        serde_json::from_str(&ended.stdout).map_err(|error| format!("assay load: no report: {error}"))?;
    let began: Option<Vec<i64>> = report.generators.iter().map(|share| share.began_ns).collect();
    let began = began.filter(|began| began.len() == AHEAD_S.len());
    let began = began.ok_or("assay load: a generator did not begin")?;
    let (first, last) = (began.iter().min().copied().unwrap_or(0), began.iter().max().copied().unwrap_or(0));
    let mut errors: Vec<u64> = report.generators.iter().map(|share| share.clock.error_ns.0).collect();
    errors.sort_unstable();
    Ok(Start { apart: last.abs_diff(first), clock_error: errors.iter().rev().take(2).sum() })
}
