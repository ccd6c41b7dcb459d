//! Requests that left late: which percentiles are known all the same, and how well.

use assay_model::check::{Check, Outcome};
use assay_model::rule::Rule;
use assay_stats::lag::Bounds;

use super::sample::Sample;
use super::words::{count_of, percent};
use super::{objection, pass};

/// Whether a quantile is told: in half of the windows at least it hardly matters that requests were late.
pub(crate) fn is_known(all: &[Bounds]) -> bool {
    all.iter().filter(|bounds| bounds.are_close()).count() * 2 >= all.len()
}

/// What lag does to these percentiles of a contender: how far they are known, or which are not.
pub(crate) fn check(sample: &Sample<'_>, quantiles: &[f64]) -> Check {
    let all: Vec<(f64, Vec<Bounds>)> = quantiles.iter().map(|&q| (q, sample.response_bounds(q))).collect();
    let unknown: Vec<String> =
        all.iter().filter(|(_, bounds)| !is_known(bounds)).map(|(q, _)| format!("p{}", q * 100.0)).collect();
    let known = all.iter().flat_map(|(_, bounds)| bounds).filter(|bounds| bounds.are_close());
    let widest = known.map(Bounds::apart_share).fold(0.0, f64::max);
    if unknown.is_empty() {
        return pass(
            Rule::SendLag,
            format!("requests left late by at most {} of any percentile", percent(widest)),
        );
    }
    let evidence = format!(
        "requests left so late that {} cannot be told to 5 % or 50 us, in {}",
        unknown.join(" and "),
        count_of(sample.counting().count(), "window")
    );
    let remedy = "keep other programs off the generator's CPUs, give it more of them, or use a lower rate";
    objection(Rule::SendLag, Outcome::Warn, evidence, remedy)
}
