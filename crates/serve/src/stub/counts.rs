//! What the stub counts.

use std::iter::Sum;

use serde::{Deserialize, Serialize};

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
            received_bytes: sum.received_bytes + one.received_bytes,
            sent_bytes: sum.sent_bytes + one.sent_bytes,
        })
    }
}
