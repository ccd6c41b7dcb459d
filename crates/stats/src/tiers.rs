//! Verdicts: who is faster than whom beyond the margin, and the tiers that follow.

use crate::Interval;

/// The least margin: differences below 1 % are nobody's reason to choose a server.
pub const LEAST_MARGIN: f64 = 0.01;

/// What a pair's interval says about the first of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// The whole interval lies above the margin.
    Faster,
    /// The whole interval lies below the margin.
    Slower,
    /// The interval overlaps the margin. Not the same as equal: for that see [`crate::Ratio::equivalence_p`].
    Tie,
}

/// The smallest difference that is called one: `wanted`, [`LEAST_MARGIN`] or the user's, and never less than a bias that the
/// same server measured twice (A/A) shows in this table. How wide the interval of that ratio is says how noisy the run
/// was, which the intervals of all pairs say already; only when it excludes 1 has the design favoured one of two equals, by
/// at least the end that is nearer to 1.
pub fn margin_beyond_bias(wanted: f64, same_server_twice: Option<&Interval>) -> f64 {
    same_server_twice.map_or(wanted, |ratio| wanted.max(ratio.low - 1.0).max(1.0 / ratio.high - 1.0))
}

/// Calls one pair. The margin reaches from 1/(1+δ) to 1+δ, so that the call does not depend on which of the
/// two is named first (1/(1+δ) differs from 1−δ by less than δ²).
pub fn call(ratio: &Interval, margin: f64) -> Call {
    if ratio.low > 1.0 + margin {
        Call::Faster
    } else if ratio.high < 1.0 / (1.0 + margin) {
        Call::Slower
    } else {
        Call::Tie
    }
}

/// Cuts `order`, best first, into tiers: a contender that is distinct from anyone of the current tier opens the next.
///
/// So no two of one tier are shown to differ, but two neighbours on either side of a cut may themselves be tied. The
/// letters show that.
pub fn tiers(order: &[usize], distinct: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut tiers: Vec<Vec<usize>> = Vec::new();
    for &contender in order {
        match tiers.last_mut() {
            Some(tier) if !tier.iter().any(|&member| distinct(member, contender)) => tier.push(contender),
            _ => tiers.push(vec![contender]),
        }
    }
    tiers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, high: f64) -> Interval {
        Interval { estimate: (low * high).sqrt(), low, high, confidence: 0.95 }
    }

    #[test]
    fn a_call_needs_the_whole_interval_beyond_the_margin() {
        assert_eq!(call(&interval(1.011, 1.05), 0.01), Call::Faster);
        assert_eq!(call(&interval(1.009, 1.05), 0.01), Call::Tie);
        assert_eq!(call(&interval(0.9, 0.99), 0.01), Call::Slower);
        assert_eq!(call(&interval(0.9, 0.9902), 0.01), Call::Tie);
        assert_eq!(call(&interval(0.8, 1.2), 0.0), Call::Tie);
    }

    #[test]
    fn the_margin_grows_by_a_bias_that_equals_show_and_not_by_noise() {
        assert_eq!(margin_beyond_bias(0.01, None), 0.01);
        assert_eq!(margin_beyond_bias(0.01, Some(&interval(0.7, 1.4))), 0.01, "noise is no bias");
        assert_eq!(margin_beyond_bias(0.01, Some(&interval(1.005, 1.4))), 0.01);
        assert!((margin_beyond_bias(0.01, Some(&interval(1.04, 1.4))) - 0.04).abs() < 1e-12);
        assert!((margin_beyond_bias(0.01, Some(&interval(0.7, 1.0 / 1.04))) - 0.04).abs() < 1e-12);
        assert_eq!(margin_beyond_bias(0.05, Some(&interval(1.04, 1.4))), 0.05);
    }

    #[test]
    fn a_tier_holds_nobody_who_is_shown_to_differ_from_a_member() {
        // On a line 0, 1, 2, … contenders are distinct when 2 or more apart: a chain of ties that must still
        // be cut.
        let chain = tiers(&[0, 1, 2, 3, 4], |a, b| a.abs_diff(b) >= 2);
        assert_eq!(chain, [vec![0, 1], vec![2, 3], vec![4]]);
        assert_eq!(tiers(&[2, 0, 1], |_, _| false), [vec![2, 0, 1]]);
        assert!(tiers(&[], |_, _| true).is_empty());
        // The best is too restless to differ from anybody, the others are not.
        assert_eq!(tiers(&[0, 1, 2], |a, b| (a, b) == (1, 2)), [vec![0, 1], vec![2]]);
    }
}
