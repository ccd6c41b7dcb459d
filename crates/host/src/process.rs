//! Relations of processes, found by ancestry, process group or session, by one scan of `/proc` (`proc_pid_stat(5)`).
//!
//! `/proc/PID/task/TID/children` is not used: the kernel documents it as reliable only while all are frozen.

use std::collections::{BTreeMap, BTreeSet};

use procfs::FromRead;
use procfs::process::Stat;
use rustix::process::Pid;

/// A process, zombies included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Parent's process id; 0 when the parent is outside this pid namespace.
    pub parent: u32,
    /// Process group id.
    pub group: u32,
    /// Session id.
    pub session: u32,
    /// Clock ticks from boot to its start. With the pid it identifies the process even when pids are reused.
    pub start_ticks: u64,
    /// Whether it has ended and waits to be reaped.
    pub zombie: bool,
    /// The first 15 bytes of the name of its program.
    pub name: String,
    /// Clock ticks in user and kernel mode of its children that ended and were waited for.
    pub(crate) reaped_ticks: [u64; 2],
}

/// All processes below `pid`, not itself, ascending; empty when there is none, also when `pid` does not
/// exist.
///
/// A descendant whose parent ended before it belongs to the nearest child subreaper above
/// (`PR_SET_CHILD_SUBREAPER(2const)`), so below a supervisor nothing is missed.
pub fn descendants(pid: u32) -> Vec<Process> {
    let all = scan();
    let wanted = tree(&all, pid);
    all.into_iter().filter(|process| process.pid != pid && wanted.contains(&process.pid)).collect()
}

/// All members of a process group, ascending.
pub fn group_members(group: u32) -> Vec<Process> {
    scan().into_iter().filter(|process| process.group == group).collect()
}

/// The process with this id, `None` when there is none.
pub fn find(pid: u32) -> Option<Process> {
    Stat::from_file(format!("/proc/{pid}/stat")).ok().map(Process::from)
}

/// The process group of a process, of this one without `pid` (getpgid(2)). `None` where it is unknown here: that of whoever came into this
/// pid namespace from outside is told as 0, which is no process, and which rustix would take for one.
pub fn group_of(pid: Option<Pid>) -> Option<Pid> {
    let pid = pid.map(|pid| nix::unistd::Pid::from_raw(pid.as_raw_nonzero().get()));
    Pid::from_raw(nix::unistd::getpgid(pid).ok()?.as_raw())
}

/// The processes above `pid`, the nearest first, as far as they can be seen.
pub(crate) fn ancestors(pid: u32) -> Vec<u32> {
    let above = |pid: &u32| find(*pid).map(|process| process.parent).filter(|parent| *parent > 0);
    std::iter::successors(above(&pid), above).collect()
}

/// `roots` and all processes below them, ascending, each once.
pub fn scan_trees(roots: &[u32]) -> Vec<Process> {
    trees(&scan(), roots)
}

/// Of `all`, `roots` and the processes below them, in the same order, each once.
pub(crate) fn trees(all: &[Process], roots: &[u32]) -> Vec<Process> {
    let wanted: BTreeSet<u32> = roots.iter().flat_map(|root| tree(all, *root)).collect();
    all.iter().filter(|process| wanted.contains(&process.pid)).cloned().collect()
}

/// Whether nobody came, ended, or waited for somebody who had ended.
pub(crate) fn same_family(before: &[Process], after: &[Process]) -> bool {
    let key = |process: &Process| (process.pid, process.start_ticks, process.reaped_ticks);
    before.iter().map(key).eq(after.iter().map(key))
}

/// Every process that can be seen, ascending. Those that end during the scan are left out.
pub(crate) fn scan() -> Vec<Process> {
    ids().into_iter().filter_map(find).collect()
}

/// The ids of all processes that can be seen, ascending.
pub(crate) fn ids() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut ids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable();
    ids
}

/// The ids of `root` and of all below it.
fn tree(all: &[Process], root: u32) -> BTreeSet<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut found = BTreeSet::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        // `insert` is false for a pid met before: parents read at different moments may seem to form a ring.
        if found.insert(pid) {
            open.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found
}

impl From<Stat> for Process {
    fn from(stat: Stat) -> Self {
        // The kernel's -1 and 0 both stand for "none that you can see".
        let id = |raw: i32| u32::try_from(raw).unwrap_or(0);
        let ticks = |raw: i64| u64::try_from(raw).unwrap_or(0);
        Self {
            pid: id(stat.pid),
            parent: id(stat.ppid),
            group: id(stat.pgrp),
            session: id(stat.session),
            start_ticks: stat.starttime,
            zombie: matches!(stat.state, 'Z' | 'X'),
            reaped_ticks: [ticks(stat.cutime), ticks(stat.cstime)],
            name: stat.comm,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(line: &str) -> Process {
        Stat::from_read(line.as_bytes()).expect(line).into()
    }

    #[test]
    fn names_with_spaces_and_parentheses_are_read() {
        let line = "5129 (tmux: (a) b) Z 3672 5129 5128 0 -1 4194560 1070 29 0 0 31 7 120 45 20 0 1 0 48191 \
                    5296128 1024 18446744073709551615 1 1 0 0 0 0 0 \
                    3686404 134433283 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0";
        let expected = Process {
            pid: 5129,
            parent: 3672,
            group: 5129,
            session: 5128,
            start_ticks: 48191,
            zombie: true,
            name: "tmux: (a) b".into(),
            reaped_ticks: [120, 45],
        };
        assert_eq!(process(line), expected);
    }

    #[test]
    fn a_tree_is_found_through_gaps_and_rings() {
        let make = |(pid, parent): (u32, u32)| Process {
            pid,
            parent,
            group: pid,
            session: pid,
            start_ticks: 0,
            zombie: false,
            name: String::new(),
            reaped_ticks: [0, 0],
        };
        let all: Vec<Process> =
            [(1, 0), (10, 1), (11, 10), (12, 11), (13, 10), (20, 1), (30, 31), (31, 30)].map(make).into();
        assert_eq!(tree(&all, 10).into_iter().collect::<Vec<_>>(), [10, 11, 12, 13]);
        assert_eq!(tree(&all, 30).into_iter().collect::<Vec<_>>(), [30, 31]);
        assert_eq!(tree(&all, 99).into_iter().collect::<Vec<_>>(), [99]);
    }

    #[test]
    fn this_process_is_found() {
        let me = find(std::process::id()).expect("alive");
        assert!(!me.zombie && scan_trees(&[me.parent]).iter().any(|process| process.pid == me.pid));
        assert!(group_members(me.group).contains(&me));
        assert_eq!(find(u32::MAX), None);
        assert!(descendants(u32::MAX).is_empty());
        assert_eq!(ancestors(me.pid).first(), Some(&me.parent));
    }
}
