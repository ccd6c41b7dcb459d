//! An objective for the answers of a service, as one share: how many requests may be late or fail.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::units::Nanos;

/// The quantiles that an objective may name, with the share in millionths that may lie beyond each.
const QUANTILES: [(&str, u32); 6] =
    [("p50", 500_000), ("p90", 100_000), ("p95", 50_000), ("p99", 10_000), ("p99.9", 1_000), ("max", 0)];

/// `p99<10ms` recast: at most 1 % of the requests take 10 ms or longer, or fail. `errors<0.1%` sets no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Slo {
    /// A response that takes longer is late; absent when only failures count.
    pub longest: Option<Nanos>,
    /// Requests that may be late or fail, in millionths of all.
    pub allowed_millionths: u32,
}

impl Slo {
    /// Share of the requests that may be late or fail, 0 to 1.
    pub fn allowed_share(&self) -> f64 {
        f64::from(self.allowed_millionths) / 1e6
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(longest) = self.longest else {
            return write!(out, "errors<{}%", f64::from(self.allowed_millionths) / 1e4);
        };
        let quantile = QUANTILES.iter().find(|(_, beyond)| *beyond == self.allowed_millionths);
        let quantile = quantile.map_or("max", |(name, _)| name);
        let (factor, unit) = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")]
            .into_iter()
            .find(|(factor, _)| longest.0.is_multiple_of(*factor))
            .unwrap_or((1, "ns"));
        write!(out, "{quantile}<{}{unit}", longest.0 / factor)
    }
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no objective; write for example p99<10ms, max<1s or errors<0.1%");
        let (what, limit) = text.split_once('<').ok_or_else(wrong)?;
        let (what, limit) = (what.trim(), limit.trim_start_matches('=').trim());
        if what == "errors" {
            let percent = limit.strip_suffix('%').and_then(|percent| percent.trim().parse::<f64>().ok());
            let percent = percent.filter(|percent| (0.0..100.0).contains(percent)).ok_or_else(wrong)?;
            return Ok(Self { longest: None, allowed_millionths: (percent * 1e4).round() as u32 });
        }
        let (_, beyond) = QUANTILES.iter().find(|(name, _)| *name == what).ok_or_else(wrong)?;
        if limit.parse::<f64>().is_ok() {
            return Err(format!("{limit} what? Write {what}<{limit}ms or {what}<{limit}s"));
        }
        let longest: Nanos = limit.parse()?;
        if longest == Nanos::ZERO {
            return Err(wrong());
        }
        Ok(Self { longest: Some(longest), allowed_millionths: *beyond })
    }
}

impl TryFrom<String> for Slo {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Slo> for String {
    fn from(slo: Slo) -> Self {
        slo.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_become_shares_and_are_written_as_they_were_read() {
        let of = |longest, allowed_millionths| Ok(Slo { longest, allowed_millionths });
        assert_eq!("p99<10ms".parse(), of(Some(Nanos::from_millis(10)), 10_000));
        assert_eq!("p99.9 <= 1500us".parse(), of(Some(Nanos::from_micros(1500)), 1_000));
        assert_eq!("max<1s".parse(), of(Some(Nanos::from_millis(1000)), 0));
        assert_eq!("errors<0.1%".parse(), of(None, 1_000));
        for text in ["p50<2s", "p99<10ms", "p99.9<1500us", "max<1s", "errors<0.1%"] {
            assert_eq!(text.parse::<Slo>().unwrap().to_string(), text);
        }
        for bad in ["", "p99", "p98<1ms", "p99<0ms", "p99<10 parsecs", "errors<5", "errors<100%", "10ms"] {
            assert!(bad.parse::<Slo>().is_err(), "{bad}");
        }
        assert_eq!("p99<20".parse::<Slo>().unwrap_err(), "20 what? Write p99<20ms or p99<20s");
    }
}
