//! Runs made of lives that were measured: how often the judge errs on the noise of a real machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_lab::store::Store;
use assay_model::record::{Measurement, Record};
use assay_stats::simulation::{Material, Resampled, SimulationOutcome, Trials};
use assay_verdict::calibration::{Measured, measured};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng as _;
use clap::Args;
use clap::builder::RangedU64ValueParser;

use super::{most_wrong, percent};

/// Share of windows that are made void.
const VOID: f64 = 0.05;
/// Intervals of single pairs, and of rates, must hold the truth at least so often.
const LEAST_COVERED: f64 = 0.93;

#[derive(Args)]
pub(crate) struct Options {
    /// Records whose lives are drawn from: the folder of each run, or its record file; the more, the less often is a life drawn twice.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// Resampled runs of each kind.
    #[arg(long, default_value_t = 1_000)]
    times: u32,
    /// Contenders of a resampled run.
    #[arg(long, default_value_t = 6, value_parser = several())]
    contenders: usize,
    /// Tables of rates of a resampled run [default: those of the first record]
    #[arg(long)]
    tables: Option<usize>,
    /// Windows of a life [default: as many as a typical one has]
    #[arg(long)]
    windows: Option<usize>,
    /// Numbers of restarts.
    #[arg(long, value_delimiter = ',', default_value = "3,4,5,10", value_parser = several())]
    rounds: Vec<usize>,
    /// How many times as fast each contender is as the one before, where they are not equal.
    #[arg(long, default_value_t = 1.3)]
    step: f64,
    /// Beginning of the stream of random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Fewer than two contenders, or restarts, are nothing to compare.
fn several() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(2..)
}

