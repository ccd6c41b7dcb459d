//! Load that a fresh server gets before it is measured (docs/method/carousel.md#warm-up).

pub(crate) mod lead_in;
mod length;
pub(crate) mod rule;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use assay_host::counters::Counters;
use assay_model::experiment::Cell;
use assay_model::load::Arrival;
use assay_model::record::{Run, Warmup};
use assay_model::units::Nanos;
use assay_model::usage::Counted;

use self::length::{Life, WarmupLength, gets_warm, is_warmed_by_load};
use self::rule::{WARMUP_SLICE_S, rate_at_the_end, slices_needed};
use super::life::halt::Halt;
use super::life::server_run::{OngoingRun, ServerRun, while_wanted};
use super::telling::Telling;
use crate::contender::Server;
use crate::contender::learn::Occasion;
use crate::event::Event;
use crate::generator::Generator;
use crate::log;
use crate::schedule::MAX_WARMUP_CONNECTIONS;

/// Length of the slice in which system calls are counted, in seconds, where windows are not shorter: thousands of answers, or of a slow
/// server a few dozen.
const COUNTING_S: f64 = 0.1;

impl OngoingRun<'_> {
    /// Load before the first measurement, on every workload, so that none is measured cold because of where the round's
    /// order put it.
    pub(super) fn warm_up(&mut self, telling: &Telling<'_>) -> Result<(), Halt> {
        self.warm_up_where(|_, _| true, telling)
    }

    /// Load before the first turn, on workloads in which nobody takes turns, and in a contender's first life on one that needs no database
    /// and one that does: what a server holds has to be known before the next one starts. If the first life turns out to get warm by
    /// load, it has all workloads at once: code that was compiled for one of them may be given up for the next. The others are left to
    /// the [lead-in](Self::lead_in) of their first cell.
    pub(super) fn warm_up_for_turns(&mut self, telling: &Telling<'_>) -> Result<(), Halt> {
        let mut kinds = BTreeSet::new();
        let is_now = |life: &Self, cell: &Cell| {
            let is_first_of_kind = kinds.insert(life.server_run.database_of(cell).is_some());
            let is_known = life.server_run.earlier_warmup(&cell.workload).is_some();
            let is_asked_now = is_first_of_kind || is_warmed_by_load(&life.run);
            (is_asked_now && !is_known) || !life.takes_turns_on(&cell.workload)
        };
        self.warm_up_where(is_now, telling)
    }

    /// Load on each workload on which the life, as it is by then, is to be warmed up now.
    fn warm_up_where(
        &mut self,
        mut is_now: impl FnMut(&Self, &Cell) -> bool,
        telling: &Telling<'_>,
    ) -> Result<(), Halt> {
        for cell in self.widest_cells() {
            if is_now(self, &cell) {
                self.warm_up_in(cell, telling)?;
            }
        }
        self.learn(Occasion::Later)?;
        Ok(())
    }

    fn takes_turns_on(&self, workload: &str) -> bool {
        let mut own = self.server_run.cells.iter().filter(|cell| cell.workload == workload);
        own.any(|cell| self.server_run.bench.plan.experiment.is_turned(cell))
    }

    /// The cell of each workload that has most requests in flight; workloads without a database first, because what is slow at first on
    /// these is the server itself.
    fn widest_cells(&self) -> Vec<Cell> {
        let mut widest: BTreeMap<&str, &Cell> = BTreeMap::new();
        for cell in &self.server_run.cells {
            let known = widest.entry(&cell.workload).or_insert(cell);
            if cell.in_flight() > known.in_flight() {
                *known = cell;
            }
        }
        let mut cells: Vec<Cell> = widest.into_values().cloned().collect();
        cells.sort_by_key(|cell| self.server_run.database_of(cell).is_some());
        cells
    }

    fn warm_up_in(&mut self, cell: Cell, telling: &Telling<'_>) -> Result<(), Halt> {
        let connections = cell.connections.min(MAX_WARMUP_CONNECTIONS);
        let cell = Cell { connections, ..cell.capacity() };
        let length = self.warmup_length(&cell).until_near(self.server_run.warm_rate(&cell.workload));
        let warmup = self.server_run.warm_up_on(&mut self.server, &cell, length)?;
        let counting_s = if had_counting_slice(&warmup) { self.server_run.counting_s() } else { 0.0 };
        self.loaded += Nanos::from_secs_f64(warmup.per_second.len() as f64 * WARMUP_SLICE_S + counting_s);
        self.file_warmup(warmup, telling);
        Ok(())
    }

    /// Files a warm-up, and tells how fast the contender was in the end, if it was loaded for that.
    fn file_warmup(&mut self, warmup: Warmup, telling: &Telling<'_>) {
        let is_known = self.server_run.earlier_warmup(&warmup.workload).is_some();
        let (contender, Warmup { workload, per_second, .. }) = (&self.run.contender, &warmup);
        log::warmed_up(contender, &warmup, WARMUP_SLICE_S, is_known);
        if !is_known && !per_second.is_empty() {
            let per_second = rate_at_the_end(per_second);
            telling.notice(&Event::WarmedUp { contender, workload, per_second });
        }
        self.run.warmups.push(warmup);
    }

    /// How long the warm-up in a cell is on whose workload this life was not asked for yet.
    fn warmup_length(&self, cell: &Cell) -> WarmupLength {
        let workloads: BTreeSet<&str> =
            self.server_run.cells.iter().map(|cell| cell.workload.as_str()).collect();
        let needs_database = |workload: &str| {
            self.server_run.bench.plan.workload(workload).is_some_and(|workload| workload.database.is_some())
        };
        let was_asked = self.run.warmups.iter().any(|warmup| needs_database(&warmup.workload));
        let life = Life {
            run: &self.run,
            first: self.server_run.earlier_runs().find(|run| !run.warmups.is_empty()),
            is_first_on_database: needs_database(&cell.workload) && !was_asked,
            workloads: workloads.len(),
            most_s: self.server_run.bench.plan.experiment.warmup_s,
            in_flight: cell.in_flight(),
        };
        WarmupLength::of(&life, self.server_run.earlier_warmup(&cell.workload))
    }
}

