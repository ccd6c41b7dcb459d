//! `assay sweep`: removes the names of a ring when the program that was to do so was killed.
//!
//! `assay exec` becomes the program, so nobody of ours is left to outlive it but a process that waits for its end. That is no child
//! of the program, which would wonder whose it is: it is started by one that ends at once.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};

use assay_lab::Exit;
use assay_lab::stack::STATS_VARIABLE;
use assay_tcp::Stack;
use assay_wire::{Kind, Spec};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::failure::Failure;

/// Has the ring of `wire` swept when this process, whatever it will have become, has ended.
///
/// # Errors
/// The process that is to do it cannot be started.
pub(crate) fn behind_us(wire: &Spec) -> Result<(), Failure> {
    let Kind::Ring(path) = &wire.kind else { return Ok(()) };
    let status = own_program(path)?.arg(std::process::id().to_string()).stdin(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(&status)),
        Err(error) => Err(failed(&error)),
    }
}

/// Has the ring of our own stack swept when this process has ended, if it has one: a process that is killed removes no names. A run
/// asks its servers for their counts, and removes the folder of its rings itself; a process beside a server would be one of its.
///
/// # Errors
/// The process that is to do it cannot be started.
pub(crate) fn behind_stack(stack: &Stack) -> Result<(), Failure> {
    match stack {
        Stack::User(link) if std::env::var_os(STATS_VARIABLE).is_none() => behind_us(&link.wire),
        Stack::User(_) | Stack::Kernel(_) => Ok(()),
    }
}

/// With a process: starts another that waits for its end. Without: waits for the process that is standard input (pidfd_open(2)), and
/// removes the names if nobody sits at the ring.
///
/// # Errors
/// There is no such process, or it cannot be waited for.
pub(crate) fn run(ring: &Path, process: Option<i32>) -> Result<Exit, Failure> {
    if let Some(number) = process {
        let pid =
            Pid::from_raw(number).ok_or_else(|| Failure::usage(format_args!("{number} is no process")))?;
        let process: OwnedFd = pidfd_open(pid, PidfdFlags::empty()).map_err(|e| failed(&e))?;
        own_program(ring)?.stdin(process).spawn().map_err(|error| failed(&error))?;
        return Ok(Exit::Ok);
    }
    // What ends the program's terminal or process group is not to end us before it.
    let _ = rustix::process::setsid();
    let input = std::io::stdin();
    while poll(&mut [PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN)], None) == Err(Errno::INTR) {}
    assay_wire::ring::sweep(ring).map_err(|error| Failure::Machine(error.to_string()))?;
    Ok(Exit::Ok)
}

fn own_program(ring: &Path) -> Result<Command, Failure> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| failed(&error))?);
    command.arg("sweep").arg(ring).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::Bug(format!("nobody can be had who removes the ring when the program is killed: {error}"))
}
