//! One thread's connections, without I/O: bytes and times in, requests and decisions out. What is spoken on them is a
//! [`Protocol`].
//!
//! Every request that is issued ends in exactly one of: answered, failed with a class, or in flight.

mod receiving;
mod sending;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use assay_engine::Security;
use assay_model::load::ErrorClass;
use assay_model::tls::TlsFault;
use assay_model::units::Nanos;

use crate::arrivals::Arrivals;
use crate::plan::Reuse;
use crate::protocol::{Line, Loss, Protocol};
use crate::recorder::Recorder;
use crate::schedule::{Due, Hours, Schedule};
use crate::slot::{Flight, Flights, Slot, State};
use crate::traffic::Traffic;

/// How long a connection that has done its duty waits for the server to close it.
pub(crate) const LINGER: Nanos = Nanos::from_millis(100);

/// A connection that is so old when a window begins may have been idle before it for as long as a server allows: others had their
/// turns, or their connections were made.
const RESTED_AFTER: Nanos = Nanos::from_millis(1000);

/// One thread's connections and what travels on them.
pub(crate) struct Session<A, P: Protocol> {
    pub(crate) slots: Vec<Slot<P::Line>>,
    protocol: P,
    flights: Flights,
    /// Slots that can take a request, the one that waits longest first: servers that tie connections to workers are loaded
    /// evenly.
    ready: VecDeque<u32>,
    pub(crate) schedule: Schedule<A>,
    pub(crate) recorder: Recorder,
    traffic: Traffic,
    timeout: Nanos,
    /// Requests per connection.
    most: u32,
    in_flight: usize,
    /// Slots with an established connection.
    connected: usize,
    /// Slots and places of what was issued and the engine has not handed over yet.
    unsubmitted: Vec<(u32, u16)>,
    /// Why the last connection was declined.
    refusal: String,
    /// Slots from this one on are never given a request.
    idle_from: u32,
}

/// What is to be done with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Go on.
    Keep,
    /// Drop the next so many bytes unseen, and tell when that is done ([`Session::skipped`]).
    Skip(u64),
    /// Go on, but see again at the given time whether it takes requests by then.
    Await(Nanos),
    /// Wait until the given time for the server to close it.
    Linger(Nanos),
    /// Reset it.
    Abort,
    /// Reset it: it was never agreed on what is spoken ([`Session::take_refusal`]).
    Decline,
}

impl<A: Arrivals, P: Protocol> Session<A, P> {
    pub(crate) fn new(
        slots: usize,
        protocol: P,
        reuse: Reuse,
        timeout: Nanos,
        schedule: Schedule<A>,
        recorder: Recorder,
        traffic: Traffic,
    ) -> Self {
        let most = match reuse {
            Reuse::Always => u32::MAX,
            Reuse::Requests(n) => n,
        };
        Self {
            slots: (0..slots).map(|_| Slot::new()).collect(),
            flights: Flights::new(slots, protocol.depth()),
            protocol,
            ready: VecDeque::with_capacity(slots),
            schedule,
            recorder,
            traffic,
            timeout,
            most,
            in_flight: 0,
            connected: 0,
            unsubmitted: Vec::new(),
            refusal: String::new(),
            idle_from: u32::MAX,
        }
    }

    /// Leaves the last `n` slots idle: they are connected, and that is all.
    pub(crate) fn leave_idle(&mut self, n: usize) {
        self.idle_from = (self.slots.len() - n) as u32;
    }

    /// Why the last connection was declined.
    pub(crate) fn take_refusal(&mut self) -> String {
        std::mem::take(&mut self.refusal)
    }

    /// Requests submitted and not answered.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Requests that may be in flight on all its connections, as far as their servers let them.
    pub(crate) fn limit(&self) -> usize {
        let used = self.slots.len().min(self.idle_from as usize);
        self.slots[..used].iter().map(|slot| self.protocol.limit(&slot.line)).sum()
    }

