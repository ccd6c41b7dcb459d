//! A host on which servers of a run live, or its database, where that is another one: what is brought there, and the jobs that run there.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_host::cpuset::CpuSet;
use assay_model::lab::{LabHost, PlacedHost};
use assay_model::usage::Usage;
use serde::de::DeserializeOwned;

use super::message::{Answer, Detail, Observed, ProfileKind, Request};
use super::parcels::pack;
use super::session::{HostError, OwnProgram, Session};
use super::starting::{Given, JOB_PATIENCE, log_there, machine, start};
use crate::supervisor::{Bounded, Ended, SupervisorOptions};
use crate::tools::Tools;

/// Most bytes of a profile that are believed to be one.
const PROFILE_BYTES: usize = 64 << 20;
/// How often a wait looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(50);

/// Another host, with an agent on it. When the last clone is dropped, all that was started and brought there is gone.
#[derive(Clone)]
pub struct RemoteHost(Arc<Inner>);

struct Inner {
    session: Session,
    address: IpAddr,
    cpus: CpuSet,
    tools: Tools,
    /// Folders of ours, and where they are there.
    brought: Mutex<BTreeMap<PathBuf, PathBuf>>,
}

/// A job that is to be started.
pub(crate) struct NewJob {
    number: u64,
    /// The file on its host that is to be its log: no other job has it, and it goes with the agent.
    pub(crate) log: PathBuf,
}

/// What a job is given beside its command.
pub(crate) struct Surroundings<'a> {
    /// Its working folder there.
    pub(crate) folder: &'a Path,
    /// Names of variables of that host's environment that it is given beside those that all are; all when absent.
    pub(crate) inherited: Option<Vec<String>>,
    /// Whether it builds or probes.
    pub(crate) is_building: bool,
    /// Variables of its own.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The file here that has its log whenever that is looked at.
    pub(crate) log: &'a Path,
}

impl RemoteHost {
    /// Starts an agent on `host`, while that is `wanted`, and brings the files there that contenders serve.
    ///
    /// # Errors
    /// When no agent answers there, or what the lab file says of the host is not so.
    pub fn open(
        host: &LabHost,
        tools: &Tools,
        version: &str,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<(Self, PlacedHost), HostError> {
        let refused = |problem: String| HostError::Refused { host: host.name.clone(), problem };
        let own = OwnProgram { path: tools.assay.clone(), version: version.to_owned() };
        let session = Session::open(host, &own, wanted)?;
        let address = host.address.ok_or_else(|| refused("it has no address for the load".to_owned()))?;
        session.ask(Request::Port { address, fixed: None })?;
        let clock = session.clock()?;
        let (diagnosis, cpus) = machine(&session, host)?;
        let files = bring(&session, "files", &tools.files)?;
        let there =
            Tools { assay: session.program.clone(), files, preload: None, secrets: tools.secrets.clone() };
        let told = PlacedHost {
            name: host.name.clone(),
            address: address.to_string(),
            cpus: cpus.to_string(),
            host: diagnosis.host,
            clock,
        };
        let brought = Mutex::default();
        Ok((Self(Arc::new(Inner { session, address, cpus, tools: there, brought })), told))
    }

    /// What it is called.
    pub(crate) fn name(&self) -> &str {
        &self.0.session.host
    }

    /// Where load reaches it.
    pub(crate) fn address(&self) -> IpAddr {
        self.0.address
    }

    /// Whether it still answers.
    pub(crate) fn is_there(&self) -> bool {
        self.free_port(None).is_ok()
    }

    /// CPUs of servers there.
    pub(crate) fn cpus(&self) -> &CpuSet {
        &self.0.cpus
    }

    /// The programs and files there.
    pub(crate) fn tools(&self) -> &Tools {
        &self.0.tools
    }

    /// A path there, in a folder that goes with the agent.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.session.work.join(name)
    }

    /// A port that nobody listens on there.
    pub(crate) fn free_port(&self, fixed: Option<u16>) -> Result<u16, HostError> {
        match self.0.session.ask(Request::Port { address: self.0.address, fixed })? {
            Answer::Port { port } => Ok(port),
            other => Err(self.0.session.unexpected(&other)),
        }
    }

    /// Where the folder of a contender is there: it travels once.
    pub(crate) fn bring(&self, folder: &Path) -> Result<PathBuf, HostError> {
        let mut brought = self.0.brought.lock().unwrap_or_else(PoisonError::into_inner);
        let (root, within) = together(folder);
        if let Some(there) = brought.get(root) {
            return Ok(there.join(within));
        }
        let there = bring(&self.0.session, &format!("folder-{}", brought.len()), root)?;
        brought.insert(root.to_owned(), there.clone());
        Ok(there.join(within))
    }

