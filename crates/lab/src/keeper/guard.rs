//! The guard: the outermost part. It starts the keeper and does nothing but watch, so that it survives what befalls the
//! keeper, and then ends what that left.

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use assay_host::group::Group;
use rustix::process::{Pid, Signal, WaitStatus};

use super::census::Census;
use super::ending::{self, Wake};
use super::options::Part;
use super::{Ended, KeepError, KeepEvent, KeepOptions, own_program, tell};

/// How often the guard asks whether there are too many processes: a few thousand more are made meanwhile at most.
const TICK: Duration = Duration::from_millis(100);
/// Tasks, threads included, that the kernel allows for each process that we allow.
const TASKS_PER_PROCESS: u64 = 4;

/// Starts the keeper and returns when nothing below is left.
pub(super) fn guard(options: &KeepOptions, events: &mut dyn Write) -> Result<(), KeepError> {
    // `killall assay` shall end the others and leave the one that tidies up after them.
    let _ = rustix::thread::set_name(c"keep-guard");
    // Before it is in its parent's group for a moment, where Ctrl-C would end it.
    let (_wake, woken) = ending::forward_signals()?;
    ending::lead_a_session_and_adopt_orphans()?;
    ending::end_abandoned();
    let group = Group::create(u64::from(options.processes) * TASKS_PER_PROCESS);
    let mut keeping = options.with_part(Part::Keeper);
    keeping.group = group.as_ref().map(|group| group.folders().to_vec()).unwrap_or_default();
    let keeper = match own_program(&keeping).spawn() {
        Ok(child) => Pid::from_child(&child),
        Err(error) => {
            let reason = format!("the keeper could not start itself again: {error}");
            return tell(events, &KeepEvent::Failed { reason });
        }
    };
    ending::be_urgent();
    let end = watch(keeper, options.processes, &woken);
    ending::end_all(Instant::now(), &woken, &Group::at(keeping.group.clone()));
    ending::clear_up(&keeping);
    match end.reason() {
        None => Ok(()),
        Some(reason) => {
            let ended = Ended { code: None, signal: None, left_behind: 0, reason: Some(reason) };
            tell(events, &KeepEvent::Exited(ended))
        }
    }
}

/// How the guard's watch ended.
enum End {
    Keeper(WaitStatus),
    TooMany { processes: usize, allowed: u32 },
}

impl End {
    /// What nobody else has told.
    fn reason(&self) -> Option<String> {
        match self {
            Self::Keeper(status) => {
                let signal = status.terminating_signal()?;
                Some(format!("a stop by assay, because its keeper was killed by signal {signal}"))
            }
            Self::TooMany { processes, allowed } => Some(format!(
                "a stop by assay, because it had become {processes} processes, of which {allowed} are allowed"
            )),
        }
    }
}

fn watch(keeper: Pid, allowed: u32, woken: &Receiver<Wake>) -> End {
    let mut census = Census::new(allowed);
    loop {
        match woken.recv_timeout(TICK) {
            Ok(Wake::Terminate) => {
                // Not reaped yet, so the number is still the keeper's.
                let _ = rustix::process::kill_process(keeper, Signal::TERM);
            }
            Ok(Wake::Child) => {
                if let Some(status) = ending::reap(keeper) {
                    return End::Keeper(status);
                }
            }
            Ok(Wake::Kill) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
        }
        if let Some(processes) = census.excess() {
            return End::TooMany { processes, allowed };
        }
    }
}
