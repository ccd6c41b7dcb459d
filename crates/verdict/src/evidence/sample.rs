//! The numbers of a record, contender by contender and round by round.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::CONFIDENCE;
use crate::evidence::window::{Block, DecodedRecord, ServerRun, Times, Window};
use assay_model::contender::Kind;
use assay_model::cpuset::CpuSet;
use assay_model::experiment::Cell;
use assay_model::load::{Arrival, LoadReport};
use assay_model::record::{Entry, Measurement, Record, Round, Run};
use assay_model::setting::Setting;
use assay_model::units::total;
use assay_stats::interval::geometric_mean_interval;
use assay_stats::lag::Bounds;
use assay_stats::robust::geometric_mean;

/// Responses that a third of a window must be as long as for a drift to be told: a wave that is cut off at its ends then moves
/// the third by less than the drift that is told.
const RESPONSES_OF_A_THIRD: f64 = 20.0;

/// One contender in one cell over all rounds.
pub(crate) struct Sample<'r> {
    /// The contender.
    pub entry: &'r Entry,
    /// Run of the contender in each block: in each round, or in each group of one.
    pub runs: Vec<Option<&'r Run>>,
    /// Window of the contender in each block.
    pub windows: Vec<Option<&'r Window<'r>>>,
    /// The blocks, in the order of the rounds.
    pub in_blocks: Vec<Block>,
    /// CPUs that servers had; zero when the record does not say.
    pub server_cpus: usize,
}

/// The contenders proper that were measured in `cell` at least once.
pub(crate) fn samples<'r>(evidence: &'r DecodedRecord<'_>, cell: &Cell) -> Vec<Sample<'r>> {
    let proper = evidence.record.contenders.iter().filter(|entry| entry.control_of.is_none());
    let samples = proper.map(|entry| sample_of(evidence, entry, cell));
    samples.filter(|sample| sample.measured().next().is_some()).collect()
}

/// CPUs of the servers on the host on which they were started, as a kernel list; hosts that take turns have as many.
pub(crate) fn server_cpus(record: &Record) -> &str {
    record.server_hosts.first().map_or(&record.isolation.server_cpus, |host| &host.cpus)
}

/// One contender, measured or not.
pub(crate) fn sample_of<'r>(evidence: &'r DecodedRecord<'_>, entry: &'r Entry, cell: &Cell) -> Sample<'r> {
    let server_cpus = server_cpus(evidence.record).parse::<CpuSet>().map_or(0, |cpus| cpus.len());
    let server_runs: Vec<Option<&ServerRun<'_>>> = evidence.server_runs(&entry.identity.name, cell);
    let runs = server_runs.iter().map(|server_run| server_run.map(|server_run| server_run.run)).collect();
    let windows = server_runs.into_iter().map(|server_run| server_run?.window(cell)).collect();
    Sample { entry, runs, windows, in_blocks: evidence.blocks(cell), server_cpus }
}

/// Complete rounds in which the rates of two contenders count, or that of the only one that was measured in it.
pub(crate) fn counted_rounds(record: &Record) -> u32 {
    let telling = telling(record);
    let counting = complete_rounds(record).into_iter().filter(|round| counts(round, &telling));
    u32::try_from(counting.count()).unwrap_or(u32::MAX)
}

/// Whether the rates of two of those called `telling` count in a round, or all where fewer were measured in it.
fn counts(round: &Round, telling: &BTreeSet<&str>) -> bool {
    let those = |is: fn(&Run) -> bool| {
        let runs = round.runs.iter().filter(|run| is(run) && telling.contains(run.contender.as_str()));
        runs.map(|run| run.contender.as_str()).collect::<BTreeSet<&str>>().len()
    };
    those(has_rate) >= those(is_measured).min(2)
}

/// The names of those who tell whether a round counts: the contenders proper, or all where none of them was measured. Whoever never has a
/// rate that counts is withheld, and takes no round from the others.
fn telling(record: &Record) -> BTreeSet<&str> {
    let proper = record.contenders.iter().filter(|of| of.control_of.is_none() && !of.identity.is_limit());
    let proper: BTreeSet<&str> = proper.map(|entry| entry.identity.name.as_str()).collect();
    let those = |is: fn(&Run) -> bool| {
        let runs = record.rounds.iter().flat_map(|round| &round.runs).filter(|run| is(run));
        runs.map(|run| run.contender.as_str()).collect::<BTreeSet<&str>>()
    };
    let (measured, with_rate) = (those(is_measured), those(has_rate));
    let candidates = if measured.is_disjoint(&proper) { measured } else { &measured & &proper };
    if with_rate.is_disjoint(&candidates) { candidates } else { &candidates & &with_rate }
}

fn is_measured(run: &Run) -> bool {
    !run.cells.is_empty()
}

/// Whether any window of a life has a rate that counts. Pairs of windows of two at once are void by themselves ([`super::duet`]).
fn has_rate(run: &Run) -> bool {
    run.cells.iter().any(|window| !window.duet.is_empty() || window.rate_void_rules().is_empty())
}

