//! What a budget buys: the precision to expect of so many rounds, and the rounds that a precision takes.
//!
//! A ratio's interval reaches t* · CV / √R on the logarithmic scale (Box, Hunter & Hunter, *Statistics for Experimenters*,
//! 2nd ed. 2005, §3.2), where CV is the coefficient of variation of two contenders' ratio from round to round. It has to
//! be known beforehand: from an earlier run on this machine, or from the first rounds.

mod design;
mod duet;
mod replicas;
mod rest;

use crate::error::{at_least, not_negative};
use crate::simultaneous::MOST_ROUNDS;
use crate::{StatsError, student};

pub use crate::table::Components;
pub use design::{ComparisonPlan, Costs, Design, Expectation, best, budget_for, shows};
pub use duet::{duet_for, duet_shows};
pub use replicas::{MOST_REPLICAS, replicas};
pub use rest::{Course, Rest, rest};

/// The fewest rounds after which the half-width to expect of one ratio is at most `goal` (0.014 for ± 1.4 %), when the ratio
/// varies with coefficient of variation `difference_cv` (0.02 for 2 %) from round to round; `None` when a thousand are not
/// enough.
///
/// # Errors
/// When `goal` or `difference_cv` is negative, or `confidence` is not strictly between 0 and 1.
pub fn rounds_for(goal: f64, difference_cv: f64, confidence: f64) -> Result<Option<usize>, StatsError> {
    not_negative("half-width", goal)?;
    half_width(difference_cv, 2, confidence)?;
    // The half-width falls with every round, so the first that is small enough is found by halving.
    let narrow_enough =
        |rounds: usize| half_width(difference_cv, rounds, confidence).map(|width| width <= goal);
    let (mut too_few, mut enough) = (1, MOST_ROUNDS);
    if !narrow_enough(enough)? {
        return Ok(None);
    }
    while enough - too_few > 1 {
        let middle = usize::midpoint(too_few, enough);
        if narrow_enough(middle)? {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    Ok(Some(enough))
}

/// The expected relative half-width of one ratio's interval after so many rounds, 0.014 for ± 1.4 %.
fn half_width(difference_cv: f64, rounds: usize, confidence: f64) -> Result<f64, StatsError> {
    not_negative("coefficient of variation", difference_cv)?;
    at_least("a plan", 2, rounds)?;
    Ok(reach(student::critical_value(confidence, rounds - 1)?, difference_cv, rounds))
}

fn reach(critical: f64, difference_cv: f64, rounds: usize) -> f64 {
    (critical * difference_cv / (rounds as f64).sqrt()).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs/method/stopping.md#planning: ± 2.5 % at R = 5, ± 1.4 % at R = 10, ± 0.94 % at R = 20 for a coefficient of
    /// variation of 2 %.
    #[test]
    fn plan_matches_the_methodology() {
        for (rounds, percent, rounding) in [(5, 2.5, 0.05), (10, 1.4, 0.05), (20, 0.94, 0.005)] {
            let got = 100.0 * half_width(0.02, rounds, 0.95).unwrap();
            assert!((got - percent).abs() <= rounding, "{rounds}: {got}");
        }
    }

    #[test]
    fn the_rounds_for_a_precision_are_the_first_that_reach_it() {
        for (goal, cv) in [(0.025, 0.02), (0.014, 0.02), (0.01, 0.03), (0.5, 0.001)] {
            let rounds = rounds_for(goal, cv, 0.95).unwrap().unwrap();
            assert!(half_width(cv, rounds, 0.95).unwrap() <= goal);
            assert!(rounds == 2 || half_width(cv, rounds - 1, 0.95).unwrap() > goal, "{goal} {cv}: {rounds}");
        }
        assert_eq!(rounds_for(0.0001, 0.05, 0.95), Ok(None));
        assert_eq!(rounds_for(0.0, 0.0, 0.95), Ok(Some(2)), "without variation two rounds tell everything");
    }

    #[test]
    fn unusable_plans_are_refused() {
        assert!(half_width(0.02, 1, 0.95).is_err() && half_width(-1.0, 5, 0.95).is_err());
        assert!(rounds_for(-0.1, 0.02, 0.95).is_err() && rounds_for(0.1, 0.02, 1.0).is_err());
    }
}
