//! A share of frames, in parts per million.

use std::fmt;
use std::str::FromStr;

const MILLION: u32 = 1_000_000;

/// A share from 0 to 100 percent, exact to a ten-thousandth of a percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate {
    per_million: u32,
}

impl Rate {
    /// The rate of what never happens.
    pub const ZERO: Self = Self { per_million: 0 };

    /// In parts per million.
    pub fn per_million(self) -> u32 {
        self.per_million
    }

    /// Whether it happens, for a random number of 32 bits.
    pub fn happens(self, random: u32) -> bool {
        (u64::from(random) * u64::from(MILLION)) >> 32 < u64::from(self.per_million)
    }
}

/// No share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no share; write 0% to 100% with steps of 0.0001%, such as 0.1%")]
pub struct RateError(String);

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let wrong = || RateError(text.to_owned());
        let percent: f64 = text.strip_suffix('%').and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
        let parts = percent * f64::from(MILLION) / 100.0;
        // Never what was not asked for: neither a wrong share nor none in place of a small one.
        let is_exact = (parts - parts.round()).abs() < 1e-6;
        let in_range = (0.0..=f64::from(MILLION)).contains(&parts);
        if is_exact && in_range { Ok(Self { per_million: parts.round() as u32 }) } else { Err(wrong()) }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}%", f64::from(self.per_million) * 100.0 / f64::from(MILLION))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        // A step that shares no factor with a million, so that every digit takes every value.
        for per_million in (0..=MILLION).step_by(7).chain([MILLION]) {
            let rate = Rate { per_million };
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
    }

    #[test]
    fn shares_are_of_hundred() {
        assert_eq!("0.1%".parse(), Ok(Rate { per_million: 1000 }));
        for wrong in ["", "1", "%", "-1%", "101%", "NaN%", "inf%", "0.00001%"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn none_and_all_are_exact() {
        for random in [0, 1, u32::MAX / 2, u32::MAX] {
            assert!(!Rate::ZERO.happens(random));
            assert!(Rate { per_million: MILLION }.happens(random));
        }
    }
}
