//! The machine's energy: whether it is counted, and what the machine takes before any server runs.

use std::time::{Duration, Instant};

use assay_host::energy::{Absent, EnergyCounters};
use assay_model::energy::{Energy, Metering};

use crate::log;
use crate::rounds::Runner;

/// How long the machine is looked at while no server runs. Counters move every millisecond, and what else a machine does now and
/// then, such as writing to its disk, is rarer.
const IDLE: Duration = Duration::from_secs(2);
/// How soon a person's wish to stop is noticed.
const STEP: Duration = Duration::from_millis(50);

impl Runner<'_> {
    /// Finds the counters, and looks for a moment at what the machine takes as it is; before anything is started, because a server that
    /// waits is not nothing.
    pub(crate) fn meter_energy(&mut self) {
        let found = self.homes.others.is_empty().then(EnergyCounters::find);
        let idle = |counters: &EnergyCounters| {
            let before = counters.look()?;
            let ends = Instant::now() + IDLE;
            while Instant::now() < ends && !self.bench.stop.is_requested() {
                std::thread::sleep(STEP);
            }
            counters.between(&before, &counters.look()?)
        };
        let (counters, metering) = metering(found, idle);
        log::metering(&metering);
        self.bench.energy = counters;
        self.record.energy = Some(metering);
    }
}

/// The counters to be read beside windows, and what the record says of them; nothing `found` where servers live on another host.
fn metering(
    found: Option<Result<EnergyCounters, Absent>>,
    idle: impl FnOnce(&EnergyCounters) -> Option<Energy>,
) -> (Option<EnergyCounters>, Metering) {
    let counters = match found {
        Some(Ok(counters)) => counters,
        Some(Err(Absent::NoCounter)) => return (None, Metering::NoCounter),
        Some(Err(Absent::NotAllowed(file))) => {
            return (None, Metering::NotAllowed { file: file.display().to_string() });
        }
        None => return (None, Metering::AnotherHost),
    };
    match idle(&counters) {
        // Some hypervisors show counters that never move.
        Some(idle) if idle.total_uj() == 0 => (None, Metering::StandStill),
        idle => {
            let metering = Metering::Metered { counters: counters.names(), idle };
            (Some(counters), metering)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::units::Nanos;
    use std::path::Path;

    fn machine(root: &Path) -> EnergyCounters {
        let zone = root.join("sys/class/powercap/intel-rapl:0");
        std::fs::create_dir_all(&zone).expect("made");
        for (file, text) in
            [("name", "package-0"), ("max_energy_range_uj", "262143328850"), ("energy_uj", "7")]
        {
            std::fs::write(zone.join(file), text).expect("written");
        }
        EnergyCounters::below(root).expect("a counter")
    }

    #[test]
    fn counters_that_move_are_read_beside_windows() {
        let root = tempfile::tempdir().expect("a folder");
        let idle = Energy { wall_ns: Nanos::from_millis(2000), packages_uj: 9_000_000, memory_uj: None };
        let (counters, told) = metering(Some(Ok(machine(root.path()))), |_| Some(idle));
        assert!(counters.is_some());
        assert_eq!(told, Metering::Metered { counters: ["package-0".to_owned()].into(), idle: Some(idle) });
    }

    #[test]
    fn counters_that_never_move_count_nothing() {
        let root = tempfile::tempdir().expect("a folder");
        let still = |counters: &EnergyCounters| counters.between(&counters.look()?, &counters.look()?);
        let (counters, told) = metering(Some(Ok(machine(root.path()))), still);
        assert!(counters.is_none());
        assert_eq!(told, Metering::StandStill);
    }

    #[test]
    fn without_counters_the_record_says_why() {
        let never = |_: &EnergyCounters| -> Option<Energy> { unreachable!("nothing is counted") };
        let file = "/sys/class/powercap/intel-rapl:0/energy_uj";
        for (found, why) in [
            (None, Metering::AnotherHost),
            (Some(Err(Absent::NoCounter)), Metering::NoCounter),
            (Some(Err(Absent::NotAllowed(file.into()))), Metering::NotAllowed { file: file.to_owned() }),
        ] {
            let (counters, told) = metering(found, never);
            assert!(counters.is_none());
            assert_eq!(told, why);
        }
    }
}
