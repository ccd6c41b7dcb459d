//! The guard: the outermost part. It starts the supervisor and does nothing but watch, so that it survives what befalls the
//! supervisor, and then ends what that left.

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use assay_host::group::Group;
use rustix::process::{Pid, Signal, WaitStatus};

use super::census::Census;
use super::ending::{self, Wake};
use super::options::Part;
use super::{Ended, SupervisorError, SupervisorEvent, SupervisorOptions, own_program, tell};

/// How often the guard asks whether there are too many processes: a few thousand more are made meanwhile at most.
const TICK: Duration = Duration::from_millis(100);
/// Tasks, threads included, that the kernel allows for each process that we allow.
const TASKS_PER_PROCESS: u64 = 4;

/// Starts the supervisor and returns when nothing below is left.
pub(super) fn guard(options: &SupervisorOptions, events: &mut dyn Write) -> Result<(), SupervisorError> {
    // `killall assay` shall end the others and leave the one that tidies up after them.
    let _ = rustix::thread::set_name(c"guard");
    // Before it is in its parent's group for a moment, where Ctrl-C would end it.
    let (_wake, woken) = ending::forward_signals()?;
    ending::lead_a_session_and_adopt_orphans()?;
    ending::end_abandoned();
    let group = Group::create(u64::from(options.processes) * TASKS_PER_PROCESS);
    let mut inner = options.with_part(Part::Supervisor);
    inner.group = group.as_ref().map(|group| group.folders().to_vec()).unwrap_or_default();
    let supervisor = match own_program(&inner).spawn() {
        Ok(child) => Pid::from_child(&child),
        Err(error) => {
            let reason = format!("the supervisor could not start itself again: {error}");
            return tell(events, &SupervisorEvent::Failed { reason });
        }
    };
    ending::be_urgent();
    let end = watch(supervisor, options.processes, &woken);
    ending::end_all(Instant::now(), &woken, &Group::at(inner.group.clone()));
    ending::clear_up(&inner);
    match end.reason() {
        None => Ok(()),
        Some(reason) => {
            let reason = Some(reason);
            let ended = Ended { code: None, signal: None, left_behind: 0, reason, cpu_ns: None };
            tell(events, &SupervisorEvent::Exited(ended))
        }
    }
}

/// How the guard's watch ended.
enum End {
    Supervisor(WaitStatus),
    TooMany { processes: usize, allowed: u32 },
}

impl End {
    /// What nobody else has told.
    fn reason(&self) -> Option<String> {
        match self {
            Self::Supervisor(status) => {
                let signal = status.terminating_signal()?;
                Some(format!("a stop by assay, because its supervisor was killed by signal {signal}"))
            }
            Self::TooMany { processes, allowed } => Some(format!(
                "a stop by assay, because it had become {processes} processes, of which {allowed} are allowed"
            )),
        }
    }
}

fn watch(supervisor: Pid, allowed: u32, woken: &Receiver<Wake>) -> End {
    let mut census = Census::new(allowed);
    loop {
        match woken.recv_timeout(TICK) {
            Ok(Wake::Terminate) => {
                // Not reaped yet, so the number is still the supervisor's.
                let _ = rustix::process::kill_process(supervisor, Signal::TERM);
            }
            Ok(Wake::Child) => {
                if let Some(status) = ending::reap(supervisor) {
                    return End::Supervisor(status);
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
