//! What is received: bytes become answers, and answers become entries in the books.

use assay_model::load::ErrorClass;
use assay_model::units::Nanos;

use super::{Fate, LINGER, Session};
use crate::arrivals::Arrivals;
use crate::inspection::Answer;
use crate::protocol::{Breach, End, Line, Loss, Protocol, Received};
use crate::slot::{Flight, State};

/// The status with which a server ends a connection on which no request came (RFC 9110 §15.5.9).
const REQUEST_TIMEOUT: u16 = 408;

/// What is said of a server that goes on behind an answer with which it ends the connection.
const BEHIND_THE_LAST: &str = "bytes follow the last answer of a connection";

impl<A: Arrivals, P: Protocol> Session<A, P> {
    /// Whether bytes of the slot's connection are being dropped.
    #[inline]
    pub(crate) fn is_skipping(&self, index: u32) -> bool {
        self.slots[index as usize].line.is_skipping()
    }

    /// All bytes that were to be dropped have been; what came behind them can be read.
    pub(crate) fn skipped(&mut self, index: u32) {
        self.slots[index as usize].line.skipped();
    }

    /// Reads what came on a slot's connection, of whose bytes to send the engine still holds so many; returns how many bytes are dealt
    /// with, and what becomes of it.
    pub(crate) fn received(&mut self, index: u32, held: u64, view: &[u8], now: Nanos) -> (usize, Fate) {
        let mut read = 0;
        let unleft = if held > 0 { self.unleft(index, held) } else { 0 };
        while read < view.len() || self.slots[index as usize].line.has_news() {
            let rest = &view[read..];
            let line = &mut self.slots[index as usize].line;
            let progress = self.protocol.receive(line, self.flights.row(index), &mut self.traffic, rest, now);
            match progress {
                Ok(Received::More(used)) => return (read + used, self.rest(index, now)),
                Ok(Received::Ended { used, place, end }) => {
                    read += used;
                    let end = match end {
                        // It is one of those that have not left.
                        End::Answered(answer) if unleft > line.in_flight() => End::Premature(answer),
                        end => end,
                    };
                    match self.ended_one(index, place, end, rest.split_at(used), now) {
                        Fate::Keep => {}
                        fate => return (read, fate),
                    }
                }
                Err(breach) => return (view.len(), self.breached(index, breach, rest, now)),
            }
        }
        (read, self.keep(index, now))
    }

    /// How many of the slot's requests in flight have not wholly left, as the engine holds so many bytes.
    #[cold]
    fn unleft(&mut self, index: u32, held: u64) -> usize {
        let line = &self.slots[index as usize].line;
        self.protocol.unleft(line, self.flights.row(index), &self.traffic, held)
    }

    /// Nothing more can be told before other bytes come.
    #[inline]
    fn rest(&mut self, index: u32, now: Nanos) -> Fate {
        let slot = &self.slots[index as usize];
        if slot.state == State::Greeting && slot.line.is_closing() {
            // It was ended with the answer to what was said first, so it was never made.
            self.refusal = slot.line.last_words().unwrap_or_default();
            return Fate::Decline;
        }
        match self.slots[index as usize].line.skip() {
            Some(bytes) => Fate::Skip(bytes),
            None => match self.go_on(index, now) {
                Fate::Keep => self.keep(index, now),
                fate => fate,
            },
        }
    }

    /// What was said first may have been answered: then the slot's connection can be used, and goes on like this.
    pub(crate) fn greeted(&mut self, index: u32, now: Nanos) -> Option<Fate> {
        self.agreed(index).then(|| self.keep(index, now))
    }

    /// The connection goes on. One that takes no request is not waited for longer than for an answer.
    #[inline]
    fn keep(&mut self, index: u32, now: Nanos) -> Fate {
        if self.slots[index as usize].deadline != Nanos::MAX || !self.is_barred(index) {
            return Fate::Keep;
        }
        let until = now + self.timeout;
        self.slots[index as usize].deadline = until;
        Fate::Await(until)
    }

