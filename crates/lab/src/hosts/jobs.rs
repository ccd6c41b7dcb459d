//! The jobs of an agent: commands under supervisors, each with a number that the lab has chosen.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::Duration;

use assay_host::cpuset::{CpuSet, allowed};
use assay_host::sampler::tree_usage;
use assay_model::profile::Refused;
use assay_model::usage::Usage;
use assay_profile::{Sampling, Target, Tracing};

use super::frame::MAX_BODY;
use super::message::{Detail, Observed, ProfileKind, Start};
use super::span::Span;
use super::speech::Pipes;
use super::voice::Voice;
use crate::contender::{Inherited, Purpose};
use crate::secrets::Secrets;
use crate::supervisor::{Ended, Supervised, SupervisorOptions};

/// Our own program, whatever its path leads to by now.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// All jobs.
#[derive(Debug)]
pub(super) struct Jobs {
    jobs: BTreeMap<u64, Job>,
    /// Those of this host's environment, which jobs may have and print.
    secrets: Secrets,
}

#[derive(Debug)]
struct Job {
    /// Absent once it is being stopped.
    supervised: Option<Supervised>,
    log: PathBuf,
    /// The CPUs that it has to itself.
    cpus: Option<CpuSet>,
    /// The latest span in each detail: turns lie within a span that holds all of them.
    spans: BTreeMap<Detail, Span>,
    profiling: Option<Profiling>,
    /// The latest profile that has ended, as JSON.
    profile: Vec<u8>,
    /// Where what is said to it goes; absent where it is not spoken to.
    said: Option<Sender<Vec<u8>>>,
    /// Whether its end has been told.
    is_over: bool,
}

/// A profile of a job's processes that has begun.
#[derive(Debug)]
enum Profiling {
    Sampling(Box<Sampling>),
    /// Or why that is not allowed.
    Tracing(Box<Result<Tracing, Refused>>),
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
    /// None yet, on a host with these secrets.
    pub(super) fn new(secrets: Secrets) -> Self {
        Self { jobs: BTreeMap::new(), secrets }
    }

    /// Whether there is none whose end is still to be told.
    pub(super) fn is_idle(&self) -> bool {
        self.jobs.values().all(|job| job.is_over || job.supervised.is_none())
    }

    /// Starts a command; its first process. What it says, if it is spoken to, is told through `voice`.
    pub(super) fn start(&mut self, start: Start, voice: &Voice) -> Result<u32, String> {
        if self.jobs.contains_key(&start.job) {
            return Err(format!("there is a job {} already", start.job));
        }
        let arguments = start.arguments.into_iter().map(OsString::from);
        let mut options = SupervisorOptions::from_arguments(arguments).map_err(|error| error.to_string())?;
        let pipes = start.is_spoken_to.then(|| Pipes::make(&mut options)).transpose();
        let pipes = pipes.map_err(|error| format!("its pipes cannot be made: {error}"))?;
        let purpose = if start.is_building { Purpose::Building } else { Purpose::Serving };
        let inherited = start.inherited.map_or(Inherited::All, Inherited::Listed);
        let own = start.variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let variables = inherited.variables(purpose).into_iter().chain(own);
        let supervised = Supervised::start(Path::new(OWN_PROGRAM), &options, &start.folder, variables)
            .map_err(|error| error.to_string())?;
        let pid = supervised.pid();
        let said = pipes.map(|pipes| pipes.join(start.job, voice.clone()));
        let job = Job {
            supervised: Some(supervised),
            log: options.log,
            cpus: options.cpus,
            spans: BTreeMap::new(),
            profiling: None,
            profile: Vec::new(),
            said,
            is_over: false,
        };
        self.jobs.insert(start.job, job);
        Ok(pid)
    }

    /// Says something to a job. One that has ended hears nothing, and its end is told.
    pub(super) fn say(&self, job: u64, words: &[u8]) -> Result<(), String> {
        let said = self.jobs.get(&job).and_then(|job| job.said.as_ref());
        let _ = said.ok_or_else(|| format!("there is no job {job} that is spoken to"))?.send(words.to_vec());
        Ok(())
    }

    /// Those that have ended since it was last asked.
    pub(super) fn ended(&mut self) -> Vec<(u64, Ended)> {
        let fresh = self.jobs.iter_mut().filter(|(_, job)| !job.is_over);
        let ended = fresh.filter_map(|(number, job)| {
            let ended = job.supervised.as_mut()?.wait(Duration::ZERO)?;
            job.is_over = true;
            Some((*number, ended))
        });
        ended.collect()
    }

