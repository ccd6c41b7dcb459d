//! Names that mean an open descriptor: `/dev/stdout`, `/dev/fd/N`, `/proc/self/fd/N` (proc_pid_fd(5)).

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::process::{PidfdFlags, PidfdGetfdFlags};

/// A duplicate of the descriptor that `name` in `folder` stands for; `None` for any other name. The folder is the real one.
///
/// Opening such a name afresh would begin at the start of a file, lose what a shell's `>>` asks for, and fail for a socket.
pub(crate) fn named(folder: &Path, name: &OsStr) -> Option<io::Result<File>> {
    let own = ["/proc/self/fd", "/proc/thread-self/fd"];
    if !own.iter().any(|own| Path::new(own).canonicalize().is_ok_and(|own| own == folder)) {
        return None;
    }
    let number: i32 = name.to_str()?.parse().ok()?;
    Some(duplicate(number).or_else(|error| standard(number).unwrap_or(Err(error))))
}

/// By number (pidfd_getfd(2), Linux 5.6).
fn duplicate(number: i32) -> io::Result<File> {
    let this = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?;
    Ok(rustix::process::pidfd_getfd(this, number, PidfdGetfdFlags::empty())?.into())
}

/// Standard output or standard error by its name, where a container forbids to duplicate a number.
fn standard(number: i32) -> Option<io::Result<File>> {
    let duplicate = match number {
        1 => rustix::io::dup(io::stdout()),
        2 => rustix::io::dup(io::stderr()),
        _ => return None,
    };
    Some(duplicate.map(File::from).map_err(io::Error::from))
}
