//! The control groups above a process: the limits that bind it, and how long a quota of CPU time held it back. Both
//! versions are read (kernel: admin-guide/cgroup-v2.rst; admin-guide/cgroup-v1/ and scheduler/sched-bwc.rst), also side by
//! side: on many machines version 2 is mounted while the controllers still belong to version 1.

use std::path::{Path, PathBuf};

use assay_model::record::Throttled;
use assay_model::units::Nanos;

use crate::text::{Tree, keyed};

/// Version 1 says so many bytes and more where there is no limit: the greatest multiple of a page in a signed number.
const NO_LIMIT_BYTES: u64 = 1 << 62;

/// What the groups above this process allow it. Absent means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// CPU time for each second of wall-clock time, in CPUs (`cpu.max`, or `cpu.cfs_quota_us`). It throttles even where
    /// all CPUs are allowed.
    pub cpus: Option<f64>,
    /// Memory, in bytes (`memory.max`, or `memory.limit_in_bytes`).
    pub memory_bytes: Option<u64>,
}

/// A quota of CPU time above a process, and what it has done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throttling {
    /// CPU time for each second of wall-clock time, in CPUs; the tightest quota on the way up.
    pub quota_cpus: f64,
    /// How long it held back whom it binds, since its group was made, summed over the CPUs.
    pub throttled_ns: Nanos,
}

impl Throttling {
    /// What it did since `before`, which was taken of the same process.
    pub fn since(self, before: Option<Self>) -> Throttled {
        let earlier = before.map_or(Nanos::ZERO, |before| before.throttled_ns);
        Throttled { quota_cpus: self.quota_cpus, throttled_ns: self.throttled_ns - earlier }
    }
}

/// The limits that bind this process.
pub fn limits() -> Limits {
    limits_in(&Tree::live())
}

pub(crate) fn limits_in(tree: &Tree) -> Limits {
    let memory = Hierarchy::Unified
        .groups(tree, "self")
        .into_iter()
        .filter_map(|group| Tree::at(&group).parse::<u64>("memory.max"));
    let legacy = Hierarchy::Legacy("memory").groups(tree, "self").into_iter().filter_map(|group| {
        Tree::at(&group).parse::<u64>("memory.limit_in_bytes").filter(|limit| *limit < NO_LIMIT_BYTES)
    });
    // A limit of any group above binds as well; the tightest counts.
    Limits {
        cpus: quotas(tree, "self").map(|quota| quota.quota_cpus).reduce(f64::min),
        memory_bytes: memory.chain(legacy).min(),
    }
}

/// Memory that the groups above this process still allow, in bytes; `None` where none limits it. Files that
/// the kernel keeps and nobody has used lately can be had back.
pub(crate) fn memory_left_in(tree: &Tree) -> Option<u64> {
    let left = |group: &Path, [limit, used, cache]: [&str; 3]| {
        let files = Tree::at(group);
        let limit = files.parse::<u64>(limit).filter(|limit| *limit < NO_LIMIT_BYTES)?;
        let cached = files.read("memory.stat").and_then(|text| keyed(&text, cache)).unwrap_or(0);
        Some(limit.saturating_sub(files.parse::<u64>(used)?.saturating_sub(cached)))
    };
    let of = |hierarchy: Hierarchy, names| {
        let groups = hierarchy.groups(tree, "self").into_iter();
        groups.filter_map(move |group| left(&group, names)).min()
    };
    let unified = of(Hierarchy::Unified, ["memory.max", "memory.current", "inactive_file"]);
    let legacy = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];
    unified.into_iter().chain(of(Hierarchy::Legacy("memory"), legacy)).min()
}

/// What quotas have done to a process so far; `None` where there is no quota.
pub fn throttling(pid: u32) -> Option<Throttling> {
    throttling_in(&Tree::live(), &pid.to_string())
}

fn throttling_in(tree: &Tree, process: &str) -> Option<Throttling> {
    // Whoever waits for one group's quota uses nothing of another's meanwhile, so the times add up.
    quotas(tree, process).reduce(|one, other| Throttling {
        quota_cpus: one.quota_cpus.min(other.quota_cpus),
        throttled_ns: one.throttled_ns + other.throttled_ns,
    })
}

