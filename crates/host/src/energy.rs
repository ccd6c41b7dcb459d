//! The energy that CPUs count: RAPL, which the kernel shows as powercap zones (kernel: power/powercap/powercap.rst), of Intel's
//! CPUs and, by the same driver, of AMD's.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use assay_model::energy::Energy;

use crate::text::Tree;

const ZONES: &str = "sys/class/powercap";
/// Zones of the one driver that every CPU with counters has. `intel-rapl-mmio` and `psys` would count the same packages again.
const PREFIX: &str = "intel-rapl:";
/// Power that no package or its memory takes, in microwatts. A span in which a counter at this power would come round whole might
/// hide a turn of it, and is not told.
const MOST_POWER_UW: u64 = 1_000_000_000;

/// Why energy is not told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// There is no counter.
    NoCounter,
    /// A counter may not be read: since CVE-2020-8694 the kernel shows it to root alone.
    NotAllowed(PathBuf),
}

/// The counters of all packages and their memory.
#[derive(Clone, Debug)]
pub struct EnergyCounters(Vec<Counter>);

#[derive(Clone, Debug)]
struct Counter {
    name: String,
    is_memory: bool,
    file: PathBuf,
    /// The greatest value, after which it begins again.
    range_uj: u64,
}

/// The counters at one moment, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    at: Instant,
    values_uj: Vec<u64>,
}

impl EnergyCounters {
    /// The counters of this machine.
    ///
    /// # Errors
    /// Why there are none.
    pub fn find() -> Result<Self, Absent> {
        Self::below(Path::new("/"))
    }

    /// The counters of the machine whose file system is below `root`.
    ///
    /// # Errors
    /// Why there are none.
    pub fn below(root: &Path) -> Result<Self, Absent> {
        let tree = Tree::at(root);
        let zones = tree.names(ZONES).into_iter().filter(|zone| zone.starts_with(PREFIX));
        let counters: Vec<Counter> = zones.filter_map(|zone| counter(&tree, &zone)).collect();
        // Without its packages a machine's memory is no energy of the machine.
        if counters.iter().all(|counter| counter.is_memory) {
            return Err(Absent::NoCounter);
        }
        match counters.iter().find(|counter| counter.value_uj().is_none()) {
            Some(shut) => Err(Absent::NotAllowed(shut.file.clone())),
            None => Ok(Self(counters)),
        }
    }

    /// Names of the counters, each once.
    pub fn names(&self) -> BTreeSet<String> {
        self.0.iter().map(|counter| counter.name.clone()).collect()
    }

    /// What they show now; `None` where one cannot be read any more.
    pub fn look(&self) -> Option<Look> {
        let values = self.0.iter().map(Counter::value_uj);
        Some(Look { at: Instant::now(), values_uj: values.collect::<Option<_>>()? })
    }

    /// What was taken between two looks; `None` where that took so long that a counter may have come round unseen.
    pub fn between(&self, earlier: &Look, later: &Look) -> Option<Energy> {
        let wall = later.at.saturating_duration_since(earlier.at);
        let mut energy = Energy { wall_ns: wall.into(), ..Energy::default() };
        for (counter, (before, after)) in self.0.iter().zip(earlier.values_uj.iter().zip(&later.values_uj)) {
            let most_uj = wall.as_secs_f64() * MOST_POWER_UW as f64;
            if most_uj >= counter.range_uj as f64 {
                return None;
            }
            let taken = after
                .checked_sub(*before)
                .unwrap_or_else(|| counter.range_uj.saturating_sub(*before).saturating_add(*after));
            match counter.is_memory {
                true => energy.memory_uj = Some(energy.memory_uj.unwrap_or(0).saturating_add(taken)),
                false => energy.packages_uj = energy.packages_uj.saturating_add(taken),
            }
        }
        Some(energy)
    }
}

impl Counter {
    fn value_uj(&self) -> Option<u64> {
        std::fs::read_to_string(&self.file).ok()?.trim().parse().ok()
    }
}