/// A contender in a setting.
type Part<'r> = (&'r Entry, Setting);

/// Rounds in which every contender that still takes part was measured in every setting. In a run that goes on until all is settled, whoever
/// was settled takes part no longer.
pub(crate) fn complete_rounds(record: &Record) -> Vec<&Round> {
    let settings = record.settings_had();
    let measured =
        |(entry, setting): &Part<'_>, round: &Round| round.run_of(&entry.identity.name, *setting).is_some();
    // A measure may be for some contenders only.
    let is_asked = |entry: &Entry, setting| {
        let cells = record.experiment.cells();
        cells
            .iter()
            .any(|cell| cell.setting() == setting && record.experiment.takes(&entry.identity.name, cell))
    };
    let parts =
        record.contenders.iter().flat_map(|entry| settings.iter().map(move |setting| (entry, *setting)));
    let left_after = |part: &_| record.rounds.iter().rposition(|round| measured(part, round));
    let taking_part: Vec<(Part<'_>, Option<usize>)> = parts
        .filter(|(entry, setting)| entry.absence_on(*setting).is_none() && is_asked(entry, *setting))
        .map(|part| (part, left_after(&part).filter(|_| record.experiment.until_settled)))
        .collect();
    let complete = record.rounds.iter().enumerate().filter(|(index, round)| {
        let there = |(part, left): &(Part<'_>, Option<usize>)| {
            left.is_some_and(|last| *index > last) || measured(part, round)
        };
        // Where nobody is left, whoever takes part no longer is no reason to call it complete.
        let is_of_use = round.runs.iter().any(|run| is_measured(run) || run.failure.is_none());
        is_of_use && taking_part.iter().all(there)
    });
    complete.map(|(_, round)| round).collect()
}

/// CPU time of the server per right answer in a window, in nanoseconds.
fn cpu_per_answer(window: &Measurement) -> Option<f64> {
    // Usage spans all load that the server was watched under, so those answers count, before the window too.
    let answers = window.answers_watched();
    let used = window.server.as_ref()?.cpu_ns().0;
    (answers > 0).then(|| used as f64 / answers as f64)
}

impl<'r> Sample<'r> {
    /// Whether this is the machine's limit.
    pub(crate) fn is_limit(&self) -> bool {
        self.entry.identity.kind == Kind::Limit
    }

    /// The windows that were measured.
    pub(crate) fn measured(&self) -> impl Iterator<Item = &'r Measurement> {
        self.windows.iter().copied().flatten().map(|window| window.measured)
    }

    /// The windows that count as a whole: measured, and not void.
    pub(crate) fn counting(&self) -> impl Iterator<Item = &'r Measurement> {
        self.measured().filter(|window| window.void_rules().is_empty())
    }

    /// The windows whose throughput counts: of those that are made of turns also some that are void as a whole.
    pub(crate) fn rated(&self) -> impl Iterator<Item = &'r Measurement> {
        self.rated_blocks().flatten().map(|window| window.measured)
    }

    /// Windows that count, with their times.
    pub(crate) fn timed(&self) -> impl Iterator<Item = &'r Window<'r>> {
        self.blocks().flatten()
    }

    /// The window of each block; none where it was void as a whole.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Option<&'r Window<'r>>> {
        self.windows.iter().map(|window| window.filter(|window| window.counts()))
    }

    /// The window of each block; none where its throughput was void.
    pub(crate) fn rated_blocks(&self) -> impl Iterator<Item = Option<&'r Window<'r>>> {
        self.windows.iter().map(|window| window.filter(|window| window.rate_counts()))
    }

    /// Throughput in each block; none where it was void.
    pub(crate) fn rates(&self) -> Vec<Option<f64>> {
        self.rated_blocks().map(|window| window?.rate()).collect()
    }

    /// How long requests took, of windows that count: in each round or group those of all replicas together, because each of them had
    /// only a part of the turns.
    pub(crate) fn times(&self) -> Vec<Cow<'r, Times>> {
        let lived: Vec<(&Block, Option<&'r Window<'r>>)> = self.in_blocks.iter().zip(self.blocks()).collect();
        let groups = lived.chunk_by(|(block, _), (next, _)| block.is_beside(**next));
        let together = |group: &[(&Block, Option<&'r Window<'r>>)]| {
            let windows = group.iter().filter_map(|(_, window)| *window);
            windows.map(|window| Cow::Borrowed(&window.times)).reduce(Times::together)
        };
        groups.filter_map(together).collect()
    }

    /// Throughput in each round of the record, of one that lived several times in it the mean of them (of logarithms); none where no
    /// window counts.
    pub(crate) fn rates_by_round(&self) -> Vec<Option<f64>> {
        let rates = self.rates();
        let in_round = |round: usize| {
            let of_round = rates.iter().zip(&self.in_blocks).filter(|(_, block)| block.round == round);
            geometric_mean(&of_round.filter_map(|(rate, _)| *rate).collect::<Vec<f64>>()).ok()
        };
        let rounds = self.in_blocks.iter().map(|block| block.round + 1).max().unwrap_or(0);
        (0..rounds).map(in_round).collect()
    }

    /// The quantile `q` of the service time in each round that counts, in nanoseconds; none unless all tell it.
    pub(crate) fn service_quantiles(&self, q: f64) -> Vec<f64> {
        of_all(self.times(), |times, rounds| times.service_quantile_among(q, rounds).map(|ns| ns as f64))
    }

    /// A quantile of the response time from both ends in each round that counts; none unless all tell it.
    pub(crate) fn response_bounds(&self, q: f64) -> Vec<Bounds> {
        of_all(self.times(), |times, rounds| times.response_bounds_among(q, rounds))
    }

    /// CPU time of the server per right answer in each round, in nanoseconds.
    pub(crate) fn cpu_per_answer(&self) -> Vec<f64> {
        self.counting().filter_map(cpu_per_answer).collect()
    }

    /// CPU time per right answer in each block, in nanoseconds; none where its window was void.
    pub(crate) fn cpu_per_answer_in_blocks(&self) -> Vec<Option<f64>> {
        let counting = self.windows.iter().map(|window| Some(window.as_ref()?.measured));
        counting
            .map(|window| cpu_per_answer(window.filter(|window| window.void_rules().is_empty())?))
            .collect()
    }

    /// Share of its CPUs that the server's processes used while there was load, in each window whose throughput counts.
    pub(crate) fn server_busy(&self) -> Vec<f64> {
        let of = |window: &Measurement| {
            let loaded =
                (window.load.warmup_ns + window.load.window_ns).as_secs_f64() * self.server_cpus as f64;
            let used = window.server.as_ref()?.cpu_ns().as_secs_f64();
            (loaded > 0.0).then(|| (used / loaded).min(1.0))
        };
        self.rated().filter_map(of).collect()
    }

    /// Share of its CPU that the busiest generator thread used, in each window whose throughput counts.
    pub(crate) fn generator_busy(&self) -> Vec<f64> {
        self.rated()
            .filter_map(|window| window.load.thread_busy_shares.iter().copied().reduce(f64::max))
            .collect()
    }

    /// Failed and all requests over all rounds.
    pub(crate) fn failed_of(&self) -> (u64, u64) {
        self.measured().fold((0, 0), |(failed, all), window| {
            let books = &window.load.books;
            (total([failed, books.failed()]), total([all, books.ok, books.failed()]))
        })
    }

    /// Throughput of the last third of a window over that of the first, where the windows of several rounds show that they differ, or there
    /// is one only. None where a third is so short beside a response that it shows the wave in which a closed loop's answers come, nor for
    /// windows that are made of turns: of these a third is few moments of a machine whose speed changes, and [`super::ageing`] compares them
    /// with the turns of others.
    pub(crate) fn drift(&self) -> Option<f64> {
        let in_one_piece = self.measured().filter(|window| window.turns.is_empty());
        let drifts: Vec<f64> =
            in_one_piece.filter(|window| has_long_thirds(window)).filter_map(drift_of).collect();
        match drifts.as_slice() {
            [] => None,
            [only] => Some(*only),
            several => {
                let drift = geometric_mean_interval(several, CONFIDENCE).ok()?;
                (!drift.contains(1.0)).then_some(drift.estimate)
            }
        }
    }
}

