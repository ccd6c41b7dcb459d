//! The CPUs that serve and those that generate load: pure functions over a [`Topology`].
//!
//! The rules, and why:
//! - Whole physical cores: SMT siblings share execution units, so a generator on the sibling would slow the
//!   server.
//! - One NUMA node for both, if it has two cores: across nodes a loopback byte is read from remote memory,
//!   and which one depends on where the kernel happened to allocate it.
//! - One kind of core, the fast kind, if there are two of it.
//! - Half and half; the odd core goes to the generator, which must not be the limit
//!   (docs/method/limits.md#headroom).
//! - CPU 0 takes most interrupts and kernel housekeeping. With eight cores or more its core is left to the
//!   system; with fewer it goes to the generator, where the health rules notice a disturbance, and never to
//!   the server, where it would silently become part of the result.
//! - A server that was running already stays where it is: the generator goes to whole cores that it does not use, if there
//!   are such. One that may run on all CPUs cannot be kept off the generator's, and that is said.
//! - A database, or the upstream of proxies, where one is needed, gets cores that neither uses, and where both are needed each has
//!   its own; else the generator's last core, if it has two or more; else it runs beside the generator. The server's CPUs stay the
//!   server's: what it shares would look like its own work, while a generator that has to wait is noticed, and can be told apart.

use assay_model::host::Isolation as Record;

use crate::cpuset::CpuSet;
use crate::topology::{Core, Topology};

/// From this many usable cores on, the core of CPU 0 is left to the system: an eighth of the machine at most.
const CORES_TO_SPARE_ONE: usize = 8;

/// The CPUs of server and generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// CPUs of the server under test.
    pub server: CpuSet,
    /// CPUs of the load generator.
    pub generator: CpuSet,
    /// How far the two are apart.
    pub separation: Separation,
    /// The separation in a sentence, with whatever spoils it.
    pub statement: String,
}

/// Where a companion of servers runs beside these and the generator: a database, or the upstream of proxies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompanionPlace {
    /// CPUs of the companion.
    pub cpus: CpuSet,
    /// Whether the generator has the same.
    pub beside_generator: bool,
}

/// What server and generator share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Separation {
    /// One CPU for both: throughput says nothing about the server's capacity.
    None,
    /// Different CPUs, some of them SMT siblings of one core.
    Cpus,
    /// Different physical cores.
    Cores,
}

/// The CPUs that the user asked for cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IsolationError {
    /// A set of CPUs is empty.
    #[error("no CPU for the {who}: name at least one, for example 0")]
    Empty {
        /// "server" or "generator".
        who: &'static str,
    },
    /// A CPU is in both sets.
    #[error("CPUs {shared} are given to both server and generator: give each its own, or both all of them")]
    Overlap {
        /// The CPUs in both.
        shared: CpuSet,
    },
    /// A CPU is offline or outside what this process may use.
    #[error("CPUs {absent} for the {who} are not available here: this process may use {allowed}")]
    NotAllowed {
        /// "server" or "generator".
        who: &'static str,
        /// The CPUs that cannot be had.
        absent: CpuSet,
        /// What this process may use.
        allowed: CpuSet,
    },
}

/// Divides `allowed` between server and generator by the rules at the top of this file. With one CPU both
/// share it ([`Separation::None`]); the caller decides whether to go on.
pub fn split(allowed: &CpuSet, topology: &Topology) -> Isolation {
    if allowed.len() < 2 {
        return shared(allowed, "the only one");
    }
    let (cores, mut notes) = usable_cores(topology.cores(allowed));
    let (server, generator) = match cores.as_slice() {
        [core] => halves(core),
        _ => deal(cores, &mut notes),
    };
    describe(server, generator, topology, notes)
}

