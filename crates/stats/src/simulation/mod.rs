//! Runs whose truth is known: what a machine like those that were measured would do to contenders of given rates.
//!
//! A judge is only as good as its errors are rare, and how rare they are cannot be seen in real runs, whose truth nobody
//! knows. So `cargo xtask simulate` and the tests let [`crate::table`] judge simulated ones. The noise is as unkind as real
//! noise: heavy tails in restarts, windows and rounds, contenders that vary to different extents, void windows, and a
//! machine whose speed wanders within seconds.

mod adaptive;
mod duets;
mod phased;
mod resampled;
mod trials;

use rand::{Rng, RngExt as _};
use rand_distr::StandardNormal;

use crate::gauge::{Gauged, Readings};
use crate::table::Windows;

pub use adaptive::Adaptive;
pub use duets::{DuetOutcome, Duets};
pub use phased::Phased;
pub use resampled::{Material, Resampled};
#[cfg(test)]
pub(crate) use trials::by_contender;
pub use trials::{SimulationOutcome, Trials};

/// Runs whose truth is known: simulated by a model, or made of what was measured.
pub trait Truth {
    /// How many there are.
    fn contenders(&self) -> usize;

    /// Restarts of each contender.
    fn rounds(&self) -> usize;

    /// The logarithm of a contender's true rate.
    fn log_rate(&self, contender: usize) -> f64;

    /// Whether that is the rate of a typical round as well, and not only a part of ratios, from which what the machine does cancels.
    fn has_rates(&self) -> bool {
        true
    }

    /// The true ratio of two contenders' rates.
    fn ratio(&self, first: usize, second: usize) -> f64 {
        (self.log_rate(first) - self.log_rate(second)).exp()
    }

    /// Measures a table once: the windows of every contender.
    fn measure(&self, rng: &mut impl Rng) -> Vec<Windows>;

    /// Measures a table once, with what a gauge of the machine shows in each window; nothing where there is none.
    fn observe(&self, rng: &mut impl Rng) -> Vec<Gauged> {
        let of = |(contender, windows)| Gauged { contender, windows, readings: Readings::new() };
        self.measure(rng).into_iter().enumerate().map(of).collect()
    }

    /// The round of each block of windows: one for each round, where rounds are not split into groups.
    fn round_of_blocks(&self) -> Vec<usize> {
        (0..self.rounds()).collect()
    }
}

/// How a random number of mean 0 and variance 1 is distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The normal distribution, of errors that are sums of many small ones.
    Normal,
    /// Student's t with three degrees of freedom: one in a hundred lies 3.4 standard deviations off or more.
    HeavyTailed,
    /// Nine in ten normal, the tenth three times as wide (Tukey 1960).
    Contaminated,
    /// Exponential: seldom below the mean by much, often far above it, as tails of response times are.
    Skewed,
}

/// One contender of a simulated table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Simulated {
    /// The logarithm of its true rate.
    pub log_rate: f64,
    /// How much its restarts vary, as a standard deviation of logarithms.
    pub restart_sd: f64,
    /// How much the windows of one life vary.
    pub window_sd: f64,
}

/// A table to be simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// The contenders.
    pub contenders: Vec<Simulated>,
    /// Restarts of each.
    pub rounds: usize,
    /// Windows of each life.
    pub rotations: usize,
    /// How restarts are distributed.
    pub restarts: Shape,
    /// How windows are distributed.
    pub windows: Shape,
    /// How much a round disturbs all its contenders alike; with heavy tails.
    pub round_sd: f64,
    /// The share of windows that are void.
    pub void_share: f64,
    /// How much the machine's speed wanders, with a memory of [`MEMORY_WINDOWS`].
    pub machine_sd: f64,
    /// Groups into which every round is split: the first contender lives in each, who lives in which of the others is drawn by
    /// lot. 1 where all live at once.
    pub groups: usize,
}

/// How many windows it takes until the machine has forgotten all but a third of its speed: about two seconds.
pub const MEMORY_WINDOWS: f64 = 20.0;

impl Shape {
    /// Draws a number of mean 0 and variance 1.
    pub fn draw(self, rng: &mut impl Rng) -> f64 {
        match self {
            Self::Normal => normal(rng),
            Self::HeavyTailed => {
                let squares: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
                normal(rng) / squares.sqrt()
            }
            Self::Contaminated => {
                let wide = if rng.random::<f64>() < 0.1 { 3.0 } else { 1.0 };
                wide * normal(rng) / 1.8_f64.sqrt()
            }
            Self::Skewed => -(1.0 - rng.random::<f64>()).ln() - 1.0,
        }
    }
}

