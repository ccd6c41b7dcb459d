//! What duets will show ([`crate::duet`]), and how long they must be: their ratio varies by restart² + window² / pairs from one
//! restart to the next, and stands on its own restarts alone.

use super::design::{HALVINGS, KNOWN, LONGEST_S, ROUNDS};
use super::{Components, Costs, Design, Expectation};
use crate::table::detectable;
use crate::{StatsError, error, student};

/// The smallest difference that a duet of so many restarts, with so many pairs of windows in each, will be shown to have in four
/// runs of five, 0.02 for 2 %; `None` where that is nothing useful, or there are fewer than two restarts.
///
/// # Errors
/// When `confidence` is not strictly between 0 and 1.
pub fn duet_shows(
    noise: &Components,
    design: Design,
    confidence: f64,
    margin: f64,
) -> Result<Option<f64>, StatsError> {
    let degrees_of_freedom = design.rounds.saturating_sub(1) as f64;
    let critical = student::critical_value_of(confidence, degrees_of_freedom.max(1.0))?;
    let shown = detectable(standard_error(noise, design), critical, degrees_of_freedom, margin);
    Ok(shown.filter(|_| design.rounds > 1))
}

/// The shortest duet that will show a difference in four runs of five, with its design; `None` where a day is not enough. In
/// `costs` a rotation is what one more pair of windows takes.
///
/// # Errors
/// As [`duet_shows`], and when a cost is not a finite number above 0.
pub fn duet_for(
    noise: &Components,
    costs: &Costs,
    difference: f64,
    confidence: f64,
    margin: f64,
) -> Result<Option<Expectation>, StatsError> {
    error::positive("cost of a pair of windows in seconds", costs.rotation_s)?;
    error::not_negative("cost of a round in seconds", costs.round_s)?;
    student::critical_value_of(confidence, KNOWN)?;
    let mut shortest: Option<Expectation> = None;
    for rounds in ROUNDS {
        let most = ((LONGEST_S / rounds as f64 - costs.round_s) / costs.rotation_s).floor();
        let reaching = |rotations: f64| {
            let design = Design { rounds, rotations: rotations as usize };
            let shows = duet_shows(noise, design, confidence, margin)?.filter(|shows| *shows <= difference);
            Ok::<_, StatsError>(shows.map(|shows| Expectation { design, takes_s: costs.of(design), shows }))
        };
        if most < 1.0 {
            break;
        }
        let Some(mut found) = reaching(most)? else { continue };
        let (mut too_few, mut enough) = (0.0, most);
        for _ in 0..2 * HALVINGS {
            let middle = f64::midpoint(too_few, enough).ceil();
            match reaching(middle)? {
                Some(less) => (found, enough) = (less, middle),
                None => too_few = middle,
            }
            if enough - too_few <= 1.0 {
                break;
            }
        }
        if shortest.is_none_or(|shortest| found.takes_s < shortest.takes_s) {
            shortest = Some(found);
        }
    }
    Ok(shortest)
}

fn standard_error(noise: &Components, design: Design) -> f64 {
    noise.life_sd(design.rotations as f64) / (design.rounds as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Duets;
    use chacha20::ChaCha8Rng;
    use chacha20::rand_core::SeedableRng as _;

    /// Noise as measured of nginx against itself.
    const NOISE: Components =
        Components { restart_sd: 0.0044, window_sd: 0.021, windows: 60.0, degrees_of_freedom: 10.0 };
    const COSTS: Costs = Costs { round_s: 4.0, rotation_s: 0.2 };

    fn shows(rounds: usize, rotations: usize) -> f64 {
        duet_shows(&NOISE, Design { rounds, rotations }, 0.95, 0.01).unwrap().unwrap()
    }

    #[test]
    fn more_of_anything_shows_more_and_one_restart_nothing() {
        assert!(shows(3, 60) > shows(6, 60) && shows(6, 20) > shows(6, 60));
        assert_eq!(duet_shows(&NOISE, Design { rounds: 1, rotations: 60 }, 0.95, 0.01), Ok(None));
        assert!(duet_shows(&NOISE, Design { rounds: 6, rotations: 60 }, 1.0, 0.01).is_err());
    }

    /// What is promised is what simulated duets keep.
    #[test]
    fn a_difference_that_is_promised_is_shown_in_four_runs_of_five() {
        let promised = shows(6, 60);
        let duets =
            Duets { shape: crate::simulation::Shape::Normal, ..Duets::measured(1.0 + promised, 6, 30) };
        let outcome = duets.outcome(800, 0.01, &mut ChaCha8Rng::seed_from_u64(5)).unwrap();
        assert!((0.74..0.9).contains(&outcome.shown), "{promised}: {outcome:?}");
    }

    #[test]
    fn the_shortest_duet_for_a_difference_is_found() {
        let found = duet_for(&NOISE, &COSTS, 0.02, 0.95, 0.01).unwrap().unwrap();
        assert!(found.shows <= 0.02 && found.takes_s < 120.0, "{found:?}");
        let Design { rounds, rotations } = found.design;
        assert!(rotations == 1 || shows(rounds, rotations - 1) > 0.02, "{found:?}");
        assert_eq!(duet_for(&NOISE, &COSTS, 0.01, 0.95, 0.01), Ok(None), "no more than the margin");
        assert!(duet_for(&NOISE, &Costs { rotation_s: 0.0, ..COSTS }, 0.02, 0.95, 0.01).is_err());
    }
}
