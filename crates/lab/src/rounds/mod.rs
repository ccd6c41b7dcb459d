//! The runner: prepares all contenders, measures round after round, saves after each.

mod bench;
mod judging;
mod leaving;
mod life;
mod long_look;
mod preparing;
mod round;
mod server_hosts;
mod telling;
mod timetable;
mod timing;
mod turns;
mod warmup;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use assay_link::Link;
use assay_model::experiment::Experiment;
use assay_model::lab::GeneratorHost;
use assay_model::record::{NetworkFacts, RECORD_SCHEMA, Record, State};
use assay_model::setting::Setting;
use assay_model::units::Nanos;
use assay_verdict::Settling;
use jiff::Timestamp;

use bench::Bench;
use judging::Judging;
use preparing::generators;
use server_hosts::Homes;
use telling::Telling;
use timetable::Timetable;
use timing::pacing::Pacing;
pub(crate) use turns::duet::CONTROL_EVERY;
pub(crate) use turns::ensemble::SHARE_OF_TURNS;
use turns::settle::Settles;

use crate::contender::Upstream;
use crate::contender::before::Commands;
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
use crate::stop::Stop;
use crate::store::{Store, read_record};
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

/// A run while it lasts.
struct Runner<'a> {
    /// Where servers live.
    homes: Homes,
    bench: Bench<'a>,
    telling: Telling<'a>,
    record: Record,
    /// Who takes part, in the order of the record's contenders: the plan's subjects and perhaps one's control.
    subjects: Vec<Subject>,
    known: KnownSubjects,
    /// Names of those whom another round may tell apart; `None` while everybody takes part whatever the results.
    unsettled: Option<BTreeSet<String>>,
    /// When the rounds began, and how long they take.
    timetable: Timetable,
    /// How the budget is spent, where turns are as many as it allows.
    pacing: Option<Pacing>,
    /// When the verdict so far was told last.
    judging: Judging,
}

/// What the run has seen of its subjects so far.
struct KnownSubjects {
    /// What each that was asked took to start.
    startups: BTreeMap<usize, Nanos>,
    /// Failures in a row, by subject and setting.
    failures: BTreeMap<(usize, Setting), u32>,
    /// The most that each was seen to take while it lived.
    holdings: BTreeMap<usize, Holding>,
    /// How long each is to be under load before a turn counts.
    settles: Settles,
}

