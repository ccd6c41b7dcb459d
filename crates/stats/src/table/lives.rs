//! One number for each life of each contender: a robust location of its windows, free of what the machine did meanwhile.
//!
//! Within a round a window's log rate is life + rotation + error. Both effects are fitted at once by Huber's M-estimator
//! (Ann. Math. Statist. 35, 1964) in the two-way layout, that is, by the minimum of Σ ρ(residual / scale), which is convex
//! and so has no second minimum to fall into. With c = 1.345 it is 95 % as efficient as the mean where errors are normal,
//! and a window that the machine spoilt pulls no harder than one that lies 1.345 standard deviations off.
//! A rotation's effect is weighted by the contenders' scales: a steady server tells more of the machine than a restless one.

use crate::robust::{CLIP, huber_weight as weight, middle, spread_of};

/// Sweeps of the median polish that starts the fit (Tukey, *Exploratory Data Analysis*, 1977).
const POLISHES: usize = 4;
/// Most sweeps of the fit; complete tables need a few, gappy ones some tens.
const MOST_SWEEPS: usize = 100;
/// The fit has come to rest when no life moves by more than this, on the logarithmic scale.
const AT_REST: f64 = 1e-9;

/// The windows of one round: a row for each process, a column for each rotation.
pub(super) type Round<'w> = Vec<&'w [Option<f64>]>;

/// One life of one contender.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Life {
    /// Its level on the logarithmic scale.
    pub(super) level: f64,
    /// By how much each window moves the level, times the number of windows: its influence function.
    pub(super) influences: Vec<Option<f64>>,
    /// Windows that counted.
    pub(super) windows: usize,
    /// How many processes it is the mean of.
    pub(super) replicas: usize,
}

/// Lives by contender and block.
pub(super) type Lives = Vec<Vec<Option<Life>>>;

