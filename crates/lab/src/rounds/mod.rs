//! The runner: prepares all contenders, measures round after round, saves after each.

mod carousel;
mod cell_turns;
mod control;
mod duet;
mod energy;
mod ensemble;
mod generators;
mod halt;
mod judging;
mod lead_in;
mod learning;
mod leaving;
mod links;
mod long_look;
mod measuring;
mod pacing;
mod preparing;
mod profiler;
mod profiling;
mod round;
mod server_hosts;
mod server_run;
mod settle;
mod straight;
mod telling;
mod timetable;
mod turn_length;
mod warmup;
mod warmup_length;
mod warmup_rule;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use assay_host::energy::Counters;
use assay_host::gauge::Gauge;
use assay_host::probe::{Probe, Work};
use assay_link::Link;
use assay_model::cpuset::CpuSet;
use assay_model::lab::GeneratorHost;
use assay_model::record::{NetworkFacts, RECORD_SCHEMA, Record, State};
use assay_model::setting::Setting;
use assay_model::units::Nanos;
use assay_verdict::outlook::Past;
use assay_verdict::{MIN_ROUNDS, Settling};
use jiff::Timestamp;

pub(crate) use duet::CONTROL_EVERY;
pub(crate) use ensemble::SHARE_OF_TURNS;
use judging::Judging;
use pacing::Pacing;
use server_hosts::ServerHost;
use settle::Settles;
use telling::Telling;
use timetable::Timetable;

use crate::contender::Upstream;
use crate::contender::before::Commands;
use crate::database::Supplied;
use crate::error::LabError;
use crate::event::{Event, Observer};
use crate::generator::write_workload;
use crate::groups::Holding;
use crate::hosts::generator::{HostGenerator, open_all};
use crate::hosts::host::Host;
use crate::hosts::session::OwnProgram;
use crate::log;
use crate::network::{self, ProvisionedSetting};
use crate::plan::RunPlan;
use crate::schedule::rounds_before_settling;
use crate::stop::Stop;
use crate::store::{RunFolder, Store, read_record};
use crate::subject::Subject;
use crate::tls::{self, RunTls};

/// Measures `plan` and returns its record, which is in `store` as well.
///
/// A [`Stop`] asked for once ends the run after the current measurement, twice at once; what was measured is kept. Asked for after the
/// round it ends the run then. A pause is waited for before each window, and no part of the budget.
///
/// # Errors
/// When the plan does not fit together or the store cannot be written; [`LabError::Unsaved`] holds what was measured until then.
/// Contenders that fail are no error.
pub fn run(
    plan: &RunPlan,
    store: &Store,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<Record, LabError> {
    plan.check()?;
    let mut runner = Runner::begin(plan, store, observer, stop)?;
    runner.go().map_err(|cause| runner.with_what_was_measured(cause))
}

struct Runner<'a> {
    plan: &'a RunPlan,
    telling: Telling<'a>,
    stop: &'a Stop,
    folder: RunFolder,
    work: PathBuf,
    /// What secures the connections, where they are to be.
    tls: Option<RunTls>,
    settings: Vec<ProvisionedSetting>,
    /// This host, on which servers live where there is no other for them.
    here: Host,
    /// The other hosts on which servers live, in turns; none for this one.
    server_hosts: Vec<ServerHost>,
    /// The place among them of the one whose turn it is.
    serving: usize,
    /// Over which servers are asked for the rules of HTTP, and the database is reached.
    link: Link,
    record: Record,
    /// Who takes part, in the order of the record's contenders: the plan's subjects and perhaps one's control.
    subjects: Vec<Subject>,
    /// The database, where one is needed and there.
    database: Option<Supplied>,
    /// Runs what workloads want to be run before them.
    commands: Commands,
    /// Takes the machine's speed beside each window.
    probe: Probe,
    /// Takes it within each turn; absent where servers are on another host, or where a process may not connect to itself.
    gauge: Option<Gauge>,
    /// Counts the machine's energy, where anything does.
    energy: Option<Counters>,
    /// When the rounds began, and how long they take.
    timetable: Timetable,
    /// What each subject that was asked took to start.
    startups: BTreeMap<usize, Nanos>,
    /// Failures in a row, by subject and setting.
    failures: BTreeMap<(usize, Setting), u32>,
    /// Names of those whom another round may tell apart; `None` while everybody takes part whatever the results.
    unsettled: Option<BTreeSet<String>>,
    /// How long each contender is to be under load before a turn counts.
    settles: Settles,
    /// The most that each subject was seen to take while it lived.
    holdings: BTreeMap<usize, Holding>,
    /// How the budget is spent, where turns are as many as it allows.
    pacing: Option<Pacing>,
    /// An earlier run of this machine, whose noise is expected until there is some of its own.
    past: Option<Past>,
    /// When the verdict so far was told last.
    judging: Judging,
}