impl Simulated {
    /// A contender whose rate is `times` some common one.
    pub fn of(times: f64, restart_sd: f64, window_sd: f64) -> Self {
        Self { log_rate: times.ln(), restart_sd, window_sd }
    }
}

/// Six contenders of equal rate whose restarts vary as much as those that were measured: by 0.4 to 3 %.
pub fn uneven(window_sd: f64) -> Vec<Simulated> {
    [0.004, 0.008, 0.012, 0.02, 0.025, 0.03].map(|sd| Simulated::of(1.0, sd, window_sd)).to_vec()
}

/// Contenders of equal rate that vary alike.
pub fn alike(contenders: usize, restart_sd: f64, window_sd: f64) -> Vec<Simulated> {
    vec![Simulated::of(1.0, restart_sd, window_sd); contenders]
}

/// Contenders of which each is `step` times as fast as the one before.
pub fn ladder(contenders: usize, step: f64, restart_sd: f64, window_sd: f64) -> Vec<Simulated> {
    (0..contenders).map(|i| Simulated::of(step.powi(i as i32), restart_sd, window_sd)).collect()
}

impl World {
    /// Some contenders under a kind sky: normal noise, no void windows, a steady machine, one window per life.
    pub fn quiet(contenders: Vec<Simulated>, rounds: usize) -> Self {
        Self {
            contenders,
            rounds,
            rotations: 1,
            restarts: Shape::Normal,
            windows: Shape::Normal,
            round_sd: 0.05,
            void_share: 0.0,
            machine_sd: 0.0,
            groups: 1,
        }
    }

    /// A world as on a machine that others share: heavy tails everywhere, one window in twenty void, a speed that changes by a
    /// fifth within seconds.
    pub fn noisy(contenders: Vec<Simulated>, rounds: usize, rotations: usize) -> Self {
        Self {
            rotations,
            restarts: Shape::HeavyTailed,
            windows: Shape::HeavyTailed,
            void_share: 0.05,
            machine_sd: 0.1,
            ..Self::quiet(contenders, rounds)
        }
    }

    /// The contenders in each group of a round.
    fn grouped(&self, rng: &mut impl Rng) -> Vec<Vec<usize>> {
        if self.groups < 2 {
            return vec![(0..self.contenders.len()).collect()];
        }
        let mut groups = vec![vec![0]; self.groups];
        for (place, other) in shuffled(self.contenders.len().saturating_sub(1), rng).into_iter().enumerate() {
            groups[place % self.groups].push(other + 1);
        }
        groups
    }

    /// One life of each of those who live at once.
    fn block(&self, living: &[usize], rng: &mut impl Rng) -> Vec<Vec<Option<f64>>> {
        let of_block = self.round_sd * Shape::HeavyTailed.draw(rng);
        let restart = |of: &Simulated| of.log_rate + of_block + of.restart_sd * self.restarts.draw(rng);
        let lives: Vec<f64> = self.contenders.iter().map(restart).collect();
        let mut windows = vec![Vec::new(); lives.len()];
        let memory = (-1.0 / MEMORY_WINDOWS).exp();
        let mut speed = self.machine_sd * normal(rng);
        for _ in 0..self.rotations {
            for contender in shuffled(living.len(), rng).into_iter().map(|place| living[place]) {
                speed = memory * speed + self.machine_sd * (1.0 - memory * memory).sqrt() * normal(rng);
                let error = self.contenders[contender].window_sd * self.windows.draw(rng);
                let is_void = rng.random::<f64>() < self.void_share;
                windows[contender].push((!is_void).then_some(lives[contender] + speed + error));
            }
        }
        windows
    }
}

impl Truth for World {
    fn contenders(&self) -> usize {
        self.contenders.len()
    }

    fn rounds(&self) -> usize {
        self.rounds
    }

    fn log_rate(&self, contender: usize) -> f64 {
        self.contenders[contender].log_rate
    }

    /// The windows rotate in an order drawn anew each time.
    fn measure(&self, rng: &mut impl Rng) -> Vec<Windows> {
        let mut measured = vec![Windows::new(); self.contenders.len()];
        for _ in 0..self.rounds {
            for living in self.grouped(rng) {
                let block = self.block(&living, rng);
                measured.iter_mut().zip(block).for_each(|(windows, of_block)| windows.push(of_block));
            }
        }
        measured
    }

    fn round_of_blocks(&self) -> Vec<usize> {
        (0..self.rounds).flat_map(|round| vec![round; self.groups]).collect()
    }
}

fn shuffled(n: usize, rng: &mut impl Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        order.swap(last, rng.random_range(0..=last));
    }
    order
}

/// A standard normal number.
pub fn normal(rng: &mut impl Rng) -> f64 {
    rng.sample(StandardNormal)
}
