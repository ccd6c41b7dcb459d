//! What became assay's own children because guard and supervisor were both killed: the last part that is left ends it.
//!
//! assay has other children as well, so it must tell them apart: all that descends from a command has inherited a variable
//! with a value that nobody else has. A process that was started with an environment of its own is known by its ancestors
//! or its control group.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use assay_host::group::Group;
use assay_host::process::{Process, descendants};
use rand::RngExt as _;
use rand::distr::Alphanumeric;
use rustix::process::{Pid, Signal, WaitOptions};

use super::ending::{end_members, send};
use super::scratch;

/// The variable that all descendants of a command have.
const VARIABLE: &str = "ASSAY_KEPT";
const RANDOM_CHARACTERS: usize = 16;
/// How long what was killed may take to end.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(5);

/// What a command's descendants are known by, and what they leave.
#[derive(Debug)]
pub(super) struct Traces {
    /// `ASSAY_KEPT=…`, as all of them have it.
    pub(super) mark: OsString,
    /// The control group of the processes.
    pub(super) group: Group,
    /// The scratch folders of the processes.
    pub(super) scratch: Vec<PathBuf>,
}

impl Traces {
    /// A new mark, for a command that is yet to be started.
    pub(super) fn new(scratch: Vec<PathBuf>) -> Self {
        let random: String =
            rand::rng().sample_iter(Alphanumeric).take(RANDOM_CHARACTERS).map(char::from).collect();
        Self { mark: format!("{VARIABLE}={random}").into(), group: Group::at(Vec::new()), scratch }
    }
}

/// Ends all that has the mark below this process, or is in the group, and removes what it left.
pub(super) fn end(traces: &Traces) {
    let Traces { mark, group, scratch: folders } = traces;
    let deadline = Instant::now() + PATIENCE;
    let mut adopted = Vec::new();
    loop {
        let found = marked(mark);
        found.iter().for_each(|process| send(process, Signal::KILL));
        // Children of this process only by adoption: what it starts itself has no mark.
        let children = found.iter().filter(|process| process.parent == std::process::id());
        adopted.extend(children.filter_map(|process| Pid::from_raw(process.pid.cast_signed())));
        adopted.retain(|pid| matches!(rustix::process::waitpid(Some(*pid), WaitOptions::NOHANG), Ok(None)));
        if (found.is_empty() && adopted.is_empty()) || Instant::now() >= deadline {
            break;
        }
        thread::sleep(POLL);
    }
    end_members(group);
    group.remove();
    folders.iter().for_each(|folder| scratch::remove(folder));
}

/// Everything below this process with that variable, and all below it.
fn marked(mark: &OsStr) -> Vec<Process> {
    let living = |process: &Process| !process.zombie;
    let has_mark = |process: &Process| {
        let environment = std::fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let marked = descendants(std::process::id()).into_iter().filter(living).filter(has_mark);
    marked.flat_map(|process| [descendants(process.pid), vec![process]].concat()).filter(living).collect()
}
