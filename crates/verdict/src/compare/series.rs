//! The figures of contenders in one cell, round by round.

use std::borrow::Cow;

use assay_model::comparison::Metric;
use assay_model::experiment::Cell;
use assay_model::verdict::Verdict;
use assay_stats::robust::geometric_mean;

use crate::evidence::window::{DecodedRecord, Times, Window};

/// The metric as the verdict of a run tells it of one contender: the median over its rounds; none of throughput, and of what it does not
/// tell.
pub(super) fn figure_of(verdict: &Verdict, contender: &str, cell: &Cell, metric: Metric) -> Option<f64> {
    let closed = verdict.cells.iter().filter(|judged| judged.cell == *cell);
    let closed = closed.flat_map(|judged| &judged.standings).find(|of| of.contender == contender);
    let open = verdict.latency.iter().filter(|judged| judged.cell == *cell);
    let open = open.flat_map(|judged| &judged.standings).find(|of| of.contender == contender);
    let at_a_rate = |q: f64| Some(open?.quantiles.iter().find(|of| of.quantile == q)?.response_ns);
    let percentile = match metric {
        Metric::Rps => None,
        Metric::P50 => closed.and_then(|of| of.p50_ns).or_else(|| at_a_rate(0.5)),
        Metric::P99 => closed.and_then(|of| of.p99_ns).or_else(|| at_a_rate(0.99)),
        Metric::Cpu => return closed?.cpu_per_request_ns,
        Metric::Memory => return closed?.memory_bytes.map(|bytes| bytes as f64),
    };
    percentile.map(|told| told.estimate)
}

/// The metric of two contenders in each round of the record, as [`series`] tells it. Where the two lived in different groups of
/// a round, throughput of the second is told as it would have been in the first one's group, by a third that lived in both; what
/// the machine did to one group does not show in the other figures as much.
pub(super) fn pair(
    evidence: &DecodedRecord<'_>,
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
    evidence: &DecodedRecord<'_>,
    contender: &str,
    cell: &Cell,
    metric: Metric,
) -> Vec<Option<f64>> {
    let blocks = evidence.blocks(cell);
    let lived: Vec<_> = blocks.into_iter().zip(evidence.server_runs(contender, cell)).collect();
    let counts = |window: &&Window<'_>| match metric {
        Metric::Rps => window.rate_counts(),
        Metric::P50 | Metric::P99 | Metric::Cpu | Metric::Memory => window.counts(),
    };
    let groups = lived.chunk_by(|(block, _), (next, _)| block.is_beside(*next));
    let windows: Vec<Vec<&Window<'_>>> = groups
        .map(|group| group.iter().filter_map(|(_, server_run)| server_run.as_ref()?.window(cell)))
        .map(|windows| windows.filter(counts).collect())
        .collect();
    let among = windows.iter().filter(|of| !of.is_empty()).count();
    let told =
        |of: &Vec<&Window<'_>>| figure(of, metric, among).filter(|value| value.is_finite() && *value > 0.0);
    let is_percentile = matches!(metric, Metric::P50 | Metric::P99);
    if is_percentile && windows.iter().any(|of| !of.is_empty() && told(of).is_none()) {
        return vec![None; windows.len()];
    }
    windows.iter().map(told).collect()
}

/// The metric of the windows of replicas that lived at once, which are told with those of so many rounds; none where there are none.
fn figure(windows: &[&Window<'_>], metric: Metric, rounds: usize) -> Option<f64> {
    let of_each = |of: fn(&Window<'_>) -> Option<f64>| {
        geometric_mean(&windows.iter().map(|window| of(window)).collect::<Option<Vec<f64>>>()?).ok()
    };
    match metric {
        // At an offered rate the throughput is what was offered.
        Metric::Rps => of_each(|window| window.cell.offered.is_capacity().then(|| window.rate()).flatten()),
        Metric::P50 => quantile(windows, 0.5, rounds),
        Metric::P99 => quantile(windows, 0.99, rounds),
        // Usage spans the generator's whole life, so all its answers count, those before the window too.
        Metric::Cpu => of_each(|window| {
            Some(window.server.as_ref()?.cpu_ns().0 as f64 / window.answers_watched() as f64)
        }),
        Metric::Memory => of_each(|window| Some(window.server.as_ref()?.memory_bytes() as f64)),
    }
}

/// A quantile of the service time in a closed loop, else of the response time; none where too few samples lie beyond it or
/// it reaches a request that was given up.
fn quantile(windows: &[&Window<'_>], q: f64, rounds: usize) -> Option<f64> {
    let first = windows.first()?;
    if first.cell.offered.is_capacity() {
        let times = windows.iter().map(|window| Cow::Borrowed(&window.times)).reduce(Times::together)?;
        return times.service_quantile_among(q, rounds).map(|ns| ns as f64);
    }
    first.times.response_bounds_among(q, rounds)?.exact().map(|ns| ns as f64)
}
