//! How to spend a budget on restarts and rotations, and what it will show, from the noise of earlier runs.
//!
//! A life's level varies by restart² + window² / rotations. A restart costs time for starting and warming up, a rotation the
//! time of its windows, so the variance of a whole run is least with √(restart cost / rotation cost) · window / restart
//! rotations per life (Kalibera & Jones, ISMM 2013, §7, their n₁). But few restarts also mean few degrees of freedom and thus
//! wide intervals, which that formula does not know; so [`best`] compares designs by what they would show.

use super::Components;
use crate::error::not_negative;
use crate::moderation::{Prior, Restarts, Spread};
use crate::simultaneous::{Boundary, Looks, each_of, least_critical_value};
use crate::table::detectable;
use crate::{StatsError, error};

/// Numbers of rounds that are compared; between them little changes.
pub(super) const ROUNDS: [usize; 19] =
    [2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 40, 60, 100, 200, 300, 500, 1000, 2000];
/// Degrees of freedom with which a spread is as good as known: no design has more.
pub(super) const KNOWN: f64 = 1e6;
/// No run is planned for longer: a day.
pub(super) const LONGEST_S: f64 = 86_400.0;
/// Halvings of the search for a budget, which finds it within a thousandth.
pub(super) const HALVINGS: usize = 14;

/// What shall be compared, and how surely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComparisonPlan {
    /// Contenders of a table.
    pub contenders: usize,
    /// Tables of the run, which shall hold together.
    pub tables: usize,
    /// With what probability.
    pub confidence: f64,
    /// The largest difference that is none, 0.01 for 1 %.
    pub margin: f64,
    /// Whether the run is looked at after every round.
    pub looks: bool,
    /// Fewest windows that a run gives each restart; 1 at least.
    pub least_rotations: usize,
}

/// What time things take, for all contenders and tables together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// Of a round besides its windows: starts, warm-up, checks.
    pub round_s: f64,
    /// Of one rotation over all contenders and tables.
    pub rotation_s: f64,
}

impl Costs {
    /// The time that a design takes, in seconds.
    pub fn of(&self, design: Design) -> f64 {
        design.rounds as f64 * (self.round_s + design.rotations as f64 * self.rotation_s)
    }
}

/// A design: how many restarts, with how many windows each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Design {
    /// Rounds, that is, restarts of everybody.
    pub rounds: usize,
    /// Windows of a life.
    pub rotations: usize,
}

/// A design, what it takes, and what it will show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectation {
    /// The design.
    pub design: Design,
    /// Time that the design takes.
    pub takes_s: f64,
    /// The smallest difference that a typical pair will be shown to have in four runs of five, 0.09 for 9 %.
    pub shows: f64,
}

/// What a design will show; `None` where it is nothing useful.
///
/// # Errors
/// When the plan has fewer than two rounds, or a confidence that is not strictly between 0 and 1.
pub fn shows(plan: &ComparisonPlan, noise: &Components, design: Design) -> Result<Option<f64>, StatsError> {
    let lent = lent(plan, noise, design);
    let looks = if plan.looks { Looks::EveryRound { most_rounds: design.rounds } } else { Looks::Once };
    let confidence = each_of(plan.tables, plan.confidence);
    let boundary = Boundary::moderated(plan.contenders, looks, design.rounds, confidence, lent)?;
    let degrees_of_freedom = own(design) + lent;
    let Some(critical) = boundary.critical_value_of(design.rounds, degrees_of_freedom) else {
        return Ok(None);
    };
    Ok(detectable(standard_error(noise, design), critical, degrees_of_freedom, plan.margin))
}

/// What a design will not show less than: what a single pair at a single look would be shown to have, for which nothing is simulated;
/// `None` where that is nothing useful.
fn shows_at_best(
    plan: &ComparisonPlan,
    noise: &Components,
    design: Design,
) -> Result<Option<f64>, StatsError> {
    let lent = lent(plan, noise, design);
    let degrees_of_freedom = own(design) + lent;
    let confidence = each_of(plan.tables, plan.confidence);
    let critical = least_critical_value(design.rounds, confidence, lent, degrees_of_freedom)?;
    Ok(detectable(standard_error(noise, design), critical, degrees_of_freedom, plan.margin))
}

