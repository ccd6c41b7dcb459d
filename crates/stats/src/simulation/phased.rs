//! A machine that falls into slow phases, and from which others take time, as from shared ones (docs/results/gauge.md), with a gauge of its
//! CPUs or without.

use rand::{Rng, RngExt as _};

use super::{Shape, Simulated, Truth, normal, shuffled};
use crate::gauge::{Gauged, Reading, Readings};
use crate::table::Windows;

/// Slow phases last a second on average; by how much slower the gauge's work is in one is drawn anew for each.
const SLOW: Phases = Phases { windows: 5.0, share: 0.3, longer: [0.2, 0.5] };
/// How rates follow the gauge.
const SLOPE: f64 = -1.5;
/// Phases of other programs, which take up to a quarter of half of all windows, as they did on the noisiest machine that was seen.
const OTHERS: Phases = Phases { windows: 2.0, share: 0.5, longer: [0.0, 0.28] };
/// How rates follow what others take.
const SLOPE_OF_OTHERS: f64 = -1.4;
/// What the kernel's ticks leave unknown of that in a window, as a standard deviation of logarithms.
const TICKS_SD: f64 = 0.012;
/// Windows before the first, so that the first may be in the midst of a phase.
const BEFORE: usize = 100;
/// What is left of the readings' variation in a window, as a standard deviation of logarithms.
const READING_SD: f64 = 0.02;

/// A table on such a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Phased {
    /// The contenders.
    pub contenders: Vec<Simulated>,
    /// Restarts of each.
    pub rounds: usize,
    /// Windows of each life.
    pub rotations: usize,
    /// Whether others take time as well.
    pub are_others_at_work: bool,
    /// By how much the readings of the gauge, and of what others take, depend on the contender, as a standard deviation; absent where there
    /// are none. Each contender has the same bias in all tables, as one server leaves the same in the caches.
    pub gauge_bias_sd: Option<f64>,
}

/// Seven numbers with a standard deviation of 1, in no order.
const BIASES: [f64; 7] = [0.4, -1.4, 0.85, 0.0, -0.85, 1.4, -0.4];

/// Phases in which everything takes longer.
#[derive(Clone, Copy)]
struct Phases {
    /// Windows that one lasts on average.
    windows: f64,
    /// The share of windows that lie in one.
    share: f64,
    /// By how much longer everything takes, as a logarithm: drawn anew for each.
    longer: [f64; 2],
}

impl Phases {
    /// By how much longer everything takes in the next window, where it was `now` in the last one.
    fn next(self, now: f64, rng: &mut impl Rng) -> f64 {
        let begins = self.share / (1.0 - self.share) / self.windows;
        let chance: f64 = rng.random();
        if now > 0.0 {
            if chance < 1.0 / self.windows { 0.0 } else { now }
        } else if chance < begins {
            rng.random_range(self.longer[0]..self.longer[1])
        } else {
            0.0
        }
    }
}

/// By how much longer everything takes: on slow CPUs, and where others take time.
#[derive(Default)]
struct Machine {
    slower: f64,
    taken: f64,
}

impl Machine {
    fn next(&mut self, are_others_at_work: bool, rng: &mut impl Rng) {
        self.slower = SLOW.next(self.slower, rng);
        if are_others_at_work {
            self.taken = OTHERS.next(self.taken, rng);
        }
    }
}

impl Phased {
    /// One round: the windows of each contender, and what the gauge shows in them.
    fn round(&self, bias: &[f64], rng: &mut impl Rng) -> Vec<Vec<(f64, Reading)>> {
        let restart = |of: &Simulated| of.log_rate + of.restart_sd * Shape::HeavyTailed.draw(&mut *rng);
        let lives: Vec<f64> = self.contenders.iter().map(restart).collect();
        let mut machine = Machine::default();
        for _ in 0..BEFORE {
            machine.next(self.are_others_at_work, rng);
        }
        let mut windows = vec![Vec::new(); lives.len()];
        for _ in 0..self.rotations {
            for i in shuffled(lives.len(), rng) {
                machine.next(self.are_others_at_work, rng);
                let Machine { slower, taken } = machine;
                let error = self.contenders[i].window_sd * Shape::HeavyTailed.draw(rng);
                let slow = slower + bias[i] + READING_SD * normal(rng);
                let ticks = if self.are_others_at_work { TICKS_SD * normal(rng) - bias[i] } else { 0.0 };
                let reading = [slow, READING_SD * normal(rng), taken + ticks, 0.0];
                windows[i].push((lives[i] + SLOPE * slower + SLOPE_OF_OTHERS * taken + error, reading));
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
