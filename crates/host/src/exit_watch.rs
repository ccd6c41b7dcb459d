//! Waits for the first exit among some processes, without polling (pidfd_open(2)).

use std::os::fd::OwnedFd;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Some processes whose first exit is waited for.
#[derive(Debug)]
pub struct ExitWatch {
    /// By pid.
    processes: Vec<(u32, OwnedFd)>,
    /// A process that had ended before.
    gone: Option<u32>,
    /// Readable when nobody is to wait any longer.
    over: OwnedFd,
}

impl ExitWatch {
    /// A watch on the processes with these pids; `None` where the kernel shows no end of a process.
    pub fn of(pids: &[u32]) -> Option<Self> {
        let over = eventfd(0, EventfdFlags::CLOEXEC).ok()?;
        let mut watch = Self { processes: Vec::new(), gone: None, over };
        for &pid in pids {
            match pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()) {
                Ok(descriptor) => watch.processes.push((pid, descriptor)),
                Err(Errno::SRCH) => watch.gone = Some(pid),
                Err(_) => return None,
            }
        }
        Some(watch)
    }

    /// Waits for the first end and says whose it was, waited for by its parent or not; `None` when [`Self::release`] comes first.
    pub fn wait(&self) -> Option<u32> {
        if self.gone.is_some() {
            return self.gone;
        }
        let all = self.processes.iter().map(|(_, descriptor)| descriptor).chain([&self.over]);
        let mut all: Vec<PollFd<'_>> = all.map(|one| PollFd::new(one, PollFlags::IN)).collect();
        while poll(&mut all, None) == Err(Errno::INTR) {}
        let ended = all.iter().position(|one| one.revents().contains(PollFlags::IN))?;
        self.processes.get(ended).map(|(pid, _)| *pid)
    }

    /// Ends the waiting.
    pub fn release(&self) {
        // Only a counter at its greatest value could refuse this.
        let _ = rustix::io::write(&self.over, &1_u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn sleeper() -> Child {
        Command::new("sleep").arg("1000").spawn().expect("sleep")
    }

    #[test]
    fn the_first_end_is_told_also_before_its_parent_has_waited_for_it() {
        let (mut one, mut other) = (sleeper(), sleeper());
        let watch = ExitWatch::of(&[one.id(), other.id()]).expect("watched");
        other.kill().expect("killed");
        assert_eq!(watch.wait(), Some(other.id()));
        other.wait().expect("status");
        assert_eq!(ExitWatch::of(&[one.id(), other.id()]).expect("watched").wait(), Some(other.id()));
        let alive = ExitWatch::of(&[one.id()]).expect("watched");
        alive.release();
        assert_eq!(alive.wait(), None);
        one.kill().expect("killed");
        one.wait().expect("status");
    }
}
