//! A contender against itself in another setting, in the same rounds.

use assay_model::verdict::{Call, Interval, Standing};
use assay_stats::ratio::{Ratio, paired_log_ratio};
use assay_stats::tiers;

use crate::capacity::ranking::equivalence_margin;
use crate::{CONFIDENCE, interval, point};

/// Throughput in one setting over that in the other, paired by round: what a round does to both cancels. Of one round there is
/// a ratio and no call; `margin` is the smallest difference that is called one.
pub(crate) fn ratio(one: &Standing, other: &Standing, margin: f64) -> Option<(Interval, Option<Call>)> {
    let rounds = one.rounds_per_second.iter().zip(&other.rounds_per_second);
    let pairs = rounds.filter_map(|(one, other)| one.zip(*other));
    let (ones, others): (Vec<f64>, Vec<f64>) = pairs.unzip();
    if let ([one], [other]) = (ones.as_slice(), others.as_slice()) {
        return Some((point(one / other), None));
    }
    let ratio = paired_log_ratio(&ones, &others, CONFIDENCE).ok()?;
    Some((interval(ratio.interval), Some(call(&ratio, margin))))
}

/// 50th percentile of the service time in one setting over that in the other.
pub(crate) fn p50_ratio(one: &Standing, other: &Standing) -> Option<f64> {
    Some(one.p50_ns?.estimate / other.p50_ns?.estimate)
}

fn call(ratio: &Ratio, margin: f64) -> Call {
    let equivalent = ratio.equivalence_p(equivalence_margin(margin)).is_ok_and(|p| p <= 1.0 - CONFIDENCE);
    match tiers::call(&ratio.interval, margin) {
        tiers::Call::Faster | tiers::Call::Slower => Call::Distinct,
        tiers::Call::Tie if equivalent => Call::Equivalent,
        tiers::Call::Tie => Call::Tie,
    }
}
