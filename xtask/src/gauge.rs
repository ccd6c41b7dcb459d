//! What is seen of the machine within turns in records, by the gauge of the CPUs and by the time that others took: how the turns of each
//! contender follow it, whether it depends on the server beside it, what it leaves of turns that others disturbed, and what runs could have
//! shown without it.

use std::path::{Path, PathBuf};

use assay_lab::store::Store;
use assay_model::record::Record;
use assay_stats::gauge::{Follower, Left};
use assay_stats::robust::spread_of;
use assay_verdict::calibration::{followers, left};
use assay_verdict::{Unreadable, judge};
use clap::Args;

/// What is seen of the machine in a turn, in the order of [`assay_stats::gauge::Reading`].
const SEEN: [&str; 4] = [
    "gauge on the server's CPUs",
    "gauge on the generator's",
    "time taken from the server",
    "generator's waiting",
];
/// Where in that order the time is that others took from the server.
const TAKEN: usize = 2;
/// Shares of a turn's time up to which turns are told of together.
const BANDS: [f64; 7] = [0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 1.0];

#[derive(Args)]
pub(crate) struct Options {
    /// Records of runs in which servers took turns: the folder of each run, or its record file.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<(), Vec<String>> {
    let records: Result<Vec<Record>, String> = options.runs.iter().map(|path| record_of(path)).collect();
    let records = records.map_err(|why| vec![why])?;
    let found: Result<Vec<_>, _> = records.iter().map(followers).collect();
    let found: Vec<(String, String, Follower)> = found.map_err(|why| vec![why.to_string()])?.concat();
    if found.is_empty() {
        return Err(vec![
            "no record has turns with a gauge; measure `assay run A B` on this machine".to_owned(),
        ]);
    }
    println!("| contender | workload | turns | follow | vary by | is left | {} |", SEEN.join(" | "));
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (contender, workload, follower) in &found {
        row(contender, workload, follower);
    }
    for (place, of) in SEEN.into_iter().enumerate() {
        let bias = 100.0 * bias(found.iter().map(|(_, _, follower)| follower.beside[place]));
        println!(
            "\nBy the server beside it, {of} differs by {bias:.2} % (standard deviation, without chance)"
        );
    }
    let left: Result<Vec<_>, _> = records.iter().map(left).collect();
    by_time_taken(&left.map_err(|why| vec![why.to_string()])?.concat());
    println!("\n| run | cell | could show without | and with it |\n|---|---|--:|--:|");
    for record in records {
        could_show(record).map_err(|why| vec![why.to_string()])?;
    }
    Ok(())
}

fn record_of(path: &Path) -> Result<Record, String> {
    Store::new(path).open(&path.to_string_lossy()).map_err(|error| error.to_string())
}

/// What a run could have shown had there been no gauge, cell by cell.
fn could_show(mut record: Record) -> Result<(), Unreadable> {
    let with = judge(&record)?;
    let windows = record.rounds.iter_mut().flat_map(|round| &mut round.runs).flat_map(|run| &mut run.cells);
    windows.flat_map(|window| &mut window.turns).for_each(|turn| turn.gauged = None);
    let without = judge(&record)?;
    let told = |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{:.0} %", 100.0 * share));
    for (before, after) in without.cells.iter().zip(&with.cells) {
        let [before_told, after_told] = [before, after].map(|cell| told(cell.detectable));
        println!("| {} | {} | {before_told} | {after_told} |", record.id, after.cell);
    }
    Ok(())
}

/// How much turns vary when all that is seen is taken out, by how much others took from them: the median absolute difference, as a standard
/// deviation.
fn by_time_taken(left: &[Left]) {
    println!("\n| others took at most | turns | vary by |\n|---|--:|--:|");
    let mut least = -1.0;
    for most in BANDS {
        let share = |left: &&Left| 1.0 - (-left.reading[TAKEN]).exp();
        let within = left.iter().filter(|left| least < share(left) && share(left) <= most);
        let mut differences: Vec<f64> = within.map(|left| left.difference.abs()).collect();
        if !differences.is_empty() {
            let vary_by = 100.0 * spread_of(&mut differences);
            println!("| {:.0} % | {} | {vary_by:.1} % |", 100.0 * most, differences.len());
        }
        least = most;
    }
}

fn row(contender: &str, workload: &str, follower: &Follower) {
    let slopes = follower.slope.map(|slope| format!("{slope:.1}")).join(", ");
    let [before, after] = follower.window_sd.map(|sd| 100.0 * sd);
    let beside =
        follower.beside.map(|(mean, error)| format!("{:+.1} ± {:.1} %", 100.0 * mean, 100.0 * error));
    println!(
        "| {contender} | {workload} | {} | {slopes} | {before:.1} % | {after:.1} % | {} |",
        follower.windows,
        beside.join(" | ")
    );
}

/// The standard deviation of true means, some of which were seen with these standard errors.
fn bias(seen: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (mean, error) in seen {
        sum += mean * mean - error * error;
        count += 1.0;
    }
    (sum / f64::max(count, 1.0)).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_no_bias() {
        assert_eq!(bias([(0.01, 0.01), (-0.01, 0.01)].into_iter()), 0.0);
        assert!((bias([(0.05, 0.03), (-0.05, 0.03)].into_iter()) - 0.04).abs() < 1e-12);
        assert_eq!(bias(std::iter::empty()), 0.0);
    }
}
