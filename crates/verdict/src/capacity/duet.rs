//! Windows of two servers at once: which belong together, and what their ratios say (docs/method/duet.md).

use std::collections::BTreeSet;

use assay_model::cpuset::CpuSet;
use assay_model::design::Side;
use assay_model::evidence::Proportion;
use assay_model::experiment::Cell;
use assay_model::record::{DuetTurn, MAX_GENERATOR_DELAY_SHARE, Measurement};
use assay_model::units::{Nanos, total};
use assay_stats::duet::{Duet, Restart, duet};
use assay_stats::moderation::Prior;
use assay_stats::simultaneous::{Boundary, Looks};

use crate::evidence::window::DecodedRecord;

/// Share of the pairs of windows beyond which those that are left are not believed: what made so many void was there in the
/// others too.
const MOST_VOID: f64 = 0.5;

/// The windows of two that were under load at the same time.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Played {
    /// The pairs that count, in each round (or group of one) that has some.
    pub restarts: Vec<Restart>,
    /// Pairs that are void, of all.
    pub void: Proportion,
    /// How long both were under load in those that count.
    pub length: Nanos,
}

impl Played {
    /// What the windows of `new` with `base` were.
    ///
    /// A round is not left out because its turns are void: what a hypervisor or another program takes from one of the two it
    /// takes from the other, which is what the design is for. A pair is void by itself where a generator had to wait for its
    /// CPU, because that spoils one of the two.
    pub(crate) fn of(evidence: &DecodedRecord<'_>, cell: &Cell, base: &str, new: &str) -> Self {
        let generators = evidence.record.isolation.generator_cpus.parse::<CpuSet>();
        let shares_cpu = generators.is_ok_and(|cpus| cpus.len() == 1);
        let windows =
            |name| evidence.server_runs(name, cell).into_iter().map(|server_run| server_run?.window(cell));
        let both = windows(base).zip(windows(new)).filter_map(|(base, new)| Some((base?, new?)));
        let mut played = Self::default();
        for (of_base, of_new) in both {
            played.add((base, &of_base.duet), (new, &of_new.duet), shares_cpu);
        }
        played
    }

    /// Whether so many are void that the others say nothing.
    pub(crate) fn is_withheld(&self) -> bool {
        self.void.hits as f64 > MOST_VOID * self.void.of as f64
    }

    /// What it says of the rates, new over base, and by how many restarts; `None` where nothing was measured, too much is void,
    /// or too few restarts are left.
    pub(crate) fn ratio(&self, looks: Looks, confidence: f64) -> Option<(Duet, usize)> {
        let told = duet(std::slice::from_ref(&self.restarts), &Prior::none(), confidence);
        let (told, restarts) = (told.ok().filter(|_| !self.is_withheld())?, self.restarts.len());
        let Looks::EveryRound { most_rounds } = looks else { return Some((told, restarts)) };
        // Where servers lived in groups, a control has several restarts in a round.
        let boundary = Boundary::every_round(2, most_rounds, confidence).ok()?;
        let critical = boundary.critical_value_of(restarts.min(most_rounds), told.degrees_of_freedom)?;
        Some((told.with_critical_value(critical), restarts))
    }

    /// Pairs the windows of one restart: those of the same rotation, each beside the other and on the other side.
    fn add(
        &mut self,
        (base, of_base): (&str, &[DuetTurn]),
        (new, of_new): (&str, &[DuetTurn]),
        shares_cpu: bool,
    ) {
        let mut restart = Restart::default();
        for turn in of_base.iter().filter(|turn| turn.beside == new) {
            let is_its = |other: &&DuetTurn| {
                other.beside == base && other.rotation == turn.rotation && other.side == turn.side.other()
            };
            let Some(other) = of_new.iter().find(is_its) else { continue };
            self.void.of += 1;
            let counts = counts(turn, other, shares_cpu) && counts(other, turn, shares_cpu);
            let Some(ratio) = log_ratio(turn, other).filter(|_| counts) else {
                self.void.hits += 1;
                continue;
            };
            match turn.side {
                Side::First => restart.straight.push(ratio),
                Side::Second => restart.swapped.push(ratio),
            }
            self.length += turn.load.window_ns;
        }
        if restart != Restart::default() {
            self.restarts.push(restart);
        }
    }
}

/// Whether the generator of a window had its CPU. Where both have the same, each waits while the other works, as is meant.
fn counts(own: &DuetTurn, partner: &DuetTurn, shares_cpu: bool) -> bool {
    let meant = if shares_cpu { partner.load.generator_busy_share } else { 0.0 };
    own.load.generator_delay_share - meant <= MAX_GENERATOR_DELAY_SHARE
}

