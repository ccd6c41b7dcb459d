//! `cargo xtask trials compare`: how often `assay compare` calls equals different, and finds what is 2 % slower.
//!
//! Both sides are `assay stub`, whose work for each answer is real arithmetic. How many steps make an answer 2 % dearer is
//! measured first: what a stub costs without work and with much of it, in CPU time per answer.
//!
//! Every comparison is kept, so that they can be measured in several sittings and are counted together.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use assay_host::cpuset;
use assay_model::comparison::{Change, Comparison, Metric, Shift};
use assay_report::words::withheld;
use clap::Args;

use super::sittings::{Sittings, Terms};
use crate::measure::Testbed;
use crate::measure::process::Running;

/// Steps for each answer of the slower of the two servers from which the price of a step is taken, and of the base of all
/// comparisons: several times what the rest of an answer costs, so that the server is the limit and not the generator.
const STEPS: u32 = 40_000;
/// Restarts by which a step is priced.
const PRICING_ROUNDS: u32 = 6;
/// How much longer than its budget a comparison may take: preparing, and the rounds that are always measured.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Args)]
pub(crate) struct Options {
    /// Comparisons of each kind to measure; with 0 only those that are in the folder are counted
    #[arg(long, value_name = "N", default_value_t = 20)]
    runs: u32,
    /// Folder of the comparisons; whatever is there already counts too [default: target/trials/compare]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Time for each, as `assay compare` takes it
    #[arg(long, value_name = "TIME", default_value = "5m")]
    budget: String,
    /// By how much the slower server works more, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0)]
    slower: f64,
    /// The design, as `assay compare` takes it [default: its own choice]
    #[arg(long, value_name = "NAME")]
    design: Option<String>,
}

/// What one comparison said of the throughput.
struct Said {
    ratio: f64,
    low: f64,
    high: f64,
    call: Shift,
    rounds: u32,
}

/// The two kinds of comparisons: a name for files, and whether the new server works more.
const KINDS: [(&str, bool); 2] = [("same", false), ("slower", true)];

pub(super) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let folder = options.folder.clone().unwrap_or_else(|| root.join("target/trials/compare"));
    let sittings = Sittings::open(&folder, &options.terms())?;
    if options.runs > 0 {
        measure(root, options, &sittings)?;
    }
    println!(
        "| new server | runs | withheld | said to differ | other way round | covered | interval | ratio | rounds |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    let more = (format!("{} % more work", options.slower), 1.0 / (1.0 + options.slower / 100.0));
    for ((kind, _), (name, truth)) in KINDS.iter().zip([("the same".to_owned(), 1.0), more]) {
        let said: Vec<_> = sittings.read(kind)?.iter().map(judged).collect::<Result<_, _>>()?;
        println!("{}", row(&name, &said, truth));
    }
    Ok(())
}

/// Measures so many comparisons more of each kind, in turns, so that whoever ends early has as many of both.
fn measure(root: &Path, options: &Options, sittings: &Sittings) -> Result<(), String> {
    let testbed = Testbed::take(root)?;
    let more = match sittings.more_steps() {
        Some(more) => more,
        None => sittings.begin(steps_for(options.slower, &testbed)?)?,
    };
    println!(
        "{}; {} steps for each answer of the base, {} more are {} %.\n",
        testbed.statement, STEPS, more, options.slower
    );
    let design = options.design.iter().flat_map(|design| ["--design", design]);
    let asked: Vec<&str> = ["--budget", &options.budget].into_iter().chain(design).collect();
    let limit = PATIENCE + seconds(&options.budget);
    for _ in 0..options.runs {
        for (kind, is_slower) in KINDS {
            let steps = [STEPS, if is_slower { STEPS + more } else { STEPS }];
            let comparison = compare(steps, &asked, limit, &testbed)?;
            let number = sittings.keep(kind, &comparison)?;
            match judged(&comparison)? {
                Ok(Said { ratio, low, high, call, .. }) => {
                    eprintln!("{kind}, run {number}: {ratio:.4} [{low:.4} … {high:.4}] {call:?}");
                }
                Err(reason) => eprintln!("{kind}, run {number}: nothing was said: {reason}"),
            }
        }
    }
    Ok(())
}

impl Options {
    /// What must be alike in all comparisons that are counted together.
    fn terms(&self) -> Terms {
        Terms {
            base_steps: STEPS,
            slower_percent: self.slower,
            budget: self.budget.clone(),
            design: self.design.clone(),
        }
    }
}

