//! Texts that are no histograms: an error and little memory, whatever they claim. Memory is that of the whole process, so
//! this is a program of its own with a single test.
#![allow(clippy::unwrap_used, reason = "a helper may fail as loudly as the test that calls it")]

use std::io::Write as _;

use assay_stats::Histogram;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chacha20::ChaCha8Rng;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use peak_alloc::PeakAlloc;
use rand::{RngExt as _, SeedableRng as _};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What reading a text may take beyond what was taken before, in bytes.
const MEMORY_AT_MOST: usize = 1 << 20;
const PLAIN: u32 = 0x1c84_9313;
const COMPRESSED: u32 = 0x1c84_9314;

/// What a header says: octets of counts, significant figures, lowest and highest value.
fn payload(length: u32, figures: u32, low: u64, high: u64, counts: &[u8]) -> Vec<u8> {
    let mut bytes = [PLAIN, length, 0, figures].map(u32::to_be_bytes).concat();
    bytes.extend([low, high, 1f64.to_bits()].map(u64::to_be_bytes).concat());
    bytes.extend(counts);
    bytes
}

fn compressed(payload: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(payload).unwrap();
    let body = encoder.finish().unwrap();
    [&COMPRESSED.to_be_bytes()[..], &(body.len() as u32).to_be_bytes(), &body].concat()
}

/// Reads a text, and tells whether it was a histogram.
fn is_read(text: &str) -> bool {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let read = Histogram::from_hdr_base64(text);
    let taken = MEMORY.peak_usage() - before;
    assert!(taken < MEMORY_AT_MOST, "{taken} bytes for {:.60}", text);
    read.is_ok()
}

#[test]
fn no_text_takes_much_memory_or_panics() {
    let limit = Histogram::LIMIT;
    let claims = [
        payload(u32::MAX, 2, 1, limit, &[]),
        payload(10, 2, 1, limit, &[]),
        payload(0, 5, 1, u64::MAX, &[]),
        payload(0, 2, 1, 0, &[]),
        payload(0, 2, u64::MAX, u64::MAX, &[]),
        payload(9, 2, 1, limit, &[0xff; 9]),
        payload(100_000_000, 2, 1, limit, &vec![0; 100_000_000]),
        payload(8, 2, 1, limit, &[1; 8])[..30].to_vec(),
        Vec::new(),
        vec![0x1c],
    ];
    for bytes in claims {
        for bytes in [bytes.clone(), compressed(&bytes)] {
            assert!(!is_read(&BASE64.encode(&bytes)), "{:.60}", bytes.escape_ascii().to_string());
        }
    }
    assert!(!is_read(&"A".repeat(100 << 20)));

    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut full = Histogram::new();
    for octave in 0..44 {
        (0..2000).for_each(|_| {
            full.record_n(
                (1 << octave) + random.random_range(0..1u64 << octave),
                random.random::<u64>() >> 20,
            )
        });
    }
    let text = full.to_hdr_base64().unwrap();
    assert!(is_read(&text), "the fullest histogram has {} characters", text.len());

    // Mutants of a small one: the compressed text, and the header and counts inside it.
    let inside = payload(8, 2, 1, limit, &[2, 4, 1, 6, 200, 1, 5, 2]);
    assert!(is_read(&BASE64.encode(&inside)) && is_read(&BASE64.encode(compressed(&inside))));
    for _ in 0..20_000 {
        let mut mutant = inside.clone();
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..mutant.len());
            mutant[at] = if random.random() {
                random.random()
            } else {
                [0, 1, 0x7f, 0x80, 0xff][random.random_range(0..5)]
            };
        }
        is_read(&BASE64.encode(if random.random() { compressed(&mutant) } else { mutant }));
    }
}
