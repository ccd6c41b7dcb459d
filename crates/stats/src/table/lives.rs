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
    /// Level of the life on the logarithmic scale.
    pub(super) level: f64,
    /// The variance of a window of the contender's, as far as a level feels it; `None` where no life of the contender has two.
    pub(super) window: Option<Within>,
    /// The share of that in the variance of the level: of one process with n windows 1 / n.
    pub(super) share: f64,
    /// Windows that counted.
    pub(super) windows: usize,
    /// How many processes it is the mean of.
    pub(super) replicas: usize,
}

impl Life {
    /// The part of the level's variance that windows add.
    pub(super) fn within(&self) -> Option<Within> {
        self.window.map(|window| Within { variance: window.variance * self.share, ..window })
    }
}

/// A variance that windows add, and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Within {
    pub(super) variance: f64,
    pub(super) degrees_of_freedom: f64,
}

/// Lives by contender and block.
pub(super) type Lives = Vec<Vec<Option<Life>>>;

/// The lives of all processes, round by round; `None` for one without a window in that round. `contender_of` says whose each row is:
/// windows of all processes of a contender are taken to vary alike.
pub(super) fn lives(rounds: &[Round<'_>], contender_of: &[usize]) -> Vec<Vec<Option<Life>>> {
    let rows_of =
        |contender: usize| (0..contender_of.len()).filter(move |&row| contender_of[row] == contender);
    let started: Vec<Fit> = rounds.iter().map(|round| Fit::polished(round)).collect();
    let scale = |contender: &usize| {
        let of_round = |(fit, round): (&Fit, &Round<'_>)| {
            rows_of(*contender).map(|row| fit.deviations(round, row)).collect()
        };
        scale_of(started.iter().zip(rounds).flat_map::<Vec<_>, _>(of_round))
    };
    let scales: Vec<f64> = contender_of.iter().map(scale).collect();
    let settled: Vec<Fit> =
        started.into_iter().zip(rounds).map(|(fit, round)| fit.settled(round, &scales)).collect();
    let noise = |contender: &usize| {
        let of_round = |(fit, round): (&Fit, &Round<'_>)| {
            rows_of(*contender).map(|row| fit.noise(round, row, &scales)).collect()
        };
        settled.iter().zip(rounds).flat_map::<Vec<_>, _>(of_round).fold(Noise::default(), Noise::plus)
    };
    let noises: Vec<Noise> = contender_of.iter().map(noise).collect();
    settled.iter().zip(rounds).map(|(fit, round)| fit.lives(round, &noises)).collect()
}

/// Processes of one contender that took turns in a round, as one life: at the mean of their levels. `None` where there is none.
pub(super) fn mean(replicas: &[&Life]) -> Option<Life> {
    let n = replicas.len() as f64;
    let first = replicas.first()?;
    Some(Life {
        level: replicas.iter().map(|life| life.level).sum::<f64>() / n,
        window: first.window,
        share: replicas.iter().map(|life| life.share).sum::<f64>() / (n * n),
        windows: replicas.iter().map(|life| life.windows).sum(),
        replicas: replicas.len(),
    })
}

/// Absolute residuals of one life after the median polish, and how many degrees of freedom its effects leave of them.
struct Deviations {
    of: Vec<f64>,
    degrees_of_freedom: f64,
}

/// The scale of a contender's windows. An effect is the middle one of what it is fitted to, so about as many residuals are next to nothing
/// as there are effects; they are left out, or lives of three windows would seem to vary by half of what they do.
fn scale_of(lives: impl Iterator<Item = Deviations>) -> f64 {
    let (mut all, mut left) = (Vec::new(), 0.0);
    for life in lives {
        all.extend(life.of);
        left += life.degrees_of_freedom;
    }
    all.sort_unstable_by(|a, b| b.total_cmp(a));
    let told = (1..all.len()).find(|n| *n as f64 + 0.5 > left).unwrap_or(all.len());
    spread_of(&mut all[..told])
}

/// What windows vary by around the effects, as far as the level of their life feels it.
#[derive(Clone, Copy, Default)]
struct Noise {
    /// Sum of squared residuals, those of outliers clipped.
    squares: f64,
    windows: f64,
    /// Windows whose residual is not clipped.
    unclipped: f64,
    /// What the fitted effects leave of as many windows.
    degrees_of_freedom: f64,
}

impl Noise {
    fn plus(self, other: Self) -> Self {
        Self {
            squares: self.squares + other.squares,
            windows: self.windows + other.windows,
            unclipped: self.unclipped + other.unclipped,
            degrees_of_freedom: self.degrees_of_freedom + other.degrees_of_freedom,
        }
    }

    /// The variance of a window as its level feels it: a small shift of all windows is passed on by the unclipped ones alone.
    fn of_window(self) -> Option<Within> {
        let passed_on = self.unclipped.max(1.0) / self.windows.max(1.0);
        let variance = self.squares / self.degrees_of_freedom / passed_on.powi(2);
        let degrees_of_freedom = self.degrees_of_freedom;
        (degrees_of_freedom > 0.0).then_some(Within { variance, degrees_of_freedom })
    }
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

    fn deviations(&self, round: &Round<'_>, i: usize) -> Deviations {
        let of: Vec<f64> = self.residuals(round, i).flatten().map(f64::abs).collect();
        let present = round.iter().filter(|row| row.iter().any(Option::is_some)).count() as f64;
        let left_by_rotations = if present > 1.0 { 1.0 - 1.0 / present } else { 1.0 };
        Deviations { degrees_of_freedom: left_by_rotations * (of.len() as f64 - 1.0).max(0.0), of }
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

    fn lives(&self, round: &Round<'_>, noises: &[Noise]) -> Vec<Option<Life>> {
        let life = |(i, row): (usize, &&[Option<f64>])| {
            let windows = row.iter().flatten().count();
            let (window, share) = (noises[i].of_window(), 1.0 / windows as f64);
            (windows > 0).then_some(Life { level: self.levels[i], window, share, windows, replicas: 1 })
        };
        round.iter().enumerate().map(life).collect()
    }

    fn noise(&self, round: &Round<'_>, i: usize, scales: &[f64]) -> Noise {
        let residuals: Vec<f64> = self.residuals(round, i).flatten().collect();
        let windows = residuals.len() as f64;
        let clipped = |residual: &f64| residual * weight(*residual, scales[i]);
        // A rotation's effect follows the windows that it is fitted to, each by its leverage, and a life's level follows all of its own.
        let left_by_rotations: f64 = (0..self.rotations.len())
            .filter(|k| window(round[i], *k).is_some())
            .map(|k| 1.0 - self.leverage(round, scales, (i, k)))
            .sum();
        Noise {
            squares: residuals.iter().map(|residual| clipped(residual).powi(2)).sum(),
            windows,
            unclipped: residuals.iter().filter(|r| r.abs() <= CLIP * scales[i]).count() as f64,
            degrees_of_freedom: left_by_rotations * (windows - 1.0).max(0.0) / windows.max(1.0),
        }
    }

    /// The share that the window of life `i` has in the effect of rotation `k`; none where it is alone, because then there is no effect.
    fn leverage(&self, round: &Round<'_>, scales: &[f64], (i, k): (usize, usize)) -> f64 {
        let say = |i: usize| {
            let residual = window(round[i], k)? - self.rotations[k] - self.levels[i];
            Some(weight(residual, scales[i]) / precision(scales[i]))
        };
        let others: f64 = (0..round.len()).filter(|other| *other != i).filter_map(say).sum();
        say(i).filter(|_| others > 0.0).map_or(0.0, |own| own / (own + others))
    }
}

fn window(row: &[Option<f64>], rotation: usize) -> Option<f64> {
    row.get(rotation).copied().flatten()
}

/// What a weight is divided by; a contender without a scale has no say that could be weighed.
fn precision(scale: f64) -> f64 {
    if scale.is_finite() { scale * scale } else { 1.0 }
}
