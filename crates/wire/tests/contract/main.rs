//! Every kind of wire passes the conformance suite of wires.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod conformance;
mod decorated;
#[cfg(feature = "dpdk")]
mod dpdks;
mod frames;
mod hostile;
mod processes;
mod sharing;
mod space;
mod taps;
mod xdps;

use assay_wire::ring;

#[test]
fn a_ring_conforms() {
    let make = || ring::pair().expect("a ring");
    conformance::of_any(make);
    conformance::of_a_lossless_one(make, 3_000_000);
}
