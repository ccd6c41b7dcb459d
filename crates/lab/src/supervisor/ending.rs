//! Ending everything below a process, and nothing else.
//!
//! Guard and supervisor are both child subreapers (prctl(2)): an orphan below becomes their child, however often it forked and
//! whatever session it is in. So where there is no child left, there is no descendant left.
//!
//! Processes are named by descriptor, not by number: between a look into /proc and a signal a number may be given to a
//! stranger (pidfd_open(2)). A process group is signalled only while its leader is our child: its number may belong to a stranger once the leader
//! is reaped.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use assay_host::group::Group;
use assay_host::process::{Process, descendants, find, group_members, group_of};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, waitid};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::options::GROUP;
use super::{SupervisorOptions, scratch};

/// How often to look again while descendants end.
const END_POLL: Duration = Duration::from_millis(10);
/// Looks for processes that are not stopped yet, before those that are get killed all the same.
const FREEZES: u32 = 100;
/// Looks at a group after which what still lives in it is given up: it sleeps uninterruptibly.
const MEMBER_POLLS: u32 = 200;
/// The highest priority (setpriority(2)), for a process that has to overtake those that fork without end.
const URGENT: i32 = -20;

/// What wakes a guard or a supervisor.
pub(super) enum Wake {
    /// A child may have ended.
    Child,
    /// Be done with it, patiently.
    Terminate,
    /// Be done with it at once.
    Kill,
}

/// Makes this process the parent of all orphans below it, in a session of its own.
pub(super) fn lead_a_session_and_adopt_orphans() -> io::Result<()> {
    lead_a_session();
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Puts this process into a session of its own: a signal for a terminal's or another part's process group does not reach it, and with
/// autogroups it gets its share of the CPU beside whatever is below (kernel: sched(7)).
pub(super) fn lead_a_session() {
    // We are started in a process group of our own, or Ctrl-C would end us before we have handlers; and as no leader of a group
    // may begin a session (setsid(2)), we are in our parent's once more for a moment.
    let theirs = rustix::process::getppid().and_then(|parent| group_of(Some(parent)));
    let _ = theirs.map(|group| rustix::process::setpgid(None, Some(group)));
    // Fails where that did: for whoever is started otherwise, say by hand, and is its group's leader.
    let _ = rustix::process::setsid();
}

/// Has this process get `signal` when its parent ends, or fails if that has ended already.
pub(super) fn end_with_parent(parent: Option<u32>, signal: Signal) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(signal))?;
    let actual = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    if parent.is_some() && actual != parent {
        return Err(io::Error::other("whoever started it has ended"));
    }
    Ok(())
}

/// Handlers rather than SIG_IGN: a handler is reset by exec, so the command finds every signal at its default.
pub(super) fn forward_signals() -> io::Result<(Sender<Wake>, Receiver<Wake>)> {
    let (wake, woken) = channel();
    let mut signals = Signals::new([SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT])?;
    let told = wake.clone();
    thread::spawn(move || {
        for signal in signals.forever() {
            let message = match signal {
                SIGCHLD => Wake::Child,
                SIGTERM => Wake::Terminate,
                _ => continue,
            };
            if told.send(message).is_err() {
                break;
            }
        }
    });
    Ok((wake, woken))
}

/// Ends the process group of our child `leader`, which was not waited for yet, so that the number is still its own: SIGTERM now, SIGKILL
/// from `deadline` on, until nobody lives in it. How the leader ended.
pub(super) fn end_group_of(leader: Pid, deadline: Instant) -> Option<WaitStatus> {
    let group = leader.as_raw_nonzero().get().unsigned_abs();
    let _ = rustix::process::kill_process_group(leader, Signal::TERM);
    while has_ended(leader).is_none() || group_members(group).iter().any(|member| !member.zombie) {
        if Instant::now() >= deadline {
            let _ = rustix::process::kill_process_group(leader, Signal::KILL);
        }
        thread::sleep(END_POLL);
    }
    reap(leader)
}

/// Whether a child has ended; its number is its own until it is waited for.
pub(super) fn has_ended(child: Pid) -> Option<()> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(child), look).ok().flatten().map(drop)
}

/// Ends every descendant: SIGTERM now, SIGKILL from `deadline` on, until none is left. Looking for them reads a file of every process
/// on the machine, so it is done only if the kernel has not ended all of them with the group.
pub(super) fn end_all(mut deadline: Instant, woken: &Receiver<Wake>, group: &Group) {
    if Instant::now() < deadline && has_children() {
        signal_all(Signal::TERM);
    }
    let mut is_group_killed = false;
    while has_children() {
        if Instant::now() >= deadline {
            is_group_killed = !is_group_killed && group.kill();
            if !is_group_killed {
                kill_all(group);
            }
        }
        if let Ok(Wake::Kill) = woken.recv_timeout(END_POLL) {
            deadline = Instant::now();
        }
    }
    // Whoever became somebody else's child while a supervisor was being killed is still in the group.
    end_members(group);
}

