//! What is sent: due requests are given to connections, and their bytes to the engine, as far as it takes them.

use assay_model::units::Nanos;

use super::{Session, takes_below};
use crate::arrivals::Arrivals;
use crate::request::TRAIN_REQUESTS;
use crate::slot::{Flight, Slot};

/// Parts of one send; the engines take as many at once.
const PARTS: usize = 16;

/// Bytes that are to leave on a connection.
pub(crate) struct Parcel<'a> {
    parts: [&'a [u8]; PARTS],
    len: usize,
    pub(crate) bytes: usize,
}

impl<'a> Parcel<'a> {
    fn of(part: &'a [u8]) -> Self {
        let mut parcel = Self { parts: [&[]; PARTS], len: 0, bytes: 0 };
        if !part.is_empty() {
            parcel.push(part);
        }
        parcel
    }

    #[inline]
    fn push(&mut self, part: &'a [u8]) {
        self.parts[self.len] = part;
        self.len += 1;
        self.bytes += part.len();
    }

    pub(crate) fn parts(&self) -> &[&'a [u8]] {
        &self.parts[..self.len]
    }
}

impl<A: Arrivals> Session<A> {
    /// Issues what is due on the next slot that can take it, and returns the slot. A closed loop fills its pipeline; an open
    /// model issues one request and lets the next go to another connection.
    #[inline]
    pub(crate) fn issue(&mut self, now: Nanos) -> Option<u32> {
        while let Some(&index) = self.ready.front() {
            let issued = self.issue_on(index, now);
            let slot = &mut self.slots[index as usize];
            if issued == 0 && slot.can_take(takes_below::<A>(self.flights.depth()), self.most) {
                return None;
            }
            slot.listed = false;
            self.ready.pop_front();
            if issued > 0 {
                return Some(index);
            }
        }
        None
    }

    fn issue_on(&mut self, index: u32, now: Nanos) -> usize {
        let slot = &mut self.slots[index as usize];
        let mut issued = 0;
        let room = if slot.can_take(takes_below::<A>(self.flights.depth()), self.most) {
            self.flights.depth() - slot.in_flight as usize
        } else {
            0
        };
        let wanted = if A::OPEN { room.min(1) } else { room };
        while issued < wanted && slot.issued < self.most {
            let Some(due) = self.schedule.take(now) else { break };
            slot.issued += 1;
            let is_last = slot.issued == self.most;
            self.flights.push(index as usize, slot, Flight::new(due, now, self.traffic.draw(), is_last));
            self.recorder.sent(now);
            if slot.in_flight == 1 {
                slot.deadline = now + self.timeout;
            }
            issued += 1;
        }
        self.in_flight += issued;
        issued
    }

    /// What of the slot's requests has not been accepted by the engine, as far as it fits one send.
    #[inline]
    pub(crate) fn parcel(&mut self, index: u32) -> Parcel<'_> {
        if self.traffic.varies() {
            let slot = &self.slots[index as usize];
            let flights = (slot.in_flight - slot.unaccepted..slot.in_flight)
                .map(|i| self.flights.get(index as usize, slot, i));
            return Parcel::of(self.traffic.write(flights, slot.accepted_bytes as usize));
        }
        self.fixed_parcel(index)
    }

    /// The same when every request is the same every time: nothing has to be written.
    #[inline]
    fn fixed_parcel(&self, index: u32) -> Parcel<'_> {
        let slot = &self.slots[index as usize];
        let mut parcel = Parcel::of(&[]);
        let mut i = slot.in_flight - slot.unaccepted;
        while i < slot.in_flight && parcel.len < PARTS {
            let flight = self.flights.get(index as usize, slot, i);
            let Some(fixed) = self.traffic.fixed(flight.kind) else { break };
            let begun = parcel.len == 0 && slot.accepted_bytes > 0;
            let (part, requests) = if begun {
                (&fixed.bytes(flight.is_last)[slot.accepted_bytes as usize..], 1)
            } else if flight.is_last {
                (fixed.bytes(true), 1)
            } else {
                fixed.several(self.run_length(index, slot, i))
            };
            parcel.push(part);
            i += requests as u16;
        }
        parcel
    }

    /// How many flights from number `i` on have the same bytes, as far as a train is long.
    #[inline]
    fn run_length(&self, index: u32, slot: &Slot, i: u16) -> usize {
        let kind = self.flights.get(index as usize, slot, i).kind;
        let same = |&j: &u16| {
            let flight = self.flights.get(index as usize, slot, j);
            flight.kind == kind && !flight.is_last
        };
        (i..slot.in_flight).take(TRAIN_REQUESTS).take_while(same).count()
    }

    /// The engine has handed over `at` this moment what was issued on the slot.
    #[inline]
    pub(crate) fn submitted(&mut self, index: u32, at: Nanos) {
        let flow = &mut self.recorder.flow;
        let slot = &self.slots[index as usize];
        self.flights.submitted(index as usize, slot, at, |thought| flow.postpone(thought, at));
    }

    /// The engine has accepted `bytes` of the slot's parcel. A slot takes no further request before it has accepted all.
    #[inline]
    pub(crate) fn accepted(&mut self, index: u32, mut bytes: usize) {
        let slot = &mut self.slots[index as usize];
        while bytes > 0 && slot.unaccepted > 0 {
            let flight = self.flights.get(index as usize, slot, slot.in_flight - slot.unaccepted);
            let missing = self.traffic.len(flight) - slot.accepted_bytes as usize;
            if bytes < missing {
                slot.accepted_bytes += bytes as u32;
                return;
            }
            bytes -= missing;
            slot.unaccepted -= 1;
            slot.accepted_bytes = 0;
        }
        // In a closed loop it is full by now, under an open model it may take another.
        self.list(index);
    }
}