/// The CPUs that the user named, checked.
///
/// # Errors
/// When a set is empty, the sets overlap, or a CPU is not in `allowed`.
pub fn explicit(
    server: CpuSet,
    generator: CpuSet,
    allowed: &CpuSet,
    topology: &Topology,
) -> Result<Isolation, IsolationError> {
    for (who, cpus) in [("server", &server), ("generator", &generator)] {
        let absent = cpus.difference(allowed);
        if cpus.is_empty() {
            return Err(IsolationError::Empty { who });
        }
        if !absent.is_empty() {
            return Err(IsolationError::NotAllowed { who, absent, allowed: allowed.clone() });
        }
    }
    if !server.is_disjoint(&generator) {
        if server == generator {
            return Ok(shared(&server, "as asked for"));
        }
        return Err(IsolationError::Overlap { shared: server.intersection(&generator) });
    }
    Ok(describe(server, generator, topology, vec!["as asked for".into()]))
}

/// Places the generator beside servers that were `running` already and may use these CPUs.
pub fn beside(running: &CpuSet, allowed: &CpuSet, topology: &Topology) -> Isolation {
    let theirs = running.intersection(allowed);
    let apart = allowed.difference(&topology.with_siblings(&theirs));
    let free = if apart.is_empty() { allowed.difference(&theirs) } else { apart };
    if theirs.is_empty() {
        return split(allowed, topology);
    }
    if free.is_empty() {
        let usual = split(allowed, topology);
        let statement = format!(
            "the server was running already and may use CPUs {running}, the generator's CPUs {} among them: nothing keeps \
             it off them; pin it to {} (taskset -acp) to measure it alone",
            usual.generator, usual.server
        );
        return Isolation { statement, ..usual };
    }
    describe(theirs, free, topology, vec!["the server was running there already".into()])
}

impl Isolation {
    /// Makes room for companions, such as "the database", by the rules at the top of this file: each has CPUs of its own where there
    /// are enough, and the generator may have a core less for each. Their places are in the order of `names`.
    pub fn with_companions(
        self,
        names: &[&str],
        allowed: &CpuSet,
        topology: &Topology,
    ) -> (Self, Vec<CompanionPlace>) {
        let used = topology.with_siblings(&self.server.union(&self.generator));
        // CPU 0 was left to the system on purpose.
        let unused = allowed.difference(&used).difference(&topology.with_siblings(&CpuSet::from_iter([0])));
        let mut unused = topology.cores(&unused);
        let (mut isolation, mut notes, mut lent) = (self, Vec::new(), Vec::new());
        for (done, name) in names.iter().enumerate() {
            let share = unused.len().div_ceil(names.len() - done);
            let own = unused.drain(..share).fold(CpuSet::new(), |all, core| all.union(&core.cpus));
            lent.push(if own.is_empty() { isolation.lend(name, topology, &mut notes) } else { Some(own) });
        }
        let beside = || CompanionPlace { cpus: isolation.generator.clone(), beside_generator: true };
        let own = |cpus| CompanionPlace { cpus, beside_generator: false };
        let places = lent.into_iter().map(|cpus| cpus.map_or_else(beside, own)).collect();
        (isolation, places)
    }

    /// Takes the generator's last core for a companion, if it has two or more, and notes that.
    fn lend(&mut self, name: &str, topology: &Topology, notes: &mut Vec<String>) -> Option<CpuSet> {
        let cores = topology.cores(&self.generator);
        let [rest @ .., last] = cores.as_slice() else { return None };
        if self.separation != Separation::Cores || rest.is_empty() {
            return None;
        }
        let generator = rest.iter().flat_map(|core| core.cpus.iter()).collect();
        notes.push(format!("CPUs {} left to {name}", last.cpus));
        *self = describe(self.server.clone(), generator, topology, notes.clone());
        Some(last.cpus.clone())
    }

    /// The form that is kept in a run's record.
    pub fn record(&self) -> Record {
        Record {
            server_cpus: self.server.to_string(),
            generator_cpus: self.generator.to_string(),
            statement: self.statement.clone(),
        }
    }
}

fn shared(cpus: &CpuSet, why: &str) -> Isolation {
    let statement = format!(
        "server and generator share CPU {cpus}, {why}: throughput is what both did together and says \
         nothing about the server's capacity; use a machine with two CPUs or more"
    );
    Isolation { server: cpus.clone(), generator: cpus.clone(), separation: Separation::None, statement }
}

