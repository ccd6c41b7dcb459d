//! The keeper: a process between assay and everything it starts, so that nothing survives it.
//!
//! assay starts `assay keep … -- command`. The keeper makes itself the reaper of all orphans below it (a *child
//! subreaper*, prctl(2)), so a process that forks twice or leaves its session is still found; it starts the command in a
//! process group of its own on the given CPUs, caps its log, and tells on its standard output what happens, one JSON
//! object a line ([`KeepEvent`]). When its standard input closes — because assay is done, or was killed — or when it gets
//! SIGTERM, it ends every descendant: SIGTERM first, SIGKILL after a grace. It lives in its own session and ignores
//! SIGINT, so Ctrl-C in the terminal reaches assay alone.

mod client;
mod log;
mod options;

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use assay_host::cpuset::pin_current_thread;
use assay_host::process::descendants;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use thiserror::Error;

pub use client::{Bounded, Kept, RunError, run_bounded};
pub use log::tail;
pub use options::{KeepOptions, OptionError};

/// Open files allowed to what the keeper starts, unless the hard limit is lower. More would slow programs down that
/// close every possible descriptor when they start.
const NOFILE: u64 = 1 << 20;
/// How often the keeper looks again while it waits for descendants to end.
const END_POLL: Duration = Duration::from_millis(10);

/// What happened to the command, one JSON object a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum KeepEvent {
    /// It runs.
    Started {
        /// Its process id, which is also its process group.
        pid: u32,
    },
    /// It could not be started.
    Failed {
        /// Why, with the remedy if there is one.
        reason: String,
    },
    /// Its first process ended; whatever it left behind is ended next.
    Exited(Ended),
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Its exit status, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// How many descendants outlived it.
    pub left_behind: usize,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(out, "exit status {code}"),
            (None, Some(signal)) => match signal_hook::low_level::signal_name(signal) {
                Some(name) => write!(out, "signal {signal} ({name})"),
                None => write!(out, "signal {signal}"),
            },
            (None, None) => write!(out, "an unknown status"),
        }
    }
}

