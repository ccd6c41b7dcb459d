//! How a run that goes on spends the rest of its time: on further restarts, or on more windows of each, by what it has seen of its
//! own noise (Kalibera & Jones, ISMM 2013, §7).
//!
//! Designs are compared by the difference that a typical pair would be shown to have. All pairs at once are allowed for by
//! Bonferroni's rule here, which needs no simulation: only which design is better matters, and that is the same.

use super::design::ROUNDS;
use super::{ComparisonPlan, Components, Costs};
use crate::error::{not_negative, positive};
use crate::moderation::{Prior, Restarts, Spread};
use crate::table::detectable;
use crate::{StatsError, student};

/// Up to so many further rounds each number is tried.
const EVERY_NUMBER: usize = 10;

/// Degrees of freedom that an expectation of restarts is worth beside what a run has seen of them.
const WORTH_OF_EXPECTED: f64 = 4.0;

/// Most degrees of freedom that a pair is expected to be lent beside its own rounds. Judges lend more where windows tell most of a
/// spread; but simulated showdowns of four or five rounds leave fewer pairs open than those of two whose typical pair promises the
/// same, because spreads of few rounds scatter (docs/method/statistics.md#how-often-it-errs).
const MOST_LENT: f64 = 8.0;
/// Rounds without which no run is content where they fit: of two, a window that is void leaves one, and where contenders vary to
/// different extents seven simulated runs of a hundred were wrong.
const ENOUGH: usize = 3;
/// Windows of a life that are expected not to count: its connections are new.
const NEW: f64 = 1.0;
/// Fewest windows of a life in a last round for which the usual fewest do not fit: one that counts is more than time that is left over.
const FEWEST_IN_THE_LAST: usize = 2;

/// A run that goes on, or has not begun.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// Windows of a typical life in each round that is over.
    pub done: Vec<f64>,
    /// Time that is left, in seconds.
    pub left_s: f64,
    /// Fewest and most rounds of the whole run.
    pub rounds: [usize; 2],
    /// Fewest and most windows of a life.
    pub rotations: [usize; 2],
}

/// What is to come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rest {
    /// Further rounds.
    pub rounds: usize,
    /// Windows of a life in each.
    pub rotations: usize,
    /// The smallest difference that a typical pair will be shown to have in four runs of five, 0.09 for 9 %; `None` where it is
    /// none that anybody can use.
    pub shows: Option<f64>,
}

/// The rounds that show most within the time that is left; `None` where no further one fits. Rounds that are still missing to the
/// fewest are ordered whether they fit or not, and a single one with fewer windows than usual where nothing else fits.
///
/// # Errors
/// When a cost or the time is not a finite number, that of a rotation not above 0, or the plan's confidence not strictly between 0
/// and 1.
pub fn rest(
    plan: &ComparisonPlan,
    noise: &Components,
    costs: &Costs,
    course: &Course,
) -> Result<Option<Rest>, StatsError> {
    positive("cost of a rotation in seconds", costs.rotation_s)?;
    not_negative("cost of a round in seconds", costs.round_s)?;
    not_negative("time that is left in seconds", course.left_s)?;
    let ([fewest, most], done) = (course.rounds, course.done.len());
    let missing = fewest.saturating_sub(done);
    let mut best: Option<Rest> = None;
    for rounds in missing.max(1)..=most.saturating_sub(done) {
        if rounds > EVERY_NUMBER && rounds != missing && !ROUNDS.contains(&rounds) {
            continue;
        }
        let rotations = costs.rotations_in(course.left_s / rounds as f64).min(course.rotations[1]);
        if rotations < course.rotations[0] && rounds > missing {
            break;
        }
        let rotations = rotations.max(course.rotations[0]);
        let of_rounds = std::iter::repeat_n(rotations as f64, rounds);
        let windows: Vec<f64> = course.done.iter().copied().chain(of_rounds).collect();
        let shows = shows(plan, noise, &windows)?;
        let is_better = best.is_none_or(|best| {
            let are_too_few = done + best.rounds < ENOUGH;
            are_too_few || shows.is_some_and(|shows| best.shows.is_none_or(|of_best| shows < of_best))
        });
        if is_better {
            best = Some(Rest { rounds, rotations, shows });
        }
    }
    let last = costs.rotations_in(course.left_s);
    if best.is_none() && done < most && last >= FEWEST_IN_THE_LAST {
        let windows: Vec<f64> = course.done.iter().copied().chain([last as f64]).collect();
        return Ok(Some(Rest { rounds: 1, rotations: last, shows: shows(plan, noise, &windows)? }));
    }
    Ok(best)
}

