//! The machine's own speed beside each window: how it relates to the rest of a run, which windows were outliers, and whether
//! it explains enough of what was measured to be taken out (analysis of covariance; Fisher 1932).
//!
//! A covariate that explains nothing adds noise, so it is used only when two independent tests agree: the partial F-test of
//! its slope, and the error with which each observation is predicted by all others (leave-one-out, from the leverages;
//! Allen 1974, PRESS).

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::error::{StatsError, at_least, finite, logarithms, same_length};
use crate::robust::median;

/// Level of the partial F-test: one covariate in a hundred without any effect passes it.
const LEVEL: f64 = 0.01;
/// The prediction error must fall to this share of what it was, or it is not worth a line of explanation.
const WORTHWHILE: f64 = 0.9;
/// Normal deviations of a robust scale beyond which a speed is an outlier (Iglewicz and Hoaglin 1993).
const OUTLIER_DEVIATIONS: f64 = 3.5;
/// A speed that differs by less than this from the usual one is none, however steady the machine is.
const OUTLIER_FLOOR: f64 = 0.03;
/// The standard deviation of a normal distribution over its median absolute deviation.
const NORMAL_MAD: f64 = 1.482_602_218_505_602;

/// The speed of each window relative to the median window, 1 being as fast: the geometric mean over the pieces of work, so
/// that none counts for more because it takes longer. `times[w]` are window `w`'s times, each piece at the same place.
///
/// # Errors
/// When there is no window, a window has other pieces than the first, or a time is not positive.
pub fn relative_speeds(times: &[Vec<f64>]) -> Result<Vec<f64>, StatsError> {
    let pieces = times.first().map_or(0, Vec::len);
    at_least("the machine's speed", 1, pieces)?;
    times.iter().try_for_each(|window| same_length(pieces, window.len()))?;
    let mut logs = vec![0.0; times.len()];
    for piece in 0..pieces {
        let own = logarithms(&times.iter().map(|window| window[piece]).collect::<Vec<_>>())?;
        let usual = median(&own)?;
        logs.iter_mut().zip(own).for_each(|(sum, log)| *sum += usual - log);
    }
    Ok(logs.into_iter().map(|sum| (sum / pieces as f64).exp()).collect())
}

/// Which windows ran on a machine that was much faster or slower than usual, by the median and the median absolute
/// deviation of the log speeds.
///
/// # Errors
/// When there is no speed, or one is not positive.
pub fn outliers(speeds: &[f64]) -> Result<Vec<bool>, StatsError> {
    let logs = logarithms(speeds)?;
    let usual = median(&logs)?;
    let away: Vec<f64> = logs.iter().map(|log| (log - usual).abs()).collect();
    let limit = (OUTLIER_DEVIATIONS * NORMAL_MAD * median(&away)?).max(OUTLIER_FLOOR.ln_1p());
    Ok(away.into_iter().map(|away| away > limit).collect())
}

/// What a covariate does to observations.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjustment {
    /// By how much an observation changes with a unit of the covariate.
    pub slope: f64,
    /// Probability of so steep a slope if there were none.
    pub p_value: f64,
    /// Share of the variance within groups that it explains, 0 to 1.
    pub explained_share: f64,
    /// Mean squared error of predicting each observation from all others, over the same without the covariate.
    pub prediction_ratio: f64,
    /// The observations as they would have been at the covariate's mean over all.
    pub adjusted: Vec<f64>,
}