    /// A job that is to be started there.
    pub(crate) fn new_job(&self) -> NewJob {
        let session = &self.0.session;
        let number = session.new_job();
        NewJob { number, log: log_there(session, number) }
    }

    /// Starts a command there; all paths of `options` are there, its log's as well.
    pub(crate) fn start(
        &self,
        job: &NewJob,
        options: &SupervisorOptions,
        around: Surroundings<'_>,
    ) -> Result<Job, HostError> {
        let (session, number) = (&self.0.session, job.number);
        let given = Given {
            folder: around.folder,
            inherited: around.inherited,
            is_building: around.is_building,
            variables: around.variables,
            is_spoken_to: false,
        };
        start(session, number, options, given)?;
        Ok(Job { host: self.clone(), number, log: around.log.to_owned(), is_stopped: false })
    }

    /// Runs a command there to its end, at most `timeout` and as long as it is `wanted`; nothing that it started is left.
    pub(crate) fn run_bounded(
        &self,
        job: &NewJob,
        options: &SupervisorOptions,
        around: Surroundings<'_>,
        timeout: Duration,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Bounded, HostError> {
        let mut job = self.start(job, options, around)?;
        let deadline = Instant::now() + timeout;
        loop {
            let ended = job.wait(TICK.min(deadline.saturating_duration_since(Instant::now())));
            let is_late = Instant::now() >= deadline;
            if let Some(ended) = ended {
                job.stop();
                return Ok(Bounded::Ended(ended));
            }
            if is_late || !wanted() {
                job.stop();
                return Ok(if is_late { Bounded::TimedOut } else { Bounded::Stopped });
            }
        }
    }

    /// Ends the agent with all that it started, and waits until nothing is left there.
    ///
    /// # Errors
    /// [`HostError::Left`] when that is not known.
    pub fn end(&self) -> Result<(), HostError> {
        self.0.session.end()
    }
}

/// A job on another host. Dropping it ends it.
pub(crate) struct Job {
    host: RemoteHost,
    number: u64,
    log: PathBuf,
    /// Whether its host has said that it was ended.
    is_stopped: bool,
}

impl Job {
    /// How it ended, once it has; waits for that at most `timeout`. A host that is lost is an end, too.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Option<Ended> {
        match self.host.0.session.ended(self.number, timeout) {
            Ok(ended) => ended,
            Err(lost) => Some(Ended {
                code: None,
                signal: None,
                left_behind: 0,
                reason: Some(lost.to_string()),
                cpu_ns: None,
            }),
        }
    }

    /// Ends it with all that it started; whether nothing is left.
    pub(crate) fn stop(&mut self) -> bool {
        let stopped = self.ask_to_stop();
        self.fetch_log();
        stopped == Some(true)
    }

    /// Has its host end it; whether nothing is left, where that says so.
    fn ask_to_stop(&mut self) -> Option<bool> {
        let request = Request::Stop { job: self.number, at_once: false };
        match self.host.0.session.ask_with(request, Vec::new(), JOB_PATIENCE) {
            Ok((Answer::Stopped { nothing_left }, _)) => {
                self.is_stopped = true;
                Some(nothing_left)
            }
            Ok(_) | Err(_) => None,
        }
    }

    /// Where it listens.
    pub(crate) fn addresses(&self) -> BTreeSet<SocketAddr> {
        match self.host.0.session.ask(Request::Listening { job: self.number }) {
            Ok(Answer::Listening { addresses }) => addresses.into_iter().collect(),
            Ok(_) | Err(_) => BTreeSet::new(),
        }
    }

    /// What others look at it through.
    pub(crate) fn handle(&self) -> JobHandle {
        JobHandle { host: self.host.clone(), number: self.number }
    }

    /// What it has used since its start.
    pub(crate) fn used(&self) -> Option<Usage> {
        match self.host.0.session.ask(Request::UsedSinceStart { job: self.number }) {
            Ok(Answer::Used { usage }) => Some(*usage),
            Ok(_) | Err(_) => None,
        }
    }