    /// The server has ended the slot's connection in the ordinary way.
    pub(crate) fn ended(&mut self, index: u32, now: Nanos) {
        let line = &mut self.slots[index as usize].line;
        if let Some((place, answer)) = self.protocol.end(line, self.flights.row(index), &mut self.traffic) {
            self.ended_one(index, place, End::Last(answer), (&[], &[]), now);
        }
        let line = &self.slots[index as usize].line;
        if line.in_flight() > 0
            && let Some(words) = line.last_words()
        {
            self.recorder.sample(ErrorClass::EarlyEof, &[], || words);
        }
        self.lose(index, now, Loss::Of(ErrorClass::EarlyEof));
    }

    /// The request at a place of the slot has ended, with the first of these bytes; the others came behind it.
    #[inline]
    fn ended_one(
        &mut self,
        index: u32,
        place: u16,
        end: End,
        (bytes, behind): (&[u8], &[u8]),
        now: Nanos,
    ) -> Fate {
        let row = self.flights.row(index);
        row[place as usize].live = false;
        let flight = row[place as usize];
        self.in_flight -= 1;
        let slot = &mut self.slots[index as usize];
        slot.deadline = match slot.line.oldest() {
            Some(oldest) => self.flights.row(index)[oldest as usize].sent + self.timeout,
            None => Nanos::MAX,
        };
        match end {
            End::Answered(answer) | End::Last(answer) if self.is_notice_of_idleness(index, &answer) => {
                self.take_back(index, now);
                self.give_back(&flight, now);
                return Fate::Abort;
            }
            End::Answered(answer) => self.answered(index, &flight, answer, bytes, now),
            End::Last(answer) => {
                self.answered(index, &flight, answer, bytes, now);
                self.take_back(index, now);
                self.slots[index as usize].state = State::Closing;
                if !behind.is_empty() {
                    let breach = Breach::Malformed(BEHIND_THE_LAST.to_owned());
                    return self.breached(index, breach, behind, now);
                }
            }
            End::Premature(answer) => {
                self.answered(index, &flight, answer, bytes, now);
                self.lose(index, now, Loss::Of(ErrorClass::ResetBeforeHead));
                return Fate::Abort;
            }
            End::Malformed(why) => self.failed(&flight, ErrorClass::Parse, why, bytes, now),
            End::Wrong(class, words) => {
                self.slots[index as usize].answered = true;
                self.failed(&flight, class, &words, bytes, now);
            }
            // What came with its end may be of other requests.
            End::Failed(class, words) => self.failed(&flight, class, &words, &[], now),
            End::Returned => self.give_back(&flight, now),
        }
        self.go_on(index, now)
    }

    #[cold]
    fn failed(&mut self, flight: &Flight, class: ErrorClass, why: &str, bytes: &[u8], now: Nanos) {
        self.recorder.failed(flight, class, now);
        self.recorder.sample(class, bytes, || why.to_owned());
    }

    /// Gives up what has been waited for too long, while the engine still holds so many of the connection's bytes to send; says what
    /// becomes of it.
    pub(crate) fn expire(&mut self, index: u32, held: u64, now: Nanos) -> Fate {
        if self.slots[index as usize].line.in_flight() == 0 {
            return self.expire_idle(index, now);
        }
        let slot = &mut self.slots[index as usize];
        while let Some(place) = slot.line.oldest() {
            let flight = &mut self.flights.row(index)[place as usize];
            if flight.sent + self.timeout > now {
                slot.deadline = flight.sent + self.timeout;
                self.list(index);
                return Fate::Keep;
            }
            let class = slot.line.class_of(place, Loss::TimedOut);
            if !slot.line.cancel(place) {
                break;
            }
            flight.live = false;
            self.in_flight -= 1;
            self.recorder.failed(flight, class, now);
        }
        // Nothing on it was answered in time, or nothing more can be.
        let unleft = self.unleft(index, held);
        self.slots[index as usize].line.give_up_unleft(unleft);
        self.lose(index, now, Loss::TimedOut);
        Fate::Abort
    }