/// The lives of all processes, round by round; `None` for one without a window in that round. `contender_of` says whose each row is:
/// windows of all processes of a contender are taken to vary alike.
pub(super) fn lives(rounds: &[Round<'_>], contender_of: &[usize]) -> Vec<Vec<Option<Life>>> {
    let started: Vec<Fit> = rounds.iter().map(|round| Fit::polished(round)).collect();
    let of_contender = |contender: usize| -> Vec<f64> {
        let rows = || (0..contender_of.len()).filter(|&row| contender_of[row] == contender);
        let of_round = |(fit, round): (&Fit, &Round<'_>)| {
            rows().flat_map(|row| fit.residuals(round, row).flatten().map(f64::abs)).collect::<Vec<_>>()
        };
        started.iter().zip(rounds).flat_map(of_round).collect()
    };
    let scale = |contender: &usize| spread_of(&mut of_contender(*contender));
    let scales: Vec<f64> = contender_of.iter().map(scale).collect();
    started
        .into_iter()
        .zip(rounds)
        .map(|(fit, round)| fit.settled(round, &scales).lives(round, &scales))
        .collect()
}

/// Processes of one contender that took turns in a round, as one life: at the mean of their levels. `None` where there is none.
pub(super) fn mean(replicas: &[&Life]) -> Option<Life> {
    let n = replicas.len();
    if n < 2 {
        return replicas.first().map(|only| (*only).clone());
    }
    let windows: usize = replicas.iter().map(|life| life.windows).sum();
    // Each level is fitted to its own windows, so as many degrees of freedom are gone as there are levels.
    let left = windows.checked_sub(n).filter(|left| *left > 0);
    let lost = left.map(|left| ((windows as f64 - 1.0) / left as f64).sqrt());
    let part = |life: &Life, rotation: usize| -> Option<f64> {
        let influence = (*life.influences.get(rotation)?)?;
        Some(influence * windows as f64 / (life.windows * n) as f64 * lost?)
    };
    let in_rotation = |rotation: usize| -> Option<f64> {
        replicas.iter().filter_map(|life| part(life, rotation)).reduce(|sum, of| sum + of)
    };
    let rotations = replicas.iter().map(|life| life.influences.len()).max().unwrap_or(0);
    Some(Life {
        level: replicas.iter().map(|life| life.level).sum::<f64>() / n as f64,
        influences: (0..rotations).map(in_rotation).collect(),
        windows,
        replicas: n,
    })
}

/// Effects of lives and rotations in one round.
struct Fit {
    levels: Vec<f64>,
    rotations: Vec<f64>,
    /// Rotations that more than one contender tells of; in the others nothing can be told from the window itself.
    shared: Vec<usize>,
}

impl Fit {
    /// The median polish: robust, and good enough to start from and to measure scales by.
    fn polished(round: &Round<'_>) -> Self {
        let columns = round.iter().map(|row| row.len()).max().unwrap_or(0);
        let told = |k: &usize| round.iter().filter(|row| window(row, *k).is_some()).count();
        let shared: Vec<usize> = (0..columns).filter(|k| told(k) > 1).collect();
        let mut fit = Self { levels: vec![0.0; round.len()], rotations: vec![0.0; columns], shared };
        for _ in 0..POLISHES {
            for (i, row) in round.iter().enumerate() {
                let mut free: Vec<f64> =
                    row.iter().zip(&fit.rotations).filter_map(|(y, b)| y.map(|y| y - b)).collect();
                fit.levels[i] = middle(&mut free).unwrap_or(0.0);
            }
            for &k in &fit.shared {
                let free = round.iter().zip(&fit.levels).filter_map(|(row, a)| window(row, k).map(|y| y - a));
                fit.rotations[k] = middle(&mut free.collect::<Vec<f64>>()).unwrap_or(0.0);
            }
        }
        fit
    }

    fn residuals<'f>(&'f self, round: &'f Round<'_>, i: usize) -> impl Iterator<Item = Option<f64>> + 'f {
        let row = round.get(i).copied().unwrap_or_default();
        row.iter().zip(&self.rotations).map(move |(y, b)| y.map(|y| y - b - self.levels[i]))
    }

    /// Iteratively reweighted least squares, a sweep over lives and one over rotations at a time.
    fn settled(mut self, round: &Round<'_>, scales: &[f64]) -> Self {
        for _ in 0..MOST_SWEEPS {
            for &k in &self.shared {
                let (mut sum, mut weights) = (0.0, 0.0);
                for (i, row) in round.iter().enumerate() {
                    let Some(y) = window(row, k) else { continue };
                    let weight =
                        weight(y - self.rotations[k] - self.levels[i], scales[i]) / precision(scales[i]);
                    sum += weight * (y - self.levels[i]);
                    weights += weight;
                }
                self.rotations[k] = if weights > 0.0 { sum / weights } else { 0.0 };
            }
            if self.sweep_lives(round, scales) < AT_REST {
                break;
            }
        }
        self.centred()
    }

    /// Gives lives the level of a typical rotation: what is common to all rotations is the round's and no rotation's.
    fn centred(mut self) -> Self {
        let shared = self.shared.iter().map(|&k| self.rotations[k]);
        let mean = shared.sum::<f64>() / self.shared.len().max(1) as f64;
        self.shared.iter().for_each(|&k| self.rotations[k] -= mean);
        self.levels.iter_mut().for_each(|level| *level += mean);
        self
    }

    /// Fits the lives to the rotations and tells by how much the farthest has moved.
    fn sweep_lives(&mut self, round: &Round<'_>, scales: &[f64]) -> f64 {
        let mut moved = 0.0_f64;
        for (i, row) in round.iter().enumerate() {
            let (mut sum, mut weights) = (0.0, 0.0);
            for (y, rotation) in row.iter().zip(&self.rotations).filter_map(|(y, b)| y.map(|y| (y, b))) {
                let weight = weight(y - rotation - self.levels[i], scales[i]);
                sum += weight * (y - rotation);
                weights += weight;
            }
            if weights > 0.0 {
                moved = moved.max((sum / weights - self.levels[i]).abs());
                self.levels[i] = sum / weights;
            }
        }
        moved
    }

    fn lives(&self, round: &Round<'_>, scales: &[f64]) -> Vec<Option<Life>> {
        (0..round.len()).map(|i| self.life(round, i, scales[i])).collect()
    }

    fn life(&self, round: &Round<'_>, i: usize, scale: f64) -> Option<Life> {
        let residuals: Vec<Option<f64>> = self.residuals(round, i).collect();
        let windows = residuals.iter().flatten().count();
        let unclipped = residuals.iter().flatten().filter(|r| r.abs() <= CLIP * scale).count();
        // How much of a small shift of all windows the clipped residuals pass on.
        let slope = unclipped.max(1) as f64 / windows.max(1) as f64;
        let influence = |residual: f64| residual * weight(residual, scale) / slope;
        let influences = residuals.into_iter().map(|residual| residual.map(influence)).collect();
        (windows > 0).then_some(Life { level: self.levels[i], influences, windows, replicas: 1 })
    }
}

fn window(row: &[Option<f64>], rotation: usize) -> Option<f64> {
    row.get(rotation).copied().flatten()
}

/// What a weight is divided by; a contender without a scale has no say that could be weighed.
fn precision(scale: f64) -> f64 {
    if scale.is_finite() { scale * scale } else { 1.0 }
}