/// The cores to work on, of one kind and one node where two of such exist, with a note for each restriction.
fn usable_cores(mut cores: Vec<Core>) -> (Vec<Core>, Vec<String>) {
    let mut notes = Vec::new();
    let fast = cores.iter().filter(|core| !core.efficiency).count();
    if (2..cores.len()).contains(&fast) {
        cores.retain(|core| !core.efficiency);
        notes.push("the efficiency cores stay unused".into());
    }
    let on = |node: u32| cores.iter().filter(|core| core.node == node).count();
    // The node with most cores; of equals the last, because CPU 0 and its interrupts are on the first.
    let node = cores.iter().map(|core| core.node).max_by_key(|&node| (on(node), node)).unwrap_or(0);
    if (2..cores.len()).contains(&on(node)) {
        cores.retain(|core| core.node == node);
        notes.push(format!("all on NUMA node {node}, the other nodes stay unused"));
    }
    (cores, notes)
}

/// One core only: the lower half of its SMT siblings generates, the upper half serves.
fn halves(core: &Core) -> (CpuSet, CpuSet) {
    let generator: CpuSet = core.cpus.iter().take(core.cpus.len().div_ceil(2)).collect();
    (core.cpus.difference(&generator), generator)
}

/// Two cores or more: the lower half generates, the upper half serves.
fn deal(mut cores: Vec<Core>, notes: &mut Vec<String>) -> (CpuSet, CpuSet) {
    if cores.len() >= CORES_TO_SPARE_ONE && cores[0].cpus.contains(0) {
        let spared = cores.remove(0);
        notes.push(format!("CPU {} left to interrupts and the system", spared.cpus));
    }
    let upper = cores.split_off(cores.len().div_ceil(2));
    let join = |cores: &[Core]| cores.iter().flat_map(|core| core.cpus.iter()).collect::<CpuSet>();
    let (generator, server) = (join(&cores), join(&upper));
    // Cores of which only some threads are allowed are of unequal size; that the generator is no smaller
    // comes first.
    if generator.len() < server.len() { (generator, server) } else { (server, generator) }
}

