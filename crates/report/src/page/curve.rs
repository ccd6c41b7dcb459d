//! Durations over rounds: by quantile, and the share of requests below a duration.

use assay_model::JsonSchema;
use assay_stats::Histogram;
use assay_stats::censored;
use assay_stats::order::is_resolved;
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
    /// Median over the rounds at each of [`Head::quantiles`](super::Head::quantiles), in nanoseconds; it ends where too few
    /// values lie above.
    pub median_ns: Vec<u64>,
    /// Least of the rounds, as long as `median_ns`.
    pub low_ns: Vec<u64>,
    /// Greatest of the rounds, as long as `median_ns`.
    pub high_ns: Vec<u64>,
    /// How many of [`Head::bounds_ns`](super::Head::bounds_ns) come before the first share that is told.
    pub shares_from: usize,
    /// Share of all requests that were answered rightly within each bound, over all rounds; the bounds after the last one
    /// have the same share.
    pub shares: Vec<f64>,
}

/// The durations of one window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Durations<'w> {
    /// Of requests that were answered.
    pub ended: &'w Histogram,
    /// Of requests that were given up, which took longer than this; absent in a closed loop.
    pub censored: Option<&'w Histogram>,
    /// Requests that were not answered rightly.
    pub failed: u64,
}

impl Durations<'_> {
    /// A quantile, where enough values lie above it.
    pub(super) fn quantile(&self, quantile: f64) -> Option<u64> {
        let given_up = self.given_up();
        let value = match self.censored {
            Some(censored) => censored::quantile(self.ended, censored, quantile).map(|told| told.value),
            None => self.ended.quantile(quantile),
        };
        value.filter(|_| is_resolved(self.ended.count() + given_up, quantile))
    }

    fn given_up(&self) -> u64 {
        self.censored.map_or(0, Histogram::count)
    }
}

/// The curve over rounds; `None` when there is nothing to tell.
pub(super) fn curve(contender: &str, offered: String, rounds: &[&Durations<'_>]) -> Option<Curve> {
    let points: Vec<[u64; 3]> = LADDER.iter().map_while(|&quantile| over_rounds(quantile, rounds)).collect();
    let column = |which: usize| points.iter().map(|point| point[which]).collect();
    let (shares_from, shares) = shares(rounds);
    let told = !points.is_empty() || !shares.is_empty();
    told.then(|| Curve {
        contender: contender.to_owned(),
        offered,
        median_ns: column(0),
        low_ns: column(1),
        high_ns: column(2),
        shares_from,
        shares,
    })
}

/// The durations under which shares are told.
pub(super) fn bounds() -> Vec<u64> {
    let steps = BOUNDS.0 * BOUNDS_PER_DECADE..=BOUNDS.1 * BOUNDS_PER_DECADE;
    steps.map(|step| 10_f64.powf(f64::from(step) / f64::from(BOUNDS_PER_DECADE)).round() as u64).collect()
}

/// Median, least and greatest of a quantile over rounds; `None` when in one of them too few values lie above it.
fn over_rounds(quantile: f64, rounds: &[&Durations<'_>]) -> Option<[u64; 3]> {
    let mut values: Vec<u64> =
        rounds.iter().map(|durations| durations.quantile(quantile)).collect::<Option<_>>()?;
    values.sort_unstable();
    let (least, greatest) = (*values.first()?, *values.last()?);
    let middle = values.len() / 2;
    let lower_middle = values[(values.len() - 1) / 2];
    Some([lower_middle.midpoint(values[middle]), least, greatest])
}

/// The shares of all requests that were answered within each bound, without the zeros before and the repeats after.
fn shares(rounds: &[&Durations<'_>]) -> (usize, Vec<f64>) {
    let mut ended = Histogram::new();
    rounds.iter().for_each(|durations| ended.merge(durations.ended));
    let others: u64 = rounds.iter().map(|durations| durations.given_up() + durations.failed).sum();
    let all = (ended.count() + others) as f64;
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

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    fn durations(ended: &Histogram) -> Durations<'_> {
        Durations { ended, censored: None, failed: 0 }
    }

    #[test]
    fn a_quantile_needs_a_hundred_values_above_it() {
        let [enough, too_few] = [1..=10_000, 1..=9_999].map(histogram);
        assert!(durations(&enough).quantile(0.99).is_some());
        assert_eq!(durations(&too_few).quantile(0.99), None);
        assert_eq!(durations(&enough).quantile(0.995), None);
    }

    #[test]
    fn a_curve_point_is_the_median_between_the_extremes_of_the_rounds() {
        let rounds = [20, 40, 10, 30].map(|value| histogram(std::iter::repeat_n(value, 200)));
        let rounds: Vec<Durations<'_>> = rounds.iter().map(durations).collect();
        let rounds: Vec<&Durations<'_>> = rounds.iter().collect();
        assert_eq!(over_rounds(0.5, &rounds), Some([25, 10, 40]));
        assert_eq!(over_rounds(0.9, &rounds), None);
    }

    #[test]
    fn requests_that_failed_or_were_given_up_are_never_among_those_answered() {
        let (ended, censored) = (histogram([2_000_000, 2_000_000, 9_000_000]), histogram([1_000_000]));
        let round = Durations { ended: &ended, censored: Some(&censored), failed: 1 };
        let (from, shares) = shares(&[&round]);
        let bounds = bounds();
        assert_eq!((shares.first(), shares.last()), (Some(&0.0), Some(&0.6)));
        assert!(bounds[from] < 2_000_000 && bounds[from + 1] >= 1_990_000);
        let at = bounds.iter().position(|&bound| bound >= 3_000_000).unwrap();
        assert_eq!(shares[at - from], 0.4);
        assert_eq!(super::shares(&[]), (0, Vec::new()));
    }
}
