//! The seeds that a test runs, and those of them that failed.

use std::ops::Range;

/// Names the one seed that is to be run instead of all.
const VARIABLE: &str = "ASSAY_SIM_SEED";

/// Runs a trial with each seed, or with the one that the environment names.
pub(crate) fn each(seeds: Range<u64>, mut trial: impl FnMut(u64)) {
    let wanted = std::env::var(VARIABLE).ok().map(|text| match text.parse::<u64>() {
        Ok(seed) => seed,
        Err(error) => panic!("{VARIABLE}={text}: {error}; give the number that a failed test has printed"),
    });
    let seeds = wanted.map_or(seeds, |seed| seed..seed + 1);
    assert!(!seeds.is_empty(), "no seed would try nothing");
    for seed in seeds {
        let _told = Told(seed);
        trial(seed);
    }
}

/// Prints the seed of a trial that fails.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("with seed {seed}: {VARIABLE}={seed} runs it again", seed = self.0);
        }
    }
}
