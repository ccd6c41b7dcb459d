//! The process between a lab and a transport, so that no transport outlives the lab: one that stands in a queue, or tries to connect, does
//! not look at its input and would take no notice that nobody is there any more.
//!
//! The transport has the carrier's own standard streams, through which the lab and the agent speak; the carrier reads nothing of them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::supervisor::keeping;

/// The argument of `assay agent` behind which the transport's command stands.
const ARGUMENT: &str = "--carry";

/// The arguments with which this program carries `command`.
pub(super) fn arguments(command: &[OsString]) -> impl Iterator<Item = &OsStr> {
    ["agent", ARGUMENT, "--"].into_iter().map(OsStr::new).chain(command.iter().map(OsString::as_os_str))
}

/// The body of `assay agent --carry`: starts the transport's `command`, and ends as it does. Returns, as exec does, only why that could not
/// be started.
pub fn run(command: &[OsString]) -> io::Error {
    let Some((program, arguments)) = command.split_first() else { return io::Error::other("no command") };
    let start = || Command::new(program).args(arguments).process_group(0).spawn();
    let status = match keeping::accompany(start) {
        Ok(Some(status)) => status,
        Ok(None) => std::process::exit(1),
        Err(error) => return io::Error::new(error.kind(), format!("{}: {error}", program.display())),
    };
    if let Some(signal) = status.terminating_signal() {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
    std::process::exit(status.exit_status().unwrap_or(1))
}
