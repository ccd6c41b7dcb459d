//! The data inside the page: what the charts need, worked out here so that the page decodes no histogram and judges
//! nothing. `report-ui/page.schema.json` and `report-ui/src/types.ts` are generated from these types.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::experiment::{Cell, Experiment};
use assay_model::host::{HostFacts, Isolation};
use assay_model::record::{Entry, Measurement, NotRun, Program, Record, Round, Run, State};
use assay_model::units::Nanos;
use assay_model::verdict::Verdict;
use assay_model::workload::Workload;
use assay_stats::Histogram;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

use crate::notes::Warning;
use crate::{ReportError, notes};

/// Name and version of the format of [`Page`].
pub const PAGE_SCHEMA: &str = "assay-page/1";

/// Quantiles of a curve: nearly equal steps on an axis of nines.
const LADDER: [f64; 27] = [
    0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.965, 0.975, 0.985, 0.99, 0.9925, 0.995,
    0.9965, 0.998, 0.999, 0.9995, 0.9998, 0.9999, 0.99995, 0.99998, 0.99999,
];

/// A quantile q of n values is shown when at least this many lie above it: n(1 − q) ≥ 100 (METHODOLOGY, quantiles).
const LEAST_ABOVE: f64 = 100.0;

/// Everything the page shows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Page {
    /// [`PAGE_SCHEMA`].
    pub schema: &'static str,
    /// Experiment and verdict in a line.
    pub title: String,
    /// What was run, where and how.
    pub run: RunFacts,
    /// All contenders that were asked for.
    pub contenders: Vec<Entry>,
    /// The judgement.
    pub verdict: Verdict,
    /// Every measurement at capacity, in the order in which they were made.
    pub samples: Vec<Sample>,
    /// Every run that ended early, in order.
    pub failures: Vec<Failure>,
    /// Checks that did not pass, gathered by rule, worst first.
    pub warnings: Vec<Warning>,
    /// The quantiles of every curve, rising, 0 to 1.
    pub quantiles: Vec<f64>,
    /// Service time by quantile, per cell and contender.
    pub curves: Vec<Curve>,
}

/// The record without its rounds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunFacts {
    /// Name of the run's folder.
    pub id: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// How long it took.
    pub elapsed_ns: Nanos,
    /// Where it stands.
    pub state: State,
    /// The program that measured.
    pub assay: Program,
    /// The command line, ready for a shell.
    pub command: String,
    /// Seed of the schedule, as text because JavaScript would round it.
    pub seed: String,
    /// How client and server were joined.
    pub link: String,
    /// The plan.
    pub experiment: Experiment,
    /// Its workloads.
    pub workloads: Vec<Workload>,
    /// The machine.
    pub host: HostFacts,
    /// Who ran where.
    pub isolation: Isolation,
    /// Event engines of the load generator that ran.
    pub engines: BTreeSet<String>,
}

/// One measured window.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Sample {
    /// Index of the round.
    pub round: u32,
    /// Name of the contender.
    pub contender: String,
    /// Which cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// When it began, after the start of the whole run.
    pub offset_ns: Nanos,
    /// Right answers per second.
    pub per_second: f64,
    /// Whether the verdict counts it.
    pub counts: bool,
    /// Rules that the generator found broken in this window, so that it alone should not be used.
    pub void: Vec<String>,
}

/// A run that ended early.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Failure {
    /// Index of the round.
    pub round: u32,
    /// Name of the contender.
    pub contender: String,
    /// When it was started, after the start of the whole run.
    pub offset_ns: Nanos,
    /// Planned cells that it did not reach.
    pub missing: Vec<Cell>,
    /// What happened.
    pub why: NotRun,
}

/// Service time by quantile of one contender in one cell, over the rounds that the verdict counts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Curve {
    /// Name of the contender.
    pub contender: String,
    /// Which cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Median over the rounds at each of [`Page::quantiles`], in nanoseconds; it ends where too few values lie above.
    pub median_ns: Vec<u64>,
    /// Least of the rounds, as long as `median_ns`.
    pub low_ns: Vec<u64>,
    /// Greatest of the rounds, as long as `median_ns`.
    pub high_ns: Vec<u64>,
}

/// A window's histogram with where it belongs.
struct Decoded<'a> {
    round: &'a Round,
    run: &'a Run,
    measurement: &'a Measurement,
    service: Histogram,
    counts: bool,
}