    /// Connections that are established.
    pub(crate) fn connected(&self) -> usize {
        self.connected
    }

    /// Starts the schedule; in the window at most `quota` requests become due.
    pub(crate) fn begin(&mut self, hours: Hours, quota: u64, series_start: Nanos) {
        for slot in &mut self.slots {
            slot.rested = slot.is_connected() && hours.start - slot.began >= RESTED_AFTER;
        }
        self.schedule.begin(hours, quota);
        self.recorder.begin(hours.window, hours.end, series_start);
    }

    /// Ends schedule and window at `end`, if that is earlier than planned.
    #[inline]
    pub(crate) fn end_at(&mut self, end: Nanos) {
        self.schedule.end_at(end);
        self.recorder.flow.end_at(end);
    }

    /// Whether nothing is due, now or later, and nothing unanswered.
    pub(crate) fn is_finished(&self, now: Nanos) -> bool {
        self.in_flight == 0 && self.schedule.is_spent(now)
    }

    /// Whether a slot waits for a request.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The slot's connection was established, and secured if it was to be; says whether it can be used.
    pub(crate) fn opened(&mut self, index: u32, now: Nanos, security: Option<Security>) -> bool {
        let slot = &mut self.slots[index as usize];
        let established = security.as_ref().map_or(now, |security| security.began);
        self.recorder.times.connect.record((established - slot.began).0);
        if let Some(security) = &security {
            self.recorder.secured(security, now);
        }
        self.protocol.open(&mut slot.line);
        slot.state = State::Greeting;
        self.agreed(index)
    }

    /// Lets the slot's connection be used unless something has to be answered first; says whether it can be.
    fn agreed(&mut self, index: u32) -> bool {
        let slot = &mut self.slots[index as usize];
        if slot.line.is_greeting() {
            return false;
        }
        slot.state = State::Open;
        slot.deadline = Nanos::MAX;
        self.connected += 1;
        self.list(index);
        true
    }

    /// The slot's connection is gone; returns how many in a row were of no use.
    pub(crate) fn vacated(&mut self, index: u32) -> u8 {
        let slot = &mut self.slots[index as usize];
        self.connected -= usize::from(slot.is_connected());
        slot.vacate();
        slot.failures
    }

    /// The slot's connection is lost in this way, and with it all that is in flight.
    pub(crate) fn lose(&mut self, index: u32, now: Nanos, loss: Loss) {
        if self.was_ended_as_idle(index, loss) {
            return self.take_back(index, now);
        }
        let line = &mut self.slots[index as usize].line;
        self.in_flight -= line.in_flight();
        for (place, flight) in (0..).zip(self.flights.row(index)).filter(|(_, flight)| flight.live) {
            flight.live = false;
            self.recorder.failed(flight, line.class_of(place, loss), now);
        }
        line.begin_anew();
    }

    /// Whether the server has ended the slot's connection for its idleness before this window, just when requests went out on it: no
    /// byte of an answer has come since. A client sends them again (RFC 9112 §9.3.1), and a server that may close idle connections
    /// when it likes (§9.5) has failed nothing.
    fn was_ended_as_idle(&mut self, index: u32, loss: Loss) -> bool {
        let is_by_server = matches!(loss, Loss::Reset | Loss::SendReset | Loss::Of(ErrorClass::EarlyEof));
        let is_silent = |flight: &Flight| !flight.live || flight.first_byte == Nanos::ZERO;
        is_by_server && self.slots[index as usize].rested && self.flights.row(index).iter().all(is_silent)
    }

    /// Gives back what is in flight on the slot, to be sent again on another connection, the oldest first where places are a ring.
    fn take_back(&mut self, index: u32, now: Nanos) {
        let oldest = self.slots[index as usize].line.oldest().unwrap_or_default();
        let row = self.flights.row(index);
        let (later, earlier) = row.split_at(oldest as usize);
        let flights: Vec<Flight> =
            earlier.iter().chain(later).filter(|flight| flight.live).copied().collect();
        row.iter_mut().for_each(|flight| flight.live = false);
        self.in_flight -= flights.len();
        flights.iter().rev().for_each(|flight| self.give_back(flight, now));
        self.slots[index as usize].line.begin_anew();
    }

