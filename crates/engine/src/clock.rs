//! The clocks of engines that live in real time. `CLOCK_MONOTONIC` is read through the vDSO, without entering the kernel
//! (clock_gettime(2)).

use assay_model::units::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// The time now; comparable between threads and processes of one boot.
pub fn now() -> Nanos {
    read(ClockId::Monotonic)
}

/// The clock at the kernel's last tick (`CLOCK_MONOTONIC_COARSE`), so never later than [`now`] and at most 10 ms earlier: for
/// who asks with every call, as it costs a quarter.
pub fn at_last_tick() -> Nanos {
    read(ClockId::MonotonicCoarse)
}

/// CPU time of the calling thread (`CLOCK_THREAD_CPUTIME_ID`), which costs a system call.
pub fn thread_cpu() -> Nanos {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> Nanos {
    let t = clock_gettime(clock);
    Nanos::from_reading(t.tv_sec, t.tv_nsec)
}