/// One row of the table: what was said, against the truth. A comparison that was withheld has shown nothing, and has no interval.
fn row(name: &str, runs: &[Result<Said, String>], truth: f64) -> String {
    let said: Vec<&Said> = runs.iter().flatten().collect();
    let percent = |count: usize, all: usize| 100.0 * count as f64 / all.max(1) as f64;
    let count = |of: &dyn Fn(&Said) -> bool| said.iter().filter(|said| of(said)).count();
    let mean =
        |of: &dyn Fn(&Said) -> f64| said.iter().map(|said| of(said)).sum::<f64>() / said.len().max(1) as f64;
    let differs = |said: &Said| matches!(said.call, Shift::Better | Shift::Worse);
    let wrong = |said: &Said| differs(said) && (said.ratio > 1.0) != (truth > 1.0);
    format!(
        "| {name} | {} | {} | {:.0} % | {:.0} % | {:.0} % | ± {:.2} % | {:.4} | {:.1} |",
        runs.len(),
        runs.len() - said.len(),
        percent(count(&differs), runs.len()),
        percent(count(&|said| truth != 1.0 && wrong(said)), runs.len()),
        percent(count(&|said| (said.low..=said.high).contains(&truth)), said.len()),
        100.0 * mean(&|said| (said.high / said.low).sqrt() - 1.0),
        mean(&|said| said.ratio),
        mean(&|said| f64::from(said.rounds)),
    )
}

/// Steps that make an answer of the base so many percent dearer: by the ratio of the rates of two stubs, of which one does
/// twice the work, a step's share of an answer is known.
fn steps_for(percent: f64, testbed: &Testbed) -> Result<u32, String> {
    let rounds = PRICING_ROUNDS.to_string();
    let asked = ["--rounds", &rounds, "--design", "duet"];
    let ratio = judged(&compare([STEPS, 2 * STEPS], &asked, PATIENCE, testbed)?)?
        .map_err(|reason| format!("the price of a step could not be measured: {reason}"))?
        .ratio;
    // An answer costs 1, and so many steps more make it cost 1 / ratio.
    let dearer = 1.0 / ratio - 1.0;
    if !dearer.is_finite() || dearer < 0.1 {
        return Err(format!(
            "twice the work made an answer only {:.0} % dearer; is the machine quiet?",
            100.0 * dearer
        ));
    }
    Ok((f64::from(STEPS) * percent / 100.0 / dearer).round() as u32)
}

/// What `assay compare`, asked so, says of two stubs that do so much work for each answer.
///
/// # Errors
/// When it fails or takes longer than `limit`, or a person asks to end.
fn compare(
    steps: [u32; 2],
    asked: &[&str],
    limit: Duration,
    testbed: &Testbed,
) -> Result<Comparison, String> {
    let assay = testbed.assay.display();
    let runs = testbed.scratch().join("runs");
    let mut command = Command::new(&testbed.assay);
    command.args(["compare", "--format", "json"]).args(asked);
    for (seed, steps) in steps.iter().enumerate() {
        command.arg("--cmd").arg(format!("'{assay}' stub --port $PORT --seed {seed} --work {steps}"));
    }
    command.arg("--runs").arg(&runs);
    // The program chooses its CPUs itself.
    let running = Running::start(&mut command, &cpuset::allowed())?;
    let ended = running.finish(limit, testbed)?.with_code(&[0, 12], "assay compare")?;
    let comparison: Comparison =
        serde_json::from_str(&ended.stdout).map_err(|error| format!("no comparison: {error}"))?;
    let _ = std::fs::remove_dir_all(runs);
    Ok(comparison)
}

/// What a comparison says of the throughput, or why it says nothing.
///
/// # Errors
/// When it has no row.
fn judged(comparison: &Comparison) -> Result<Result<Said, String>, String> {
    let row = comparison.rows.first().ok_or("a comparison without a row")?;
    let told = row.changes.iter().find(|change| change.metric == Metric::Rps).and_then(said);
    Ok(told.ok_or_else(|| row.withheld.as_ref().map_or_else(|| "too few rounds".to_owned(), withheld)))
}

fn said(change: &Change) -> Option<Said> {
    let ratio = change.ratio?;
    let Change { call, rounds, .. } = *change;
    Some(Said { ratio: ratio.estimate, low: ratio.low, high: ratio.high, call, rounds })
}

/// A time as `assay` takes it, roughly: for how long to wait.
fn seconds(text: &str) -> Duration {
    let digits: String = text.chars().take_while(|c| c.is_ascii_digit()).collect();
    let number = digits.parse().unwrap_or(0);
    let unit = match &text[digits.len()..] {
        "m" => 60,
        "h" => 3600,
        _ => 1,
    };
    Duration::from_secs(number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_what_was_said_against_the_truth() {
        let said =
            |ratio: f64, call| Ok(Said { ratio, low: ratio - 0.01, high: ratio + 0.01, call, rounds: 6 });
        let all = [
            said(0.98, Shift::Worse),
            said(0.995, Shift::NotShown),
            said(1.03, Shift::Better),
            Err("every window is void".to_owned()),
        ];
        let row = row("2 %", &all, 0.98);
        assert!(row.starts_with("| 2 % | 4 | 1 | 50 % | 25 % | 33 % | ± 1.0"), "{row}");
    }

    #[test]
    fn times_are_read_as_the_program_reads_them() {
        assert_eq!(
            [seconds("90"), seconds("60s"), seconds("5m"), seconds("1h")].map(|d| d.as_secs()),
            [90, 60, 300, 3600]
        );
    }
}
