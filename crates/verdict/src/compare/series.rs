//! The figures of one contender in one cell, round by round.

use assay_model::comparison::Metric;
use assay_model::experiment::Cell;
use assay_model::record::{Measurement, Record};
use assay_stats::{Histogram, censored};

use crate::throughput;

/// Fewest samples beyond a quantile that make it worth comparing (METHODOLOGY, "Quantiles").
const SAMPLES_BEYOND: f64 = 100.0;

/// The metric in each round of the record, in its unit; none where the contender was not measured, its window is void, or
/// the window does not tell.
pub(super) fn series(record: &Record, contender: &str, cell: &Cell, metric: Metric) -> Vec<Option<f64>> {
    let in_round = |round: &assay_model::record::Round| {
        let run = round.run_of(contender, cell.network)?;
        let window = run.cells.iter().find(|window| window.cell == *cell)?;
        let value = if window.void_rules().is_empty() { figure(window, metric) } else { None };
        value.filter(|value| value.is_finite() && *value > 0.0)
    };
    record.rounds.iter().map(in_round).collect()
}

fn figure(window: &Measurement, metric: Metric) -> Option<f64> {
    match metric {
        // At an offered rate the throughput is what was offered.
        Metric::Rps => window.cell.offered.is_capacity().then(|| throughput(window)).flatten(),
        Metric::P50 => quantile(window, 0.5),
        Metric::P99 => quantile(window, 0.99),
        // Usage spans the generator's whole life, so all its answers count, those before the window too.
        Metric::Cpu => Some(window.server.as_ref()?.cpu_ns().0 as f64 / window.load.books.ok as f64),
        Metric::Rss => Some(window.server.as_ref()?.rss_peak_bytes as f64),
    }
}

/// A quantile of the service time in a closed loop, else of the response time; none where too few samples lie beyond it or
/// it reaches a request that was given up.
fn quantile(window: &Measurement, q: f64) -> Option<f64> {
    let latency = &window.load.latency;
    let closed = window.cell.offered.is_capacity();
    let ended = if closed { &latency.service_hdr } else { latency.response_hdr.as_ref()? };
    let ended = Histogram::from_hdr_base64(ended).ok()?;
    let given_up = match latency.censored_hdr.as_ref().filter(|_| !closed) {
        Some(text) => Histogram::from_hdr_base64(text).ok()?,
        None => Histogram::new(),
    };
    let enough = (ended.count() + given_up.count()) as f64 * (1.0 - q) >= SAMPLES_BEYOND;
    let told = censored::quantile(&ended, &given_up, q).filter(|told| enough && !told.is_lower_bound)?;
    Some(told.value as f64)
}
