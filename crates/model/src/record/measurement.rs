//! What a window of load says of itself: whether it counts, and what its books are about.

use std::collections::BTreeSet;

use super::{Machine, Measurement, TimeTaken, Turn};
use crate::check::{Check, CheckOutcome};
use crate::experiment::Cell;
use crate::load::{ErrorClass, LoadReport, StackCounts};
use crate::rule::Rule;
use crate::units::{Nanos, total};
use crate::usage::Usage;

/// What others may take, of a window or of a turn ([`TimeTaken`]).
const TAKEN: [Rule; 3] = [Rule::Steal, Rule::OtherPrograms, Rule::GeneratorDisturbed];

/// Time that a thread taken off its CPU waits at least until it is back, in nanoseconds: the slice of the one that came in
/// its place (kernel: `base_slice_ns`, 0.7 ms and more by number of CPUs). For kernels that do not count the waiting.
const SLICE_NS: u64 = 700_000;

impl Measurement {
    /// A window of which only this is known.
    pub fn new(cell: Cell, load: LoadReport) -> Self {
        Self {
            cell,
            offset_ns: Nanos::ZERO,
            loaded_ns: Nanos::ZERO,
            load,
            server: None,
            server_stack: None,
            database: None,
            upstream: None,
            straight: None,
            link_use: None,
            machine: Machine::default(),
            energy: None,
            turns: Vec::new(),
            duet: Vec::new(),
            idle_busy_share: None,
            server_seen_on: None,
            speed: None,
        }
    }

    /// The rules that it broke so badly that it must not be used, each once; empty for one that counts.
    pub fn void_rules(&self) -> Vec<Rule> {
        // A server that answers nothing right has failed; its window is not disturbed.
        // That requests left late, which once was a reason, concerns single percentiles (`Rule::SendLag`).
        let void = |check: &&Check| {
            check.outcome == CheckOutcome::Void && check.rule != Rule::Answers && check.rule != Rule::SendLag
        };
        let checks = self.load.checks.iter().filter(void);
        let mut broken: Vec<Rule> = checks.map(|check| check.rule).collect();
        let own = [
            (Rule::ServerRetransmissions, self.server_stack.as_ref().is_some_and(StackCounts::has_stalled)),
            (Rule::Ports, self.load.books.errors.contains_key(&ErrorClass::AddressExhausted)),
        ];
        let own = own.into_iter().filter(|(_, is_broken)| *is_broken).map(|(rule, _)| rule);
        for rule in self.taken().void_rules().chain(own) {
            if !broken.contains(&rule) {
                broken.push(rule);
            }
        }
        broken
    }

    /// What others took from it as a whole; of the generator's threads on average.
    fn taken(&self) -> TimeTaken {
        let Machine { steal_share, server_other_share, .. } = self.machine;
        TimeTaken { steal_share, server_other_share, generator_delay_share: self.generator_delay_share() }
    }

    /// The rules for which its throughput must not be used. What others took from a window that is made of turns, they took from some of
    /// these: those are left out, and the rest counts unless less than half of the rotations have a turn that does.
    pub fn rate_void_rules(&self) -> Vec<Rule> {
        let mut broken = self.void_rules();
        if self.turns.is_empty() || self.turns.iter().any(|turn| turn.taken.is_none()) {
            return broken;
        }
        broken.retain(|rule| !TAKEN.contains(rule));
        let counting = self.turns.iter().filter(|turn| !turn.is_void());
        if rotations(counting) * 2 < rotations(&self.turns) {
            let by_turns = self.turns.iter().flat_map(Turn::void_rules);
            broken.extend(by_turns.collect::<BTreeSet<Rule>>());
        }
        broken
    }

    /// Share of the window for which a thread of the generator could have run but waited for a CPU, on average over its
    /// threads, 0 to 1. Where the kernel does not count that, the times it was taken off its CPU tell at least so much.
    /// Waiting for a database or an upstream that has the same CPUs is part of the plan and does not count.
    pub fn generator_delay_share(&self) -> f64 {
        let generator = &self.load.generator;
        let delay = generator
            .run_delay_ns
            .map_or(generator.involuntary_switches.saturating_mul(SLICE_NS), |delay| delay.0);
        let threads = self.load.thread_busy_shares.len().max(1) as f64;
        let delay = delay.saturating_sub(total(self.beside_generator().map(|usage| usage.cpu_ns().0)));
        // The kernel counts a wait when it ends, so one that began before the window may seem to exceed it.
        (delay as f64 / (self.load.window_ns.0.max(1) as f64 * threads)).min(1.0)
    }

    /// Right answers over the span in which those who served were watched: what comes before the first turn counts in the books
    /// alone.
    pub fn answers_watched(&self) -> u64 {
        let in_turns = total(self.turns.iter().map(|turn| turn.load.answered));
        if in_turns > 0 { in_turns } else { self.load.books.ok }
    }

    /// What those used that had the generator's CPUs by plan: a database, an upstream.
    pub fn beside_generator(&self) -> impl Iterator<Item = &Usage> {
        let database = self.database.as_ref().filter(|database| database.beside_generator);
        let upstream = self.upstream.as_ref().filter(|upstream| upstream.beside_generator);
        database.map(|database| &database.usage).into_iter().chain(upstream.map(|upstream| &upstream.usage))
    }
}

/// How many rotations such turns were taken in: one that was disturbed may have been repeated in its own.
fn rotations<'t>(turns: impl IntoIterator<Item = &'t Turn>) -> usize {
    turns.into_iter().map(|turn| turn.rotation).collect::<BTreeSet<u32>>().len()
}
