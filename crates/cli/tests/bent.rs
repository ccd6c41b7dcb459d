//! Records that somebody bent, through the verdict and every format: no panic, and no more memory than their size deserves. The
//! fuzzer (`fuzz/`) looks for more of the same. Memory is that of the whole process, so this is a program of its own.
#![allow(clippy::expect_used, reason = "tests and their helpers")]
#![allow(unreachable_pub, reason = "two of the files are also the fuzzer's")]

#[path = "../../../fuzz/src/bend.rs"]
mod bend;
#[path = "../../../fuzz/src/told.rs"]
mod told;

use assay_model::record::Record;
use peak_alloc::PeakAlloc;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const SEED: &str = include_str!("../../../fuzz/seeds/record.json");
/// Records that are tried, and the most memory that one may take: its page and all that leads to it.
const RECORDS: u64 = 60;
const MEMORY_AT_MOST: usize = 64 << 20;

#[test]
fn bent_records_are_told_or_refused_in_little_memory() {
    let whole: Value = serde_json::from_str(SEED).expect("a document");
    let record: Record = serde_json::from_str(SEED).expect("a record");
    let mut told = 0;
    for seed in 0..RECORDS {
        let mut random = rand::rngs::StdRng::seed_from_u64(seed);
        let bytes: Vec<u8> = (0..random.random_range(0..48)).map(|_| random.random()).collect();
        let mut document = whole.clone();
        bend::bend(&mut document, &bytes);
        let Ok(bent) = serde_json::from_value::<Record>(document) else { continue };
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        told::tell(&bent);
        told::compare(&record, &bent);
        let taken = MEMORY.peak_usage() - before;
        assert!(taken < MEMORY_AT_MOST, "{taken} bytes for the record of seed {seed}");
        told += 1;
    }
    assert!(told > RECORDS / 4, "{told} of {RECORDS} were still records");
}
