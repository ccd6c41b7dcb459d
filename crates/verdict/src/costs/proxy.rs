//! What a proxy costs: its throughput over that of the server behind it, alone in its place, and what it adds to response times
//! (docs/method/proxies.md).

use assay_model::check::Check;
use assay_model::contender::Kind;
use assay_model::evidence::Withheld;
use assay_model::experiment::Cell;
use assay_model::record::{Measurement, Record};
use assay_model::verdict::{AddedLatency, AddedQuantile, CellVerdict, Interval, ProxyCost, Standing};
use assay_stats::order::median_interval;

use crate::capacity::self_ratio::{self, Bar};
use crate::doubts::objections::{answered_by_itself, errors, generator_objections};
use crate::evidence::sample::{Sample, offered_rate, sample_of, samples};
use crate::evidence::window::{DecodedRecord, Times};
use crate::response::latency::{QUANTILES, too_few};
use crate::{CONFIDENCE, MAX_ERROR_SHARE, median};

/// Compares each proxy with the server that is behind it, where that was measured alone in the same cell; by `bar` the two are called
/// different.
pub(crate) fn proxy_costs(evidence: &DecodedRecord<'_>, cells: &[CellVerdict], bar: Bar) -> Vec<ProxyCost> {
    let Some(upstream) = &evidence.record.upstream else { return Vec::new() };
    let of_cell = |cell: &CellVerdict| -> Vec<ProxyCost> {
        let mut standings = cell.standings.iter();
        let alone = standings.find(|standing| standing.contender == upstream.contender);
        let Some(alone) = alone else { return Vec::new() };
        let proxies = cell.standings.iter().filter(|standing| is_proxy(evidence.record, &standing.contender));
        proxies.map(|proxy| cost(evidence, &cell.cell, proxy, alone, bar)).collect()
    };
    cells.iter().flat_map(of_cell).collect()
}

/// What each proxy adds to response times in each cell at a rate in which windows went straight to its upstream.
pub(crate) fn added_latencies(evidence: &DecodedRecord<'_>) -> Vec<AddedLatency> {
    let cells = evidence.record.experiment.cells().into_iter().filter(|cell| cell.offered.is_rate());
    let of_cell = |cell: Cell| -> Vec<AddedLatency> {
        samples(evidence, &cell).iter().filter_map(|sample| added(sample, &cell)).collect()
    };
    cells.flat_map(of_cell).collect()
}

fn is_proxy(record: &Record, contender: &str) -> bool {
    record.entry_of(contender).is_some_and(|entry| entry.identity.kind == Kind::Proxy)
}

fn cost(
    evidence: &DecodedRecord<'_>,
    cell: &Cell,
    proxy: &Standing,
    alone: &Standing,
    bar: Bar,
) -> ProxyCost {
    let of_alone = || {
        let because = Box::new(alone.withheld.clone()?);
        Some(Withheld::Of { contender: alone.contender.clone(), because })
    };
    let withheld = proxy.withheld.clone().or_else(of_alone);
    let compared = if withheld.is_none() { self_ratio::ratio(proxy, alone, bar) } else { None };
    ProxyCost {
        contender: proxy.contender.clone(),
        cell: cell.clone(),
        straight: alone.contender.clone(),
        per_second: proxy.throughput_per_second,
        straight_per_second: alone.throughput_per_second,
        ratio: compared.map(|(ratio, _)| ratio),
        call: compared.and_then(|(_, call)| call),
        cpu_per_request_ns: proxy.cpu_per_request_ns,
        upstream_cpu_per_request_ns: upstream_cpu(evidence, cell, &proxy.contender),
        withheld: withheld.or_else(|| compared.is_none().then_some(Withheld::NoCommonRound)),
    }
}

/// CPU time of what is behind a proxy for each right answer, in nanoseconds.
fn upstream_cpu(evidence: &DecodedRecord<'_>, cell: &Cell, proxy: &str) -> Option<f64> {
    let sample = sample_of(evidence, evidence.record.entry_of(proxy)?, cell);
    let of = |window: &Measurement| {
        let (used, answers) = (window.upstream.as_ref()?.usage.cpu_ns().0, window.answers_watched());
        (answers > 0).then(|| used as f64 / answers as f64)
    };
    median(&sample.counting().filter_map(of).collect::<Vec<f64>>())
}

