//! The CPUs that share a core, a package and a memory node.
//!
//! Source: `Documentation/ABI/stable/sysfs-devices-system-cpu` and `-node`. Where `/sys` says nothing (some
//! containers, some virtual machines) every CPU counts as a core of its own on one node.

use std::collections::{BTreeMap, BTreeSet};

use crate::cpuset::{self, CpuSet};
use crate::text::Tree;

/// One logical CPU and where it sits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Logical number.
    pub id: u32,
    /// Physical package (socket).
    pub package: u32,
    /// Lowest CPU number of its physical core. The kernel's `core_id` is not used: it repeats in each package
    /// and die.
    pub core: u32,
    /// NUMA node.
    pub node: u32,
    /// Whether it is one of the slower cores of a machine with two kinds (Intel's E-cores, Arm's LITTLE
    /// ones).
    pub efficiency: bool,
}

/// The online CPUs, ascending by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The CPUs.
    pub cpus: Vec<Cpu>,
}

/// A physical core, as far as some set of CPUs covers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Core {
    pub(crate) node: u32,
    pub(crate) efficiency: bool,
    pub(crate) cpus: CpuSet,
}

impl Topology {
    /// The topology of this machine.
    pub fn read() -> Self {
        Self::read_from(&Tree::live())
    }

    pub(crate) fn read_from(tree: &Tree) -> Self {
        let online = tree.parse::<CpuSet>("sys/devices/system/cpu/online").unwrap_or_else(cpuset::allowed);
        let nodes = nodes(tree);
        let slow = efficiency_cpus(tree, &online);
        let cpu = |id| {
            let topology = format!("sys/devices/system/cpu/cpu{id}/topology");
            // `core_cpus_list` is the name since Linux 5.3, `thread_siblings_list` the one before.
            let siblings = ["core_cpus_list", "thread_siblings_list"];
            let siblings =
                siblings.iter().find_map(|name| tree.parse::<CpuSet>(format!("{topology}/{name}")));
            Cpu {
                id,
                // Arm and some virtual machines write -1 where firmware does not tell.
                package: tree.parse(format!("{topology}/physical_package_id")).unwrap_or(0),
                core: siblings.and_then(|set| set.first()).unwrap_or(id),
                node: nodes.get(&id).copied().unwrap_or(0),
                efficiency: slow.contains(id),
            }
        };
        Self { cpus: online.iter().map(cpu).collect() }
    }

    /// The online CPUs.
    pub fn online(&self) -> CpuSet {
        self.cpus.iter().map(|cpu| cpu.id).collect()
    }

    /// How many physical cores hold at least one of `cpus`.
    pub fn core_count(&self, cpus: &CpuSet) -> usize {
        self.cores(cpus).len()
    }

    /// How many NUMA nodes hold at least one of `cpus`.
    pub fn node_count(&self, cpus: &CpuSet) -> usize {
        self.cores(cpus).iter().map(|core| core.node).collect::<BTreeSet<_>>().len()
    }

    /// Whether two of `cpus` share a physical core.
    pub fn shares_cores(&self, cpus: &CpuSet) -> bool {
        self.cores(cpus).iter().any(|core| core.cpus.len() > 1)
    }

    /// All online CPUs of the cores that hold `cpus`: the set with its SMT siblings.
    pub fn with_siblings(&self, cpus: &CpuSet) -> CpuSet {
        let cores: BTreeSet<u32> =
            self.cpus.iter().filter(|cpu| cpus.contains(cpu.id)).map(|cpu| cpu.core).collect();
        self.cpus.iter().filter(|cpu| cores.contains(&cpu.core)).map(|cpu| cpu.id).collect()
    }

    /// The cores that hold `cpus`, by ascending first CPU. A CPU that the topology does not know is a core of
    /// its own.
    /// The two shares of `cpus` for two who are to be treated alike: as many whole cores each, a core's siblings with it,
    /// and the odd core for neither. One CPU, which cannot be divided, is the share of both.
    pub fn halves(&self, cpus: &CpuSet) -> [CpuSet; 2] {
        let cores: Vec<CpuSet> = self.cores(cpus).into_iter().map(|core| core.cpus).collect();
        let single = || cpus.iter().map(|cpu| CpuSet::from_iter([cpu])).collect();
        let parts: Vec<CpuSet> = if cores.len() < 2 { single() } else { cores };
        let each = parts.len() / 2;
        if each == 0 {
            return [cpus.clone(), cpus.clone()];
        }
        let share = |from: usize| parts[from..from + each].iter().flat_map(CpuSet::iter).collect();
        [share(0), share(each)]
    }

    pub(crate) fn cores(&self, cpus: &CpuSet) -> Vec<Core> {
        let mut cores: BTreeMap<u32, Core> = BTreeMap::new();
        for id in cpus {
            let known = self.cpus.iter().find(|cpu| cpu.id == id);
            let (key, node, efficiency) =
                known.map_or((id, 0, false), |cpu| (cpu.core, cpu.node, cpu.efficiency));
            let core = cores.entry(key).or_insert_with(|| Core { node, efficiency, cpus: CpuSet::new() });
            core.cpus.extend([id]);
        }
        cores.into_values().collect()
    }
}

/// NUMA node of each CPU.
fn nodes(tree: &Tree) -> BTreeMap<u32, u32> {
    let folder = "sys/devices/system/node";
    let numbered =
        tree.names(folder).into_iter().filter_map(|name| name.strip_prefix("node")?.parse::<u32>().ok());
    numbered
        .filter_map(|node| Some((node, tree.parse::<CpuSet>(format!("{folder}/node{node}/cpulist"))?)))
        .flat_map(|(node, cpus)| cpus.iter().map(|cpu| (cpu, node)).collect::<Vec<_>>())
        .collect()
}

