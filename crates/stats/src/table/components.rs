//! What a table says about its own noise: how much restarts vary, how much windows do, and what could be shown.

use super::{Comparison, Pair, Table};
use crate::Interval;
use crate::moderation::Spread;
use crate::robust::middle;
use crate::student;

/// The chance of being shown that "this run could show a difference of y %" promises.
pub const POWER: f64 = 0.8;

/// A run that could only show more than this has no power worth a number.
const WORTH_SAYING: f64 = 10.0;

/// The parts of a table's noise, as standard deviations of logarithms: 0.02 is about 2 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Components {
    /// By how much a contender's restarts vary, what windows add taken out. 0 where windows explain it all.
    pub restart_sd: f64,
    /// By how much windows of one life vary, as far as the robust level of the life feels it; 0 where a life has one.
    pub window_sd: f64,
    /// Windows of a typical life.
    pub windows: f64,
    /// Degrees of freedom of the restarts' variation.
    pub degrees_of_freedom: f64,
}

impl Table {
    /// The parts of the noise, over all pairs; `None` when no two contenders were measured in two rounds.
    pub fn components(&self) -> Option<Components> {
        Components::of_run(std::slice::from_ref(self))
    }
}

impl Components {
    /// The components of a run, over all its tables.
    pub fn of_run<'t>(tables: impl IntoIterator<Item = &'t Table, IntoIter: Clone>) -> Option<Self> {
        let tables = tables.into_iter();
        let told = || {
            tables.clone().flat_map(|table| &table.spreads.pairs).filter(|pair| pair.degrees_of_freedom > 0.0)
        };
        let all: f64 = told().map(|pair| pair.degrees_of_freedom).sum();
        if all <= 0.0 {
            return None;
        }
        let mean =
            |of: fn(&Spread) -> f64| told().map(|pair| pair.degrees_of_freedom * of(pair)).sum::<f64>() / all;
        let (variance, within) = (mean(|pair| pair.variance), mean(|pair| pair.within));
        let lives = tables.clone().flat_map(|table| table.lives.iter().flatten().flatten());
        let windows = middle(&mut lives.map(|life| life.windows as f64).collect::<Vec<f64>>()).unwrap_or(1.0);
        // A pair is two contenders.
        Some(Self {
            restart_sd: ((variance - within).max(0.0) / 2.0).sqrt(),
            window_sd: (within * windows / 2.0).sqrt(),
            windows,
            degrees_of_freedom: tables.map(|table| table.spreads().independent).sum(),
        })
    }

    /// What a single round tells already: how much windows of one life vary, and nothing of restarts. `None` where no two lives have
    /// two windows of the same rotations.
    pub fn of_windows<'t>(tables: impl IntoIterator<Item = &'t Table, IntoIter: Clone>) -> Option<Self> {
        let tables = tables.into_iter();
        let lives = tables.clone().flat_map(|table| table.lives.iter().flatten().flatten());
        let windows = middle(&mut lives.map(|life| life.windows as f64).collect::<Vec<f64>>())?;
        let told: Vec<f64> = tables
            .flat_map(|table| &table.spreads.pairs)
            .map(|pair| pair.within)
            .filter(|of| *of > 0.0)
            .collect();
        let within = told.iter().sum::<f64>() / told.len() as f64;
        // A pair is two contenders.
        let window_sd = (within * windows / 2.0).sqrt();
        (!told.is_empty()).then_some(Self { restart_sd: 0.0, window_sd, windows, degrees_of_freedom: 0.0 })
    }

    /// How much the level of one life varies with so many windows.
    pub fn life_sd(&self, windows: f64) -> f64 {
        (self.restart_sd.powi(2) + self.window_sd.powi(2) / windows.max(1.0)).sqrt()
    }
}

impl Pair {
    /// The smallest difference that such a pair would be shown to have in four runs of five, 0.09 for 9 %; `None` where
    /// nothing can be said.
    pub fn detectable(&self, margin: f64) -> Option<f64> {
        self.ratio?;
        detectable(self.standard_error, self.critical_value, self.degrees_of_freedom, margin)
    }
}

impl Comparison {
    /// The smallest difference that a typical pair would be shown to have in four runs of five: the middle one of all pairs'.
    pub fn detectable(&self, margin: f64) -> Option<f64> {
        let mut all: Vec<f64> = self.pairs.iter().filter_map(|pair| pair.detectable(margin)).collect();
        middle(&mut all)
    }
}

/// The difference that a ratio's interval could show, which comes from Student's t with so many degrees of freedom.
pub fn detectable_by(ratio: &Interval, degrees_of_freedom: f64, margin: f64) -> Option<f64> {
    let critical = student::critical_value_of(ratio.confidence, degrees_of_freedom).ok()?;
    let reach = (ratio.high / ratio.low).ln() / 2.0;
    detectable(reach / critical, critical, degrees_of_freedom, margin)
}

/// The smallest difference that an interval of so many standard errors leaves the margin for with a probability of
/// [`POWER`]; `None` where that is more than eleven times, which tells nobody anything.
pub fn detectable(
    standard_error: f64,
    critical_value: f64,
    degrees_of_freedom: f64,
    margin: f64,
) -> Option<f64> {
    let beyond = student::critical_value_of(2.0 * POWER - 1.0, degrees_of_freedom).ok()?;
    let difference = (critical_value + beyond) * standard_error + margin.ln_1p();
    Some(difference.exp_m1()).filter(|share| *share <= WORTH_SAYING)
}
