//! Durations over rounds: by quantile, and the share of requests below a duration.

use assay_model::JsonSchema;
use assay_stats::Histogram;
use assay_verdict::{Percentile, RoundTimes, Window, never_answered};
use serde::Serialize;

/// Quantiles of a curve: nearly equal steps on an axis of nines.
pub(super) const LADDER: [f64; 27] = [
    0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.965, 0.975, 0.985, 0.99, 0.9925, 0.995,
    0.9965, 0.998, 0.999, 0.9995, 0.9998, 0.9999, 0.99995, 0.99998, 0.99999,
];

/// Durations under which shares are told: so many to each power of ten, which is finer than the eye.
const BOUNDS_PER_DECADE: u32 = 20;
/// The first and the last power of ten of them, in nanoseconds: 1 µs and 100 s.
const BOUNDS: (u32, u32) = (3, 11);

/// The durations of one contender at one load, over the rounds that count.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Curve {
    /// Name of the contender.
    pub contender: String,
    /// The load, as people write it. The times are service times in a closed loop, else response times.
    pub offered: String,
    /// Median over the rounds at each of [`Head::quantiles`](super::Head::quantiles), in nanoseconds; absent where requests left
    /// too late to tell it. It ends where too few values lie above, and before requests that were given up.
    pub median_ns: Vec<Option<u64>>,
    /// Least of the rounds, as long as `median_ns`.
    pub low_ns: Vec<Option<u64>>,
    /// Greatest of the rounds, as long as `median_ns`.
    pub high_ns: Vec<Option<u64>>,
    /// How many of [`Head::bounds_ns`](super::Head::bounds_ns) come before the first share that is told.
    pub shares_from: usize,
    /// Share of all requests that were answered rightly within each bound, over all rounds; the bounds after the last one
    /// have the same share.
    pub shares: Vec<f64>,
}

