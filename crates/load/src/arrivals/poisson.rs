//! Arrivals of a Poisson process: exponentially distributed, independent gaps.

use assay_model::units::Nanos;
use chacha20::ChaCha8Rng;
use rand::Rng;

use super::{Arrivals, Share};

/// A Poisson process. Independent processes add up to one of their summed rate, so each thread has its own.
#[derive(Debug)]
pub struct Poisson {
    start: Nanos,
    mean_gap_ns: f64,
    offset_ns: f64,
    rng: ChaCha8Rng,
}

impl Poisson {
    /// The schedule of one thread; `rng` must be a stream of the thread's own.
    pub fn new(share: Share, rng: ChaCha8Rng) -> Self {
        let mean_gap_ns = 1e9 * share.threads as f64 / share.per_second;
        Self { start: Nanos::ZERO, mean_gap_ns, offset_ns: 0.0, rng }
    }
}

impl Arrivals for Poisson {
    const OPEN: bool = true;

    fn begin(&mut self, start: Nanos) {
        (self.start, self.offset_ns) = (start, 0.0);
        self.pass();
    }

    fn next(&self) -> Nanos {
        self.start + Nanos(self.offset_ns as u64)
    }

    fn pass(&mut self) {
        // 53 random bits, moved into (0, 1] so that the logarithm is finite.
        let uniform = ((self.rng.next_u64() >> 11) + 1) as f64 * f64::EPSILON / 2.0;
        self.offset_ns -= self.mean_gap_ns * uniform.ln();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn gaps(seed: u64, n: usize) -> Vec<f64> {
        let share = Share { per_second: 20_000.0, thread: 1, threads: 2 };
        let mut arrivals = Poisson::new(share, ChaCha8Rng::seed_from_u64(seed));
        arrivals.begin(Nanos(5));
        let mut last = 5;
        let step = |_| {
            let at = arrivals.next().0;
            arrivals.pass();
            let gap = at - last;
            last = at;
            gap as f64
        };
        (0..n).map(step).collect()
    }

    #[test]
    fn gaps_are_exponential_with_the_threads_share_of_the_rate() {
        let gaps = gaps(7, 100_000);
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean / 100_000.0 - 1.0).abs() < 0.015, "mean gap {mean} ns");
        // P(gap > k means) = e^-k; four standard errors of a share near 0.37 in 100,000 draws are 0.006.
        for k in [0.5, 1.0, 2.0, 4.0] {
            let share = gaps.iter().filter(|&&gap| gap > k * 100_000.0).count() as f64 / gaps.len() as f64;
            assert!((share - (-k).exp()).abs() < 0.0065, "share beyond {k} means: {share}");
        }
        // Independence: the lag-1 correlation of 100,000 gaps is within 4 / sqrt(n).
        let deviation = |gap: f64| gap - mean;
        let covariance: f64 = gaps.windows(2).map(|w| deviation(w[0]) * deviation(w[1])).sum();
        let variance: f64 = gaps.iter().map(|&gap| deviation(gap).powi(2)).sum();
        assert!((covariance / variance).abs() < 0.0127);
    }

    #[test]
    fn a_seed_gives_one_schedule() {
        assert_eq!(gaps(3, 100), gaps(3, 100));
        assert_ne!(gaps(3, 100), gaps(4, 100));
    }

    #[test]
    fn each_window_begins_with_a_gap_of_its_own() {
        let share = Share { per_second: 1_000.0, thread: 0, threads: 1 };
        let mut arrivals = Poisson::new(share, ChaCha8Rng::seed_from_u64(5));
        let firsts = [0, 1_000_000_000].map(|start| {
            arrivals.begin(Nanos(start));
            let first = arrivals.next() - Nanos(start);
            (0..1_000).for_each(|_| arrivals.pass());
            first
        });
        assert_ne!(firsts[0], firsts[1]);
        assert!(firsts.iter().all(|first| *first < Nanos::from_millis(10)), "{firsts:?}");
    }
}
