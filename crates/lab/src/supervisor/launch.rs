//! The launcher: the process that becomes the command. What the command shall inherit it does to itself, so that the supervisor
//! keeps its own CPUs, limits and group.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use assay_host::cpuset::pin_current_thread;
use assay_host::group::Group;
use rustix::process::{Resource, Rlimit, Signal};

use super::{SupervisorError, SupervisorOptions, ending};

/// Open files allowed to the command, unless the hard limit is lower. More would slow programs down that close every
/// possible descriptor when they start.
const NOFILE: u64 = 1 << 20;

/// Becomes the command. Why it could not is written to the socket that is standard input, whose other end sees it close
/// when all went well.
pub(super) fn launch(options: &SupervisorOptions) -> Result<(), SupervisorError> {
    let mut news = UnixStream::from(rustix::io::dup(rustix::stdio::stdin()).map_err(std::io::Error::from)?);
    rustix::io::fcntl_setfd(&news, rustix::io::FdFlags::CLOEXEC).map_err(std::io::Error::from)?;
    let Err(reason) = take_input(options).and_then(|()| become_command(options));
    let _ = news.write_all(reason.as_bytes());
    Ok(())
}

/// The command reads what it is given to read, and not the socket to the supervisor.
fn take_input(options: &SupervisorOptions) -> Result<(), String> {
    let path = options.stdin.as_deref().unwrap_or(Path::new("/dev/null"));
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let input = std::fs::File::open(path).map_err(cannot)?;
    rustix::stdio::dup2_stdin(input).map_err(|error| cannot(error.into()))
}

fn become_command(options: &SupervisorOptions) -> Result<std::convert::Infallible, String> {
    let (program, arguments) = options.command.split_first().ok_or("the command is empty")?;
    ending::end_with_parent(options.parent, Signal::KILL).map_err(|error| error.to_string())?;
    // A group that was made but must not be entered is one guard less; the subreapers stay.
    let _ = Group::at(options.group.clone()).enter();
    if let Some(cpus) = &options.cpus {
        pin_current_thread(cpus).map_err(|error| error.to_string())?;
    }
    raise_nofile();
    let mut command = Command::new(program);
    command.args(arguments).envs(options.variables.iter().map(|variable| split_variable(variable)));
    Err(not_started(&program.to_string_lossy(), &command.exec()))
}

/// Name and value of `NAME=VALUE`.
fn split_variable(variable: &OsStr) -> (&OsStr, &OsStr) {
    let bytes = variable.as_bytes();
    let end = bytes.iter().position(|&byte| byte == b'=').unwrap_or(bytes.len());
    (OsStr::from_bytes(&bytes[..end]), OsStr::from_bytes(bytes.get(end + 1..).unwrap_or_default()))
}

fn not_started(program: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("there is no program `{program}`: install it or mend the path")
        }
        std::io::ErrorKind::PermissionDenied => format!("`{program}` must not be executed: chmod +x it"),
        _ => format!("`{program}` did not start: {error}"),
    }
}

fn raise_nofile() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(NOFILE).min(NOFILE);
    if limit.current.is_some_and(|current| current < wanted) {
        // The soft limit may always be raised up to the hard one (setrlimit(2)).
        let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
        let _ = rustix::process::setrlimit(Resource::Nofile, raised);
    }
}
