//! A server that may run where the generator does.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::cpuset::CpuSet;
use crate::running::Running;

/// A server that somebody else runs and that may run on the generator's CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Neighbour {
    /// The name of its program.
    pub program: String,
    /// Its first process.
    pub pid: u32,
    /// Its processes, all together.
    pub processes: u32,
    /// The CPUs that both may use, as a kernel list.
    pub shared_cpus: String,
    /// The other CPUs on which it may run; empty where there are none.
    pub other_cpus: String,
}

impl Neighbour {
    /// The server, if it is known to share CPUs with a generator that runs on these.
    pub fn of(running: &Running, generator: &CpuSet) -> Option<Self> {
        let Running::Found { program, pids, processes, cpus } = running else { return None };
        let cpus: CpuSet = cpus.parse().ok()?;
        let shared = cpus.intersection(generator);
        (!shared.is_empty()).then(|| Self {
            program: program.clone(),
            pid: pids.first().copied().unwrap_or_default(),
            processes: *processes,
            shared_cpus: shared.to_string(),
            other_cpus: cpus.difference(generator).to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_is_a_server_on_the_generators_cpus() {
        let on = |cpus: &str| {
            let (program, cpus) = ("node".to_owned(), cpus.to_owned());
            let running = Running::Found { program, pids: vec![7], processes: 1, cpus };
            Neighbour::of(&running, &"0,2".parse().expect("CPUs"))
        };
        let of = |neighbour: Option<Neighbour>| neighbour.map(|n| (n.pid, n.shared_cpus, n.other_cpus));
        assert_eq!(of(on("0-1")), Some((7, "0".to_owned(), "1".to_owned())));
        assert_eq!(of(on("2")), Some((7, "2".to_owned(), String::new())));
        assert_eq!(of(on("1,3")), None);
        let unseen = Running::Unseen { why: "it hides".to_owned() };
        assert_eq!(Neighbour::of(&unseen, &"0".parse().expect("CPUs")), None);
    }
}
