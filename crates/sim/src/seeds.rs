//! The seeds that a test runs, and those of them that failed.
#![allow(
    clippy::panic,
    clippy::print_stderr,
    reason = "it is called by tests, which fail by panicking and print why"
)]

use std::ops::Range;

/// Names the one seed that is to be run instead of all.
const VARIABLE: &str = "ASSAY_SIM_SEED";

/// Runs a trial with each seed, or with the one that the environment names. A trial that fails prints its seed.
///
/// # Panics
/// When a trial does, when there is no seed, or when the environment names what is none.
pub fn each(seeds: Range<u64>, mut trial: impl FnMut(u64)) {
    let wanted = std::env::var(VARIABLE).ok().map(|text| match text.parse::<u64>() {
        Ok(seed) => seed,
        Err(error) => panic!("{VARIABLE}={text}: {error}; give the number that a failed test has printed"),
    });
    let seeds = wanted.map_or(seeds, |seed| seed..seed.saturating_add(1));
    assert!(!seeds.is_empty(), "no seed would try nothing");
    keep_freed_memory();
    for seed in seeds {
        let _told = Told(seed);
        trial(seed);
    }
}

/// Lets the allocator keep what a trial frees for the next one. glibc gives more than 128 KiB back to the kernel each time, until it
/// has freed one large piece (mallopt(3), `M_MMAP_THRESHOLD`); a fifth of a trial's CPU time was pages that came and went.
fn keep_freed_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(16 << 20)));
}

/// Whether [`each`] runs all seeds, so that something may be expected of them together.
pub fn are_all() -> bool {
    std::env::var_os(VARIABLE).is_none()
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
