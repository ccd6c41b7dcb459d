//! The jobs of an agent: commands under supervisors, or processes that somebody else started, each with a number that the lab has chosen.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::time::Duration;

use assay_host::cpuset::CpuSet;
use assay_host::process::scan_trees;
use assay_host::sampler::tree_usage;
use assay_model::profile::Refused;
use assay_model::usage::Usage;
use assay_profile::{Sampling, Target, Tracing};

use super::frame::MAX_BODY;
use super::message::{Detail, HostUse, ProfileKind, Start};
use super::span::{Roots, Spans};
use super::speech::Pipes;
use super::voice::Voice;
use crate::inherited::{Inherited, Purpose};
use crate::secrets::Secrets;
use crate::supervisor::{Ended, Supervised, SupervisorOptions};

/// All jobs.
#[derive(Debug)]
pub(super) struct Jobs {
    /// Our own program, which supervises them.
    assay: PathBuf,
    jobs: BTreeMap<u64, LocalJob>,
    spans: Spans,
    /// Secrets in this host's environment, which jobs may have and print.
    secrets: Secrets,
}

#[derive(Debug)]
struct LocalJob {
    /// Absent once it is being stopped, and where somebody else started it.
    supervised: Option<Supervised>,
    /// The processes from which all others descend that are looked at; none where they cannot be seen.
    roots: Vec<u32>,
    log: PathBuf,
    /// The CPUs that it has to itself.
    cpus: Option<CpuSet>,
    profiling: Option<Profiling>,
    /// The latest profile that has ended, as JSON.
    profile: Vec<u8>,
    /// Where what is said to it goes; absent where it is not spoken to.
    said: Option<Sender<Vec<u8>>>,
    /// How its first process ended, once that is known.
    ended: Option<Ended>,
    /// Whether its end has been told.
    is_told: bool,
}

/// A profile of a job's processes that has begun.
#[derive(Debug)]
enum Profiling {
    Sampling(Box<Sampling>),
    Tracing(Box<Tracing>),
}

/// A job that is about to end.
pub(super) struct Stopping(Option<Supervised>);

impl Stopping {
    /// Ends it; whether nothing of it is left.
    pub(super) fn end(self, at_once: bool) -> bool {
        self.0.is_none_or(|mut supervised| if at_once { supervised.kill() } else { supervised.stop() })
    }
}

impl Jobs {
    /// No jobs yet, on a host with these secrets; the program `assay` will supervise them.
    pub(super) fn new(assay: PathBuf, secrets: Secrets) -> Self {
        Self { assay, jobs: BTreeMap::new(), spans: Spans::default(), secrets }
    }

    /// Whether there is none whose end is still to be told.
    pub(super) fn is_idle(&self) -> bool {
        self.jobs.values().all(|job| job.is_told || job.supervised.is_none())
    }

    /// Starts a command; its first process. What it says, if it is spoken to, is told through `voice`.
    pub(super) fn start(&mut self, start: Start, voice: &Voice) -> Result<u32, String> {
        self.check_new(start.job)?;
        let mut options =
            SupervisorOptions::from_arguments(start.arguments).map_err(|error| error.to_string())?;
        let pipes = start.is_spoken_to.then(|| Pipes::make(&mut options)).transpose();
        let pipes = pipes.map_err(|error| format!("its pipes cannot be made: {error}"))?;
        let purpose = if start.is_building { Purpose::Building } else { Purpose::Serving };
        let inherited = start.inherited.map_or(Inherited::All, Inherited::Listed);
        let variables = inherited.variables(purpose).into_iter().chain(start.variables);
        let supervised = Supervised::start(&self.assay, &options, &start.folder, variables)
            .map_err(|error| error.to_string())?;
        let pid = supervised.pid();
        let said = pipes.map(|pipes| pipes.join(start.job, voice.clone()));
        let (log, cpus) = (options.log, options.cpus);
        let job = LocalJob { supervised: Some(supervised), log, cpus, said, ..LocalJob::of(vec![pid]) };
        self.jobs.insert(start.job, job);
        Ok(pid)
    }

