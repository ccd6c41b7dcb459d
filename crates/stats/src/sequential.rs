//! Looking at the results after every round, and stopping when nothing is left to find out.
//!
//! A pair is settled when its interval has left the margin of a tie, or lies inside it. The intervals come from a
//! [`Boundary`](crate::simultaneous::Boundary) that was fixed before the first round and covers all looks together, so the
//! decision to stop may depend on them in any way: at whatever round the experiment ends, they still cover as they say, and
//! the chance that any pair is ever called distinct without being so is at most 1 − confidence.
//!
//! A contender may be left out once all its pairs are settled, to spend the rounds on others; its pairs keep what was
//! known then. Adding rounds beyond the planned number is not allowed for: plan for the most that the budget permits.

use crate::Interval;
use crate::tiers::{Call, call};

/// What is known of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Shown to differ by more than the margin.
    Distinct,
    /// Shown to differ by less than the margin.
    Equivalent,
    /// Not shown to be either yet: another round may tell.
    Open,
}

/// What an interval of a ratio shows. Inside the margin is shown to be equivalent: the interval-inclusion form of two
/// one-sided tests (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987).
pub fn settled(ratio: &Interval, margin: f64) -> Settled {
    if call(ratio, margin) != Call::Tie {
        Settled::Distinct
    } else if ratio.low >= 1.0 / (1.0 + margin) && ratio.high <= 1.0 + margin {
        Settled::Equivalent
    } else {
        Settled::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_settled_beyond_the_margin_or_within_it() {
        let of = |low: f64, high: f64| {
            settled(&Interval { estimate: (low * high).sqrt(), low, high, confidence: 0.95 }, 0.01)
        };
        assert_eq!([of(1.02, 1.1), of(0.9, 0.98)], [Settled::Distinct; 2]);
        assert_eq!([of(0.995, 1.009), of(1.0, 1.0)], [Settled::Equivalent; 2]);
        assert_eq!([of(0.98, 1.005), of(1.005, 1.02), of(0.9, 1.1)], [Settled::Open; 3]);
    }
}
