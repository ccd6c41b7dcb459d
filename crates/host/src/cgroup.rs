//! Control groups, version 2 (kernel: Documentation/admin-guide/cgroup-v2.rst): the limits that bind this
//! process, and groups of our own, whose `cpu.stat` counts every process that was ever in them, however it
//! ended.
//!
//! Where only version 1 is mounted there is nothing here; [`crate::snapshot`] serves everywhere.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_model::units::Nanos;

use crate::snapshot::CpuTime;
use crate::text::{Tree, keyed};

/// What the groups above this process allow it. Absent means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// CPU time for each second of wall-clock time, in CPUs (`cpu.max`). It throttles even where all CPUs are
    /// allowed.
    pub cpus: Option<f64>,
    /// Memory, in bytes (`memory.max`).
    pub memory_bytes: Option<u64>,
}

/// What a group has consumed since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupUsage {
    /// CPU time of all members, past ones included; microseconds are counted.
    pub cpu: CpuTime,
    /// Time in which members were held back by `cpu.max`; absent without the cpu controller.
    pub throttled_ns: Option<Nanos>,
    /// Memory now, page cache included, in bytes; absent without the memory controller.
    pub memory_bytes: Option<u64>,
    /// The most it ever was, in bytes; absent without the memory controller and before Linux 5.19.
    pub memory_peak_bytes: Option<u64>,
}

/// A group could not be made or used.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    /// Version 2 is not mounted.
    #[error("control groups version 2 are not mounted here: CPU time is read from /proc instead")]
    Unavailable,
    /// The kernel refused.
    #[error(
        "cannot {what} {}: {source}; run as root or in a delegated scope \
         (systemd-run --user --scope -p Delegate=yes), or let CPU time be read from /proc",
        path.display()
    )]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
}

/// A group made by this process. Dropping it removes it if it has no member any more; the owner ends them
/// first. An owner that survives the killing of assay (the keeper) leaves none behind.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
}

impl Group {
    /// Makes the group `name` below the one this process is in. It has CPU accounting always, and memory
    /// accounting where the group above passes that controller on.
    ///
    /// # Errors
    /// When version 2 is not mounted, or this user may not make groups here.
    pub fn create(name: &str) -> Result<Self, CgroupError> {
        let path = own_folder(&Tree::live()).ok_or(CgroupError::Unavailable)?.join(name);
        fs::create_dir(&path).map_err(|source| CgroupError::Io {
            what: "make the control group",
            path: path.clone(),
            source,
        })?;
        Ok(Self { path })
    }

    /// Moves a process, with all its threads, into the group; its later children follow. What they used
    /// before is not counted.
    ///
    /// # Errors
    /// When the process has ended, or this user may not move it.
    pub fn attach(&self, pid: u32) -> Result<(), CgroupError> {
        let path = self.path.join("cgroup.procs");
        fs::write(&path, pid.to_string()).map_err(|source| CgroupError::Io {
            what: "move a process by way of",
            path,
            source,
        })
    }

    /// What the members, past and present, have consumed.
    ///
    /// # Errors
    /// When the group is gone.
    pub fn usage(&self) -> Result<GroupUsage, CgroupError> {
        let path = self.path.join("cpu.stat");
        let stat =
            fs::read_to_string(&path).map_err(|source| CgroupError::Io { what: "read", path, source })?;
        let folder = Tree::at(&self.path);
        Ok(GroupUsage {
            memory_bytes: folder.parse("memory.current"),
            memory_peak_bytes: folder.parse("memory.peak"),
            ..parse_cpu_stat(&stat)
        })
    }

