//! What a wire promises, asked of every kind.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod decorated;
#[cfg(feature = "dpdk")]
mod dpdks;
mod frames;
mod hostile;
mod processes;
mod promises;
mod sharing;
mod space;
mod taps;
mod xdps;

use assay_wire::ring;

#[test]
fn a_ring_keeps_all_promises() {
    let make = || ring::pair().expect("a ring");
    promises::of_any(make);
    promises::of_a_lossless_one(make, 3_000_000);
}
