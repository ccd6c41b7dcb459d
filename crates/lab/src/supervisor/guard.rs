//! The guard: the outermost part. It starts the supervisor and does nothing but watch, so that it survives what befalls the
//! supervisor, and then ends what that left.

use std::io::Write;
use std::time::{Duration, Instant};

use assay_host::group::Group;
use rustix::process::{Pid, Signal, WaitStatus};

use super::census::Census;
use super::ending;
use super::options::Part;
use super::watch::{End, watch};
use super::{Ended, SupervisorError, SupervisorEvent, SupervisorOptions, own_program, tell};

/// How much longer than its command's grace the supervisor may take to end when its input has closed.
const HEED: Duration = Duration::from_secs(2);
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
    let mut census = Census::new(options.processes, group.as_ref());
    let (heed, pace) = (options.grace + HEED, census.pace());
    let end = watch(supervisor, ending::reap, rustix::stdio::stdin(), heed, pace, &woken, || census.excess());
    if matches!(end, End::Seen(_)) {
        // Before the others, whose end by a signal it would tell as if that were the reason.
        let _ = rustix::process::kill_process(supervisor, Signal::KILL);
    }
    // What a supervisor leaves may have supervisors of its own below it, which remove what they made if they are given time.
    let grace = if matches!(end, End::Child(_)) { options.grace } else { Duration::ZERO };
    ending::end_all(Instant::now() + grace, &woken, &Group::at(inner.group.clone()));
    ending::clear_up(&inner);
    match reason(&end, options.processes) {
        None => Ok(()),
        Some(reason) => {
            let reason = Some(reason);
            let ended = Ended { code: None, signal: None, left_behind: 0, reason, cpu_ns: None };
            tell(events, &SupervisorEvent::Exited(ended))
        }
    }
}

/// What nobody else has told of an end; `allowed` is how many processes are.
fn reason(end: &End<WaitStatus, usize>, allowed: u32) -> Option<String> {
    match end {
        End::Child(status) => {
            let signal = status.terminating_signal()?;
            Some(format!("a stop by assay, because its supervisor was killed by signal {signal}"))
        }
        End::Seen(processes) => Some(format!(
            "a stop by assay, because it had become {processes} processes, of which {allowed} are allowed"
        )),
        // Nobody is left to be told.
        End::Unheeded => None,
    }
}
