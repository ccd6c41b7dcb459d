//! The protocol of one thread's connections, without I/O: bytes and times in, requests and decisions out.
//!
//! Every request that is issued ends in exactly one of: answered, failed with a class, or in flight.

use std::collections::VecDeque;

use assay_model::load::ErrorClass;
use assay_model::units::Nanos;

use crate::arrivals::Arrivals;
use crate::plan::Reuse;
use crate::reader::{Advance, Answer, Malformed};
use crate::recorder::Recorder;
use crate::request::TRAIN_REQUESTS;
use crate::schedule::{Hours, Schedule};
use crate::slot::{Flight, Flights, Slot, State};
use crate::traffic::Traffic;

/// How long a connection that has done its duty waits for the server to close it.
pub(crate) const LINGER: Nanos = Nanos::from_millis(100);

/// Parts of one send; the engines take as many at once.
const PARTS: usize = 16;

/// One thread's connections and what travels on them.
pub(crate) struct Session<A> {
    pub(crate) slots: Vec<Slot>,
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
}

/// What is to be done with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Go on.
    Keep,
    /// Drop the next so many bytes unseen, and tell when that is done ([`Session::skipped`]).
    Skip(u64),
    /// Wait until the given time for the server to close it.
    Linger(Nanos),
    /// Reset it.
    Abort,
}

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
    pub(crate) fn new(
        slots: usize,
        depth: u32,
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
            flights: Flights::new(slots, depth as usize),
            ready: VecDeque::with_capacity(slots),
            schedule,
            recorder,
            traffic,
            timeout,
            most,
            in_flight: 0,
            connected: 0,
        }
    }

    /// Requests submitted and not answered.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Connections that are established.
    pub(crate) fn connected(&self) -> usize {
        self.connected
    }

    /// Starts the schedule; in the window at most `quota` requests become due.
    pub(crate) fn begin(&mut self, hours: Hours, quota: u64) {
        self.schedule.begin(hours, quota);
        self.recorder.begin(hours.window, hours.end);
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

    /// The slot's connection was established.
    pub(crate) fn opened(&mut self, index: u32, now: Nanos) {
        let slot = &mut self.slots[index as usize];
        self.recorder.times.connect.record((now - slot.began).0);
        slot.state = State::Open;
        slot.deadline = Nanos::MAX;
        self.connected += 1;
        self.list(index);
    }

    /// The slot's connection is gone; returns how many in a row were of no use.
    pub(crate) fn vacated(&mut self, index: u32) -> u8 {
        let slot = &mut self.slots[index as usize];
        self.connected -= usize::from(slot.is_connected());
        slot.vacate();
        slot.failures
    }

    /// Issues what is due on the next slot that can take it, and returns the slot. A closed loop fills its pipeline; an open
    /// model issues one request and lets the next go to another connection.
    #[inline]
    pub(crate) fn issue(&mut self, now: Nanos) -> Option<u32> {
        while let Some(&index) = self.ready.front() {
            let issued = self.issue_on(index, now);
            let slot = &mut self.slots[index as usize];
            if issued == 0 && slot.can_take(self.flights.depth(), self.most) {
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
        let room = if slot.can_take(self.flights.depth(), self.most) {
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

    /// The slot's connection broke: `fault` tells the class of a request by its state.
    pub(crate) fn fail_flights(&mut self, index: u32, now: Nanos, fault: impl Fn(&Slot, u16) -> ErrorClass) {
        let slot = &mut self.slots[index as usize];
        for i in 0..slot.in_flight {
            let class = fault(slot, i);
            self.recorder.failed(self.flights.get(index as usize, slot, i), class, now);
        }
        self.in_flight -= slot.in_flight as usize;
        slot.in_flight = 0;
        slot.unaccepted = 0;
    }

    /// A request that would have gone out on a connection that could not be made fails with it.
    pub(crate) fn fail_due(&mut self, class: ErrorClass, now: Nanos) {
        if self.schedule.take(now).is_some() {
            self.recorder.failed_unsent(class, 1, now);
        }
    }

    /// The end: nothing more will be sent or received.
    pub(crate) fn close_books(&mut self, now: Nanos) {
        for (index, slot) in self.slots.iter().enumerate() {
            (0..slot.in_flight).for_each(|i| self.recorder.censored(self.flights.get(index, slot, i), now));
        }
        let connected = self.slots.iter().any(|slot| matches!(slot.state, State::Open | State::Closing));
        let class = if connected { ErrorClass::UnsentEnd } else { ErrorClass::UnsentNoConnection };
        while A::OPEN
            && let Some(due) = self.schedule.take(now)
        {
            self.recorder.unsent(due, class, now);
        }
        self.recorder.failed_unsent(ErrorClass::UnsentEnd, self.schedule.given_up(), now);
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

    #[inline]
    fn list(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if !slot.listed && slot.can_take(self.flights.depth(), self.most) {
            slot.listed = true;
            self.ready.push_back(index);
        }
    }
}

impl Slot {
    /// Whether another request may be issued on it.
    #[inline]
    fn can_take(&self, depth: usize, most: u32) -> bool {
        self.state == State::Open
            && (self.in_flight as usize) < depth
            && self.unaccepted == 0
            && self.issued < most
    }

    /// The class of a request that waited too long: number `i` of those in flight.
    pub(crate) fn timeout_class(&self, i: u16) -> ErrorClass {
        if i == 0 && self.reader.is_in_body() { ErrorClass::BodyTimeout } else { ErrorClass::HeadTimeout }
    }

    /// The class of a request whose connection was reset.
    pub(crate) fn reset_class(&self, i: u16) -> ErrorClass {
        if i == 0 && self.reader.is_in_body() {
            ErrorClass::ResetInBody
        } else if i >= self.in_flight - self.unaccepted {
            ErrorClass::SendReset
        } else {
            ErrorClass::ResetBeforeHead
        }
    }
}

/// Kinds beyond 64 share bits: then a first response may be recognised by its template without having been parsed once on
/// this very connection.
fn kind_bit(kind: u32) -> u64 {
    1 << (kind % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Closed;
    use crate::traffic::Numbering;
    use assay_model::load::Checking;
    use assay_model::workload::{Expect, RequestKind};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const TIMEOUT: Nanos = Nanos(1000);

    /// One open connection of depth 3 at time 10, with requests of 100 bytes of body.
    fn session(most: u32) -> Session<Closed> {
        let expect = Expect { body: Some("ok".into()), ..Expect::default() };
        let body = Some("x".repeat(100));
        let kind = RequestKind {
            weight: 1,
            method: "PUT".into(),
            path: "/".into(),
            headers: Vec::new(),
            body,
            expect,
        };
        let numbering = Numbering { seed: 0, thread: 0, threads: 1 };
        let traffic =
            Traffic::new(&[kind], "h", Checking::Full, numbering, ChaCha8Rng::seed_from_u64(0)).unwrap();
        let recorder = Recorder::new(false, Nanos(1_000_000));
        let schedule = Schedule::new(Closed);
        let mut session = Session::new(1, 3, Reuse::Requests(most), TIMEOUT, schedule, recorder, traffic);
        session.begin(Hours { start: Nanos(10), window: Nanos(10), end: Nanos::MAX }, u64::MAX);
        session.opened(0, Nanos(10));
        session
    }

    fn send_all(session: &mut Session<Closed>, now: u64) -> usize {
        let mut sent = 0;
        while session.issue(Nanos(now)).is_some() {
            let bytes = session.parcel(0).bytes;
            session.accepted(0, bytes);
            sent += bytes;
        }
        sent
    }

    fn errors(session: &Session<Closed>) -> Vec<(ErrorClass, u64)> {
        session.recorder.total.errors().into_iter().collect()
    }

    #[test]
    fn a_pipeline_is_filled_and_refilled_as_answers_come() {
        let mut session = session(u32::MAX);
        let three = send_all(&mut session, 10);
        assert_eq!((session.in_flight(), send_all(&mut session, 11)), (3, 0));
        let (used, fate) = session.received(0, &[OK, OK, &OK[..7]].concat(), Nanos(20));
        assert_eq!((used, fate, session.in_flight()), (2 * OK.len(), Fate::Keep, 1));
        assert_eq!(send_all(&mut session, 20) * 3, three * 2);
        assert_eq!((session.recorder.total.ok, session.schedule.issued()), (2, 5));
    }

    #[test]
    fn a_parcel_goes_on_where_the_engine_stopped_accepting() {
        let mut session = session(u32::MAX);
        session.issue(Nanos(10));
        let whole: Vec<u8> = session.parcel(0).parts().concat();
        let mut sent = Vec::new();
        while session.slots[0].unaccepted > 0 {
            let piece = session.parcel(0).parts().concat();
            let n = piece.len().min(77);
            sent.extend_from_slice(&piece[..n]);
            session.accepted(0, n);
        }
        assert_eq!(sent, whole);
    }

    #[test]
    fn a_reset_is_told_apart_by_what_had_left_and_what_had_come() {
        let mut session = session(u32::MAX);
        session.issue(Nanos(10));
        let bytes = session.parcel(0).bytes;
        session.accepted(0, bytes / 3 * 2 + 5);
        session.received(0, &OK[..OK.len() - 1], Nanos(20));
        session.fail_flights(0, Nanos(30), Slot::reset_class);
        let classes = [ErrorClass::SendReset, ErrorClass::ResetBeforeHead, ErrorClass::ResetInBody];
        assert_eq!(errors(&session), classes.map(|class| (class, 1)));
        assert_eq!(session.in_flight(), 0);
    }

    #[test]
    fn an_answer_before_its_request_has_left_ends_the_connection() {
        let mut session = session(1);
        session.issue(Nanos(10));
        session.accepted(0, 20);
        assert_eq!(session.received(0, OK, Nanos(20)), (OK.len(), Fate::Abort));
        assert_eq!((session.recorder.total.ok, session.in_flight()), (1, 0));
    }

    #[test]
    fn a_surplus_byte_spoils_the_last_answer() {
        let mut session = session(u32::MAX);
        send_all(&mut session, 10);
        let bytes = [OK, OK, OK, b"H"].concat();
        assert_eq!(session.received(0, &bytes, Nanos(20)), (bytes.len(), Fate::Abort));
        assert_eq!((session.recorder.total.ok, errors(&session)), (2, vec![(ErrorClass::Parse, 1)]));
    }

    #[test]
    fn a_deadline_belongs_to_the_oldest_request() {
        let mut session = session(u32::MAX);
        send_all(&mut session, 10);
        assert_eq!(session.slots[0].deadline, Nanos(10) + TIMEOUT);
        session.received(0, &[OK, OK].concat(), Nanos(20));
        send_all(&mut session, 25);
        session.received(0, OK, Nanos(30));
        assert_eq!(session.slots[0].deadline, Nanos(25) + TIMEOUT);
        session.received(0, &[OK, OK].concat(), Nanos(40));
        assert_eq!((session.in_flight(), session.slots[0].deadline), (0, Nanos::MAX));
    }

    #[test]
    fn the_last_request_of_a_connection_asks_to_close_and_the_connection_lingers() {
        let mut session = session(2);
        session.issue(Nanos(10));
        let text = String::from_utf8(session.parcel(0).parts().concat()).unwrap();
        assert_eq!((text.matches("PUT").count(), text.matches("Connection: close").count()), (2, 1));
        let bytes = session.parcel(0).bytes;
        session.accepted(0, bytes);
        let fate = session.received(0, &[OK, OK].concat(), Nanos(20)).1;
        assert_eq!((fate, session.issue(Nanos(21))), (Fate::Linger(Nanos(20) + LINGER), None));
        assert_eq!(session.received(0, b"x", Nanos(22)), (1, Fate::Abort));
        assert_eq!((session.recorder.unsolicited, session.recorder.total.failed()), (1, 0));
    }
}