impl KnownSubjects {
    /// Nothing is known before the run.
    fn new(experiment: &Experiment) -> Self {
        Self {
            startups: BTreeMap::new(),
            failures: BTreeMap::new(),
            holdings: BTreeMap::new(),
            settles: Settles::new(experiment),
        }
    }
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
        write_workloads(plan, &work)?;
        let tls = plan.experiment.is_secured().then(|| RunTls::make(&work)).transpose()?;
        let mut record = empty_record(plan, &settings, facts, &folder.id, now);
        record.generators = generators::entries(plan, &work);
        record.server_hosts = placed;
        record.generator_hosts = generator_hosts;
        let others = server_hosts::with_load(plan, opened, &work)?;
        plan.tools.secrets.hide_in(&mut record);
        folder.save(&record)?;
        let past = plan.past(store);
        let prediction = plan.prediction(past.as_ref());
        let outlook = plan.outlook(store, None);
        let begun = Event::Begun { id: &folder.id, work: &work, prediction, outlook: outlook.as_ref() };
        observer.notice(&begun);
        Ok(Self {
            homes: Homes::new(Host::here(&plan.tools), others),
            bench: Bench {
                plan,
                stop,
                folder,
                work,
                tls,
                settings,
                link,
                database: None,
                commands: Commands::new(plan.before.as_deref()),
                gauge: bench::gauge(plan),
                probe: bench::probe(plan),
                energy: None,
                past,
            },
            telling: Telling::new(observer),
            record,
            subjects: plan.subjects.clone(),
            known: KnownSubjects::new(&plan.experiment),
            unsettled: None,
            timetable: Timetable::new(plan.experiment.budget_s, prediction.round, Instant::now()),
            pacing: None,
            judging: Judging::default(),
        })
    }

    fn go(&mut self) -> Result<Record, LabError> {
        log::design(self.bench.plan, self.bench.past.as_ref());
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
        self.bench.plan.tools.secrets.hide_in(&mut self.record);
        self.bench.folder.save(&self.record)
    }

    /// A run that can be saved no longer has still measured what is in memory.
    fn with_what_was_measured(&self, cause: LabError) -> LabError {
        if !matches!(cause, LabError::StoreNotWritable { .. }) || self.record.rounds.is_empty() {
            return cause;
        }
        let kept = read_record(&self.bench.folder.record()).map_or(0, |kept| kept.rounds.len());
        let mut measured = Box::new(self.record.clone());
        self.bench.plan.tools.secrets.hide_in(&mut *measured);
        LabError::Unsaved { cause: Box::new(cause), measured, kept }
    }

    fn measure(&mut self) -> Result<(), LabError> {
        self.timetable.begin(Instant::now());
        self.meter_energy();
        self.open_pacing();
        while self.obstacle().is_none() {
            self.measure_round()?;
        }
        if self.nobody_left() {
            let (left, least) = (self.alive(), self.bench.plan.least_contenders);
            self.telling.notice(&Event::NobodyLeft { rounds: self.rounds_done(), left, least });
        }
        log::stopped(self.rounds_done(), self.obstacle());
        Ok(())
    }

    /// Measures one more round, saves it, and decides by all that was seen how the run goes on.
    fn measure_round(&mut self) -> Result<(), LabError> {
        let (index, stop) = (self.rounds_done(), self.bench.stop);
        self.telling.notice(&Event::RoundBegun { index, of: self.rounds_expected() });
        let before = stop.unpaused_now();
        self.round(index);
        self.time_rounds(index, stop.unpaused_now().duration_since(before));
        let settling = self.look(index)?;
        self.pace_on(stop.unpaused_now().duration_since(before))?;
        self.record.elapsed_ns = self.timetable.began().elapsed().into();
        self.record.paused_ns = stop.paused().into();
        self.save()?;
        self.tell_verdict();
        self.tell_round(index, settling)
    }

    /// Tells of a round that is saved, and of how much is left.
    fn tell_round(&self, index: u32, settling: Option<Settling>) -> Result<(), LabError> {
        let is_over = self.all_settled() || self.nobody_left();
        let of = if is_over { index + 1 } else { self.rounds_expected().max(index + 1) };
        let left = self.time_left(of.saturating_sub(index + 1))?;
        let precision = assay_verdict::precision(&self.record)?;
        let measured = self.measured();
        self.telling.notice(&Event::RoundSaved { index, of, measured, precision, settling, left });
        Ok(())
    }

    fn finish(&mut self) -> Result<Record, LabError> {
        self.end_database();
        self.end_server_hosts();
        self.save()?;
        self.bench.folder.save_histograms(&self.record)?;
        Ok(self.record.clone())
    }
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        self.bench.folder.clear_work();
    }
}

/// What the hosts are from which load is to come, before anything is built. The agents end again: each load has its own.
fn look_at_generators(plan: &RunPlan, stop: &Stop) -> Result<Vec<GeneratorHost>, LabError> {
    let own = OwnProgram { path: plan.tools.assay.clone(), version: plan.program.version.clone() };
    let opened = open_all(&plan.generator_hosts, &own, &|| !stop.is_requested())?;
    let look = |(agent, found): (HostGenerator, GeneratorHost)| agent.end().map(|()| found);
    Ok(opened.into_iter().map(look).collect::<Result<_, _>>()?)
}

/// Writes for each subject what generators ask it for.
fn write_workloads(plan: &RunPlan, work: &Path) -> Result<(), LabError> {
    let asked = |subject| plan.workloads.iter().map(move |workload| (subject, workload));
    for (subject, workload) in plan.subjects.iter().flat_map(asked) {
        let path = work.join(subject.workload_file(&workload.name));
        let written = write_workload(&path, &subject.asked(workload));
        written.map_err(|error| LabError::not_writable(&path, error.source))?;
    }
    Ok(())
}

/// The record of a run of which nothing is known yet but what is asked.
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