/// Throughput of the last third of one window over that of the first; `None` where either answered nothing.
fn drift_of(window: &Measurement) -> Option<f64> {
    let whole = window.load.series.whole();
    let third = whole.len() / 3;
    let (first, last) = (&whole[..third], &whole[whole.len() - third..]);
    let answered = |part: &[u64]| total(part.iter().copied()) as f64;
    (answered(first) > 0.0 && answered(last) > 0.0).then(|| answered(last) / answered(first))
}

/// Whether a third of a window is many times as long as a response on average.
fn has_long_thirds(window: &Measurement) -> bool {
    window.load.window_ns.as_secs_f64() / 3.0 >= RESPONSES_OF_A_THIRD * mean_response_s(&window.load)
}

/// How long a response took on average in a closed loop, in seconds (Little's law); infinite where none came.
pub(crate) fn mean_response_s(load: &LoadReport) -> f64 {
    f64::from(load.connections) * f64::from(load.pipeline) / load.window_ns.rate_of(load.window.ok)
}

/// Requests per second that were offered in a window; `None` for a closed loop.
pub fn offered_rate(window: &Measurement) -> Option<f64> {
    match window.load.arrival {
        Arrival::Closed => None,
        Arrival::Constant { per_second } | Arrival::Poisson { per_second } => Some(per_second),
    }
}

/// What each of these times tells, of which there are so many; nothing unless all of them do.
fn of_all<T>(all: Vec<Cow<'_, Times>>, tell: impl Fn(&Times, usize) -> Option<T>) -> Vec<T> {
    all.iter().map(|times| tell(times, all.len())).collect::<Option<_>>().unwrap_or_default()
}
