//! Response times of which both ends are known: from the moment a request was due, and from the one when it left.
//!
//! A generator that is late with a request does not know what the server would have done with it in time. Had it left when it
//! was due, it would have been answered no later than it was, and no earlier than by as much as it was late. So the truth of
//! each quantile lies between the two histograms' (in a queue that is served in order and whose length one request does not
//! change), and where they hardly differ, it does not matter which of them is printed.

use crate::censored::{self, Quantile};
use crate::histogram::Histogram;
use crate::robust::middle;

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

    /// The later end, where it hardly matters that requests were late.
    pub fn known(&self) -> Option<Quantile> {
        self.are_close().then_some(self.from_due)
    }

    /// The time itself, which is known and no bound.
    pub fn exact(&self) -> Option<u64> {
        self.known().filter(|known| !known.is_lower_bound).map(|known| known.value)
    }

    /// What it took at least: the earlier end, where it matters which of them is printed.
    pub fn least(&self) -> u64 {
        if self.are_close() { self.from_due.value } else { self.from_sent }
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

/// The medians of both ends over rounds; `None` for no rounds. The median of the truths lies between them, however far apart the ends
/// of single rounds are, because a median does not fall where one of its values rises. It is a bound if one of the rounds has one.
pub fn median(rounds: &[Bounds]) -> Option<Bounds> {
    let of = |value: fn(&Bounds) -> u64| {
        let mut values: Vec<f64> = rounds.iter().map(|bounds| value(bounds) as f64).collect();
        middle(&mut values).map(|middle| middle as u64)
    };
    let is_lower_bound = rounds.iter().any(|bounds| bounds.from_due.is_lower_bound);
    let from_due = Quantile { value: of(|bounds| bounds.from_due.value)?, is_lower_bound };
    Some(Bounds { from_sent: of(|bounds| bounds.from_sent)?, from_due })
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

    /// One round of four left late: the median has all of them, and hardly depends on how late.
    #[test]
    fn the_median_over_rounds_lies_between_those_of_both_ends() {
        let round = |sent_us: u64, due_us: u64| Bounds {
            from_sent: sent_us * 1_000,
            from_due: Quantile { value: due_us * 1_000, is_lower_bound: false },
        };
        let rounds = [round(560, 670), round(35_400, 35_800), round(85_200, 85_700), round(135_800, 135_800)];
        let found = median(&rounds).expect("rounds");
        assert_eq!((found.from_sent, found.from_due.value), (60_300_000, 60_750_000));
        assert_eq!(found.known(), Some(found.from_due));
        assert_eq!([rounds[0].least(), rounds[1].least()], [560_000, 35_800_000]);
        let late = [round(560, 670), round(1_000, 9_000), round(1_000, 9_500)];
        assert_eq!(median(&late).expect("rounds").known(), None);
        let mut given_up = rounds;
        given_up[3].from_due.is_lower_bound = true;
        assert_eq!((given_up[2].exact(), given_up[3].exact()), (Some(85_700_000), None));
        assert!(median(&given_up).expect("rounds").from_due.is_lower_bound);
        assert_eq!(median(&[]), None);
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
