//! What is asked of a host is answered here, on that host: by an agent, or within the run itself where it is this one.

use std::path::{Path, PathBuf};

use assay_engine::clock;
use assay_host::doctor::{Facts, diagnose};
use assay_host::{cpuset, memory};
use assay_model::requests;

use super::jobs::{Jobs, Stopping};
use super::message::{Answer, Request};
use super::parcels::{Contents, inner};
use super::voice::Voice;
use crate::port;
use crate::postgresql::Programs;
use crate::shared_file::read_shared;

/// What answers come from.
pub(super) struct Desk {
    work: PathBuf,
    contents: Contents,
    pub(super) jobs: Jobs,
    pub(super) voice: Voice,
}

/// An answer.
pub(super) enum Reply {
    /// The answer with its body.
    Now(Answer, Vec<u8>),
    /// [`Answer::Stopped`], when a job has been ended, which takes as long as its grace.
    Stopped {
        /// The job.
        stopping: Stopping,
        /// Whether it is ended by SIGKILL.
        at_once: bool,
    },
}

impl Desk {
    /// A desk with the folder `work`; what jobs say that are spoken to is told through `voice`.
    pub(super) fn new(work: &Path, jobs: Jobs, voice: Voice) -> Self {
        Self { work: work.to_owned(), contents: Contents::new(work.join("contents")), jobs, voice }
    }

    /// Answers a request.
    ///
    /// # Errors
    /// In words, when it cannot be done.
    pub(super) fn answer(&mut self, request: Request, body: &[u8]) -> Result<Reply, String> {
        let answer = match request {
            // The lease is the affair of whoever serves an agent's input.
            Request::Clock | Request::Lease { .. } => Answer::Clock { monotonic_ns: clock::now() },
            Request::Machine => self.machine(),
            Request::Memory => Answer::Memory { available_bytes: memory::available() },
            Request::Missing { contents } => Answer::Missing { contents: self.contents.missing(contents) },
            Request::Content { sha256, is_last } => {
                self.contents.take(&sha256, body, is_last)?;
                Answer::Done
            }
            Request::Folder { name, files } => {
                let name = inner(Path::new(&name)).ok_or("a folder has a name that leads elsewhere")?;
                let path = self.work.join(name);
                self.contents.unpack(&path, &files)?;
                Answer::Folder { path }
            }
            Request::Port { address, fixed } => Answer::Port { port: port::free_at(address, fixed)? },
            Request::RequestsCounted { file } => {
                let bytes = read_shared(&file, requests::BYTES);
                Answer::RequestsCounted { requests: bytes.and_then(|bytes| requests::total(&bytes)) }
            }
            Request::Log { job } => return Ok(Reply::Now(Answer::Log, self.jobs.log(job)?)),
            Request::ProfilePart { job, from } => {
                let (part, is_last) = self.jobs.part_of_profile(job, from)?;
                return Ok(Reply::Now(Answer::ProfilePart { is_last }, part));
            }
            Request::Stop { job, at_once } => {
                return Ok(Reply::Stopped { stopping: self.jobs.stop(job), at_once });
            }
            request => self.answer_of_jobs(request, body)?,
        };
        Ok(Reply::Now(answer, Vec::new()))
    }

    /// Answers what is asked of jobs that live.
    fn answer_of_jobs(&mut self, request: Request, body: &[u8]) -> Result<Answer, String> {
        let jobs = &mut self.jobs;
        let done = |(): ()| Answer::Done;
        match request {
            Request::Start(start) => Ok(Answer::Started { pid: jobs.start(start, &self.voice)? }),
            Request::Adopt { job, roots } => jobs.adopt(job, roots).map(done),
            Request::LookAt { job, roots } => jobs.look_at(job, roots).map(done),
            Request::Say { job } => jobs.say(job, body).map(done),
            Request::Processes { job } => Ok(Answer::Processes { pids: jobs.processes(job)? }),
            Request::Listening { job } => {
                let addresses = port::addresses_of(&jobs.processes(job)?);
                Ok(Answer::Listening { addresses: addresses.into_iter().collect() })
            }
            Request::Listener { job, port } => {
                Ok(Answer::Listener { listener: port::listener(port, &jobs.processes(job)?) })
            }
            Request::BeginSpan { jobs: of, detail, cpus } => {
                let unknown = |cpus: &str| format!("`{cpus}` are no CPUs");
                let cpus = cpus.map(|cpus| cpus.parse().map_err(|_| unknown(&cpus))).transpose()?;
                jobs.begin(&of, detail, cpus).map(done)
            }
            Request::EndSpan { jobs: of, detail, with_memory } => {
                Ok(Answer::Span(Box::new(jobs.end(&of, detail, with_memory)?)))
            }
            Request::UsedSinceStart { job } => Ok(Answer::Used { usage: Box::new(jobs.used(job)?) }),
            Request::BeginProfile { job, kind } => {
                Ok(Answer::Profiling { refused: jobs.begin_profile(job, kind)? })
            }
            Request::EndProfile { job, answers } => jobs.end_profile(job, answers).map(done),
            other => Err(format!("nobody here answers {other:?}")),
        }
    }

    fn machine(&self) -> Answer {
        let free = rustix::fs::statvfs(&self.work).ok();
        Answer::Machine {
            diagnosis: Box::new(diagnose(&Facts::read())),
            cpus: cpuset::allowed().to_string(),
            free_bytes: free.map(|room| room.f_bavail.saturating_mul(room.f_frsize)),
            has_postgresql: Programs::find().is_some(),
        }
    }
}
