//! Tests without a disturbed or programmed server: the histogram by itself (T15), a server against itself (T16).

use assay_stats::Histogram;
use assay_stats::ratio::paired_log_ratio;

use super::figure::{Figure, Line, Verdict, exactly};
use super::trial::Stub;
use crate::measure::Testbed;
use crate::measure::client::{self, Engine, Load};

pub(super) const HISTOGRAM: &str = "T15 histogram";
pub(super) const SAME_TWICE: &str = "T16 same server twice";

/// The largest relative error of a recorded time, in percent.
const ERROR_PERCENT: f64 = 0.4;
/// Experiments, and rounds of each. With 20 intervals of 95 % confidence, fewer than 16 hold the truth in 1 of 390 cases.
const EXPERIMENTS: usize = 20;
const ROUNDS: usize = 10;
const HOLD_AT_LEAST: f64 = 16.0;

/// T15: times from 1 µs to 60 s in one histogram; and what merging and the interchange format change.
pub(super) fn histogram() -> Vec<Verdict> {
    let times: Vec<u64> =
        (0..=2000).map(|i| (1e3 * 60e6f64.powf(f64::from(i) / 2000.0)).round() as u64).collect();
    let of = |part: &[u64]| {
        let mut histogram = Histogram::new();
        part.iter().for_each(|&time| histogram.record(time));
        histogram
    };
    let (whole, mut left, mut right) = (of(&times), of(&times[..700]), of(&times[1400..]));
    // Times further apart than a bucket is wide, so that the i-th of n is what a quantile within (i − 1)/n … i/n has to give.
    let error = |(i, &time): (usize, &u64)| {
        let seen = whole.quantile((i as f64 + 0.5) / times.len() as f64).unwrap_or(0);
        100.0 * seen.abs_diff(time) as f64 / time as f64
    };
    let worst = times.iter().enumerate().map(error).fold(0.0, f64::max);
    left.merge(&of(&times[700..1400]));
    left.merge(&right);
    right.merge(&of(&times[700..1400]));
    right.merge(&of(&times[..700]));
    let differs = |other: &Histogram| f64::from(u8::from(*other != whole));
    let back = whole.to_hdr_base64().and_then(|text| Histogram::from_hdr_base64(&text)).unwrap_or_default();
    vec![
        Line { figure: Figure::Named("largest error %"), expected: 0.0, below: 0.0, above: ERROR_PERCENT }
            .judge(worst),
        exactly(Figure::Named("merged otherwise differs"), 0.0).judge(differs(&left) + differs(&right)),
        exactly(Figure::Named("HDR V2 there and back"), whole.count() as f64).judge(back.count() as f64),
    ]
}

/// T16: one stub in both roles of a comparison. Of the intervals of the ratio, 95 % have to hold 1.
///
/// # Errors
/// When a run fails, or a person asks to end.
pub(super) fn same_twice(engine: Engine, testbed: &Testbed) -> Result<Vec<Verdict>, String> {
    let stub = Stub::start("--service 100us", testbed)?;
    let load = Load::closed(stub.url.clone(), 16, 1);
    let rate =
        || client::run(client::ours(engine), &load, testbed).map(|finished| finished.told.per_second());
    let mut hold = 0;
    for _ in 0..EXPERIMENTS {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let (one, other) = (rate()?, rate()?);
            let (one, other) = if round % 2 == 0 { (one, other) } else { (other, one) };
            first.push(one);
            second.push(other);
        }
        let ratio = paired_log_ratio(&first, &second, 0.95).map_err(|error| error.to_string())?;
        hold += usize::from(ratio.interval.contains(1.0));
    }
    let expected = 0.95 * EXPERIMENTS as f64;
    let figure = Figure::Named("intervals that hold 1");
    let line =
        Line { figure, expected, below: expected - HOLD_AT_LEAST, above: EXPERIMENTS as f64 - expected };
    Ok(vec![line.judge(hold as f64)])
}
