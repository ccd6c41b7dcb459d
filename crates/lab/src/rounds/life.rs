//! One life of a contender's process: started, warmed up, measured in every cell, stopped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_host::counters::Counters;
use assay_host::cpuset::CpuSet;
use assay_host::snapshot::{Sampler, tree_usage};
use assay_host::system::SystemSample;
use assay_link::{Link, Meter};
use assay_model::check::{Check, Outcome};
use assay_model::experiment::{Cell, Span};
use assay_model::load::{Arrival, GENERATOR_DISTURBED, LoadReport};
use assay_model::network::{Network, Stack};
use assay_model::offered::Offered;
use assay_model::record::{DatabaseUsage, Measurement, NotRun, Record, Run, Stage, Warmup};
use assay_model::units::Nanos;
use assay_model::usage::Counted;
use assay_model::workload::Workload;
use assay_verdict::course::Next;
use assay_verdict::rates::{course_of, rate_for};

use super::event::{Event, Observer};
use crate::contender::{OnUserStack, Server, StartOrder};
use crate::database::Access;
use crate::generator::{LoadError, LoadOrder};
use crate::plan::Plan;
use crate::schedule::MAX_WARMUP_CONNECTIONS;
use crate::stop::Stop;
use crate::subject::Subject;

/// Length of one slice of the warm-up, in seconds.
const WARMUP_SLICE_S: f64 = 0.25;
/// A slice that is this much faster than the fastest before shows that the server is still warming up.
const WARMUP_GAIN: f64 = 1.03;
/// Slices in a row without such a gain after which it has settled.
const SETTLED_SLICES: u32 = 2;

/// Everything one life needs.
pub(crate) struct Life<'a> {
    /// What is decided.
    pub plan: &'a Plan,
    /// Whose TCP over which wire; absent where the experiment names no network.
    pub network: Option<Network>,
    /// What joins server and generator.
    pub link: &'a Link,
    /// Queues of the wire, where the stack is in user space.
    pub queues: u16,
    /// CPUs of the generator's threads.
    pub generator_cpus: &'a CpuSet,
    /// What was measured so far, from which rates follow.
    pub record: &'a Record,
    /// Who lives.
    pub subject: &'a Subject,
    /// The cells to measure, in their order in this round; closed loops first, because rates follow from them.
    pub cells: Vec<Cell>,
    /// Where its output goes.
    pub log: PathBuf,
    /// The folder with the workloads' files.
    pub work: &'a Path,
    /// When the first round began.
    pub began: Instant,
    /// The database, where there is one.
    pub database: Option<&'a Access>,
    /// A person's wish.
    pub stop: &'a Stop,
}

/// A window to be measured.
struct Order<'a> {
    cell: &'a Cell,
    arrival: Arrival,
    settle_s: f64,
    length: Span,
    /// Which window of the round, so that no two have the same arrivals where they must not.
    window: u32,
}

