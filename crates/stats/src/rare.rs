//! Rare events: whether something befalls one more often than others.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::StatsError;
use crate::error::open_unit;

/// Probability that of all events at least as many befall one as did, if they befell everybody alike in proportion to the
/// time for which each was looked at, in any unit: given their number they are binomial (Przyborowski & Wilenski, Biometrika
/// 31, 1940).
///
/// # Errors
/// When there was no time for either side.
pub fn more_often_p(own: u64, own_time: f64, others: u64, others_time: f64) -> Result<f64, StatsError> {
    let share = own_time / (own_time + others_time);
    open_unit("share of the time", share)?;
    if own == 0 {
        return Ok(1.0);
    }
    let of =
        |value: f64| StatsError::OutOfRange { name: "share of the time", range: "between 0 and 1", value };
    Ok(Binomial::new(share, own + others).map_err(|_| of(share))?.sf(own - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_in_proportion_are_no_surprise_and_many_are() {
        let p = |own, others| more_often_p(own, 1.0, others, 9.0).unwrap();
        assert_eq!(p(0, 3), 1.0);
        assert!((p(1, 0) - 0.1).abs() < 1e-12 && (p(3, 0) - 1e-3).abs() < 1e-12);
        assert!(p(2, 18) > 0.5 && p(12, 18) < 1e-4);
        // One of two: 1 − 0.9².
        assert!((p(1, 1) - 0.19).abs() < 1e-12);
        assert!(more_often_p(1, 1.0, 0, 0.0).is_err() && more_often_p(1, 0.0, 0, 0.0).is_err());
    }
}
