//! Other generators on the same servers: do they get as much, and do they tell the same ratios
//! (docs/method/generators.md#what-is-compared)?

use assay_model::check::{Check, CheckOutcome};
use assay_model::cpuset::CpuSet;
use assay_model::cross_check::{CrossCheck, CrossCheckPair, CrossCheckStanding};
use assay_model::evidence::{Evidence, GeneratorGetsMore, GeneratorsAgree, GeneratorsDisagree};
use assay_model::experiment::Cell;
use assay_model::generator::GeneratorName;
use assay_model::generator_window::GeneratorWindow;
use assay_model::record::{Entry, MAX_OTHER_SHARE, MAX_STEAL_SHARE, Record, Round};
use assay_model::rule::Rule;
use assay_model::verdict::Interval;
use assay_stats::interval::geometric_mean_interval;
use assay_stats::ratio::paired_log_ratio;
use assay_stats::tiers::{Call, call};

use crate::{CONFIDENCE, GENERATOR_SATURATED, interval, median, point};

/// Judges every cell that other generators loaded, in the experiment's order; `margin` is the smallest difference that is called
/// one.
pub(crate) fn judge(record: &Record, margin: f64) -> Vec<CrossCheck> {
    let cells = record.experiment.cells().into_iter();
    cells.filter_map(|cell| judge_cell(record, cell, margin)).collect()
}

fn judge_cell(record: &Record, cell: Cell, margin: f64) -> Option<CrossCheck> {
    let proper = record.contenders.iter().filter(|entry| entry.control_of.is_none());
    let columns: Vec<Column<'_>> = proper.flat_map(|entry| columns(record, entry, &cell)).collect();
    if columns.is_empty() {
        return None;
    }
    let standings: Vec<CrossCheckStanding> = columns.iter().map(|of| standing(of, &columns)).collect();
    let pairs = pairs(&columns, margin);
    Some(CrossCheck { cell, standings, pairs })
}

/// One contender under one generator, round by round.
struct Column<'r> {
    contender: &'r str,
    generator: GeneratorName,
    /// CPUs that its threads can use.
    cpus: usize,
    windows: Vec<Option<&'r GeneratorWindow>>,
}

/// Columns of a contender, ours first.
fn columns<'r>(record: &'r Record, entry: &'r Entry, cell: &Cell) -> Vec<Column<'r>> {
    let cpus = record.isolation.generator_cpus.parse::<CpuSet>().map_or(1, |cpus| cpus.len().max(1));
    let of = |generator: GeneratorName| {
        let window = |round: &'r Round| {
            let runs = round.runs.iter().filter(|run| run.contender == entry.identity.name);
            let mut windows = runs.flat_map(|run| &run.by_generator);
            windows.find(|window| window.cell == *cell && window.generator == generator)
        };
        let windows = record.rounds.iter().map(window).collect();
        let cpus = if generator.is_single_threaded() { 1 } else { cpus };
        Column { contender: &entry.identity.name, generator, cpus, windows }
    };
    let all = GeneratorName::ALL.into_iter().map(of);
    all.filter(|column| column.windows.iter().any(Option::is_some)).collect()
}

impl Column<'_> {
    /// The windows that nothing disturbed.
    fn counting(&self) -> impl Iterator<Item = Option<&GeneratorWindow>> {
        self.windows.iter().map(|window| window.filter(|window| is_quiet(window)))
    }

    fn rates(&self) -> Vec<Option<f64>> {
        self.counting().map(|window| window?.per_second()).collect()
    }

    fn median_of(&self, of: impl Fn(&GeneratorWindow) -> Option<f64>) -> Option<f64> {
        median(&self.counting().flatten().filter_map(of).collect::<Vec<_>>())
    }

    fn busy_share(&self) -> Option<f64> {
        self.median_of(|window| {
            let (used, lasted) = (window.cpu_ns?, window.told.as_ref()?.window_ns);
            Some(used.as_secs_f64() / (lasted.as_secs_f64() * self.cpus as f64))
        })
    }

    /// Whether it told its own speed, and not the server's.
    fn is_saturated(&self) -> bool {
        self.busy_share().is_some_and(|share| share > GENERATOR_SATURATED)
    }

    fn told_percentile(&self, quantile: f64) -> Option<f64> {
        self.median_of(|window| Some(window.told.as_ref()?.percentile(quantile)?.0 as f64))
    }
}

/// Whether others left it the CPUs.
fn is_quiet(window: &GeneratorWindow) -> bool {
    window.steal_share <= MAX_STEAL_SHARE && window.other_share <= MAX_OTHER_SHARE
}

fn standing(column: &Column<'_>, all: &[Column<'_>]) -> CrossCheckStanding {
    let rates = column.rates();
    let known: Vec<f64> = rates.iter().copied().flatten().collect();
    let ours = all.iter().find(|other| other.contender == column.contender && other.generator.is_ours());
    let ours = ours.filter(|_| !column.generator.is_ours()).map(Column::rates);
    let windows = || column.windows.iter().copied().flatten();
    let failed = windows().filter_map(|window| window.told.as_ref()).map(|told| told.failed);
    let failures = || windows().filter_map(|window| window.failure.as_ref());
    CrossCheckStanding {
        contender: column.contender.to_owned(),
        generator: column.generator,
        rounds: u32::try_from(known.len()).unwrap_or(u32::MAX),
        void: u32::try_from(windows().filter(|window| !is_quiet(window)).count()).unwrap_or(u32::MAX),
        per_second: mean(&known),
        counted_by: windows().find_map(GeneratorWindow::right).map(|(_, by)| by),
        to_ours: ours.and_then(|ours| ratio(&rates, &ours, CONFIDENCE)),
        per_cpu_second: column.median_of(GeneratorWindow::per_cpu_second),
        busy_share: column.busy_share(),
        is_saturated: column.is_saturated(),
        told_p50_ns: column.told_percentile(0.5),
        told_p99_ns: column.told_percentile(0.99),
        failed: failed.fold(0, u64::saturating_add),
        miscount: windows().filter_map(GeneratorWindow::miscount).reduce(f64::max),
        failures: u32::try_from(failures().count()).unwrap_or(u32::MAX),
        failure: failures().next_back().cloned(),
    }
}

