//! The supervisor: processes between assay and everything it starts, so that nothing survives it.
//!
//! assay starts `assay supervise … -- command`, which is three processes in a row:
//! - the **guard** does nothing but watch. It makes itself the parent of all orphans below it (a *child subreaper*,
//!   prctl(2)), so a process that forks twice or leaves its session is still found;
//! - the **supervisor** is a subreaper too. It starts the command in a process group of its own on the given CPUs, caps its log,
//!   and tells on its standard output what happens, one JSON object a line ([`SupervisorEvent`]). When its standard input closes —
//!   because assay is done, or was killed — or when it gets SIGTERM, it ends every descendant: SIGTERM first, SIGKILL
//!   after a grace;
//! - the **launcher** takes on what the command shall inherit, and becomes it.
//!
//! Whichever of assay, guard and supervisor is killed, the others notice and end what is below: the supervisor's input closes with
//! assay; the supervisor is told of the guard's end (PR_SET_PDEATHSIG), the guard waits for the supervisor's; where both are gone,
//! orphans become children of assay, which knows them by a variable that they inherited. Where control groups may be made,
//! all of it is in one ([`assay_host::group`]), which ends at once and takes no more than a bounded number of tasks;
//! everywhere the guard counts processes, seldom and at no cost to speak of, and ends what has become too many. What nobody survived
//! to end — all three killed in one moment — loses its first process with the supervisor, and the rest to the next guard that finds the
//! group.
//!
//! Guard and supervisor live in their own sessions and ignore SIGINT, so Ctrl-C in the terminal reaches assay alone.

mod adopted;
mod census;
mod client;
mod ending;
mod guard;
pub(crate) mod keeping;
mod last_words;
mod launch;
mod log;
mod options;
mod scratch;
mod supervise;
mod watch;

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use assay_model::units::Nanos;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use client::{Bounded, RunError, Supervised, run_bounded};
pub use log::tail;
pub(crate) use log::{said_in_the_end, tail_of_death};
pub use options::{OptionError, Part, SupervisorOptions};

/// What happened to the command, one JSON object a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum SupervisorEvent {
    /// The command runs.
    Started {
        /// The command's process id, which is also its process group.
        pid: u32,
        /// Folders of its control group.
        group: Vec<PathBuf>,
    },
    /// The command could not be started.
    Failed {
        /// Why, with the remedy if there is one.
        reason: String,
    },
    /// The command's first process ended; whatever it left behind is ended next.
    Exited(Ended),
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The exit status of the process, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// How many descendants outlived it.
    pub left_behind: usize,
    /// What ended it, where that was assay and not its own doing.
    #[serde(default)]
    pub reason: Option<String>,
    /// CPU time that it used with all of its children that were waited for; absent where that is not known.
    #[serde(default)]
    pub cpu_ns: Option<Nanos>,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(reason) = &self.reason {
            return out.write_str(reason);
        }
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

/// Why the supervisor itself failed.
#[derive(Debug, Error)]
pub enum SupervisorError {
    /// A system call that every Linux since 3.4 allows.
    #[error("the supervisor could not prepare itself: {0}")]
    Prepare(#[from] std::io::Error),
    /// The event could not be told.
    #[error("the supervisor's standard output is gone: {0}")]
    Tell(std::io::Error),
}

/// The body of `assay supervise`: the part that `options` name. Returns when nothing of the command is left.
///
/// # Errors
/// When the process cannot be prepared or `events` cannot be written; a command that cannot be started is an event.
pub fn run(options: &SupervisorOptions, events: &mut dyn Write) -> Result<(), SupervisorError> {
    match options.part {
        Part::Guard => guard::guard(options, events),
        Part::Supervisor => supervise::supervise(options, events),
        Part::Launcher => launch::launch(options),
    }
}

/// This program as another part. By its open file: the path may lead to another one by now.
fn own_program(options: &SupervisorOptions) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("assay").arg("supervise").args(options.to_arguments());
    command
}

fn tell(events: &mut dyn Write, event: &SupervisorEvent) -> Result<(), SupervisorError> {
    let line = serde_json::to_string(event).map_err(|error| SupervisorError::Tell(error.into()))?;
    writeln!(events, "{line}").and_then(|()| events.flush()).map_err(SupervisorError::Tell)
}