pub(crate) fn run(options: &Options) -> Result<(), Vec<String>> {
    let found = Found::read(&options.runs).map_err(|error| vec![error])?;
    found.tell();
    println!(
        "\n| resampled | restarts | false runs | all covered | pairs covered | rates covered | pairs shown | \
         runs with all shown | could show |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut findings = Vec::new();
    for &rounds in &options.rounds {
        findings.extend(calibrate(&found, options, rounds).map_err(|error| vec![error])?);
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// What the records hold.
#[derive(Default)]
struct Found {
    rates: Material,
    tails: Material,
    /// Tables of the first record, of each kind.
    tables: (usize, usize),
}

impl Found {
    fn read(runs: &[PathBuf]) -> Result<Self, String> {
        let mut found = Self::default();
        for (place, path) in runs.iter().enumerate() {
            let tables = tables_of(path)?;
            if place == 0 {
                let tails = tables.iter().filter(|table| table.is_tail).count();
                found.tables = (tables.len() - tails, tails);
            }
            for table in &tables {
                let of = if table.is_tail { &mut found.tails } else { &mut found.rates };
                let named = table.contenders.iter().map(|(name, windows)| (name.as_str(), windows.clone()));
                of.add(&named.collect::<Vec<_>>()).map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        match found.rates.windows_per_life() {
            0 => {
                Err("no record has two contenders in two rounds; measure `assay run A B --rounds 6`"
                    .to_owned())
            }
            _ => Ok(found),
        }
    }

    fn tell(&self) {
        for (what, material) in [("rates", &self.rates), ("tails", &self.tails)] {
            let lives: Vec<String> =
                material.contenders().map(|(name, lives)| format!("{name} {lives}")).collect();
            if !lives.is_empty() {
                println!(
                    "Lives of {what}: {}; {} windows each",
                    lives.join(", "),
                    material.windows_per_life()
                );
            }
        }
    }
}

fn tables_of(path: &Path) -> Result<Vec<Measured>, String> {
    let record = Store::new(path).open(&path.to_string_lossy()).map_err(|error| error.to_string())?;
    let tables = measured(&record).map_err(|error| format!("{}: {error}", path.display()))?;
    if tables.is_empty() { Err(format!("{}: {}", path.display(), nothing_in(&record))) } else { Ok(tables) }
}

/// Why there is nothing to draw from a record, and what helps.
fn nothing_in(record: &Record) -> String {
    let windows: Vec<&Measurement> =
        record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells).collect();
    let rules: BTreeSet<&str> =
        windows.iter().flat_map(|window| window.void_rules()).map(|rule| rule.name()).collect();
    if windows.is_empty() {
        let rounds = record.rounds.len();
        return format!(
            "nothing was measured in its {rounds} rounds; leave it out, and see `assay show` for why"
        );
    }
    let why = match rules.is_empty() {
        true => "no closed loop with a right answer".to_owned(),
        false => format!("void for {}", rules.into_iter().collect::<Vec<_>>().join(", ")),
    };
    let all = windows.len();
    format!(
        "none of its {all} windows counts ({why}); leave it out, or measure it again where `assay doctor` is content"
    )
}

/// Equals, contenders that differ, and tails, with as many restarts.
fn calibrate(found: &Found, options: &Options, rounds: usize) -> Result<Vec<String>, String> {
    let (rates, tails) = (options.tables.unwrap_or(found.tables.0).max(1), found.tables.1);
    let windows = options.windows.unwrap_or_else(|| found.rates.windows_per_life());
    let of = |material, step: f64, rotations| Resampled {
        material,
        log_rates: (0..options.contenders).map(|place| place as f64 * step.ln()).collect(),
        rounds,
        rotations,
        void_share: VOID,
    };
    let judge = |name: String,
                 resampled: Resampled<'_>,
                 (tables, beside): (usize, usize)|
     -> Result<SimulationOutcome, String> {
        let trials = Trials { beside, ..Trials::once(resampled, tables) };
        let mut random = ChaCha8Rng::seed_from_u64(options.seed);
        let outcome = trials.outcome(options.times, &mut random).map_err(|error| error.to_string())?;
        print(&name, rounds, &outcome);
        Ok(outcome)
    };
    let equal =
        judge(format!("equals, {rates} tables of rates"), of(&found.rates, 1.0, windows), (rates, tails))?;
    let ladder = format!("each {} times, {rates} tables of rates", options.step);
    judge(ladder, of(&found.rates, options.step, windows), (rates, tails))?;
    let mut false_runs = equal.false_runs;
    let mut findings: Vec<String> = unfounded("rates", rounds, &equal).into_iter().collect();
    if tails > 0 && found.tails.windows_per_life() > 0 {
        let longer = judge(format!("equal tails, {tails} tables"), of(&found.tails, 1.0, 1), (tails, rates))?;
        findings.extend(unfounded("tails", rounds, &longer));
        false_runs = 1.0 - (1.0 - false_runs) * (1.0 - longer.false_runs);
        println!("| rates and tails together | {rounds} | {} | | | | | | |", percent(false_runs));
    }
    if false_runs > most_wrong(options.times) {
        findings.push(format!("{rounds} restarts: {} of runs call equals different", percent(false_runs)));
    }
    Ok(findings)
}

fn print(name: &str, rounds: usize, outcome: &SimulationOutcome) {
    println!(
        "| {name} | {rounds} | {} | {} | {} | {} | {} | {} | {} |",
        percent(outcome.false_runs),
        percent(outcome.all_covered),
        percent(outcome.covered),
        percent(outcome.rates_covered),
        percent(outcome.shown),
        percent(outcome.all_shown),
        percent(outcome.detectable),
    );
}

fn unfounded(what: &str, rounds: usize, outcome: &SimulationOutcome) -> Option<String> {
    let told = [("pairs", outcome.covered), (what, outcome.rates_covered)];
    let (of, covered) = told.into_iter().find(|(_, covered)| *covered < LEAST_COVERED)?;
    Some(format!("{rounds} restarts, {what}: intervals of {of} cover {}", percent(covered)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::experiment::{Cell, Measure};
    use assay_verdict::testing;

    #[test]
    fn a_record_with_nothing_in_it_is_told_with_its_place_and_what_helps() {
        let folder = tempfile::tempdir().expect("folder");
        let told = |name: &str, record: &Record| {
            let run = folder.path().join(name);
            std::fs::create_dir(&run).expect("folder");
            std::fs::write(run.join("record.json"), serde_json::to_string(record).expect("JSON"))
                .expect("file");
            Found::read(&[run]).map(|_| ()).expect_err("nothing to draw from")
        };
        let mut record = testing::record(&[("a", &[100.0, 110.0]), ("b", &[90.0, 95.0])]);
        for window in
            record.rounds.iter_mut().flat_map(|round| &mut round.runs).flat_map(|run| &mut run.cells)
        {
            window.machine.steal_share = 0.5;
        }
        let void = told("void", &record);
        assert!(void.contains("void: none of its 4 windows counts (void for steal)"), "{void}");
        assert!(void.contains("leave it out, or measure it again"), "{void}");
        let empty = told("empty", &testing::record(&[("a", &[])]));
        assert!(empty.contains("empty: nothing was measured in its 0 rounds; leave it out"), "{empty}");
        let alone = told("alone", &testing::record(&[("a", &[100.0, 110.0])]));
        assert!(alone.contains("no record has two contenders in two rounds"), "{alone}");
    }

    #[test]
    fn a_table_of_which_every_window_is_void_is_passed_over() {
        let mut record = testing::record(&[("a", &[100.0, 110.0]), ("b", &[90.0, 95.0])]);
        record.experiment.measures = vec![Measure::capacity("hello", vec![64, 256])];
        for run in record.rounds.iter_mut().flat_map(|round| &mut round.runs) {
            let mut void = run.cells[0].clone();
            void.cell = Cell::closed("hello", 256);
            void.machine.steal_share = 0.5;
            run.cells.push(void);
        }
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join("record.json"), serde_json::to_string(&record).expect("JSON"))
            .expect("file");
        let found = Found::read(&[folder.path().to_owned()]).expect("one table is left");
        assert_eq!((found.tables, found.rates.contenders().count()), ((1, 0), 2));
    }

    #[test]
    fn fewer_than_two_contenders_or_restarts_are_refused_as_arguments() {
        #[derive(clap::Parser)]
        struct Alone {
            #[command(flatten)]
            options: Options,
        }
        for bad in [["--contenders", "0"], ["--contenders", "1"], ["--rounds", "3,1"]] {
            let words = ["calibrate", "run"].into_iter().chain(bad);
            let error =
                <Alone as clap::Parser>::try_parse_from(words).map(|of| of.options.contenders).unwrap_err();
            assert!(error.to_string().contains("is not in 2.."), "{error}");
        }
    }
}