    /// Brings its log here.
    pub(crate) fn fetch_log(&self) {
        let request = Request::Log { job: self.number };
        if let Ok((Answer::Log, bytes)) = self.host.0.session.ask_with(request, Vec::new(), JOB_PATIENCE) {
            let _ = assay_file::write(&self.log, &bytes);
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !self.is_stopped {
            self.ask_to_stop();
        }
    }
}

/// What a job on another host is looked at through. It does not end it.
#[derive(Clone)]
pub(crate) struct JobHandle {
    host: RemoteHost,
    number: u64,
}

impl JobHandle {
    /// Begins a span over which its use is counted, and what the machine does beside it.
    pub(crate) fn begin(&self, detail: Detail) -> Option<JobSpan> {
        self.host.0.session.ask(Request::BeginSpan { job: self.number, detail }).ok()?;
        Some(JobSpan { job: self.clone(), detail })
    }

    /// Begins a profile of its processes.
    pub(crate) fn begin_profile(&self, kind: ProfileKind) -> Result<(), HostError> {
        self.host.0.session.ask(Request::BeginProfile { job: self.number, kind }).map(drop)
    }

    /// Ends the profile and brings it; `answers` were given in the meantime.
    pub(crate) fn end_profile<P: DeserializeOwned>(&self, answers: u64) -> Result<P, HostError> {
        let (session, job) = (&self.host.0.session, self.number);
        // Names of functions are read from the programs, which takes its time.
        session.ask_with(Request::EndProfile { job, answers }, Vec::new(), JOB_PATIENCE)?;
        let (mut profile, mut is_whole) = (Vec::new(), false);
        while !is_whole {
            let request = Request::ProfilePart { job, from: profile.len() as u64 };
            match session.ask_with(request, Vec::new(), JOB_PATIENCE)? {
                (Answer::ProfilePart { is_last }, part) if profile.len() + part.len() <= PROFILE_BYTES => {
                    profile.extend_from_slice(&part);
                    is_whole = is_last || part.is_empty();
                }
                (other, _) => return Err(session.unexpected(&other)),
            }
        }
        let unreadable = |error: serde_json::Error| HostError::Refused {
            host: session.host.clone(),
            problem: format!("its profile cannot be read: {error}"),
        };
        serde_json::from_slice(&profile).map_err(unreadable)
    }
}

impl fmt::Debug for JobHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "job {} on {}", self.number, self.host.name())
    }
}

/// A span over which a job's use is counted on its host, and what the machine there does beside it.
pub(crate) struct JobSpan {
    job: JobHandle,
    detail: Detail,
}

/// What happened in such a span.
pub(crate) struct JobUse {
    /// What the job used; absent where it was read by clock.
    pub(crate) usage: Option<Usage>,
    /// What the machine did.
    pub(crate) machine: Observed,
}

impl JobSpan {
    /// What has happened since it began, with the job's memory as it is now.
    pub(crate) fn finish(&self) -> Option<JobUse> {
        self.end(true)
    }

    /// What has happened since it began, without the memory, which takes long to read of many processes.
    pub(crate) fn finish_soon(&self) -> Option<JobUse> {
        self.end(false)
    }

    fn end(&self, with_memory: bool) -> Option<JobUse> {
        let Self { job: JobHandle { host, number }, detail } = self;
        let request = Request::EndSpan { job: *number, detail: *detail, with_memory };
        match host.0.session.ask(request) {
            Ok(Answer::Span { usage, machine }) => Some(JobUse { usage: usage.map(|usage| *usage), machine }),
            Ok(_) | Err(_) => None,
        }
    }
}

/// What travels with a contender's folder: contenders of a catalogue share code with others of their language.
fn together(folder: &Path) -> (&Path, &Path) {
    let language = folder.parent();
    let is_catalogues = language.and_then(Path::parent).is_some_and(|above| above.ends_with("contenders"));
    match (is_catalogues, language, folder.file_name()) {
        (true, Some(language), Some(name)) => (language, Path::new(name)),
        _ => (folder, Path::new("")),
    }
}

fn bring(session: &Session, name: &str, folder: &Path) -> Result<PathBuf, HostError> {
    if !folder.is_dir() {
        return Ok(session.work.join(name));
    }
    let cannot = |problem: String| HostError::Refused {
        host: session.host.clone(),
        problem: format!("{} cannot travel there: {problem}", folder.display()),
    };
    session.bring(name, &pack(folder).map_err(cannot)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_of_a_catalogue_travel_with_those_of_their_language() {
        let paths = |folder| {
            let (root, within) = together(Path::new(folder));
            (root.to_str(), within.to_str())
        };
        assert_eq!(paths("/c/contenders/go/gin"), (Some("/c/contenders/go"), Some("gin")));
        assert_eq!(paths("/home/me/server"), (Some("/home/me/server"), Some("")));
    }
}
