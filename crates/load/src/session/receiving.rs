//! What is received: bytes become answers, and answers become entries in the books.

use assay_model::load::ErrorClass;
use assay_model::units::Nanos;

use super::{Fate, LINGER, Session};
use crate::arrivals::Arrivals;
use crate::reader::{Advance, Answer, Malformed};
use crate::slot::State;

impl<A: Arrivals> Session<A> {
    /// Whether bytes of the slot's connection are being dropped.
    #[inline]
    pub(crate) fn is_skipping(&self, index: u32) -> bool {
        self.slots[index as usize].reader.is_skipping()
    }

    /// All bytes that were to be dropped have been; what came behind them can be read.
    pub(crate) fn skipped(&mut self, index: u32) {
        self.slots[index as usize].reader.skipped();
    }

    /// Reads what came on a slot's connection; returns how many bytes are dealt with, and what becomes of it.
    pub(crate) fn received(&mut self, index: u32, view: &[u8], now: Nanos) -> (usize, Fate) {
        let mut used = 0;
        while used < view.len() || self.slots[index as usize].reader.has_ended() {
            let slot = &mut self.slots[index as usize];
            let rest = &view[used..];
            if slot.in_flight == 0 {
                return (view.len(), self.unsolicited(rest));
            }
            if slot.first_byte == Nanos::ZERO {
                slot.first_byte = now;
            }
            let flight = self.flights.get(index as usize, slot, 0);
            let trusted = slot.proven & kind_bit(flight.kind) != 0;
            match slot.reader.advance(self.traffic.judge(flight), trusted, rest) {
                Ok(Advance::More(n)) => return (used + n, slot.reader.skip().map_or(Fate::Keep, Fate::Skip)),
                Ok(Advance::Done(n, answer)) => {
                    used += n;
                    if slot.in_flight == 1 && used < view.len() {
                        return (view.len(), self.malformed(index, Malformed::Trailing, &view[used..], now));
                    }
                    match self.answered(index, answer, rest, now) {
                        Fate::Keep => {}
                        fate => return (used, fate),
                    }
                }
                Err(error) => return (view.len(), self.malformed(index, error, rest, now)),
            }
        }
        (used, Fate::Keep)
    }

    /// The server has ended the slot's connection in the ordinary way.
    pub(crate) fn ended(&mut self, index: u32, now: Nanos) {
        let slot = &mut self.slots[index as usize];
        if slot.in_flight > 0 {
            let flight = self.flights.get(index as usize, slot, 0);
            if let Some(answer) = slot.reader.end(self.traffic.judge(flight)) {
                self.answered(index, answer, &[], now);
            }
        }
        self.fail_flights(index, now, |_, _| ErrorClass::EarlyEof);
    }

    /// Takes note of the answer to the slot's oldest request.
    #[inline]
    fn answered(&mut self, index: u32, answer: Answer, bytes: &[u8], now: Nanos) -> Fate {
        let slot = &mut self.slots[index as usize];
        let flight = *self.flights.get(index as usize, slot, 0);
        match answer.verdict {
            Ok(body_bytes) => {
                slot.proven |= kind_bit(flight.kind);
                self.recorder.succeeded(&flight, slot.first_byte, now, body_bytes, answer.depth);
            }
            Err(class) => {
                self.recorder.failed(&flight, class, now);
                let judge = self.traffic.judge(&flight);
                self.recorder.sample(class, bytes, || {
                    let expected = judge.expectation(class);
                    format!(
                        "expected {expected}, got status {} with {} bytes",
                        answer.status, answer.received
                    )
                });
            }
        }
        // An answer to a request that has not left: what is left of it would be taken for the next one.
        let premature = slot.unaccepted == slot.in_flight;
        slot.answered = true;
        slot.first_byte = Nanos::ZERO;
        self.flights.pop(slot);
        self.in_flight -= 1;
        slot.deadline = match slot.in_flight {
            0 => Nanos::MAX,
            _ => self.flights.get(index as usize, slot, 0).sent + self.timeout,
        };
        if premature {
            self.fail_flights(index, now, |_, _| ErrorClass::ResetBeforeHead);
            return Fate::Abort;
        }
        if !answer.keeps_alive {
            slot.state = State::Closing;
        }
        self.go_on(index, now)
    }

    #[inline]
    fn go_on(&mut self, index: u32, now: Nanos) -> Fate {
        let slot = &mut self.slots[index as usize];
        let done = slot.state == State::Closing || slot.issued >= self.most;
        if done && slot.in_flight == 0 {
            slot.state = State::Lingering;
            slot.deadline = now + LINGER;
            return Fate::Linger(slot.deadline);
        }
        self.list(index);
        Fate::Keep
    }

    /// The stream of a connection cannot be understood any more: whatever is in flight on it is lost with it.
    fn malformed(&mut self, index: u32, error: Malformed, bytes: &[u8], now: Nanos) -> Fate {
        self.recorder.sample(ErrorClass::Parse, bytes, || error.to_string());
        self.fail_flights(index, now, |_, _| ErrorClass::Parse);
        Fate::Abort
    }

    /// Bytes that no request asked for. No request is to blame, so the books do not change; the connection is not trusted.
    fn unsolicited(&mut self, bytes: &[u8]) -> Fate {
        self.recorder.unsolicited += 1;
        self.recorder.sample(ErrorClass::Parse, bytes, || Malformed::Unsolicited.to_string());
        Fate::Abort
    }
}

/// Kinds beyond 64 share bits: then a first response may be recognised by its template without having been parsed once on
/// this very connection.
fn kind_bit(kind: u32) -> u64 {
    1 << (kind % 64)
}
