//! A host on which servers of a run live, or its database: this one or another, what is brought there, and the jobs that run there.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_host::cpuset::CpuSet;
use assay_link::Link;
use assay_model::lab::{LabHost, PlacedHost};
use assay_model::profile::Refused;
use assay_model::usage::Usage;
use serde::de::DeserializeOwned;

use super::asking::{Agent, Given, bring, start};
use super::here::Here;
use super::message::{Answer, Detail, HostUse, ProfileKind, Request};
use super::parcels::pack;
use super::session::{OwnProgram, Session};
use super::starting::{log_there, machine};
use crate::host_error::HostError;
use crate::inherited::Inherited;
use crate::port::{self, Listener};
use crate::scratch::scratch_in;
use crate::supervisor::{Bounded, Ended, SupervisorOptions};
use crate::tools::Tools;

/// Most bytes of a profile that are believed to be one.
const PROFILE_BYTES: usize = 64 << 20;
/// How often a wait looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(50);

/// A host, and who answers for it. When the last clone is dropped, all that was started and brought there is gone.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    agent: Box<dyn Agent>,
    tools: Tools,
    /// What is so of another host than this.
    there: Option<There>,
    /// Ids of the images of containers that were built there, by the folder that they were built from and by name.
    images: Mutex<BTreeMap<(PathBuf, String), String>>,
}

/// Another host: where it is reached, and what it has for us.
struct There {
    address: IpAddr,
    cpus: CpuSet,
    /// Whether its kernel takes the time of interrupts out of that of programs, where that is known.
    interrupts_apart: Option<bool>,
    /// The agent's own folder, which goes with it.
    work: PathBuf,
    /// The folder here that holds all runs, which does not travel.
    runs: Option<PathBuf>,
    /// Folders of ours, and where they are there.
    brought: Mutex<BTreeMap<PathBuf, PathBuf>>,
}

/// A job that is to be started.
pub(crate) struct NewJob {
    number: u64,
    /// The file on its host that is to be its log: no other job has it.
    pub(crate) log: PathBuf,
    /// The file here that has its log whenever that is looked at.
    here: PathBuf,
}

