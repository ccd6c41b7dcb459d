//! Turns, the short windows in which the servers of a round are measured, and what others may take from a turn or a window.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::energy::Energy;
use crate::load::LoadTurn;
use crate::rule::Rule;
use crate::speed::{Gauged, WindowSpeed};
use crate::units::Nanos;

/// Share of CPU time that a hypervisor may take from a window's CPUs before the window is void, 0 to 1. Above a tenth of
/// this the whole run carries a warning; the kernel counts in ticks of 10 ms, too coarse to void a short window for less.
pub const MAX_STEAL_SHARE: f64 = 0.1;

/// Share of the server CPUs' time that other programs may use before a window is void, 0 to 1.
pub const MAX_OTHER_SHARE: f64 = 0.1;

/// Share of a window for which the generator's threads may have waited for a CPU before the window is void, 0 to 1. Above
/// a tenth of this the contender carries a warning. Each thread has a CPU of its own, so whoever made it wait was somebody
/// else; kernel threads take a few thousandths even on a quiet machine.
pub const MAX_GENERATOR_DELAY_SHARE: f64 = 0.1;

/// The three greatest shares, in the order in which [`TimeTaken`] has them.
const MAX_SHARES: [f64; 3] = [MAX_STEAL_SHARE, MAX_OTHER_SHARE, MAX_GENERATOR_DELAY_SHARE];

/// Share of a turn that may be taken in each of these ways where a gauge was read: there the verdict takes out of its rate what others took,
/// and what is left varies as that of undisturbed turns does (docs/method/gauge.md#time-that-others-take).
pub const MAX_SHARE_TAKEN_OUT: f64 = 0.25;

/// One of the short windows in which the servers of a round take turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// The number of the rotation over all servers, from 0. A turn from which others took too much is repeated at once: both have this number.
    pub rotation: u32,
    /// Its place in the rotation, from 0; that of a repeated one is that of both.
    pub place: u32,
    /// When it began, after the start of the whole run.
    pub offset_ns: Nanos,
    /// Load that its server had behind it in this life when it began.
    #[serde(default)]
    pub loaded_ns: Nanos,
    /// What the generator saw.
    #[serde(flatten)]
    pub load: LoadTurn,
    /// CPU time of the server's processes from just before its load to just after it; absent where it could not be observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_ns: Option<Nanos>,
    /// What the machine took from just before its load to just after it; absent where it is not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// How fast the CPUs of server and generator were beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<WindowSpeed>,
    /// How fast these CPUs were while it lasted; absent where servers are on another host, and in records from before it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gauged: Option<Gauged>,
    /// What others took from it; absent where the server's host is another one, and in records from before turns told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<TimeTaken>,
}

/// Time that others took from the CPUs of server and generator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeTaken {
    /// Share of the pinned CPUs' time that a hypervisor took away, 0 to 1.
    pub steal_share: f64,
    /// Share of the server CPUs' time that other programs used (see [`Machine`](crate::record::Machine)), 0 to 1.
    pub server_other_share: f64,
    /// Longest share of the turn for which a thread of the generator waited for its CPU, 0 to 1, without what a database or an
    /// upstream used that has the same CPUs by plan.
    pub generator_delay_share: f64,
}

impl TimeTaken {
    /// The rules for which a window that it was taken from must not be used.
    pub fn void_rules(self) -> impl Iterator<Item = Rule> {
        self.beyond(MAX_SHARES)
    }

    fn beyond(self, [steal, other, delay]: [f64; 3]) -> impl Iterator<Item = Rule> {
        let broken = [
            (Rule::Steal, self.steal_share > steal),
            (Rule::OtherPrograms, self.server_other_share > other),
            (Rule::GeneratorDisturbed, self.generator_delay_share > delay),
        ];
        broken.into_iter().filter(|(_, is_broken)| *is_broken).map(|(rule, _)| rule)
    }
}

impl Turn {
    /// Whether others took so much of it that it must not be used, as far as it tells.
    pub fn is_void(&self) -> bool {
        self.void_rules().next().is_some()
    }

    /// The rules for which it must not be used, as far as it tells.
    pub fn void_rules(&self) -> impl Iterator<Item = Rule> {
        let limits = match self.gauged.as_ref().is_some_and(Gauged::was_read) {
            true => [MAX_SHARE_TAKEN_OUT; 3],
            false => MAX_SHARES,
        };
        self.taken.into_iter().flat_map(move |taken| taken.beyond(limits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_turn_with_a_gauge_others_may_take_more() {
        let [none, unread, read] = [None, Some(0), Some(9_000)].map(|ns: Option<u64>| {
            ns.map(|ns| Gauged { server_ns: vec![Nanos::ZERO, Nanos(ns)], ..Gauged::default() })
        });
        let broken = |gauged: &Option<Gauged>, taken| {
            Turn { gauged: gauged.clone(), taken: Some(taken), ..Turn::default() }
                .void_rules()
                .collect::<Vec<_>>()
        };
        let stolen = |steal_share| TimeTaken { steal_share, ..TimeTaken::default() };
        let waited = |generator_delay_share| TimeTaken { generator_delay_share, ..TimeTaken::default() };
        for strict in [&none, &unread] {
            assert_eq!(
                (broken(strict, stolen(0.1)), broken(strict, stolen(0.11))),
                (vec![], vec![Rule::Steal])
            );
        }
        assert_eq!((broken(&read, stolen(0.25)), broken(&read, stolen(0.26))), (vec![], vec![Rule::Steal]));
        assert_eq!(
            (broken(&read, waited(0.25)), broken(&read, waited(0.26))),
            (vec![], vec![Rule::GeneratorDisturbed])
        );
        assert!(!Turn { gauged: read, ..Turn::default() }.is_void(), "nothing is told");
    }
}
