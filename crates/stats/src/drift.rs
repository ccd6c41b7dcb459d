//! Warm-up: from which window on a server's throughput is steady, found by change points and never assumed.
//!
//! A series of throughputs per window is cut where its mean changes: the segmentation that minimises the
//! squared deviations from the segments' means plus a penalty for each cut, found exactly by PELT (Killick,
//! Fearnhead & Eckley, J. Am. Stat. Assoc. 107, 2012). How segments become a verdict follows Barrett,
//! Bolz-Tereick, Killick, Mount & Tratt, "Virtual Machine Warmup Blows Hot and Cold", OOPSLA 2017: earlier
//! segments whose mean equals the last one's belong to the steady state, and when too little of the run is
//! left, there is none. Their four kinds of run are [`Course`].

use crate::error::{at_least, finite, not_negative};
use crate::{StatsError, robust};

/// What counts as steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyRule {
    /// Segments whose means differ by at most this fraction are at the same level; 0.01 for 1 %.
    pub tolerance: f64,
    /// The steady stretch must fill at least this share of the series. A quarter, as in the paper.
    pub least_share: f64,
    /// Deviations of fewer windows than this are hiccups inside a level (a collection of garbage, say), not a
    /// level.
    pub hiccup_windows: usize,
}

impl Default for SteadyRule {
    fn default() -> Self {
        Self { tolerance: 0.01, least_share: 0.25, hiccup_windows: 3 }
    }
}

/// Whether and from where a run was steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steadiness {
    /// Steady from the window with this index, counted from 0, to the end.
    From(usize),
    /// No steady state was reached.
    Never,
}

/// How a run went, in the classes of Barrett et al. (their figure 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// The same level from the first window on.
    Flat,
    /// Steady from the window with this index on, at the fastest level of the run.
    Warmup(usize),
    /// Steady from the window with this index on, but an earlier level was faster.
    Slowdown(usize),
    /// No steady state: a legal answer, after which no number of the run stands for the server.
    NoSteadyState,
}

/// Says how a run went, from its throughput by equal windows of time.
///
/// # Errors
/// As [`steady_from`].
pub fn course(series: &[f64], rule: &SteadyRule) -> Result<Course, StatsError> {
    let segments = segments(series, rule)?;
    Ok(match steady_start(&segments, series.len(), rule) {
        None => Course::NoSteadyState,
        Some(0) => Course::Flat,
        Some(start) if was_faster_before(&segments, start, rule) => Course::Slowdown(start),
        Some(start) => Course::Warmup(start),
    })
}

/// Decides from which window on `series`, throughput by equal windows of time, is steady.
///
/// # Errors
/// When there are fewer than 8 windows, one is not finite, or a number of the rule is negative or not finite.
pub fn steady_from(series: &[f64], rule: &SteadyRule) -> Result<Steadiness, StatsError> {
    let segments = segments(series, rule)?;
    let steady = steady_start(&segments, series.len(), rule);
    Ok(steady.map_or(Steadiness::Never, Steadiness::From))
}

/// Cuts a series at its change points.
fn segments(series: &[f64], rule: &SteadyRule) -> Result<Vec<Segment>, StatsError> {
    at_least("warm-up detection", 8, series.len())?;
    finite(series)?;
    not_negative("tolerance", rule.tolerance)?;
    not_negative("least share", rule.least_share)?;
    let starts = change_points(series, penalty(series)?);
    let ends = starts.iter().skip(1).copied().chain([series.len()]);
    Ok(starts.iter().zip(ends).map(|(&start, end)| Segment::of(series, start, end)).collect())
}

/// Where the last level begins, if it lasts long enough.
fn steady_start(segments: &[Segment], windows: usize, rule: &SteadyRule) -> Option<usize> {
    let least = (rule.least_share * windows as f64).ceil() as usize;
    start_of_last_level(segments, rule).filter(|start| windows - start >= least)
}

/// Whether a level before the window `start`, hiccups apart, was above all of those from it on.
fn was_faster_before(segments: &[Segment], start: usize, rule: &SteadyRule) -> bool {
    let levels = || segments.iter().filter(|segment| segment.windows >= rule.hiccup_windows);
    let highest = |from: bool| {
        let on_this_side = levels().filter(|segment| (segment.start >= start) == from);
        on_this_side.map(|segment| segment.mean).fold(f64::NEG_INFINITY, f64::max)
    };
    highest(false) > highest(true)
}