/// Works out the page's data.
///
/// # Errors
/// [`ReportError::Histogram`] when a histogram of the record cannot be read.
pub fn build(record: &Record, verdict: &Verdict) -> Result<Page, ReportError> {
    let windows = decode(record, verdict)?;
    Ok(Page {
        schema: PAGE_SCHEMA,
        title: title(record, verdict),
        run: run_facts(record),
        contenders: record.contenders.iter().filter(|entry| entry.twin_of.is_none()).cloned().collect(),
        verdict: verdict.clone(),
        samples: windows.iter().map(sample).collect(),
        failures: failures(record),
        warnings: notes::warnings(verdict),
        quantiles: LADDER.to_vec(),
        curves: curves(&windows),
    })
}

/// The JSON schema of [`Page`], from which `report-ui/src/types.ts` is generated.
pub fn schema() -> schemars::Schema {
    SchemaSettings::default().for_serialize().into_generator().into_root_schema_for::<Page>()
}

/// Right answers per second of a window; 0 for an empty one.
pub fn per_second(measurement: &Measurement) -> f64 {
    let seconds = measurement.load.window_ns.as_secs_f64();
    if seconds > 0.0 { measurement.load.window.ok as f64 / seconds } else { 0.0 }
}

/// The histogram of service times of a window.
///
/// # Errors
/// [`ReportError::Histogram`] when it cannot be read. A window without one yields an empty histogram.
pub fn service(run: &Run, round: u32, measurement: &Measurement) -> Result<Histogram, ReportError> {
    let text = &measurement.load.latency.service_hdr;
    decoded(text, run, round, measurement)
}

/// The histogram of response times of a window, from the intended times; empty for a closed loop.
///
/// # Errors
/// [`ReportError::Histogram`] when it cannot be read.
pub fn response(run: &Run, round: u32, measurement: &Measurement) -> Result<Histogram, ReportError> {
    let text = measurement.load.latency.response_hdr.as_deref().unwrap_or_default();
    decoded(text, run, round, measurement)
}

fn decoded(text: &str, run: &Run, round: u32, measurement: &Measurement) -> Result<Histogram, ReportError> {
    if text.is_empty() {
        return Ok(Histogram::new());
    }
    Histogram::from_hdr_base64(text).map_err(|source| ReportError::Histogram {
        contender: run.contender.clone(),
        round,
        cell: format!("{} at {} connections", measurement.cell.workload, measurement.cell.width()),
        source,
    })
}

/// The planned cells that a run did not measure although its contender answers their workload.
pub fn missing_cells(record: &Record, run: &Run) -> Vec<Cell> {
    let entry = record.contenders.iter().find(|entry| entry.name == run.contender);
    let is_called = |cell: &Cell, name: &String| {
        let workload = record.workloads.iter().find(|workload| workload.name == cell.workload);
        workload.map_or(cell.workload == *name, |workload| workload.is_called(name))
    };
    let answers = |cell: &Cell| entry.is_none_or(|e| e.workloads.iter().any(|name| is_called(cell, name)));
    let measured: BTreeSet<&Cell> = run.cells.iter().map(|measurement| &measurement.cell).collect();
    record.experiment.cells().into_iter().filter(|cell| answers(cell) && !measured.contains(cell)).collect()
}

fn title(record: &Record, verdict: &Verdict) -> String {
    match verdict.sentences.first() {
        Some(sentence) => format!("{}: {sentence}", record.experiment.name),
        None => record.experiment.name.clone(),
    }
}

fn run_facts(record: &Record) -> RunFacts {
    let measurements = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    RunFacts {
        id: record.id.clone(),
        started_at: record.started_at.clone(),
        elapsed_ns: record.elapsed_ns,
        state: record.state,
        assay: record.assay.clone(),
        command: crate::text::shell(&record.command),
        seed: record.seed.to_string(),
        link: record.link.clone(),
        experiment: record.experiment.clone(),
        workloads: record.workloads.clone(),
        host: record.host.clone(),
        isolation: record.isolation.clone(),
        engines: measurements.map(|measurement| measurement.load.engine.clone()).collect(),
    }
}

fn decode<'a>(record: &'a Record, verdict: &Verdict) -> Result<Vec<Decoded<'a>>, ReportError> {
    let mut windows = Vec::new();
    for (position, round) in record.rounds.iter().enumerate() {
        for run in round.runs.iter().filter(|run| is_proper(record, &run.contender)) {
            for measurement in run.cells.iter().filter(|window| window.cell.offered.is_capacity()) {
                let service = service(run, round.index, measurement)?;
                let counts = counts(verdict, &measurement.cell, &run.contender, position);
                windows.push(Decoded { round, run, measurement, service, counts });
            }
        }
    }
    Ok(windows)
}