fn mean(rates: &[f64]) -> Option<Interval> {
    match rates {
        [] => None,
        [only] => Some(point(*only)),
        _ => geometric_mean_interval(rates, CONFIDENCE).ok().map(interval),
    }
}

/// The first over the second, over the rounds that have both; of one round a point.
fn ratio(first: &[Option<f64>], second: &[Option<f64>], confidence: f64) -> Option<Interval> {
    let both = first.iter().zip(second).filter_map(|(first, second)| first.zip(*second));
    let (first, second): (Vec<f64>, Vec<f64>) = both.unzip();
    match (first.as_slice(), second.as_slice()) {
        ([first], [second]) => Some(point(first / second)),
        (first, second) => Some(interval(paired_log_ratio(first, second, confidence).ok()?.interval)),
    }
}

/// Every pair of contenders under every other generator that loaded both.
fn pairs(columns: &[Column<'_>], margin: f64) -> Vec<CrossCheckPair> {
    let find = |contender: &str, generator: GeneratorName| {
        columns.iter().find(|column| column.contender == contender && column.generator == generator)
    };
    let others: Vec<&Column<'_>> = columns.iter().filter(|column| !column.generator.is_ours()).collect();
    let both = others.iter().enumerate().flat_map(|(place, first)| {
        let alike = others[place + 1..].iter().filter(|second| second.generator == first.generator);
        alike.map(|second| (*first, *second))
    });
    let both: Vec<_> = both.collect();
    // Bonferroni: all intervals hold at once with at least the probability of one.
    let confidence = 1.0 - (1.0 - CONFIDENCE) / both.len().max(1) as f64;
    let pair = |(first, second): &(&Column<'_>, &Column<'_>)| {
        let ours = [first, second].map(|of| find(of.contender, GeneratorName::Assay).map(Column::rates));
        let [Some(our_first), Some(our_second)] = ours else { return None };
        let (theirs, ours) = (quotients(&first.rates(), &second.rates()), quotients(&our_first, &our_second));
        let apart = ratio(&theirs, &ours, confidence)?;
        Some(CrossCheckPair {
            first: first.contender.to_owned(),
            second: second.contender.to_owned(),
            generator: first.generator,
            ratio: ratio(&first.rates(), &second.rates(), CONFIDENCE)?,
            ours: ratio(&our_first, &our_second, CONFIDENCE)?,
            apart,
            is_apart: is_beyond(&apart, margin) != Call::Tie
                && !first.is_saturated()
                && !second.is_saturated(),
        })
    };
    both.iter().filter_map(pair).collect()
}

/// The one over the other in each round that has both.
fn quotients(first: &[Option<f64>], second: &[Option<f64>]) -> Vec<Option<f64>> {
    first.iter().zip(second).map(|(first, second)| Some((*first)? / (*second)?)).collect()
}

/// On which side of the margin an interval lies; a single figure lies on none.
fn is_beyond(of: &Interval, margin: f64) -> Call {
    let known = assay_stats::Interval {
        estimate: of.estimate,
        low: of.low,
        high: of.high,
        confidence: of.confidence,
    };
    if of.confidence > 0.0 { call(&known, margin) } else { Call::Tie }
}

/// Whether the figures are the generator's: another gets more out of a server, or tells another ratio of two.
pub(crate) fn check(crossed: &[CrossCheck], margin: f64) -> Vec<Check> {
    let standings =
        crossed.iter().flat_map(|of| of.standings.iter().map(move |standing| (&of.cell, standing)));
    let compared = standings.clone().filter(|(_, standing)| standing.to_ours.is_some()).count();
    let pairs = || crossed.iter().flat_map(|of| of.pairs.iter().map(move |pair| (&of.cell, pair)));
    if compared == 0 {
        return Vec::new();
    }
    let more = standings.filter_map(|(cell, standing)| {
        let ratio = standing.to_ours.filter(|ratio| is_beyond(ratio, margin) == Call::Faster)?;
        Some(Evidence::GeneratorGetsMore(GeneratorGetsMore {
            contender: standing.contender.clone(),
            generator: standing.generator,
            cell: cell.clone(),
            ratio: ratio.estimate,
            low_ratio: ratio.low,
            high_ratio: ratio.high,
        }))
    });
    let apart = pairs().filter(|(_, pair)| pair.is_apart).map(|(cell, pair)| {
        Evidence::GeneratorsDisagree(GeneratorsDisagree {
            generator: pair.generator,
            contenders: [pair.first.clone(), pair.second.clone()],
            cell: cell.clone(),
            theirs: pair.ratio.estimate,
            ours: pair.ours.estimate,
        })
    });
    let objections: Vec<Check> = apart
        .chain(more)
        .map(|evidence| Check::objection(Rule::OtherGenerators, CheckOutcome::Warn, evidence))
        .collect();
    if !objections.is_empty() {
        return objections;
    }
    let agree = GeneratorsAgree { comparisons: compared as u64, pairs: pairs().count() as u64 };
    let evidence = Evidence::GeneratorsAgree(agree);
    vec![Check { rule: Rule::OtherGenerators, outcome: CheckOutcome::Pass, evidence }]
}

#[cfg(test)]
mod tests;