/// A stretch between two change points.
struct Segment {
    start: usize,
    windows: usize,
    mean: f64,
}

impl Segment {
    fn of(series: &[f64], start: usize, end: usize) -> Self {
        let windows = end - start;
        Self { start, windows, mean: series[start..end].iter().sum::<f64>() / windows as f64 }
    }
}

/// Walks back from the last segment that is no hiccup, across hiccups, as long as the level stays the same.
fn start_of_last_level(segments: &[Segment], rule: &SteadyRule) -> Option<usize> {
    let mut levels = segments.iter().rev().filter(|segment| segment.windows >= rule.hiccup_windows);
    let last = levels.next()?;
    let reach = rule.tolerance * last.mean.abs();
    let same = levels.take_while(|segment| (segment.mean - last.mean).abs() <= reach);
    Some(same.last().unwrap_or(last).start)
}

/// The penalty for a cut: 3 σ² ln n, the leading term of the modified Bayesian information criterion (Zhang &
/// Siegmund, Biometrics 63, 2007) and the default of R's package *changepoint*.
///
/// σ comes from the median absolute difference of neighbours, which a few changes of level do not inflate;
/// for normal noise it is 0.6745 · √2 · σ. It is held above 0.1 % of the median level, so that a series
/// without noise is not cut by rounding.
fn penalty(series: &[f64]) -> Result<f64, StatsError> {
    let steps: Vec<f64> = series.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let floor = (0.001 * robust::median(series)?.abs()).max(f64::MIN_POSITIVE.sqrt());
    let sigma = (robust::median(&steps)? / (0.6745 * std::f64::consts::SQRT_2)).max(floor);
    Ok(3.0 * sigma * sigma * (series.len() as f64).ln())
}

/// The starts of the segments of the best segmentation, the first being 0 (PELT, algorithm 2 of the paper,
/// with K = 0).
///
/// `penalty` is in squared units of the series, which must be finite; an empty series has no segments.
pub fn change_points(series: &[f64], penalty: f64) -> Vec<usize> {
    let cost = SquaredDeviations::of(series);
    let mut best = vec![-penalty];
    let mut previous_cut = vec![0];
    let mut candidates = vec![0];
    for end in 1..=series.len() {
        let total = |&start: &usize| best[start] + cost.between(start, end) + penalty;
        let chosen = candidates.iter().copied().min_by(|a, b| total(a).total_cmp(&total(b))).unwrap_or(0);
        let least = total(&chosen);
        // A start that loses even without the penalty can never win later: this is what makes PELT fast.
        candidates.retain(|start| total(start) - penalty <= least);
        candidates.push(end);
        best.push(least);
        previous_cut.push(chosen);
    }
    let mut starts: Vec<usize> =
        std::iter::successors((!series.is_empty()).then(|| previous_cut[series.len()]), |&start| {
            (start > 0).then(|| previous_cut[start])
        })
        .collect();
    starts.reverse();
    starts
}

