//! What is sent: due requests are given to connections, and their bytes to the engine, as far as it takes them.

use assay_engine::Conn;
use assay_model::units::Nanos;

use super::Session;
use crate::arrivals::Arrivals;
use crate::protocol::{Line, Parcel, Protocol};
use crate::slot::Flight;

impl<A: Arrivals, P: Protocol> Session<A, P> {
    /// Issues what is due on the next slot that can take it, and returns the slot. A closed loop fills the connection; an open
    /// model issues one request and lets the next go to another connection.
    #[inline]
    pub(crate) fn issue(&mut self, now: Nanos) -> Option<u32> {
        while let Some(&index) = self.ready.front() {
            let issued = self.issue_on(index, now);
            if issued == 0 && self.can_take(index) {
                return None;
            }
            self.slots[index as usize].listed = false;
            self.ready.pop_front();
            if issued > 0 {
                return Some(index);
            }
        }
        None
    }

    fn issue_on(&mut self, index: u32, now: Nanos) -> usize {
        if !self.can_take(index) {
            return 0;
        }
        let slot = &mut self.slots[index as usize];
        let room = self.protocol.room(&slot.line, A::OPEN);
        let wanted = if A::OPEN { 1 } else { room };
        let was_idle = slot.line.in_flight() == 0;
        let mut issued = 0;
        while issued < wanted && slot.issued < self.most {
            let Some(due) = self.schedule.take(now) else { break };
            slot.issued += 1;
            let is_last = slot.issued == self.most;
            let flight = Flight::new(due, now, self.traffic.draw(), is_last);
            let place = self.protocol.issue(&mut slot.line, self.flights.row(index), flight, &self.traffic);
            self.unsubmitted.push((index, place));
            self.recorder.sent(now);
            issued += 1;
        }
        if issued > 0 {
            slot.issued_at = now;
            if was_idle {
                slot.deadline = now + self.timeout;
            }
        }
        self.in_flight += issued;
        issued
    }

    /// Whether something of the slot's waits to be accepted by the engine.
    #[inline]
    pub(crate) fn has_unsent(&self, index: u32) -> bool {
        self.slots[index as usize].line.has_unsent()
    }

    /// What the slot's connection has to send and has not been accepted by the engine, as far as it fits one send.
    #[inline]
    pub(crate) fn parcel(&mut self, index: u32) -> Parcel<'_> {
        let line = &mut self.slots[index as usize].line;
        self.protocol.parcel(line, self.flights.row(index), &self.traffic)
    }

    /// What was issued until now has left, `at` the moment that is told for its connection; `None` where it left as it was sent. On a
    /// connection that has no room it has not left with the engine's last call, which may be older: that takes back nothing of the
    /// time at which it was issued.
    #[inline]
    pub(crate) fn submitted(&mut self, at: impl Fn(Option<Conn>) -> Option<Nanos>) {
        for &(index, place) in &self.unsubmitted {
            let flight = &mut self.flights.row(index)[place as usize];
            if !flight.live || flight.submitted {
                continue;
            }
            let Some(at) = at(self.slots[index as usize].conn) else { break };
            flight.submitted = true;
            let at = at.max(flight.issued);
            self.recorder.flow.postpone(flight.sent, at);
            flight.sent = at;
        }
        self.unsubmitted.clear();
    }

    /// The engine has accepted `bytes` of the slot's parcel.
    #[inline]
    pub(crate) fn accepted(&mut self, index: u32, bytes: usize) {
        let line = &mut self.slots[index as usize].line;
        self.protocol.accepted(line, self.flights.row(index), &self.traffic, bytes);
        // In a closed loop it is full by now, under an open model it may take another.
        self.list(index);
    }
}
