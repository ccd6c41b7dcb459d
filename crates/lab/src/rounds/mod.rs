//! The runner: prepares all contenders, measures round after round, saves after each.

mod event;
mod life;
pub(crate) mod rates;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use assay_check::Pace;
use assay_model::experiment::Cell;
use assay_model::record::{NotRun, RECORD_SCHEMA, Record, Round, Run, Stage, State};
use assay_model::units::Nanos;
use jiff::Timestamp;

pub use event::{Event, Observer};
use life::Life;

use crate::conformance::{Inspection, TIME_IN_A_RUN};
use crate::contender::Preparation;
use crate::error::LabError;
use crate::plan::Plan;
use crate::schedule::{affordable_rounds, allows_another, block};
use crate::stop::Stop;
use crate::store::{RunFolder, Store};
use crate::subject::{Launch, Process};
use crate::verdict;

/// Failures in a row after which a contender is not started again.
const MAX_FAILURES: u32 = 2;

/// Measures `plan` and returns its record, which is in `store` as well.
///
/// A [`Stop`] asked for once ends the run after the current measurement, twice at once; what was measured is kept.
///
/// # Errors
/// When the plan does not fit together or the store cannot be written. Contenders that fail are no error.
pub fn run(plan: &Plan, store: &Store, observer: &mut dyn Observer, stop: &Stop) -> Result<Record, LabError> {
    plan.check()?;
    let mut runner = Runner::begin(plan, store, observer, stop)?;
    runner.prepare()?;
    runner.ask_for_rules()?;
    runner.measure()?;
    runner.finish()
}

struct Runner<'a> {
    plan: &'a Plan,
    observer: &'a mut dyn Observer,
    stop: &'a Stop,
    folder: RunFolder,
    work: PathBuf,
    record: Record,
    /// When the first round began.
    began: Instant,
    /// How long asking for the rules took before that; it counts as part of the budget.
    asking: Duration,
    /// Failures in a row, by subject.
    failures: Vec<u32>,
    /// Length of the longest round so far, or the predicted one.
    round_length: Duration,
}

impl<'a> Runner<'a> {
    /// Makes the run's folder and saves a first record: whether that works must be known before anything is built.
    fn begin(
        plan: &'a Plan,
        store: &Store,
        observer: &'a mut dyn Observer,
        stop: &'a Stop,
    ) -> Result<Self, LabError> {
        let now = Timestamp::now();
        let folder = store.create(&plan.experiment.name, now)?;
        let work = folder.work()?;
        for workload in &plan.workloads {
            let path = work.join(format!("{}.json", workload.name));
            let text = serde_json::to_vec(workload).map_err(|error| LabError::Bug(error.to_string()))?;
            std::fs::write(&path, text).map_err(|source| LabError::not_writable(&path, source))?;
        }
        let record = empty_record(plan, &folder.id, now);
        folder.save(&record)?;
        let prediction = plan.prediction();
        observer.notice(&Event::Begun { id: &folder.id, prediction });
        let failures = vec![0; plan.subjects.len()];
        let round_length = prediction.round;
        Ok(Self {
            plan,
            observer,
            stop,
            folder,
            work,
            record,
            began: Instant::now(),
            asking: Duration::ZERO,
            failures,
            round_length,
        })
    }

    fn prepare(&mut self) -> Result<(), LabError> {
        for index in 0..self.plan.subjects.len() {
            if self.stop.soon() {
                break;
            }
            if let Err(reason) = self.prepare_one(index) {
                self.drop_out(index, reason);
            }
        }
        self.folder.save(&self.record)
    }

    fn prepare_one(&mut self, index: usize) -> Result<(), NotRun> {
        let subject = &self.plan.subjects[index];
        let contender = subject.name.as_str();
        if self.plan.cells_of(index).is_empty() {
            return Err(answers_nothing(&subject.workloads));
        }
        let Launch::Process(process) = &subject.launch else { return Ok(()) };
        let process: &Process = process;
        let preparation = Preparation { tools: &self.plan.tools, process, work: &self.work, stop: self.stop };
        self.observer.notice(&Event::Probing { contender });
        preparation.needs()?;
        if let Some(build) = &process.build {
            self.observer.notice(&Event::Building { contender });
            preparation.build(build, &self.folder.log(contender, "build"))?;
        }
        // After the build, because some versions are those of what it fetched.
        self.record.contenders[index].versions = preparation.versions();
        Ok(())
    }

    fn ask_for_rules(&mut self) -> Result<(), LabError> {
        let began = Instant::now();
        for index in (0..self.plan.subjects.len()).filter(|&index| self.plan.is_asked(index)) {
            if !self.stop.soon() && self.record.contenders[index].not_run.is_none() {
                self.ask_one(index);
            }
        }
        self.asking = began.elapsed();
        self.folder.save(&self.record)
    }

    /// Asks one contender. One that does not start is not told off here: it has its rounds to do so again, one less.
    fn ask_one(&mut self, index: usize) {
        let subject = &self.plan.subjects[index];
        let answers = self.plan.workloads.iter().filter(|workload| subject.answers(&workload.name));
        let inspection = Inspection {
            tools: &self.plan.tools,
            cpus: &self.plan.isolation.server,
            log: self.folder.log(&subject.name, "check"),
            workloads: answers.collect(),
            only: &[],
            pace: Pace::Within(TIME_IN_A_RUN),
            stop: self.stop,
        };
        match inspection.inspect(subject, self.observer) {
            Ok(conformance) => self.record.contenders[index].conformance = Some(conformance),
            Err(_) => self.failures[index] += 1,
        }
    }