    /// All processes of a job that live.
    pub(super) fn processes(&self, job: u64) -> Result<Vec<u32>, String> {
        Ok(self.living(job)?.processes())
    }

    /// Begins a span of a job; the latest one in that detail is over.
    pub(super) fn begin(&mut self, number: u64, detail: Detail) -> Result<(), String> {
        let pid = self.living(number)?.pid();
        let job = self.jobs.get_mut(&number).ok_or_else(|| unknown(number))?;
        let span = Span::begin(pid, detail, job.spans.get(&detail)).map_err(|error| error.to_string())?;
        job.spans.insert(detail, span);
        Ok(())
    }

    /// What a job used since the latest span in that detail began, if its threads are read, and what the machine did beside it.
    pub(super) fn end(
        &self,
        number: u64,
        detail: Detail,
        with_memory: bool,
    ) -> Result<(Option<Usage>, Observed), String> {
        let pid = self.living(number)?.pid();
        let job = self.jobs.get(&number).ok_or_else(|| unknown(number))?;
        let span = job.spans.get(&detail).ok_or_else(|| format!("no such span of job {number} has begun"))?;
        let cpus = job.cpus.clone().unwrap_or_else(allowed);
        span.end(pid, &cpus, with_memory).map_err(|error| error.to_string())
    }

    /// What a job has used since its start.
    pub(super) fn used(&self, job: u64) -> Result<Usage, String> {
        tree_usage(self.living(job)?.pid()).map_err(|error| error.to_string())
    }

    /// Begins a profile of a job's processes.
    pub(super) fn begin_profile(&mut self, job: u64, kind: ProfileKind) -> Result<(), String> {
        let pid = self.living(job)?.pid();
        let Some(job) = self.jobs.get_mut(&job) else { return Ok(()) };
        let target = Target { roots: vec![pid], cpus: job.cpus.clone() };
        job.profiling = Some(match kind {
            ProfileKind::Sampling => Profiling::Sampling(Box::new(Sampling::start(target))),
            ProfileKind::Tracing => Profiling::Tracing(Box::new(Tracing::start(target))),
        });
        Ok(())
    }

    /// Ends the profile, and keeps it; `answers` were given in the meantime.
    pub(super) fn end_profile(&mut self, number: u64, answers: u64) -> Result<(), String> {
        let job = self.jobs.get_mut(&number).ok_or_else(|| unknown(number))?;
        let profile = match job.profiling.take() {
            None => return Err(format!("no profile of job {number} has begun")),
            Some(Profiling::Sampling(sampling)) => serde_json::to_vec(&sampling.finish(answers)),
            Some(Profiling::Tracing(tracing)) => {
                serde_json::to_vec(&tracing.and_then(|tracing| tracing.finish(answers)))
            }
        };
        job.profile = profile.map_err(|error| error.to_string())?;
        Ok(())
    }

    /// As much of the latest profile as a body holds, from so many bytes on, and whether that is the end of it.
    pub(super) fn part_of_profile(&self, number: u64, from: u64) -> Result<(Vec<u8>, bool), String> {
        let profile = &self.jobs.get(&number).ok_or_else(|| unknown(number))?.profile;
        let rest = usize::try_from(from).ok().and_then(|from| profile.get(from..)).unwrap_or_default();
        let part = &rest[..rest.len().min(MAX_BODY)];
        Ok((part.to_vec(), part.len() == rest.len()))
    }

    /// The end of a job's log, as much as a body holds, without secrets of this host.
    pub(super) fn log(&self, job: u64) -> Result<Vec<u8>, String> {
        let path = &self.jobs.get(&job).ok_or_else(|| unknown(job))?.log;
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
        Stopping(self.jobs.get_mut(&job).and_then(|job| job.supervised.take()))
    }

    /// Takes all out, to be ended.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Stopping> + use<> {
        std::mem::take(&mut self.jobs).into_values().map(|job| Stopping(job.supervised))
    }

    fn living(&self, job: u64) -> Result<&Supervised, String> {
        self.jobs.get(&job).and_then(|job| job.supervised.as_ref()).ok_or_else(|| unknown(job))
    }
}

fn unknown(job: u64) -> String {
    format!("there is no job {job}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_leaves_its_host_without_the_secrets_of_it() {
        let jobs = Jobs::new(Secrets::of([("DB_PASSWORD".into(), "correct horse".into())]));
        let hidden = jobs.without_secrets(b"it is \"correct horse\"\n".to_vec());
        assert_eq!(hidden, b"it is \"[hidden: DB_PASSWORD]\"\n");
        assert_eq!(jobs.without_secrets(vec![0xff, b'a']), [0xff, b'a'], "what holds none stays as it is");
    }
}
