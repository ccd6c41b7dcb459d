//! Units as types.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;

/// A point on the monotonic clock, or a span of time, in nanoseconds.
///
/// Subtraction saturates at zero: two clock readings of different threads may arrive in either order, and a
/// negative latency is never the truth.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Later than any reading of the clock.
    pub const MAX: Self = Self(u64::MAX);

    /// Whether it is no time at all, and so left out of a record.
    pub(crate) fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// A span of `n` microseconds.
    pub const fn from_micros(n: u64) -> Self {
        Self(n * 1_000)
    }

    /// A span of `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// A span of `seconds`; negative and not-a-number become zero, too large becomes [`Nanos::MAX`].
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9) as u64)
    }

    /// The reading of a clock that counts forwards from zero, in seconds and nanoseconds (clock_gettime(2)). Engines read one with
    /// every event, so nothing is checked: 584 years fit.
    pub fn from_reading(seconds: i64, nanoseconds: i64) -> Self {
        Self(seconds.unsigned_abs() * 1_000_000_000 + nanoseconds.unsigned_abs())
    }

    /// The span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The rate of so many events over the span, per second; 0 over none.
    pub fn rate_of(self, events: u64) -> f64 {
        if self == Self::ZERO { 0.0 } else { events as f64 / self.as_secs_f64() }
    }
}

/// The sum of counts. They may be from a record that anybody wrote: one that is too large saturates.
pub fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Nanos {
    /// The sum of all; one that is too large saturates.
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

/// A span as people write it: `200us` or `200µs`, `500ms`, `10s`, `2m`. A number alone could mean two things, so only 0 may stand alone.
impl FromStr for Nanos {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let split = text.find(char::is_alphabetic).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let nanos = match unit {
            "ns" => 1.0,
            // The micro sign and the Greek letter look alike.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "" if number.trim() == "0" => 1e9,
            "" if number.trim().parse::<f64>().is_ok() => {
                let number = number.trim();
                return Err(format!("{number} what? Write {number}ms or {number}s"));
            }
            "m" | "min" => 60e9,
            "h" => 3600e9,
            "" => return Err(format!("`{number}` is no length of time; write for example 500ms, 10s or 2m")),
            _ => return Err(format!("`{unit}` is no unit of time; write for example 500ms, 10s or 2m")),
        };
        match number.trim().parse::<f64>() {
            Ok(value) if value >= 0.0 && value.is_finite() => Ok(Self((value * nanos) as u64)),
            _ => Err(format!("`{number}` is no length of time; write for example 500ms, 10s or 2m")),
        }
    }
}

impl From<Duration> for Nanos {
    fn from(span: Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(span: Nanos) -> Self {
        Self::from_nanos(span.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_their_units() {
        assert_eq!("300us".parse(), Ok(Nanos::from_micros(300)));
        for micros in ["300 µs", "300\u{b5}s", "300\u{3bc}s"] {
            assert_eq!(micros.parse(), Ok(Nanos::from_micros(300)), "{micros}");
        }
        assert_eq!("500ms".parse(), Ok(Nanos::from_millis(500)));
        assert_eq!("2m".parse(), Ok(Nanos::from_millis(120_000)));
        assert_eq!("1.5s".parse(), Ok(Nanos::from_millis(1500)));
        assert_eq!("0".parse(), Ok(Nanos::ZERO));
        assert_eq!(Nanos::from_reading(1, 500_000_000), Nanos::from_millis(1500));
        for bad in ["5 parsecs", "-1s", "", "ms"] {
            assert!(bad.parse::<Nanos>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_number_without_a_unit_is_refused_with_both_meanings() {
        let refused = |text: &str| text.parse::<Nanos>().unwrap_err();
        assert_eq!(refused("20"), "20 what? Write 20ms or 20s");
        assert_eq!(refused("0.5"), "0.5 what? Write 0.5ms or 0.5s");
    }

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Nanos(3) - Nanos(5), Nanos::ZERO);
        assert_eq!(Nanos::MAX + Nanos(1), Nanos::MAX);
        assert_eq!(Nanos::from_secs_f64(-1.0), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(1.5), Nanos(1_500_000_000));
    }
}