    /// The living members, zombies not among them.
    pub fn members(&self) -> Vec<u32> {
        let text = Tree::at(&self.path).read("cgroup.procs").unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// The group's folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the group.
    ///
    /// # Errors
    /// When it still has members: end them first.
    pub fn remove(self) -> Result<(), CgroupError> {
        fs::remove_dir(&self.path).map_err(|source| CgroupError::Io {
            what: "remove the control group",
            path: self.path.clone(),
            source,
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Fails when `remove` went before or a member lives on; a destructor has nobody to tell.
        let _ = fs::remove_dir(&self.path);
    }
}

/// The limits that bind this process.
pub fn limits() -> Limits {
    limits_in(&Tree::live())
}

pub(crate) fn limits_in(tree: &Tree) -> Limits {
    let Some((folder, mount)) = own_folder(tree).zip(mount_point(tree)) else { return Limits::default() };
    let mut limits = Limits::default();
    // A limit of any group above binds as well; the tightest counts.
    for group in folder.ancestors().take_while(|group| group.starts_with(&mount.folder)) {
        let files = Tree::at(group);
        let cpus = files.read("cpu.max").and_then(|text| parse_cpu_max(&text));
        let memory = files.parse::<u64>("memory.max");
        limits.cpus = limits.cpus.into_iter().chain(cpus).reduce(f64::min);
        limits.memory_bytes = limits.memory_bytes.into_iter().chain(memory).min();
    }
    limits
}

/// `cpu.max`, "quota period" in microseconds, as CPUs; `None` for "max".
fn parse_cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.trim().parse().ok()?);
    (period > 0.0).then_some(quota / period)
}

fn parse_cpu_stat(text: &str) -> GroupUsage {
    let micros = |name| keyed(text, name).map(Nanos::from_micros);
    GroupUsage {
        cpu: CpuTime {
            user_ns: micros("user_usec").unwrap_or_default(),
            system_ns: micros("system_usec").unwrap_or_default(),
        },
        throttled_ns: micros("throttled_usec"),
        ..GroupUsage::default()
    }
}

/// Where version 2 is mounted.
struct Mount {
    /// The folder.
    folder: PathBuf,
    /// The group that is seen there as the topmost.
    group: String,
}

fn mount_point(tree: &Tree) -> Option<Mount> {
    let (group, folder) = parse_mount(&tree.read("proc/self/mountinfo")?)?;
    Some(Mount { folder: tree.path(folder.trim_start_matches('/')), group })
}

/// Topmost group and folder of the version 2 mount, from `proc_pid_mountinfo(5)`.
fn parse_mount(mountinfo: &str) -> Option<(String, String)> {
    mountinfo.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut fields = left.split(' ').skip(3);
        let (group, folder) = (fields.next()?, fields.next()?);
        right.starts_with("cgroup2 ").then(|| (group.to_owned(), folder.to_owned()))
    })
}

/// The folder of the group that this process is in.
fn own_folder(tree: &Tree) -> Option<PathBuf> {
    let mount = mount_point(tree)?;
    let groups = tree.read("proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    // A container may see only its own part of the hierarchy, mounted with that part as the root.
    let own = own.strip_prefix(mount.group.as_str()).unwrap_or(own);
    let folder = mount.folder.join(own.trim_start_matches('/'));
    folder.is_dir().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEMD: &str = "\
22 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw
34 23 0:29 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate";
    const HYBRID: &str = "\
31 22 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
40 22 0:35 /docker/4f2a /sys/fs/cgroup/unified ro,relatime - cgroup2 cgroup2 rw";

    #[test]
    fn the_version_2_mount_is_found_among_others() {
        let parsed = |text| parse_mount(text).expect("mounted");
        assert_eq!(parsed(SYSTEMD), ("/".into(), "/sys/fs/cgroup".into()));
        assert_eq!(parsed(HYBRID), ("/docker/4f2a".into(), "/sys/fs/cgroup/unified".into()));
        assert_eq!(parse_mount("31 22 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"), None);
    }

    #[test]
    fn the_tightest_limit_on_the_way_up_counts() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |file: &str, text: &str| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        };
        write("proc/self/mountinfo", SYSTEMD);
        write("proc/self/cgroup", "0::/user.slice/session-3.scope\n");
        write("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
        write("sys/fs/cgroup/user.slice/memory.max", "max\n");
        write("sys/fs/cgroup/user.slice/session-3.scope/cpu.max", "max 100000\n");
        write("sys/fs/cgroup/user.slice/session-3.scope/memory.max", "536870912\n");
        let limits = limits_in(&Tree::at(root.path()));
        assert_eq!(limits, Limits { cpus: Some(1.5), memory_bytes: Some(536_870_912) });
        assert_eq!(limits_in(&Tree::at(&root.path().join("proc"))), Limits::default());
    }

    #[test]
    fn cpu_stat_is_read_with_and_without_the_controller() {
        let plain = "usage_usec 4160\nuser_usec 3000\nsystem_usec 1160\ncore_sched.force_idle_usec 0\n";
        let usage = parse_cpu_stat(plain);
        assert_eq!((usage.cpu.total(), usage.throttled_ns), (Nanos(4_160_000), None));
        let full = format!("{plain}nr_periods 10\nnr_throttled 2\nthrottled_usec 70\nnr_bursts 0\n");
        assert_eq!(parse_cpu_stat(&full).throttled_ns, Some(Nanos(70_000)));
    }
}
