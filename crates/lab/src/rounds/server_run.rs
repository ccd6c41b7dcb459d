//! One life of a contender's process: started, warmed up, measured in every cell, stopped.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_host::cpuset::CpuSet;
use assay_host::energy::Counters;
use assay_host::gauge::Gauge;
use assay_host::probe::Probe;
use assay_link::Link;
use assay_model::experiment::{Cell, Span};
use assay_model::load::{Arrival, LoadReport};
use assay_model::network::Stack;
use assay_model::record::{Entry, NotRun, Record, Run, Stage};
use assay_model::setting::Setting;
use assay_model::units::Nanos;
use assay_model::workload::Workload;
use assay_verdict::allocation::Settled;

use super::halt::Halt;
use super::server_hosts::longest_window;
use super::telling::Telling;
use crate::access::Access;
use crate::contender::before::Commands;
use crate::contender::{OnUserStack, Server, StartOrder};
use crate::event::Event;
use crate::generator::{Generator, Hosts, LoadError, LoadOrder};
use crate::hosts::host::Host;
use crate::log;
use crate::plan::RunPlan;
use crate::schedule::Lives;
use crate::stack::UserEnd;
use crate::stop::Stop;
use crate::subject::Subject;
use crate::tls::RunTls;
use crate::url::Scheme;

/// Everything one life needs.
pub(crate) struct ServerRun<'a> {
    /// What is decided.
    pub plan: &'a RunPlan,
    /// What the server is started for.
    pub setting: Setting,
    /// The number of this process among those that take turns for the contender.
    pub replica: u32,
    /// How many these are.
    pub replicas: u32,
    /// Where the server lives.
    pub host: &'a Host,
    /// The hosts from which load comes; absent for this one.
    pub hosts: Option<&'a Hosts>,
    /// What joins server and generator.
    pub link: &'a Link,
    /// Queues of the wire, where the stack is in user space.
    pub queues: u16,
    /// What secures the connections; absent for plain HTTP.
    pub tls: Option<&'a RunTls>,
    /// CPUs of the generator's threads.
    pub generator_cpus: &'a CpuSet,
    /// Takes the speed of the CPUs of both sides.
    pub probe: &'a Probe,
    /// Takes it while a turn lasts, where that can be.
    pub gauge: Option<&'a Gauge>,
    /// What counts the machine's energy, where anything does.
    pub energy: Option<&'a Counters>,
    /// The lives of its server that it is one of.
    pub lives: Lives,
    /// What was measured so far, from which rates follow.
    pub record: &'a Record,
    /// The contender or its A/A control, where the other one of them has begun before in this round.
    pub begun_before: Option<Run>,
    /// What the record says of the contender.
    pub entry: &'a Entry,
    /// The contender.
    pub subject: &'a Subject,
    /// The cells to measure, in their order in this round; closed loops first, because rates follow from them.
    pub cells: Vec<Cell>,
    /// Where its output goes.
    pub log: PathBuf,
    /// The folder with the workloads' files.
    pub work: &'a Path,
    /// When the first round began.
    pub began: Instant,
    /// When the budget is spent, where there is one.
    pub budget_ends: Option<Instant>,
    /// The database, where there is one.
    pub database: Option<&'a Access>,
    /// Runs what workloads want to be run before them.
    pub commands: &'a Commands,
    /// A person's wish.
    pub stop: &'a Stop,
}

/// A window to be measured.
pub(super) struct Order<'a> {
    pub(super) cell: &'a Cell,
    pub(super) arrival: Arrival,
    pub(super) settle_s: f64,
    pub(super) length: Span,
    /// The number of the window in its round, so that no two have the same arrivals where they must not.
    pub(super) window: u32,
}

/// A life that has begun: the server is ready.
pub(super) struct OngoingRun<'a> {
    pub(super) server_run: ServerRun<'a>,
    pub(super) server: Server,
    /// What is known of it so far.
    pub(super) run: Run,
    /// Load that the server has had.
    pub(super) loaded: Nanos,
}

/// How old a life is.
#[derive(Clone, Copy)]
pub(super) struct Age {
    /// Time since the start of the whole run.
    pub(super) offset_ns: Nanos,
    /// Load that the server has had.
    pub(super) loaded_ns: Nanos,
}

impl<'a> ServerRun<'a> {
    /// Starts the server alone, measures it to the end and stops it. What goes wrong is in the run.
    pub(crate) fn run_alone(self, telling: &Telling<'_>) -> Run {
        match self.begin(telling) {
            Err(run) => *run,
            Ok(mut ongoing) => {
                let warm = ongoing.warm_up(telling);
                let measured = warm.and_then(|()| ongoing.measure_in_one_piece(telling, |_| true));
                ongoing.end(measured)
            }
        }
    }