impl Life<'_> {
    /// Lives it. What goes wrong is in the run.
    pub(crate) fn live(&self, observer: &mut dyn Observer) -> Run {
        let contender = &self.subject.name;
        let mut run = Run {
            contender: contender.clone(),
            network: self.network,
            offset_ns: self.began.elapsed().into(),
            startup_ns: Nanos::ZERO,
            idle: None,
            warmups: Vec::new(),
            cells: Vec::new(),
            failure: None,
        };
        observer.notice(&Event::Starting { contender });
        let mut server = match Server::start(self.subject, &self.start_order()) {
            Ok(server) => server,
            Err(failure) => {
                run.failure = Some(failure);
                return run;
            }
        };
        run.startup_ns = server.startup_ns;
        run.idle = server.pid().and_then(|pid| tree_usage(pid).ok());
        run.failure = self
            .warm_up(&mut server, &mut run)
            .and_then(|()| self.windows(&mut server, &mut run, observer))
            .err()
            .flatten();
        let stopped = server.stop(self.link);
        self.link.empty();
        run.failure = run.failure.or(stopped.err());
        run
    }

    fn start_order(&self) -> StartOrder<'_> {
        let mut workloads: Vec<&str> = self.cells.iter().map(|cell| cell.workload.as_str()).collect();
        workloads.sort_unstable();
        workloads.dedup();
        let workloads = workloads.iter().filter_map(|name| self.plan.workload(name));
        let workloads: Vec<Workload> = workloads.map(|workload| self.subject.asked(workload)).collect();
        let needs_database = workloads.iter().any(|workload| workload.database.is_some());
        StartOrder {
            tools: &self.plan.tools,
            link: self.link,
            user: self.on_user_stack(),
            cpus: &self.plan.isolation.server,
            log: self.log.clone(),
            database: self.database.filter(|_| needs_database),
            requests: workloads.into_iter().flat_map(|workload| workload.requests).collect(),
            stop: self.stop,
        }
    }

    fn on_user_stack(&self) -> Option<OnUserStack<'_>> {
        let network = self.network.filter(|network| network.stack() == Stack::User)?;
        let (generator_cpus, queues) = (self.generator_cpus, self.queues);
        Some(OnUserStack { network, generator_cpus, queues, work: self.work })
    }

    /// Load before the first measurement, on every workload, so that none is measured cold because of where the round's
    /// order put it.
    fn warm_up(&self, server: &mut Server, run: &mut Run) -> Result<(), Option<NotRun>> {
        let mut widest: BTreeMap<&str, &Cell> = BTreeMap::new();
        for cell in &self.cells {
            let known = widest.entry(&cell.workload).or_insert(cell);
            if cell.in_flight() > known.in_flight() {
                *known = cell;
            }
        }
        let most_s = self.plan.experiment.warmup_s / widest.len().max(1) as f64;
        for cell in widest.into_values() {
            let connections = cell.connections.min(MAX_WARMUP_CONNECTIONS);
            let cell = Cell { connections, ..cell.capacity() };
            run.warmups.push(self.warm_up_on(server, &cell, most_s)?);
        }
        Ok(())
    }

    /// Slices of load until the server no longer gets faster, for `most_s` seconds at most. The rule is the same for
    /// everybody; a compiled server is done in three slices, one with a just-in-time compiler takes what it needs.
    fn warm_up_on(&self, server: &mut Server, cell: &Cell, most_s: f64) -> Result<Warmup, Option<NotRun>> {
        let mut warmup =
            Warmup { workload: cell.workload.clone(), per_second: Vec::new(), settled: false, counted: None };
        let (mut fastest, mut without_gain, mut left_s) = (0.0, 0, most_s);
        while left_s > 0.0 && !warmup.settled {
            let (settle_s, length) = (0.0, Span::Seconds(left_s.min(WARMUP_SLICE_S)));
            let order = Order { cell, arrival: Arrival::Closed, settle_s, length, window: 0 };
            let report = self.load(server, &order)?;
            let per_second = report.window.ok as f64 / report.window_ns.as_secs_f64().max(f64::MIN_POSITIVE);
            without_gain = if per_second > fastest * WARMUP_GAIN { 0 } else { without_gain + 1 };
            warmup.settled = without_gain >= SETTLED_SLICES;
            fastest = per_second.max(fastest);
            warmup.per_second.push(per_second);
            left_s -= WARMUP_SLICE_S;
        }
        warmup.counted = Some(self.counted(server, cell)?);
        Ok(warmup)
    }

    /// One slice more for what must not be counted inside a window: a counted system call takes longer.
    fn counted(&self, server: &mut Server, cell: &Cell) -> Result<Counted, Option<NotRun>> {
        let counters = Counters::start(&self.plan.isolation.server);
        let length = Span::Seconds(WARMUP_SLICE_S);
        let order = Order { cell, arrival: Arrival::Closed, settle_s: 0.0, length, window: 0 };
        let report = self.load(server, &order)?;
        Ok(counters.finish(report.books.ok))
    }

    fn windows(
        &self,
        server: &mut Server,
        run: &mut Run,
        observer: &mut dyn Observer,
    ) -> Result<(), Option<NotRun>> {
        for cell in &self.cells {
            if self.stop.soon() {
                return Err(None);
            }
            if matches!(cell.offered, Offered::Redline(_)) {
                self.search(server, run, cell, observer)?;
                continue;
            }
            let arrival = if cell.offered.is_closed() {
                Arrival::Closed
            } else {
                // Not known yet: the capacity that it follows from was not measured.
                let Some(rate) = rate_for(self.record, run, cell) else { continue };
                self.plan.experiment.arrival.at(rate)
            };
            let experiment = &self.plan.experiment;
            let (settle_s, length) = (experiment.settle_at(cell.offered), experiment.window_at(cell.offered));
            let order = Order { cell, arrival, settle_s, length, window: 0 };
            self.measure(server, run, &order, observer)?;
        }
        Ok(())
    }

    /// Goes on with the search for a redline until it needs another server or is over. A server that somebody else runs
    /// cannot be replaced, so there the search goes on with it.
    fn search(
        &self,
        server: &mut Server,
        run: &mut Run,
        cell: &Cell,
        observer: &mut dyn Observer,
    ) -> Result<(), Option<NotRun>> {
        let Some(mut course) = course_of(self.record, Some(run), &run.contender, cell) else { return Ok(()) };
        let mut is_fresh = server.pid().is_some();
        while let Next::Window { per_second, settle_s, window_s, fresh_server } = course.next() {
            let needs_another = fresh_server && !is_fresh && server.pid().is_some();
            let budget_s = self.plan.experiment.budget_s.unwrap_or(f64::INFINITY);
            if needs_another || self.began.elapsed().as_secs_f64() >= budget_s {
                break;
            }
            if self.stop.soon() {
                return Err(None);
            }
            let arrival = self.plan.experiment.arrival.at(per_second);
            let window = u32::try_from(run.cells.len()).unwrap_or(u32::MAX);
            let order = Order { cell, arrival, settle_s, length: Span::Seconds(window_s), window };
            let window = self.measure(server, run, &order, observer)?;
            course.take(window);
            is_fresh = false;
        }
        Ok(())
    }

    /// Measures one window and files it.
    fn measure<'r>(
        &self,
        server: &mut Server,
        run: &'r mut Run,
        order: &Order<'_>,
        observer: &mut dyn Observer,
    ) -> Result<&'r Measurement, Option<NotRun>> {
        let (contender, cell) = (&self.subject.name, order.cell);
        observer.notice(&Event::Measuring { contender, cell });
        let window = self.window(server, order)?;
        let (ok, failed) = (window.load.window.ok, window.load.books.failed());
        let per_second = ok as f64 / window.load.window_ns.as_secs_f64().max(f64::MIN_POSITIVE);
        observer.notice(&Event::Measured { contender, cell, per_second, failed });
        run.cells.push(window);
        Ok(&run.cells[run.cells.len() - 1])
    }

    /// One window, with what server and machine did from just before the generator started to just after it ended.
    fn window(&self, server: &mut Server, order: &Order<'_>) -> Result<Measurement, Option<NotRun>> {
        let offset_ns = self.began.elapsed().into();
        let pid = server.pid();
        let sampler = pid.and_then(|pid| Sampler::start(pid).ok());
        let database = self.watch_database(order.cell);
        let meter = Meter::start(self.link);
        // TCP counts by network namespace: that of the server, which is not ours on a link.
        let look = || pid.map_or_else(SystemSample::take, SystemSample::take_beside);
        let (before, counted) = (look(), server.stack_counts().unwrap_or_default());
        let mut load = self.load(server, order)?;
        let (after, counts) = (look(), server.stack_counts());
        let used = sampler.and_then(|sampler| sampler.finish().ok()).map(|window| window.usage);
        if database.as_ref().is_some_and(|(_, beside_generator)| *beside_generator) {
            excuse_waiting(&mut load.checks);
        }
        let database = database.and_then(|(sampler, beside_generator)| {
            sampler.finish().ok().map(|window| DatabaseUsage { usage: window.usage, beside_generator })
        });
        // A server that died at the very end was not measured: its last answers may be its last words.
        let suspicious = load.books.failed() > 0;
        let death = if suspicious { server.suspected_death(Stage::Load) } else { server.death(Stage::Load) };
        if death.is_some() {
            return Err(death);
        }
        let isolation = &self.plan.isolation;
        let machine = after.since(&before).machine(&isolation.server, &isolation.generator, used.as_ref());
        let window = Duration::from_nanos(load.window_ns.0);
        let link_use = meter.and_then(|meter| meter.finish(window));
        Ok(Measurement {
            cell: order.cell.clone(),
            offset_ns,
            load,
            server: used,
            server_stack: counts.map(|counts| counts.since(&counted)),
            database,
            link_use,
            machine,
        })
    }

    /// Observes a database of our own, and whether the generator has its CPUs, where a cell needs it.
    fn watch_database(&self, cell: &Cell) -> Option<(Sampler, bool)> {
        let needed = self.plan.workload(&cell.workload).is_some_and(|workload| workload.database.is_some());
        let access = self.database.filter(|_| needed)?;
        Some((Sampler::start(access.pid?).ok()?, access.beside_generator))
    }

    /// Runs the generator while the server lives and nobody wants to stop at once. An error without a reason is a wish.
    fn load(&self, server: &mut Server, order: &Order<'_>) -> Result<LoadReport, Option<NotRun>> {
        let cell = order.cell;
        let workload = self.work.join(self.subject.workload_file(&cell.workload));
        let url = format!("http://{}", server.authority);
        let end = server.generator_end().cloned();
        let order = LoadOrder {
            url: &url,
            workload: &workload,
            connections: cell.connections,
            pipeline: cell.pipeline,
            arrival: order.arrival.clone(),
            warmup_s: order.settle_s,
            window: order.length,
            timeout_s: self.plan.experiment.timeout_s,
            cpus: &self.generator_cpus.to_string(),
            seed: arrivals_seed(self.plan.seed, self.record.rounds.len(), order.window),
            stack: end.as_ref(),
        };
        let mut death = None;
        let mut wanted = || {
            death = server.death(Stage::Load);
            death.is_none() && !self.stop.now()
        };
        let report = order.measure(&self.plan.tools, self.link, self.work, &mut wanted);
        report.map_err(|error| match (death.or_else(|| server.death(Stage::Load)), error) {
            (Some(death), _) => Some(death),
            (None, LoadError::Unwanted) => None,
            (None, error) => Some(generator_failure(error)),
        })
    }
}

