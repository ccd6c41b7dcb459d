//! A contender against itself in another setting, in the same rounds.

use assay_model::verdict::{Call, Interval, Standing};
use assay_stats::ratio::{Ratio, paired_log_ratio};
use assay_stats::sequential::{Settled, settled};
use assay_stats::simultaneous::{Looks, critical_value_of_one};

use crate::capacity::ranking::equivalence_margin;
use crate::{CONFIDENCE, interval, point};

/// By what two settings are called different.
#[derive(Clone, Copy)]
pub(crate) struct Bar {
    /// The smallest difference that is called one.
    pub margin: f64,
    /// The looks that it allows for.
    pub looks: Looks,
}

/// Throughput in one setting over that in the other, paired by round: what a round does to both cancels. Of one round there is
/// a ratio and no call, and as little is told of the first rounds of many that are looked at.
pub(crate) fn ratio(one: &Standing, other: &Standing, bar: Bar) -> Option<(Interval, Option<Call>)> {
    let rounds = one.rounds_per_second.iter().zip(&other.rounds_per_second);
    let pairs = rounds.filter_map(|(one, other)| one.zip(*other));
    let (ones, others): (Vec<f64>, Vec<f64>) = pairs.unzip();
    if let ([one], [other]) = (ones.as_slice(), others.as_slice()) {
        return Some((point(one / other), None));
    }
    let ratio = paired_log_ratio(&ones, &others, CONFIDENCE).ok()?;
    if bar.looks == Looks::Once {
        return Some((interval(ratio.interval), Some(call(&ratio, bar.margin))));
    }
    let known = ratio.rounds() as f64 - 1.0;
    let critical = critical_value_of_one(bar.looks, ratio.rounds(), known, CONFIDENCE).ok().flatten();
    let Some(critical) = critical else { return Some((point(ratio.interval.estimate), None)) };
    let wider = ratio.with_critical_value(critical, CONFIDENCE);
    Some((interval(wider), Some(call_of(&wider, bar.margin))))
}

/// 50th percentile of the service time in one setting over that in the other.
pub(crate) fn p50_ratio(one: &Standing, other: &Standing) -> Option<f64> {
    Some(one.p50_ns?.estimate / other.p50_ns?.estimate)
}

/// The call of an A/A control: equality is shown by a test of its own, which is a little stronger than the interval.
fn call(ratio: &Ratio, margin: f64) -> Call {
    let equivalent = ratio.equivalence_p(equivalence_margin(margin)).is_ok_and(|p| p <= 1.0 - CONFIDENCE);
    match call_of(&ratio.interval, margin) {
        Call::Tie if equivalent => Call::Equivalent,
        call => call,
    }
}

/// What the interval alone shows.
fn call_of(ratio: &assay_stats::Interval, margin: f64) -> Call {
    match (settled(ratio, margin), settled(ratio, equivalence_margin(margin))) {
        (Settled::Distinct, _) => Call::Distinct,
        (_, Settled::Equivalent) => Call::Equivalent,
        _ => Call::Tie,
    }
}
