//! The long look: one more life of each contender, under load for as long as the budget allows, so that slow modes and rare
//! pauses are seen (docs/method/ageing.md#the-long-look).

use std::time::{Duration, Instant};

use assay_model::experiment::Cell;
use assay_model::record::{Round, Run};
use assay_verdict::allocation::Settled;

use super::Runner;
use super::round::Entrant;
use super::turns::cell_turns::Pace;
use super::turns::ensemble::Ensemble;
use crate::error::LabError;
use crate::event::Event;
use crate::log;
use crate::schedule::MAX_ROTATIONS;

/// After so much load a life has been looked at for long enough.
const ENOUGH: Duration = Duration::from_secs(60);
/// Looks that are shorter than this tell too little for their time.
const LEAST: Duration = Duration::from_secs(6);
/// Most of the budget that all looks take together: who is told apart early wants to have the answer.
const MOST_OF_BUDGET: f64 = 0.25;

impl Runner<'_> {
    /// Looks at everybody who was not given up, where the rounds have left something to be told, and time for it.
    pub(super) fn look_long(&mut self) -> Result<(), LabError> {
        let Some((cell, length)) = self.look_ordered() else {
            log::no_long_look("this run asks for none, or its budget leaves no time for it");
            return Ok(());
        };
        if !self.has_to_look_long()? {
            log::no_long_look("the rounds have left nothing to be told, or a person ended the run");
            return Ok(());
        }
        let entrants = self.lookers(&cell);
        self.telling.notice(&Event::LookingLong { contenders: entrants.len(), length });
        let ends = self.bench.stop.unpaused_now() + length;
        let groups: Vec<&[Entrant]> = match self.bench.plan.takes_turns() {
            true => vec![&entrants],
            false => entrants.chunks(1).collect(),
        };
        let mut runs = Vec::new();
        for (done, group) in groups.iter().enumerate() {
            let now = self.bench.stop.unpaused_now();
            let left = ends.saturating_duration_since(now);
            let own = left / u32::try_from(groups.len() - done).unwrap_or(u32::MAX);
            runs.extend(self.look_at(group, &cell, now + own));
        }
        let index = self.rounds_done();
        self.record.long_look = Some(Round { index, server_host: self.homes.name_of_turn(), runs });
        self.save()
    }

    /// Whether the rounds have left something to be told, and nobody ended the run.
    pub(super) fn has_to_look_long(&self) -> Result<bool, LabError> {
        Ok(!self.bench.stop.ends_with_round() && assay_verdict::needs_long_look(&self.record)?)
    }

    /// The cell of the look, and how long it takes in all; `None` where the budget does not allow for it, or the run asks another
    /// question.
    fn look_ordered(&self) -> Option<(Cell, Duration)> {
        let experiment = &self.bench.plan.experiment;
        if experiment.searches() || experiment.comparing.is_some() || !experiment.long_look {
            return None;
        }
        let settings = self.record.settings_had();
        let is_fit = |cell: &Cell| cell.offered.is_capacity() && settings.contains(&cell.setting());
        let cell = experiment.cells().into_iter().find(is_fit)?;
        let left = self.timetable.left(self.bench.stop.unpaused_now())?;
        let budget = Duration::try_from_secs_f64(experiment.budget_s?).ok()?;
        let length = length(left, budget, self.lookers(&cell).len())?;
        Some((cell, length))
    }

    /// How long looks would take if the rounds were over now; nothing where there will be none.
    pub(super) fn length_of_look(&self) -> Duration {
        self.look_ordered().map_or(Duration::ZERO, |(_, length)| length)
    }

    /// Everybody that answers in the cell. The limit is among them where it takes turns with the others, because it shows what the
    /// machine does.
    fn lookers(&self, cell: &Cell) -> Vec<Entrant> {
        let Some(setting) = self.bench.settings.iter().position(|of| of.setting == cell.setting()) else {
            return Vec::new();
        };
        let takes_part = |subject: &usize| {
            let (own, entry) = (&self.subjects[*subject], &self.record.contenders[*subject]);
            let answers = self.cells_of(own).iter().any(|(_, of)| of == cell);
            let is_useful = !own.is_limit() || self.bench.plan.takes_turns();
            entry.control_of.is_none() && entry.absence_on(cell.setting()).is_none() && answers && is_useful
        };
        (0..self.subjects.len())
            .filter(takes_part)
            .map(|subject| Entrant { subject, setting, replica: 0 })
            .collect()
    }

    /// Looks at those that find room beside each other.
    fn look_at(&self, entrants: &[Entrant], cell: &Cell, until: Instant) -> Vec<Run> {
        let order: Vec<usize> = (0..self.bench.plan.experiment.cells().len()).collect();
        let number = self.bench.plan.experiment.cells().iter().position(|of| of == cell).unwrap_or(0);
        let allotments: Vec<_> = entrants.iter().map(|entrant| self.allotment(*entrant)).collect();
        let round = self.rounds_done();
        let server_runs = entrants.iter().zip(&allotments).map(|(entrant, allotment)| {
            let mut server_run = self.server_run(round, *entrant, allotment, &order);
            server_run.cells.retain(|of| of == cell);
            server_run
        });
        let nobody = Settled::default();
        let ensemble = Ensemble {
            bench: &self.bench,
            round,
            cells: vec![(number, cell.clone())],
            pace: Pace { most: MAX_ROTATIONS, until: Some(until), planned: None },
            settled: &nobody,
            settles: &self.known.settles,
            room: self.room(),
            needs: entrants.iter().map(|entrant| self.need(*entrant).holding).collect(),
            common: entrants.iter().position(|entrant| self.subjects[entrant.subject].is_limit()),
        };
        let ended = ensemble.take_turns(server_runs.collect(), &self.telling);
        let runs: Vec<Run> = ended.into_iter().flatten().map(|ended| ended.run).collect();
        for run in &runs {
            if let Some(reason) = &run.failure {
                let contender = run.contender.as_str();
                let setting = Some(run.setting()).filter(|_| self.bench.settings.len() > 1);
                self.telling.notice(&Event::Failed { contender, setting, reason });
            }
        }
        runs
    }
}

/// How long looks at so many contenders take together.
fn length(left: Duration, budget: Duration, contenders: usize) -> Option<Duration> {
    let contenders = u32::try_from(contenders).ok().filter(|n| *n > 0)?;
    let length = left.min(budget.mul_f64(MOST_OF_BUDGET)).min(ENOUGH * contenders);
    (length >= LEAST * contenders).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_take_what_the_budget_leaves_and_no_more_than_a_quarter_of_it() {
        let s = Duration::from_secs;
        assert_eq!(length(s(200), s(300), 3), Some(s(75)));
        assert_eq!(length(s(30), s(300), 3), Some(s(30)));
        assert_eq!(length(s(1000), s(3600), 2), Some(s(120)), "a minute each is enough");
        assert_eq!(length(s(17), s(300), 3), None, "six seconds each are too few");
        assert_eq!(length(s(20), s(30), 3), None, "a quick run");
        assert_eq!(length(s(200), s(300), 0), None);
    }
}