    /// A run in which nothing happened.
    pub(super) fn empty_run(&self) -> Run {
        let offset_ns = self.began.elapsed().into();
        let Setting { network, protocol } = self.setting;
        let (contender, replica) = (self.subject.identity.name.clone(), self.replica);
        Run { contender, network, protocol, replica, offset_ns, ..Run::default() }
    }

    /// Starts the server; a run that says why where it does not start.
    pub(super) fn begin(self, telling: &Telling<'_>) -> Result<OngoingRun<'a>, Box<Run>> {
        let contender = &self.subject.identity.name;
        let mut run = self.empty_run();
        telling.notice(&Event::Starting { contender });
        match Server::start(self.subject, &self.start_order()) {
            Ok(server) => {
                run.startup_ns = server.startup_ns;
                log::started(contender, self.record.rounds.len(), run.startup_ns, server.pid());
                run.idle = server.used();
                let mut ongoing = OngoingRun { server_run: self, server, run, loaded: Nanos::ZERO };
                match ongoing.begin_workloads() {
                    Ok(()) => Ok(ongoing),
                    Err(failure) => Err(Box::new(ongoing.end(Err(Halt::Failed(failure))))),
                }
            }
            Err(failure) => {
                run.failure = Some(failure);
                Err(Box::new(run))
            }
        }
    }

    fn start_order(&self) -> StartOrder<'_> {
        let workloads = self.workloads();
        let needs_database = workloads.iter().any(|workload| workload.database.is_some());
        StartOrder {
            tools: &self.plan.tools,
            host: self.host,
            link: self.link,
            user: self.on_user_stack(),
            protocol: self.setting.protocol,
            tls: self.tls,
            client: self.tls.map(|tls| &tls.client),
            cpus: &self.plan.isolation.server,
            log: self.log.clone(),
            database: self.database.filter(|_| needs_database),
            upstream: self.plan.upstream.as_ref(),
            workloads,
            load_timeout: Some(Duration::from_secs_f64(self.plan.experiment.timeout_s)),
            commands: self.commands,
            stop: self.stop,
        }
    }

