//! How often simulated runs are judged wrongly, and how often what is there is shown.

use rand::Rng;

use super::{Truth, World};
use crate::StatsError;
use crate::gauge::{Gauged, explain};
use crate::moderation::Prior;
use crate::sequential::Settled;
use crate::simultaneous::{Looks, each_of};
use crate::table::{Restlessness, Table, lend_windows, mean_variance_of_rounds, restless};

/// What a run shall hold with, over all its tables.
const CONFIDENCE: f64 = 0.95;

/// Differences are the same up to rounding.
const NEARLY: f64 = 1.0 + 1e-9;

/// Simulated runs of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Trials<T = World> {
    /// What is measured in each table.
    pub world: T,
    /// Tables of a run, each with its own restarts.
    pub tables: usize,
    /// Tables of another kind that shall hold together with these.
    pub beside: usize,
    /// The largest difference that is none.
    pub margin: f64,
    /// When results are looked at. A run that is looked at after every round ends when no pair is open.
    pub looks: Looks,
}

/// What became of them, as shares.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SimulationOutcome {
    /// Runs in which any two equals were called different, or two others the wrong way round.
    pub false_runs: f64,
    /// Runs in which the simultaneous intervals of all pairs held the true ratios.
    pub all_covered: f64,
    /// Pairs whose own interval, as if it were the only one, held the true ratio.
    pub covered: f64,
    /// Contenders whose rate's interval held the true rate; not a number where the world has no true rates.
    pub rates_covered: f64,
    /// Runs in which every true difference was shown; not a number where nobody differs.
    pub all_shown: f64,
    /// True differences that were shown; not a number where nobody differs.
    pub shown: f64,
    /// Of the true differences the smallest that were shown; not a number where nobody differs.
    pub nearest_shown: f64,
    /// Pairs that were shown to differ or to be equivalent.
    pub settled: f64,
    /// The true ratio beyond which nine runs of ten left no pair open.
    pub open_up_to: f64,
    /// Mean number of rounds.
    pub rounds: f64,
    /// The middle of what the runs say they could have shown, where they say it.
    pub detectable: f64,
}

impl<T: Truth> Trials<T> {
    /// Runs that are looked at once, with the least margin.
    pub fn once(world: T, tables: usize) -> Self {
        Self { world, tables, beside: 0, margin: crate::tiers::LEAST_MARGIN, looks: Looks::Once }
    }

    /// Judges so many runs.
    ///
    /// # Errors
    /// When the world has no contenders or fewer than two rounds.
    pub fn outcome(&self, runs: u32, rng: &mut impl Rng) -> Result<SimulationOutcome, StatsError> {
        let mut counts = Counts::default();
        for _ in 0..runs {
            self.run(&mut counts, rng)?;
        }
        Ok(counts.outcome(f64::from(runs)))
    }

    fn run(&self, counts: &mut Counts, rng: &mut impl Rng) -> Result<(), StatsError> {
        let measured: Vec<Vec<Gauged>> = (0..self.tables).map(|_| self.world.observe(rng)).collect();
        let all = self.world.rounds();
        let first = if self.looks == Looks::Once { all } else { all.min(2) };
        for rounds in first..=all {
            let blocks: Vec<usize> =
                self.world.round_of_blocks().into_iter().take_while(|round| *round < rounds).collect();
            let judged = self.judge(fitted(&measured, &blocks)?)?;
            if rounds == all || judged.open == 0 {
                counts.add(&judged, rounds);
                break;
            }
        }
        Ok(())
    }

    /// The smallest true difference, as a logarithm.
    fn nearest(&self) -> f64 {
        let n = self.world.contenders();
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| self.world.ratio(a, b).ln().abs()));
        pairs.filter(|difference| *difference > 0.0).fold(f64::INFINITY, f64::min)
    }

    pub(super) fn judge(&self, tables: Vec<Table>) -> Result<Judged, StatsError> {
        let groups: Vec<_> = tables.iter().map(Table::spreads).collect();
        // Where so many windows are void that no pair has two rounds, nothing is lent and nothing shown.
        let prior = Prior::fit(&groups).unwrap_or(Prior::none());
        let of_rounds = mean_variance_of_rounds(&tables);
        let (mut judged, nearest) = (Judged::default(), self.nearest());
        for table in &tables {
            let everybody: Vec<usize> = (0..table.contenders()).collect();
            let confidence = each_of(self.tables + self.beside, CONFIDENCE);
            let comparison = table.compare(&everybody, &prior, self.looks, confidence, self.margin)?;
            judged.detectable.extend(comparison.detectable(self.margin));
            for contender in everybody.into_iter().filter(|_| self.world.has_rates()) {
                let Some(rate) = table.rate(contender, (&prior, of_rounds), Looks::Once, CONFIDENCE)? else {
                    continue;
                };
                judged.rates += 1;
                judged.rates_covered += u32::from(rate.contains(self.world.log_rate(contender).exp()));
            }
            for pair in &comparison.pairs {
                let truth = self.world.ratio(pair.first, pair.second);
                let distinct = pair.settled == Settled::Distinct;
                let right_way = pair.ratio.is_some_and(|ratio| (ratio.estimate > 1.0) == (truth > 1.0));
                judged.is_false |= distinct && (truth == 1.0 || !right_way);
                judged.uncovered |= pair.ratio.is_some_and(|ratio| !ratio.contains(truth));
                judged.pairs += 1;
                if pair.settled == Settled::Open {
                    judged.open += 1;
                    judged.widest_open = judged.widest_open.max(truth.max(1.0 / truth));
                }
                judged.real += u32::from(truth != 1.0);
                judged.shown += u32::from(truth != 1.0 && distinct);
                let is_nearest = truth != 1.0 && truth.ln().abs() <= nearest * NEARLY;
                judged.nearest += u32::from(is_nearest);
                judged.nearest_shown += u32::from(is_nearest && distinct);
                if let Some(own) = table.ratio((pair.first, pair.second), &prior, Looks::Once, CONFIDENCE)? {
                    judged.intervals += 1;
                    judged.covered += u32::from(own.contains(truth));
                }
            }
        }
        Ok(judged)
    }
}

