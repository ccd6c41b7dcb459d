//! Energy, as the counters of the CPUs tell it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::interval::Interval;
use crate::units::Nanos;

/// What the CPU packages of this machine and their memory took over a span, whoever ran on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Energy {
    /// Length of the span.
    pub wall_ns: Nanos,
    /// All packages together, in microjoules.
    pub packages_uj: u64,
    /// Their memory, in microjoules; absent where no counter tells it apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_uj: Option<u64>,
}

impl Energy {
    /// Packages and memory, in microjoules.
    pub fn total_uj(&self) -> u64 {
        self.packages_uj.saturating_add(self.memory_uj.unwrap_or(0))
    }

    /// Two spans together.
    #[must_use]
    pub fn then(&self, later: &Self) -> Self {
        Self {
            wall_ns: self.wall_ns + later.wall_ns,
            packages_uj: self.packages_uj.saturating_add(later.packages_uj),
            memory_uj: self.memory_uj.zip(later.memory_uj).map(|(a, b)| a.saturating_add(b)),
        }
    }

    /// What is taken in as long a span as another at the same power, in microjoules; zero for an empty span.
    pub fn total_uj_in(&self, wall_ns: Nanos) -> f64 {
        self.total_uj() as f64 * (wall_ns.0 as f64 / self.wall_ns.0.max(1) as f64)
    }
}

/// Whether a run's energy is told, and from which counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Metering {
    /// Counters are read beside each window and turn.
    Metered {
        /// Their names, as the kernel calls them: `package-0`, `dram`.
        counters: BTreeSet<String>,
        /// What the machine took before the first server was started; absent where the run ended before that was known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle: Option<Energy>,
    },
    /// There is no counter.
    NoCounter,
    /// There are counters, which this user may not read.
    NotAllowed {
        /// The first of their files.
        file: String,
    },
    /// There are counters that never move, as some hypervisors show them.
    StandStill,
    /// Servers live on another host, whose counters are not read.
    AnotherHost,
}

/// What a right answer takes of the machine's energy: means over restarts, in microjoules.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnergyPerAnswer {
    /// All that the machine took in the meantime.
    pub whole_uj: Interval,
    /// What the machine takes idle in the same time; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_uj: Option<f64>,
    /// What it took beyond that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_idle_uj: Option<Interval>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_add_up_and_memory_is_known_only_where_both_tell_it() {
        let span = |memory_uj| Energy { wall_ns: Nanos::from_millis(500), packages_uj: 700, memory_uj };
        let both = span(Some(50)).then(&span(Some(60)));
        assert_eq!((both.wall_ns, both.total_uj()), (Nanos::from_millis(1000), 1_510));
        assert_eq!(span(Some(50)).then(&span(None)).memory_uj, None);
        assert_eq!(both.total_uj_in(Nanos::from_millis(100)).round(), 151.0);
        assert_eq!(Energy::default().total_uj_in(Nanos::from_millis(100)), 0.0);
    }
}
