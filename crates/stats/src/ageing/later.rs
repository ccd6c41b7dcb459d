//! One long life: whether its rate is later another than it was at the age at which others were measured.

use crate::StatsError;
use crate::error::open_unit;
use crate::student::critical_value_of;

/// Stretches into which a long life is cut; the looks within one are summed up before anything is compared, because what
/// disturbs one look lasts into the next.
const STRETCHES: usize = 24;
/// Looks in a stretch at least.
const LEAST_LOOKS: usize = 3;
/// Stretches at either end that are set against each other, at least.
const LEAST_STRETCHES: usize = 4;
/// Part of the stretches, the last ones, that show what the rate is later.
const LATE_SHARE: f64 = 1.0 / 3.0;
/// Degrees of freedom that each squared difference of neighbours is worth: they overlap, which costs a third (von Neumann, Ann.
/// Math. Statist. 12, 1941), and tails are heavy.
const WORTH: f64 = 0.5;

/// What a life's rate is later, against what it was when it was young.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Later {
    /// By how much, as a difference of logarithms.
    pub change: f64,
    /// Half-width of its interval.
    pub half_width: f64,
    /// Age at which the young part ends, in seconds.
    pub young_s: f64,
    /// Age at which the late part begins.
    pub late_s: f64,
    /// Age at which it ends.
    pub end_s: f64,
}

impl Later {
    /// Whether the rate is shown to have changed.
    pub fn is_shown(&self) -> bool {
        self.change.abs() > self.half_width
    }
}

/// Sets the end of a life against its part up to an age of `young_s`, by looks of age and log rate in the order of time;
/// `None` where it is too short. How much stretches vary is taken from the differences of neighbours, in which a slow change
/// hardly shows.
///
/// # Errors
/// When `confidence` is not strictly between 0 and 1.
pub fn later(looks: &[(f64, f64)], young_s: f64, confidence: f64) -> Result<Option<Later>, StatsError> {
    open_unit("confidence", confidence)?;
    let stretches = stretches(looks);
    let n = stretches.len();
    // `as` saturates, and the value is a whole number in range.
    let late = ((n as f64 * LATE_SHARE) as usize).max(LEAST_STRETCHES);
    let young = stretches.iter().filter(|(age, _)| *age <= young_s).count().max(LEAST_STRETCHES);
    if young + late > n {
        return Ok(None);
    }
    let mean = |part: &[(f64, f64)]| part.iter().map(|(_, log)| log).sum::<f64>() / part.len() as f64;
    let squares: f64 = stretches.windows(2).map(|pair| (pair[1].1 - pair[0].1).powi(2)).sum();
    let differences = (n - 1) as f64;
    let variance = squares / (2.0 * differences) * (1.0 / young as f64 + 1.0 / late as f64);
    let half_width = critical_value_of(confidence, (differences * WORTH).max(1.0))? * variance.sqrt();
    Ok(Some(Later {
        change: mean(&stretches[n - late..]) - mean(&stretches[..young]),
        half_width,
        young_s: stretches[young - 1].0,
        late_s: stretches[n - late].0,
        end_s: looks.last().map_or(0.0, |(age, _)| *age),
    }))
}

/// The mean age and the middle log rate of each stretch; none where there are too few looks.
fn stretches(looks: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let finite: Vec<(f64, f64)> =
        looks.iter().filter(|(age, log)| age.is_finite() && log.is_finite()).copied().collect();
    let length = finite.len().div_ceil(STRETCHES).max(LEAST_LOOKS);
    let summed_up = finite.chunks_exact(length).filter_map(|looks| {
        let age = looks.iter().map(|(age, _)| age).sum::<f64>() / looks.len() as f64;
        let middle = crate::robust::middle(&mut looks.iter().map(|(_, log)| *log).collect::<Vec<_>>())?;
        Some((age, middle))
    });
    summed_up.collect()
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    use super::*;
    use crate::simulation::Shape;

    /// A life of `looks` turns of 0.2 s of load each, as noisy as one beside the machine's limit.
    fn life(looks: usize, rate: impl Fn(f64) -> f64, seed: u64) -> Vec<(f64, f64)> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut disturbance = 0.0;
        let look = |i: usize| {
            let age_s = 1.0 + i as f64 * 0.2;
            disturbance = 0.3 * disturbance + 0.1 * Shape::HeavyTailed.draw(&mut rng);
            (age_s, rate(age_s).ln() + disturbance)
        };
        (0..looks).map(look).collect()
    }

    fn told(looks: usize, rate: impl Fn(f64) -> f64 + Copy, runs: u64) -> f64 {
        let shown = (0..runs).filter(|&seed| {
            let found = later(&life(looks, rate, seed), 5.0, 0.95).unwrap();
            found.is_some_and(|later| later.is_shown())
        });
        shown.count() as f64 / runs as f64
    }

    #[test]
    fn a_steady_life_is_seldom_told_and_one_that_gains_slowly_is() {
        for looks in [60, 300] {
            let wrong = told(looks, |_| 1.0, 1500);
            assert!(wrong <= 0.075, "{wrong} of lives of {looks}; 5 % are meant");
        }
        let warming = |age_s: f64| 1.0 - 0.5 * (-age_s / 20.0).exp();
        assert!(told(300, warming, 100) > 0.95);
    }

    #[test]
    fn the_change_is_that_from_the_measured_age_to_the_end() {
        let step = life(300, |age_s| if age_s < 20.0 { 1.0 } else { 1.5 }, 3);
        let found = later(&step, 10.0, 0.95).unwrap().expect("long enough");
        assert!((found.change - 1.5_f64.ln()).abs() < 0.1 && found.is_shown(), "{found:?}");
        assert!(found.young_s <= 10.0 && found.late_s > 20.0 && found.end_s > 60.0, "{found:?}");
    }

    #[test]
    fn a_short_life_and_one_that_was_young_to_its_end_tell_nothing() {
        assert_eq!(later(&life(10, |_| 1.0, 1), 0.0, 0.95).unwrap(), None);
        assert_eq!(later(&life(100, |_| 1.0, 1), 100.0, 0.95).unwrap(), None);
        assert!(later(&[], 1.0, 0.0).is_err());
    }
}
