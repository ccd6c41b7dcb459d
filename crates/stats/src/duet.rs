//! Two builds of one server measured at once: whatever disturbs the machine disturbs both.
//!
//! In a duet (Bulej et al., *Duet Benchmarking*, ICPE 2020) two servers share the same CPUs and are loaded in the same
//! windows, so each window has a ratio of its own, far steadier than either rate. Both sides of the arrangement (which CPU
//! share, which generator thread) are taken by either build, windows of a life add little, and what remains is the lot
//! that a restart draws, or a build: link layout is luck too (Mytkowicz et al., ASPLOS 2009).
//!
//! The estimate is a mean of means, with the intercept of each restart (or of each build, when there are several) taken for
//! random: windows → restart → build. The interval comes from the outermost level that was repeated, by Student's t with its
//! degrees of freedom; the variance that inner levels explain is its lower bound. A bootstrap over windows and restarts
//! that was tried first called equals different in 7.4 % of runs, because five or ten restarts are too few to resample.

use crate::error::{at_least, finite};
use crate::interval::Sample;
use crate::moderation::{Prior, Spread};
use crate::robust::huber;
use crate::table::Components;
use crate::{Interval, StatsError, student};

/// The windows of one restart of both servers: in each the natural logarithm of the new build's rate over the base's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Restart {
    /// Windows in which the base had the first side.
    pub straight: Vec<f64>,
    /// Windows in which the new build had it.
    pub swapped: Vec<f64>,
}

/// What a duet says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duet {
    /// The ratio of the rates, new over base.
    pub ratio: Interval,
    /// The logarithm of the advantage that the first side gives, which cancels in the ratio.
    pub side: f64,
    /// How much the ratio varies from one restart to the next, or from one build to the next where several were measured:
    /// the standard deviation of its logarithm.
    pub spread: f64,
    /// Standard error of the logarithm of the ratio.
    pub error: f64,
    /// Degrees of freedom of the interval.
    pub degrees_of_freedom: f64,
}

impl Duet {
    /// What it says with an interval of so many standard errors.
    #[must_use]
    pub fn with_critical_value(self, critical: f64) -> Self {
        let Interval { estimate, confidence, .. } = self.ratio;
        Self { ratio: around(estimate.ln(), critical * self.error, confidence), ..self }
    }
}

/// The interval of a ratio from its logarithm.
fn around(mean: f64, reach: f64, confidence: f64) -> Interval {
    Interval { estimate: mean, low: mean - reach, high: mean + reach, confidence }.exp()
}

/// Compares two builds by the restarts of each pair of builds; a build that was compiled once is one pair. `prior` is what
/// earlier duets say of the variance between restarts, or [`Prior::none`].
///
/// # Errors
/// When there are fewer than two restarts or pairs of builds, when the sides were never exchanged, when a restart has no
/// window, a logarithm is not finite, or `confidence` is not strictly between 0 and 1.
pub fn duet(builds: &[Vec<Restart>], prior: &Prior, confidence: f64) -> Result<Duet, StatsError> {
    let side = side_effect(builds.iter().flatten())?;
    let restarts =
        builds.iter().map(|restarts| restarts.iter().map(|restart| level(restart, side)).collect());
    let restarts: Vec<Vec<Level>> = restarts.collect::<Result<_, _>>()?;
    let outermost = match restarts.as_slice() {
        [only] => only.clone(),
        several => several.iter().map(|restarts| build_level(restarts)).collect::<Result<_, _>>()?,
    };
    let lost = if exchanged_within(builds) { 0.0 } else { 1.0 };
    let spread = spread(&outermost, lost)?;
    let Some(moderated) = prior.moderate(&spread) else {
        return Err(StatsError::TooFew { what: "a duet", needed: 3, got: outermost.len() });
    };
    let mean = outermost.iter().map(|level| level.mean).sum::<f64>() / outermost.len() as f64;
    let error = (moderated.variance * share_of_variance(builds, outermost.len())).sqrt();
    let critical = student::critical_value_of(confidence, moderated.degrees_of_freedom)?;
    Ok(Duet {
        ratio: around(mean, critical * error, confidence),
        side,
        error,
        spread: spread.variance.sqrt(),
        degrees_of_freedom: moderated.degrees_of_freedom,
    })
}

