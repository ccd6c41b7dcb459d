//! How many processes there are below this one, asked often and counted seldom: a count reads a file of every process on
//! the machine, and must not disturb what is measured.

use super::ending::living;

/// Questions after which it is counted in any case.
const PATIENCE: u32 = 50;

/// A bound on the number of processes below.
pub(super) struct Census {
    allowed: u32,
    /// Tasks on the whole machine from which on it is counted again.
    count_from: u64,
    /// Questions since the last count.
    asked: u32,
}

impl Census {
    pub(super) fn new(allowed: u32) -> Self {
        Self { allowed, count_from: 0, asked: 0 }
    }

    /// How many processes there are, if more than allowed.
    pub(super) fn excess(&mut self) -> Option<usize> {
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
        (processes as u64 > u64::from(self.allowed)).then_some(processes)
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
        assert_eq!(Census::new(1 << 20).excess(), None);
        let sleep = |_| std::process::Command::new("sleep").arg("1000").spawn().expect("sleep");
        let children = [0; 2].map(sleep);
        assert!(Census::new(0).excess().is_some_and(|processes| processes >= 1));
        for mut child in children {
            child.kill().expect("killed");
            child.wait().expect("reaped");
        }
    }
}
