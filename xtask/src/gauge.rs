//! What the gauge of the CPUs says in records: how the turns of each contender follow it, and whether it depends on the server beside it.

use std::path::{Path, PathBuf};

use assay_lab::store::Store;
use assay_stats::gauge::Follower;
use assay_verdict::material::followers;
use clap::Args;

#[derive(Args)]
pub(crate) struct Options {
    /// Records of runs in which servers took turns: the folder of each run, or its record file.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<(), Vec<String>> {
    let found: Result<Vec<_>, String> = options.runs.iter().map(|path| of_record(path)).collect();
    let found: Vec<(String, String, Follower)> = found.map_err(|why| vec![why])?.concat();
    if found.is_empty() {
        return Err(vec![
            "no record has turns with a gauge; measure `assay run A B` on this machine".to_owned(),
        ]);
    }
    println!(
        "| contender | workload | turns | follow | vary by | gauge leaves | readings beside it | of the generator |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|");
    for (contender, workload, follower) in &found {
        row(contender, workload, follower);
    }
    for (side, of) in ["server's", "generator's"].into_iter().enumerate() {
        let bias = bias(found.iter().map(|(_, _, follower)| follower.beside[side]));
        println!(
            "\nReadings of the {of} CPUs depend on the server by {:.2} % (standard deviation, without chance)",
            100.0 * bias
        );
    }
    Ok(())
}

fn of_record(path: &Path) -> Result<Vec<(String, String, Follower)>, String> {
    let record = Store::new(path).open(&path.to_string_lossy()).map_err(|error| error.to_string())?;
    followers(&record).map_err(|why| format!("{}: {why}", path.display()))
}

fn row(contender: &str, workload: &str, follower: &Follower) {
    let [server, generator] = follower.slope;
    let [before, after] = follower.window_sd.map(|sd| 100.0 * sd);
    let [of_server, of_generator] =
        follower.beside.map(|(mean, error)| format!("{:+.1} ± {:.1} %", 100.0 * mean, 100.0 * error));
    println!(
        "| {contender} | {workload} | {} | {server:.1}, {generator:.1} | {before:.1} % | {after:.1} % | {of_server} | {of_generator} |",
        follower.windows
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
