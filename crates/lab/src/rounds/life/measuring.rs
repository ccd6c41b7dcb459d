//! What is measured of a server that is ready: window by window, in one piece.

use std::time::Duration;

use assay_model::experiment::{Cell, Span};
use assay_model::record::{Measurement, NotRun, Run, Stage};
use assay_verdict::course::Next;
use assay_verdict::rates::course_of;
use assay_verdict::{Unreadable, Window};

use super::halt::Halt;
use super::server_run::{Age, OngoingRun, WindowOrder, generator_failure};
use super::straight::{Straight, Tally};
use super::watch::Watch;
use crate::event::Event;
use crate::generator::LoadError;
use crate::log;
use crate::rounds::telling::Telling;

impl OngoingRun<'_> {
    /// Everything that is measured in one piece: windows in the `wanted` cells, those of other generators, and profiles.
    pub(crate) fn measure_in_one_piece(
        &mut self,
        telling: &Telling<'_>,
        wanted: impl Fn(&Cell) -> bool,
    ) -> Result<(), Halt> {
        self.windows(telling, wanted)?;
        self.cross_check(telling)?;
        self.profile(telling)
    }

    /// Measures the `wanted` cells, each in one piece.
    fn windows(&mut self, telling: &Telling<'_>, wanted: impl Fn(&Cell) -> bool) -> Result<(), Halt> {
        let cells: Vec<Cell> = self.server_run.cells.iter().filter(|cell| wanted(cell)).cloned().collect();
        for cell in &cells {
            if self.server_run.bench.stop.is_requested() {
                return Err(Halt::Stopped);
            }
            if cell.offered.is_search() {
                self.search(cell, telling)?;
                continue;
            }
            let experiment = &self.server_run.bench.plan.experiment;
            let Some(arrival) = self.arrival_in(cell) else { continue };
            let (settle_s, length) = (experiment.settle_at(cell.offered), experiment.window_at(cell.offered));
            self.measure(&WindowOrder { cell, arrival, settle_s, length, window: 0 }, telling)?;
        }
        Ok(())
    }

    /// Goes on with the search for a redline until it needs another server or is over. A server that somebody else runs
    /// cannot be replaced, so there the search goes on with it.
    fn search(&mut self, cell: &Cell, telling: &Telling<'_>) -> Result<(), Halt> {
        let (record, plan) = (self.server_run.record, self.server_run.bench.plan);
        let course = course_of(record, &self.run, cell).map_err(|error| unreadable(&error))?;
        let Some(mut course) = course else { return Ok(()) };
        let mut is_fresh = self.server.is_own();
        while let Next::Window { per_second, settle_s, window_s, fresh_server } = course.next() {
            let needs_another = fresh_server && !is_fresh && self.server.is_own();
            let ends =
                self.server_run.bench.stop.unpaused_now() + Duration::from_secs_f64(settle_s + window_s);
            if needs_another
                || self.server_run.timetable.budget_ends().is_some_and(|budget_ends| ends > budget_ends)
            {
                break;
            }
            if self.server_run.bench.stop.is_requested() {
                return Err(Halt::Stopped);
            }
            let arrival = plan.experiment.arrival.at(per_second);
            let window = u32::try_from(self.run.cells.len()).unwrap_or(u32::MAX);
            let order = WindowOrder { cell, arrival, settle_s, length: Span::Seconds(window_s), window };
            let round = u32::try_from(record.rounds.len()).unwrap_or(u32::MAX).saturating_sub(1);
            let contender = self.server_run.subject.identity.name.as_str();
            let window = Window::of(contender, round, self.measure(&order, telling)?);
            course.take(&window.map_err(|error| unreadable(&error))?);
            is_fresh = false;
        }
        Ok(())
    }

    /// Measures one window, beside a proxy another straight to its upstream, and files both. One whose answers were held against what
    /// turns out to vary is measured once more.
    fn measure(&mut self, order: &WindowOrder<'_>, telling: &Telling<'_>) -> Result<&Measurement, Halt> {
        let turn = self.goes_straight(order.cell);
        let before = if turn == Straight::Before { self.straight(order, telling)? } else { None };
        let mut window = self.measured(order, telling)?;
        if self.unlearns(&window.load)? {
            window = self.measured(order, telling)?;
        }
        let after = if turn == Straight::After { self.straight(order, telling)? } else { None };
        window.straight = before.or(after);
        Ok(self.file(window, telling))
    }

    fn measured(&mut self, order: &WindowOrder<'_>, telling: &Telling<'_>) -> Result<Measurement, Halt> {
        telling.pause(self.server_run.bench.stop);
        telling.notice(&Event::Measuring {
            contender: &self.server_run.subject.identity.name,
            cell: order.cell,
        });
        let age = self.age();
        let tally = Tally::begin(&self.server);
        let watch = Watch::start(&self.server_run, &self.server, order.cell);
        let load = self.server_run.load(&mut self.server, order)?;
        let seen = watch.finish(&self.server_run, &self.server, Duration::from_nanos(load.window_ns.0));
        self.check_server(load.books.failed() > 0)?;
        self.loaded += load.warmup_ns + load.window_ns;
        let mut window = seen.into_measurement(&self.server_run, order.cell, age, load);
        tally.note(&self.server, &mut window);
        Ok(window)
    }

    pub(crate) fn age(&self) -> Age {
        Age { offset_ns: self.server_run.timetable.began().elapsed().into(), loaded_ns: self.loaded }
    }

    /// A server that died at the very end was not measured: its last answers may be its last words.
    pub(crate) fn check_server(&mut self, is_suspicious: bool) -> Result<(), Halt> {
        let server = &mut self.server;
        let death =
            if is_suspicious { server.suspected_death(Stage::Load) } else { server.death(Stage::Load) };
        death.map_or(Ok(()), |death| Err(Halt::Failed(death)))
    }

    pub(crate) fn file(&mut self, window: Measurement, telling: &Telling<'_>) -> &Measurement {
        let (ok, failed) = (window.load.window.ok, window.load.books.failed());
        let per_second = window.load.window_ns.rate_of(ok);
        let contender = &self.server_run.subject.identity.name;
        log::measured(contender, &window);
        telling.notice(&Event::Measured { contender, cell: &window.cell, per_second, failed });
        self.run.cells.push(window);
        &self.run.cells[self.run.cells.len() - 1]
    }

    /// Stops the server.
    pub(crate) fn end(self, measured: Result<(), Halt>) -> Run {
        let mut run = self.run;
        let stopped = self.server.stop(&self.server_run.provisioned.link);
        self.server_run.provisioned.link.empty();
        run.failure = measured.err().and_then(Halt::failure).or(stopped.err());
        run
    }
}

/// What the generator has just written cannot be read.
fn unreadable(error: &Unreadable) -> NotRun {
    generator_failure(LoadError::Failed { problem: error.to_string(), log_tail: Vec::new() })
}
