//! The made-up run as one of several of its experiment, in which other generators loaded a server, too.

use assay_model::cross_check::{CrossCheck, CrossCheckStanding};
use assay_model::experiment::Cell;
use assay_model::generator::{GeneratorName, Told, ToldPercentile};
use assay_model::generator_window::{CountedBy, GeneratorWindow};
use assay_model::interval::Interval;
use assay_model::record::{GeneratorEntry, NotRun, Record, Stage};
use assay_model::units::Nanos;
use assay_model::verdict::Verdict;
use assay_report::page::Since;
use assay_verdict::compare::{CompareError, Side, compare};

/// The contender that other generators loaded.
pub(crate) const LOADED: &str = "nginx";
/// The contender whose throughput is another than in the run before.
pub(crate) const MOVED: &str = "gin";
/// Why h2load told nothing.
pub(crate) const WHY: &str = "it printed nothing";

const GENERATORS: [GeneratorName; 3] = [GeneratorName::Assay, GeneratorName::Wrk, GeneratorName::H2load];

/// The run, and what changed since the one before, in which gin was a fifth slower.
pub(crate) fn again(
    (mut record, mut verdict): (Record, Verdict),
) -> Result<(Record, Verdict, Since), CompareError> {
    let mut before = record.clone();
    before.id = "2026-11-19T22-07-31-showdown".to_owned();
    before.started_at = "2026-11-19T22:07:31Z".to_owned();
    let runs = before.rounds.iter_mut().flat_map(|round| &mut round.runs);
    for window in runs.filter(|run| run.contender == MOVED).flat_map(|run| &mut run.cells) {
        window.load.window.ok = window.load.window.ok * 4 / 5;
    }
    let side = |record: &Record| Side { record: record.clone(), contender: None };
    let since = Since::of(&compare(&side(&before), &[side(&record)], &[])?, &before);
    let runs = record.rounds.iter_mut().flat_map(|round| &mut round.runs);
    runs.filter(|run| run.contender == LOADED)
        .for_each(|run| run.by_generator = GENERATORS.map(window).to_vec());
    record.generators = vec![entry(GeneratorName::Wrk, None), entry(GeneratorName::H2load, None), absent()];
    verdict.cross_checks = vec![CrossCheck {
        cell: Cell::closed("hello", 64),
        standings: GENERATORS.map(standing).to_vec(),
        pairs: Vec::new(),
    }];
    Ok((record, verdict, since))
}

fn window(generator: GeneratorName) -> GeneratorWindow {
    let failure = (generator == GeneratorName::H2load).then(|| WHY.to_owned());
    let told = Told {
        right: 76_000,
        window_ns: Nanos::from_millis(1000),
        percentiles: vec![ToldPercentile { quantile: 0.99, time_ns: Nanos(1_500_000) }],
        ..Told::default()
    };
    GeneratorWindow {
        cell: Cell::closed("hello", 64),
        generator,
        offset_ns: Nanos::from_millis(1),
        told: failure.is_none().then_some(told),
        server_counted: None,
        cpu_ns: Some(Nanos::from_millis(700)),
        steal_share: 0.0,
        other_share: 0.01,
        failure,
    }
}

fn standing(generator: GeneratorName) -> CrossCheckStanding {
    let failed = generator == GeneratorName::H2load;
    let about =
        |estimate: f64| Interval { estimate, low: estimate * 0.98, high: estimate * 1.02, confidence: 0.95 };
    CrossCheckStanding {
        contender: LOADED.to_owned(),
        generator,
        rounds: if failed { 0 } else { 6 },
        void: 0,
        per_second: (!failed).then(|| about(76_000.0)),
        counted_by: (!failed).then_some(CountedBy::Generator),
        to_ours: (generator == GeneratorName::Wrk).then(|| about(0.97)),
        per_cpu_second: Some(108_000.0),
        busy_share: Some(0.7),
        is_saturated: false,
        told_p50_ns: None,
        told_p99_ns: (!failed).then_some(1_500_000.0),
        failed: 0,
        miscount: None,
        failures: if failed { 6 } else { 0 },
        failure: failed.then(|| WHY.to_owned()),
    }
}

fn entry(name: GeneratorName, not_run: Option<NotRun>) -> GeneratorEntry {
    GeneratorEntry { name, version: Some("4.2.0".to_owned()), not_run, left_out: Vec::new() }
}

fn absent() -> GeneratorEntry {
    let why = NotRun {
        stage: Stage::Needs,
        reason: "oha is not on the PATH".to_owned(),
        remedy: Some("cargo install oha".to_owned()),
        log_tail: Vec::new(),
    };
    entry(GeneratorName::Oha, Some(why))
}
