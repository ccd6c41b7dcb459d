//! How many processes there are below a guard. A run of thirteen servers has twice as many guards, which live beside what is measured,
//! so a count must cost next to nothing.

use std::time::Duration;

use assay_host::group::Group;

use super::ending::living;

/// Time between two checks where the kernel bounds the tasks as well.
const SELDOM: Duration = Duration::from_secs(1);
/// Time between two checks where nobody else does: a few thousand more processes are made meanwhile at most.
const OFTEN: Duration = Duration::from_millis(100);
/// Checks after which processes are counted in any case, where a count reads a file of every process on the machine: a minute.
const PATIENCE: u32 = 600;

/// A bound on the number of processes below.
pub(super) struct Census<'g> {
    allowed: u32,
    /// Holds them all, and bounds their tasks.
    group: Option<&'g Group>,
    /// Tasks on the whole machine from which on it is counted again.
    count_from: u64,
    /// Questions since the last count.
    asked: u32,
}

impl<'g> Census<'g> {
    /// A census of the members of `group`, where the kernel keeps it from growing without end; else of all below.
    pub(super) fn new(allowed: u32, group: Option<&'g Group>) -> Self {
        Self { allowed, group: group.filter(|group| group.is_bounded()), count_from: 0, asked: 0 }
    }

    /// How often it should be asked.
    pub(super) fn pace(&self) -> Duration {
        if self.group.is_some() { SELDOM } else { OFTEN }
    }

    /// How many processes there are, if more than allowed.
    pub(super) fn excess(&mut self) -> Option<usize> {
        let processes = match self.group {
            Some(group) => group.members().len(),
            None => self.scanned()?,
        };
        (processes as u64 > u64::from(self.allowed)).then_some(processes)
    }

    /// How many are below, unless the whole machine has too few tasks for an excess.
    fn scanned(&mut self) -> Option<usize> {
        let on_machine = std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| tasks(&text));
        self.asked += 1;
        if self.asked < PATIENCE && on_machine.is_some_and(|tasks| tasks < self.count_from) {
            return None;
        }
        self.asked = 0;
        // The supervisor is none of what it keeps.
        let processes = living().len().saturating_sub(1);
        let room = u64::from(self.allowed).saturating_sub(processes as u64);
        // Half of what may be added, since others may end meanwhile.
        self.count_from = on_machine.unwrap_or_default() + room / 2 + 1;
        Some(processes)
    }
}

/// Tasks on the machine: behind the slash of `proc_loadavg(5)`.
fn tasks(loadavg: &str) -> Option<u64> {
    loadavg.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tasks_of_the_machine_are_behind_the_slash() {
        assert_eq!(tasks("0.20 0.18 0.12 1/80 11206\n"), Some(80));
        assert_eq!(tasks("0.20 0.18"), None);
        assert!(tasks(&std::fs::read_to_string("/proc/loadavg").expect("loadavg")).is_some_and(|n| n > 0));
    }

    #[test]
    fn only_more_than_allowed_is_an_excess() {
        assert_eq!(Census::new(1 << 20, None).excess(), None);
        let sleep = |_| std::process::Command::new("sleep").arg("1000").spawn().expect("sleep");
        let children = [0; 2].map(sleep);
        assert!(Census::new(0, None).excess().is_some_and(|processes| processes >= 1));
        for mut child in children {
            child.kill().expect("killed");
            child.wait().expect("reaped");
        }
    }

    #[test]
    fn a_bounded_group_is_counted_by_its_members() {
        let Some(group) = Group::create(64).filter(Group::is_bounded) else {
            return assay_skip::skip("cgroup", "no control group that bounds tasks can be made here");
        };
        let mut child = std::process::Command::new("sh");
        child.args(["-c", "echo $$ > \"$0\" && exec sleep 1000"]);
        let joined = group.folders().iter().find(|folder| folder.join("pids.max").exists()).expect("bounded");
        let mut child = child.arg(joined.join("cgroup.procs")).spawn().expect("sh");
        let patience = std::time::Instant::now() + Duration::from_secs(20);
        while group.members() != [child.id()] && std::time::Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(Census::new(1, Some(&group)).excess(), None);
        assert_eq!(Census::new(0, Some(&group)).excess(), Some(1));
        assert!(Census::new(0, Some(&group)).pace() > Census::new(0, None).pace());
        child.kill().expect("killed");
        child.wait().expect("reaped");
        while !group.members().is_empty() && std::time::Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(10));
        }
        group.remove();
        assert!(!joined.exists());
    }
}
