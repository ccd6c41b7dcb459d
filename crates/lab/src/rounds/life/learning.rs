//! What the generator is told of a workload, where that is a matter of the very server that it asks: what a command printed
//! before the load, and, where the workload does not say what is right, what the server answers at rest
//! (docs/method/answers.md).

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_file::WriteError;
use assay_model::learnt::Learnt;
use assay_model::load::LoadReport;
use assay_model::record::NotRun;
use assay_model::workload::{Expect, Workload};

use super::halt::Halt;
use super::server_run::{OngoingRun, ServerRun, generator_failure};
use crate::contender::learn::{Door, Lesson, Occasion, Question, learn};
use crate::error::LabError;
use crate::generator::{LoadError, write_workload};
use crate::log;

impl ServerRun<'_> {
    /// The file with a workload for the generator: with what is known of this contender's server alone, where there is such.
    pub(crate) fn workload_file(&self, name: &str) -> PathBuf {
        let is_own =
            |workload: &Workload| workload.before.is_some() || self.learns(&self.subject.asked(workload));
        if self.bench.plan.workload(name).is_some_and(is_own) {
            let contender = &self.subject.identity.name;
            return self.bench.work.join(format!("{contender}-{name}.own-{}.json", self.replica));
        }
        self.bench.work.join(self.subject.workload_file(name))
    }

    /// Whether a workload leaves open what is right. Over the user-space stack there is no socket to ask with.
    fn learns(&self, workload: &Workload) -> bool {
        let is_silent = workload.requests.iter().any(|request| request.expect.is_silent());
        is_silent && self.on_user_stack().is_none()
    }

    /// What earlier lives of the same contender answered.
    fn learnt_before(&self) -> Vec<Learnt> {
        let runs = self.record.rounds.iter().flat_map(|round| &round.runs);
        let mut own =
            runs.filter(|run| run.contender == self.subject.identity.name && !run.learnt.is_empty());
        own.next_back().map_or_else(Vec::new, |run| run.learnt.clone())
    }
}

impl OngoingRun<'_> {
    /// Tells the generator what a command printed, and what the server answers where its workloads leave that open.
    pub(super) fn begin_workloads(&mut self) -> Result<(), NotRun> {
        self.run.learnt = self.server_run.learnt_before();
        for workload in self.server.workloads() {
            if self
                .server_run
                .bench
                .plan
                .workload(&workload.name)
                .is_some_and(|planned| planned.before.is_some())
            {
                write(&self.server_run.workload_file(&workload.name), workload)?;
            }
        }
        self.learn(Occasion::First).map(drop)
    }

    /// Asks for what its workloads leave open, and has the generator expect it. Returns whether more is expected to vary than
    /// before.
    pub(crate) fn learn(&mut self, occasion: Occasion) -> Result<bool, NotRun> {
        let mut is_looser = false;
        for workload in self.server.workloads().to_vec() {
            if self.server_run.learns(&workload) {
                is_looser |= self.learn_workload(workload, occasion)?;
            }
        }
        Ok(is_looser)
    }

    /// Whether answers were wrong that at rest turn out to vary, so that nothing can be held against them.
    pub(crate) fn unlearns(&mut self, load: &LoadReport) -> Result<bool, Halt> {
        let is_suspicious = load.books.errors.keys().any(|class| class.is_wrong_answer());
        Ok(is_suspicious && self.learn(Occasion::Later)?)
    }

    fn learn_workload(&mut self, mut workload: Workload, occasion: Occasion) -> Result<bool, NotRun> {
        let (name, file) = (workload.name.clone(), self.server_run.workload_file(&workload.name));
        let expected = read(&file);
        let timeout = Duration::from_secs_f64(self.server_run.bench.plan.experiment.timeout_s);
        let mut is_looser = false;
        let silent = (0..).zip(&mut workload.requests).filter(|(_, kind)| kind.expect.is_silent());
        for (number, kind) in silent {
            let known = self.run.learnt.iter().position(|l| l.workload == name && l.request == number);
            let question = Question { workload: &name, number, kind, timeout };
            let before = known.map(|at| &self.run.learnt[at]);
            let Some((learnt, expect)) = self.lesson(question, occasion, before) else {
                // What was not answered as before is expected as before.
                let before = expected.as_ref().and_then(|before| before.requests.get(number as usize));
                kind.expect = before.map(|before| before.expect.clone()).unwrap_or_default();
                continue;
            };
            kind.expect = expect;
            let varies_more = before.is_some_and(|before| before.varies_less_than(&learnt));
            log::learnt(&self.run.contender, &learnt, varies_more);
            is_looser |= varies_more;
            match known {
                Some(at) => self.run.learnt[at] = learnt,
                None => self.run.learnt.push(learnt),
            }
        }
        write(&file, &workload)?;
        Ok(is_looser)
    }

    /// What one kind of request taught, and what is expected from now on; none where nothing was learnt, which is told.
    fn lesson(
        &self,
        question: Question<'_>,
        occasion: Occasion,
        before: Option<&Learnt>,
    ) -> Option<(Learnt, Expect)> {
        let door = Door {
            link: &self.server_run.provisioned.link,
            authority: &self.server.authority,
            tls: self.server_run.tls().map(|tls| &tls.client),
            protocol: self.server_run.provisioned.setting.protocol,
        };
        let problem = match learn(door, question, occasion, before) {
            Ok(Lesson { learnt, expect: Some(expect) }) => return Some((learnt, expect)),
            Ok(Lesson { expect: None, .. }) => "the answers are unlike those before".to_owned(),
            Err(error) => error.to_string(),
        };
        log::nothing_learnt(&self.run.contender, question, &problem);
        None
    }
}

/// What was expected in an earlier life or moment.
fn read(file: &Path) -> Option<Workload> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

/// Writes a workload for the generator.
pub(crate) fn write(file: &Path, workload: &Workload) -> Result<(), NotRun> {
    write_workload(file, workload).map_err(|WriteError { path, source }| {
        // What mends the folder of runs, in which it lies, mends this.
        let unwritten = LabError::StoreNotWritable { path, source };
        generator_failure(LoadError::Failed { problem: unwritten.to_string(), log_tail: Vec::new() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_runs_own_that_cannot_be_written_is_mended_by_another_folder_of_runs() {
        let reason =
            write(Path::new("/proc/none/x.json"), &Workload::default()).expect_err("no folder").reason;
        assert!(reason.contains("--runs") && !reason.contains("name "), "{reason}");
    }
}
