//! Arrivals at even intervals.

use assay_model::units::Nanos;

use super::{Arrivals, Share};

/// Request number *i* of all is due at start + *i* / rate; thread *k* of *n* issues those with *i* mod *n* = *k*, so that
/// the threads together are as even as one.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    start: Nanos,
    period_ns: f64,
    /// The number of the thread's first request.
    first: u64,
    number: u64,
    stride: u64,
}

impl Constant {
    /// The schedule of one thread.
    pub fn new(share: Share) -> Self {
        let (first, stride) = (share.thread as u64, share.threads as u64);
        Self { start: Nanos::ZERO, period_ns: 1e9 / share.per_second, first, number: first, stride }
    }
}

impl Arrivals for Constant {
    const OPEN: bool = true;

    fn begin(&mut self, start: Nanos) {
        (self.start, self.number) = (start, self.first);
    }

    /// Multiplied out from the start, so that no rounding accumulates.
    fn next(&self) -> Nanos {
        self.start + Nanos((self.number as f64 * self.period_ns) as u64)
    }

    fn pass(&mut self) {
        self.number += self.stride;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(thread: usize, threads: usize, n: usize) -> Vec<u64> {
        let mut arrivals = Constant::new(Share { per_second: 3e6, thread, threads });
        arrivals.begin(Nanos(1000));
        let step = |_| {
            let at = arrivals.next().0;
            arrivals.pass();
            at
        };
        (0..n).map(step).collect()
    }

    #[test]
    fn intervals_are_even_without_drift() {
        let times = times(0, 1, 3_000_001);
        assert_eq!(times[..4], [1000, 1333, 1666, 2000]);
        assert_eq!(times[3_000_000], 1_000_001_000);
    }

    #[test]
    fn threads_interleave_to_the_same_schedule() {
        let mut both = [times(0, 2, 50), times(1, 2, 50)].concat();
        both.sort_unstable();
        assert_eq!(both, times(0, 1, 100));
    }

    #[test]
    fn each_window_has_the_schedule_from_its_beginning() {
        let mut arrivals = Constant::new(Share { per_second: 1e6, thread: 1, threads: 2 });
        for start in [0, 5_000_000] {
            arrivals.begin(Nanos(start));
            assert_eq!(arrivals.next(), Nanos(start + 1_000));
            arrivals.pass();
            assert_eq!(arrivals.next(), Nanos(start + 3_000));
        }
    }
}
