//! One life of a contender's process: started, warmed up, measured in every cell, stopped.

use std::path::PathBuf;
use std::time::Duration;

use assay_host::cpuset::CpuSet;
use assay_model::experiment::{Cell, Span};
use assay_model::load::{Arrival, LoadReport};
use assay_model::network::Stack;
use assay_model::record::{Entry, NotRun, Record, Run, Stage};
use assay_model::setting::Setting;
use assay_model::units::Nanos;
use assay_model::workload::Workload;
use assay_verdict::allocation::Settled;

use super::halt::Halt;
use crate::access::Access;
use crate::contender::{OnUserStack, Server, StartOrder};
use crate::event::Event;
use crate::generator::{Generator, Hosts, LoadError, LoadOrder};
use crate::hosts::host::Host;
use crate::log;
use crate::network::ProvisionedSetting;
use crate::rounds::bench::Bench;
use crate::rounds::server_hosts::longest_window;
use crate::rounds::telling::Telling;
use crate::rounds::timetable::Timetable;
use crate::schedule::Lives;
use crate::stack::UserEnd;
use crate::stop::Stop;
use crate::subject::Subject;
use crate::tls::RunTls;
use crate::url::Scheme;

/// One life: who lives where, and what is measured of it.
pub(crate) struct ServerRun<'a> {
    /// What every life is measured with.
    pub bench: &'a Bench<'a>,
    /// What the server is started for, and what joins it and the generator.
    pub provisioned: &'a ProvisionedSetting,
    /// What this life has to itself.
    pub allotment: &'a Allotment,
    /// Where the server lives.
    pub host: &'a Host,
    /// The hosts from which load comes; absent for this one.
    pub hosts: Option<&'a Hosts>,
    /// When the first round began, and when the budget is spent.
    pub timetable: Timetable,
    /// What was measured so far, from which rates follow.
    pub record: &'a Record,
    /// The lives of its server that it is one of.
    pub lives: Lives,
    /// The contender or its A/A control, where the other one of them has begun before in this round.
    pub begun_before: Option<Run>,
    /// The contender.
    pub subject: &'a Subject,
    /// What the record says of the contender.
    pub entry: &'a Entry,
    /// The number of this process among those that take turns for the contender.
    pub replica: u32,
    /// How many these are.
    pub replicas: u32,
    /// The cells to measure, in their order in this round; closed loops first, because rates follow from them.
    pub cells: Vec<Cell>,
    /// Where its output goes.
    pub log: PathBuf,
}

/// What a life has to itself.
pub(crate) struct Allotment {
    /// Queues of the wire, where the stack is in user space.
    pub queues: u16,
    /// CPUs of the generator's threads.
    pub generator_cpus: CpuSet,
}

/// A window to be measured.
pub(crate) struct WindowOrder<'a> {
    pub(crate) cell: &'a Cell,
    pub(super) arrival: Arrival,
    pub(crate) settle_s: f64,
    pub(crate) length: Span,
    /// The number of the window in its round, so that no two have the same arrivals where they must not.
    pub(crate) window: u32,
}

/// A life that has begun: the server is ready.
pub(crate) struct OngoingRun<'a> {
    pub(crate) server_run: ServerRun<'a>,
    pub(crate) server: Server,
    /// What is known of it so far.
    pub(crate) run: Run,
    /// Load that the server has had.
    pub(crate) loaded: Nanos,
}

/// How old a life is.
#[derive(Clone, Copy)]
pub(crate) struct Age {
    /// Time since the start of the whole run.
    pub(crate) offset_ns: Nanos,
    /// Load that the server has had.
    pub(crate) loaded_ns: Nanos,
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
    pub(crate) fn empty_run(&self) -> Run {
        let offset_ns = self.timetable.began().elapsed().into();
        let Setting { network, protocol } = self.provisioned.setting;
        let (contender, replica) = (self.subject.identity.name.clone(), self.replica);
        Run { contender, network, protocol, replica, offset_ns, ..Run::default() }
    }

    /// Starts the server; a run that says why where it does not start.
    pub(crate) fn begin(self, telling: &Telling<'_>) -> Result<OngoingRun<'a>, Box<Run>> {
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
            tools: &self.bench.plan.tools,
            host: self.host,
            link: &self.provisioned.link,
            user: self.on_user_stack(),
            protocol: self.provisioned.setting.protocol,
            tls: self.tls(),
            client: self.tls().map(|tls| &tls.client),
            cpus: &self.bench.plan.isolation.server,
            log: self.log.clone(),
            database: self.bench.access().filter(|_| needs_database),
            upstream: self.bench.plan.upstream.as_ref(),
            workloads,
            load_timeout: Some(Duration::from_secs_f64(self.bench.plan.experiment.timeout_s)),
            commands: &self.bench.commands,
            stop: self.bench.stop,
        }
    }

