//! The lab's side of a supervisor.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use assay_host::group::Group;
use assay_host::process::descendants;
use thiserror::Error;

use super::adopted::{self, Traces};
use super::{Ended, SupervisorEvent, SupervisorOptions};

/// Longest wait for the supervisor to say that the command runs.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How much longer than its grace a supervisor may take to end what it keeps.
const END_MARGIN: Duration = Duration::from_secs(5);
/// How often a wait looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(50);

/// A command under a supervisor. Dropping it ends the command and all its descendants.
#[derive(Debug)]
pub struct Supervised {
    guard: Child,
    pid: u32,
    traces: Box<Traces>,
    orders: Option<ChildStdin>,
    events: Receiver<SupervisorEvent>,
    grace: Duration,
    ended: Option<Ended>,
}

/// Why a command could not be run.
#[derive(Debug, Error)]
pub enum RunError {
    /// Our own program could not be started, or broke off.
    #[error("the supervisor of the command failed ({0}); is the assay program still where it was?")]
    Supervisor(String),
    /// The command could not be started.
    #[error("{0}")]
    Command(String),
}

impl Supervised {
    /// Starts `options.command` in `folder` through the program `assay`; both have these variables and none of our own besides.
    ///
    /// # Errors
    /// When the supervisor or the command cannot be started.
    pub fn start(
        assay: &Path,
        options: &SupervisorOptions,
        folder: &Path,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, RunError> {
        let mut supervised = Self::begin(assay, options, folder, variables)?;
        supervised.await_start()?;
        Ok(supervised)
    }

    /// Starts a command as [`Self::start`] does, but waits for nothing, so that several can start at once; it has no process id before
    /// [`Self::await_start`].
    ///
    /// # Errors
    /// When the supervisor cannot be started.
    pub fn begin(
        assay: &Path,
        options: &SupervisorOptions,
        folder: &Path,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, RunError> {
        // Orphans of a killed guard and supervisor become ours, and not those of the first process of the machine.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let traces = Box::new(Traces::new(options.scratch.clone()));
        let mut options = options.clone();
        options.variables.push(traces.mark.clone());
        let mut guard = Command::new(assay)
            .arg("supervise")
            .args(options.to_arguments())
            .current_dir(folder)
            .process_group(0)
            .env_clear()
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| {
                RunError::Supervisor(format!("{} in {}: {error}", assay.display(), folder.display()))
            })?;
        let (orders, events) = (guard.stdin.take(), follow(guard.stdout.take()));
        Ok(Self { guard, pid: 0, traces, orders, events, grace: options.grace, ended: None })
    }

    /// Waits until the command runs that was begun.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn await_start(&mut self) -> Result<(), RunError> {
        match self.events.recv_timeout(START_TIMEOUT) {
            Ok(SupervisorEvent::Started { pid, group }) => {
                self.pid = pid;
                self.traces.group = Group::at(group);
                Ok(())
            }
            Ok(SupervisorEvent::Failed { reason }) => Err(RunError::Command(reason)),
            Ok(SupervisorEvent::Exited(ended)) => Err(RunError::Supervisor(ended.to_string())),
            Err(_) => Err(RunError::Supervisor("it said nothing".to_owned())),
        }
    }

    /// Process id of the command's first process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Process ids of all that is supervised and has not ended, also of what left the command's session.
    pub fn processes(&self) -> Vec<u32> {
        // The guard has one child while all is well, the supervisor.
        let guard = self.guard.id();
        let below =
            descendants(guard).into_iter().filter(|process| !process.zombie && process.parent != guard);
        below.map(|process| process.pid).collect()
    }

    /// How the command ended, once it has; waits for that at most `timeout`.
    pub fn wait(&mut self, timeout: Duration) -> Option<Ended> {
        if self.ended.is_none() {
            self.ended = match self.events.recv_timeout(timeout) {
                Ok(SupervisorEvent::Exited(ended)) => Some(ended),
                // Without a supervisor nobody knows; the command is gone with it or an orphan that we can no longer see.
                Err(RecvTimeoutError::Disconnected) => {
                    Some(Ended { code: None, signal: None, left_behind: 0, reason: None, cpu_ns: None })
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => None,
            };
        }
        self.ended.clone()
    }

    /// Ends the command and all its descendants, SIGTERM first; returns whether nothing is left.
    pub fn stop(&mut self) -> bool {
        drop(self.orders.take());
        self.await_supervisors(Instant::now() + self.grace + END_MARGIN)
    }

    /// Ends the command and all its descendants by SIGKILL; returns whether nothing is left.
    pub fn kill(&mut self) -> bool {
        if let Some(mut orders) = self.orders.take() {
            let _ = orders.write_all(b"k");
        }
        self.await_supervisors(Instant::now() + END_MARGIN)
    }

    /// Waits until guard and supervisor have ended, which both hold the way on which events come.
    fn await_supervisors(&mut self, deadline: Instant) -> bool {
        loop {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(SupervisorEvent::Exited(ended)) => self.ended = self.ended.take().or(Some(ended)),
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    // Something below does not die (a process in uninterruptible sleep): give it up.
                    let _ = self.guard.kill();
                    let _ = self.guard.wait();
                    return false;
                }
            }
        }
        if !self.guard.wait().is_ok_and(|status| status.success()) {
            adopted::end(&self.traces);
        }
        true
    }
}

/// What a supervisor tells on `stdout`, until guard and supervisor have closed it.
fn follow(stdout: Option<ChildStdout>) -> Receiver<SupervisorEvent> {
    let (told, events) = channel();
    std::thread::spawn(move || {
        for line in stdout.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
            // A line that is no event would be a fault of ours; the timeout of whoever waits for it shows it.
            if serde_json::from_str(&line).is_ok_and(|event| told.send(event).is_err()) {
                return;
            }
        }
    });
    events
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.stop();
    }
}

/// How a command with a bounded time ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bounded {
    /// By itself.
    Ended(Ended),
    /// The program was killed because it took too long.
    TimedOut,
    /// The program was killed because nobody wants it any more.
    Stopped,
}

impl Bounded {
    /// Whether the command ended by itself with status 0.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Ended(Ended { code: Some(0), .. }))
    }
}

/// Runs a command to its end, at most `timeout` and as long as it is `wanted`; everything it started is gone afterwards.
///
/// # Errors
/// When the command cannot be started.
pub fn run_bounded(
    assay: &Path,
    options: &SupervisorOptions,
    folder: &Path,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    timeout: Duration,
    wanted: &mut dyn FnMut() -> bool,
) -> Result<Bounded, RunError> {
    let mut supervised = Supervised::start(assay, options, folder, environment)?;
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(ended) = supervised.wait(TICK.min(deadline.saturating_duration_since(Instant::now()))) {
            supervised.stop();
            return Ok(Bounded::Ended(ended));
        }
        let timed_out = Instant::now() >= deadline;
        if timed_out || !wanted() {
            supervised.kill();
            return Ok(if timed_out { Bounded::TimedOut } else { Bounded::Stopped });
        }
    }
}