/// What the duets of two builds vary by, from restart to restart and from one pair of windows of a life to the next, in both
/// arrangements of the sides; `None` where restarts tell nothing.
///
/// # Errors
/// When there are fewer than two restarts, or one has no window, or a logarithm is not finite.
pub fn components(restarts: &[Restart]) -> Result<Option<Components>, StatsError> {
    let side = side_effect(restarts.iter())?;
    let levels: Vec<Level> = restarts.iter().map(|restart| level(restart, side)).collect::<Result<_, _>>()?;
    let spread = spread(&levels, 0.0)?;
    let windows = restarts.iter().map(|restart| (restart.straight.len() + restart.swapped.len()) as f64);
    let windows = windows.sum::<f64>() / restarts.len() as f64;
    Ok((spread.degrees_of_freedom > 0.0).then(|| Components {
        restart_sd: (spread.variance - spread.within).max(0.0).sqrt(),
        window_sd: (spread.within * windows).sqrt(),
        windows,
        degrees_of_freedom: spread.degrees_of_freedom,
    }))
}

/// A restart or a build: its mean, and the variance of that mean by what it was made of.
#[derive(Debug, Clone, Copy)]
struct Level {
    mean: f64,
    variance: f64,
}

/// Half the difference between the two arrangements: over restarts that saw both, or else between restarts.
fn side_effect<'r>(restarts: impl Iterator<Item = &'r Restart>) -> Result<f64, StatsError> {
    let (mut within, mut straight, mut swapped) = (Vec::new(), Vec::new(), Vec::new());
    for restart in restarts {
        finite(&restart.straight)?;
        finite(&restart.swapped)?;
        let of = |windows: &[f64]| huber(windows).map(|(location, _)| location);
        match (of(&restart.straight), of(&restart.swapped)) {
            (Some(a), Some(b)) => within.push((b - a) / 2.0),
            (Some(a), None) => straight.push(a),
            (None, Some(b)) => swapped.push(b),
            (None, None) => at_least("a restart of a duet", 1, 0)?,
        }
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    if !within.is_empty() {
        return Ok(mean(&within));
    }
    at_least("a duet with its sides exchanged", 2, 2 * straight.len().min(swapped.len()).min(1))?;
    Ok((mean(&swapped) - mean(&straight)) / 2.0)
}

/// Whether every restart saw both arrangements, so that the sides' effect costs no degree of freedom between restarts.
fn exchanged_within(builds: &[Vec<Restart>]) -> bool {
    builds.iter().flatten().all(|restart| !restart.straight.is_empty() && !restart.swapped.is_empty())
}

/// What share of one level's variance is left in the mean of so many; more than one over their number where the two
/// arrangements were not seen equally often, because the mean lies halfway between them.
fn share_of_variance(builds: &[Vec<Restart>], levels: usize) -> f64 {
    let count =
        |of: fn(&Restart) -> bool| builds.iter().flatten().filter(|restart| of(restart)).count() as f64;
    let straight = count(|restart| restart.swapped.is_empty());
    let swapped = count(|restart| restart.straight.is_empty());
    let in_turns =
        builds.len() == 1 && straight + swapped == levels as f64 && straight > 0.0 && swapped > 0.0;
    if in_turns { (1.0 / straight + 1.0 / swapped) / 4.0 } else { 1.0 / levels as f64 }
}

fn level(restart: &Restart, side: f64) -> Result<Level, StatsError> {
    match (huber(&restart.straight), huber(&restart.swapped)) {
        (Some((a, of_a)), Some((b, of_b))) => {
            Ok(Level { mean: f64::midpoint(a, b), variance: (of_a + of_b) / 4.0 })
        }
        (Some((a, variance)), None) => Ok(Level { mean: a + side, variance }),
        (None, Some((b, variance))) => Ok(Level { mean: b - side, variance }),
        (None, None) => Err(StatsError::TooFew { what: "a restart of a duet", needed: 1, got: 0 }),
    }
}

/// A pair of builds, by its restarts.
fn build_level(restarts: &[Level]) -> Result<Level, StatsError> {
    at_least("a pair of builds", 1, restarts.len())?;
    let means: Vec<f64> = restarts.iter().map(|level| level.mean).collect();
    let windows = restarts.iter().map(|level| level.variance).sum::<f64>() / (means.len() as f64).powi(2);
    let between = Sample::of("restarts", &means).map_or(0.0, |sample| sample.standard_error.powi(2));
    Ok(Level { mean: means.iter().sum::<f64>() / means.len() as f64, variance: windows.max(between) })
}

fn spread(levels: &[Level], lost: f64) -> Result<Spread, StatsError> {
    let means: Vec<f64> = levels.iter().map(|level| level.mean).collect();
    let sample = Sample::of("a duet", &means)?;
    let n = means.len() as f64;
    let degrees_of_freedom = n - 1.0 - lost;
    let squares = sample.standard_error.powi(2) * n * (n - 1.0);
    let variance = if degrees_of_freedom > 0.0 { squares / degrees_of_freedom } else { 0.0 };
    let within = levels.iter().map(|level| level.variance).sum::<f64>() / n;
    // A restart has dozens of windows, and those that restarts themselves make are the only part in doubt.
    let of_windows = f64::INFINITY;
    Ok(Spread {
        variance,
        degrees_of_freedom: degrees_of_freedom.max(0.0),
        within,
        of_windows,
        ..Spread::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{DuetOutcome, Duets};
    use chacha20::ChaCha8Rng;
    use chacha20::rand_core::SeedableRng as _;

    fn outcome(duets: Duets, margin: f64, seed: u64) -> DuetOutcome {
        duets.outcome(800, margin, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap()
    }

    #[test]
    fn the_advantage_of_a_side_cancels() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let both = Duets::measured(1.4, 8, 40);
        for (duets, degrees_of_freedom) in [(both, 7.0), (Duets { in_turns: true, ..both }, 6.0)] {
            let found = duet(&duets.measure(&mut rng), &Prior::none(), 0.95).unwrap();
            assert!(
                (found.ratio.estimate / 1.4 - 1.0).abs() < 0.01 && found.ratio.contains(1.4),
                "{found:?}"
            );
            assert!(
                (found.side - 0.03).abs() < 0.01 && found.degrees_of_freedom == degrees_of_freedom,
                "{found:?}"
            );
        }
    }

    #[test]
    fn what_duets_vary_by_is_told_in_its_parts() {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let duets = Duets { shape: crate::simulation::Shape::Normal, ..Duets::measured(1.1, 400, 20) };
        let found = components(&duets.measure(&mut rng)[0]).unwrap().unwrap();
        assert!((found.restart_sd / 0.0044 - 1.0).abs() < 0.15, "{found:?}");
        assert!((found.window_sd / 0.021 - 1.0).abs() < 0.15 && found.windows == 40.0, "{found:?}");
        let one = Restart { straight: vec![0.0, 0.1], swapped: vec![0.1, 0.0] };
        assert!(components(&[one]).is_err());
    }

    #[test]
    fn equals_are_called_different_in_at_most_one_run_of_twenty() {
        for (seed, restarts, in_turns) in [(2, 4, false), (3, 6, false), (4, 6, true), (5, 10, false)] {
            let found = outcome(Duets { in_turns, ..Duets::measured(1.0, restarts, 20) }, 0.0, seed);
            assert!((0.005..=0.05).contains(&found.shown), "{restarts} restarts: {found:?}");
        }
    }

    #[test]
    fn two_percent_are_shown_by_few_restarts() {
        let found = outcome(Duets::measured(1.02, 6, 40), 0.01, 6);
        assert!(found.shown >= 0.8, "{found:?}");
    }

    #[test]
    fn builds_are_the_outer_level() {
        let lucky = Duets { builds: (5, 0.02), ..Duets::measured(1.0, 3, 10) };
        let found = outcome(lucky, 0.0, 7);
        assert!(found.covered >= 0.93, "five builds: {found:?}");
        let one = outcome(Duets { builds: (1, 0.02), ..lucky }, 0.0, 8);
        assert!(one.covered < 0.75, "one build's luck is taken for the change: {one:?}");
    }

    #[test]
    fn what_cannot_be_told_is_refused() {
        let window = |log: f64| Restart { straight: vec![log, log], swapped: Vec::new() };
        assert!(
            duet(&[vec![window(0.0), window(0.1)]], &Prior::none(), 0.95).is_err(),
            "sides never exchanged"
        );
        let both = Restart { straight: vec![0.0], swapped: vec![0.1] };
        assert!(duet(&[vec![both.clone()]], &Prior::none(), 0.95).is_err(), "one restart");
        assert!(duet(&[vec![both.clone(), Restart::default()]], &Prior::none(), 0.95).is_err(), "no window");
        let infinite = Restart { straight: vec![f64::INFINITY], swapped: vec![0.1] };
        assert!(duet(&[vec![both, infinite]], &Prior::none(), 0.95).is_err());
        assert!(duet(&[], &Prior::none(), 0.95).is_err());
    }
}