/// The quotas above a process, each once.
fn quotas(tree: &Tree, process: &str) -> impl Iterator<Item = Throttling> {
    let unified =
        Hierarchy::Unified.groups(tree, process).into_iter().filter_map(|group| unified_quota(&group));
    unified.chain(
        Hierarchy::Legacy("cpu").groups(tree, process).into_iter().filter_map(|group| legacy_quota(&group)),
    )
}

fn unified_quota(group: &Path) -> Option<Throttling> {
    let files = Tree::at(group);
    let quota_cpus = parse_cpu_max(&files.read("cpu.max")?)?;
    let throttled =
        files.read("cpu.stat").and_then(|text| keyed(&text, "throttled_usec")).map(Nanos::from_micros);
    Some(Throttling { quota_cpus, throttled_ns: throttled.unwrap_or_default() })
}

fn legacy_quota(group: &Path) -> Option<Throttling> {
    let files = Tree::at(group);
    // -1 is "none", and no unsigned number.
    let (quota, period) = (files.parse::<u64>("cpu.cfs_quota_us")?, files.parse::<u64>("cpu.cfs_period_us")?);
    let throttled = files.read("cpu.stat").and_then(|text| keyed(&text, "throttled_time")).map(Nanos);
    (period > 0).then(|| Throttling {
        quota_cpus: quota as f64 / period as f64,
        throttled_ns: throttled.unwrap_or_default(),
    })
}

/// `cpu.max`, "quota period" in microseconds, as CPUs; `None` for "max".
fn parse_cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.trim().parse().ok()?);
    (period > 0.0).then_some(quota / period)
}

/// One of the trees of control groups.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hierarchy {
    /// The tree of version 2, with all controllers that it has.
    Unified,
    /// The tree of a controller of version 1.
    Legacy(&'static str),
}

impl Hierarchy {
    /// The folder of the group that a process is in (`self` is this one), and those of all groups above it that can be
    /// seen; none where the hierarchy is not mounted.
    pub(crate) fn groups(self, tree: &Tree, process: &str) -> Vec<PathBuf> {
        let found = || {
            let (top, mount) = self.mount(&tree.read("proc/self/mountinfo")?)?;
            let mount = tree.path(mount.trim_start_matches('/'));
            let memberships = tree.read(format!("proc/{process}/cgroup"))?;
            let own = self.membership(&memberships)?;
            // A container may see only its own part of the hierarchy, mounted with that part as the root.
            let own = own.strip_prefix(top.as_str()).unwrap_or(own);
            let folder = mount.join(own.trim_start_matches('/'));
            let above =
                folder.ancestors().take_while(|group| group.starts_with(&mount)).map(Path::to_path_buf);
            folder.is_dir().then(|| above.collect())
        };
        found().unwrap_or_default()
    }

