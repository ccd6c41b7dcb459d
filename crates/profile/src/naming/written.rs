//! Files in which a process writes down the names of what its runtime compiles, read only where they can be its own.
//!
//! Anybody may write a file of such a name, and a process may name any file. So nothing is opened that could block, only what is the
//! process's own or root's is believed, and not what an earlier process of the same number left; and it is read, not mapped, because
//! whoever shortens a mapped file ends whoever reads it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use procfs::process::Process;
use rustix::time::{ClockId, clock_gettime};

use super::open_unblocked;

/// Longest file that is read, in bytes: half a million functions.
const MAX_BYTES: u64 = 64 << 20;
/// How much earlier than its process a file may seem to be written: the clock may have been set, and files have the time of a tick.
const SLACK: Duration = Duration::from_secs(1);

/// A process that may write names down.
#[derive(Debug)]
pub(super) struct Writer {
    pid: u32,
    /// The number that it has for itself, in its own pid namespace.
    pub(super) own_pid: i32,
    /// Its command line.
    pub(super) arguments: Vec<String>,
    user: u32,
    started: SystemTime,
}

/// What is known of a file before it is read.
#[derive(Clone, Copy, Debug)]
struct Found {
    is_file: bool,
    owner: u32,
    bytes: u64,
    written: SystemTime,
}

impl Writer {
    /// The process of this number; `None` when it has ended.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let process = Process::new(i32::try_from(pid).ok()?).ok()?;
        let status = process.status().ok()?;
        Some(Self {
            pid,
            own_pid: status.nstgid.as_ref().and_then(|ids| ids.last()).copied().unwrap_or(status.tgid),
            arguments: process.cmdline().unwrap_or_default(),
            user: status.euid,
            started: started(process.stat().map_or(0, |stat| stat.starttime)),
        })
    }

    /// What `named` finds in a file of the process's, at a path as the process sees it; nothing where there is no file.
    ///
    /// # Errors
    /// When the file is not to be believed, or cannot be read.
    pub(super) fn read(
        &self,
        path: &str,
        named: impl FnOnce(&[u8]) -> HashMap<u64, String>,
    ) -> Result<HashMap<u64, String>, String> {
        let told = |why: &str| format!("{path} is not used: {why}");
        let from = if path.starts_with('/') { "root" } else { "cwd/" };
        let file = match open_unblocked(format!("/proc/{}/{from}{path}", self.pid).as_ref(), libc::O_NOFOLLOW)
        {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(HashMap::new()),
            Err(error) => return Err(told(&error.to_string())),
        };
        let found = found(&file).map_err(|error| told(&error.to_string()))?;
        believe(found, self.user, self.started).map_err(told)?;
        let mut text = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut text).map_err(|error| told(&error.to_string()))?;
        Ok(named(&text))
    }
}

fn found(file: &File) -> std::io::Result<Found> {
    let facts = file.metadata()?;
    let written = facts.modified()?;
    Ok(Found { is_file: facts.is_file(), owner: facts.uid(), bytes: facts.len(), written })
}

/// When a process started of which the kernel says that it was so many ticks after it booted itself. The wall clock of the boot is not
/// asked for: containers show a time of their own.
fn started(start_ticks: u64) -> SystemTime {
    let now = clock_gettime(ClockId::Boottime);
    let since_boot = Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0));
    let start = Duration::from_millis(start_ticks.saturating_mul(1_000) / procfs::ticks_per_second().max(1));
    SystemTime::now().checked_sub(since_boot.saturating_sub(start)).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Whether what was found can be the map of a process of `user` that `started` then; else why not.
fn believe(found: Found, user: u32, started: SystemTime) -> Result<(), &'static str> {
    let Found { is_file, owner, bytes, written } = found;
    if !is_file {
        return Err("it is no regular file");
    }
    if owner != user && owner != 0 {
        return Err("it belongs to another user than the process");
    }
    if bytes > MAX_BYTES {
        return Err("it is longer than 64 MiB");
    }
    // Whoever owns the file sets its time as they like, so the sum may be none.
    if written.checked_add(SLACK).is_some_and(|latest| latest < started) {
        return Err("it was written before the process started");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_of_the_processs_user_or_roots_that_is_younger_than_it_is_believed() {
        let start = SystemTime::now();
        let own = Found { is_file: true, owner: 7, bytes: 10, written: start + SLACK };
        let is_believed = |found| believe(found, 7, start).is_ok();
        assert!(is_believed(own) && is_believed(Found { owner: 0, ..own }));
        assert!(!is_believed(Found { is_file: false, ..own }));
        assert!(!is_believed(Found { owner: 8, ..own }));
        assert!(!is_believed(Found { bytes: MAX_BYTES + 1, ..own }));
        assert!(!is_believed(Found { written: start - 2 * SLACK, ..own }));
    }

    #[test]
    fn no_time_that_a_file_may_bear_breaks_anything_off() {
        let file = tempfile::tempfile().expect("a file");
        let user = rustix::process::geteuid().as_raw();
        for (seconds, is_young) in [(i64::MAX, true), (i64::MIN, false)] {
            let written = match seconds {
                0.. => SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.unsigned_abs()),
                _ => SystemTime::UNIX_EPOCH - Duration::from_secs(seconds.unsigned_abs()),
            };
            let facts = Found { written, ..found(&file).expect("its facts") };
            assert_eq!(believe(facts, user, SystemTime::now()).is_ok(), is_young, "{seconds}");
        }
    }

    #[test]
    fn a_process_started_when_its_ticks_say() {
        let before = SystemTime::now();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a process");
        let ticks = assay_host::process::find(child.id()).expect("alive").start_ticks;
        child.kill().expect("killed");
        child.wait().expect("ended");
        let after = SystemTime::now();
        let started = started(ticks);
        assert!(before - SLACK <= started && started <= after, "{before:?} {started:?} {after:?}");
    }
}