/// The curve over rounds, whose windows are these; `None` when there is nothing to tell.
pub(super) fn curve(
    contender: &str,
    offered: String,
    rounds: &RoundTimes<'_>,
    windows: &[&Window<'_>],
) -> Option<Curve> {
    let mut points: Vec<Option<Percentile>> = LADDER.iter().map(|&q| rounds.percentile(q)).collect();
    while points.pop_if(|last| last.is_none()).is_some() {}
    let column = |of: fn(Percentile) -> u64| points.iter().map(|point| point.map(of)).collect();
    let (shares_from, shares) = shares(windows);
    let told = !points.is_empty() || !shares.is_empty();
    told.then(|| Curve {
        contender: contender.to_owned(),
        offered,
        median_ns: column(|of| of.median),
        low_ns: column(|of| of.least),
        high_ns: column(|of| of.greatest),
        shares_from,
        shares,
    })
}

/// The durations under which shares are told.
pub(super) fn bounds() -> Vec<u64> {
    let steps = BOUNDS.0 * BOUNDS_PER_DECADE..=BOUNDS.1 * BOUNDS_PER_DECADE;
    steps.map(|step| 10_f64.powf(f64::from(step) / f64::from(BOUNDS_PER_DECADE)).round() as u64).collect()
}

/// The shares of all requests that were answered within each bound, without the zeros before and the repeats after.
fn shares(windows: &[&Window<'_>]) -> (usize, Vec<f64>) {
    let mut ended = Histogram::new();
    for Window { times, .. } in windows {
        ended.merge(times.response.as_ref().unwrap_or(&times.service));
    }
    let others: u64 = windows.iter().map(|window| never_answered(window)).sum();
    let all = ended.count().saturating_add(others) as f64;
    let counts: Vec<u64> = bounds().iter().map(|&bound| ended.count_at_or_below(bound)).collect();
    let from = counts.iter().take_while(|&&count| count == 0).count().saturating_sub(1);
    let repeats = counts.iter().rev().take_while(|&&count| count == ended.count()).count();
    let to = (counts.len() - repeats + 1).min(counts.len());
    if ended.is_empty() || from >= to {
        return (0, Vec::new());
    }
    (from, counts[from..to].iter().map(|&count| count as f64 / all).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::experiment::Cell;
    use assay_model::load::{Arrival, ErrorClass};
    use assay_model::offered::Offered;
    use assay_model::record::Record;
    use assay_verdict::{DecodedRecord, testing};

    /// Four rounds of `a` at a rate, each with so many responses as long as its number says.
    fn record(answers: u64, ms: [u64; 4]) -> (Record, Cell) {
        let mut record = testing::record(&[("a", &[1000.0; 4]), ("b", &[1000.0; 4])]);
        let cell = Cell { offered: Offered::Rate(1000), ..Cell::closed("hello", 64) };
        record.experiment.measures[0].rates.push(cell.offered);
        for (round, ms) in record.rounds.iter_mut().zip(ms) {
            let mut window = round.runs[0].cells[0].clone();
            window.cell = cell.clone();
            window.load.arrival = Arrival::Poisson { per_second: 1000.0 };
            window.load.latency.response_hdr = coded([(ms * 1_000_000, answers)]);
            window.load.latency.response_from_sent_hdr = window.load.latency.response_hdr.clone();
            round.runs[0].cells.push(window);
        }
        (record, cell)
    }

    fn coded(values: impl IntoIterator<Item = (u64, u64)>) -> Option<String> {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|(value, count)| histogram.record_n(value, count));
        histogram.to_hdr_base64().ok()
    }

    fn curve_of(record: &Record, cell: &Cell) -> Curve {
        let evidence = DecodedRecord::of(record).unwrap();
        let rounds = RoundTimes::of(&evidence, "a", cell).unwrap();
        let server_runs = evidence.rounds.iter().flatten();
        let windows: Vec<&Window<'_>> =
            server_runs.flat_map(|run| &run.windows).filter(|window| window.cell == *cell).collect();
        curve("a", cell.offered.to_string(), &rounds, &windows).unwrap()
    }

    fn ms(ns: Option<u64>) -> Option<f64> {
        ns.map(|ns| (ns as f64 / 1e5).round() / 10.0)
    }

    #[test]
    fn a_curve_point_is_the_median_between_the_extremes_of_the_rounds() {
        let (record, cell) = record(500, [20, 40, 10, 30]);
        let told = curve_of(&record, &cell);
        let point = [&told.median_ns, &told.low_ns, &told.high_ns].map(|column| ms(column[4]));
        assert_eq!(point, [Some(25.0), Some(10.0), Some(40.0)]);
        assert_eq!(LADDER[told.median_ns.len() - 1], 0.9, "fifty lie beyond it in each");
    }

    /// Each request of the first two rounds left 5 ms late, and of the third a tenth.
    #[test]
    fn what_requests_that_left_late_hide_is_no_point_of_a_curve() {
        let (mut record, cell) = record(10_000, [7, 8, 10, 30]);
        for (round, ms) in [(0, 7), (1, 8)] {
            let latency = &mut record.rounds[round].runs[0].cells[1].load.latency;
            latency.response_hdr = coded([(ms * 1_000_000, 9_000), (100_000_000, 1_000)]);
            latency.response_from_sent_hdr = coded([((ms - 5) * 1_000_000, 9_000), (98_000_000, 1_000)]);
        }
        let told = curve_of(&record, &cell);
        let at = |q: f64| LADDER.iter().position(|of| *of == q).unwrap();
        assert_eq!(told.median_ns[at(0.5)], None, "5.6 ms or 9 ms");
        let tail = [&told.median_ns, &told.low_ns, &told.high_ns].map(|column| ms(column[at(0.99)]));
        assert!(tail.iter().all(Option::is_some), "{tail:?}");
    }

    #[test]
    fn a_curve_ends_before_requests_that_were_given_up() {
        let (mut record, cell) = record(10_000, [10; 4]);
        record.rounds[3].runs[0].cells[1].load.latency.censored_hdr = coded([(3_000_000_000, 300)]);
        let told = curve_of(&record, &cell);
        assert_eq!(LADDER[told.median_ns.len() - 1], 0.965, "three in a hundred of one round");
    }

    /// Timeouts at a rate are among both those that were given up and those that failed.
    #[test]
    fn requests_that_failed_or_were_given_up_are_never_among_those_answered() {
        let (mut record, cell) = record(3, [2, 2, 2, 9]);
        record.rounds.truncate(1);
        let load = &mut record.rounds[0].runs[0].cells[1].load;
        load.latency.response_hdr = coded([(2_000_000, 2), (9_000_000, 1)]);
        load.latency.censored_hdr = coded([(1_000_000, 1)]);
        load.window.errors = [(ErrorClass::HeadTimeout, 1), (ErrorClass::WrongBody, 1)].into();
        let Curve { shares_from: from, shares, .. } = curve_of(&record, &cell);
        let bounds = bounds();
        assert_eq!((shares.first(), shares.last()), (Some(&0.0), Some(&0.6)));
        assert!(bounds[from] < 2_000_000 && bounds[from + 1] >= 1_990_000);
        let at = bounds.iter().position(|&bound| bound >= 3_000_000).unwrap();
        assert_eq!(shares[at - from], 0.4);
        assert_eq!(super::shares(&[]), (0, Vec::new()));
        let closed = Cell::closed("hello", 64);
        let load = &mut record.rounds[0].runs[0].cells[0].load;
        load.latency.service_hdr = coded([(2_000_000, 8)]).unwrap();
        (load.window.failed_later, load.books.censored) = (Some(1), 1);
        record.rounds[0].runs.truncate(1);
        assert_eq!(curve_of(&record, &closed).shares.last(), Some(&0.8), "who failed behind the window");
    }
}
