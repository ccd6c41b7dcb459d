//! What runs of the same experiment show, each by itself and all together. Pure.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::record::{Measurement, Record};
use assay_model::verdict::{Call, CellVerdict, Verdict};
use assay_stats::difference::paired_difference;
use assay_stats::interval::geometric_mean_interval;
use assay_stats::{Interval, StatsError};

/// Confidence of what is said of two binaries.
const CONFIDENCE: f64 = 0.95;

/// A cell and two contenders in the order of their names.
type Key = (String, String, String);

/// A run.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) id: String,
    seed: u64,
    /// The logarithm of the ratio of every pair of which something was said, first over second, and what was.
    pairs: BTreeMap<Key, (f64, Call)>,
    /// Where the run contradicts itself.
    pub(super) contradictions: Vec<String>,
    /// The smallest difference that a typical pair would have shown, in the cell where that is greatest.
    could_show: Option<f64>,
    /// Share of its length that was measured.
    measured_share: f64,
    /// How long it took, in seconds.
    length_s: f64,
}

impl Judged {
    pub(super) fn of(record: &Record, verdict: &Verdict) -> Self {
        let controls: BTreeSet<&str> = record
            .contenders
            .iter()
            .filter(|e| e.control_of.is_some())
            .map(|e| e.identity.name.as_str())
            .collect();
        let is_proper = |name: &String| !controls.contains(name.as_str());
        let mut run = Self { id: record.id.clone(), seed: record.seed, ..Self::default() };
        for cell in &verdict.cells {
            let pairs = cell.pairs.iter().filter(|pair| is_proper(&pair.faster) && is_proper(&pair.slower));
            for pair in pairs {
                let (first, second) = (pair.faster.clone(), pair.slower.clone());
                let log = pair.ratio.estimate.ln();
                let (key, log) = match first < second {
                    true => ((cell.cell.to_string(), first, second), log),
                    false => ((cell.cell.to_string(), second, first), -log),
                };
                run.pairs.insert(key, (log, pair.call));
            }
            run.contradictions.extend(contradictions(cell));
            run.could_show = run.could_show.into_iter().chain(cell.detectable).reduce(f64::max);
        }
        let windows = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
        run.length_s = record.elapsed_ns.as_secs_f64();
        run.measured_share = windows.map(measured_s).sum::<f64>() / run.length_s;
        run
    }

    fn count(&self, of: impl Fn(Call) -> bool) -> usize {
        self.pairs.values().filter(|(_, call)| of(*call)).count()
    }

    fn settled(&self) -> usize {
        self.count(|call| call != Call::Tie)
    }
}

/// What runs show beside those of another binary with the same seeds, with intervals over the pairs of runs.
pub(super) fn beside<'r>(runs: &'r [Judged], others: &'r [Judged]) -> String {
    let with_its_own = |run: &'r Judged| Some((run, others.iter().find(|other| other.seed == run.seed)?));
    let pairs: Vec<(&Judged, &Judged)> = runs.iter().filter_map(with_its_own).collect();
    let (first, second): (Vec<f64>, Vec<f64>) =
        pairs.iter().map(|(run, other)| (run.settled() as f64, other.settled() as f64)).unzip();
    let ratio = |(run, other): &(&Judged, &Judged)| Some(run.could_show? / other.could_show?);
    let ratios: Vec<f64> = pairs.iter().filter_map(ratio).collect();
    let more = paired_difference(&first, &second, CONFIDENCE);
    let times = geometric_mean_interval(&ratios, CONFIDENCE);
    let of = |interval: Result<Interval, StatsError>| match interval {
        Ok(Interval { estimate, low, high, .. }) => format!("{estimate:.2} [{low:.2} … {high:.2}]"),
        Err(_) => "not known, of so few runs,".to_owned(),
    };
    format!(
        "Of {} seeds with both: the first binary settles {} pairs more than the other; a typical pair must differ by {} times as much.",
        pairs.len(),
        of(more),
        of(times)
    )
}