fn describe(server: CpuSet, generator: CpuSet, topology: &Topology, notes: Vec<String>) -> Isolation {
    let touching = topology.with_siblings(&server).intersection(&generator);
    let separation = if touching.is_empty() { Separation::Cores } else { Separation::Cpus };
    let apart = match separation {
        Separation::Cores => "no physical core shared".into(),
        _ => format!("CPUs {touching} share physical cores with the server, so each slows the other"),
    };
    let mut parts = vec![format!("server on CPUs {server}, generator on CPUs {generator}"), apart];
    parts.extend(notes);
    if generator.len() < server.len() {
        parts.push("the generator has fewer CPUs than the server and may be the limit".into());
    }
    let nodes = |cpus: &CpuSet| topology.node_count(cpus);
    if nodes(&server.union(&generator)) > 1 {
        parts.push("more than one NUMA node is in use, so memory may be remote".into());
    }
    Isolation { separation, statement: parts.join("; "), server, generator }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::samples::{hybrid, machine};

    fn set(list: &str) -> CpuSet {
        list.parse().expect(list)
    }

    fn split_all(topology: &Topology) -> (String, String, Isolation) {
        let isolation = split(&topology.online(), topology);
        (isolation.server.to_string(), isolation.generator.to_string(), isolation)
    }

    #[test]
    fn one_cpu_is_shared_and_said_to_be_void_as_capacity() {
        let (server, generator, isolation) = split_all(&machine(1, 1, 1));
        assert_eq!((server.as_str(), generator.as_str()), ("0", "0"));
        assert_eq!(isolation.separation, Separation::None);
        assert!(isolation.statement.contains("says nothing about the server's capacity"));
    }

    #[test]
    fn small_machines() {
        for (topology, server, generator, separation) in [
            (machine(1, 2, 1), "1", "0", Separation::Cores),
            (machine(1, 1, 2), "1", "0", Separation::Cpus),
            (machine(1, 3, 1), "2", "0-1", Separation::Cores),
            (machine(1, 2, 2), "1,3", "0,2", Separation::Cores),
            (machine(1, 4, 2), "2-3,6-7", "0-1,4-5", Separation::Cores),
            (machine(2, 1, 1), "1", "0", Separation::Cores),
        ] {
            let (found_server, found_generator, isolation) = split_all(&topology);
            assert_eq!((found_server.as_str(), found_generator.as_str()), (server, generator));
            assert_eq!(isolation.separation, separation, "{}", isolation.statement);
        }
        assert!(split_all(&machine(2, 1, 1)).2.statement.contains("more than one NUMA node"));
    }

    #[test]
    fn big_machines_keep_to_one_node_and_spare_the_core_of_cpu_0() {
        let (server, generator, isolation) = split_all(&machine(1, 100, 2));
        assert_eq!((server.as_str(), generator.as_str()), ("51-99,151-199", "1-50,101-150"));
        assert!(isolation.statement.contains("CPU 0,100 left"), "{}", isolation.statement);

        let (server, generator, isolation) = split_all(&machine(2, 32, 2));
        assert_eq!((server.as_str(), generator.as_str()), ("48-63,112-127", "32-47,96-111"));
        assert!(isolation.statement.contains("NUMA node 1"), "{}", isolation.statement);
    }

    #[test]
    fn a_hybrid_machine_uses_its_fast_cores() {
        let (server, generator, isolation) = split_all(&hybrid(6, 8));
        assert_eq!((server.as_str(), generator.as_str()), ("6-11", "0-5"));
        assert!(isolation.statement.contains("efficiency cores stay unused"));
        // With a single fast core there are not two to compare on; all are used.
        let (server, generator, _) = split_all(&hybrid(1, 8));
        assert_eq!((server.as_str(), generator.as_str()), ("6-9", "2-5"));
    }

    #[test]
    fn only_allowed_cpus_are_dealt_out() {
        let isolation = split(&set("0,2,6"), &machine(1, 4, 2));
        assert_eq!((isolation.server, isolation.generator), (set("0"), set("2,6")));
    }

    #[test]
    fn the_generator_leaves_a_running_servers_cpus_alone() {
        for (topology, running, server, generator) in [
            (machine(1, 2, 1), "0", "0", "1"),
            (machine(1, 2, 1), "1", "1", "0"),
            (machine(1, 4, 2), "1,5", "1,5", "0,2-4,6-7"),
            // Of its own core the sibling is left alone as well, where there is another core.
            (machine(1, 2, 2), "1", "1", "0,2"),
            (machine(1, 1, 2), "0", "0", "1"),
        ] {
            let isolation = beside(&set(running), &topology.online(), &topology);
            assert_eq!((isolation.server, isolation.generator), (set(server), set(generator)), "{running}");
            assert!(isolation.statement.contains("was running there already"));
        }
        let topology = machine(1, 2, 1);
        let anywhere = beside(&topology.online(), &topology.online(), &topology);
        assert_eq!((anywhere.server, anywhere.generator), (set("1"), set("0")));
        assert!(anywhere.statement.contains("nothing keeps it off"), "{}", anywhere.statement);
        // Outside of what we may use it disturbs nobody, and nobody says where it is.
        let split = split(&topology.online(), &topology);
        assert_eq!(beside(&set("7"), &topology.online(), &topology), split);
    }

    #[test]
    fn a_database_never_takes_the_servers_cpus() {
        for (topology, generator, database, beside) in [
            (machine(1, 1, 1), "0", "0", true),
            (machine(1, 2, 1), "0", "0", true),
            (machine(1, 3, 1), "0", "1", false),
            (machine(1, 4, 2), "0,4", "1,5", false),
            (machine(1, 16, 1), "1-7", "8", false),
            (machine(2, 4, 1), "4-5", "1-3", false),
        ] {
            let split = split(&topology.online(), &topology);
            let server = split.server.clone();
            let (isolation, places) = split.with_companions(&["the database"], &topology.online(), &topology);
            let [place] = places.as_slice() else { panic!("{places:?}") };
            let found = (isolation.generator.to_string(), place.cpus.to_string(), place.beside_generator);
            assert_eq!(found, (generator.to_owned(), database.to_owned(), beside));
            assert_eq!(isolation.server, server);
            assert!(beside || place.cpus.is_disjoint(&isolation.generator.union(&server)));
        }
    }

    /// A database beside the upstream of proxies, as a run of both kinds of contenders needs them.
    #[test]
    fn two_companions_share_no_cpu_while_there_are_enough() {
        for (topology, generator, places) in [
            (machine(1, 2, 1), "0", ["0", "0"]),
            // One core can be lent; the second companion runs beside the generator.
            (machine(1, 3, 1), "0", ["1", "0"]),
            (machine(1, 6, 1), "0", ["2", "1"]),
            (machine(1, 16, 1), "1-6", ["8", "7"]),
            (machine(2, 4, 1), "4-5", ["1-2", "3"]),
        ] {
            let split = split(&topology.online(), &topology);
            let server = split.server.clone();
            let names = ["the database", "the upstream"];
            let (isolation, found) = split.with_companions(&names, &topology.online(), &topology);
            let cpus = [&found[0], &found[1]].map(|place| place.cpus.to_string());
            assert_eq!(
                (isolation.generator.to_string(), cpus),
                (generator.to_owned(), places.map(str::to_owned))
            );
            for place in &found {
                assert_eq!(place.beside_generator, place.cpus == isolation.generator);
                assert!(place.cpus.is_disjoint(&server));
            }
        }
        let topology = machine(1, 6, 1);
        let names = ["the database", "the upstream"];
        let (isolation, _) =
            split(&topology.online(), &topology).with_companions(&names, &topology.online(), &topology);
        for note in ["CPUs 2 left to the database", "CPUs 1 left to the upstream"] {
            assert!(isolation.statement.contains(note), "{}", isolation.statement);
        }
    }

    #[test]
    fn every_split_is_disjoint_and_the_generator_never_smaller() {
        for packages in 1..=2 {
            for cores in 1..=20 {
                for threads in 1..=2 {
                    let topology = machine(packages, cores, threads);
                    let isolation = split(&topology.online(), &topology);
                    if packages * cores * threads > 1 {
                        assert!(isolation.server.is_disjoint(&isolation.generator));
                    }
                    assert!(
                        !isolation.server.is_empty() && isolation.server.len() <= isolation.generator.len()
                    );
                    assert!(isolation.server.union(&isolation.generator).is_subset(&topology.online()));
                    if packages * cores > 1 {
                        assert_eq!(isolation.separation, Separation::Cores);
                    }
                }
            }
        }
    }

    #[test]
    fn what_the_user_names_is_checked() {
        let topology = machine(1, 4, 2);
        let ask = |server, generator| explicit(set(server), set(generator), &topology.online(), &topology);
        let all = ask("0-1", "0-1").expect("shared when asked for");
        assert_eq!(all.separation, Separation::None);
        assert!(all.statement.contains("share CPU 0-1, as asked for"), "{}", all.statement);
        assert_eq!(ask("0-2", "2-3"), Err(IsolationError::Overlap { shared: set("2") }));
        assert!(matches!(ask("0", "9"), Err(IsolationError::NotAllowed { who: "generator", .. })));
        let empty = explicit(CpuSet::new(), set("0"), &topology.online(), &topology);
        assert_eq!(empty, Err(IsolationError::Empty { who: "server" }));
        let siblings = ask("0", "4").expect("disjoint CPUs");
        assert_eq!(siblings.separation, Separation::Cpus);
        let lopsided = ask("0-2", "3").expect("allowed when asked for");
        assert!(lopsided.statement.contains("may be the limit"), "{}", lopsided.statement);
        assert_eq!(lopsided.record().server_cpus, "0-2");
    }
}
