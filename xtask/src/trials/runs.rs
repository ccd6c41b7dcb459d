//! One run again and again with other seeds. Nobody knows the true ratios of real servers; what all runs together say is
//! the nearest to it.

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_lab::store::Store;
use assay_model::record::State;
use clap::Args;

use super::judged::{Judged, Together, beside};

#[derive(Args)]
pub(crate) struct Options {
    /// Runs to measure; with 0 only those that are in the folder are judged.
    #[arg(long, value_name = "N", default_value_t = 10)]
    runs: u32,
    /// Folder of the runs; whatever is there already counts too [default: target/trials/EXPERIMENT]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The binary [default: target/release/assay]
    #[arg(long, value_name = "FILE")]
    assay: Option<PathBuf>,
    /// Another binary, which runs with the same seeds in turn with the first; its runs are in FOLDER-beside, and what the two show is
    /// compared in pairs
    #[arg(long, value_name = "FILE")]
    beside: Option<PathBuf>,
    /// Seed of the first run; the others count up from it [default: after those that are in the folder]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Longest time for all rounds of a run [default: the experiment's]
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    /// Restarts of everybody within that time.
    #[arg(long, value_name = "N", default_value_t = 4, requires = "budget")]
    rounds: u32,
    /// More arguments of `assay run`, behind `--`
    #[arg(last = true)]
    more: Vec<String>,
}

/// What is run, and what is asked of it.
pub(super) struct Subject {
    experiment: &'static str,
    /// How it is run besides, as `scripts/run-showdown.sh` has it for `make showdown`.
    arguments: &'static [&'static str],
    /// The ratio from which on every pair must be shown.
    plain: f64,
    /// Share of runs that must show them all.
    least_runs: f64,
    /// Share of pairs that each run must settle.
    least_settled: f64,
}

pub(super) const SHOWDOWN: Subject = Subject {
    experiment: "showdown",
    arguments: &["--no-check"],
    plain: 1.3,
    least_runs: 0.9,
    least_settled: 0.0,
};
pub(super) const TECHEMPOWER: Subject =
    Subject { experiment: "techempower", arguments: &[], plain: 1.5, least_runs: 1.0, least_settled: 0.85 };

pub(super) fn run(root: &Path, subject: &Subject, options: &Options) -> Result<(), Vec<String>> {
    let fault = |error: String| vec![format!("{}: {error}", subject.experiment)];
    let sides = sides(root, subject, options);
    let first = options.seed.unwrap_or(1 + Store::new(&sides[0].folder).ids().len() as u64);
    for (number, seed) in (first..).take(options.runs as usize).enumerate() {
        for side in in_turn(&sides, number) {
            measure(root, subject, options, side, seed).map_err(fault)?;
        }
    }
    let all: Vec<Vec<Judged>> =
        sides.iter().map(|side| judged(&side.folder)).collect::<Result<_, _>>().map_err(fault)?;
    let findings = all.iter().flat_map(|runs| tell(subject, runs)).collect::<Vec<_>>();
    if let [runs, others] = all.as_slice() {
        println!("\n{}", beside(runs, others));
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// A binary, and the folder of its runs.
struct Side {
    assay: PathBuf,
    folder: PathBuf,
}

fn sides(root: &Path, subject: &Subject, options: &Options) -> Vec<Side> {
    let assay = options.assay.clone().unwrap_or_else(|| root.join("target/release/assay"));
    let usual = || root.join("target/trials").join(subject.experiment);
    let folder = options.folder.clone().unwrap_or_else(usual);
    let mut beside = folder.clone().into_os_string();
    beside.push("-beside");
    let other = options.beside.clone().map(|assay| Side { assay, folder: beside.into() });
    [Side { assay, folder }].into_iter().chain(other).collect()
}

/// The sides in turn: which one comes first alternates, so that neither always has the machine as the other left it.
fn in_turn(sides: &[Side], number: usize) -> Vec<&Side> {
    let mut order: Vec<&Side> = sides.iter().collect();
    if !number.is_multiple_of(2) {
        order.reverse();
    }
    order
}

/// The runs of a folder that tell something.
fn judged(folder: &Path) -> Result<Vec<Judged>, String> {
    let store = Store::new(folder);
    let runs: Vec<Option<Judged>> =
        store.ids().iter().map(|id| read(&store, id)).collect::<Result<_, _>>()?;
    Ok(runs.into_iter().flatten().collect())
}

/// Prints the runs of one binary; returns what is not as it was promised.
fn tell(subject: &Subject, runs: &[Judged]) -> Vec<String> {
    let together = Together::of(runs, subject.plain);
    println!(
        "| run | shown | settled | missed ≥ {} | contradictions | could show | measured time | length |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|",
        subject.plain
    );
    runs.iter().for_each(|run| println!("{}", together.row(run)));
    println!("\n{}\n", together.summary(runs));
    together.findings(runs, subject.least_runs, subject.least_settled)
}

fn measure(
    root: &Path,
    subject: &Subject,
    options: &Options,
    Side { assay, folder }: &Side,
    seed: u64,
) -> Result<(), String> {
    let mut command = Command::new(assay);
    command.current_dir(root).args(["run", "-e", subject.experiment, "--seed", &seed.to_string()]);
    command.args(subject.arguments).arg("--runs").arg(folder);
    if let Some(budget) = &options.budget {
        // With a number of restarts, or the run ends when all is settled and looks after each.
        command.args(["--budget", budget, "--rounds", &options.rounds.to_string()]);
    }
    command.args(&options.more);
    // What it says of itself is its page; here the table below stands alone.
    command.stdout(std::process::Stdio::null());
    let status = command.status().map_err(|error| {
        format!(
            "{}: {error}; build it with `cargo build --release -p assay -p assay-preload`",
            assay.display()
        )
    })?;
    // A contender that fails costs its own pairs, which are told as missed.
    match status.code() {
        Some(0 | 10..=12) => Ok(()),
        _ => Err(format!("`{} run -e {}` ended with {status}", assay.display(), subject.experiment)),
    }
}

/// A run, judged; `None` for one that a person or a kill ended, which tells less than it would have.
fn read(store: &Store, id: &str) -> Result<Option<Judged>, String> {
    let record = store.open(id).map_err(|error| error.to_string())?;
    if matches!(record.state, State::Running | State::Interrupted) {
        eprintln!("{id} was ended early and does not count");
        return Ok(None);
    }
    let verdict = assay_verdict::judge(&record).map_err(|error| format!("{id}: {error}"))?;
    Ok(Some(Judged::of(&record, &verdict)))
}