impl Costs {
    /// Rotations that fit into a round of so many seconds.
    fn rotations_in(&self, seconds: f64) -> usize {
        // `as` saturates: what is negative is 0.
        ((seconds - self.round_s) / self.rotation_s).floor() as usize
    }
}

impl Components {
    /// A run's own noise, as far as its restarts tell: an earlier run's, or the usual one, is worth a few degrees of freedom beside
    /// them. One life is in each of the `tables`, so what varies in one of them varies in all.
    #[must_use]
    pub fn with_expected(self, expected: &Self, tables: usize) -> Self {
        let own = self.degrees_of_freedom / tables.max(1) as f64;
        let variance = (WORTH_OF_EXPECTED * expected.restart_sd.powi(2) + own * self.restart_sd.powi(2))
            / (WORTH_OF_EXPECTED + own);
        Self { restart_sd: variance.sqrt(), ..self }
    }
}

/// What rounds with so many windows of each life show.
fn shows(plan: &ComparisonPlan, noise: &Components, windows: &[f64]) -> Result<Option<f64>, StatsError> {
    let counting: Vec<f64> = windows.iter().map(|windows| (windows - NEW).max(1.0)).collect();
    let variance = |windows: &f64| noise.life_sd(*windows).powi(2);
    // A life with fewer windows weighs less.
    let precision: f64 = counting.iter().map(|windows| 1.0 / variance(windows).max(f64::MIN_POSITIVE)).sum();
    let typical = counting.len() as f64 / counting.iter().map(|windows| 1.0 / windows).sum::<f64>();
    let between = 2.0 * noise.restart_sd.powi(2);
    let within = 2.0 * noise.window_sd.powi(2) / typical;
    let own = windows.len() as f64 - 1.0;
    let independent = own * (plan.tables * plan.contenders.saturating_sub(1)) as f64;
    let prior = Prior::alike(Restarts::expected(between), independent);
    let of_windows = 2.0 * counting.iter().map(|windows| windows - 1.0).sum::<f64>();
    let spread = Spread {
        variance: between + within,
        degrees_of_freedom: own,
        within,
        of_windows,
        ..Spread::default()
    };
    let lent = MOST_LENT.min(prior.lent(&spread));
    let degrees_of_freedom = own + lent;
    if degrees_of_freedom <= 0.0 {
        return Ok(None);
    }
    let comparisons = (plan.tables * plan.contenders * plan.contenders.saturating_sub(1) / 2).max(1) as f64;
    let each = 1.0 - (1.0 - plan.confidence) / comparisons;
    let critical = student::critical_value_of(each, degrees_of_freedom)?;
    Ok(detectable((2.0 / precision).sqrt(), critical, degrees_of_freedom, plan.margin))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: ComparisonPlan = ComparisonPlan {
        contenders: 7,
        tables: 4,
        confidence: 0.95,
        margin: 0.01,
        looks: false,
        least_rotations: 1,
    };
    const COSTS: Costs = Costs { round_s: 6.0, rotation_s: 2.7 };

    fn noise(restart_sd: f64, window_sd: f64) -> Components {
        Components { restart_sd, window_sd, windows: 20.0, degrees_of_freedom: 60.0 }
    }

    fn course(done: &[f64], left_s: f64) -> Course {
        Course { done: done.to_vec(), left_s, rounds: [2, 40], rotations: [3, 2000] }
    }

    fn of(noise: &Components, course: &Course) -> Option<Rest> {
        rest(&PLAN, noise, &COSTS, course).expect("usable")
    }

    #[test]
    fn restless_restarts_get_more_rounds_and_restless_windows_more_windows() {
        let whole = course(&[], 235.0);
        let windows = of(&noise(0.002, 0.25), &whole).expect("fits");
        let restarts = of(&noise(0.05, 0.1), &whole).expect("fits");
        assert!(windows.rounds < restarts.rounds, "{windows:?} {restarts:?}");
        assert!(windows.rotations > restarts.rotations, "{windows:?} {restarts:?}");
        for rest in [windows, restarts] {
            let takes_s =
                COSTS.of(crate::planning::Design { rounds: rest.rounds, rotations: rest.rotations });
            assert!(takes_s <= 235.0 && takes_s > 235.0 - 3.0 * rest.rounds as f64, "{rest:?}: {takes_s} s");
        }
    }

    #[test]
    fn what_was_measured_counts() {
        let (noise, done) = (noise(0.02, 0.2), [30.0, 30.0]);
        let more = of(&noise, &course(&done, 100.0)).expect("fits");
        let alone = of(&noise, &course(&[], 100.0)).expect("fits");
        let [shown_by_more, shown_alone] =
            [&more, &alone].map(|rest| rest.shows.expect("something is shown"));
        assert!(shown_by_more < shown_alone, "{more:?} {alone:?}");
        let planned = super::super::shows(
            &PLAN,
            &noise,
            crate::planning::Design { rounds: 2 + more.rounds, rotations: 30 },
        );
        // The boundary of a run that is looked at once is lower than Bonferroni's with fewer degrees of freedom.
        let (planned, told) =
            (planned.unwrap().unwrap(), shows(&PLAN, &noise, &vec![30.0; 2 + more.rounds]).unwrap().unwrap());
        assert!((0.6..=1.02).contains(&(planned / told)), "{planned} {told}");
    }

    #[test]
    fn what_does_not_fit_is_ordered_only_where_rounds_are_missing() {
        let noise = noise(0.02, 0.2);
        assert_eq!(of(&noise, &course(&[10.0, 10.0], 5.0)), None);
        assert_eq!(of(&noise, &course(&[10.0], 5.0)).map(|rest| (rest.rounds, rest.rotations)), Some((1, 3)));
        let last = of(&noise, &course(&[10.0, 10.0], COSTS.round_s + 2.9 * COSTS.rotation_s)).expect("fits");
        assert_eq!((last.rounds, last.rotations), (1, 2), "time that would be left over");
        assert_eq!(of(&noise, &course(&[10.0, 10.0], COSTS.round_s + 1.9 * COSTS.rotation_s)), None);
        let two = of(&noise, &Course { rounds: [2, 2], ..course(&[], 235.0) }).expect("fits");
        assert_eq!(two.rounds, 2);
        assert_eq!(
            of(&noise, &Course { rounds: [2, 2], ..course(&[1.0, 1.0], 235.0) }),
            None,
            "all are over"
        );
        let many = of(&noise, &Course { rounds: [33, 33], ..course(&[], 900.0) }).expect("fits");
        assert_eq!(many.rounds, 33);
        let bounded = of(&noise, &Course { rotations: [3, 8], ..course(&[], 2000.0) }).expect("fits");
        assert_eq!(bounded.rotations, 8);
    }

    #[test]
    fn without_any_noise_three_rounds_do_and_nonsense_is_refused() {
        assert_eq!(of(&noise(0.0, 0.0), &course(&[], 235.0)).map(|rest| rest.rounds), Some(3));
        assert!(rest(&PLAN, &noise(0.01, 0.1), &COSTS, &course(&[], f64::NAN)).is_err());
        let free = Costs { rotation_s: 0.0, ..COSTS };
        assert!(rest(&PLAN, &noise(0.01, 0.1), &free, &course(&[], 100.0)).is_err());
    }
}