/// The times of two windows at the same rate.
struct Pair<'r> {
    through: &'r Times,
    straight: &'r Times,
}

/// A difference in nanoseconds, and between what it lies: the generator was late with some requests of either window.
struct Difference {
    through: f64,
    straight: f64,
    least: f64,
    most: f64,
}

fn added(sample: &Sample<'_>, cell: &Cell) -> Option<AddedLatency> {
    let measured = sample.measured().filter(|window| window.straight.is_some()).count();
    let first = sample.measured().find(|window| window.straight.is_some())?;
    let pairs: Vec<Pair<'_>> = sample
        .timed()
        .filter(|window| window.straight.as_ref().is_some_and(|straight| counts(straight)))
        .filter_map(|window| Some(Pair { through: &window.times, straight: window.straight_times.as_ref()? }))
        .collect();
    let own = errors(sample).into_iter().chain(answered_by_itself(sample));
    let checks: Vec<Check> = own.chain(generator_objections(sample)).collect();
    let void = checks.iter().find(|check| check.is_void()).map(Withheld::void);
    let withheld =
        void.or_else(|| (pairs.len() * 2 < measured).then(|| too_few(sample, pairs.len(), measured)));
    let quantiles = QUANTILES.iter().filter(|_| withheld.is_none());
    Some(AddedLatency {
        contender: sample.entry.identity.name.clone(),
        cell: cell.clone(),
        offered_per_second: offered_rate(first)?,
        pairs: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
        quantiles: quantiles.filter_map(|&q| quantile(&pairs, q)).collect(),
        withheld,
    })
}

/// Whether a window straight to the upstream is fit for comparison: what went wrong there is nothing of the proxy's.
fn counts(straight: &Measurement) -> bool {
    let books = &straight.load.books;
    let failed = books.failed() as f64 / books.issued.max(1) as f64;
    straight.void_rules().is_empty() && books.ok > 0 && failed <= MAX_ERROR_SHARE
}

/// A quantile through less the same quantile straight; nothing unless all windows tell it.
fn quantile(pairs: &[Pair<'_>], q: f64) -> Option<AddedQuantile> {
    let all: Vec<Difference> = pairs.iter().map(|pair| pair.difference(q)).collect::<Option<_>>()?;
    let of = |value: fn(&Difference) -> f64| all.iter().map(value).collect::<Vec<f64>>();
    let (through, straight) = (of(|one| one.through), of(|one| one.straight));
    let (least, most) = (of(|one| one.least), of(|one| one.most));
    let estimate = median(&of(|one| one.through - one.straight))?;
    let (low, high, confidence) = match (least.as_slice(), most.as_slice()) {
        ([least], [most]) => (*least, *most, 0.0),
        _ => {
            let low = median_interval(&least, CONFIDENCE).ok()?;
            (low.low, median_interval(&most, CONFIDENCE).ok()?.high, low.confidence)
        }
    };
    let added_ns = Interval { estimate, low, high, confidence };
    Some(AddedQuantile {
        quantile: q,
        through_ns: median(&through)?,
        straight_ns: median(&straight)?,
        added_ns,
    })
}

impl Pair<'_> {
    /// At a quantile that both tell, and that reaches no request that was given up.
    fn difference(&self, q: f64) -> Option<Difference> {
        let of = |times: &Times| times.response_bounds(q).filter(|bounds| !bounds.from_due.is_lower_bound);
        let (through, straight) = (of(self.through)?, of(self.straight)?);
        let [through_due, straight_due] = [through, straight].map(|bounds| bounds.from_due.value as f64);
        let [through_sent, straight_sent] = [through, straight].map(|bounds| bounds.from_sent as f64);
        Some(Difference {
            through: through_due,
            straight: straight_due,
            least: through_sent - straight_due,
            most: through_due - straight_sent,
        })
    }
}

#[cfg(test)]
mod tests;