impl ServerRun<'_> {
    /// Slices of load until the server no longer gets faster, in a later life as many as the first one needed
    /// ([`WarmupLength`]). The rule is the same for everybody; a compiled server is done in the least time, one with a just-in-time
    /// compiler takes what it needs.
    fn warm_up_on(&self, server: &mut Server, cell: &Cell, length: WarmupLength) -> Result<Warmup, Halt> {
        let is_counted = self.is_counted(&cell.workload);
        let workload = cell.workload.clone();
        let mut warmup = Warmup { workload, per_second: Vec::new(), settled: false, counted: None };
        if !length.is_reached(&[]) || !is_counted {
            let mut generator = self.start_generator(server, cell, Arrival::Closed)?;
            while_wanted(server, self.bench.stop, |wanted| generator.await_connections(wanted))?;
            warmup.per_second = self.warm_up_by(server, &mut generator, |done| length.is_reached(done))?;
            if !is_counted {
                warmup.counted = Some(self.count(server, &mut generator)?);
            }
        }
        warmup.settled = length.has_settled(&warmup.per_second);
        Ok(warmup)
    }

    /// Slices of load until those that were given are enough; their rates.
    fn warm_up_by(
        &self,
        server: &mut Server,
        generator: &mut Generator,
        is_enough: impl Fn(&[f64]) -> bool,
    ) -> Result<Vec<f64>, Halt> {
        let (slice, mut per_second) = (Nanos::from_secs_f64(WARMUP_SLICE_S), Vec::new());
        while !is_enough(&per_second) && !self.bench.stop.is_requested() {
            // No window: what is answered here is in no percentile of the turns that follow on the same connections.
            let load =
                while_wanted(server, self.bench.stop, |wanted| generator.window(slice, Nanos::ZERO, wanted))?;
            per_second.push(slice.rate_of(load.slices.ok.iter().sum()));
        }
        Ok(per_second)
    }

    /// How the same contender, or its control, was warmed up in an earlier life of this run.
    fn earlier_warmup(&self, workload: &str) -> Option<&Warmup> {
        self.earlier_runs().find_map(|run| run.warmups.iter().find(|warmup| warmup.workload == workload))
    }

    /// Whether the system calls of the contender on a workload are counted, or nobody asks for them: those of an A/A control.
    fn is_counted(&self, workload: &str) -> bool {
        let own = self.earlier_runs().filter(|run| run.contender == self.subject.identity.name);
        let mut warmups = own.flat_map(|run| &run.warmups).filter(|warmup| warmup.workload == workload);
        self.entry.control_of.is_some() || warmups.any(|warmup| warmup.counted.is_some())
    }

    /// The rate at which the first warm-up on a workload ended, where it warmed the contender up; else 0.
    fn warm_rate(&self, workload: &str) -> f64 {
        let warmed = self.earlier_warmup(workload).filter(|warmup| gets_warm(warmup));
        warmed.map_or(0.0, |warmup| rate_at_the_end(&warmup.per_second))
    }

    /// The earlier lives of the same contender and of its control, in the same setting, the one that began before in this round included:
    /// what both get follows from the same lives, or they would not be alike.
    pub(super) fn earlier_runs(&self) -> impl Iterator<Item = &Run> {
        let original = self.entry.original();
        let is_own = move |run: &Run| {
            let entry = self.record.contenders.iter().find(|entry| entry.identity.name == run.contender);
            entry.is_some_and(|entry| entry.original() == original)
        };
        let measured = self.record.rounds.iter().flat_map(|round| &round.runs);
        let measured = measured.filter(move |run| is_own(run) && run.setting() == self.provisioned.setting);
        measured.filter(|run| run.failure.is_none()).chain(&self.begun_before)
    }

    /// Length of the slice in which system calls are counted, in seconds: where windows are shorter, as long as those.
    fn counting_s(&self) -> f64 {
        COUNTING_S.min(self.bench.plan.experiment.window_s)
    }

    /// One more slice for what must not be counted inside a window: a counted system call takes longer. None where nothing can be counted.
    fn count(&self, server: &mut Server, generator: &mut Generator) -> Result<Counted, Halt> {
        let length = Nanos::from_secs_f64(self.counting_s());
        let counters = Counters::start(&self.bench.plan.isolation.server);
        if !counters.count_anything() {
            return Ok(counters.finish(0));
        }
        let turn =
            while_wanted(server, self.bench.stop, |wanted| generator.window(length, Nanos::ZERO, wanted))?;
        Ok(counters.finish(turn.answered))
    }
}