/// The counter of a zone, where that is a package or memory: what its cores take is in the package's.
fn counter(tree: &Tree, zone: &str) -> Option<Counter> {
    let folder = Path::new(ZONES).join(zone);
    let name = tree.read(folder.join("name"))?;
    let is_memory = name == "dram";
    let range_uj = tree.parse(folder.join("max_energy_range_uj"))?;
    let file = tree.path(folder.join("energy_uj"));
    (is_memory || name.starts_with("package")).then_some(Counter { name, is_memory, file, range_uj })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::units::Nanos;
    use std::time::Duration;

    /// A machine of two packages as sysfs shows it, whose counters a test moves.
    struct Machine(tempfile::TempDir);

    impl Machine {
        /// Zones by their folder, with their name, greatest value and counter.
        fn with(zones: &[(&str, &str, u64, u64)]) -> Self {
            let machine = Self(tempfile::tempdir().expect("a folder"));
            for (zone, name, range_uj, value_uj) in zones {
                machine.write(zone, "name", name);
                machine.write(zone, "max_energy_range_uj", &range_uj.to_string());
                machine.set(zone, *value_uj);
            }
            machine
        }

        fn write(&self, zone: &str, file: &str, text: &str) {
            let folder = self.0.path().join(ZONES).join(zone);
            std::fs::create_dir_all(&folder).expect("made");
            std::fs::write(folder.join(file), format!("{text}\n")).expect("written");
        }

        fn set(&self, zone: &str, value_uj: u64) {
            self.write(zone, "energy_uj", &value_uj.to_string());
        }

        fn counters(&self) -> Result<EnergyCounters, Absent> {
            EnergyCounters::below(self.0.path())
        }
    }

    const RANGE: u64 = 262_143_328_850;

    fn two_packages() -> Machine {
        Machine::with(&[
            ("intel-rapl:0", "package-0", RANGE, 1_000),
            ("intel-rapl:0:0", "core", RANGE, 500),
            ("intel-rapl:0:1", "dram", 65_712_999_613, 100),
            ("intel-rapl:1", "package-1", RANGE, 2_000),
            ("intel-rapl:1:0", "dram", 65_712_999_613, 200),
            ("intel-rapl:2", "psys", RANGE, 9_000),
            ("intel-rapl-mmio:0", "package-0", RANGE, 1_000),
        ])
    }

    fn after(look: &Look, span: Duration) -> Look {
        Look { at: look.at + span, ..look.clone() }
    }

    #[test]
    fn packages_and_memory_are_summed_and_nothing_is_counted_twice() {
        let machine = two_packages();
        let counters = machine.counters().expect("counters");
        assert_eq!(counters.names(), ["dram", "package-0", "package-1"].map(String::from).into());
        let before = counters.look().expect("readable");
        let moved = [("intel-rapl:0", 1_700), ("intel-rapl:1", 2_030), ("intel-rapl:0:1", 150)];
        for (zone, value) in moved.into_iter().chain([("intel-rapl:0:0", 9_999), ("intel-rapl:2", 99_999)]) {
            machine.set(zone, value);
        }
        let later = Look { at: before.at + Duration::from_millis(200), ..counters.look().expect("readable") };
        let energy = counters.between(&before, &later).expect("a short span");
        let wall_ns = Nanos::from_millis(200);
        assert_eq!(energy, Energy { wall_ns, packages_uj: 730, memory_uj: Some(50) });
    }

    #[test]
    fn a_counter_that_begins_again_has_counted_on() {
        let machine = two_packages();
        machine.set("intel-rapl:0", RANGE - 40);
        let counters = machine.counters().expect("counters");
        let before = counters.look().expect("readable");
        machine.set("intel-rapl:0", 60);
        let later = after(&counters.look().expect("readable"), Duration::from_secs(1));
        assert_eq!(counters.between(&before, &later).expect("a short span").packages_uj, 100);
    }

    #[test]
    fn a_span_in_which_a_counter_may_have_come_round_whole_is_not_told() {
        let machine = two_packages();
        let counters = machine.counters().expect("counters");
        let before = counters.look().expect("readable");
        assert!(counters.between(&before, &after(&before, Duration::from_secs(60))).is_some());
        assert_eq!(counters.between(&before, &after(&before, Duration::from_secs(66))), None);
    }

    #[test]
    fn a_machine_without_a_memory_counter_tells_its_packages() {
        let amd = Machine::with(&[
            ("intel-rapl:0", "package-0", 65_532_610_987, 10),
            ("intel-rapl:0:0", "core", 65_532_610_987, 5),
        ]);
        let counters = amd.counters().expect("counters");
        let look = counters.look().expect("readable");
        let energy = counters.between(&look, &look).expect("no time at all");
        assert_eq!((energy.packages_uj, energy.memory_uj), (0, None));
    }

    #[test]
    fn why_there_is_none_is_told_apart() {
        let none = Machine::with(&[("dtpm", "dtpm", 1, 1)]);
        assert_eq!(none.counters().expect_err("no zone of a CPU"), Absent::NoCounter);
        let only_memory = Machine::with(&[("intel-rapl:0", "dram", RANGE, 1)]);
        assert_eq!(only_memory.counters().expect_err("no package"), Absent::NoCounter);
        // Root reads whatever its mode, so a folder stands for a file that may not be read.
        let shut = two_packages();
        let file = shut.0.path().join(ZONES).join("intel-rapl:1/energy_uj");
        std::fs::remove_file(&file).expect("removed");
        std::fs::create_dir(&file).expect("made");
        assert_eq!(shut.counters().expect_err("unreadable"), Absent::NotAllowed(file));
    }

    #[test]
    fn a_counter_that_vanishes_is_noticed() {
        let machine = two_packages();
        let counters = machine.counters().expect("counters");
        std::fs::remove_dir_all(machine.0.path().join(ZONES)).expect("removed");
        assert_eq!(counters.look(), None);
    }
}
