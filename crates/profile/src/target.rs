//! The processes whose time is looked at.

use std::collections::BTreeSet;

use assay_host::cpuset::{CpuSet, allowed, pin_current_thread};
use assay_host::process::scan_trees;

/// Most threads that are looked at one by one.
const MAX_THREADS: usize = 1024;

/// Some processes, and where they run.
#[derive(Clone, Debug)]
pub struct Target {
    /// The first processes; all below them belong to it.
    pub roots: Vec<u32>,
    /// The CPUs that they have to themselves; absent where they run anywhere.
    pub cpus: Option<CpuSet>,
}

impl Target {
    /// Keeps the calling thread off the CPUs of the server, as far as there are others: it would take time there, and what the server has
    /// in their caches, more so while the server leaves them idle.
    pub(crate) fn keep_clear(&self) {
        let own = self.cpus.as_ref().map(|cpus| allowed().difference(cpus));
        if let Some(others) = own.filter(|others| !others.is_empty()) {
            // Where that is refused, the profile is as good as it can be.
            let _ = pin_current_thread(&others);
        }
    }

    /// The processes that live now.
    pub(crate) fn processes(&self) -> BTreeSet<u32> {
        scan_trees(&self.roots).into_iter().map(|process| process.pid).collect()
    }
}

/// The threads that some processes have now, each with its process.
pub(crate) fn threads(processes: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let of = |pid: &u32| threads_of(*pid).into_iter().map(|tid| (*pid, tid)).collect::<Vec<_>>();
    processes.iter().flat_map(of).take(MAX_THREADS).collect()
}

fn threads_of(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// The name of a thread; its number where it has ended.
pub(crate) fn name_of(pid: u32, tid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm"));
    name.map_or_else(|_| tid.to_string(), |name| name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_host::cpuset::of_thread;

    #[test]
    fn all_below_a_root_belong_to_it_and_what_is_gone_does_not() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let target = Target { roots: vec![own], cpus: None };
        let seen = (target.processes(), threads(&target.processes()));
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert!(seen.0.contains(&own) && seen.0.contains(&child.id()));
        assert!(seen.1.contains(&(child.id(), child.id())));
        let gone = Target { roots: vec![child.id()], cpus: None };
        assert!(gone.processes().is_empty() && threads(&[child.id()].into()).is_empty());
        assert_eq!(name_of(child.id(), child.id()), child.id().to_string());
    }

    #[test]
    fn who_looks_leaves_the_servers_cpus_where_there_are_others() {
        let all = allowed();
        let first: CpuSet = all.first().into_iter().collect();
        let kept = |cpus: CpuSet| {
            std::thread::spawn(move || {
                Target { roots: Vec::new(), cpus: Some(cpus) }.keep_clear();
                // What the process may use is its main thread's.
                std::fs::read_link("/proc/thread-self")
                    .ok()
                    .and_then(|own| of_thread(own.file_name()?.to_str()?.parse().ok()?))
            })
            .join()
            .expect("a thread")
        };
        let others = all.difference(&first);
        assert_eq!(kept(first), Some(if others.is_empty() { all.clone() } else { others }));
        assert_eq!(kept(all.clone()), Some(all), "nowhere else to go");
    }
}