/// The logarithm of new over base; `None` where one of them answered nothing.
fn log_ratio(base: &DuetTurn, new: &DuetTurn) -> Option<f64> {
    let rate = |turn: &DuetTurn| turn.load.window_ns.rate_of(turn.load.ok);
    Some((rate(new) / rate(base)).ln()).filter(|ratio| ratio.is_finite())
}

/// How long pairs of all contenders were under load at once in windows that count; both windows of a pair are one time.
pub(crate) fn counting_length(evidence: &DecodedRecord<'_>) -> Nanos {
    let lives = evidence.rounds.iter().flatten();
    let windows = lives.flat_map(|life| life.windows.iter().map(move |window| (life, window)));
    let pairs: BTreeSet<(&Cell, &str, &str)> = windows
        .flat_map(|(life, window)| {
            let own = life.run.contender.as_str();
            window.duet.iter().map(move |turn| {
                let beside = turn.beside.as_str();
                (&window.measured.cell, own.min(beside), own.max(beside))
            })
        })
        .collect();
    let played = pairs.into_iter().map(|(cell, one, other)| Played::of(evidence, cell, one, other));
    played.filter(|played| !played.is_withheld()).map(|played| played.length).sum()
}

/// Share of the requests of all duets of a contender that failed, 0 to 1.
pub(crate) fn failed_share<'w>(windows: impl Iterator<Item = &'w Measurement>) -> f64 {
    let turns = windows.flat_map(|window| &window.duet);
    let (failed, all) = turns.fold((0, 0), |(failed, all), turn| {
        let load = &turn.load;
        (total([failed, load.failed]), total([all, load.failed, load.ok]))
    });
    if all == 0 { 0.0 } else { failed as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use assay_model::load::LoadTurn;

    use super::*;

    fn turn(beside: &str, rotation: u32, side: Side, ok: u64) -> DuetTurn {
        let load = LoadTurn { window_ns: Nanos::from_millis(100), ok, ..LoadTurn::default() };
        DuetTurn { beside: beside.to_owned(), rotation, side, load, ..DuetTurn::default() }
    }

    #[test]
    fn windows_are_paired_by_rotation_partner_and_side() {
        let (first, second) = (Side::First, Side::Second);
        let base = [
            turn("new", 0, first, 100),
            turn("new", 0, second, 100),
            turn("base′", 0, first, 100),
            turn("new", 1, first, 100),
            turn("new", 2, second, 0),
        ];
        let new = [
            turn("base", 0, second, 200),
            turn("base", 0, first, 400),
            // Without a partner: the base's window of that rotation was on the other side.
            turn("base", 1, first, 900),
            turn("base", 2, first, 900),
            turn("other", 0, second, 900),
        ];
        let mut found = Played::default();
        found.add(("base", &base), ("new", &new), false);
        let [restart] = found.restarts.as_slice() else { panic!("{found:?}") };
        assert_eq!((restart.straight.len(), restart.swapped.len()), (1, 1));
        assert!(
            (restart.straight[0].exp() - 2.0).abs() < 1e-9 && (restart.swapped[0].exp() - 4.0).abs() < 1e-9
        );
        assert_eq!(found.void, Proportion::new(1, 3), "one in which the base answered nothing");
        let mut nobody = Played::default();
        nobody.add(("base", &base), ("nobody", &new), false);
        assert_eq!(nobody, Played::default());
    }

    #[test]
    fn a_generator_that_waited_spoils_its_pair_unless_its_partner_had_the_cpu() {
        let (first, second) = (Side::First, Side::Second);
        let waiting = |delay: f64, busy: f64| {
            let mut turn = turn("base", 0, second, 200);
            (turn.load.generator_delay_share, turn.load.generator_busy_share) = (delay, busy);
            turn
        };
        let void = |of_new: DuetTurn, busy: f64, shares_cpu: bool| {
            let mut base = turn("new", 0, first, 100);
            base.load.generator_busy_share = busy;
            let mut found = Played::default();
            found.add(("base", &[base]), ("new", &[of_new]), shares_cpu);
            found.void
        };
        assert_eq!(void(waiting(0.05, 0.4), 0.5, false), Proportion::new(0, 1));
        assert_eq!(void(waiting(0.45, 0.4), 0.5, false), Proportion::new(1, 1));
        assert_eq!(void(waiting(0.45, 0.4), 0.5, true), Proportion::new(0, 1), "the partner's work is meant");
        assert_eq!(void(waiting(0.65, 0.3), 0.5, true), Proportion::new(1, 1), "somebody else's is not");
    }
}