/// What a job is given beside its command.
pub(crate) struct JobSurroundings<'a> {
    /// The job's working folder there.
    pub(crate) folder: &'a Path,
    /// What it is given of that host's environment.
    pub(crate) inherited: &'a Inherited,
    /// Whether it builds or probes.
    pub(crate) is_building: bool,
    /// Variables of its own.
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl Host {
    /// This host.
    pub fn here(tools: &Tools) -> Self {
        Self(Arc::new(Inner {
            agent: Box::new(Here::new(tools)),
            tools: tools.clone(),
            there: None,
            images: Mutex::default(),
        }))
    }

    /// Starts an agent on `host`, while that is `wanted`, and brings the files there that contenders serve. Of folders that are brought
    /// later, the folder `runs` that holds all runs stays here.
    ///
    /// # Errors
    /// When no agent answers there, or what the lab file says of the host is not so.
    pub fn open(
        host: &LabHost,
        tools: &Tools,
        version: &str,
        runs: Option<&Path>,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<(Self, PlacedHost), HostError> {
        let own = OwnProgram { path: tools.assay.clone(), version: version.to_owned() };
        let session = Session::open(host, &own, wanted)?;
        let address =
            host.address.ok_or_else(|| session.refused("it has no address for the load".to_owned()))?;
        session.ask_while(Request::Port { address, fixed: None }, wanted)?;
        let clock = session.clock(wanted)?;
        let (diagnosis, cpus) = machine(&session, host, wanted)?;
        let files = bring_folder(&session, &session.work, "files", &tools.files, runs, wanted)?;
        let tools =
            Tools { assay: session.program.clone(), files, preload: None, secrets: tools.secrets.clone() };
        let told = PlacedHost {
            name: host.name.clone(),
            address: address.to_string(),
            cpus: cpus.to_string(),
            host: diagnosis.host,
            clock,
        };
        let interrupts_apart = told.host.interrupts_apart;
        let work = session.work.clone();
        let (runs, brought) = (runs.map(Path::to_owned), Mutex::default());
        let there = There { address, cpus, interrupts_apart, work, runs, brought };
        Ok((
            Self(Arc::new(Inner {
                agent: Box::new(session),
                tools,
                there: Some(there),
                images: Mutex::default(),
            })),
            told,
        ))
    }

    /// Has nothing sent there in a window of `longest`.
    ///
    /// # Errors
    /// When the host is lost.
    pub(crate) fn expect_silence(
        &self,
        longest: Duration,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<(), HostError> {
        self.0.agent.expect_silence(longest, wanted)
    }

    /// What it is called.
    pub(crate) fn name(&self) -> &str {
        self.0.agent.name()
    }

    /// Whether it is another one than this.
    pub(crate) fn is_remote(&self) -> bool {
        self.0.there.is_some()
    }

    /// Whether this is the host of `other`, too.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether it still answers.
    pub(crate) fn is_there(&self) -> bool {
        self.0.there.as_ref().is_none_or(|there| self.port_at(there.address, None).is_ok())
    }

    /// Where load over `link` reaches it.
    pub(crate) fn address(&self, link: &Link) -> IpAddr {
        self.0.there.as_ref().map_or_else(|| link.server_address(), |there| there.address)
    }

    /// CPUs of servers there; none where those of this host are given to each.
    pub(crate) fn cpus(&self) -> Option<&CpuSet> {
        self.0.there.as_ref().map(|there| &there.cpus)
    }

    /// Whether its kernel takes the time of interrupts out of that of programs, which for this host is `here`; `None` where that is not
    /// known.
    pub(crate) fn interrupts_apart(&self, here: Option<bool>) -> Option<bool> {
        self.0.there.as_ref().map_or(here, |there| there.interrupts_apart)
    }

    /// Memory that servers there can still take, in bytes; `None` where that is not known.
    pub(crate) fn available_memory(&self) -> Option<u64> {
        match self.0.agent.ask(Request::Memory) {
            Ok(Answer::Memory { available_bytes }) => available_bytes,
            Ok(_) | Err(_) => None,
        }
    }

    /// The programs and files there.
    pub(crate) fn tools(&self) -> &Tools {
        &self.0.tools
    }

    /// A folder there that nobody has yet, for the supervisor of a job to make and to remove.
    pub(crate) fn scratch(&self) -> PathBuf {
        scratch_in(&self.folder())
    }

    /// Keeps the id of an image that was built there from `folder`.
    pub(crate) fn keep_image(&self, folder: &Path, name: &str, id: String) {
        let mut images = self.0.images.lock().unwrap_or_else(PoisonError::into_inner);
        images.insert((folder.to_owned(), name.to_owned()), id);
    }

    /// The id of the image that was built there from `folder`, whatever has its name by now; `None` where none was built.
    pub(crate) fn image(&self, folder: &Path, name: &str) -> Option<String> {
        let images = self.0.images.lock().unwrap_or_else(PoisonError::into_inner);
        images.get(&(folder.to_owned(), name.to_owned())).cloned()
    }

    /// The folder there for what passes by.
    pub(crate) fn folder(&self) -> PathBuf {
        self.0.there.as_ref().map_or_else(std::env::temp_dir, |there| there.work.clone())
    }

    /// A port that nobody listens on there, at the server's end of `link` where that is on this host.
    pub(crate) fn free_port(&self, link: &Link, fixed: Option<u16>) -> Result<u16, HostError> {
        match &self.0.there {
            None => port::free(link, fixed).map_err(|problem| HostError::Here { problem }),
            Some(there) => self.port_at(there.address, fixed),
        }
    }

    fn port_at(&self, address: IpAddr, fixed: Option<u16>) -> Result<u16, HostError> {
        match self.0.agent.ask(Request::Port { address, fixed })? {
            Answer::Port { port } => Ok(port),
            other => Err(self.0.agent.unexpected(&other)),
        }
    }

    /// Where a folder of ours is there, as that of a contender: it travels once, while that is `wanted`.
    pub(crate) fn bring(
        &self,
        folder: &Path,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<PathBuf, HostError> {
        let Some(There { work, runs, brought, .. }) = &self.0.there else { return Ok(folder.to_owned()) };
        let mut brought = brought.lock().unwrap_or_else(PoisonError::into_inner);
        let (root, within) = together(folder);
        if let Some(there) = brought.get(root) {
            return Ok(there.join(within));
        }
        let name = format!("folder-{}", brought.len());
        let there = bring_folder(&*self.0.agent, work, &name, root, runs.as_deref(), wanted)?;
        brought.insert(root.to_owned(), there.clone());
        Ok(there.join(within))
    }

    /// A job that is to be started there, whose log is to be had at `log` here.
    pub(crate) fn new_job(&self, log: &Path) -> NewJob {
        let number = self.0.agent.new_job();
        let there = self.0.there.as_ref().map(|there| log_there(&there.work, number));
        NewJob { number, log: there.unwrap_or_else(|| log.to_owned()), here: log.to_owned() }
    }

    /// Starts a command there; all paths of `options` are there, its log's as well.
    pub(crate) fn start(
        &self,
        NewJob { number, here, .. }: NewJob,
        options: &SupervisorOptions,
        around: JobSurroundings<'_>,
    ) -> Result<Job, HostError> {
        let inherited = match around.inherited {
            Inherited::All => None,
            Inherited::Listed(names) => Some(names.clone()),
        };
        let JobSurroundings { folder, is_building, variables, .. } = around;
        let given = Given { folder, inherited, is_building, variables, is_spoken_to: false };
        let pid = start(&*self.0.agent, number, options, given)?;
        Ok(Job { handle: JobHandle { host: self.clone(), number }, pid, log: here, is_stopped: false })
    }

    /// Runs a command there to its end, at most `timeout` and as long as it is `wanted`; nothing that it started is left.
    pub(crate) fn run_bounded(
        &self,
        job: NewJob,
        options: &SupervisorOptions,
        around: JobSurroundings<'_>,
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
                job.kill();
                return Ok(if is_late { Bounded::TimedOut } else { Bounded::Stopped });
            }
        }
    }

    /// Has processes looked at as a job that somebody else started there.
    pub(crate) fn adopt(&self, roots: Vec<u32>) -> Option<JobHandle> {
        let job = self.0.agent.new_job();
        self.0.agent.ask(Request::Adopt { job, roots }).ok()?;
        Some(JobHandle { host: self.clone(), number: job })
    }

    /// Begins a span over which it is seen what the machine does beside `jobs` of this host and what these use, the server's first; what
    /// others use of `cpus` as well, where these are given.
    pub(crate) fn begin(
        &self,
        jobs: &[&JobHandle],
        detail: Detail,
        cpus: Option<&CpuSet>,
    ) -> Option<HostSpan> {
        let jobs: Vec<u64> = jobs.iter().map(|job| job.number).collect();
        let cpus = cpus.map(CpuSet::to_string);
        self.0.agent.ask(Request::BeginSpan { jobs: jobs.clone(), detail, cpus }).ok()?;
        Some(HostSpan { host: self.clone(), jobs, detail })
    }

    /// How many requests a server has counted in a file there; `None` where it does not count.
    pub(crate) fn requests_counted(&self, file: &Path) -> Option<u64> {
        match self.0.agent.ask(Request::RequestsCounted { file: file.to_owned() }) {
            Ok(Answer::RequestsCounted { requests }) => requests,
            Ok(_) | Err(_) => None,
        }
    }

    /// Ends all that was started there, another host's agent with it, and waits until nothing is left.
    ///
    /// # Errors
    /// [`HostError::Left`] when that is not known.
    pub fn end(&self) -> Result<(), HostError> {
        self.0.agent.end()
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A job that was started. Dropping it ends it.
pub(crate) struct Job {
    handle: JobHandle,
    pid: u32,
    /// The file here for its log.
    log: PathBuf,
    /// Whether its host has said that it was ended.
    is_stopped: bool,
}

impl Job {
    /// The job's first process, by its number there.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// How it ended, once it has; waits for that at most `timeout`. A host that is lost is an end, too.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Option<Ended> {
        match self.handle.agent().ended(self.handle.number, timeout) {
            Ok(ended) => ended,
            Err(error) => {
                let reason = match error {
                    HostError::Lost { host, said } => format!("its host {host} ({said})"),
                    other => other.to_string(),
                };
                Some(Ended { code: None, signal: None, left_behind: 0, reason: Some(reason), cpu_ns: None })
            }
        }
    }

    /// Ends it with all that it started, SIGTERM first; whether nothing is left.
    pub(crate) fn stop(&mut self) -> bool {
        self.end(false)
    }

    /// Ends it with all that it started by SIGKILL; whether nothing is left.
    fn kill(&mut self) -> bool {
        self.end(true)
    }

    fn end(&mut self, at_once: bool) -> bool {
        let ended = self.ask_to_end(at_once);
        self.fetch_log();
        ended == Some(true)
    }

    /// Has the job's host end it; whether nothing is left, where that says so.
    fn ask_to_end(&mut self, at_once: bool) -> Option<bool> {
        let request = Request::Stop { job: self.handle.number, at_once };
        match self.handle.agent().ask_job(request) {
            Ok((Answer::Stopped { nothing_left }, _)) => {
                self.is_stopped = true;
                Some(nothing_left)
            }
            Ok(_) | Err(_) => None,
        }
    }

    /// Where it listens.
    pub(crate) fn addresses(&self) -> BTreeSet<SocketAddr> {
        match self.handle.ask(|job| Request::Listening { job }) {
            Ok(Answer::Listening { addresses }) => addresses.into_iter().collect(),
            Ok(_) | Err(_) => BTreeSet::new(),
        }
    }

    /// Who listens on a port there, as far as its own processes go.
    pub(crate) fn listener(&self, port: u16) -> Listener {
        match self.handle.ask(|job| Request::Listener { job, port }) {
            Ok(Answer::Listener { listener }) => listener,
            Ok(_) | Err(_) => Listener::Unknown,
        }
    }

    /// All its processes, by their numbers there.
    pub(crate) fn processes(&self) -> Vec<u32> {
        match self.handle.ask(|job| Request::Processes { job }) {
            Ok(Answer::Processes { pids }) => pids,
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    /// Has the job looked at from these processes downwards from now on.
    pub(crate) fn look_at(&self, roots: Vec<u32>) {
        // A host that is lost tells that by the job's end.
        let _ = self.handle.ask(|job| Request::LookAt { job, roots });
    }

    /// What others look at it through.
    pub(crate) fn handle(&self) -> JobHandle {
        self.handle.clone()
    }

    /// Brings its log here, where it is on another host.
    pub(crate) fn fetch_log(&self) {
        if !self.handle.host.is_remote() {
            return;
        }
        let request = Request::Log { job: self.handle.number };
        if let Ok((Answer::Log, bytes)) = self.handle.agent().ask_job(request) {
            let _ = assay_file::write(&self.log, &bytes);
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !self.is_stopped {
            self.ask_to_end(false);
        }
    }
}

/// What a job, or processes that somebody else started, are looked at through. It does not end them.
#[derive(Clone)]
pub(crate) struct JobHandle {
    host: Host,
    number: u64,
}

impl JobHandle {
    /// The host of the job.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Begins a span over which its use is counted.
    pub(crate) fn begin(&self, detail: Detail) -> Option<HostSpan> {
        self.host.begin(&[self], detail, None)
    }

    /// What it has used since its start.
    pub(crate) fn used(&self) -> Option<Usage> {
        match self.ask(|job| Request::UsedSinceStart { job }) {
            Ok(Answer::Used { usage }) => Some(*usage),
            Ok(_) | Err(_) => None,
        }
    }

    /// Begins a profile of its processes; tells why not, where that is known at once.
    pub(crate) fn begin_profile(&self, kind: ProfileKind) -> Result<Option<Refused>, HostError> {
        match self.ask(|job| Request::BeginProfile { job, kind })? {
            Answer::Profiling { refused } => Ok(refused),
            other => Err(self.agent().unexpected(&other)),
        }
    }

    /// Ends the profile and brings it; `answers` were given in the meantime.
    pub(crate) fn end_profile<P: DeserializeOwned>(&self, answers: u64) -> Result<P, HostError> {
        let (agent, job) = (self.agent(), self.number);
        // Names of functions are read from the programs, which takes its time.
        agent.ask_job(Request::EndProfile { job, answers })?;
        let (mut profile, mut is_whole) = (Vec::new(), false);
        while !is_whole {
            let request = Request::ProfilePart { job, from: profile.len() as u64 };
            match agent.ask_job(request)? {
                (Answer::ProfilePart { is_last }, part) if profile.len() + part.len() <= PROFILE_BYTES => {
                    profile.extend_from_slice(&part);
                    is_whole = is_last || part.is_empty();
                }
                (other, _) => return Err(agent.unexpected(&other)),
            }
        }
        let unreadable =
            |error: serde_json::Error| agent.refused(format!("its profile cannot be read: {error}"));
        serde_json::from_slice(&profile).map_err(unreadable)
    }

    fn ask(&self, request: impl FnOnce(u64) -> Request) -> Result<Answer, HostError> {
        self.agent().ask(request(self.number))
    }

    fn agent(&self) -> &dyn Agent {
        &*self.host.0.agent
    }
}

impl fmt::Debug for JobHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "job {} on {}", self.number, self.host.name())
    }
}

/// A span over which the use of jobs is counted on their host, and what the machine there does beside them.
pub(crate) struct HostSpan {
    host: Host,
    jobs: Vec<u64>,
    detail: Detail,
}

impl HostSpan {
    /// What has happened since it began, with the memory of the first job as it is now.
    pub(crate) fn finish(&self) -> Option<HostUse> {
        self.end(true)
    }

    /// What has happened since it began, without any memory, which takes long to read of many processes.
    pub(crate) fn finish_without_memory(&self) -> Option<HostUse> {
        self.end(false)
    }

    fn end(&self, with_memory: bool) -> Option<HostUse> {
        let (jobs, detail) = (self.jobs.clone(), self.detail);
        match self.host.0.agent.ask(Request::EndSpan { jobs, detail, with_memory }) {
            Ok(Answer::Span(used)) => Some(*used),
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

/// Brings a folder to another host; where it is there, and would be if there were one.
fn bring_folder(
    agent: &dyn Agent,
    work: &Path,
    name: &str,
    folder: &Path,
    runs: Option<&Path>,
    wanted: &mut dyn FnMut() -> bool,
) -> Result<PathBuf, HostError> {
    if !folder.is_dir() {
        return Ok(work.join(name));
    }
    let packed = pack(folder, runs).map_err(|unfit| agent.untravelled(folder, unfit))?;
    bring(agent, name, folder, &packed, wanted)
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