    /// The CPUs of the server.
    pub(super) fn server_cpus(&self) -> &'a CpuSet {
        self.host.cpus().unwrap_or(&self.plan.isolation.server)
    }

    /// Whether the kernel under the server takes the time of interrupts out of that of programs; `None` where that is not known.
    pub(super) fn interrupts_apart(&self) -> Option<bool> {
        self.host.interrupts_apart(self.record.host.interrupts_apart)
    }

    /// The workloads of its cells, as it is asked for them.
    fn workloads(&self) -> Vec<Workload> {
        let mut names: Vec<&str> = self.cells.iter().map(|cell| cell.workload.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let workloads = names.iter().filter_map(|name| self.plan.workload(name));
        workloads.map(|workload| self.subject.asked(workload)).collect()
    }

    pub(super) fn on_user_stack(&self) -> Option<OnUserStack<'_>> {
        let network = self.setting.network.filter(|network| network.stack() == Stack::User)?;
        let (generator_cpus, queues) = (self.generator_cpus, self.queues);
        Some(OnUserStack { network, generator_cpus, queues, work: self.work })
    }

    /// The database, where a cell needs it.
    pub(super) fn database_of(&self, cell: &Cell) -> Option<&'a Access> {
        let needed = self.plan.workload(&cell.workload).is_some_and(|workload| workload.database.is_some());
        self.database.filter(|_| needed)
    }

    /// Whether what is behind a proxy has the generator's CPUs.
    pub(super) fn is_upstream_beside_generator(&self) -> bool {
        self.plan.upstream.as_ref().is_some_and(|upstream| upstream.place.beside_generator)
    }

    /// Runs the generator while the server lives and nobody wants to stop at once.
    pub(super) fn load(&self, server: &mut Server, order: &Order<'_>) -> Result<LoadReport, Halt> {
        let files = self.files(server, order.cell);
        self.load_by(server, &files, order)
    }

    /// Loads the upstream behind a proxy as [`Self::load`] does the proxy, in plain HTTP.
    pub(super) fn load_straight(&self, server: &mut Server, order: &Order<'_>) -> Result<LoadReport, Halt> {
        let authority = server.upstream().map_or_else(|| server.authority.clone(), |up| up.authority.clone());
        let files = Files { url: format!("http://{authority}"), ..self.files(server, order.cell) };
        self.load_by(server, &files, order)
    }

    fn load_by(&self, server: &mut Server, files: &Files, order: &Order<'_>) -> Result<LoadReport, Halt> {
        let order = self.load_order(files, order);
        while_wanted(server, self.stop, |wanted| {
            order.measure(&self.plan.tools, self.link, self.work, wanted)
        })
    }

    /// A generator for windows of `cell` on the same connections, in which requests arrive so.
    pub(super) fn generator(
        &self,
        server: &mut Server,
        cell: &Cell,
        arrival: Arrival,
    ) -> Result<Generator, Halt> {
        self.generator_on(server, (cell, arrival), self.generator_cpus, "load")
    }

    /// A generator on a share of the generator's CPUs; `name` sets it apart from others of this life.
    pub(super) fn generator_on(
        &self,
        server: &mut Server,
        (cell, arrival): (&Cell, Arrival),
        cpus: &CpuSet,
        name: &str,
    ) -> Result<Generator, Halt> {
        let files = Files { cpus: cpus.to_string(), ..self.files(server, cell) };
        let longest = longest_window(&self.plan.experiment);
        let length = Span::Seconds(longest.as_secs_f64());
        let order = Order { cell, arrival, settle_s: 0.0, length, window: 0 };
        let order = self.load_order(&files, &order);
        // Where a server was running before, its A/A control is that very server.
        let name = format!("{name}-{}-{}", self.subject.identity.name, self.replica);
        while_wanted(server, self.stop, |_| {
            Generator::begin(&order, &self.plan.tools, self.link, self.work, &name)
        })
    }

    fn files(&self, server: &Server, cell: &Cell) -> Files {
        Files {
            url: format!("{}://{}", Scheme::of(self.tls.is_some()).name(), server.authority),
            workload: self.workload_file(&cell.workload),
            cpus: self.generator_cpus.to_string(),
            end: server.generator_end().cloned(),
            authority: self.tls.map(|tls| tls.authority.clone()),
        }
    }

    fn load_order<'f>(&self, files: &'f Files, order: &Order<'_>) -> LoadOrder<'f>
    where
        'a: 'f,
    {
        LoadOrder {
            url: &files.url,
            workload: &files.workload,
            connections: order.cell.connections,
            pipeline: order.cell.pipeline,
            protocol: order.cell.protocol,
            arrival: order.arrival.clone(),
            warmup_s: order.settle_s,
            window: order.length,
            timeout_s: self.plan.experiment.timeout_s,
            cpus: &files.cpus,
            generators: self.plan.experiment.generator_processes,
            hosts: self.hosts,
            seed: arrivals_seed(self.plan.seed, self.record.rounds.len(), order.window),
            stack: files.end.as_ref(),
            authority: files.authority.as_deref(),
        }
    }
}

impl OngoingRun<'_> {
    /// How many processes take turns for the contender in a cell: several tell nothing of one that is told apart already.
    pub(super) fn replicas_in(&self, cell: &Cell, settled: &Settled) -> u32 {
        if settled.has(&self.run.contender, cell) { 1 } else { self.server_run.replicas }
    }
}

/// What a generator is told by name.
struct Files {
    url: String,
    workload: PathBuf,
    cpus: String,
    end: Option<UserEnd>,
    authority: Option<PathBuf>,
}

/// Has the generator do something while the server lives and nobody wants to stop at once.
pub(super) fn while_wanted<T>(
    server: &mut Server,
    stop: &Stop,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, LoadError>,
) -> Result<T, Halt> {
    let mut death = None;
    let mut wanted = || {
        death = server.death(Stage::Load);
        death.is_none() && !stop.is_immediate()
    };
    work(&mut wanted).map_err(|error| {
        let death = death.or_else(|| match error {
            LoadError::Unwanted => server.death(Stage::Load),
            LoadError::Failed { .. } => server.suspected_death(Stage::Load),
        });
        match (death, error) {
            (Some(death), _) => Halt::Failed(death),
            (None, LoadError::Unwanted) => Halt::Stopped,
            (None, error) => Halt::Failed(generator_failure(error)),
        }
    })
}

/// All contenders of a round meet the same arrivals, and no two rounds do: else the luck of one schedule would look like a
/// property of the servers, however many rounds there are.
fn arrivals_seed(seed: u64, round: usize, window: u32) -> u64 {
    seed.wrapping_add((round as u64) << 32).wrapping_add(u64::from(window) << 16)
}

pub(super) fn generator_failure(error: LoadError) -> NotRun {
    let reason = error.to_string();
    let log_tail = match error {
        LoadError::Failed { log_tail, .. } => log_tail,
        LoadError::Unwanted => Vec::new(),
    };
    let remedy = Some("the fault is assay's own or the machine's, not the contender's".to_owned());
    NotRun { stage: Stage::Load, reason, remedy, log_tail }
}
