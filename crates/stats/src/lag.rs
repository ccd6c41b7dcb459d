//! Response times of which both ends are known: from the moment a request was due, and from the one when it left.
//!
//! A generator that is late with a request does not know what the server would have done with it in time. Had it left when it
//! was due, it would have been answered no later than it was, and no earlier than by as much as it was late. So the truth of
//! each quantile lies between the two histograms' (in a queue that is served in order and whose length one request does not
//! change), and where they hardly differ, it does not matter which of them is printed.

use crate::censored::{self, Quantile};
use crate::histogram::Histogram;

/// Nanoseconds by which both ends may differ, however short the time is.
pub const CLOSE_NS: u64 = 50_000;
/// Share of the time by which they may differ.
pub const CLOSE_SHARE: f64 = 0.05;

/// A quantile, known from both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// From the moment when requests left, in nanoseconds: it took no less.
    pub from_sent: u64,
    /// From the moment when they were due: it would have taken no more.
    pub from_due: Quantile,
}

impl Bounds {
    /// Whether it hardly matters that requests were late: both ends are within 50 µs, or within 5 %.
    pub fn are_close(&self) -> bool {
        self.apart() <= CLOSE_NS.max((self.from_due.value as f64 * CLOSE_SHARE) as u64)
    }

    /// By how much the ends differ, in nanoseconds.
    pub fn apart(&self) -> u64 {
        self.from_due.value.saturating_sub(self.from_sent)
    }

    /// How far the two are apart as a share of the greater one, 0 to 1.
    pub fn apart_share(&self) -> f64 {
        self.apart() as f64 / self.from_due.value.max(1) as f64
    }
}

/// The quantile `q` of response times in nanoseconds, `censored` being those of requests that were given up; `None` when nothing
/// was recorded.
pub fn bounds(due: &Histogram, sent: &Histogram, censored: &Histogram, q: f64) -> Option<Bounds> {
    let from_due = censored::quantile(due, censored, q)?;
    Some(Bounds { from_sent: censored::quantile(sent, censored, q)?.value, from_due })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10,000 responses of `us` microseconds and 200 of 15 ms, the first of them late by `lag_us`.
    fn both(us: u64, lag_us: u64) -> [Histogram; 2] {
        [lag_us, 0].map(|lag| {
            let mut histogram = Histogram::new();
            histogram.record_n((us + lag) * 1_000, 10_000);
            histogram.record_n(15_000_000 + lag * 1_000, 200);
            histogram
        })
    }

    #[test]
    fn lag_matters_only_where_it_is_much_of_the_time() {
        let close = |us, lag_us, q| {
            let [due, sent] = both(us, lag_us);
            bounds(&due, &sent, &Histogram::new(), q).expect("recorded").are_close()
        };
        // A lag of 300 µs is nothing to 15 ms, and 2 ms is; of 1 ms it is a quarter.
        assert!(close(1_000, 300, 0.99) && !close(1_000, 300, 0.5));
        assert!(!close(1_000, 2_000, 0.99) && close(100_000, 2_000, 0.5));
        assert!(close(100, 40, 0.5), "less than 50 µs");
    }

    #[test]
    fn what_was_given_up_belongs_to_both_ends() {
        let (mut ended, mut given_up) = (Histogram::new(), Histogram::new());
        ended.record_n(1_000, 10);
        given_up.record_n(2_000_000, 90);
        let found = bounds(&ended, &ended, &given_up, 0.9).expect("recorded");
        assert!(found.from_due.is_lower_bound && found.apart() == 0 && found.are_close());
        assert_eq!(bounds(&Histogram::new(), &ended, &Histogram::new(), 0.5), None);
    }
}
