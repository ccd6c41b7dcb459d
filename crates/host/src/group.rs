//! Control groups of our own around what is started: no more tasks in them than allowed, and all of them found and ended
//! whatever they do, for a process cannot leave its group by forking, by a session of its own or by ending its parent.
//!
//! Version 2 gives `cgroup.kill` (since Linux 5.14; kernel: admin-guide/cgroup-v2.rst), the `pids` controller of either
//! version a limit on tasks (kernel: admin-guide/cgroup-v1/pids.rst). Either may be missing, or not be ours to use: then
//! there is that much less, and who needs more must not rely on it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::cgroup::Hierarchy;
use crate::process::find;
use crate::text::Tree;

/// Groups of ours are called so, with the pid namespace, the number and the start of their owner behind it.
const PREFIX: &str = "assay-";

/// A group, with a folder in every hierarchy that has it. Whoever made it removes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    folders: Vec<PathBuf>,
}

impl Group {
    /// Makes a group below that of this process, named after this process, for at most `tasks` processes and threads.
    /// `None` where there is no hierarchy in which this user may make groups.
    pub fn create(tasks: u64) -> Option<Self> {
        let name = name_of(&find(std::process::id())?.start_ticks.to_string(), std::process::id())?;
        let parents = parents();
        let made = parents.iter().map(|parent| parent.join(&name));
        let made: Vec<PathBuf> = made.filter(|folder| fs::create_dir(folder).is_ok()).collect();
        for folder in &made {
            // Absent without the controller.
            let _ = write(&folder.join("pids.max"), &tasks.to_string());
        }
        (!made.is_empty()).then_some(Self { folders: made })
    }

    /// The group that was made with these folders ([`folders`](Self::folders)).
    pub fn at(folders: Vec<PathBuf>) -> Self {
        Self { folders }
    }

    /// Folders of the group, one in each hierarchy.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Moves this process, with all its threads, into the group; its later children follow.
    ///
    /// # Errors
    /// When this user may not move it.
    pub fn enter(&self) -> io::Result<()> {
        // "0" is the process that writes.
        self.folders.iter().try_for_each(|folder| write(&folder.join("cgroup.procs"), "0"))
    }

    /// The living members, ascending.
    pub fn members(&self) -> Vec<u32> {
        let of = |folder: &PathBuf| Tree::at(folder).read("cgroup.procs").unwrap_or_default();
        let texts: Vec<String> = self.folders.iter().map(of).collect();
        let mut all: Vec<u32> =
            texts.iter().flat_map(|text| text.lines()).filter_map(|line| line.parse().ok()).collect();
        all.sort_unstable();
        all.dedup();
        // A process of another pid namespace is shown as 0.
        all.retain(|pid| *pid != 0);
        all
    }

    /// Whether the kernel keeps it from having more tasks than some number.
    pub fn is_bounded(&self) -> bool {
        let bound = |folder: &PathBuf| Tree::at(folder).read("pids.max");
        self.folders.iter().filter_map(bound).any(|bound| bound.trim().parse::<u64>().is_ok())
    }

    /// Has the kernel end all members at once, also those that are being forked; returns whether it can.
    pub fn kill(&self) -> bool {
        let killed = self.folders.iter().filter(|folder| write(&folder.join("cgroup.kill"), "1").is_ok());
        killed.count() > 0
    }

    /// Removes it; where members live on, it stays.
    pub fn remove(&self) {
        for folder in &self.folders {
            let _ = fs::remove_dir(folder);
        }
    }

    /// The groups of this user whose owners were killed before they could end them: the owner of each is gone.
    pub fn abandoned() -> Vec<Self> {
        let is_abandoned = |name: &str| owner(name).is_some_and(|(pid, start)| !is_alive(pid, start));
        let mut names: Vec<String> = parents().iter().flat_map(|parent| Tree::at(parent).names("")).collect();
        names.sort();
        names.dedup();
        let of = |name: &String| parents().iter().map(|parent| parent.join(name)).collect::<Vec<_>>();
        let abandoned = names.iter().filter(|name| is_abandoned(name));
        abandoned
            .map(|name| Self::at(of(name).into_iter().filter(|folder| is_own(folder)).collect()))
            .filter(|group| !group.folders.is_empty())
            .collect()
    }
}

fn is_own(folder: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == own)
}

/// Existing files only: a file made by accident on an ordinary file system would look like success.
fn write(file: &Path, text: &str) -> io::Result<()> {
    fs::OpenOptions::new()
        .write(true)
        .open(file)
        .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()))
}

/// Below which groups ours are made: that of this process in version 2, and in the `pids` hierarchy of version 1.
fn parents() -> Vec<PathBuf> {
    let tree = Tree::live();
    let own = |hierarchy: Hierarchy| hierarchy.groups(&tree, "self").into_iter().next();
    [Hierarchy::Unified, Hierarchy::Legacy("pids")].into_iter().filter_map(own).collect()
}

fn name_of(start: &str, pid: u32) -> Option<String> {
    Some(format!("{PREFIX}{}-{pid}-{start}", pid_namespace()?))
}

/// Process number and start of a group's owner; `None` where the name is none of ours, or of another pid namespace, in
/// which numbers mean something else.
fn owner(name: &str) -> Option<(u32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    let namespace = parts.next()?;
    let owner = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    (parts.next().is_none() && pid_namespace()? == namespace).then_some(owner)
}

fn is_alive(pid: u32, start_ticks: u64) -> bool {
    find(pid).is_some_and(|process| process.start_ticks == start_ticks && !process.zombie)
}

/// The number of this process's pid namespace (`pid_namespaces(7)`).
fn pid_namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_of_ours_in_this_namespace_have_an_owner() {
        let own = name_of("77", 12).expect("a namespace");
        assert_eq!(owner(&own), Some((12, 77)));
        assert_eq!(owner(&format!("{own}-1")), None);
        assert_eq!(owner("assay-1-12-77"), None, "another namespace");
        assert_eq!(owner("user.slice"), None);
        assert_eq!(owner("assay-"), None);
    }

    #[test]
    fn a_process_is_alive_by_number_and_start() {
        let me = find(std::process::id()).expect("alive");
        assert!(is_alive(me.pid, me.start_ticks));
        assert!(!is_alive(me.pid, me.start_ticks + 1), "the number was given anew");
    }

    #[test]
    fn nothing_is_written_where_there_is_no_such_file() {
        let folder = tempfile::tempdir().expect("folder");
        let group = Group::at(vec![folder.path().to_owned()]);
        assert!(!group.kill() && group.enter().is_err() && group.members().is_empty());
        assert_eq!(fs::read_dir(folder.path()).expect("folder").count(), 0);
    }
}
