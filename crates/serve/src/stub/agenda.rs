//! What is to be done when: the connections in the order of their next due time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use assay_engine::Conn;
use assay_model::units::Nanos;

/// Connections with something due. Equal times keep the order in which they were entered.
#[derive(Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<Entry>>,
    entered: u64,
}

struct Entry {
    due: Nanos,
    number: u64,
    conn: Conn,
}

impl Agenda {
    pub(super) fn enter(&mut self, due: Nanos, conn: Conn) {
        self.heap.push(Reverse(Entry { due, number: self.entered, conn }));
        self.entered += 1;
    }

    /// When the next is due; [`Nanos::MAX`] when there is none.
    pub(super) fn next(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |entry| entry.0.due)
    }

    /// The next, if it is due at `now`.
    pub(super) fn take(&mut self, now: Nanos) -> Option<Conn> {
        if self.next() <= now { self.heap.pop().map(|entry| entry.0.conn) } else { None }
    }
}

impl Entry {
    fn key(&self) -> (Nanos, u64) {
        (self.due, self.number)
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}