    /// What secures the connections; absent for plain HTTP.
    pub(crate) fn tls(&self) -> Option<&'a RunTls> {
        self.bench.tls_in(self.provisioned.setting)
    }

    /// The CPUs of the server.
    pub(super) fn server_cpus(&self) -> &'a CpuSet {
        self.host.cpus().unwrap_or(&self.bench.plan.isolation.server)
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
        let workloads = names.iter().filter_map(|name| self.bench.plan.workload(name));
        workloads.map(|workload| self.subject.asked(workload)).collect()
    }

    pub(super) fn on_user_stack(&self) -> Option<OnUserStack<'_>> {
        let network = self.provisioned.setting.network.filter(|network| network.stack() == Stack::User)?;
        let Allotment { generator_cpus, queues } = self.allotment;
        Some(OnUserStack { network, generator_cpus, queues: *queues, work: &self.bench.work })
    }

    /// The database, where a cell needs it.
    pub(crate) fn database_of(&self, cell: &Cell) -> Option<&'a Access> {
        let needed =
            self.bench.plan.workload(&cell.workload).is_some_and(|workload| workload.database.is_some());
        self.bench.access().filter(|_| needed)
    }

    /// Whether what is behind a proxy has the generator's CPUs.
    pub(super) fn is_upstream_beside_generator(&self) -> bool {
        self.bench.plan.upstream.as_ref().is_some_and(|upstream| upstream.place.beside_generator)
    }

    /// Runs the generator while the server lives and nobody wants to stop at once.
    pub(crate) fn load(&self, server: &mut Server, order: &WindowOrder<'_>) -> Result<LoadReport, Halt> {
        let files = self.files(server, order.cell);
        self.load_by(server, &files, order)
    }

    /// Loads the upstream behind a proxy as [`Self::load`] does the proxy, in plain HTTP.
    pub(super) fn load_straight(
        &self,
        server: &mut Server,
        order: &WindowOrder<'_>,
    ) -> Result<LoadReport, Halt> {
        let authority = server.upstream().map_or_else(|| server.authority.clone(), |up| up.authority.clone());
        let files = Files { url: format!("http://{authority}"), ..self.files(server, order.cell) };
        self.load_by(server, &files, order)
    }

    fn load_by(
        &self,
        server: &mut Server,
        files: &Files,
        order: &WindowOrder<'_>,
    ) -> Result<LoadReport, Halt> {
        let order = self.load_order(files, order);
        while_wanted(server, self.bench.stop, |wanted| {
            order.measure(&self.bench.plan.tools, &self.provisioned.link, &self.bench.work, wanted)
        })
    }

    /// Starts a generator on all of its CPUs, for windows of `cell` on the same connections, in which requests arrive so.
    pub(crate) fn start_generator(
        &self,
        server: &mut Server,
        cell: &Cell,
        arrival: Arrival,
    ) -> Result<Generator, Halt> {
        self.start_generator_on(server, (cell, arrival), &self.allotment.generator_cpus, "load")
    }

    /// Starts a generator on a share of its CPUs; `name` sets it apart from others of this life.
    pub(crate) fn start_generator_on(
        &self,
        server: &mut Server,
        (cell, arrival): (&Cell, Arrival),
        cpus: &CpuSet,
        name: &str,
    ) -> Result<Generator, Halt> {
        let files = Files { cpus: cpus.to_string(), ..self.files(server, cell) };
        let longest = longest_window(&self.bench.plan.experiment);
        let length = Span::Seconds(longest.as_secs_f64());
        let order = WindowOrder { cell, arrival, settle_s: 0.0, length, window: 0 };
        let order = self.load_order(&files, &order);
        // Where a server was running before, its A/A control is that very server.
        let name = format!("{name}-{}-{}", self.subject.identity.name, self.replica);
        while_wanted(server, self.bench.stop, |_| {
            Generator::begin(&order, &self.bench.plan.tools, &self.provisioned.link, &self.bench.work, &name)
        })
    }

    fn files(&self, server: &Server, cell: &Cell) -> Files {
        Files {
            url: format!("{}://{}", Scheme::of(self.tls().is_some()).name(), server.authority),
            workload: self.workload_file(&cell.workload),
            cpus: self.allotment.generator_cpus.to_string(),
            end: server.generator_end().cloned(),
            authority: self.tls().map(|tls| tls.authority.clone()),
        }
    }

    fn load_order<'f>(&self, files: &'f Files, order: &WindowOrder<'_>) -> LoadOrder<'f>
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
            timeout_s: self.bench.plan.experiment.timeout_s,
            cpus: &files.cpus,
            generators: self.bench.plan.experiment.generator_processes,
            hosts: self.hosts,
            seed: arrivals_seed(self.bench.plan.seed, self.record.rounds.len(), order.window),
            stack: files.end.as_ref(),
            authority: files.authority.as_deref(),
        }
    }
}

impl OngoingRun<'_> {
    /// How many processes take turns for the contender in a cell: several tell nothing of one that is told apart already.
    pub(crate) fn replicas_in(&self, cell: &Cell, settled: &Settled) -> u32 {
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
pub(crate) fn while_wanted<T>(
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
