//! Whether verdicts are right as often as they claim: runs whose truth is known, judged by the code that judges real ones.

mod cases;
pub(crate) mod records;

use std::time::Instant;

use assay_stats::StatsError;
use assay_stats::simulation::{SimulationOutcome, Trials, Truth, World};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng as _;
use clap::{Args, ValueEnum};

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
    /// Only the case of this number, the first of a subject being 1; may be given several times. All have the same stream, so parts
    /// that are simulated one after the other make the same table.
    #[arg(long = "case", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cases: Vec<u32>,
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
    /// A machine that falls into slow phases, without a gauge of its CPUs and with one.
    Phases,
    /// Such a machine from which others take time as well.
    Others,
    /// Runs that choose between restarts and windows by what they see.
    Adaptive,
    /// Two builds measured at once.
    Duet,
}

pub(crate) fn run(options: &Options) -> Result<(), Vec<String>> {
    let subjects = if options.subjects.is_empty() { Subject::value_variants() } else { &options.subjects };
    if subjects.len() > 1 && !options.cases.is_empty() {
        return Err(vec![
            "--case counts the cases of one subject: name it, as in `simulate adaptive --case 6`".to_owned(),
        ]);
    }
    let mut findings = Vec::new();
    for subject in subjects {
        let started = Instant::now();
        findings.extend(match subject {
            Subject::Equals => table("equals", cases::equals(), options),
            Subject::Tails => table("tails of equals, no margin", cases::tails(), options),
            Subject::Looks => table("a look after every round", cases::looks(), options),
            Subject::Power => table("true differences", cases::power(), options),
            Subject::Phases => table("slow phases, 4 tables", cases::phases(), options),
            Subject::Others => table("slow phases and others at work, 4 tables", cases::others(), options),
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

    /// Judges the cases that are asked for, of all that a subject has; what is not as it must be, and which number is too high.
    fn each<C>(&self, all: Vec<C>, judge: impl Fn(C) -> Option<String>) -> Vec<String> {
        let count = all.len();
        let too_high = self.cases.iter().filter(|&&number| number as usize > count);
        let mut findings: Vec<String> =
            too_high.map(|number| format!("there is no case {number}: there are {count}")).collect();
        let is_asked = |number: u32| self.cases.is_empty() || self.cases.contains(&number);
        let asked = (1..).zip(all).filter(|(number, _)| is_asked(*number));
        findings.extend(asked.filter_map(|(_, case)| judge(case)));
        findings
    }
}

/// The greatest share of wrong runs: one in twenty, and by how much so many simulated ones scatter around that.
fn most_wrong(runs: u32) -> f64 {
    0.05 + 2.5 * (0.05 * 0.95 / f64::from(runs.max(1))).sqrt()
}

/// What is simulated, and what of it must hold.
struct Case<T = World> {
    name: String,
    trials: Trials<T>,
    holds: cases::Holds<SimulationOutcome>,
}

fn table<T: Truth>(title: &str, cases: Vec<Case<T>>, options: &Options) -> Vec<String> {
    head(title);
    options.each(cases, |case| {
        let outcome = case.trials.outcome(options.runs, &mut ChaCha8Rng::seed_from_u64(options.seed));
        row(&case.name, outcome, case.holds, options)
    })
}

fn adaptive(options: &Options) -> Vec<String> {
    head("spent by what was seen");
    options.each(cases::adaptive(), |(name, runs, holds)| {
        let outcome = runs.outcome(options.runs, &mut ChaCha8Rng::seed_from_u64(options.seed));
        row(&name, outcome, holds, options)
    })
}

fn head(title: &str) {
    println!(
        "\n| {title} | false runs | all covered | pairs covered | rates covered | runs with all shown | pairs shown | neighbours shown | settled | \
         open up to | rounds | could show |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
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
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {:.2} | {:.1} | {} |",
        percent(outcome.false_runs),
        percent(outcome.all_covered),
        percent(outcome.covered),
        percent(outcome.rates_covered),
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
    options.each(cases::duets(), |case| duet(case, options))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_judged_by_their_numbers() {
        let judged = |cases: &[u32]| {
            let options =
                Options { subjects: vec![Subject::Adaptive], runs: 1, seed: 1, cases: cases.to_vec() };
            options.each(vec!["a", "b", "c"], |case| Some(case.to_owned()))
        };
        assert_eq!(judged(&[]), ["a", "b", "c"]);
        assert_eq!(judged(&[3, 1]), ["a", "c"]);
        assert_eq!(judged(&[4, 2]), ["there is no case 4: there are 3", "b"]);
        let options = Options { subjects: Vec::new(), runs: 1, seed: 1, cases: vec![1] };
        assert!(run(&options).is_err_and(|found| found[0].contains("name it")), "of which subject?");
    }
}
