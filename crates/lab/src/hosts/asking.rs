//! What a lab asks of a host, whoever answers there: an agent at the other end of a transport, or this process.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::frame::MAX_BODY;
use super::message::{Answer, Request, Start};
use super::parcels::{Digest, Packed, Unfit};
use crate::host_error::HostError;
use crate::supervisor::{Ended, SupervisorOptions};

/// Longest wait for an answer that needs no more than a look.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Longest wait for the start of a job, or its end with its grace.
pub(super) const JOB_PATIENCE: Duration = Duration::from_secs(60);

/// Whoever answers for a host.
pub trait Agent: Send + Sync {
    /// The host's name.
    fn name(&self) -> &str;

    /// Asks with a body, and waits for the answer and its body as long as `patience` and while that is `wanted`.
    ///
    /// # Errors
    /// When the host is lost, silent, or refuses. [`HostError::Unwanted`] loses it.
    fn ask_with(
        &self,
        request: Request,
        body: Vec<u8>,
        patience: Duration,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<(Answer, Vec<u8>), HostError>;

    /// How a job has ended, if it has; waits for that at most `timeout`.
    ///
    /// # Errors
    /// [`HostError::Lost`].
    fn ended(&self, job: u64, timeout: Duration) -> Result<Option<Ended>, HostError>;

    /// Has nothing sent in a window of `longest`: whoever is cut off ends so much later, and a sign that we are there comes so much later.
    /// Waits, while that is `wanted`, until the host has acknowledged it.
    ///
    /// # Errors
    /// As [`Self::ask_with`].
    fn expect_silence(&self, longest: Duration, wanted: &mut dyn FnMut() -> bool) -> Result<(), HostError>;

    /// A number for a job that nobody has had.
    fn new_job(&self) -> u64;

    /// Ends all that was started, and waits until nothing is left there.
    ///
    /// # Errors
    /// [`HostError::Left`] when that is not known.
    fn end(&self) -> Result<(), HostError>;

    /// Asks for something and waits for the answer.
    ///
    /// # Errors
    /// As [`Self::ask_with`].
    fn ask(&self, request: Request) -> Result<Answer, HostError> {
        self.ask_while(request, &mut || true)
    }

    /// Asks for something and waits for the answer while that is `wanted`.
    ///
    /// # Errors
    /// As [`Self::ask_with`].
    fn ask_while(&self, request: Request, wanted: &mut dyn FnMut() -> bool) -> Result<Answer, HostError> {
        self.ask_with(request, Vec::new(), PATIENCE, wanted).map(|(answer, _)| answer)
    }

    /// Asks for something of a job, and waits for the answer and its body as long as that may take.
    ///
    /// # Errors
    /// As [`Self::ask_with`].
    fn ask_job(&self, request: Request) -> Result<(Answer, Vec<u8>), HostError> {
        self.ask_with(request, Vec::new(), JOB_PATIENCE, &mut || true)
    }

    /// The error of a host that cannot do something.
    fn refused(&self, problem: String) -> HostError {
        HostError::Refused { host: self.name().to_owned(), problem }
    }

    /// The error that a folder cannot be brought there.
    fn untravelled(&self, folder: &Path, Unfit { problem, remedy }: Unfit) -> HostError {
        HostError::Travel { host: self.name().to_owned(), folder: folder.to_owned(), problem, remedy }
    }

    /// An answer to another question than was asked: a fault of ours.
    fn unexpected(&self, answer: &Answer) -> HostError {
        self.refused(format!("its agent answers another question: {answer:?}"))
    }
}

/// Brings `folder` to a host, which was `packed`, while that is `wanted`: what is missing there of its contents travels. Returns where it
/// is.
///
/// # Errors
/// As [`Agent::ask_with`], and [`HostError::Travel`] when a file can no longer be read, or is another by now.
pub fn bring(
    agent: &dyn Agent,
    name: &str,
    folder: &Path,
    packed: &Packed,
    wanted: &mut dyn FnMut() -> bool,
) -> Result<PathBuf, HostError> {
    let contents = packed.contents.keys().cloned().collect();
    let contents = match agent.ask_while(Request::Missing { contents }, wanted)? {
        Answer::Missing { contents } => contents,
        other => return Err(agent.unexpected(&other)),
    };
    for sha256 in contents {
        if let Some(path) = packed.contents.get(&sha256) {
            bring_content(agent, &sha256, folder, path, wanted)?;
        }
    }
    let request = Request::Folder { name: name.to_owned(), files: packed.files.clone() };
    match agent.ask_while(request, wanted)? {
        Answer::Folder { path } => Ok(path),
        other => Err(agent.unexpected(&other)),
    }
}

fn bring_content(
    agent: &dyn Agent,
    sha256: &str,
    folder: &Path,
    path: &Path,
    wanted: &mut dyn FnMut() -> bool,
) -> Result<(), HostError> {
    let cannot = |problem: String| {
        agent
            .untravelled(folder, Unfit { problem, remedy: "keep out of it what is written while assay runs" })
    };
    let unreadable = |error: std::io::Error| cannot(format!("cannot read {}: {error}", path.display()));
    let mut file = File::open(path).map_err(unreadable)?;
    let mut digest = Digest::default();
    loop {
        let mut part = Vec::new();
        let read = file.by_ref().take(MAX_BODY as u64).read_to_end(&mut part).map_err(unreadable)?;
        digest.feed(&part);
        let is_last = read < MAX_BODY;
        let request = Request::Content { sha256: sha256.to_owned(), is_last };
        let send = |part| agent.ask_with(request, part, PATIENCE, wanted).map(drop);
        if !is_last {
            send(part)?;
            continue;
        }
        if digest.finish() != sha256 {
            return Err(cannot(format!("{} has changed on its way", path.display())));
        }
        return send(part);
    }
}

/// What a job is given beside its command.
pub(super) struct Given<'a> {
    /// The job's working folder there.
    pub(super) folder: &'a Path,
    /// Names of variables of that host's environment that it is given beside those that all are; all when absent.
    pub(super) inherited: Option<Vec<String>>,
    /// Whether it builds or probes.
    pub(super) is_building: bool,
    /// Variables of its own.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// Whether it is spoken to.
    pub(super) is_spoken_to: bool,
}

/// Starts a command as job `number`; its first process.
pub(super) fn start(
    agent: &dyn Agent,
    number: u64,
    options: &SupervisorOptions,
    given: Given<'_>,
) -> Result<u32, HostError> {
    let start = Start {
        job: number,
        arguments: options.to_arguments(),
        folder: given.folder.to_owned(),
        inherited: given.inherited,
        is_building: given.is_building,
        variables: given.variables,
        is_spoken_to: given.is_spoken_to,
    };
    match agent.ask_job(Request::Start(start))? {
        (Answer::Started { pid }, _) => Ok(pid),
        (other, _) => Err(agent.unexpected(&other)),
    }
}
