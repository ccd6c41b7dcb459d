//! Processes on a CPU of their own that end with their owner, however that ends: each leads a process group, and the
//! group is killed.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use assay_host::cpuset::{CpuSet, pin_current_thread};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::Testbed;

/// Time between two checks whether a process has ended. Long, because checks cost CPU time too.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How much of what a process said is repeated in a message.
const COMPLAINT_CHARACTERS: usize = 300;

/// A process and all that it started; killed when dropped.
pub(crate) struct Running {
    child: Child,
    name: String,
    stdout: File,
    stderr: File,
}

/// What a process that has ended leaves behind.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Running {
    /// Starts a command on these CPUs.
    ///
    /// # Errors
    /// When the CPUs cannot be had or the program cannot be started.
    pub(crate) fn start(command: &mut Command, cpus: &CpuSet) -> Result<Self, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let say = |error: std::io::Error| format!("{name}: {error}");
        let (stdout, stderr) = (tempfile::tempfile().map_err(say)?, tempfile::tempfile().map_err(say)?);
        command.stdin(Stdio::null()).process_group(0);
        command.stdout(stdout.try_clone().map_err(say)?).stderr(stderr.try_clone().map_err(say)?);
        // A child inherits the CPUs of the thread that starts it.
        let spawn = || {
            pin_current_thread(cpus).map_err(|error| error.to_string())?;
            command.spawn().map_err(say)
        };
        let child = std::thread::scope(|scope| scope.spawn(spawn).join())
            .map_err(|_| format!("{name}: the thread that starts it panicked"))??;
        Ok(Self { child, name, stdout, stderr })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<(), String> {
        kill_process(Pid::from_child(&self.child), signal).map_err(|error| format!("{}: {error}", self.name))
    }

    /// What it has said on standard error so far.
    pub(crate) fn log(&self) -> String {
        text(&self.stderr)
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end, `limit` at most.
    ///
    /// # Errors
    /// When it takes longer, or a person asks to end.
    pub(crate) fn finish(mut self, limit: Duration, testbed: &Testbed) -> Result<Ended, String> {
        let until = Instant::now() + limit;
        loop {
            testbed.go_on()?;
            if let Some(status) = self.child.try_wait().map_err(|error| format!("{}: {error}", self.name))? {
                let (stdout, stderr) = (text(&self.stdout), text(&self.stderr));
                return Ok(Ended { status, stdout, stderr });
            }
            if Instant::now() > until {
                return Err(format!("{} did not end within {limit:?}; {}", self.name, self.log()));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself, and taken its group along.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Ended {
    /// # Errors
    /// When it did not end with one of these exit codes; the message holds what it said.
    pub(crate) fn with_code(self, codes: &[i32], what: &str) -> Result<Self, String> {
        if self.status.code().is_some_and(|code| codes.contains(&code)) {
            return Ok(self);
        }
        let said = if self.stderr.trim().is_empty() { self.stdout } else { self.stderr };
        let words = said.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let end = words.char_indices().nth(COMPLAINT_CHARACTERS).map_or(words.len(), |(index, _)| index);
        Err(format!("{what}: {}: {}", self.status, &words[..end]))
    }
}

/// The whole text of a file, read without moving the offset that the writing process shares.
fn text(file: &File) -> String {
    let mut bytes = vec![0; file.metadata().map_or(0, |metadata| metadata.len() as usize)];
    // A file of our own that is open; what cannot be read is not there.
    let length = file.read_at(&mut bytes, 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}
