//! The one clock: `CLOCK_MONOTONIC`, read through the vDSO without entering the kernel (clock_gettime(2)).

use assay_model::units::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// The time now; comparable between threads and processes of one boot.
pub fn now() -> Nanos {
    let t = clock_gettime(ClockId::Monotonic);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}