    /// Takes processes that somebody else started for a job.
    pub(super) fn adopt(&mut self, job: u64, roots: Vec<u32>) -> Result<(), String> {
        self.check_new(job)?;
        self.jobs.insert(job, LocalJob::of(roots));
        Ok(())
    }

    /// From now on looks at a job from these processes downwards.
    pub(super) fn look_at(&mut self, job: u64, roots: Vec<u32>) -> Result<(), String> {
        self.job_mut(job)?.roots = roots;
        Ok(())
    }

    /// Says something to a job. One that has ended hears nothing, and its end is told.
    pub(super) fn say(&self, job: u64, words: &[u8]) -> Result<(), String> {
        let said = self.jobs.get(&job).and_then(|job| job.said.as_ref());
        let _ = said.ok_or_else(|| format!("there is no job {job} that is spoken to"))?.send(words.to_vec());
        Ok(())
    }

    /// Jobs that have ended since this was last asked.
    pub(super) fn ended(&mut self) -> Vec<(u64, Ended)> {
        let fresh = self.jobs.iter_mut().filter(|(_, job)| !job.is_told);
        let ended = fresh.filter_map(|(number, job)| {
            let ended = job.end_within(Duration::ZERO)?;
            job.is_told = true;
            Some((*number, ended))
        });
        ended.collect()
    }

    /// How a job has ended, if it has; waits for that at most `timeout`.
    pub(super) fn end_of(&mut self, job: u64, timeout: Duration) -> Option<Ended> {
        self.jobs.get_mut(&job)?.end_within(timeout)
    }

    /// All processes of a job that live.
    pub(super) fn processes(&self, number: u64) -> Result<Vec<u32>, String> {
        let job = self.job(number)?;
        let mut processes = job.supervised.as_ref().map(Supervised::processes).unwrap_or_default();
        // Those of a container are children of its engine.
        if job.roots.iter().any(|root| !processes.contains(root)) {
            processes.extend(scan_trees(&job.roots).iter().map(|process| process.pid));
        }
        Ok(processes)
    }

    /// Begins a span of jobs; the latest one of theirs in that detail is over.
    pub(super) fn begin(&mut self, jobs: &[u64], detail: Detail, cpus: Option<CpuSet>) -> Result<(), String> {
        let roots = self.roots(jobs)?;
        self.spans.begin(jobs, &roots, detail, cpus);
        Ok(())
    }

    /// What jobs used since the latest span of theirs in that detail began, and what the machine did beside the first of them.
    pub(super) fn end(&mut self, jobs: &[u64], detail: Detail, with_memory: bool) -> Result<HostUse, String> {
        let roots = self.roots(jobs)?;
        let used = self.spans.end(jobs, &roots, detail, with_memory);
        used.ok_or_else(|| "no such span has begun".to_owned())
    }

    /// What a job has used since its start.
    pub(super) fn used(&self, job: u64) -> Result<Usage, String> {
        let root = self.job(job)?.roots.first().ok_or_else(|| unseen(job))?;
        tree_usage(*root).map_err(|error| error.to_string())
    }

    /// Begins a profile of a job's processes; why not, where that is not allowed.
    pub(super) fn begin_profile(&mut self, job: u64, kind: ProfileKind) -> Result<Option<Refused>, String> {
        let job = self.job_mut(job)?;
        let target = Target { roots: job.roots.clone(), cpus: job.cpus.clone() };
        let begun = match kind {
            // What is not allowed of this is told in the end.
            ProfileKind::Sampling => Ok(Profiling::Sampling(Box::new(Sampling::start(target)))),
            ProfileKind::Tracing => {
                Tracing::start(target).map(|tracing| Profiling::Tracing(Box::new(tracing)))
            }
        };
        let (profiling, refused) = match begun {
            Ok(profiling) => (Some(profiling), None),
            Err(refused) => (None, Some(refused)),
        };
        job.profiling = profiling;
        Ok(refused)
    }

    /// Ends the profile, and keeps it; `answers` were given in the meantime.
    pub(super) fn end_profile(&mut self, number: u64, answers: u64) -> Result<(), String> {
        let job = self.job_mut(number)?;
        let profile = match job.profiling.take() {
            None => return Err(format!("no profile of job {number} has begun")),
            Some(Profiling::Sampling(sampling)) => serde_json::to_vec(&sampling.finish(answers)),
            Some(Profiling::Tracing(tracing)) => serde_json::to_vec(&tracing.finish(answers)),
        };
        job.profile = profile.map_err(|error| error.to_string())?;
        Ok(())
    }

