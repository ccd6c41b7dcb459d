//! Requests that left late: which percentiles are known all the same, and how well.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::Evidence;
use assay_model::rule::Rule;
use assay_stats::lag::Bounds;

use crate::evidence::sample::Sample;

/// Whether a quantile is told: in half of the windows at least it hardly matters that requests were late.
pub(crate) fn is_known(all: &[Bounds]) -> bool {
    all.iter().filter(|bounds| bounds.are_close()).count() * 2 >= all.len()
}

/// What lag does to these percentiles of a contender: how far they are known, or which are not.
pub(crate) fn check(sample: &Sample<'_>, quantiles: &[f64]) -> Check {
    let all: Vec<(f64, Vec<Bounds>)> = quantiles.iter().map(|&q| (q, sample.response_bounds(q))).collect();
    let unknown: Vec<f64> = all.iter().filter(|(_, bounds)| !is_known(bounds)).map(|(q, _)| *q).collect();
    let known = all.iter().flat_map(|(_, bounds)| bounds).filter(|bounds| bounds.are_close());
    let outcome = if unknown.is_empty() { CheckOutcome::Pass } else { CheckOutcome::Warn };
    let evidence = Evidence::LateRequests {
        unknown,
        apart_share: known.map(Bounds::apart_share).fold(0.0, f64::max),
        windows: sample.counting().count() as u64,
    };
    Check { rule: Rule::SendLag, outcome, evidence }
}
