//! The figures of contenders in one cell, round by round.

use std::borrow::Cow;

use assay_model::comparison::Metric;
use assay_model::experiment::Cell;
use assay_stats::lag::Bounds;
use assay_stats::robust::geometric_mean;

use crate::evidence::window::{Evidence, Times, Window};

/// The metric of two contenders in each round of the record, as [`series`] tells it. Where the two lived in different groups of
/// a round, throughput of the second is told as it would have been in the first one's group, by a third that lived in both; what
/// the machine did to one group does not show in the other figures as much.
pub(super) fn pair(
    evidence: &Evidence<'_>,
    [one, other]: [&str; 2],
    cell: &Cell,
    metric: Metric,
) -> [Vec<Option<f64>>; 2] {
    let mut blocks = evidence.blocks(cell);
    blocks.retain(|block| block.replica == 0);
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

/// The metric in each round of the cell, or each group of one, in its unit: of replicas that lived at once the one of all of them. None
/// where the contender was not measured, its windows are void, or do not tell. A percentile is told of all windows that count or of none.
pub(super) fn series(
    evidence: &Evidence<'_>,
    contender: &str,
    cell: &Cell,
    metric: Metric,
) -> Vec<Option<f64>> {
    let blocks = evidence.blocks(cell);
    let lived: Vec<_> = blocks.into_iter().zip(evidence.server_runs(contender, cell)).collect();
    let counts = |window: &&Window<'_>| match metric {
        Metric::Rps => window.rate_counts(),
        Metric::P50 | Metric::P99 | Metric::Cpu | Metric::Rss => window.counts(),
    };
    let groups = lived.chunk_by(|(block, _), (next, _)| block.is_beside(*next));
    let windows: Vec<Vec<&Window<'_>>> = groups
        .map(|group| group.iter().filter_map(|(_, server_run)| server_run.as_ref()?.window(cell)))
        .map(|windows| windows.filter(counts).collect())
        .collect();
    let told = |of: &Vec<&Window<'_>>| figure(of, metric).filter(|value| value.is_finite() && *value > 0.0);
    let is_percentile = matches!(metric, Metric::P50 | Metric::P99);
    if is_percentile && windows.iter().any(|of| !of.is_empty() && told(of).is_none()) {
        return vec![None; windows.len()];
    }
    windows.iter().map(told).collect()
}

/// The metric of the windows of replicas that lived at once; none where there are none.
fn figure(windows: &[&Window<'_>], metric: Metric) -> Option<f64> {
    let of_each = |of: fn(&Window<'_>) -> Option<f64>| {
        geometric_mean(&windows.iter().map(|window| of(window)).collect::<Option<Vec<f64>>>()?).ok()
    };
    match metric {
        // At an offered rate the throughput is what was offered.
        Metric::Rps => of_each(|window| window.cell.offered.is_capacity().then(|| window.rate()).flatten()),
        Metric::P50 => quantile(windows, 0.5),
        Metric::P99 => quantile(windows, 0.99),
        // Usage spans the generator's whole life, so all its answers count, those before the window too.
        Metric::Cpu => of_each(|window| {
            Some(window.server.as_ref()?.cpu_ns().0 as f64 / window.answers_watched() as f64)
        }),
        Metric::Rss => of_each(|window| Some(window.server.as_ref()?.memory_bytes() as f64)),
    }
}

/// A quantile of the service time in a closed loop, else of the response time; none where too few samples lie beyond it or
/// it reaches a request that was given up.
fn quantile(windows: &[&Window<'_>], q: f64) -> Option<f64> {
    let first = windows.first()?;
    if first.cell.offered.is_capacity() {
        let times = windows.iter().map(|window| Cow::Borrowed(&window.times)).reduce(Times::together)?;
        return times.service_quantile(q).map(|ns| ns as f64);
    }
    let told = first.times.response_bounds(q).filter(Bounds::are_close)?.from_due;
    let told = Some(told).filter(|told| !told.is_lower_bound)?;
    Some(told.value as f64)
}