/// Where order or tiers of a table deny what a pair of it shows.
fn contradictions(cell: &CellVerdict) -> Vec<String> {
    let row = |name: &str| cell.standings.iter().position(|standing| standing.contender == name);
    let tier = |name: &str| cell.standings[row(name)?].tier;
    let mut found = Vec::new();
    for pair in cell.pairs.iter().filter(|pair| pair.call == Call::Distinct) {
        let named = format!("{}: {} is shown to be faster than {}", cell.cell, pair.faster, pair.slower);
        if row(&pair.faster) > row(&pair.slower) {
            found.push(format!("{named} and stands below it"));
        }
        if tier(&pair.faster) >= tier(&pair.slower) {
            found.push(format!("{named} and is in no better tier"));
        }
    }
    let ranked: Vec<u32> = cell.standings.iter().filter_map(|standing| standing.tier).collect();
    if !ranked.is_sorted() {
        found.push(format!("{}: rows do not follow their tiers: {ranked:?}", cell.cell));
    }
    found
}

fn measured_s(window: &Measurement) -> f64 {
    match window.turns.as_slice() {
        [] => window.load.window_ns.as_secs_f64(),
        turns => turns.iter().map(|turn| turn.load.window_ns.as_secs_f64()).sum(),
    }
}

/// What all runs say together.
#[derive(Debug)]
pub(super) struct Together {
    /// The geometric mean of each pair's ratio over all runs, as a logarithm.
    means: BTreeMap<Key, f64>,
    /// The ratio from which on a pair must be shown.
    plain: f64,
}

impl Together {
    pub(super) fn of(runs: &[Judged], plain: f64) -> Self {
        let mut all: BTreeMap<&Key, Vec<f64>> = BTreeMap::new();
        for (key, (log, _)) in runs.iter().flat_map(|run| &run.pairs) {
            all.entry(key).or_default().push(*log);
        }
        let mean = |logs: Vec<f64>| logs.iter().sum::<f64>() / logs.len() as f64;
        Self { means: all.into_iter().map(|(key, logs)| (key.clone(), mean(logs))).collect(), plain }
    }