/// Sums from which the squared deviations of any stretch from its own mean follow in constant time.
struct SquaredDeviations {
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl SquaredDeviations {
    fn of(series: &[f64]) -> Self {
        // Deviations from any constant are the same; the first value is near enough to keep the squares from
        // cancelling.
        let centre = series.first().copied().unwrap_or(0.0);
        let running = |term: fn(f64) -> f64| {
            let sums = series.iter().scan(0.0, |sum, value| {
                *sum += term(value - centre);
                Some(*sum)
            });
            std::iter::once(0.0).chain(sums).collect()
        };
        Self { sums: running(|v| v), squares: running(|v| v * v) }
    }

    fn between(&self, start: usize, end: usize) -> f64 {
        let sum = self.sums[end] - self.sums[start];
        (self.squares[end] - self.squares[start] - sum * sum / (end - start) as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Repeats a small, patternless ±1 % disturbance around the levels given as (windows, level).
    fn noisy(levels: &[(usize, f64)]) -> Vec<f64> {
        let noise = [0.4, -0.9, 0.1, 0.7, -0.3, -0.6, 1.0, -0.2, 0.5, -0.8, 0.2, -0.1, 0.9, -0.5, 0.3, -0.7];
        let levels = levels.iter().flat_map(|&(windows, level)| std::iter::repeat_n(level, windows));
        levels.enumerate().map(|(i, level)| level * (1.0 + 0.01 * noise[(i * 7 + i / 16) % 16])).collect()
    }

    fn steady(levels: &[(usize, f64)]) -> Steadiness {
        steady_from(&noisy(levels), &SteadyRule::default()).unwrap()
    }

    #[test]
    fn a_level_run_is_steady_from_the_start() {
        assert_eq!(steady(&[(40, 50_000.0)]), Steadiness::From(0));
        assert_eq!(steady_from(&[7.0; 20], &SteadyRule::default()), Ok(Steadiness::From(0)));
        assert_eq!(steady_from(&[0.0; 20], &SteadyRule::default()), Ok(Steadiness::From(0)));
    }

    #[test]
    fn warm_up_is_cut_off_where_it_ends() {
        assert_eq!(steady(&[(5, 20_000.0), (7, 40_000.0), (28, 50_000.0)]), Steadiness::From(12));
        assert_eq!(
            steady(&[(6, 60_000.0), (34, 50_000.0)]),
            Steadiness::From(6),
            "slowing down is warm-up too"
        );
    }

    #[test]
    fn a_hiccup_does_not_end_the_steady_state() {
        assert_eq!(
            steady(&[(5, 20_000.0), (15, 50_000.0), (1, 30_000.0), (19, 50_000.0)]),
            Steadiness::From(5)
        );
        assert_eq!(steady(&[(38, 50_000.0), (2, 30_000.0)]), Steadiness::From(0));
    }

    #[test]
    fn a_late_change_or_a_steady_climb_is_no_steady_state() {
        assert_eq!(steady(&[(32, 50_000.0), (8, 40_000.0)]), Steadiness::Never);
        let climb: Vec<(usize, f64)> = (0..40).map(|i| (1, 30_000.0 * 1.02_f64.powi(i))).collect();
        assert_eq!(steady(&climb), Steadiness::Never);
    }

    #[test]
    fn runs_fall_into_the_classes_of_barrett_et_al() {
        let course = |levels: &[(usize, f64)]| course(&noisy(levels), &SteadyRule::default()).unwrap();
        assert_eq!(course(&[(40, 50_000.0)]), Course::Flat);
        assert_eq!(course(&[(5, 20_000.0), (7, 40_000.0), (28, 50_000.0)]), Course::Warmup(12));
        assert_eq!(course(&[(6, 20_000.0), (8, 60_000.0), (26, 50_000.0)]), Course::Slowdown(14));
        assert_eq!(course(&[(32, 50_000.0), (8, 40_000.0)]), Course::NoSteadyState);
        assert_eq!(course(&[(10, 20_000.0), (2, 70_000.0), (28, 50_000.0)]), Course::Warmup(12), "a hiccup");
    }

    #[test]
    fn too_short_a_series_is_refused() {
        assert!(matches!(
            steady_from(&[1.0; 7], &SteadyRule::default()),
            Err(StatsError::TooFew { needed: 8, .. })
        ));
        assert!(change_points(&[], 1.0).is_empty());
    }

    /// Every way to cut the series, tried out.
    fn exhaustive_cost(series: &[f64], penalty: f64) -> f64 {
        let deviations = SquaredDeviations::of(series);
        let cost = |cuts: u32| {
            let mut starts = vec![0];
            starts.extend((1..series.len()).filter(|i| cuts >> (i - 1) & 1 == 1));
            segmentation_cost(&deviations, &starts, series.len(), penalty)
        };
        (0..1 << (series.len() - 1)).map(cost).fold(f64::INFINITY, f64::min)
    }

    fn segmentation_cost(deviations: &SquaredDeviations, starts: &[usize], len: usize, penalty: f64) -> f64 {
        let ends = starts.iter().skip(1).copied().chain([len]);
        let cost: f64 = starts.iter().zip(ends).map(|(&s, e)| deviations.between(s, e)).sum();
        cost + penalty * (starts.len() - 1) as f64
    }

    proptest! {
        #[test]
        fn pruning_never_loses_the_best_segmentation(
            series in proptest::collection::vec(-10.0..10.0, 1..11),
            penalty in 0.1..50.0,
        ) {
            let starts = change_points(&series, penalty);
            let found = segmentation_cost(&SquaredDeviations::of(&series), &starts, series.len(), penalty);
            prop_assert!((found - exhaustive_cost(&series, penalty)).abs() < 1e-9);
        }
    }
}
