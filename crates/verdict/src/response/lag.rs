//! Requests that left late: which percentiles are known all the same, and how well.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::Evidence;
use assay_model::rule::Rule;
use assay_stats::lag::{Bounds, median};

use crate::evidence::sample::Sample;

/// What lag does to these percentiles of a contender: how far they are known, or which are not.
pub(crate) fn check(sample: &Sample<'_>, quantiles: &[f64]) -> Check {
    let medians = quantiles.iter().filter_map(|&q| Some((q, median(&sample.response_bounds(q))?)));
    let (known, others): (Vec<_>, Vec<_>) = medians.partition(|(_, median)| median.are_close());
    let unknown: Vec<f64> = others.iter().map(|(q, _)| *q).collect();
    let outcome = if unknown.is_empty() { CheckOutcome::Pass } else { CheckOutcome::Warn };
    let apart = known.iter().map(|(_, median): &(f64, Bounds)| median.apart_share());
    let evidence = Evidence::LateRequests {
        unknown,
        apart_share: apart.fold(0.0, f64::max),
        windows: sample.counting().count() as u64,
    };
    Check { rule: Rule::SendLag, outcome, evidence }
}