/// Degrees of freedom of a pair's own.
fn own(design: Design) -> f64 {
    design.rounds.saturating_sub(1) as f64
}

/// Degrees of freedom that a pair gains. What is known beforehand is not lent: the run will have its own spreads, and they lend what they
/// can.
fn lent(plan: &ComparisonPlan, noise: &Components, design: Design) -> f64 {
    let (rotations, own) = (design.rotations.max(1) as f64, own(design));
    let within = 2.0 * noise.window_sd.powi(2) / rotations;
    let between = 2.0 * noise.restart_sd.powi(2);
    let independent = own * (plan.tables * plan.contenders.saturating_sub(1)) as f64;
    let prior = Prior::alike(Restarts::expected(between), independent);
    let of_windows = 2.0 * f64::from(u32::try_from(design.rounds).unwrap_or(u32::MAX)) * (rotations - 1.0);
    prior.lent(&Spread {
        variance: within + between,
        degrees_of_freedom: own,
        within,
        of_windows,
        ..Spread::default()
    })
}

/// Of the logarithm of a pair's ratio.
fn standard_error(noise: &Components, design: Design) -> f64 {
    let windows = noise.window_sd.powi(2) / design.rotations.max(1) as f64;
    (2.0 * (windows + noise.restart_sd.powi(2)) / design.rounds as f64).sqrt()
}

/// The design that shows most within `budget_s`; `None` where two rounds do not fit into it, or nothing useful can be shown.
///
/// # Errors
/// As [`shows`], and when a cost or the budget is not a finite number above 0.
pub fn best(
    plan: &ComparisonPlan,
    noise: &Components,
    costs: &Costs,
    budget_s: f64,
) -> Result<Option<Expectation>, StatsError> {
    below(plan, noise, costs, budget_s, f64::INFINITY)
}

/// The best among designs that show no more than `at_most`. What may show most comes first, and is simulated only as long as it may show
/// more than the best so far.
fn below(
    plan: &ComparisonPlan,
    noise: &Components,
    costs: &Costs,
    budget_s: f64,
    at_most: f64,
) -> Result<Option<Expectation>, StatsError> {
    let mut designs = promising(plan, noise, costs, budget_s, at_most)?;
    designs.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut best: Option<Expectation> = None;
    for (design, least) in designs {
        if best.is_some_and(|best| least > best.shows) {
            break;
        }
        if let Some(shows) = shows(plan, noise, design)?
            && best.is_none_or(|best| (shows, design.rounds) < (best.shows, best.design.rounds))
        {
            best = Some(Expectation { design, takes_s: costs.of(design), shows });
        }
    }
    Ok(best)
}

/// The designs that spend a budget and may show `at_most` or less, from few rounds to many, each with what it shows at best.
fn promising(
    plan: &ComparisonPlan,
    noise: &Components,
    costs: &Costs,
    budget_s: f64,
    at_most: f64,
) -> Result<Vec<(Design, f64)>, StatsError> {
    error::positive("budget in seconds", budget_s)?;
    error::positive("cost of a rotation in seconds", costs.rotation_s)?;
    not_negative("cost of a round in seconds", costs.round_s)?;
    error::open_unit("confidence", plan.confidence)?;
    let mut designs = Vec::new();
    for rounds in ROUNDS {
        let rotations = ((budget_s / rounds as f64 - costs.round_s) / costs.rotation_s).floor();
        if rotations < plan.least_rotations as f64 {
            break;
        }
        let design = Design { rounds, rotations: rotations as usize };
        let least = shows_at_best(plan, noise, design)?.filter(|least| *least <= at_most);
        designs.extend(least.map(|least| (design, least)));
    }
    Ok(designs)
}

