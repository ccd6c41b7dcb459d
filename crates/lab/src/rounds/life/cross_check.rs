//! One server under the load of several generators, one after the other: whether its figures are the generator's
//! (docs/method/generators.md).

use assay_model::experiment::Cell;
use assay_model::generator::GeneratorName;
use assay_model::generator_window::GeneratorWindow;
use assay_model::record::GeneratorEntry;
use assay_model::units::Nanos;

use super::halt::Halt;
use super::server_run::{OngoingRun, while_wanted};
use super::watch::Watch;
use crate::event::Event;
use crate::generator::{Finished, Load, LoadError, LoadGenerator, Manner, Own, Site, foreign, load_of, run};
use crate::log;
use crate::rounds::telling::Telling;
use crate::schedule::generator_order;
use crate::url::Scheme;

impl OngoingRun<'_> {
    /// Has ours and every other generator of the run load the server in each cell that the others can make, in an order that is drawn
    /// anew for each. Where a generator fails, that is told of it, and the server goes on.
    pub(super) fn cross_check(&mut self, telling: &Telling<'_>) -> Result<(), Halt> {
        let (round, seed) = (self.server_run.record.rounds.len(), self.server_run.bench.plan.seed);
        for (number, cell) in self.server_run.cells.clone().iter().enumerate() {
            let takers = self.takers(cell);
            let names: Vec<GeneratorName> = match takers.is_empty() {
                true => Vec::new(),
                false => std::iter::once(GeneratorName::Assay).chain(takers).collect(),
            };
            for place in generator_order(seed, round, number, names.len()) {
                self.load_by(names[place], cell, telling)?;
            }
        }
        Ok(())
    }

    /// The generators of others that are there and make a cell's load.
    fn takers(&self, cell: &Cell) -> Vec<GeneratorName> {
        let own = self
            .server_run
            .record
            .contenders
            .iter()
            .find(|entry| entry.identity.name == self.server_run.subject.identity.name);
        if own.is_some_and(|entry| entry.control_of.is_some()) {
            return Vec::new();
        }
        let takes = |entry: &&GeneratorEntry| {
            entry.not_run.is_none() && entry.left_out.iter().all(|left_out| left_out.cell != *cell)
        };
        self.server_run.record.generators.iter().filter(takes).map(|entry| entry.name).collect()
    }

    fn load_by(&mut self, name: GeneratorName, cell: &Cell, telling: &Telling<'_>) -> Result<(), Halt> {
        if self.server_run.bench.stop.is_requested() {
            return Err(Halt::Stopped);
        }
        // What cannot be loaded so was left out before.
        let Some(load) = self.load_for(cell) else { return Ok(()) };
        telling.notice(&Event::CrossChecking {
            contender: &self.server_run.subject.identity.name,
            generator: name,
            cell,
        });
        let offset_ns = self.age().offset_ns;
        let watch = Watch::start(&self.server_run, &self.server, cell);
        let before = self.server.requests_counted();
        let finished = self.run_generator(name, &load)?;
        let after = self.server.requests_counted();
        let length = Nanos::from_secs_f64(load.seconds.into());
        let machine = watch.finish(&self.server_run, &self.server, length.into()).machine(&self.server_run);
        self.loaded += length;
        let (told, cpu_ns, failure) = match finished {
            Ok(Finished { told, cpu_ns, .. }) => (Some(told), cpu_ns, None),
            Err(why) => (None, None, Some(why)),
        };
        let window = GeneratorWindow {
            cell: cell.clone(),
            generator: name,
            offset_ns,
            told,
            server_counted: before.zip(after).map(|(before, after)| after.saturating_sub(before)),
            cpu_ns,
            steal_share: machine.steal_share,
            other_share: machine.server_other_share,
            failure,
        };
        log::cross_checked(&self.server_run.subject.identity.name, &window);
        self.run.by_generator.push(window);
        Ok(())
    }

    /// The load of a cell on this very server.
    fn load_for(&self, cell: &Cell) -> Option<Load> {
        let server_run = &self.server_run;
        let origin = format!("{}://{}", Scheme::of(server_run.tls().is_some()).name(), self.server.authority);
        let workload = self.server.workloads().iter().find(|workload| workload.name == cell.workload)?;
        let load = load_of(&server_run.bench.plan.experiment, workload, cell, &origin).ok()?;
        Some(Load {
            workload: Some(server_run.workload_file(&cell.workload)),
            authority: server_run.tls().map(|tls| tls.authority.clone()),
            seed: server_run.bench.plan.seed,
            ..load
        })
    }

    /// Runs a generator while the server lives and nobody wants to stop at once. The outer error ends the life, the inner one is the
    /// generator's own failure.
    fn run_generator(&mut self, name: GeneratorName, load: &Load) -> Result<Result<Finished, String>, Halt> {
        let ours = Own::default();
        let generator: &dyn LoadGenerator = foreign(name).unwrap_or(&ours);
        let server_run = &self.server_run;
        let site = Site {
            tools: &server_run.bench.plan.tools,
            link: &server_run.provisioned.link,
            cpus: &server_run.allotment.generator_cpus,
            work: &server_run.bench.work,
        };
        let finished = while_wanted(&mut self.server, server_run.bench.stop, |wanted| {
            match run(generator, load, &site, &Manner::default(), wanted) {
                Err(LoadError::Unwanted) => Err(LoadError::Unwanted),
                finished => Ok(finished.map_err(|error| error.to_string())),
            }
        })?;
        let is_suspicious = match &finished {
            Ok(finished) => finished.told.failed > 0,
            Err(_) => true,
        };
        self.check_server(is_suspicious)?;
        Ok(finished)
    }
}
