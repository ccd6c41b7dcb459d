//! Load generators by name, and what each says of a load that it made.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::units::Nanos;

/// A load generator: ours, or one of another project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GeneratorName {
    /// `assay load`.
    Assay,
    /// The generator wrk.
    Wrk,
    /// wrk2, which is wrk with a rate.
    Wrk2,
    /// h2load, of nghttp2.
    H2load,
    /// The generator oha.
    Oha,
    /// ab, of Apache httpd.
    Ab,
    /// The generator bombardier.
    Bombardier,
    /// The generator autocannon.
    Autocannon,
}

impl GeneratorName {
    /// Every generator that is known, ours first.
    pub const ALL: [Self; 8] = [
        Self::Assay,
        Self::Wrk,
        Self::Wrk2,
        Self::H2load,
        Self::Oha,
        Self::Ab,
        Self::Bombardier,
        Self::Autocannon,
    ];

    /// Name of the generator, as its own project writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assay => "assay",
            Self::Wrk => "wrk",
            Self::Wrk2 => "wrk2",
            Self::H2load => "h2load",
            Self::Oha => "oha",
            Self::Ab => "ab",
            Self::Bombardier => "bombardier",
            Self::Autocannon => "autocannon",
        }
    }

    /// Whether it has one thread, however many CPUs it is given.
    pub fn is_single_threaded(self) -> bool {
        matches!(self, Self::Ab | Self::Autocannon)
    }

    /// Whether it is our own.
    pub fn is_ours(self) -> bool {
        self == Self::Assay
    }
}

impl fmt::Display for GeneratorName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// A name that no generator has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no load generator that assay can drive; it knows {}", known())]
pub struct UnknownGenerator {
    /// What was given.
    pub given: String,
}

fn known() -> String {
    GeneratorName::ALL.map(GeneratorName::name).join(", ")
}

impl FromStr for GeneratorName {
    type Err = UnknownGenerator;

    fn from_str(text: &str) -> Result<Self, UnknownGenerator> {
        let named = Self::ALL.into_iter().find(|name| name.name() == text);
        named.ok_or_else(|| UnknownGenerator { given: text.to_owned() })
    }
}

/// What a generator says of a load: by its own clock, and by its own idea of what a right answer is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Told {
    /// Answers that it calls right.
    pub right: u64,
    /// Requests that it calls failed, for whatever reason.
    pub failed: u64,
    /// Length of the load.
    pub window_ns: Nanos,
    /// Mean of the times that it took, if it tells one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<Nanos>,
    /// Percentiles of these times, rising; those that it tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<ToldPercentile>,
}

/// A percentile of the times that a generator took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToldPercentile {
    /// The quantile, 0 to 1.
    pub quantile: f64,
    /// How long.
    pub time_ns: Nanos,
}

/// Two names of the same percentile differ by less than this: 0.99 and 99 / 100.
const SAME_QUANTILE: f64 = 1e-7;

impl Told {
    /// Right answers per second by its own count and clock; 0 for no time.
    pub fn per_second(&self) -> f64 {
        self.window_ns.rate_of(self.right)
    }

    /// The percentile of this quantile, if it was told.
    pub fn percentile(&self, quantile: f64) -> Option<Nanos> {
        let is_it = |told: &&ToldPercentile| (told.quantile - quantile).abs() < SAME_QUANTILE;
        self.percentiles.iter().find(is_it).map(|told| told.time_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_is_read_by_its_name_and_an_unknown_one_is_told_with_those_that_are_known() {
        for name in GeneratorName::ALL {
            assert_eq!(name.name().parse(), Ok(name));
            assert_eq!(serde_json::to_string(&name).expect("json"), format!("\"{name}\""));
        }
        let error = "wkr".parse::<GeneratorName>().expect_err("unknown").to_string();
        assert!(error.contains("`wkr`") && error.contains("assay, wrk, wrk2, h2load"), "{error}");
    }

    #[test]
    fn a_percentile_is_found_by_its_quantile() {
        let at = |quantile, ns| ToldPercentile { quantile, time_ns: Nanos(ns) };
        let told = Told {
            right: 10,
            window_ns: Nanos::from_millis(500),
            percentiles: vec![at(0.5, 1), at(99.0 / 100.0, 2)],
            ..Told::default()
        };
        assert_eq!((told.percentile(0.99), told.percentile(0.9)), (Some(Nanos(2)), None));
        assert_eq!((told.per_second(), Told::default().per_second()), (20.0, 0.0));
    }
}
