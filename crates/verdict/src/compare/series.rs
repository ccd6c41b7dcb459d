//! The figures of contenders in one cell, round by round.

use assay_model::comparison::Metric;
use assay_model::experiment::Cell;
use assay_stats::lag::Bounds;

use crate::window::{Evidence, Window};

/// The metric of two contenders in each round of the record, as [`series`] tells it. Where the two lived in different groups of
/// a round, throughput of the second is told as it would have been in the first one's group, by a third that lived in both; what
/// the machine did to one group does not show in the other figures as much.
pub(super) fn pair(
    evidence: &Evidence<'_>,
    [one, other]: [&str; 2],
    cell: &Cell,
    metric: Metric,
) -> [Vec<Option<f64>>; 2] {
    let blocks = evidence.blocks(cell);
    let of = |name: &str| series(evidence, name, cell, metric);
    let (own, others) = (of(one), of(other));
    let is_other = |name: &&str| ![one, other].contains(name);
    let names = evidence.record.contenders.iter().map(|entry| entry.identity.name.as_str()).filter(is_other);
    let thirds: Vec<Vec<Option<f64>>> =
        if metric == Metric::Rps { names.map(of).collect() } else { Vec::new() };
    let in_round = |round: usize| -> Option<(f64, f64)> {
        let of_round = || (0..blocks.len()).filter(|block| blocks[*block].round == round);
        if let Some(both) = of_round().find_map(|block| own[block].zip(others[block])) {
            return Some(both);
        }
        let (a, b) = (of_round().find(|b| own[*b].is_some())?, of_round().find(|b| others[*b].is_some())?);
        let shift = match metric {
            Metric::Rps => thirds.iter().find_map(|third| Some(third[a]? / third[b]?))?,
            _ => 1.0,
        };
        Some((own[a]?, others[b]? * shift))
    };
    let both = (0..evidence.rounds.len()).map(in_round);
    let (own, others) = both.map(|both| (both.map(|of| of.0), both.map(|of| of.1))).unzip();
    [own, others]
}

/// The metric in each block of the cell (a round, or a group of one), in its unit; none where the contender was not measured, its
/// window is void, or the window does not tell. A percentile is told of all windows that count or of none.
pub(super) fn series(
    evidence: &Evidence<'_>,
    contender: &str,
    cell: &Cell,
    metric: Metric,
) -> Vec<Option<f64>> {
    let windows: Vec<Option<&Window<'_>>> = evidence
        .server_runs(contender, cell)
        .into_iter()
        .map(|server_run| {
            server_run?.window(cell).filter(|window| match metric {
                Metric::Rps => window.rate_counts(),
                Metric::P50 | Metric::P99 | Metric::Cpu | Metric::Rss => window.counts(),
            })
        })
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
        Metric::Cpu => Some(window.server.as_ref()?.cpu_ns().0 as f64 / window.answers_watched() as f64),
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