impl<'a> Runner<'a> {
    /// Makes the run's folder and saves a first record: whether that works must be known before anything is built.
    fn begin(
        plan: &'a RunPlan,
        store: &Store,
        observer: &'a mut dyn Observer,
        stop: &'a Stop,
    ) -> Result<Self, LabError> {
        let (settings, facts) = network::provision(plan)?;
        let link = network::for_asking(&settings);
        let (opened, placed): (Vec<_>, Vec<_>) = server_hosts::open(plan, store, stop)?.into_iter().unzip();
        let generator_hosts = look_at_generators(plan, stop)?;
        let now = Timestamp::now();
        let folder = store.create(&plan.experiment.name, now)?;
        let work = folder.work()?;
        let asked = |subject| plan.workloads.iter().map(move |workload| (subject, workload));
        for (subject, workload) in plan.subjects.iter().flat_map(asked) {
            let path = work.join(subject.workload_file(&workload.name));
            let written = write_workload(&path, &subject.asked(workload));
            written.map_err(|error| LabError::not_writable(&path, error.source))?;
        }
        let is_secured = plan.experiment.is_secured();
        let tls = is_secured.then(|| RunTls::make(&work)).transpose()?;
        let mut record = empty_record(plan, &settings, facts, &folder.id, now);
        record.generators = generators::entries(plan, &work);
        record.server_hosts = placed;
        record.generator_hosts = generator_hosts;
        let server_hosts = server_hosts::with_load(plan, opened, &work)?;
        plan.tools.secrets.hide_in(&mut record);
        folder.save(&record)?;
        let past = plan.past(store);
        let prediction = plan.prediction(past.as_ref());
        let outlook = plan.outlook(store, None);
        let begun = Event::Begun { id: &folder.id, work: &work, prediction, outlook: outlook.as_ref() };
        observer.notice(&begun);
        Ok(Self {
            plan,
            telling: Telling::new(observer),
            stop,
            folder,
            work,
            tls,
            settings,
            here: Host::here(&plan.tools),
            server_hosts,
            serving: 0,
            link,
            record,
            subjects: plan.subjects.clone(),
            database: None,
            commands: Commands::new(plan.before.as_deref()),
            gauge: gauge(plan),
            probe: Probe::new(&plan.isolation.server.union(&plan.isolation.generator), Work::default()),
            energy: None,
            timetable: Timetable::new(plan.experiment.budget_s, prediction.round, Instant::now()),
            startups: BTreeMap::new(),
            failures: BTreeMap::new(),
            unsettled: None,
            settles: Settles::new(&plan.experiment),
            holdings: BTreeMap::new(),
            pacing: None,
            past,
            judging: Judging::default(),
        })
    }

    fn go(&mut self) -> Result<Record, LabError> {
        log::design(self.plan, self.past.as_ref());
        self.tell_of_missing_generators();
        self.tell_verdict();
        self.supply_database();
        self.prepare()?;
        self.ask_contenders()?;
        self.admit_control();
        self.probe_links()?;
        self.measure()?;
        // Whoever stops the long look has all rounds.
        self.record.state = self.reached();
        self.look_long()?;
        self.finish()
    }

    /// Saves the record, which repeats no secret of the user's.
    fn save(&mut self) -> Result<(), LabError> {
        self.plan.tools.secrets.hide_in(&mut self.record);
        self.folder.save(&self.record)
    }

    /// A run that can be saved no longer has still measured what is in memory.
    fn with_what_was_measured(&self, cause: LabError) -> LabError {
        if !matches!(cause, LabError::StoreNotWritable { .. }) || self.record.rounds.is_empty() {
            return cause;
        }
        let kept = read_record(&self.folder.record()).map_or(0, |kept| kept.rounds.len());
        let mut measured = Box::new(self.record.clone());
        self.plan.tools.secrets.hide_in(&mut *measured);
        LabError::Unsaved { cause: Box::new(cause), measured, kept }
    }