/// Takes a covariate out of observations where it is shown to matter, and `None` where it is not: too few observations, a
/// covariate that does not vary, a slope that chance would give in a hundredth of cases, or predictions that it hardly
/// improves. Observations of one group have a level in common (a contender, say, or a contender's restart); the slope is
/// the same for all. With rates and speeds give logarithms of both.
///
/// # Errors
/// When the three series are not of one length, or hold what is no number.
pub fn adjust(
    observations: &[f64],
    covariate: &[f64],
    groups: &[usize],
) -> Result<Option<Adjustment>, StatsError> {
    same_length(observations.len(), covariate.len())?;
    same_length(observations.len(), groups.len())?;
    finite(observations)?;
    finite(covariate)?;
    let sizes = sizes(groups);
    let within = Within { y: &centred(observations, groups, &sizes), x: &centred(covariate, groups, &sizes) };
    let (sxx, sxy, total) = (dot(within.x, within.x), dot(within.x, within.y), dot(within.y, within.y));
    let freedom = observations.len() as f64 - sizes.len() as f64 - 1.0;
    if freedom < 1.0 || sxx <= f64::EPSILON || total <= f64::EPSILON {
        return Ok(None);
    }
    let slope = sxy / sxx;
    let left = (total - slope * sxy).max(0.0);
    let p_value = partial_f(total - left, left / freedom, freedom);
    // The only one of its group is predicted by nobody, with or without the covariate.
    let own = |i: usize| if sizes[&groups[i]] > 1.0 { 1.0 / sizes[&groups[i]] } else { 0.0 };
    let with = |i: usize| own(i) + within.x[i] * within.x[i] / sxx;
    let prediction_ratio = within.prediction_error(slope, with) / within.prediction_error(0.0, own);
    if p_value >= LEVEL || prediction_ratio > WORTHWHILE {
        return Ok(None);
    }
    let mean = covariate.iter().sum::<f64>() / covariate.len() as f64;
    let adjusted = observations.iter().zip(covariate).map(|(y, x)| y - slope * (x - mean)).collect();
    Ok(Some(Adjustment { slope, p_value, explained_share: 1.0 - left / total, prediction_ratio, adjusted }))
}

/// Observations and covariate less the means of their groups.
struct Within<'a> {
    y: &'a [f64],
    x: &'a [f64],
}

impl Within<'_> {
    /// Sum of the squared errors when each observation is predicted from all others: the residual over what the observation
    /// does not say of itself.
    fn prediction_error(&self, slope: f64, leverage: impl Fn(usize) -> f64) -> f64 {
        let of = |(i, (y, x)): (usize, (&f64, &f64))| {
            ((y - slope * x) / (1.0 - leverage(i)).max(f64::EPSILON)).powi(2)
        };
        self.y.iter().zip(self.x).enumerate().map(of).sum()
    }
}

fn sizes(groups: &[usize]) -> BTreeMap<usize, f64> {
    let mut sizes = BTreeMap::new();
    groups.iter().for_each(|group| *sizes.entry(*group).or_default() += 1.0);
    sizes
}

/// The upper tail of F with one degree of freedom over `freedom`.
fn partial_f(explained: f64, variance: f64, freedom: f64) -> f64 {
    if variance <= f64::EPSILON * explained {
        return 0.0;
    }
    FisherSnedecor::new(1.0, freedom).map_or(1.0, |f| f.sf(explained / variance))
}