/// The generator cannot know that it waited for the database, which has the same CPUs by plan. What is left without that
/// part is judged by [`Measurement::generator_delay_share`].
fn excuse_waiting(checks: &mut [Check]) {
    for check in
        checks.iter_mut().filter(|check| check.rule == GENERATOR_DISTURBED && check.outcome == Outcome::Void)
    {
        check.outcome = Outcome::Warn;
        check.evidence += "; the database has the same CPUs";
        check.remedy = Some("use a machine with three physical cores".to_owned());
    }
}

/// All contenders of a round meet the same arrivals, and no two rounds do: else the luck of one schedule would look like a
/// property of the servers, however many rounds there are.
fn arrivals_seed(seed: u64, round: usize, window: u32) -> u64 {
    seed.wrapping_add((round as u64) << 32).wrapping_add(u64::from(window) << 16)
}

fn generator_failure(error: LoadError) -> NotRun {
    let reason = error.to_string();
    let log_tail = match error {
        LoadError::Failed { log_tail, .. } => log_tail,
        LoadError::Unwanted => Vec::new(),
    };
    let remedy = Some("the fault is assay's own or the machine's, not the contender's".to_owned());
    NotRun { stage: Stage::Load, reason, remedy, log_tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_the_database_beside_it_does_not_void_a_generators_window() {
        let check = |rule: &str| Check {
            rule: rule.to_owned(),
            outcome: Outcome::Void,
            evidence: "it waited".to_owned(),
            remedy: None,
        };
        let mut checks = vec![check(GENERATOR_DISTURBED), check("send-lag")];
        excuse_waiting(&mut checks);
        assert_eq!(
            checks.iter().map(|check| check.outcome).collect::<Vec<_>>(),
            [Outcome::Warn, Outcome::Void]
        );
        assert!(checks[0].evidence.contains("the database has the same CPUs"));
    }
}