/// Why the keeper itself failed.
#[derive(Debug, Error)]
pub enum KeepError {
    /// A system call that every Linux since 3.4 allows.
    #[error("the keeper could not prepare itself: {0}")]
    Prepare(#[from] std::io::Error),
    /// The event could not be told.
    #[error("the keeper's standard output is gone: {0}")]
    Tell(std::io::Error),
}

/// What wakes the keeper.
enum Wake {
    /// A child may have ended.
    Child,
    /// Be done with it, patiently.
    Terminate,
    /// Be done with it at once.
    Kill,
}

/// The body of `assay keep`: starts the command of `options`, tells `events`, and returns when nothing of it is left.
///
/// # Errors
/// When the process cannot be prepared or `events` cannot be written; a command that cannot be started is an event.
pub fn keep(options: &KeepOptions, events: &mut dyn Write) -> Result<(), KeepError> {
    if let Some(side) = &options.side
        && let Err(error) = assay_link::enter(side)
    {
        // Before any thread is started: a user namespace is entered by a whole process (setns(2)).
        let reason = format!("its side of the link cannot be entered: {error}");
        return tell(events, &KeepEvent::Failed { reason });
    }
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(std::io::Error::from)?;
    let (wake, woken) = channel();
    forward_signals(wake.clone())?;
    begin_session();
    thread::spawn(move || obey(std::io::stdin(), &wake));
    let result = match start(options) {
        Ok((pid, pump)) => {
            let told = tell(events, &KeepEvent::Started { pid: pid.as_raw_nonzero().get().unsigned_abs() });
            let grace = if told.is_ok() { watch(pid, options, &woken, events) } else { Duration::ZERO };
            end_all(Instant::now() + grace, &woken);
            // Every writer of the pipe is gone, so the pump has reached its end.
            let _ = pump.join();
            told
        }
        Err(reason) => tell(events, &KeepEvent::Failed { reason }),
    };
    for folder in &options.scratch {
        let _ = std::fs::remove_dir_all(folder);
    }
    result
}

/// Leaves the terminal. We are started in a process group of our own, or Ctrl-C would end us before we have handlers; and as no
/// leader of a group may begin a session (setsid(2)), we are in our parent's once more for a moment.
fn begin_session() {
    let theirs = rustix::process::getpgid(rustix::process::getppid());
    let _ = theirs.and_then(|group| rustix::process::setpgid(None, Some(group)));
    // Fails where that did: for whoever is started otherwise, say by hand, and is its group's leader.
    let _ = rustix::process::setsid();
}

fn tell(events: &mut dyn Write, event: &KeepEvent) -> Result<(), KeepError> {
    let line = serde_json::to_string(event).map_err(|error| KeepError::Tell(error.into()))?;
    writeln!(events, "{line}").and_then(|()| events.flush()).map_err(KeepError::Tell)
}

/// Handlers rather than SIG_IGN: a handler is reset by exec, so the command finds every signal at its default.
fn forward_signals(wake: Sender<Wake>) -> Result<(), std::io::Error> {
    let mut signals = Signals::new([SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT])?;
    thread::spawn(move || {
        for signal in signals.forever() {
            let message = match signal {
                SIGCHLD => Wake::Child,
                SIGTERM => Wake::Terminate,
                _ => continue,
            };
            if wake.send(message).is_err() {
                break;
            }
        }
    });
    Ok(())
}

/// Reads orders until the end of input, which is an order too: `k` kills at once, anything else means nothing.
fn obey(mut orders: impl Read, wake: &Sender<Wake>) {
    let mut byte = [0];
    while matches!(orders.read(&mut byte), Ok(1)) {
        if byte == *b"k" {
            let _ = wake.send(Wake::Kill);
        }
    }
    let _ = wake.send(Wake::Terminate);
}

type Pump = thread::JoinHandle<()>;

/// Pins this thread, raises the limit of open files and starts the command, which inherits both.
fn start(options: &KeepOptions) -> Result<(Pid, Pump), String> {
    if let Some(cpus) = &options.cpus {
        pin_current_thread(cpus).map_err(|error| error.to_string())?;
    }
    raise_nofile();
    options.scratch.iter().try_for_each(|folder| make(folder))?;
    let (program, arguments) = options.command.split_first().ok_or("the command is empty")?;
    let log = assay_file::begin(&options.log).map_err(|error| format!("the log: {error}"))?;
    let (reader, writer) = std::io::pipe().map_err(|error| format!("no pipe for the log: {error}"))?;
    let stderr = writer.try_clone().map_err(|error| format!("no pipe for the log: {error}"))?;
    let stdout = match &options.stdout {
        None => Stdio::from(writer),
        Some(path) => assay_file::begin(path).map_err(|error| error.to_string())?.into(),
    };
    let stdin = match &options.stdin {
        None => Stdio::null(),
        Some(path) => std::fs::File::open(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?
            .into(),
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
    command.envs(options.variables.iter().map(|variable| split_variable(variable)));
    let child = command.spawn().map_err(|error| not_started(&program.to_string_lossy(), &error))?;
    // `command` holds our copies of the pipe's write end; the pump must see the end when the command's are gone.
    drop(command);
    let limit = options.log_limit_bytes;
    let pump = thread::spawn(move || log::pump(reader, log, limit));
    let pid = Pid::from_child(&child);
    Ok((pid, pump))
}

/// Makes a folder for this user alone, unless it is there.
fn make(folder: &Path) -> Result<(), String> {
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(format!("no scratch folder {}: {error}; make room there, or set TMPDIR", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Name and value of `NAME=VALUE`.
fn split_variable(variable: &OsStr) -> (&OsStr, &OsStr) {
    let bytes = variable.as_bytes();
    let end = bytes.iter().position(|&byte| byte == b'=').unwrap_or(bytes.len());
    (OsStr::from_bytes(&bytes[..end]), OsStr::from_bytes(bytes.get(end + 1..).unwrap_or_default()))
}

fn not_started(program: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("there is no program `{program}`: install it or mend the path")
        }
        std::io::ErrorKind::PermissionDenied => format!("`{program}` must not be executed: chmod +x it"),
        _ => format!("`{program}` did not start: {error}"),
    }
}

fn raise_nofile() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(NOFILE).min(NOFILE);
    if limit.current.is_some_and(|current| current < wanted) {
        // The soft limit may always be raised up to the hard one (setrlimit(2)).
        let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
        let _ = rustix::process::setrlimit(Resource::Nofile, raised);
    }
}

/// Waits until the command ends or an order comes; returns how long its descendants may take to end.
fn watch(pid: Pid, options: &KeepOptions, woken: &Receiver<Wake>, events: &mut dyn Write) -> Duration {
    loop {
        match woken.recv() {
            Ok(Wake::Kill) => return Duration::ZERO,
            Ok(Wake::Terminate) | Err(_) => return options.grace,
            Ok(Wake::Child) => {}
        }
        if let Some(status) = reap(pid) {
            let left_behind = living().len();
            let ended =
                Ended { code: status.exit_status(), signal: status.terminating_signal(), left_behind };
            // If nobody hears it any more, standard input is about to say so too.
            let _ = tell(events, &KeepEvent::Exited(ended));
            return options.grace;
        }
    }
}

/// Reaps every child that has ended; the status of `pid` if it was among them.
fn reap(pid: Pid) -> Option<WaitStatus> {
    let mut found = None;
    while let Ok(Some((ended, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if ended == pid {
            found = Some(status);
        }
    }
    found
}

/// Ends every descendant: SIGTERM now, SIGKILL from `deadline` on, until none is left.
///
/// Process groups are not signalled as such: descendants are named one by one, wherever they have moved, and a group's
/// number may belong to a stranger once its leader is reaped.
fn end_all(mut deadline: Instant, woken: &Receiver<Wake>) {
    signal_all(Signal::TERM);
    while has_children() {
        if Instant::now() >= deadline {
            signal_all(Signal::KILL);
        }
        if let Ok(Wake::Kill) = woken.recv_timeout(END_POLL) {
            deadline = Instant::now();
        }
    }
}

fn signal_all(signal: Signal) {
    for pid in living() {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Everything below this process that has not ended.
fn living() -> Vec<Pid> {
    let below = descendants(std::process::id()).into_iter().filter(|process| !process.zombie);
    below.filter_map(|process| Pid::from_raw(process.pid.cast_signed())).collect()
}

/// Whether a descendant is left; reaps those that have ended. A subreaper is the parent of every orphan below it, so where
/// there is no child there is no descendant.
fn has_children() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