    /// The part of the latest profile that a body holds, from so many bytes on, and whether that is the end of it.
    pub(super) fn part_of_profile(&self, number: u64, from: u64) -> Result<(Vec<u8>, bool), String> {
        let profile = &self.job(number)?.profile;
        let rest = usize::try_from(from).ok().and_then(|from| profile.get(from..)).unwrap_or_default();
        let part = &rest[..rest.len().min(MAX_BODY)];
        Ok((part.to_vec(), part.len() == rest.len()))
    }

    /// The end of a job's log, as much as a body holds, without secrets of this host.
    pub(super) fn log(&self, job: u64) -> Result<Vec<u8>, String> {
        let path = &self.job(job)?.log;
        let read = || {
            let mut file = File::open(path)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(MAX_BODY as u64)))?;
            let mut bytes = Vec::new();
            file.take(MAX_BODY as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes =
            read().map_err(|error: std::io::Error| format!("cannot read {}: {error}", path.display()))?;
        Ok(self.without_secrets(bytes))
    }

    fn without_secrets(&self, bytes: Vec<u8>) -> Vec<u8> {
        let text = String::from_utf8_lossy(&bytes);
        match self.secrets.hide(&text) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(hidden) => {
                // What stands in a secret's place may be longer.
                let hidden = hidden.into_bytes();
                hidden[hidden.len().saturating_sub(MAX_BODY)..].to_vec()
            }
        }
    }

    /// Takes a job out, to be ended; one that is not there has ended.
    pub(super) fn stop(&mut self, job: u64) -> Stopping {
        self.spans.forget(job);
        let Some(job) = self.jobs.get_mut(&job) else { return Stopping(None) };
        // Others may get the numbers of its processes.
        job.roots.clear();
        Stopping(job.supervised.take())
    }

    /// Takes all out, to be ended.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Stopping> + use<> {
        std::mem::take(&mut self.jobs).into_values().map(|job| Stopping(job.supervised))
    }

    fn check_new(&self, job: u64) -> Result<(), String> {
        if self.jobs.contains_key(&job) { Err(format!("there is a job {job} already")) } else { Ok(()) }
    }

    fn roots(&self, jobs: &[u64]) -> Result<Vec<Roots>, String> {
        jobs.iter().map(|job| Ok(self.job(*job)?.roots.clone())).collect()
    }

    fn job(&self, number: u64) -> Result<&LocalJob, String> {
        self.jobs.get(&number).ok_or_else(|| format!("there is no job {number}"))
    }

    fn job_mut(&mut self, number: u64) -> Result<&mut LocalJob, String> {
        self.jobs.get_mut(&number).ok_or_else(|| format!("there is no job {number}"))
    }
}

impl LocalJob {
    /// A job of which these processes are looked at, and which nobody supervises.
    fn of(roots: Vec<u32>) -> Self {
        Self {
            supervised: None,
            roots,
            log: PathBuf::new(),
            cpus: None,
            profiling: None,
            profile: Vec::new(),
            said: None,
            ended: None,
            is_told: false,
        }
    }

    fn end_within(&mut self, timeout: Duration) -> Option<Ended> {
        if self.ended.is_none() {
            self.ended = self.supervised.as_mut()?.wait(timeout);
        }
        self.ended.clone()
    }
}

fn unseen(job: u64) -> String {
    format!("the processes of job {job} cannot be seen")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_leaves_its_host_without_the_secrets_of_it() {
        let secrets = Secrets::of([("DB_PASSWORD".into(), "correct horse".into())]);
        let jobs = Jobs::new("/bin/assay".into(), secrets);
        let hidden = jobs.without_secrets(b"it is \"correct horse\"\n".to_vec());
        assert_eq!(hidden, b"it is \"[hidden: DB_PASSWORD]\"\n");
        assert_eq!(jobs.without_secrets(vec![0xff, b'a']), [0xff, b'a'], "what holds none stays as it is");
    }
}