/// Ends whoever is in the group.
pub(super) fn end_members(group: &Group) {
    for _ in 0..MEMBER_POLLS {
        let members = group.members();
        if members.is_empty() {
            return;
        }
        if !group.kill() {
            members.into_iter().filter_map(find).for_each(|process| send(&process, Signal::KILL));
        }
        thread::sleep(END_POLL);
    }
}

/// Removes what the supervisor made. Twice does no harm: whoever survives does it.
pub(super) fn clear_up(options: &SupervisorOptions) {
    options.scratch.iter().for_each(|folder| scratch::remove(folder));
    Group::at(options.group.clone()).remove();
}

/// Ends groups whose guards and supervisors were all killed at once. A supervisor that outlives its guard ends its group itself, with the
/// grace that those below need to remove what is theirs.
pub(super) fn end_abandoned() {
    for group in Group::abandoned().iter().filter(|group| !has_supervisor(group)) {
        end_members(group);
        group.remove();
    }
}

/// Whether a process lives that was started to supervise a group, and is none of those in it, which may call themselves anything.
fn has_supervisor(group: &Group) -> bool {
    procfs::process::all_processes().into_iter().flatten().flatten().any(|process| {
        is_told_to_supervise(&process, group.folders()) && !is_within(&process, group.folders())
    })
}

fn is_told_to_supervise(process: &procfs::process::Process, folders: &[PathBuf]) -> bool {
    let arguments = process.cmdline().unwrap_or_default();
    arguments
        .windows(2)
        .any(|words| words[0] == GROUP && folders.iter().any(|of| of.as_os_str() == &*words[1]))
}

/// Whether a process is in a group or in one below it (proc_pid_cgroup(5)); nobody is sure of one that has ended meanwhile.
fn is_within(process: &procfs::process::Process, folders: &[PathBuf]) -> bool {
    let Ok(groups) = process.cgroups() else { return true };
    let name = folders.first().and_then(|folder| folder.file_name()).and_then(|name| name.to_str());
    name.is_none_or(|name| groups.0.iter().any(|group| group.pathname.split('/').any(|part| part == name)))
}

/// Takes precedence over thousands that fork without end, as far as this user may. Whoever is started from now on would
/// inherit it.
pub(super) fn be_urgent() {
    let _ = rustix::process::setpriority_process(None, URGENT);
    // Where each session has its share of the CPU, it counts among the sessions (sched(7), the autogroup feature).
    let _ = std::fs::write("/proc/self/autogroup", URGENT.to_string());
}

/// Ends all descendants without giving them a chance to go on forking meanwhile: first nobody runs any more, then nobody
/// lives any more. A fork waits for a signal that has come (kernel: copy_process), so a stopped process has no new child.
fn kill_all(group: &Group) {
    be_urgent();
    if !group.kill() {
        freeze();
    }
    signal_all(Signal::KILL);
}

/// Stops everything below, until a look finds nobody new.
fn freeze() {
    let mut stopped = BTreeSet::new();
    for _ in 0..FREEZES {
        let is_new = |process: &Process| stopped.insert((process.pid, process.start_ticks));
        let new: Vec<Process> = living().into_iter().filter(is_new).collect();
        if new.is_empty() {
            return;
        }
        new.iter().for_each(|process| send(process, Signal::STOP));
    }
}

fn signal_all(signal: Signal) {
    living().iter().for_each(|process| send(process, signal));
}

/// Everything below this process that has not ended.
pub(super) fn living() -> Vec<Process> {
    descendants(std::process::id()).into_iter().filter(|process| !process.zombie).collect()
}

/// Signals a process that was seen a moment ago, if it is still the same.
pub(super) fn send(process: &Process, signal: Signal) {
    let Some(pid) = Pid::from_raw(process.pid.cast_signed()) else { return };
    if process.parent == std::process::id() {
        // A child keeps its number until we reap it. Before Linux 5.3 this is all that is done, and enough: whoever is not
        // our child becomes one when its parent is killed.
        let _ = rustix::process::kill_process(pid, signal);
    } else if let Ok(descriptor) = rustix::process::pidfd_open(pid, PidfdFlags::empty())
        // The descriptor holds on to one process. It is the one that was seen if that still has this number.
        && find(process.pid).is_some_and(|now| now.start_ticks == process.start_ticks)
    {
        let _ = rustix::process::pidfd_send_signal(descriptor, signal);
    }
}

/// Reaps every child that has ended; the status of `pid` if it was among them.
pub(super) fn reap(pid: Pid) -> Option<WaitStatus> {
    let mut found = None;
    while let Ok(Some((ended, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if ended == pid {
            found = Some(status);
        }
    }
    found
}

/// How many processes below this one have not ended.
pub(super) fn left_behind() -> usize {
    if has_children() { living().len() } else { 0 }
}

/// Whether a descendant is left; reaps those that have ended.
fn has_children() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
