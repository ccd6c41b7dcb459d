//! How far a run is: what a round has shown of those to come, whether another one begins, and how long the rest takes.

use std::collections::BTreeSet;
use std::time::Duration;

use assay_model::record::State;
use assay_verdict::{MIN_ROUNDS, Settling};

use crate::error::LabError;
use crate::log;
use crate::rounds::Runner;
use crate::rounds::life::profiling;
use crate::schedule::rounds_before_settling;

impl Runner<'_> {
    /// The first measured length replaces the predicted one; from then on the longest counts, per contender measured.
    pub(crate) fn time_rounds(&mut self, index: u32, length: Duration) {
        let runs = self.record.rounds.last().map_or(&[][..], |round| &round.runs);
        let length = length.saturating_sub(profiling::spared(&self.bench.plan.experiment, runs));
        let next = length.mul_f64(self.taking_part() as f64 / self.took_part().max(1) as f64);
        self.timetable.expect(index, next);
        if index == 0 && self.bench.plan.experiment.until_settled && self.pacing.is_none() {
            // Fixed before the first look, because the sequential rule must know how many there can be.
            let compared = self.bench.plan.subjects.iter().filter(|subject| !subject.is_limit()).count();
            self.record.experiment.rounds =
                self.timetable.planned_rounds(&self.bench.plan.experiment, compared);
            log::planned(self.record.experiment.rounds, length);
        }
    }

    /// Looks at the results and decides who is measured in the next round.
    pub(crate) fn look(&mut self, index: u32) -> Result<Option<Settling>, LabError> {
        if !self.bench.plan.experiment.until_settled {
            return Ok(None);
        }
        let settling = assay_verdict::settling(&self.record)?;
        log::looked(index, &settling);
        if index + 1 >= rounds_before_settling(&self.bench.plan.experiment, settling.pairs) {
            let before = self.taking_part();
            self.unsettled = Some(settling.unsettled.clone());
            self.timetable.shorten(self.taking_part() as f64 / before.max(1) as f64);
        }
        Ok(Some(settling))
    }

    /// What speaks against another round, if anything does.
    pub(crate) fn obstacle(&self) -> Option<&'static str> {
        let (experiment, done) = (&self.record.experiment, self.rounds_done());
        let now = self.bench.stop.unpaused_now();
        let (of, fits) = if self.pacing.is_some() {
            (self.rounds_expected(), true)
        } else if self.fills_the_budget() {
            // Their turns end with the budget, unless starting the servers took longer than was predicted.
            (self.rounds_expected(), done < MIN_ROUNDS || !self.timetable.is_spent(now))
        } else {
            (experiment.rounds, self.timetable.allows_another(experiment, done, now))
        };
        let obstacles = [
            ("a person ended the run", self.bench.stop.ends_with_round()),
            ("too few contenders are left", self.nobody_left()),
            ("all is settled", self.all_settled()),
            ("there were as many as were planned", done >= of),
            ("another would end after the budget", !fits),
        ];
        obstacles.into_iter().find(|(_, is_there)| *is_there).map(|(what, _)| what)
    }

    /// Rounds with which nothing was cut: where the run chooses itself, fewer with more turns each are as good a use of the time.
    fn rounds_wanted(&self) -> u32 {
        if self.pacing.is_some() || self.bench.plan.experiment.until_settled {
            return self.bench.plan.guaranteed_rounds();
        }
        if self.fills_the_budget() { self.rounds_expected() } else { self.record.experiment.rounds }
    }

    /// Whether the turns of a number of rounds that is fixed before are as many as the budget allows.
    pub(crate) fn fills_the_budget(&self) -> bool {
        self.bench.plan.fills_the_budget()
    }

    pub(crate) fn rounds_done(&self) -> u32 {
        u32::try_from(self.record.rounds.len()).unwrap_or(u32::MAX)
    }

    /// How long so many further rounds take, and the long look where they leave time and a question for one.
    pub(crate) fn time_left(&self, rounds: u32) -> Result<Duration, LabError> {
        let now = self.bench.stop.unpaused_now();
        if rounds == 0 {
            return Ok(if self.has_to_look_long()? { self.length_of_look() } else { Duration::ZERO });
        }
        let due =
            self.timetable.time_of(self.bench.plan.guaranteed_rounds().saturating_sub(self.rounds_done()));
        let within = match (&self.pacing, self.timetable.left(now)) {
            (Some(_), Some(left)) => left,
            _ => self.timetable.time_for(rounds, self.length_of_look(), now),
        };
        Ok(within.max(due))
    }

    pub(crate) fn rounds_expected(&self) -> u32 {
        if let Some(pacing) = &self.pacing {
            return pacing.rounds();
        }
        if self.fills_the_budget() {
            return self.bench.plan.prediction(None).rounds;
        }
        self.timetable.affordable_rounds(&self.record.experiment)
    }

    pub(crate) fn all_settled(&self) -> bool {
        self.unsettled.as_ref().is_some_and(BTreeSet::is_empty)
    }

    /// How far the rounds got.
    pub(crate) fn reached(&self) -> State {
        if self.bench.stop.ends_with_round() {
            State::Interrupted
        } else if self.rounds_done() >= self.rounds_wanted() || self.nobody_left() || self.all_settled() {
            State::Complete
        } else {
            State::BudgetSpent
        }
    }
}