    fn measure(&mut self) -> Result<(), LabError> {
        self.began = Instant::now();
        while self.another_round() {
            let index = u32::try_from(self.record.rounds.len()).unwrap_or(u32::MAX);
            self.observer.notice(&Event::RoundBegun { index, of: self.rounds_expected() });
            let before = Instant::now();
            let first = self.record.rounds.is_empty();
            self.round(index);
            // The first measured length replaces the predicted one; from then on the longest counts.
            let length = before.elapsed();
            self.round_length = if first { length } else { self.round_length.max(length) };
            self.record.elapsed_ns = self.began.elapsed().into();
            self.folder.save(&self.record)?;
            let of = self.rounds_expected().max(index + 1);
            let left = self.round_length * of.saturating_sub(index + 1);
            let precision = verdict::precision(&self.record);
            self.observer.notice(&Event::RoundSaved { index, of, precision, left });
        }
        Ok(())
    }

    fn another_round(&self) -> bool {
        let done = u32::try_from(self.record.rounds.len()).unwrap_or(u32::MAX);
        let time = allows_another(
            &self.plan.experiment,
            done,
            self.asking + self.began.elapsed(),
            self.round_length,
        );
        time && !self.stop.soon() && self.record.contenders.iter().any(|entry| entry.not_run.is_none())
    }

    fn rounds_expected(&self) -> u32 {
        affordable_rounds(&self.plan.experiment, self.asking, self.round_length)
    }

    fn round(&mut self, index: u32) {
        let all_cells = self.plan.experiment.cells().len();
        let order = block(self.plan.seed, index, self.plan.subjects.len(), all_cells);
        self.record.rounds.push(Round { index, runs: Vec::new() });
        for subject in order.contenders {
            if self.stop.soon() {
                break;
            }
            if self.record.contenders[subject].not_run.is_some() {
                continue;
            }
            let own = self.plan.cells_of(subject);
            let cells = order.cells.iter().filter_map(|cell| own.iter().find(|(index, _)| index == cell));
            let mut cells: Vec<Cell> = cells.map(|(_, cell)| cell.clone()).collect();
            cells.sort_by_key(|cell| !cell.offered.is_capacity());
            let life = Life {
                plan: self.plan,
                record: &self.record,
                subject: &self.plan.subjects[subject],
                cells,
                log: self.folder.log(&self.plan.subjects[subject].name, index),
                work: &self.work,
                began: self.began,
                stop: self.stop,
            };
            let run = life.live(self.observer);
            self.settle(subject, run);
        }
    }

    /// Files a run, and drops a contender that cannot be measured: at once when it answers wrongly, which time does not
    /// mend, else after it failed twice in a row.
    fn settle(&mut self, subject: usize, run: Run) {
        // A run that a person ended before its first window is no evidence of anything.
        if self.stop.soon() && run.cells.is_empty() {
            return;
        }
        let failure = run.failure.clone();
        if let Some(round) = self.record.rounds.last_mut() {
            round.runs.push(run);
        }
        let Some(reason) = failure else {
            self.failures[subject] = 0;
            return;
        };
        self.failures[subject] += 1;
        let contender = self.plan.subjects[subject].name.as_str();
        self.observer.notice(&Event::Failed { contender, reason: &reason });
        if reason.stage == Stage::Answer || self.failures[subject] >= MAX_FAILURES {
            self.drop_out(subject, reason);
        }
    }

    fn drop_out(&mut self, subject: usize, reason: NotRun) {
        let contender = self.plan.subjects[subject].name.as_str();
        self.observer.notice(&Event::Dropped { contender, reason: &reason });
        self.record.contenders[subject].not_run = Some(reason);
    }

    fn finish(mut self) -> Result<Record, LabError> {
        let rounds = u32::try_from(self.record.rounds.len()).unwrap_or(u32::MAX);
        let nobody_left = self.record.contenders.iter().all(|entry| entry.not_run.is_some());
        self.record.state = if self.stop.soon() {
            State::Interrupted
        } else if rounds >= self.plan.experiment.rounds || nobody_left {
            State::Complete
        } else {
            State::BudgetSpent
        };
        self.folder.save(&self.record)?;
        self.folder.save_histograms(&self.record)?;
        Ok(self.record.clone())
    }
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        self.folder.clear_work();
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

fn empty_record(plan: &Plan, id: &str, now: Timestamp) -> Record {
    Record {
        schema: RECORD_SCHEMA.to_owned(),
        id: id.to_owned(),
        started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        elapsed_ns: Nanos::ZERO,
        state: State::Running,
        assay: plan.program.clone(),
        command: plan.command.clone(),
        seed: plan.seed,
        experiment: plan.experiment.clone(),
        workloads: plan.workloads.clone(),
        host: assay_host::facts::facts(),
        isolation: plan.isolation.record(),
        link: "loopback".to_owned(),
        contenders: plan.subjects.iter().map(crate::subject::Subject::entry).collect(),
        rounds: Vec::new(),
    }
}