/// The values less the mean of their group.
fn centred(values: &[f64], groups: &[usize], sizes: &BTreeMap<usize, f64>) -> Vec<f64> {
    let mut means = BTreeMap::<usize, f64>::new();
    for (value, group) in values.iter().zip(groups) {
        *means.entry(*group).or_default() += value / sizes[group];
    }
    values.iter().zip(groups).map(|(value, group)| value - means[group]).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// About standard normal: the sum of twelve uniform deviates.
    fn normal(random: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    #[test]
    fn a_machine_that_slows_by_a_fifth_is_seen_in_every_piece() {
        let times =
            vec![vec![1.0, 2.0, 5.0], vec![1.0, 2.0, 5.0], vec![1.25, 2.5, 6.25], vec![1.0, 2.0, 5.0]];
        let speeds = relative_speeds(&times).expect("times");
        assert!((speeds[2] - 0.8).abs() < 1e-12 && speeds[0] == 1.0, "{speeds:?}");
        assert_eq!(outliers(&speeds), Ok(vec![false, false, true, false]));
        // One piece alone tells a third of it.
        let speeds = relative_speeds(&[vec![1.0, 1.0, 1.0], vec![1.0, 1.0, 1.0], vec![1.0, 8.0, 1.0]]);
        assert!((speeds.expect("times")[2] - 0.5).abs() < 1e-12);
        assert!(relative_speeds(&[]).is_err() && relative_speeds(&[vec![1.0], vec![0.0]]).is_err());
        assert!(relative_speeds(&[vec![1.0], vec![1.0, 2.0]]).is_err());
    }

    #[test]
    fn a_steady_machine_has_no_outliers_and_a_restless_one_only_far_ones() {
        assert_eq!(outliers(&[1.0, 1.001, 0.999, 1.02]), Ok(vec![false; 4]));
        let restless = [0.9, 1.1, 1.0, 0.95, 1.05, 0.6];
        assert_eq!(outliers(&restless), Ok(vec![false, false, false, false, false, true]));
        assert!(outliers(&[1.0, f64::NAN, 1.0]).is_err() && outliers(&[]).is_err());
    }

    /// Snedecor and Cochran's way with the smallest example that can be done by hand.
    #[test]
    fn the_slope_within_groups_is_the_pooled_one() {
        let (y, x) = ([1.0, 3.1, 4.9, 11.0, 12.9, 15.1], [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
        let found = adjust(&y, &x, &[0, 0, 0, 1, 1, 1]).expect("numbers").expect("it matters");
        assert!((found.slope - 2.0).abs() < 1e-12, "{found:?}");
        assert!((found.adjusted[0] - 3.0).abs() < 1e-12 && found.explained_share > 0.99);
        assert!(found.prediction_ratio < 0.05 && found.p_value < 1e-4);
    }

    /// Of 500 runs in which the machine's speed does nothing, it is used in few; of 500 in which it explains half of the
    /// variation, in nearly all, and then the differences between groups are known better.
    #[test]
    fn a_covariate_is_used_where_it_helps_and_left_where_it_does_not() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let groups: Vec<usize> = (0..40).map(|i| i % 4).collect();
        let mut used = [0, 0];
        let (mut raw, mut clean) = (0.0, 0.0);
        for _ in 0..500 {
            let speed: Vec<f64> = groups.iter().map(|_| 0.1 * normal(&mut random)).collect();
            for (case, effect) in [0.0, 1.0].into_iter().enumerate() {
                let rate = |(group, speed): (&usize, &f64)| {
                    *group as f64 + effect * speed + 0.1 * normal(&mut random)
                };
                let rates: Vec<f64> = groups.iter().zip(&speed).map(rate).collect();
                let found = adjust(&rates, &speed, &groups).expect("numbers");
                used[case] += usize::from(found.is_some());
                if let Some(found) = found.filter(|_| case == 1) {
                    let error = |values: &[f64]| {
                        let own = |group| values.iter().zip(&groups).filter(move |(_, g)| **g == group);
                        let mean = |group| own(group).map(|(value, _)| value).sum::<f64>() / 10.0;
                        (mean(1) - mean(0) - 1.0f64).powi(2)
                    };
                    raw += error(&rates);
                    clean += error(&found.adjusted);
                }
            }
        }
        assert!(used[0] <= 10, "used {} times where it does nothing", used[0]);
        assert!(used[1] >= 490, "used {} times where it explains half", used[1]);
        assert!(clean < 0.65 * raw, "squared errors of differences fell only from {raw} to {clean}");
    }

    #[test]
    fn what_cannot_be_told_is_left_alone_and_what_is_no_series_refused() {
        assert_eq!(adjust(&[1.0, 2.0], &[1.0, 2.0], &[0, 0]), Ok(None), "two points always lie on a line");
        assert_eq!(adjust(&[1.0, 2.0, 4.0], &[5.0, 5.0, 5.0], &[0, 0, 0]), Ok(None), "it did not vary");
        assert!(adjust(&[1.0], &[1.0, 2.0], &[0]).is_err());
        assert!(adjust(&[1.0, f64::NAN, 1.0], &[1.0, 2.0, 3.0], &[0, 0, 0]).is_err());
    }
}
