//! The figures of one contender in one cell, round by round.

use assay_model::comparison::Metric;
use assay_model::experiment::Cell;
use assay_stats::lag::Bounds;

use crate::window::{Evidence, Window};

/// The metric in each round of the record, in its unit; none where the contender was not measured, its window is void, or
/// the window does not tell. A percentile is told of all windows that count or of none.
pub(super) fn series(
    evidence: &Evidence<'_>,
    contender: &str,
    cell: &Cell,
    metric: Metric,
) -> Vec<Option<f64>> {
    let windows: Vec<Option<&Window<'_>>> = evidence
        .lives(contender, cell.network)
        .into_iter()
        .map(|life| life?.window(cell).filter(|window| window.counts()))
        .collect();
    let told = |window: &Window<'_>| figure(window, metric).filter(|value| value.is_finite() && *value > 0.0);
    let is_percentile = matches!(metric, Metric::P50 | Metric::P99);
    if is_percentile && windows.iter().flatten().any(|window| told(window).is_none()) {
        return vec![None; windows.len()];
    }
    windows.into_iter().map(|window| told(window?)).collect()
}

fn figure(window: &Window<'_>, metric: Metric) -> Option<f64> {
    match metric {
        // At an offered rate the throughput is what was offered.
        Metric::Rps => window.cell.offered.is_capacity().then(|| window.rate()).flatten(),
        Metric::P50 => quantile(window, 0.5),
        Metric::P99 => quantile(window, 0.99),
        // Usage spans the generator's whole life, so all its answers count, those before the window too.
        Metric::Cpu => Some(window.server.as_ref()?.cpu_ns().0 as f64 / window.load.books.ok as f64),
        Metric::Rss => Some(window.server.as_ref()?.memory_bytes() as f64),
    }
}

/// A quantile of the service time in a closed loop, else of the response time; none where too few samples lie beyond it or
/// it reaches a request that was given up.
fn quantile(window: &Window<'_>, q: f64) -> Option<f64> {
    if window.cell.offered.is_capacity() {
        return window.times.service_quantile(q).map(|ns| ns as f64);
    }
    let told = window.times.response_bounds(q).filter(Bounds::are_close)?.from_due;
    let told = Some(told).filter(|told| !told.is_lower_bound)?;
    Some(told.value as f64)
}
