//! What all turns over one cell in one round have in common, whether servers are alone in theirs or play in pairs: who takes part, how
//! long turns are, and when there have been enough.

use std::time::{Duration, Instant};

use assay_model::experiment::Cell;
use assay_model::units::Nanos;

use super::settle::Settles;
use super::turn_length::{Bounds, TurnLength};
use crate::rounds::life::halt::{Halt, Halts};
use crate::rounds::life::server_run::OngoingRun;
use crate::schedule::MIN_ROTATIONS;
use crate::stop::Stop;

/// The turns over one cell in one round.
#[derive(Clone, Copy)]
pub(super) struct CellTurns<'a> {
    pub(crate) cell: &'a Cell,
    /// The number of the cell among the experiment's.
    pub(crate) number: usize,
    /// What each window may last.
    pub(crate) lengths: Bounds,
    /// What is known of the load that servers are to have before it.
    pub(crate) settles: &'a Settles,
    pub(crate) pace: Pace,
    pub(crate) seed: u64,
    pub(crate) round: u32,
    pub(crate) stop: &'a Stop,
}

/// When a cell has had its rotations: after so many, or when another one would end later than that, by the clock that stands still in
/// pauses ([`Stop::unpaused_now`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    pub(crate) most: u32,
    pub(crate) until: Option<Instant>,
    /// What a turn was planned to take, where nobody has timed one: slower ones are then fewer, because rounds that are planned as equals
    /// would not be if the first took the others' time.
    pub(crate) planned: Option<Duration>,
}

impl CellTurns<'_> {
    /// Has those join who take part in the cell and are asked; who could not is among the halts, with its place.
    pub(super) fn join_all<'l, 'a, P>(
        &self,
        server_runs: &'l mut [(usize, &mut OngoingRun<'a>)],
        is_asked: impl Fn(&OngoingRun<'a>) -> bool,
        join: impl Fn(usize, &'l mut OngoingRun<'a>) -> Result<P, Halt>,
    ) -> (Vec<P>, Halts) {
        let (mut participants, mut failures) = (Vec::new(), Halts::new());
        for (place, ongoing) in server_runs {
            if ongoing.server_run.cells.contains(self.cell) && is_asked(ongoing) {
                match join(*place, ongoing) {
                    Ok(participant) => participants.push(participant),
                    Err(failure) => failures.push((*place, failure)),
                }
            }
        }
        (participants, failures)
    }

    /// The length of a server's turns, whose answers take so long, if that is known.
    pub(super) fn length_for(&self, ongoing: &OngoingRun<'_>, response_time: Option<Nanos>) -> TurnLength {
        self.lengths.turn(self.settles.of(&ongoing.run.contender, self.cell), response_time)
    }
}

impl Pace {
    /// A share of what is left of it `now`, but the least number of rotations at least.
    pub(crate) fn part(self, share: f64, now: Instant) -> Self {
        // `as` saturates, and the value is a whole number in range.
        let most = (f64::from(self.most) * share).round() as u32;
        Self {
            most: most.max(MIN_ROTATIONS.min(self.most)),
            until: self.until.map(|until| now + until.saturating_duration_since(now).mul_f64(share)),
            ..self
        }
    }

    /// The pace of turns that begin `now`: over after the time that was planned for all of them, if it is not before.
    pub(super) fn as_planned(self, participants: usize, now: Instant) -> Self {
        let all = self.most.saturating_mul(u32::try_from(participants).unwrap_or(u32::MAX));
        let planned = self.planned.map(|each| now + each * all);
        Self { until: self.until.into_iter().chain(planned).min(), ..self }
    }

    /// Whether rotation `number`, the first being 0, may begin `now` when the longest so far took `longest`.
    pub(super) fn allows(self, number: u32, longest: Duration, now: Instant) -> bool {
        let in_time = |until| number < MIN_ROTATIONS || now + longest <= until;
        number < self.most && self.until.is_none_or(in_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_that_are_slower_than_planned_are_fewer_but_not_fewer_than_can_be_judged() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let planned = |each_s: f64| Some(Duration::from_secs_f64(each_s));
        // Four servers with six turns of a quarter of a second: six seconds, where a round could take ten.
        let pace =
            Pace { most: 6, until: Some(now + second * 10), planned: planned(0.25) }.as_planned(4, now);
        assert_eq!(pace.until, Some(now + second * 6));
        // A rotation takes two seconds instead of one.
        let fitting =
            |pace: Pace| (0..).find(|number| !pace.allows(*number, second * 2, now + second * 2 * *number));
        assert_eq!(fitting(pace), Some(3));
        let slow = Pace { planned: planned(0.01), ..pace }.as_planned(4, now);
        assert_eq!(fitting(slow), Some(MIN_ROTATIONS));
        let timed = Pace { planned: None, until: Some(now + second * 10), ..pace };
        assert_eq!((timed.as_planned(4, now), fitting(timed)), (timed, Some(5)));
        let late = Pace { until: Some(now + second * 4), ..pace }.as_planned(4, now);
        assert_eq!(late.until, Some(now + second * 4), "the round ends before");
    }
}