/// Whether some design of a budget shows `difference` or less: the first that does is enough.
fn reaches(
    plan: &ComparisonPlan,
    noise: &Components,
    costs: &Costs,
    budget_s: f64,
    difference: f64,
) -> Result<bool, StatsError> {
    for (design, _) in promising(plan, noise, costs, budget_s, difference)? {
        if shows(plan, noise, design)?.is_some_and(|shows| shows <= difference) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The least budget with which a typical pair will be shown to differ by `difference` in four runs of five, with its design;
/// `None` where a day is not enough.
///
/// # Errors
/// As [`best`].
pub fn budget_for(
    plan: &ComparisonPlan,
    noise: &Components,
    costs: &Costs,
    difference: f64,
) -> Result<Option<Expectation>, StatsError> {
    let mut budget_s = LONGEST_S;
    if !reaches(plan, noise, costs, budget_s, difference)? {
        return Ok(None);
    }
    let (mut too_little, mut enough) = ((2.0 * (costs.round_s + costs.rotation_s)).ln(), LONGEST_S.ln());
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(too_little, enough);
        if reaches(plan, noise, costs, middle.exp(), difference)? {
            (budget_s, enough) = (middle.exp(), middle);
        } else {
            too_little = middle;
        }
    }
    below(plan, noise, costs, budget_s, difference)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise as measured: restarts vary by 1.5 %, windows of a tenth of a second by 23 %.
    const NOISE: Components =
        Components { restart_sd: 0.015, window_sd: 0.23, windows: 20.0, degrees_of_freedom: 60.0 };
    const SHOWDOWN: ComparisonPlan = ComparisonPlan {
        contenders: 7,
        tables: 3,
        confidence: 0.95,
        margin: 0.01,
        looks: false,
        least_rotations: 1,
    };
    /// Six seconds to start and warm up everybody, 0.13 s for each of 21 windows.
    const COSTS: Costs = Costs { round_s: 6.0, rotation_s: 2.7 };

    fn at(rounds: usize, rotations: usize) -> f64 {
        shows(&SHOWDOWN, &NOISE, Design { rounds, rotations }).unwrap().unwrap()
    }

    #[test]
    fn no_design_has_fewer_windows_than_a_run_gives() {
        let uneven = Components { restart_sd: 0.2, window_sd: 0.01, ..NOISE };
        let of = |plan: &ComparisonPlan| best(plan, &uneven, &COSTS, 235.0).unwrap().unwrap().design;
        let (free, bound) = (of(&SHOWDOWN), of(&ComparisonPlan { least_rotations: 7, ..SHOWDOWN }));
        assert!(
            free.rotations < 7 && bound.rotations >= 7 && bound.rounds < free.rounds,
            "{free:?} {bound:?}"
        );
    }

    #[test]
    fn more_of_anything_shows_more() {
        assert!(at(3, 20) > at(3, 40) && at(3, 20) > at(6, 20) && at(2, 20) > at(3, 20));
        let looking = ComparisonPlan { looks: true, ..SHOWDOWN };
        let looked = shows(&looking, &NOISE, Design { rounds: 6, rotations: 20 }).unwrap().unwrap();
        assert!(looked > at(6, 20), "looks cost power");
    }

    #[test]
    fn a_budget_is_spent_as_it_shows_most() {
        let found = best(&SHOWDOWN, &NOISE, &COSTS, 235.0).unwrap().unwrap();
        assert!(found.takes_s <= 235.0 && found.shows < 0.3, "{found:?}");
        assert!(found.design.rounds >= 3 && found.design.rotations >= 8, "{found:?}");
        assert_eq!(best(&SHOWDOWN, &NOISE, &COSTS, 10.0), Ok(None), "two rounds do not fit");
        assert!(best(&SHOWDOWN, &NOISE, &COSTS, f64::NAN).is_err());
        assert!(best(&SHOWDOWN, &NOISE, &Costs { rotation_s: 0.0, ..COSTS }, 235.0).is_err());
    }

    #[test]
    fn the_budget_for_a_difference_is_the_least_that_shows_it() {
        let pair = ComparisonPlan { contenders: 2, tables: 1, ..SHOWDOWN };
        let duet = Components { restart_sd: 0.0044, window_sd: 0.021, ..NOISE };
        let costs = Costs { round_s: 4.0, rotation_s: 0.2 };
        let found = budget_for(&pair, &duet, &costs, 0.02).unwrap().unwrap();
        assert!(found.shows <= 0.02 && found.takes_s < 300.0, "{found:?}");
        let less = best(&pair, &duet, &costs, found.takes_s * 0.9).unwrap();
        assert!(less.is_none_or(|less| less.shows > 0.02), "{less:?} shows it for less than {found:?}");
        assert_eq!(budget_for(&pair, &duet, &costs, 0.010_001), Ok(None), "hardly more than the margin");
    }
}
