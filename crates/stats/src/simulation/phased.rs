//! A machine that falls into slow phases, as shared ones do (docs/results/gauge.md), with a gauge of its CPUs or without.

use rand::{Rng, RngExt as _};

use super::{Shape, Simulated, Truth, normal, shuffled};
use crate::gauge::{Gauged, Reading, Readings};
use crate::table::Windows;

/// Windows that a slow phase lasts on average: a second.
const PHASE_WINDOWS: f64 = 5.0;
/// The share of time that is slow.
const SLOW_SHARE: f64 = 0.3;
/// By how much slower the gauge's work is in a phase, as a logarithm: drawn anew for each.
const SLOWER: [f64; 2] = [0.2, 0.5];
/// How rates follow the gauge.
const SLOPE: f64 = -1.5;
/// Windows before the first, so that the first may be in the midst of a phase.
const BEFORE: usize = 100;
/// What is left of the readings' variation in a window, as a standard deviation of logarithms.
const READING_SD: f64 = 0.02;

/// A table on such a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Phased {
    /// Who takes part.
    pub contenders: Vec<Simulated>,
    /// Restarts of each.
    pub rounds: usize,
    /// Windows of each life.
    pub rotations: usize,
    /// By how much the gauge's readings depend on the contender, as a standard deviation; absent where there is no gauge. Each
    /// contender has the same bias in all tables, as one server leaves the same in the caches.
    pub gauge_bias_sd: Option<f64>,
}

/// Seven numbers with a standard deviation of 1, in no order.
const BIASES: [f64; 7] = [0.4, -1.4, 0.85, 0.0, -0.85, 1.4, -0.4];

/// What the machine does from one window to the next.
struct Machine {
    /// By how much it is slower than usual, as the gauge sees it.
    slower: f64,
}

impl Machine {
    fn next(&mut self, rng: &mut impl Rng) -> f64 {
        let begins = SLOW_SHARE / (1.0 - SLOW_SHARE) / PHASE_WINDOWS;
        let chance: f64 = rng.random();
        if self.slower > 0.0 && chance < 1.0 / PHASE_WINDOWS {
            self.slower = 0.0;
        } else if self.slower == 0.0 && chance < begins {
            self.slower = rng.random_range(SLOWER[0]..SLOWER[1]);
        }
        self.slower
    }
}

impl Phased {
    /// One round: the windows of each contender, and what the gauge shows in them.
    fn round(&self, bias: &[f64], rng: &mut impl Rng) -> Vec<Vec<(f64, Reading)>> {
        let restart = |of: &Simulated| of.log_rate + of.restart_sd * Shape::HeavyTailed.draw(&mut *rng);
        let lives: Vec<f64> = self.contenders.iter().map(restart).collect();
        let mut machine = Machine { slower: 0.0 };
        for _ in 0..BEFORE {
            machine.next(rng);
        }
        let mut windows = vec![Vec::new(); lives.len()];
        for _ in 0..self.rotations {
            for i in shuffled(lives.len(), rng) {
                let slower = machine.next(rng);
                let error = self.contenders[i].window_sd * Shape::HeavyTailed.draw(rng);
                let reading = [slower + bias[i] + READING_SD * normal(rng), READING_SD * normal(rng)];
                windows[i].push((lives[i] + SLOPE * slower + error, reading));
            }
        }
        windows
    }
}

impl Truth for Phased {
    fn contenders(&self) -> usize {
        self.contenders.len()
    }

    fn rounds(&self) -> usize {
        self.rounds
    }

    fn log_rate(&self, contender: usize) -> f64 {
        self.contenders[contender].log_rate
    }

    /// How much of a round is slow is in every rate.
    fn has_rates(&self) -> bool {
        false
    }

    fn measure(&self, rng: &mut impl Rng) -> Vec<Windows> {
        self.observe(rng).into_iter().map(|gauged| gauged.windows).collect()
    }

    fn observe(&self, rng: &mut impl Rng) -> Vec<Gauged> {
        let sd = self.gauge_bias_sd.unwrap_or(0.0);
        let bias: Vec<f64> =
            BIASES.iter().cycle().take(self.contenders.len()).map(|bias| sd * bias).collect();
        let mut observed: Vec<(Windows, Readings)> = vec![Default::default(); self.contenders.len()];
        for _ in 0..self.rounds {
            for (observed, of_round) in observed.iter_mut().zip(self.round(&bias, rng)) {
                let (windows, readings) =
                    of_round.into_iter().map(|(rate, at)| (Some(rate), Some(at))).unzip();
                observed.0.push(windows);
                observed.1.push(readings);
            }
        }
        let of = |(contender, (windows, readings)): (usize, (Windows, Readings))| {
            let readings = if self.gauge_bias_sd.is_some() { readings } else { Readings::new() };
            Gauged { contender, windows, readings }
        };
        observed.into_iter().enumerate().map(of).collect()
    }
}
