//! Is the judge right as often as he says? Runs with known truth, judged by the code that judges real ones.

mod cases;
pub(crate) mod records;

use std::time::Instant;

use assay_stats::StatsError;
use assay_stats::simulation::{SimulationOutcome, Trials};
use clap::{Args, ValueEnum};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

#[derive(Args)]
pub(crate) struct Options {
    /// What to simulate; everything, unless told otherwise.
    #[arg(value_enum)]
    subjects: Vec<Subject>,
    /// Simulated runs of each kind.
    #[arg(long, default_value_t = 2_000)]
    runs: u32,
    /// Beginning of the stream of random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Subject {
    /// Equals: how often they are called different, and how often intervals hold the truth.
    Equals,
    /// 99th percentiles of equals at one rate, without a margin.
    Tails,
    /// Runs that end when all pairs are settled.
    Looks,
    /// True differences: how often they are shown.
    Power,
    /// Runs that choose between restarts and windows by what they see.
    Adaptive,
    /// Two builds measured at once.
    Duet,
}

pub(crate) fn run(options: &Options) -> Result<(), Vec<String>> {
    let subjects = if options.subjects.is_empty() { Subject::value_variants() } else { &options.subjects };
    let mut findings = Vec::new();
    for subject in subjects {
        let started = Instant::now();
        findings.extend(match subject {
            Subject::Equals => table("equals", &cases::equals(), options),
            Subject::Tails => table("tails of equals, no margin", &cases::tails(), options),
            Subject::Looks => table("a look after every round", &cases::looks(), options),
            Subject::Power => table("true differences", &cases::power(), options),
            Subject::Adaptive => adaptive(options),
            Subject::Duet => duets(options),
        });
        eprintln!("{} runs of each in {:.0} s", options.runs, started.elapsed().as_secs_f64());
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

impl Options {
    fn most(&self) -> f64 {
        most_wrong(self.runs)
    }
}

/// The greatest share of wrong runs: one in twenty, and by how much so many simulated ones scatter around that.
fn most_wrong(runs: u32) -> f64 {
    0.05 + 2.5 * (0.05 * 0.95 / f64::from(runs.max(1))).sqrt()
}

/// What is simulated, and what of it must hold.
struct Case {
    name: String,
    trials: Trials,
    holds: cases::Holds<SimulationOutcome>,
}

fn table(title: &str, cases: &[Case], options: &Options) -> Vec<String> {
    head(title);
    let judged = |case: &Case| {
        let outcome = case.trials.outcome(options.runs, &mut ChaCha8Rng::seed_from_u64(options.seed));
        row(&case.name, outcome, case.holds, options)
    };
    cases.iter().filter_map(judged).collect()
}

fn adaptive(options: &Options) -> Vec<String> {
    head("spent by what was seen");
    let judged = |(name, runs, holds): cases::AdaptiveCase| {
        let outcome = runs.outcome(options.runs, &mut ChaCha8Rng::seed_from_u64(options.seed));
        row(&name, outcome, holds, options)
    };
    cases::adaptive().into_iter().filter_map(judged).collect()
}

fn head(title: &str) {
    println!(
        "\n| {title} | false runs | all covered | pairs covered | runs with all shown | pairs shown | neighbours shown | settled | \
         open up to | rounds | could show |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
}

fn row(
    name: &str,
    outcome: Result<SimulationOutcome, StatsError>,
    holds: cases::Holds<SimulationOutcome>,
    options: &Options,
) -> Option<String> {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return Some(format!("{name}: {error}")),
    };
    println!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {:.2} | {:.1} | {} |",
        percent(outcome.false_runs),
        percent(outcome.all_covered),
        percent(outcome.covered),
        percent(outcome.all_shown),
        percent(outcome.shown),
        percent(outcome.nearest_shown),
        percent(outcome.settled),
        outcome.open_up_to,
        outcome.rounds,
        percent(outcome.detectable),
    );
    (!holds(&outcome, options.most())).then(|| format!("{name}: {outcome:?}"))
}

fn duets(options: &Options) -> Vec<String> {
    println!("\n| duets | covered | shown | interval |");
    println!("|---|--:|--:|--:|");
    cases::duets().into_iter().filter_map(|case| duet(case, options)).collect()
}

fn duet((name, duets, margin, holds): cases::DuetCase, options: &Options) -> Option<String> {
    let outcome = match duets.outcome(options.runs, margin, &mut ChaCha8Rng::seed_from_u64(options.seed)) {
        Ok(outcome) => outcome,
        Err(error) => return Some(format!("{name}: {error}")),
    };
    let [covered, shown] = [outcome.covered, outcome.shown].map(percent);
    println!("| {name} | {covered} | {shown} | ± {:.2} % |", 100.0 * outcome.half_width);
    (!holds(&outcome, options.most())).then(|| format!("{name}: {outcome:?}"))
}

fn percent(share: f64) -> String {
    if share.is_nan() { "–".to_owned() } else { format!("{:.1} %", 100.0 * share) }
}
