//! How late requests left, and which percentiles are not known for that.

use assay_model::evidence::Evidence;
use assay_model::units::Nanos;
use assay_stats::Histogram;
use assay_stats::lag::{Bounds, bounds};
use assay_stats::order::is_resolved;

/// The percentiles that send lag is held against, where enough samples lie beyond them.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

/// Response times from both ends, and how late requests left.
#[derive(Clone, Copy, Debug)]
pub struct Late<'a> {
    /// From the moment requests were due.
    pub response: &'a Histogram,
    /// From the moment they left.
    pub response_from_sent: &'a Histogram,
    /// Of those that were given up.
    pub censored: &'a Histogram,
    /// By how much they left late.
    pub client_lag: &'a Histogram,
}

/// How late requests left, and whether a percentile is not known for that. Both ends of a response time are known, from the moment it
/// was due and from the one when it left, and the truth lies between.
pub fn lag(late: &Late<'_>) -> (Evidence, bool) {
    let all = known(late);
    let unknown: Vec<f64> =
        all.iter().filter(|(_, bounds)| !bounds.are_close()).map(|(quantile, _)| *quantile).collect();
    let is_unknown = !unknown.is_empty();
    let evidence = Evidence::SendLag {
        lag_p99_ns: Nanos(late.client_lag.quantile(0.99).unwrap_or(0)),
        unknown,
        apart_share: all.iter().map(|(_, bounds)| bounds.apart_share()).fold(0.0, f64::max),
    };
    (evidence, is_unknown)
}

/// The percentiles with enough samples, from both ends.
fn known(late: &Late<'_>) -> Vec<(f64, Bounds)> {
    let count = late.response.count() + late.censored.count();
    let told = QUANTILES.iter().filter(|quantile| is_resolved(count, **quantile));
    let of = |&quantile: &f64| {
        Some((quantile, bounds(late.response, late.response_from_sent, late.censored, quantile)?))
    };
    told.filter_map(of).collect()
}