/// Whether a contender takes part for its own sake, and not as another one's twin.
fn is_proper(record: &Record, contender: &str) -> bool {
    record.contenders.iter().all(|entry| entry.name != contender || entry.twin_of.is_none())
}

/// Whether the verdict has a throughput for this contender in the round at this position of the record.
fn counts(verdict: &Verdict, cell: &Cell, contender: &str, position: usize) -> bool {
    let cell = verdict.cells.iter().find(|judged| &judged.cell == cell);
    let standing = cell.and_then(|cell| cell.standings.iter().find(|one| one.contender == contender));
    standing.is_some_and(|standing| matches!(standing.rounds_per_second.get(position), Some(Some(_))))
}

fn sample(window: &Decoded<'_>) -> Sample {
    let measurement = window.measurement;
    Sample {
        round: window.round.index,
        contender: window.run.contender.clone(),
        cell: measurement.cell.clone(),
        offset_ns: measurement.offset_ns,
        per_second: per_second(measurement),
        counts: window.counts,
        void: measurement.void_rules(),
    }
}

fn failures(record: &Record) -> Vec<Failure> {
    let mut failures = Vec::new();
    for round in &record.rounds {
        for run in round.runs.iter().filter(|run| is_proper(record, &run.contender)) {
            if let Some(why) = &run.failure {
                failures.push(Failure {
                    round: round.index,
                    contender: run.contender.clone(),
                    offset_ns: run.offset_ns,
                    missing: missing_cells(record, run)
                        .into_iter()
                        .filter(|cell| cell.offered.is_capacity())
                        .collect(),
                    why: why.clone(),
                });
            }
        }
    }
    failures
}

fn curves(windows: &[Decoded<'_>]) -> Vec<Curve> {
    let mut groups: BTreeMap<(&Cell, &str), Vec<&Histogram>> = BTreeMap::new();
    for window in windows.iter().filter(|window| window.counts) {
        let key = (&window.measurement.cell, window.run.contender.as_str());
        groups.entry(key).or_default().push(&window.service);
    }
    let curve = |((cell, contender), rounds): ((&Cell, &str), Vec<&Histogram>)| {
        let points: Vec<[u64; 3]> =
            LADDER.iter().map_while(|&quantile| over_rounds(quantile, &rounds)).collect();
        let column = |which: usize| points.iter().map(|point| point[which]).collect();
        let (contender, cell) = (contender.to_owned(), cell.clone());
        Curve { contender, cell, median_ns: column(0), low_ns: column(1), high_ns: column(2) }
    };
    groups.into_iter().map(curve).filter(|curve| !curve.median_ns.is_empty()).collect()
}

/// Median, least and greatest of a quantile over rounds; `None` when in one of them too few values lie above it.
fn over_rounds(quantile: f64, rounds: &[&Histogram]) -> Option<[u64; 3]> {
    let mut values: Vec<u64> =
        rounds.iter().map(|histogram| shown_quantile(histogram, quantile)).collect::<Option<_>>()?;
    values.sort_unstable();
    let (least, greatest) = (*values.first()?, *values.last()?);
    let middle = values.len() / 2;
    let lower_middle = values[(values.len() - 1) / 2];
    Some([lower_middle.midpoint(values[middle]), least, greatest])
}

fn shown_quantile(histogram: &Histogram, quantile: f64) -> Option<u64> {
    let above = histogram.count() as f64 * (1.0 - quantile);
    // A relative slack of 1e-9: 1 − 0.99 is not exactly 0.01.
    (above * (1.0 + 1e-9) >= LEAST_ABOVE).then(|| histogram.quantile(quantile)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn a_quantile_needs_a_hundred_values_above_it() {
        let enough = histogram(1..=10_000);
        assert!(shown_quantile(&enough, 0.99).is_some());
        assert_eq!(shown_quantile(&histogram(1..=9_999), 0.99), None);
        assert_eq!(shown_quantile(&enough, 0.995), None);
    }

    #[test]
    fn a_curve_point_is_the_median_between_the_extremes_of_the_rounds() {
        let rounds = [20, 40, 10, 30].map(|value| histogram(std::iter::repeat_n(value, 200)));
        let rounds: Vec<&Histogram> = rounds.iter().collect();
        assert_eq!(over_rounds(0.5, &rounds), Some([25, 10, 40]));
        assert_eq!(over_rounds(0.9, &rounds), None);
    }
}
