//! A round in which all servers live at once: started one after the other, measured in turns, then in one piece where turns
//! are not to be had, and stopped.

use std::time::{Duration, Instant};

use assay_host::topology::Topology;
use assay_model::experiment::Cell;
use assay_model::record::{NotRun, Run};
use assay_model::units::Nanos;

use super::carousel::{Pace, Rotations};
use super::duet::Duets;
use super::life::{Life, Living};
use super::settle::Settles;
use super::telling::Telling;
use crate::plan::Plan;
use crate::schedule::{predicted_window, turns_of};
use crate::stop::Stop;

/// What stopping a server takes, before any was timed.
const TYPICAL_STOP: Duration = Duration::from_millis(100);
/// Share of a cell's time that turns have where duets have the rest: absolute rates need less precision than the ratio does.
const SHARE_OF_TURNS: f64 = 1.0 / 3.0;

/// One round of several lives.
pub(super) struct Ensemble<'a> {
    pub(super) plan: &'a Plan,
    pub(super) round: u32,
    /// The cells in which servers take turns, with their numbers, in the round's order.
    pub(super) cells: Vec<(usize, Cell)>,
    /// When the round must be over, if that is given; the turns use the time that is left.
    pub(super) until: Option<Instant>,
    pub(super) stop: &'a Stop,
    pub(super) settles: &'a Settles,
}

/// A life in this round.
enum Part<'a> {
    Alive(Box<Living<'a>>),
    Over(Box<Run>),
}

impl Ensemble<'_> {
    /// Lives all `lives` at once; their runs, in the same order.
    pub(super) fn perform(&self, lives: Vec<Life<'_>>, telling: &Telling<'_>) -> Vec<Run> {
        let mut parts: Vec<Part<'_>> = lives.into_iter().map(|life| self.begin(life, telling)).collect();
        self.rotate(&mut parts, telling);
        self.measure_in_one_piece(&mut parts, telling);
        parts.into_iter().map(|part| part.end(Ok(()))).collect()
    }

    /// Starts a server and warms it up, while those before it wait.
    fn begin<'a>(&self, life: Life<'a>, telling: &Telling<'_>) -> Part<'a> {
        if self.stop.soon() {
            return Part::Over(Box::new(life.unlived()));
        }
        match life.begin(telling) {
            Err(run) => Part::Over(run),
            Ok(mut living) => match living.warm_up() {
                Ok(()) => Part::Alive(Box::new(living)),
                Err(failure) => Part::Over(Box::new(living.end(Err(failure)))),
            },
        }
    }

    fn rotate(&self, parts: &mut [Part<'_>], telling: &Telling<'_>) {
        let after = self.time_after_the_turns(parts);
        for (done, (number, cell)) in self.cells.iter().enumerate() {
            let pace = self.pace(self.cells.len() - done, after);
            let is_duet = self.plan.experiment.is_duet(cell);
            let rotations = Rotations {
                cell,
                length: self.length_of_a_turn(),
                pace: if is_duet { pace.part(SHARE_OF_TURNS) } else { pace },
                seed: self.plan.seed,
                round: self.round,
                number: *number,
                stop: self.stop,
            };
            let settle = |contender: &str| self.settles.of(contender, cell);
            let mut lives: Vec<(usize, &mut Living<'_>)> = alive(parts).collect();
            let failures = rotations.run(&mut lives, settle, telling);
            self.bury(parts, failures);
            if is_duet {
                self.play_duets(parts, *number, cell, pace, telling);
            }
        }
    }

    /// Has base and others under load at the same time, for the rest of the cell's time.
    fn play_duets(
        &self,
        parts: &mut [Part<'_>],
        number: usize,
        cell: &Cell,
        pace: Pace,
        telling: &Telling<'_>,
    ) {
        let Some(comparing) = &self.plan.experiment.comparing else { return };
        let duets = Duets {
            cell,
            base: &comparing.base,
            length: self.length_of_a_turn(),
            pace,
            seats: Topology::read().halves(&self.plan.isolation.generator),
            seed: self.plan.seed,
            round: self.round,
            number,
            stop: self.stop,
        };
        let settle = |contender: &str| self.settles.of(contender, cell);
        let mut lives: Vec<(usize, &mut Living<'_>)> = alive(parts).collect();
        let failures = duets.play(&mut lives, settle, telling);
        self.bury(parts, failures);
    }

    /// A window that is shorter than a turn is one.
    fn length_of_a_turn(&self) -> Nanos {
        let experiment = &self.plan.experiment;
        let most_s = if self.until.is_some() { f64::INFINITY } else { experiment.window_s };
        Nanos::from_secs_f64(experiment.turn_s.min(most_s))
    }

    /// Each cell that is left has the same part of the time that is left.
    fn pace(&self, cells: usize, after: Duration) -> Pace {
        let Some(until) = self.until else { return Pace::Rotations(turns_of(&self.plan.experiment)) };
        let now = Instant::now();
        let left = until.saturating_duration_since(now).saturating_sub(after);
        Pace::Until(now + left / u32::try_from(cells).unwrap_or(u32::MAX))
    }

    /// What is measured in one piece, and stopping, probably takes.
    fn time_after_the_turns(&self, parts: &mut [Part<'_>]) -> Duration {
        let experiment = &self.plan.experiment;
        let own = |living: &Living<'_>| {
            let cells = living.life.cells.iter().filter(|cell| !experiment.is_turned(cell));
            cells.map(|cell| predicted_window(experiment, cell)).sum::<Duration>() + TYPICAL_STOP
        };
        alive(parts).map(|(_, living)| own(living)).sum()
    }

    fn measure_in_one_piece(&self, parts: &mut [Part<'_>], telling: &Telling<'_>) {
        let experiment = &self.plan.experiment;
        let failures: Vec<_> = alive(parts)
            .filter_map(|(place, living)| {
                let measured = living.windows(telling, |cell| !experiment.is_turned(cell));
                measured.err().map(|failure| (place, failure))
            })
            .collect();
        self.bury(parts, failures);
    }

    /// Ends those who failed.
    fn bury(&self, parts: &mut [Part<'_>], failures: Vec<(usize, Option<NotRun>)>) {
        for (place, failure) in failures {
            let part = std::mem::replace(&mut parts[place], Part::Over(Box::default()));
            parts[place] = Part::Over(Box::new(part.end(Err(failure))));
        }
    }
}

impl Part<'_> {
    fn end(self, measured: Result<(), Option<NotRun>>) -> Run {
        match self {
            Self::Alive(living) => living.end(measured),
            Self::Over(run) => *run,
        }
    }
}

fn alive<'p, 'a>(parts: &'p mut [Part<'a>]) -> impl Iterator<Item = (usize, &'p mut Living<'a>)> {
    parts.iter_mut().enumerate().filter_map(|(place, part)| match part {
        Part::Alive(living) => Some((place, &mut **living)),
        Part::Over(_) => None,
    })
}