    /// The plain pairs that a run did not show.
    fn missed<'t>(&'t self, run: &'t Judged) -> impl Iterator<Item = (&'t Key, f64)> {
        let is_plain = |mean: &f64| mean.abs() >= self.plain.ln();
        let shown = |key: &Key| run.pairs.get(key).is_some_and(|(_, call)| *call == Call::Distinct);
        let plain = self.means.iter().filter(move |(_, mean)| is_plain(mean));
        plain.filter(move |(key, _)| !shown(key)).map(|(key, mean)| (key, mean.abs().exp()))
    }

    fn settled(&self, run: &Judged) -> f64 {
        run.settled() as f64 / self.means.len().max(1) as f64
    }

    /// A run as a row of the table.
    pub(super) fn row(&self, run: &Judged) -> String {
        format!(
            "| {} | {} of {} | {} | {} | {} | {} | {} | {:.0} s |",
            run.id,
            run.count(|call| call == Call::Distinct),
            self.means.len(),
            percent(self.settled(run)),
            self.missed(run).count(),
            run.contradictions.len(),
            run.could_show.map_or_else(|| "–".to_owned(), percent),
            percent(run.measured_share),
            run.length_s,
        )
    }

    /// How many runs show all that is plain, and what the others missed.
    pub(super) fn summary(&self, runs: &[Judged]) -> String {
        let plain = self.means.values().filter(|mean| mean.abs() >= self.plain.ln()).count();
        let mut lines = vec![format!(
            "{} of {} runs show every pair of ≥ {} ({plain} of {} pairs)",
            self.complete(runs),
            runs.len(),
            self.plain,
            self.means.len()
        )];
        for run in runs {
            lines.extend(self.missed(run).map(|((cell, first, second), ratio)| {
                format!("{}: not shown: {first} and {second} in {cell}, {ratio:.2} times apart", run.id)
            }));
        }
        lines.join("\n")
    }

    fn complete(&self, runs: &[Judged]) -> usize {
        runs.iter().filter(|run| self.missed(run).next().is_none()).count()
    }

    /// What is not as it was promised.
    pub(super) fn findings(&self, runs: &[Judged], least_runs: f64, least_settled: f64) -> Vec<String> {
        let mut found: Vec<String> = runs
            .iter()
            .flat_map(|run| run.contradictions.iter().map(|what| format!("{}: {what}", run.id)))
            .collect();
        if runs.is_empty() {
            found.push("there is no run to judge; measure some with --runs".to_owned());
        }
        if !runs.is_empty() && self.means.is_empty() {
            found.push("no run compares anybody: all that was measured is void or was withheld".to_owned());
        }
        if (self.complete(runs) as f64) < least_runs * runs.len() as f64 {
            found.push(format!("only {} of {} runs show all that is plain", self.complete(runs), runs.len()));
        }
        let too_open = runs.iter().filter(|run| self.settled(run) < least_settled);
        found.extend(
            too_open
                .map(|run| format!("{}: only {} of pairs are settled", run.id, percent(self.settled(run)))),
        );
        found
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(first: &str, second: &str) -> Key {
        ("hello at 64".to_owned(), first.to_owned(), second.to_owned())
    }

    fn run(id: &str, pairs: &[(&str, &str, f64, Call)]) -> Judged {
        let pairs = pairs.iter().map(|(a, b, ratio, call)| (key(a, b), (ratio.ln(), *call)));
        Judged { id: id.to_owned(), pairs: pairs.collect(), ..Judged::default() }
    }

    #[test]
    fn two_binaries_are_compared_by_runs_with_the_same_seeds() {
        let with = |seed: u64, settled: bool, could_show: f64| {
            let call = if settled { Call::Distinct } else { Call::Tie };
            let pairs = [("a", "b", 1.5, call), ("b", "c", 1.5, Call::Distinct)];
            Judged { seed, could_show: Some(could_show), ..run("one", &pairs) }
        };
        let first = [with(1, true, 0.1), with(2, true, 0.2), with(3, true, 0.3)];
        let second = [with(2, false, 0.4), with(1, false, 0.2), with(9, true, 9.0)];
        let told = beside(&first, &second);
        assert!(
            told.starts_with("Of 2 seeds with both: the first binary settles 1.00 [1.00 … 1.00] pairs"),
            "{told}"
        );
        assert!(told.ends_with("must differ by 0.50 [0.50 … 0.50] times as much."), "{told}");
        assert!(beside(&first[..1], &second).contains("not known, of so few runs, pairs more"));
    }

    #[test]
    fn a_pair_is_plain_by_what_all_runs_say_and_missed_where_one_does_not_show_it() {
        let runs = [
            run("one", &[("a", "b", 1.5, Call::Distinct), ("b", "c", 1.05, Call::Tie)]),
            run("two", &[("a", "b", 1.2, Call::Tie), ("b", "c", 1.2, Call::Tie)]),
            run("three", &[("a", "b", 1.4, Call::Distinct)]),
        ];
        let together = Together::of(&runs, 1.3);
        let missed: Vec<usize> = runs.iter().map(|run| together.missed(run).count()).collect();
        assert_eq!(missed, [0, 1, 0]);
        let told = together.summary(&runs);
        assert!(told.starts_with("2 of 3 runs show every pair of ≥ 1.3 (1 of 2 pairs)\n"), "{told}");
        assert!(told.contains("two: not shown: a and b in hello at 64, 1.36 times apart"), "{told}");
        assert_eq!(together.findings(&runs, 0.6, 0.0), Vec::<String>::new());
        assert_eq!(together.findings(&runs, 0.9, 0.0), ["only 2 of 3 runs show all that is plain"]);
        assert_eq!(together.findings(&runs[..1], 0.9, 0.6), ["one: only 50.0 % of pairs are settled"]);
        let nothing = [run("one", &[])];
        let found = Together::of(&nothing, 1.3).findings(&nothing, 0.9, 0.0);
        assert!(found.len() == 1 && found[0].starts_with("no run compares anybody"), "{found:?}");
        // A pair of which a run says nothing, because somebody was withheld, was not shown.
        let silent = [run("one", &[("a", "b", 2.0, Call::Distinct)]), run("two", &[])];
        assert_eq!(Together::of(&silent, 1.3).missed(&silent[1]).count(), 1);
    }
}
