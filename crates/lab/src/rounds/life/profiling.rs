//! Slices of load in which a server is profiled, apart from every measured window, because profiling changes what it observes
//! (docs/method/profile.md).

use std::time::Duration;

use assay_model::experiment::{Cell, Experiment};
use assay_model::load::{Arrival, LoadReport, LoadTurn};
use assay_model::profile::{Profile, Refused, Sampled, Traced};
use assay_model::record::Run;
use assay_model::units::Nanos;
use assay_verdict::Times;
use assay_verdict::rates::rate_for;

use super::halt::Halt;
use super::profiler;
use super::server_run::{OngoingRun, ServerRun, while_wanted};
use crate::event::Event;
use crate::generator::Generator;
use crate::hosts::host::JobHandle;
use crate::log;
use crate::rounds::telling::Telling;
use crate::schedule::{Lives, PROFILE_SETTLE_S, Slices, predicted_profile, profiled};

impl OngoingRun<'_> {
    /// Profiles the server in each of its cells, where the run asks for it. A control is the same program once more.
    pub(super) fn profile(&mut self, telling: &Telling<'_>) -> Result<(), Halt> {
        let is_control = self.server_run.entry.control_of.is_some();
        let ServerRun { bench, cells, lives, .. } = &self.server_run;
        let Some((slices, cells)) = profiled(&bench.plan.experiment, cells, *lives) else { return Ok(()) };
        let Some(job) = self.server.seen().cloned().filter(|_| !is_control) else { return Ok(()) };
        for cell in cells {
            let Some(arrival) = self.arrival_in(&cell) else { continue };
            if self.server_run.bench.stop.is_requested() {
                return Err(Halt::Stopped);
            }
            self.profile_at(&cell, arrival, slices, &job, telling)?;
        }
        Ok(())
    }

    /// How requests arrive in a cell; `None` where its rate follows from what was not measured, or is still searched.
    pub(super) fn arrival_in(&self, cell: &Cell) -> Option<Arrival> {
        if cell.offered.is_closed() {
            return Some(Arrival::Closed);
        }
        let rate = rate_for(self.server_run.record, &self.run, cell)?;
        Some(self.server_run.bench.plan.experiment.arrival.at(rate))
    }

    fn profile_at(
        &mut self,
        cell: &Cell,
        arrival: Arrival,
        slices: Slices,
        job: &JobHandle,
        telling: &Telling<'_>,
    ) -> Result<(), Halt> {
        telling.pause(self.server_run.bench.stop);
        let contender = &self.server_run.subject.identity.name;
        telling.notice(&Event::Profiling { contender, cell });
        let offset_ns = self.age().offset_ns;
        let (sampled, mut refused) = self.sampled(cell, &arrival, slices.sampled_s, job)?;
        let followed =
            slices.traced_s.map(|length_s| self.traced(cell, &arrival, length_s, job)).transpose()?;
        let traced = followed.and_then(|traced| traced.map_err(|why| refused.push(why)).ok());
        let profile = Profile { cell: cell.clone(), arrival, offset_ns, sampled, traced, refused };
        log::profiled(&self.server_run.subject.identity.name, &profile);
        self.run.profiles.push(profile);
        Ok(())
    }

    fn sampled(
        &mut self,
        cell: &Cell,
        arrival: &Arrival,
        length_s: f64,
        job: &JobHandle,
    ) -> Result<(Sampled, Vec<Refused>), Halt> {
        let mut generator = self.settled(cell, arrival)?;
        let sampling = profiler::sample(job);
        let loaded = self.slice(&mut generator, length_s);
        // Ended also when the load failed, so that nothing goes on behind the run's back; and before connections are closed.
        let (sampled, refused) = sampling.finish(loaded.as_ref().map_or(0, |turn| turn.answered));
        let loaded_ns = length_of(&loaded?);
        let load = self.end_slice(generator)?;
        let times = Times::of(&load.latency).ok();
        let median_ns = times.and_then(|times| times.service.quantile(0.5)).map(Nanos);
        let remade = Some(load.books.connections_opened.saturating_sub(u64::from(cell.connections)));
        Ok((Sampled { loaded_ns, median_ns, remade, ..sampled }, refused))
    }

    fn traced(
        &mut self,
        cell: &Cell,
        arrival: &Arrival,
        length_s: f64,
        job: &JobHandle,
    ) -> Result<Result<Traced, Refused>, Halt> {
        let mut generator = self.settled(cell, arrival)?;
        let tracing = match profiler::trace(job) {
            Ok(tracing) => tracing,
            Err(refused) => return Ok(Err(refused)),
        };
        let loaded = self.slice(&mut generator, length_s);
        let seen = tracing.finish(loaded.as_ref().map_or(0, |turn| turn.answered));
        let loaded_ns = length_of(&loaded?);
        self.end_slice(generator)?;
        Ok(seen.map(|traced| Traced { loaded_ns, ..traced }))
    }

    /// A generator whose connections are made and have been in use, so that none of that is in the slice that follows: a server
    /// accepts them, and agrees on keys, no sooner than it comes to it.
    fn settled(&mut self, cell: &Cell, arrival: &Arrival) -> Result<Generator, Halt> {
        let Self { server_run, server, .. } = self;
        let mut generator = server_run.start_generator(server, cell, arrival.clone())?;
        while_wanted(server, server_run.bench.stop, |wanted| generator.await_connections(wanted))?;
        let settle = Nanos::from_secs_f64(PROFILE_SETTLE_S);
        let turn = while_wanted(server, server_run.bench.stop, |wanted| {
            generator.window(settle, Nanos::ZERO, wanted)
        })?;
        self.loaded += length_of(&turn);
        Ok(generator)
    }

    /// Loads the server for a moment.
    fn slice(&mut self, generator: &mut Generator, length_s: f64) -> Result<LoadTurn, Halt> {
        let length = Nanos::from_secs_f64(length_s);
        let turn = while_wanted(&mut self.server, self.server_run.bench.stop, |wanted| {
            generator.window(Nanos::ZERO, length, wanted)
        })?;
        self.loaded += length_of(&turn);
        Ok(turn)
    }

    /// Closes the connections of a slice; what the generator saw in it.
    fn end_slice(&mut self, generator: Generator) -> Result<LoadReport, Halt> {
        let load =
            while_wanted(&mut self.server, self.server_run.bench.stop, |wanted| generator.finish(wanted))?;
        self.check_server(load.books.failed() > 0)?;
        Ok(load)
    }
}

/// How long a server was loaded.
fn length_of(turn: &LoadTurn) -> Nanos {
    turn.settle_ns + turn.window_ns
}

/// What profiling took of a first round that later rounds do without.
pub(crate) fn spared(experiment: &Experiment, runs: &[Run]) -> Duration {
    let spared = |run: &Run| {
        let cells: Vec<Cell> = run.profiles.iter().map(|profile| profile.cell.clone()).collect();
        let takes = |lives| predicted_profile(experiment, &cells, lives);
        takes(Lives::First).saturating_sub(takes(Lives::Later))
    };
    runs.iter().map(spared).sum()
}
