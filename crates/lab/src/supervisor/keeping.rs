//! What an agent, and whoever carries one, have in common with a guard and a supervisor: they leave nobody, and end with whoever is at
//! the other end of their input.

use std::io;
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use assay_host::group::Group;
use rustix::process::{Pid, Signal, WaitStatus};

use super::ending::{self, Wake};
use super::watch::{End, watch};

/// From SIGTERM to SIGKILL, for all that an agent leaves which was killed: its jobs' supervisors need their own grace.
const GRACE: Duration = Duration::from_secs(10);
/// How long an agent may take to end when its input has closed: its jobs need their grace, and longer where they are stuck in the kernel.
const HEED: Duration = Duration::from_secs(10);
/// How long a transport may take to end when its input has closed: the agent behind it ends first, which may take both of the above.
const CARRIED_HEED: Duration = Duration::from_secs(25);
/// From SIGTERM to SIGKILL, for a transport.
const CARRIED_GRACE: Duration = Duration::from_secs(2);
/// Time between two checks whether its input has closed.
const TICK: Duration = Duration::from_secs(1);

/// A process that is the parent of all orphans below it.
pub(crate) struct Keeping {
    woken: Receiver<Wake>,
}

/// Makes this process the parent of all orphans below it, in a session of its own.
///
/// # Errors
/// Where the kernel forbids it.
pub(crate) fn begin() -> io::Result<Keeping> {
    let _ = rustix::thread::set_name(c"guard");
    let (_wake, woken) = ending::forward_signals()?;
    ending::lead_a_session_and_adopt_orphans()?;
    ending::end_abandoned();
    Ok(Keeping { woken })
}

impl Keeping {
    /// Waits until `child` has ended, or takes no notice that standard input has closed, and ends all that is left. SIGTERM is handed
    /// on to it.
    pub(crate) fn until_end_of(self, child: &Child) {
        let child = Pid::from_child(child);
        watch(child, ending::reap, rustix::stdio::stdin(), HEED, TICK, &self.woken, || None::<()>);
        ending::end_all(Instant::now() + GRACE, &self.woken, &Group::at(Vec::new()));
    }
}

/// Starts a process, the leader of a process group, and waits until it has ended; how it did. One that takes no notice that standard input,
/// which is its own, has closed is ended. Whoever it leaves in its group ends with it, as what a shell waited for that was asked to end;
/// who has left the group stays, such as a connection that ssh keeps for others.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn accompany(start: impl FnOnce() -> io::Result<Child>) -> io::Result<Option<WaitStatus>> {
    let _ = rustix::thread::set_name(c"carrier");
    let (_wake, woken) = ending::forward_signals()?;
    ending::lead_a_session();
    let child = Pid::from_child(&start()?);
    let look = || None::<()>;
    let end = watch(child, ending::has_ended, rustix::stdio::stdin(), CARRIED_HEED, TICK, &woken, look);
    let status = ending::end_group_of(child, Instant::now() + CARRIED_GRACE);
    Ok(if matches!(end, End::Child(())) { status } else { None })
}

/// Has `told` be sent what `event` makes when this process is to end: by SIGTERM, which it also gets when `parent` ends.
///
/// # Errors
/// When `parent` has ended already.
pub(crate) fn end_with_parent<E: Send + 'static>(
    parent: u32,
    told: Sender<E>,
    event: impl Fn() -> E + Send + 'static,
) -> io::Result<()> {
    let (_wake, woken) = ending::forward_signals()?;
    ending::end_with_parent(Some(parent), Signal::TERM)?;
    thread::spawn(move || {
        let ended = woken.iter().filter(|wake| matches!(wake, Wake::Terminate));
        ended.map(|_| event()).try_for_each(|event| told.send(event))
    });
    Ok(())
}
