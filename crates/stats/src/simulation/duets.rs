//! Simulated duets of two builds.

use rand::Rng;

use super::{Shape, normal};
use crate::StatsError;
use crate::duet::{Restart, duet};
use crate::moderation::Prior;

/// Duets of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duets {
    /// The true ratio, new over base.
    pub ratio: f64,
    /// Pairs of builds, by how much they vary (a standard deviation of logarithms).
    pub builds: (usize, f64),
    /// Restarts of each pair of builds, by how much their ratio varies.
    pub restarts: (usize, f64),
    /// Windows of a restart in each arrangement of the sides, by how much they vary.
    pub windows: (usize, f64),
    /// Whether each restart sees only one arrangement, in turns.
    pub in_turns: bool,
    /// How restarts and windows are distributed.
    pub shape: Shape,
}

/// What became of them, as shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuetOutcome {
    /// Intervals that held the true ratio.
    pub covered: f64,
    /// Intervals that left the margin.
    pub shown: f64,
    /// The mean of their half-widths, 0.01 for 1 %.
    pub half_width: f64,
}

impl Duets {
    /// Noise as measured on nginx against itself: restarts vary by 0.44 %, windows by 2.1 %, with heavy tails.
    pub fn measured(ratio: f64, restarts: usize, windows: usize) -> Self {
        Self {
            ratio,
            builds: (1, 0.0),
            restarts: (restarts, 0.0044),
            windows: (windows, 0.021),
            in_turns: false,
            shape: Shape::HeavyTailed,
        }
    }

    /// The windows of one duet.
    pub fn measure(&self, rng: &mut impl Rng) -> Vec<Vec<Restart>> {
        let mut build = || {
            let luck = self.ratio.ln() + self.builds.1 * normal(rng);
            (0..self.restarts.0).map(|number| self.restart(luck, number, rng)).collect()
        };
        (0..self.builds.0).map(|_| build()).collect()
    }

    fn restart(&self, luck: f64, number: usize, rng: &mut impl Rng) -> Restart {
        /// The advantage of one side over the other, far greater than what is looked for.
        const SIDE: f64 = 0.03;
        let level = luck + self.restarts.1 * self.shape.draw(rng);
        let mut draw = |side: f64| -> Vec<f64> {
            (0..self.windows.0).map(|_| level + side + self.windows.1 * self.shape.draw(rng)).collect()
        };
        let [first, second] = [draw(-SIDE), draw(SIDE)];
        match (self.in_turns, number.is_multiple_of(2)) {
            (false, _) => Restart { straight: first, swapped: second },
            (true, true) => Restart { straight: first, swapped: Vec::new() },
            (true, false) => Restart { straight: Vec::new(), swapped: second },
        }
    }

    /// Judges so many duets at 95 %, each on its own, with the given margin.
    ///
    /// # Errors
    /// As [`duet`].
    pub fn outcome(&self, runs: u32, margin: f64, rng: &mut impl Rng) -> Result<DuetOutcome, StatsError> {
        let (mut covered, mut shown, mut half_widths) = (0, 0, 0.0);
        for _ in 0..runs {
            let ratio = duet(&self.measure(rng), &Prior::none(), 0.95)?.ratio;
            covered += u32::from(ratio.contains(self.ratio));
            shown += u32::from(ratio.low > 1.0 + margin || ratio.high < 1.0 / (1.0 + margin));
            half_widths += ratio.relative_half_width();
        }
        let share = |count: u32| f64::from(count) / f64::from(runs.max(1));
        Ok(DuetOutcome {
            covered: share(covered),
            shown: share(shown),
            half_width: half_widths / f64::from(runs.max(1)),
        })
    }
}