    fn measure(&mut self) -> Result<(), LabError> {
        self.timetable.begin(Instant::now());
        self.meter_energy();
        self.open_pacing();
        while self.obstacle().is_none() {
            let index = self.rounds_done();
            self.telling.notice(&Event::RoundBegun { index, of: self.rounds_expected() });
            let before = self.stop.unpaused_now();
            self.round(index);
            self.time_rounds(index, self.stop.unpaused_now().duration_since(before));
            let settling = self.look(index)?;
            self.pace_on(self.stop.unpaused_now().duration_since(before))?;
            self.record.elapsed_ns = self.timetable.began().elapsed().into();
            self.record.paused_ns = self.stop.paused().into();
            self.save()?;
            self.tell_verdict();
            let is_over = self.all_settled() || self.nobody_left();
            let of = if is_over { index + 1 } else { self.rounds_expected().max(index + 1) };
            let left = self.time_left(of.saturating_sub(index + 1))?;
            let precision = assay_verdict::precision(&self.record)?;
            let measured = self.measured();
            self.telling.notice(&Event::RoundSaved { index, of, measured, precision, settling, left });
        }
        if self.nobody_left() {
            let (left, least) = (self.alive(), self.plan.least_contenders);
            self.telling.notice(&Event::NobodyLeft { rounds: self.rounds_done(), left, least });
        }
        log::stopped(self.rounds_done(), self.obstacle());
        Ok(())
    }

    /// The first measured length replaces the predicted one; from then on the longest counts, per contender measured.
    fn time_rounds(&mut self, index: u32, length: Duration) {
        let runs = self.record.rounds.last().map_or(&[][..], |round| &round.runs);
        let length = length.saturating_sub(profiling::spared(&self.plan.experiment, runs));
        let next = length.mul_f64(self.taking_part() as f64 / self.took_part().max(1) as f64);
        self.timetable.expect(index, next);
        if index == 0 && self.plan.experiment.until_settled && self.pacing.is_none() {
            // Fixed before the first look, because the sequential rule must know how many there can be.
            let compared = self.plan.subjects.iter().filter(|subject| !subject.is_limit()).count();
            self.record.experiment.rounds = self.timetable.planned_rounds(&self.plan.experiment, compared);
            log::planned(self.record.experiment.rounds, length);
        }
    }

    /// Looks at the results and decides who is measured in the next round.
    fn look(&mut self, index: u32) -> Result<Option<Settling>, LabError> {
        if !self.plan.experiment.until_settled {
            return Ok(None);
        }
        let settling = assay_verdict::settling(&self.record)?;
        log::looked(index, &settling);
        if index + 1 >= rounds_before_settling(&self.plan.experiment, settling.pairs) {
            let before = self.taking_part();
            self.unsettled = Some(settling.unsettled.clone());
            self.timetable.shorten(self.taking_part() as f64 / before.max(1) as f64);
        }
        Ok(Some(settling))
    }

