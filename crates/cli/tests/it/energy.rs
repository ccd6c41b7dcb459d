//! The energy of a run: of counters that are there, and where there are none.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_model::energy::Metering;
use assay_skip::skip;
use assert_cmd::Command;

use crate::support::{Lab, PATIENCE, server_runs, stderr, stdout};

const ASKED: [&str; 12] =
    ["why", "one", "-c", "2", "-r", "400/s", "-d", "200ms", "--rounds", "2", "--warmup", "0s"];
/// Shows a command the folder of its first argument as this machine's powercap zones.
const WITH_ZONES: &str = r#"
mount -t overlay overlay -o lowerdir="$1/class":/sys/class /sys/class && mount --bind "$1/zones" /sys/class/powercap || exit 99
shift
exec "$@"
"#;
/// What the made-up machine takes, in watts: microjoules for each microsecond.
const WATTS: u64 = 40;

/// Counters that move as long as it lives, as those of a CPU do.
struct Meter(PathBuf);

impl Meter {
    fn make(folder: &Path) -> Self {
        let zone = folder.join("zones/intel-rapl:0");
        std::fs::create_dir_all(folder.join("class/powercap")).expect("made");
        std::fs::create_dir_all(&zone).expect("made");
        let meter = Self(zone);
        meter.set("name", "package-0");
        meter.set("max_energy_range_uj", "262143328850");
        meter.set("energy_uj", "0");
        meter
    }

    /// At once: a reader never finds half of it.
    fn set(&self, file: &str, text: &str) {
        let aside = self.0.join("aside");
        std::fs::write(&aside, text).expect("written");
        std::fs::rename(aside, self.0.join(file)).expect("renamed");
    }

    fn run(&self, over: &AtomicBool) {
        let began = Instant::now();
        while !over.load(Ordering::Relaxed) {
            self.set("energy_uj", &(began.elapsed().as_micros() as u64 * WATTS).to_string());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn what_the_counters_show_is_told_for_each_answer() {
    let lab = Lab::new();
    lab.good("one");
    let meter = Meter::make(&lab.path("machine"));
    let mut shell = std::process::Command::new("unshare");
    shell.args(["-m", "sh", "-c", WITH_ZONES, "sh"]).arg(lab.path("machine"));
    let own = lab.command::<&str>(&[]);
    shell.arg(env!("CARGO_BIN_EXE_assay")).args(ASKED).current_dir(lab.path("."));
    shell.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| meter.run(&over));
        let ended = Command::from_std(shell).timeout(PATIENCE).assert();
        over.store(true, Ordering::Relaxed);
        ended
    });
    if [Some(1), Some(4), Some(99)].contains(&ended.get_output().status.code()) {
        return skip("root", stderr(&ended));
    }
    // As it was before it was wrapped.
    let told = stdout(&ended.code(0)).split_whitespace().collect::<Vec<_>>().join(" ");
    // Whether windows count on a machine that is busy with other tests is another matter.
    let verdict = assay_verdict::judge(&lab.record()).expect("a verdict");
    let counts = verdict.why.iter().flat_map(|why| &why.spendings).any(|of| of.energy.is_some());
    assert_eq!(told.contains(" of energy for an answer of one"), counts, "{told}");
    assert_eq!(told.contains(" that it takes idle in the same time, and "), counts, "{told}");
    assert!(told.contains("Energy is that of package-0, whoever ran on them"), "{told}");
    let record = lab.record();
    let Some(Metering::Metered { counters, idle: Some(idle) }) = &record.energy else {
        panic!("{:?}", record.energy)
    };
    assert_eq!(counters.iter().collect::<Vec<_>>(), ["package-0"]);
    assert!(idle.packages_uj > 0 && idle.memory_uj.is_none(), "{idle:?}");
    let windows: Vec<_> = server_runs(&record).into_iter().flat_map(|run| &run.cells).collect();
    assert!(!windows.is_empty());
    for window in windows {
        let energy = window.energy.expect("counted");
        assert!(energy.packages_uj > 0 && energy.wall_ns >= window.load.window_ns, "{energy:?}");
    }
}