/// The slower CPUs of a machine with two kinds: `cpu_atom` on Intel hybrids, else those whose `cpu_capacity`
/// (Arm, and x86 since Linux 6.12) is under three quarters of the best. Ordinary cores differ by a few per
/// cent: favoured ones turbo higher.
fn efficiency_cpus(tree: &Tree, online: &CpuSet) -> CpuSet {
    if let Some(atoms) = tree.parse::<CpuSet>("sys/devices/cpu_atom/cpus") {
        return atoms;
    }
    let capacity = |cpu| tree.parse::<u64>(format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"));
    let known: Vec<(u32, u64)> = online.iter().filter_map(|cpu| Some((cpu, capacity(cpu)?))).collect();
    let best = known.iter().map(|&(_, capacity)| capacity).max().unwrap_or(0);
    known.into_iter().filter(|&(_, capacity)| capacity * 4 < best * 3).map(|(cpu, _)| cpu).collect()
}

#[cfg(test)]
pub(crate) mod samples {
    use super::{Cpu, Topology};

    /// A machine of `packages` × `cores` per package × `threads` per core, numbered as Linux numbers x86: the
    /// first threads of all cores, then the second ones. One NUMA node for each package.
    pub(crate) fn machine(packages: u32, cores: u32, threads: u32) -> Topology {
        let total = packages * cores;
        let cpu = |id: u32| {
            let core = id % total;
            Cpu { id, package: core / cores, core, node: core / cores, efficiency: false }
        };
        Topology { cpus: (0..total * threads).map(cpu).collect() }
    }

    /// A hybrid laptop: `fast` cores of two threads each, numbered together, then `slow` cores of one.
    pub(crate) fn hybrid(fast: u32, slow: u32) -> Topology {
        let cpu = |id: u32| Cpu {
            id,
            package: 0,
            core: if id < 2 * fast { id - id % 2 } else { id },
            node: 0,
            efficiency: id >= 2 * fast,
        };
        Topology { cpus: (0..2 * fast + slow).map(cpu).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    }

    #[test]
    fn reads_a_two_socket_smt_machine() {
        let root = tempfile::tempdir().expect("a folder");
        write(root.path(), "sys/devices/system/cpu/online", "0-7\n");
        for (cpu, package, core, siblings) in [
            (0, 0, 0, "0,4"),
            (1, 0, 1, "1,5"),
            (2, 1, 0, "2,6"),
            (3, 1, 1, "3,7"),
            (4, 0, 0, "0,4"),
            (7, 1, 1, "3,7"),
        ] {
            let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            write(root.path(), &format!("{topology}/physical_package_id"), &format!("{package}\n"));
            write(root.path(), &format!("{topology}/core_id"), &format!("{core}\n"));
            write(root.path(), &format!("{topology}/core_cpus_list"), &format!("{siblings}\n"));
        }
        write(root.path(), "sys/devices/system/cpu/cpu6/topology/thread_siblings_list", "2,6\n");
        write(root.path(), "sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
        write(root.path(), "sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
        write(root.path(), "sys/devices/system/node/possible", "0-1\n");

        let topology = Topology::read_from(&Tree::at(root.path()));
        assert_eq!(topology.cpus[7], Cpu { id: 7, package: 1, core: 3, node: 1, efficiency: false });
        assert_eq!(topology.cpus[6].core, 2, "the name before Linux 5.3 is read too");
        assert_eq!(topology.cpus[5].core, 5, "a CPU without topology is a core of its own");
        let all = topology.online();
        assert_eq!((topology.core_count(&all), topology.node_count(&all)), (5, 2));
        assert_eq!(topology.with_siblings(&"3".parse().expect("a list")).to_string(), "3,7");
        assert!(topology.shares_cores(&all));
        assert!(!topology.shares_cores(&"0-3".parse().expect("a list")));
    }

    #[test]
    fn slow_cores_are_told_by_capacity_or_by_intel_name() {
        let root = tempfile::tempdir().expect("a folder");
        write(root.path(), "sys/devices/system/cpu/online", "0-3\n");
        for (cpu, capacity) in [(0, 446), (1, 446), (2, 1024), (3, 990)] {
            write(
                root.path(),
                &format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"),
                &capacity.to_string(),
            );
        }
        let slow = |topology: &Topology| -> Vec<u32> {
            topology.cpus.iter().filter(|cpu| cpu.efficiency).map(|cpu| cpu.id).collect()
        };
        assert_eq!(slow(&Topology::read_from(&Tree::at(root.path()))), [0, 1]);
        write(root.path(), "sys/devices/cpu_atom/cpus", "3\n");
        assert_eq!(slow(&Topology::read_from(&Tree::at(root.path()))), [3]);
    }

    #[test]
    fn without_sys_every_allowed_cpu_is_a_core() {
        let root = tempfile::tempdir().expect("a folder");
        let topology = Topology::read_from(&Tree::at(root.path()));
        let allowed = cpuset::allowed();
        assert_eq!(topology.online(), allowed);
        assert_eq!(topology.core_count(&allowed), allowed.len());
    }

    #[test]
    fn this_machine_knows_its_allowed_cpus() {
        let topology = Topology::read();
        assert!(cpuset::allowed().is_subset(&topology.online()));
        assert!(topology.core_count(&topology.online()) <= topology.online().len());
    }
}