    /// What speaks against another round, if anything does.
    fn obstacle(&self) -> Option<&'static str> {
        let (experiment, done) = (&self.record.experiment, self.rounds_done());
        let now = self.stop.unpaused_now();
        let (of, fits) = if self.pacing.is_some() {
            (self.rounds_expected(), true)
        } else if self.fills_the_budget() {
            // Their turns end with the budget, unless starting the servers took longer than was predicted.
            (self.rounds_expected(), done < MIN_ROUNDS || !self.timetable.is_spent(now))
        } else {
            (experiment.rounds, self.timetable.allows_another(experiment, done, now))
        };
        let obstacles = [
            ("a person ended the run", self.stop.ends_with_round()),
            ("too few contenders are left", self.nobody_left()),
            ("all is settled", self.all_settled()),
            ("there were as many as were planned", done >= of),
            ("another would end after the budget", !fits),
        ];
        obstacles.into_iter().find(|(_, is_there)| *is_there).map(|(what, _)| what)
    }

    /// Rounds with which nothing was cut: where the run chooses itself, fewer with more turns each are as good a use of the time.
    fn rounds_wanted(&self) -> u32 {
        if self.pacing.is_some() || self.plan.experiment.until_settled {
            return self.plan.guaranteed_rounds();
        }
        if self.fills_the_budget() { self.rounds_expected() } else { self.record.experiment.rounds }
    }

    /// Whether the turns of a number of rounds that is fixed before are as many as the budget allows.
    fn fills_the_budget(&self) -> bool {
        self.plan.fills_the_budget()
    }

    /// The host on which servers live now.
    fn home(&self) -> &Host {
        self.server_host().map_or(&self.here, |host| &host.host)
    }

    /// The other host on which servers live now, if they do.
    fn server_host(&self) -> Option<&ServerHost> {
        self.server_hosts.get(self.serving)
    }

    fn rounds_done(&self) -> u32 {
        u32::try_from(self.record.rounds.len()).unwrap_or(u32::MAX)
    }

    /// How long so many further rounds take, and the long look where they leave time and a question for one.
    fn time_left(&self, rounds: u32) -> Result<Duration, LabError> {
        let now = self.stop.unpaused_now();
        if rounds == 0 {
            return Ok(if self.has_to_look_long()? { self.length_of_look() } else { Duration::ZERO });
        }
        let due = self.timetable.time_of(self.plan.guaranteed_rounds().saturating_sub(self.rounds_done()));
        let within = match (&self.pacing, self.timetable.left(now)) {
            (Some(_), Some(left)) => left,
            _ => self.timetable.time_for(rounds, self.length_of_look(), now),
        };
        Ok(within.max(due))
    }

    fn rounds_expected(&self) -> u32 {
        if let Some(pacing) = &self.pacing {
            return pacing.rounds();
        }
        if self.fills_the_budget() {
            return self.plan.prediction(None).rounds;
        }
        self.timetable.affordable_rounds(&self.record.experiment)
    }

    fn all_settled(&self) -> bool {
        self.unsettled.as_ref().is_some_and(BTreeSet::is_empty)
    }

    /// How far the rounds got.
    fn reached(&self) -> State {
        if self.stop.ends_with_round() {
            State::Interrupted
        } else if self.rounds_done() >= self.rounds_wanted() || self.nobody_left() || self.all_settled() {
            State::Complete
        } else {
            State::BudgetSpent
        }
    }

    fn finish(&mut self) -> Result<Record, LabError> {
        self.end_database();
        self.end_server_hosts();
        self.save()?;
        self.folder.save_histograms(&self.record)?;
        Ok(self.record.clone())
    }
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        self.folder.clear_work();
    }
}

/// What the hosts are from which load is to come, before anything is built. The agents end again: each load has its own.
fn look_at_generators(plan: &RunPlan, stop: &Stop) -> Result<Vec<GeneratorHost>, LabError> {
    let own = OwnProgram { path: plan.tools.assay.clone(), version: plan.program.version.clone() };
    let opened = open_all(&plan.generator_hosts, &own, &|| !stop.is_requested())?;
    let look = |(agent, found): (HostGenerator, GeneratorHost)| agent.end().map(|()| found);
    Ok(opened.into_iter().map(look).collect::<Result<_, _>>()?)
}

/// What shows how fast the CPUs of both sides are while a turn lasts, as far as they are this machine's.
fn gauge(plan: &RunPlan) -> Option<Gauge> {
    let cpus = &plan.isolation;
    let generator = if plan.generator_hosts.is_empty() { cpus.generator.clone() } else { CpuSet::default() };
    let is_here = plan.server_hosts.is_empty();
    is_here.then(|| Gauge::new(&cpus.server, &generator).ok()).flatten()
}

fn empty_record(
    plan: &RunPlan,
    provisioned: &[ProvisionedSetting],
    networks: Vec<NetworkFacts>,
    id: &str,
    now: Timestamp,
) -> Record {
    // Where the experiment names networks, each tells of its own link.
    let link = provisioned
        .iter()
        .find(|provisioned| provisioned.setting.network.is_none())
        .map(|provisioned| &provisioned.link);
    Record {
        schema: RECORD_SCHEMA.to_owned(),
        id: id.to_owned(),
        started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        elapsed_ns: Nanos::ZERO,
        paused_ns: Nanos::ZERO,
        state: State::Running,
        assay: plan.program.clone(),
        command: plan.command.clone(),
        seed: plan.seed,
        experiment: plan.experiment.clone(),
        workloads: plan.workloads.clone(),
        host: assay_host::facts::facts(),
        isolation: plan.isolation.record(),
        link: Some(link.map_or(plan.link, Link::spec)),
        link_facts: link.and_then(Link::facts).cloned(),
        generators: Vec::new(),
        networks,
        tls: plan.experiment.is_secured().then(tls::asked),
        database: None,
        upstream: plan.upstream.as_ref().map(Upstream::facts),
        server_hosts: Vec::new(),
        generator_hosts: Vec::new(),
        host_links: Vec::new(),
        imported: None,
        contenders: plan.subjects.iter().map(crate::subject::Subject::entry).collect(),
        rounds: Vec::new(),
        long_look: None,
        energy: None,
    }
}
