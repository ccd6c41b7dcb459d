//! Slices of load in which a server is profiled, apart from every measured window, because profiling changes what it observes
//! (docs/method/profile.md).

use std::time::Duration;

use assay_model::experiment::{Cell, Experiment, Span};
use assay_model::load::{Arrival, LoadReport};
use assay_model::profile::{Profile, Refused, Sampled, Traced};
use assay_model::record::Run;
use assay_model::units::Nanos;
use assay_profile::Target;
use assay_verdict::Times;
use assay_verdict::rates::rate_for;

use super::event::Event;
use super::halt::Halt;
use super::profiler::Profiler;
use super::server_run::{OngoingRun, Order, ServerRun};
use super::telling::Telling;
use crate::log;
use crate::schedule::{Lives, Slices, predicted_profile, profiled};

impl OngoingRun<'_> {
    /// Profiles the server in each of its cells, where the run asks for it. A control is the same program once more.
    pub(super) fn profile(&mut self, telling: &Telling<'_>) -> Result<(), Halt> {
        let is_control = self.server_run.entry.control_of.is_some();
        let ServerRun { plan, cells, lives, .. } = &self.server_run;
        let Some((slices, cells)) = profiled(&plan.experiment, cells, *lives) else { return Ok(()) };
        let Some(profiler) = self.profiler().filter(|_| !is_control) else { return Ok(()) };
        for cell in cells {
            let Some(arrival) = self.arrival_in(&cell) else { continue };
            if self.server_run.stop.soon() {
                return Err(Halt::Stopped);
            }
            self.profile_at(&cell, arrival, slices, &profiler, telling)?;
        }
        Ok(())
    }

    /// What can profile the server's processes, if they can be seen.
    fn profiler(&self) -> Option<Profiler> {
        if let Some(job) = self.server.job() {
            return Some(Profiler::There(job));
        }
        let roots = self.server.first_processes();
        // A server that ran already is where it is, not where others are put.
        let cpus = self.server.pid().map(|_| self.server_run.plan.isolation.server.clone());
        (!roots.is_empty()).then_some(Profiler::Here(Target { roots, cpus }))
    }

    /// How requests arrive in a cell; `None` where its rate follows from what was not measured, or is still searched.
    pub(super) fn arrival_in(&self, cell: &Cell) -> Option<Arrival> {
        if cell.offered.is_closed() {
            return Some(Arrival::Closed);
        }
        let rate = rate_for(self.server_run.record, &self.run, cell)?;
        Some(self.server_run.plan.experiment.arrival.at(rate))
    }

    fn profile_at(
        &mut self,
        cell: &Cell,
        arrival: Arrival,
        slices: Slices,
        profiler: &Profiler,
        telling: &Telling<'_>,
    ) -> Result<(), Halt> {
        telling.pause(self.server_run.stop);
        let contender = &self.server_run.subject.identity.name;
        telling.notice(&Event::Profiling { contender, cell });
        let offset_ns = self.age().offset_ns;
        let (sampled, mut refused) = self.sampled(cell, &arrival, slices.sampled_s, profiler)?;
        let followed =
            slices.traced_s.map(|length_s| self.traced(cell, &arrival, length_s, profiler)).transpose()?;
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
        profiler: &Profiler,
    ) -> Result<(Sampled, Vec<Refused>), Halt> {
        let sampling = profiler.sample();
        let loaded = self.slice(cell, arrival, length_s);
        // Ended also when the load failed, so that nothing goes on behind the run's back.
        let (sampled, refused) = sampling.finish(loaded.as_ref().map_or(0, |load| load.books.ok));
        let load = loaded?;
        let times = Times::of(&load.latency).ok();
        let median_ns = times.and_then(|times| times.service.quantile(0.5)).map(Nanos);
        Ok((Sampled { loaded_ns: length_of(&load), median_ns, ..sampled }, refused))
    }

    fn traced(
        &mut self,
        cell: &Cell,
        arrival: &Arrival,
        length_s: f64,
        profiler: &Profiler,
    ) -> Result<Result<Traced, Refused>, Halt> {
        let tracing = match profiler.trace() {
            Ok(tracing) => tracing,
            Err(refused) => return Ok(Err(refused)),
        };
        let loaded = self.slice(cell, arrival, length_s);
        let seen = tracing.finish(loaded.as_ref().map_or(0, |load| load.books.ok));
        let load = loaded?;
        Ok(seen.map(|traced| Traced { loaded_ns: length_of(&load), ..traced }))
    }

    /// Loads the server for a moment.
    fn slice(&mut self, cell: &Cell, arrival: &Arrival, length_s: f64) -> Result<LoadReport, Halt> {
        let (length, arrival) = (Span::Seconds(length_s), arrival.clone());
        let order = Order { cell, arrival, settle_s: 0.0, length, window: 0 };
        let load = self.server_run.load(&mut self.server, &order)?;
        self.check_server(load.books.failed() > 0)?;
        self.loaded += length_of(&load);
        Ok(load)
    }
}

/// How long a server was loaded.
fn length_of(load: &LoadReport) -> Nanos {
    load.warmup_ns + load.window_ns
}

/// What profiling took of a first round that later rounds do without.
pub(super) fn spared(experiment: &Experiment, runs: &[Run]) -> Duration {
    let spared = |run: &Run| {
        let cells: Vec<Cell> = run.profiles.iter().map(|profile| profile.cell.clone()).collect();
        let takes = |lives| predicted_profile(experiment, &cells, lives);
        takes(Lives::First).saturating_sub(takes(Lives::Later))
    };
    runs.iter().map(spared).sum()
}