/// The tables of a run after its first blocks.
fn fitted(measured: &[Vec<Gauged>], blocks: &[usize]) -> Result<Vec<Table>, StatsError> {
    let so_far = |of: &Gauged| Gauged {
        windows: of.windows[..blocks.len()].to_vec(),
        readings: of.readings.iter().take(blocks.len()).cloned().collect(),
        ..*of
    };
    let measured: Vec<Vec<Gauged>> =
        measured.iter().map(|table| table.iter().map(so_far).collect()).collect();
    let explained = explain(&measured.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let rows: Vec<usize> = (0..measured.first().map_or(0, Vec::len)).collect();
    with_restless(explained.tables.into_iter().map(|adjusted| adjusted.table(&rows, blocks)))
}

/// Tables that know who is restless in all of them together.
pub(super) fn with_restless(
    tables: impl Iterator<Item = Result<Table, StatsError>>,
) -> Result<Vec<Table>, StatsError> {
    let tables = lend_windows(tables.collect::<Result<Vec<Table>, StatsError>>()?);
    let restless = restless(&by_contender(&tables));
    Ok(tables.into_iter().map(|table| table.with_restless(restless.clone())).collect())
}

/// What each of these tables, which have the same contenders, says of how much the lives of each vary.
pub(crate) fn by_contender(tables: &[Table]) -> Vec<Vec<Restlessness>> {
    let told: Vec<Vec<_>> = tables.iter().map(Table::restlessness).collect();
    let contenders = tables.iter().map(Table::contenders).max().unwrap_or(0);
    (0..contenders).map(|i| told.iter().filter_map(|table| table[i]).collect()).collect()
}

/// One run.
#[derive(Default)]
pub(super) struct Judged {
    nearest: u32,
    nearest_shown: u32,
    is_false: bool,
    uncovered: bool,
    pairs: u32,
    open: u32,
    widest_open: f64,
    real: u32,
    shown: u32,
    intervals: u32,
    covered: u32,
    rates: u32,
    rates_covered: u32,
    detectable: Vec<f64>,
}

/// Many of them.
#[derive(Default)]
pub(super) struct Counts {
    nearest: u32,
    nearest_shown: u32,
    false_runs: u32,
    all_covered: u32,
    all_shown: u32,
    pairs: u32,
    open: u32,
    widest_open: Vec<f64>,
    real: u32,
    shown: u32,
    intervals: u32,
    covered: u32,
    rates: u32,
    rates_covered: u32,
    rounds: usize,
    detectable: Vec<f64>,
}

impl Counts {
    pub(super) fn add(&mut self, run: &Judged, rounds: usize) {
        self.false_runs += u32::from(run.is_false);
        self.all_covered += u32::from(!run.uncovered);
        self.all_shown += u32::from(run.shown == run.real);
        self.pairs += run.pairs;
        self.open += run.open;
        self.widest_open.push(run.widest_open.max(1.0));
        self.real += run.real;
        self.shown += run.shown;
        self.nearest += run.nearest;
        self.nearest_shown += run.nearest_shown;
        self.intervals += run.intervals;
        self.covered += run.covered;
        self.rates += run.rates;
        self.rates_covered += run.rates_covered;
        self.rounds += rounds;
        self.detectable.extend(&run.detectable);
    }

    pub(super) fn outcome(mut self, runs: f64) -> SimulationOutcome {
        let share = |count: u32, of: u32| f64::from(count) / f64::from(of.max(1));
        let of_differing = |of: f64| if self.real > 0 { of } else { f64::NAN };
        let of_runs = |count: u32| f64::from(count) / runs.max(1.0);
        self.widest_open.sort_unstable_by(f64::total_cmp);
        let ninth_tenth = (0.9 * runs) as usize;
        SimulationOutcome {
            false_runs: of_runs(self.false_runs),
            all_covered: of_runs(self.all_covered),
            covered: share(self.covered, self.intervals),
            rates_covered: f64::from(self.rates_covered) / f64::from(self.rates),
            all_shown: of_differing(of_runs(self.all_shown)),
            shown: of_differing(share(self.shown, self.real)),
            nearest_shown: of_differing(share(self.nearest_shown, self.nearest)),
            settled: 1.0 - share(self.open, self.pairs),
            open_up_to: self.widest_open.get(ninth_tenth).copied().unwrap_or(f64::NAN),
            rounds: self.rounds as f64 / runs.max(1.0),
            detectable: crate::robust::middle(&mut self.detectable).unwrap_or(f64::NAN),
        }
    }
}