    /// The request is to be sent once more: the server has not looked at it.
    /// A request that has been given back for as long as an answer may take is not sent again, else it would never end.
    fn give_back(&mut self, flight: &Flight, now: Nanos) {
        let first = flight.sent_first.unwrap_or(flight.sent);
        if now - first >= self.timeout {
            self.recorder.failed(flight, ErrorClass::SendTimeout, now);
            let why = "the server gave the request back each time, unlooked at (GOAWAY, REFUSED_STREAM, Connection: close)";
            return self.recorder.sample(ErrorClass::SendTimeout, &[], || why.to_owned());
        }
        self.recorder.returned(flight, now);
        let Flight { intended, noticed, .. } = *flight;
        self.schedule.give_back(Due { intended, noticed, sent_first: Some(first) });
    }

    /// The slot's connection cannot go on for a fault of TLS.
    pub(crate) fn lost_security(&mut self, index: u32, fault: TlsFault, now: Nanos) {
        if self.slots[index as usize].line.in_flight() > 0 {
            self.recorder.sample(fault.into(), &[], || fault.to_string());
        }
        self.lose(index, now, Loss::Of(fault.into()));
    }

    /// A request that would have gone out on the slot's connection, which could not be made or used, fails with it.
    /// Says whether there was one; there is none for a slot that is left idle.
    pub(crate) fn fail_due(&mut self, index: u32, class: ErrorClass, now: Nanos) -> bool {
        let is_due = index < self.idle_from && self.schedule.take(now).is_some();
        if is_due {
            self.recorder.failed_unsent(class, 1, now);
        }
        is_due
    }

    /// The end: nothing more will be sent or received.
    pub(crate) fn close_books(&mut self, now: Nanos) {
        self.flights.live().for_each(|flight| self.recorder.censored(flight, now));
        let connected = self.slots.iter().any(|slot| matches!(slot.state, State::Open | State::Closing));
        let class = if connected { ErrorClass::UnsentEnd } else { ErrorClass::UnsentNoConnection };
        while let Some(due) = self.schedule.take_unsent() {
            self.recorder.unsent(due, class, now);
        }
        self.recorder.failed_unsent(ErrorClass::UnsentEnd, self.schedule.given_up(), now);
    }

    /// Forgets the requests that are still in flight, whose end is in the books, and names their slots.
    pub(crate) fn give_up(&mut self) -> Vec<u32> {
        let mut given_up = Vec::new();
        for (index, slot) in (0..).zip(&mut self.slots) {
            if slot.line.in_flight() > 0 {
                self.flights.row(index).iter_mut().for_each(|flight| flight.live = false);
                slot.line.begin_anew();
                given_up.push(index);
            }
        }
        self.in_flight = 0;
        given_up
    }

    /// Whether another request may be issued on the slot.
    #[inline]
    fn can_take(&self, index: u32) -> bool {
        let slot = &self.slots[index as usize];
        slot.state == State::Open
            && !slot.ending
            && index < self.idle_from
            && slot.issued < self.most
            && self.protocol.room(&slot.line, A::OPEN) > 0
    }

    /// Whether the slot's connection is idle and takes no request, though more may be sent on it.
    #[inline]
    fn is_barred(&self, index: u32) -> bool {
        let slot = &self.slots[index as usize];
        P::MAY_BAR
            && slot.state == State::Open
            && index < self.idle_from
            && slot.issued < self.most
            && slot.line.in_flight() == 0
            && self.protocol.room(&slot.line, A::OPEN) == 0
    }

    #[inline]
    fn list(&mut self, index: u32) {
        if !self.slots[index as usize].listed && self.can_take(index) {
            self.slots[index as usize].listed = true;
            self.ready.push_back(index);
        }
    }
}