    /// Topmost group and folder of the mount, from `proc_pid_mountinfo(5)`.
    fn mount(self, mountinfo: &str) -> Option<(String, String)> {
        mountinfo.lines().find_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let mut fields = left.split(' ').skip(3);
            let (group, folder) = (fields.next()?, fields.next()?);
            let mut right = right.split(' ');
            let (kind, options) = (right.next()?, right.nth(1).unwrap_or_default());
            let is_it = match self {
                Self::Unified => kind == "cgroup2",
                Self::Legacy(controller) => {
                    kind == "cgroup" && options.split(',').any(|word| word == controller)
                }
            };
            is_it.then(|| (group.to_owned(), folder.to_owned()))
        })
    }

    /// The group of a process, from `cgroups(7)`, `/proc/PID/cgroup`: `number:controllers:group`.
    fn membership(self, memberships: &str) -> Option<&str> {
        memberships.lines().find_map(|line| {
            let (number, rest) = line.split_once(':')?;
            let (controllers, group) = rest.split_once(':')?;
            let is_it = match self {
                Self::Unified => number == "0" && controllers.is_empty(),
                Self::Legacy(controller) => controllers.split(',').any(|word| word == controller),
            };
            is_it.then_some(group)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEMD: &str = "\
22 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw
34 23 0:29 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate";
    const HYBRID: &str = "\
30 22 0:25 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
31 22 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 22 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
40 22 0:35 /docker/4f2a /sys/fs/cgroup/unified ro,relatime - cgroup2 cgroup2 rw";

    /// A machine with these files.
    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Tree) {
        let root = tempfile::tempdir().expect("a folder");
        for (file, text) in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let tree = Tree::at(root.path());
        (root, tree)
    }

    #[test]
    fn each_hierarchy_is_found_among_the_others() {
        let mount = |hierarchy: Hierarchy, text| hierarchy.mount(text);
        let found = |top: &str, folder: &str| Some((top.to_owned(), folder.to_owned()));
        assert_eq!(mount(Hierarchy::Unified, SYSTEMD), found("/", "/sys/fs/cgroup"));
        assert_eq!(mount(Hierarchy::Unified, HYBRID), found("/docker/4f2a", "/sys/fs/cgroup/unified"));
        assert_eq!(mount(Hierarchy::Legacy("cpu"), HYBRID), found("/", "/sys/fs/cgroup/cpu,cpuacct"));
        assert_eq!(mount(Hierarchy::Legacy("cpu"), SYSTEMD), None);
        let lines = "12:cpuset:/a\n4:cpu,cpuacct:/b\n0::/c\n";
        assert_eq!(Hierarchy::Legacy("cpu").membership(lines), Some("/b"));
        assert_eq!(Hierarchy::Unified.membership(lines), Some("/c"));
        assert_eq!(Hierarchy::Legacy("pids").membership(lines), None);
    }

    #[test]
    fn the_tightest_limit_on_the_way_up_counts() {
        let (_root, tree) = machine(&[
            ("proc/self/mountinfo", SYSTEMD),
            ("proc/self/cgroup", "0::/user.slice/session-3.scope\n"),
            ("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 5\nnr_throttled 2\nthrottled_usec 70\n"),
            ("sys/fs/cgroup/user.slice/memory.max", "max\n"),
            ("sys/fs/cgroup/user.slice/session-3.scope/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/user.slice/session-3.scope/cpu.stat", "throttled_usec 0\n"),
            ("sys/fs/cgroup/user.slice/session-3.scope/memory.max", "536870912\n"),
        ]);
        assert_eq!(limits_in(&tree), Limits { cpus: Some(1.5), memory_bytes: Some(536_870_912) });
        let throttling = Throttling { quota_cpus: 1.5, throttled_ns: Nanos(70_000) };
        assert_eq!(throttling_in(&tree, "self"), Some(throttling));
        let (_root, bare) = machine(&[("proc/self/mountinfo", SYSTEMD)]);
        assert_eq!((limits_in(&bare), throttling_in(&bare, "self")), (Limits::default(), None));
    }

    #[test]
    fn quotas_of_version_1_bind_as_well() {
        let (_root, tree) = machine(&[
            ("proc/self/mountinfo", HYBRID),
            ("proc/self/cgroup", "4:cpu,cpuacct:/box/own\n5:memory:/box\n0::/docker/4f2a\n"),
            ("proc/7/cgroup", "4:cpu,cpuacct:/\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/box/cpu.stat", "nr_periods 3\nnr_throttled 2\nthrottled_time 8100\n"),
            ("sys/fs/cgroup/cpu,cpuacct/box/own/cpu.cfs_quota_us", "200000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/box/own/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/box/own/cpu.stat", "nr_periods 3\nthrottled_time 900\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "1048576\n"),
        ]);
        assert_eq!(limits_in(&tree), Limits { cpus: Some(0.5), memory_bytes: Some(1 << 20) });
        let throttling = Throttling { quota_cpus: 0.5, throttled_ns: Nanos(9000) };
        assert_eq!(throttling_in(&tree, "self"), Some(throttling));
        assert_eq!(throttling_in(&tree, "7"), None, "no quota at the top");
        let before = Throttling { throttled_ns: Nanos(2000), ..throttling };
        assert_eq!(throttling.since(Some(before)).throttled_ns, Nanos(7000));
        assert_eq!(throttling.since(None), Throttled { quota_cpus: 0.5, throttled_ns: Nanos(9000) });
    }
}