    /// A connection that took no request takes some by now, or is given up, and the request that was due on it fails.
    #[cold]
    fn expire_idle(&mut self, index: u32, now: Nanos) -> Fate {
        if !self.is_barred(index) {
            self.list(index);
            return Fate::Keep;
        }
        if self.fail_due(index, ErrorClass::SendTimeout, now) {
            let why = match self.slots[index as usize].line.has_unsent() {
                true => "the server does not read what was sent on the connection before",
                false => "the server takes no request on the connection (SETTINGS_MAX_CONCURRENT_STREAMS)",
            };
            self.recorder.sample(ErrorClass::SendTimeout, &[], || why.to_owned());
        }
        Fate::Abort
    }

    /// Takes note of the answer to a request.
    #[inline]
    fn answered(&mut self, index: u32, flight: &Flight, answer: Answer, bytes: &[u8], now: Nanos) {
        let slot = &mut self.slots[index as usize];
        (slot.answered, slot.rested) = (true, false);
        match answer.verdict {
            Ok(body_bytes) => self.recorder.succeeded(flight, now, body_bytes, answer.depth),
            Err(class) => {
                self.recorder.failed(flight, class, now);
                let judge = self.traffic.judge(flight);
                self.recorder.sample(class, bytes, || {
                    let expected = judge.expectation(class);
                    match answer.status {
                        0 => format!("expected {expected}, got a message of {} bytes", answer.received),
                        status => {
                            format!("expected {expected}, got status {status} with {} bytes", answer.received)
                        }
                    }
                });
            }
        }
    }

    /// Whether a server tells that no request came for too long on a connection that was idle before this window (RFC 9110
    /// §15.5.9), just when one went out on it.
    #[inline]
    fn is_notice_of_idleness(&self, index: u32, answer: &Answer) -> bool {
        answer.status == REQUEST_TIMEOUT && self.slots[index as usize].rested
    }

    /// Sees what the connection can do next: take another request, or end when all is answered.
    #[inline]
    fn go_on(&mut self, index: u32, now: Nanos) -> Fate {
        let slot = &mut self.slots[index as usize];
        if slot.state == State::Open && slot.line.is_closing() {
            slot.state = State::Closing;
        }
        let done = slot.state == State::Closing || slot.issued >= self.most;
        if done && slot.state != State::Lingering && slot.line.in_flight() == 0 {
            slot.line.finish();
            slot.state = State::Lingering;
            slot.deadline = now + LINGER;
            return Fate::Linger(slot.deadline);
        }
        self.list(index);
        Fate::Keep
    }

    fn breached(&mut self, index: u32, breach: Breach, bytes: &[u8], now: Nanos) -> Fate {
        let is_greeting = self.slots[index as usize].state == State::Greeting;
        match breach {
            // Whatever comes with the answer to what was said first: the connection was never made.
            Breach::Declined(why) | Breach::Malformed(why) if is_greeting => {
                self.refusal = why;
                return Fate::Decline;
            }
            // Where none is in flight, no request is to blame, so the books do not change; the connection is not trusted.
            Breach::Malformed(why) => {
                let is_unasked = self.slots[index as usize].line.in_flight() == 0;
                self.recorder.unsolicited += u64::from(is_unasked);
                self.recorder.sample(P::MALFORMED, bytes, || why);
                self.lose(index, now, Loss::Of(P::MALFORMED));
            }
            // No request was lost, and the next one has a new connection.
            Breach::Idle => {}
            Breach::Declined(why) => {
                self.refusal = why;
                return Fate::Decline;
            }
        }
        Fate::Abort
    }
}
