//! What the stub counts.

use std::iter::Sum;

use assay_model::units::Nanos;
use serde::{Deserialize, Serialize};

use super::faults::Fault;
use super::reply::Reply;

/// Every request in exactly one of: right, a fault, unfinished. `requests` is their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Connections accepted.
    pub connections: u64,
    /// Requests received.
    pub requests: u64,
    /// Answered rightly.
    pub right: u64,
    /// Answered with one byte of the body changed.
    pub wrong_byte: u64,
    /// Answered with status 500.
    pub status_500: u64,
    /// Reset in the middle of the body.
    pub reset_in_body: u64,
    /// Never answered, on purpose.
    pub never_answered: u64,
    /// Not answered because the connection or the stub ended first.
    pub unfinished: u64,
    /// Connections ended because what came on them is no request that the stub takes; not among the requests.
    pub refused: u64,
    /// From arrival to due time, summed over the right answers: what no client can have seen less of.
    pub programmed_ns: u64,
    /// From each request but the first to the one before, summed over the requests of a thread.
    pub gap_ns: u64,
    /// The squares of these gaps, summed, in µs²: with the sum they tell how even the arrivals were.
    pub gap_squares_us2: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
}

impl Counts {
    /// Whether every request is accounted for exactly once.
    pub fn balance(&self) -> bool {
        let spoilt = self.wrong_byte + self.status_500 + self.reset_in_body + self.never_answered;
        self.requests == self.right + spoilt + self.unfinished
    }
}

impl Counts {
    /// Takes note of an answer that has left.
    pub(super) fn add(&mut self, reply: &Reply) {
        let counter = match reply.fault {
            Fault::None => &mut self.right,
            Fault::WrongByte => &mut self.wrong_byte,
            Fault::Status500 => &mut self.status_500,
            Fault::ResetInBody => &mut self.reset_in_body,
            Fault::Never => &mut self.never_answered,
        };
        *counter += 1;
        if reply.fault == Fault::None {
            self.programmed_ns += (reply.due - reply.arrived).0;
        }
    }

    /// Takes note of the time since the request before.
    pub(super) fn add_gap(&mut self, gap: Nanos) {
        let square_us2 = u128::from(gap.0).pow(2) / 1_000_000;
        self.gap_ns = self.gap_ns.saturating_add(gap.0);
        self.gap_squares_us2 =
            self.gap_squares_us2.saturating_add(u64::try_from(square_us2).unwrap_or(u64::MAX));
    }

    /// Standard deviation of the gaps between requests over their mean, if one thread received all: 0 for even arrivals,
    /// 1 for a Poisson process. `None` with fewer than two gaps.
    pub fn gap_variation(&self) -> Option<f64> {
        let gaps = self.requests.checked_sub(1).filter(|&gaps| gaps > 1)? as f64;
        let mean_us = self.gap_ns as f64 / 1e3 / gaps;
        let variance_us2 = self.gap_squares_us2 as f64 / gaps - mean_us.powi(2);
        (mean_us > 0.0).then(|| variance_us2.max(0.0).sqrt() / mean_us)
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, one| Self {
            connections: sum.connections + one.connections,
            requests: sum.requests + one.requests,
            right: sum.right + one.right,
            wrong_byte: sum.wrong_byte + one.wrong_byte,
            status_500: sum.status_500 + one.status_500,
            reset_in_body: sum.reset_in_body + one.reset_in_body,
            never_answered: sum.never_answered + one.never_answered,
            unfinished: sum.unfinished + one.unfinished,
            refused: sum.refused + one.refused,
            programmed_ns: sum.programmed_ns + one.programmed_ns,
            gap_ns: sum.gap_ns.saturating_add(one.gap_ns),
            gap_squares_us2: sum.gap_squares_us2.saturating_add(one.gap_squares_us2),
            received_bytes: sum.received_bytes + one.received_bytes,
            sent_bytes: sum.sent_bytes + one.sent_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variation(gaps_us: &[u64]) -> f64 {
        let mut counts = Counts { requests: gaps_us.len() as u64 + 1, ..Counts::default() };
        gaps_us.iter().for_each(|&us| counts.add_gap(Nanos::from_micros(us)));
        counts.gap_variation().unwrap()
    }

    #[test]
    fn even_gaps_do_not_vary_and_bursts_do() {
        assert_eq!(variation(&[100, 100, 100]), 0.0);
        assert_eq!(variation(&[0, 200, 0, 200]), 1.0);
        assert_eq!(Counts { requests: 2, ..Counts::default() }.gap_variation(), None);
    }
}
