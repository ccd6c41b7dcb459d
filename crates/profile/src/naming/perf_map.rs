//! The perf map of a process: names that a runtime writes down of what it compiles (kernel: tools/perf/Documentation/jit-interface.txt).
//!
//! It lies where anybody may write, under a name that everybody can foresee. So nothing is opened that could block, only what is the
//! process's own or root's is believed, and not what an earlier process of the same number left; and it is read, not mapped, because who
//! shortens a mapped file ends whoever reads it.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use procfs::process::Process;
use rustix::time::{ClockId, clock_gettime};

use super::{open_unblocked, shortened};

/// Longest map that is read, in bytes: half a million functions.
const MAX_BYTES: u64 = 64 << 20;
/// How much earlier than its process a file may seem to be written: the clock may have been set, and files have the time of a tick.
const SLACK: Duration = Duration::from_secs(1);

/// What is known of a file before it is read.
#[derive(Clone, Copy, Debug)]
struct Found {
    is_file: bool,
    owner: u32,
    bytes: u64,
    written: SystemTime,
}

/// Names of the functions at some addresses of a process, as far as its map has them; none where there is no map.
///
/// # Errors
/// When the map is not to be believed, or cannot be read.
pub(super) fn names(pid: u32, addresses: &BTreeSet<u64>) -> Result<HashMap<u64, String>, String> {
    if addresses.is_empty() {
        return Ok(HashMap::new());
    }
    let told = |path: &str, why: &str| format!("{path} is not used: {why}");
    let known = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
    let Some(status) = known.as_ref().and_then(|process| process.status().ok()) else {
        return Ok(HashMap::new());
    };
    // The process writes its number as it knows it itself, and where it sees /tmp.
    let own = status.nstgid.as_ref().and_then(|ids| ids.last()).copied().unwrap_or(status.tgid);
    let path = format!("/tmp/perf-{own}.map");
    let file = match open_unblocked(format!("/proc/{pid}/root{path}").as_ref(), libc::O_NOFOLLOW) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(told(&path, &error.to_string())),
    };
    let start_ticks = known.and_then(|process| Some(process.stat().ok()?.starttime)).unwrap_or(0);
    let found = found(&file).map_err(|error| told(&path, &error.to_string()))?;
    believe(found, status.euid, started(start_ticks)).map_err(|why| told(&path, why))?;
    let mut map = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut map).map_err(|error| told(&path, &error.to_string()))?;
    Ok(named(&map, addresses))
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

/// The names of addresses in lines of a start, a size and a name, both numbers in hexadecimal. What was compiled later stands further
/// down, and is what is there now: so from the end on, each address is named once, however many lines hold it. A line that is no such
/// line says nothing, as the last one of a map that is being written.
fn named(map: &[u8], addresses: &BTreeSet<u64>) -> HashMap<u64, String> {
    let (mut names, mut left) = (HashMap::new(), addresses.clone());
    for (start, size, name) in map.rsplit(|byte| *byte == b'\n').filter_map(parsed) {
        let within: Vec<u64> = left.range(start..start.saturating_add(size)).copied().collect();
        for address in within {
            left.remove(&address);
            names.insert(address, shortened(name));
        }
    }
    names
}

fn parsed(line: &[u8]) -> Option<(u64, u64, &str)> {
    let (start, rest) = std::str::from_utf8(line).ok()?.trim_end().split_once(' ')?;
    let (size, name) = rest.split_once(' ')?;
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    Some((number(start)?, number(size)?, name)).filter(|(_, _, name)| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_any_address_in_them_and_the_last_that_was_compiled_there_counts() {
        let map = b"7f00 10 LazyCompile:old\nno line\nzz 10 broken\n7f00 20 JS:*handle /srv/a b.js:4\n7fff ffffffffffffffff all\n\xff\xfe\n9000 8 cut";
        let addresses = [0x7eff, 0x7f00, 0x7f1f, 0x7f20, 0x9007, u64::MAX].into();
        let names = named(map, &addresses);
        let name = |address| names.get(&address).map(String::as_str);
        assert_eq!([name(0x7f00), name(0x7f1f)], [Some("JS:*handle /srv/a b.js:4"); 2]);
        assert_eq!([name(0x7eff), name(0x7f20), name(u64::MAX)], [None; 3]);
        assert_eq!(name(0x9007), Some("cut"));
    }

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
