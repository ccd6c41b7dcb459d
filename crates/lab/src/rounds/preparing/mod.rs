//! What comes before the first round: the database, what contenders need, their builds, what they keep of the rules, and how long the
//! answers of the limit are to be.

mod control;
mod energy;
pub(crate) mod generators;
mod links;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use assay_check::Pace;
use assay_model::experiment::Cell;
use assay_model::learnt::Learnt;
use assay_model::record::{NotRun, Stage};
use assay_model::setting::Setting;
use assay_model::workload::Workload;

use super::Runner;
use super::life::learning;
use super::server_hosts::{ServerHost, longest_window};
use crate::conformance::{Inspected, Inspection, TIME_IN_A_RUN};
use crate::contender::Preparation;
use crate::database::{self, Supplied};
use crate::error::LabError;
use crate::event::Event;
use crate::hosts::host::Host;
use crate::log;
use crate::network::ProvisionedSetting;
use crate::running;
use crate::stand_in;
use crate::subject::{Launch, Process, Subject};

impl Runner<'_> {
    /// Starts the database before anything that may need it. Without it, what needs it is not run.
    pub(super) fn supply_database(&mut self) {
        let Some(source) = &self.bench.plan.database else { return };
        self.telling.notice(&Event::StartingDatabase { builds: source.builds() });
        let order = database::Order {
            tools: self.bench.plan.tools.clone(),
            side: self.bench.link.server_side(),
            cpus: None,
            log: self.bench.folder.log("database", "server"),
            seed: self.bench.plan.seed,
            run: &self.bench.folder.id,
            guests: self.bench.plan.subjects.iter().any(Subject::is_contained),
            stop: self.bench.stop,
        };
        match database::supply(source, &order, &self.homes.here) {
            Ok(supplied) => {
                if let Some(host) = supplied.agent() {
                    // A host that is lost is told of when the database is asked for.
                    let _ = host.expect_silence(longest_window(&self.bench.plan.experiment), &mut || {
                        !self.bench.stop.is_requested()
                    });
                }
                log::database(&supplied.facts);
                self.record.database = Some(supplied.facts.clone());
                self.bench.database = Some(supplied);
            }
            Err(error) => {
                let facts = database::absent(source, &error);
                log::database(&facts);
                if let Some(reason) = &facts.not_run {
                    self.telling.notice(&Event::NoDatabase { reason });
                }
                self.record.database = Some(facts);
            }
        }
    }

    pub(super) fn end_database(&mut self) {
        if let Some(Err(error)) = self.bench.database.take().map(Supplied::end) {
            self.telling.notice(&Event::DatabaseLeft { problem: &error.to_string() });
        }
    }

    /// Ends the agents of the servers' hosts, and says where anything may be left.
    pub(super) fn end_server_hosts(&mut self) {
        for host in std::mem::take(&mut self.homes.others) {
            if let Err(error) = host.host.end() {
                self.telling.notice(&Event::HostLeft { problem: &error.to_string() });
            }
        }
    }

    /// The cells that a subject takes part in, with their index among all: not those for which there is no database.
    pub(super) fn cells_of(&self, subject: &Subject) -> Vec<(usize, Cell)> {
        let missing = self.record.database.as_ref().is_some_and(|database| database.not_run.is_some());
        let needs =
            |cell: &Cell| self.bench.plan.workload(&cell.workload).is_some_and(|w| w.database.is_some());
        let started = matches!(subject.launch, Launch::Process(_));
        let mut cells = self.bench.plan.cells_of(subject);
        cells.retain(|(_, cell)| !(missing && started && needs(cell)));
        cells
    }

    pub(super) fn prepare(&mut self) -> Result<(), LabError> {
        for index in 0..self.bench.plan.subjects.len() {
            if self.bench.stop.is_requested() {
                break;
            }
            match self.prepare_one(index) {
                Ok(()) => self.close_settings(index),
                Err(reason) => self.drop_out(index, reason),
            }
        }
        self.save()
    }

    /// Has one contender take part a second time, if that is wanted.
    pub(super) fn admit_control(&mut self) {
        if !self.bench.plan.experiment.aa {
            return;
        }
        let control = control::control(self.bench.plan, &self.record.contenders, &self.known.startups);
        let Some((subject, entry)) = control else { return };
        log::control(&entry);
        self.subjects.push(subject);
        self.record.contenders.push(entry);
    }

    fn prepare_one(&mut self, index: usize) -> Result<(), NotRun> {
        let subject = &self.bench.plan.subjects[index];
        let contender = subject.identity.name.as_str();
        if self.bench.plan.cells_of(subject).is_empty() {
            return Err(answers_nothing(&subject.identity.workloads));
        }
        if let Some(reason) = self.record.database.as_ref().and_then(|database| database.not_run.as_ref())
            && self.cells_of(subject).is_empty()
        {
            return Err(reason.clone());
        }
        let process: &Process = match &subject.launch {
            Launch::Process(process) => process,
            Launch::Running { authority, .. } => {
                self.record.contenders[index].running = Some(running::record(&running::find(authority)));
                return Ok(());
            }
        };
        let versions = match self.homes.others.as_slice() {
            [] => self.prepare_at(contender, process, &self.homes.here)?,
            [only] => self.prepare_at(contender, process, &only.host)?,
            [first, others @ ..] => self.prepare_on_each(contender, process, &first.host, others)?,
        };
        self.record.contenders[index].versions = versions;
        let host = self.homes.first();
        if let Some(container) = &process.container
            && let Some(id) = host.image(&process.folder, &container.image)
        {
            self.record.contenders[index].command = container.command(&id);
        }
        Ok(())
    }

    /// Prepares a contender on hosts that take turns, and tells its versions, which are to be those of the first on all of them.
    fn prepare_on_each(
        &self,
        contender: &str,
        process: &Process,
        first: &Host,
        others: &[ServerHost],
    ) -> Result<BTreeMap<String, String>, NotRun> {
        let prepare = |host: &Host| {
            let prepared = self.prepare_at(contender, process, host);
            prepared.map_err(|told| NotRun { reason: format!("on {}: {}", host.name(), told.reason), ..told })
        };
        let versions = prepare(first)?;
        for ServerHost { host, .. } in others {
            let own = prepare(host)?;
            if own != versions {
                return Err(of_other_versions([first.name(), host.name()], [&versions, &own]));
            }
        }
        Ok(versions)
    }

    /// Probes and builds a contender where it is to live, and tells its versions there. Each host's build has a log of its own.
    fn prepare_at(
        &self,
        contender: &str,
        process: &Process,
        host: &Host,
    ) -> Result<BTreeMap<String, String>, NotRun> {
        let preparation = Preparation { host, process, work: &self.bench.work, stop: self.bench.stop };
        self.telling.notice(&Event::Probing { contender });
        preparation.needs()?;
        if let Some(build) = &process.build {
            self.telling.notice(&Event::Building { contender });
            let is_here = !host.is_remote();
            let what = if is_here { "build".to_owned() } else { format!("build-{}", host.name()) };
            preparation.build(build, &self.bench.folder.log(contender, what))?;
        }
        // After the build, because some versions are those of what it fetched.
        Ok(preparation.versions())
    }

    /// Keeps a subject out of the settings in which it cannot be.
    fn close_settings(&mut self, subject: usize) {
        let closed = |provisioned: &ProvisionedSetting| {
            Some((
                provisioned.setting,
                provisioned.closed_to(&self.bench.plan.subjects[subject], &self.bench.plan.isolation)?,
            ))
        };
        let closed: Vec<_> = self.bench.settings.iter().filter_map(closed).collect();
        for (setting, reason) in closed {
            self.drop_out_on(subject, setting, reason);
        }
    }

    /// Asks contenders for the rules, and how long their answers are where those of the limit are to be as long: it comes last.
    pub(super) fn ask_contenders(&mut self) -> Result<(), LabError> {
        let began = Instant::now();
        let (limits, others): (Vec<usize>, _) =
            (0..self.subjects.len()).partition(|&index| self.subjects[index].is_limit());
        let answers: Vec<Learnt> = others.into_iter().flat_map(|index| self.ask_one(index)).collect();
        for limit in limits {
            self.fit_limit(limit, &answers);
            self.ask_one(limit);
        }
        self.timetable.asked_for(began.elapsed());
        self.save()
    }

    /// Has the limit answer the workloads for which it stands in as long as the others do. Those of which no length is known it does not
    /// take part in.
    fn fit_limit(&mut self, limit: usize, answers: &[Learnt]) {
        let plan = self.bench.plan;
        let is_gone = self.record.contenders[limit].not_run.is_some();
        if plan.stand_ins.is_empty() || is_gone || self.bench.stop.is_requested() {
            return;
        }
        let stand_ins = plan.workloads.iter().filter(|of| plan.stand_ins.contains(&of.name));
        for workload in stand_ins {
            match stand_in::lengths(workload, answers) {
                Some(lengths) => self.subjects[limit].stand_in(workload, &lengths),
                None => self.subjects[limit].identity.workloads.retain(|known| *known != workload.name),
            }
        }
        let subject = &self.subjects[limit];
        self.record.contenders[limit].identity = subject.identity.clone();
        let mut stand_ins = subject.stand_ins.iter();
        let file = |name: &str| self.bench.work.join(subject.workload_file(name));
        let fitted = match plan.cells_of(subject).is_empty() {
            true => Err(no_length()),
            false => stand_ins.try_for_each(|(name, workload)| learning::write(&file(name), workload)),
        };
        if let Err(reason) = fitted {
            self.drop_out(limit, reason);
        }
    }

    /// Asks one contender what there is to be asked, and gives what it answered to workloads for which the limit stands in. One that does
    /// not start is not reported here: it can fail again in its rounds, of which it has one less. A command of the user's own that cannot
    /// start is given up before any round.
    fn ask_one(&mut self, index: usize) -> Vec<Learnt> {
        let subject = &self.subjects[index];
        let (rules, sized) = (self.bench.plan.is_asked(subject), self.bench.plan.sized(subject));
        let is_gone = self.record.contenders[index].not_run.is_some();
        if is_gone || self.bench.stop.is_requested() || (!rules && sized.is_empty()) {
            return Vec::new();
        }
        let setting = self.asked_in(index);
        let cells = self.cells_of(subject);
        let is_asked = |w: &&Workload| cells.iter().any(|(_, cell)| cell.workload == w.name);
        let inspection = Inspection {
            tools: &self.bench.plan.tools,
            host: self.homes.present(),
            link: &self.bench.link,
            tls: self.bench.tls_in(setting),
            client: None,
            http2: setting.protocol.is_http2(),
            cpus: &self.bench.plan.isolation.server,
            log: self.bench.folder.log(&subject.identity.name, "check"),
            workloads: self.bench.plan.workloads.iter().filter(is_asked).collect(),
            database: self.bench.database.as_ref(),
            upstream: self.bench.plan.upstream.as_ref(),
            commands: &self.bench.commands,
            rules,
            only: &[],
            sized,
            load_timeout: Some(Duration::from_secs_f64(self.bench.plan.experiment.timeout_s)),
            pace: Pace::Within(TIME_IN_A_RUN),
            stop: self.bench.stop,
        };
        match inspection.inspect(subject, &mut |event: &Event<'_>| self.telling.notice(event)) {
            Ok(Inspected { conformance, answers, startup_ns }) => {
                self.record.contenders[index].conformance = conformance;
                self.known.startups.insert(index, startup_ns);
                return answers;
            }
            // Whoever is to speak HTTP/2 need not speak HTTP/1.1.
            Err(_) if setting.protocol.is_http2() => {}
            Err(reason) if self.cannot_start(index, setting, &reason) => {
                log::failed(&subject.identity.name, &reason, 1, true);
                self.drop_out_on(index, setting, reason);
            }
            Err(_) => *self.known.failures.entry((index, setting)).or_default() += 1,
        }
        Vec::new()
    }

    /// The setting in which a subject is asked: the first that it is measured in where that is on the kernel's TCP.
    fn asked_in(&self, subject: usize) -> Setting {
        let entry = &self.record.contenders[subject];
        let mut open =
            self.bench.settings.iter().filter(|provisioned| entry.absence_on(provisioned.setting).is_none());
        let first = open.clone().find(|provisioned| provisioned.is_kernels()).or_else(|| open.next());
        first.map(|provisioned| provisioned.setting).unwrap_or_default()
    }
}

/// Two builds of one contender would take turns as if they were one.
fn of_other_versions(hosts: [&str; 2], versions: [&BTreeMap<String, String>; 2]) -> NotRun {
    let [one, other] = versions.map(|of| {
        of.iter().map(|(what, version)| format!("{what} {version}")).collect::<Vec<_>>().join(" and ")
    });
    let [first, second] = hosts;
    NotRun {
        stage: Stage::Needs,
        reason: format!("it is {one} on {first} and {other} on {second}, which take turns"),
        remedy: Some("install one version on both".to_owned()),
        log_tail: Vec::new(),
    }
}

/// Why the limit cannot stand in.
fn no_length() -> NotRun {
    NotRun {
        stage: Stage::Needs,
        reason: "it sends as many bytes as the others do, and none of them is known to answer rightly"
            .to_owned(),
        remedy: Some("see why they do not, or leave the limit out with '!assay'".to_owned()),
        log_tail: Vec::new(),
    }
}

fn answers_nothing(workloads: &[String]) -> NotRun {
    NotRun {
        stage: Stage::Needs,
        reason: "answers none of the workloads of this experiment".to_owned(),
        remedy: Some(format!("measure {}", workloads.join(" or "))),
        log_tail: Vec::new(),
    }
}