/// The load that a life had before its turns: its warm-ups and its lead-ins.
pub(super) fn load_before_turns(run: &Run) -> Duration {
    let slices: usize = run.lead_ins.iter().map(|lead_in| lead_in.per_second.len()).sum();
    run.warmups.iter().map(given).sum::<Duration>() + Duration::from_secs_f64(slices as f64 * WARMUP_SLICE_S)
}

/// Load of a first life's warm-up.
pub(super) fn given(warmup: &Warmup) -> Duration {
    let counting_s = if had_counting_slice(warmup) { COUNTING_S } else { 0.0 };
    Duration::from_secs_f64(warmup.per_second.len() as f64 * WARMUP_SLICE_S + counting_s)
}

/// Whether a warm-up had the slice in which system calls are counted.
fn had_counting_slice(warmup: &Warmup) -> bool {
    warmup.counted.as_ref().is_some_and(Counted::is_known)
}

/// What of it a later life does not get, which has `least` slices if they are as many.
fn spared(warmup: &Warmup, least: usize) -> Duration {
    let later = slices_needed(warmup).max(least).min(warmup.per_second.len());
    given(warmup) - Duration::from_secs_f64(later as f64 * WARMUP_SLICE_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_lives_are_spared_what_the_first_got_beyond_that() {
        let (workload, counted) =
            ("hello".to_owned(), Some(Counted { system_calls: Some(7), ..Counted::default() }));
        let per_second = vec![50.0, 70.0, 90.0, 99.0, 100.0, 100.0, 101.0];
        let warmup = Warmup { workload, per_second, settled: true, counted };
        assert_eq!(spared(&warmup, 0), Duration::from_millis(4 * 250 + 100));
        assert_eq!(spared(&warmup, 5), Duration::from_millis(2 * 250 + 100), "a rest asks for more");
        assert_eq!(spared(&warmup, usize::MAX), Duration::from_millis(100));
        let uncounted = Warmup { counted: Some(Counted::default()), ..warmup };
        assert_eq!(spared(&uncounted, usize::MAX), Duration::ZERO, "nothing could be counted");
    }
}
