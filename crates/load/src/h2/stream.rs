//! The streams of a connection: which request each carries, how far its answer has come, and how it ends.

use std::collections::VecDeque;

use assay_h2::frame::{MAX_31, write_reset, write_window_update};
use assay_h2::hpack::Encoder;
use assay_h2::{Code, Connection, ConnectionError, Event, Why};
use assay_http::status;
use assay_model::load::ErrorClass;
use assay_model::units::Nanos;

use super::call::Call;
use super::given_up::GivenUp;
use super::head::{CheckedHead, MalformedAnswer, Memory, read_trailers};
use crate::inspection::Inspection;
use crate::protocol::End;
use crate::slot::Flight;
use crate::traffic::Traffic;

/// Bytes of a body after which its stream's window, 2 GiB at its beginning, is opened again.
const RENEWED_BYTES: u32 = 1 << 30;

/// What is said of a body whose length is not that which its head promises.
const WRONG_LENGTH: &str =
    "a body of another length than its content-length, or any to HEAD or with 204 or 304";

/// The streams of one connection.
pub(super) struct Streams {
    /// In the order in which they were opened.
    open: VecDeque<Stream>,
    /// Places of which none is in use.
    free: Vec<u16>,
    /// The number of the next one.
    next: u32,
    /// Answers under inspection, by place.
    inspections: Vec<Inspection>,
    /// What gRPC knows of them, by place too; empty where nothing is called.
    calls: Vec<Call>,
    /// Streams that have ended and have not been told of.
    ended: VecDeque<(u16, End)>,
    /// Streams that may still be written to though they have ended.
    given_up: GivenUp,
    memory: Memory,
    /// The server takes no more.
    closing: bool,
}

/// One request and its answer.
pub(super) struct Stream {
    id: u32,
    place: u16,
    /// The head of its answer; absent before that has come.
    head: Option<CheckedHead>,
    /// Bytes of the request's body that may be sent.
    pub(super) send_window: i64,
    /// Whether the whole request is written.
    pub(super) is_sent: bool,
    /// Bytes of the answer's body that the server has not been told of.
    taken: u32,
}

impl Stream {
    /// Whether the head of its answer has come.
    pub(super) fn is_in_body(&self) -> bool {
        self.head.is_some()
    }
}

/// What streams work with.
pub(super) struct Scene<'s> {
    pub(super) connection: &'s mut Connection,
    pub(super) encoder: &'s mut Encoder,
    pub(super) row: &'s mut [Flight],
    pub(super) traffic: &'s mut Traffic,
    pub(super) now: Nanos,
}

impl Streams {
    pub(super) fn new(depth: usize, is_called: bool) -> Self {
        let calls = if is_called { depth } else { 0 };
        Self {
            open: VecDeque::with_capacity(depth),
            free: (0..depth as u16).rev().collect(),
            next: 1,
            inspections: (0..depth).map(|_| Inspection::default()).collect(),
            calls: (0..calls).map(|_| Call::default()).collect(),
            ended: VecDeque::new(),
            given_up: GivenUp::default(),
            memory: Memory::default(),
            closing: false,
        }
    }

    /// Opens a stream, for which there is room; returns its number and its place. With `is_sent` its head is the whole request.
    #[inline]
    pub(super) fn open(&mut self, window: u32, is_sent: bool) -> (u32, u16) {
        let (id, place) = (self.next, self.free.pop().unwrap_or_default());
        let send_window = i64::from(window);
        if let Some(call) = self.calls.get_mut(place as usize) {
            call.begin_anew();
        }
        self.open.push_back(Stream { id, place, head: None, send_window, is_sent, taken: 0 });
        self.next += 2;
        // RFC 9113 §5.1.1: numbers are used up once, then another connection is needed.
        self.closing |= self.next > MAX_31 - 2;
        (id, place)
    }

    /// Streams that are open.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Requests that have not been told to have ended.
    #[inline]
    pub(super) fn in_flight(&self) -> usize {
        self.open.len() + self.ended.len()
    }

    /// Whether no more may be opened.
    #[inline]
    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    /// The place of the one that was opened first.
    #[inline]
    pub(super) fn oldest(&self) -> Option<u16> {
        self.open.front().map(|stream| stream.place)
    }

    /// The open stream with this number.
    #[inline]
    pub(super) fn get(&mut self, id: u32) -> Option<&mut Stream> {
        let at = self.find(id)?;
        self.open.get_mut(at)
    }

    /// The open stream at this place.
    pub(super) fn at(&self, place: u16) -> Option<&Stream> {
        self.open.iter().find(|stream| stream.place == place)
    }

    /// Whether one has ended and has not been told of.
    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// The next one that has ended; its place is free.
    #[inline]
    pub(super) fn next_ended(&mut self) -> Option<(u16, End)> {
        let (place, end) = self.ended.pop_front()?;
        self.free.push(place);
        Some((place, end))
    }

    /// Ends the stream at a place, of whose answer no more is wanted; says whether there was one.
    pub(super) fn cancel(&mut self, place: u16, connection: &mut Connection) -> bool {
        let Some(at) = self.open.iter().position(|stream| stream.place == place) else { return false };
        if let Some(stream) = self.open.remove(at) {
            self.reset(stream.id, Code::Cancel, connection);
        }
        self.free.push(place);
        true
    }

    /// Takes note of what has come.
    ///
    /// # Errors
    /// The connection cannot go on.
    #[inline]
    pub(super) fn take(&mut self, event: Event<'_>, scene: &mut Scene<'_>) -> Result<(), ConnectionError> {
        match event {
            Event::Data { stream, data, counted, end_stream } => {
                scene.connection.release(counted);
                self.take_data(stream, data, counted, end_stream, scene)
            }
            Event::Fields { stream, end_stream, block } => {
                self.take_fields(stream, end_stream, &block, scene)
            }
            Event::Reset { stream, code } => self.take_reset(stream, code, scene.connection),
            Event::Window { stream, increment } => self.widen(stream, increment, scene),
            Event::Settings { window_change } => {
                self.open.iter_mut().for_each(|stream| stream.send_window += window_change);
                scene.encoder.limit(scene.connection.theirs().header_table_bytes as usize);
                Ok(())
            }
            Event::GoAway { last, .. } => {
                self.give_back_above(last);
                Ok(())
            }
            Event::Spoilt { stream, code } => {
                self.spoil(stream, code, scene);
                Ok(())
            }
            Event::Nothing { .. } => Ok(()),
        }
    }

    /// The head or the trailers of an answer.
    #[inline]
    fn take_fields(
        &mut self,
        id: u32,
        end_stream: bool,
        block: &[u8],
        scene: &mut Scene<'_>,
    ) -> Result<(), ConnectionError> {
        let Some(at) = self.find(id) else {
            // Whatever becomes of it, what was compressed for it counts.
            scene.connection.decode(block, |_, _| ())?;
            return self.check_late(id);
        };
        let stream = &mut self.open[at];
        let flight = &mut scene.row[stream.place as usize];
        let call = self.calls.get_mut(stream.place as usize);
        if stream.head.is_some() {
            let trailers = read_trailers(scene.connection, block, call)?;
            return match (trailers, end_stream) {
                (Ok(()), true) => self.conclude(at, scene),
                (Ok(()), false) => {
                    self.malform(at, MalformedAnswer("trailers that do not end the stream"), scene)
                }
                (Err(malformed), _) => self.malform(at, malformed, scene),
            };
        }
        if flight.first_byte == Nanos::ZERO {
            flight.first_byte = scene.now;
        }
        let judge = scene.traffic.judge(flight);
        let facts = self.memory.read(scene.connection, flight.kind, block, judge, call)?;
        if !end_stream && let Some(call) = self.calls.get_mut(stream.place as usize) {
            call.forget_status();
        }
        let facts = match facts {
            Ok(facts) if (100..200).contains(&facts.status) => {
                let is_wrong = end_stream || facts.status == 101;
                return if is_wrong {
                    self.malform(at, MalformedAnswer("an interim answer that ends"), scene)
                } else {
                    Ok(())
                };
            }
            Ok(facts) => facts,
            Err(malformed) => return self.malform(at, malformed, scene),
        };
        // Such an answer may tell the length of another, and has no content (RFC 9110 §9.3.2, §15.3.5, §15.4.5).
        let is_bodiless = judge.is_head() || status::is_bodiless(facts.status);
        let length = if is_bodiless { Some(0) } else { facts.length };
        stream.head = Some(CheckedHead { length, ..facts });
        self.inspections[stream.place as usize].begin(facts.status, facts.fault);
        if end_stream { self.conclude(at, scene) } else { Ok(()) }
    }

    /// A part of an answer's body.
    #[inline]
    fn take_data(
        &mut self,
        id: u32,
        data: &[u8],
        counted: u32,
        end_stream: bool,
        scene: &mut Scene<'_>,
    ) -> Result<(), ConnectionError> {
        let Some(at) = self.find(id) else { return self.check_late(id) };
        let stream = &mut self.open[at];
        if stream.head.is_none() {
            return self.malform(at, MalformedAnswer("DATA before the head"), scene);
        }
        stream.taken += counted;
        if stream.taken >= RENEWED_BYTES && !end_stream {
            write_window_update(id, stream.taken, scene.connection.out());
            stream.taken = 0;
        }
        let judge = scene.traffic.judge(&scene.row[stream.place as usize]);
        let inspection = &mut self.inspections[stream.place as usize];
        match self.calls.get_mut(stream.place as usize) {
            Some(call) => call.take(data, inspection, judge),
            None => inspection.take(judge, data, end_stream),
        }
        if end_stream { self.conclude(at, scene) } else { Ok(()) }
    }

    /// The answer is complete.
    #[inline]
    fn conclude(&mut self, at: usize, scene: &mut Scene<'_>) -> Result<(), ConnectionError> {
        let stream = &self.open[at];
        let (id, place, is_sent) = (stream.id, stream.place, stream.is_sent);
        let flight = &scene.row[place as usize];
        let inspection = &mut self.inspections[place as usize];
        let call = self.calls.get(place as usize);
        let promised = stream.head.and_then(|head| head.length);
        let received = call.map_or(inspection.received(), Call::received);
        if promised.is_some_and(|length| length != received) {
            return self.malform(at, MalformedAnswer(WRONG_LENGTH), scene);
        }
        let judge = scene.traffic.judge(flight);
        let end = match call {
            Some(call) => call.end(inspection, judge),
            None => End::Answered(inspection.conclude(judge)),
        };
        if !is_sent {
            // RFC 9113 §8.1: it is answered, so the rest of the request is not wanted.
            write_reset(id, Code::NoError.number(), scene.connection.out());
        }
        scene.connection.answered();
        self.end(at, end);
        Ok(())
    }

    /// The server has ended a stream out of turn.
    fn take_reset(
        &mut self,
        id: u32,
        code: Code,
        connection: &mut Connection,
    ) -> Result<(), ConnectionError> {
        match self.find(id) {
            Some(at) if code == Code::RefusedStream => {
                connection.ended();
                self.end(at, End::Returned);
            }
            Some(at) => {
                connection.ended();
                let call = self.calls.get(self.open[at].place as usize);
                let end = call.map_or_else(|| reset_with(code), |call| call.reset(code));
                self.end(at, end);
            }
            None => return self.check_opened(id),
        }
        Ok(())
    }

    fn widen(&mut self, id: u32, increment: u32, scene: &mut Scene<'_>) -> Result<(), ConnectionError> {
        let Some(stream) = self.get(id) else { return Ok(()) };
        stream.send_window += i64::from(increment);
        if stream.send_window > i64::from(MAX_31) {
            self.spoil(id, Code::FlowControlError, scene);
        }
        Ok(())
    }

    /// The server takes no more streams; those above `last` it has not looked at.
    fn give_back_above(&mut self, last: u32) {
        self.closing = true;
        while let Some(at) = self.open.len().checked_sub(1).filter(|at| self.open[*at].id > last) {
            self.end(at, End::Returned);
        }
    }

    /// What came on a stream is no answer; the connection goes on without it.
    #[cold]
    fn malform(
        &mut self,
        at: usize,
        malformed: MalformedAnswer,
        scene: &mut Scene<'_>,
    ) -> Result<(), ConnectionError> {
        self.reset(self.open[at].id, Code::ProtocolError, scene.connection);
        self.end(at, End::Malformed(malformed.0));
        Ok(())
    }

    #[cold]
    fn spoil(&mut self, id: u32, code: Code, scene: &mut Scene<'_>) {
        let Some(at) = self.find(id) else {
            return write_reset(id, code.number(), scene.connection.out());
        };
        self.reset(id, code, scene.connection);
        self.end(at, End::Malformed("a frame that breaks the rules of its stream"));
    }

    /// Resets a stream that the server may still be writing to.
    fn reset(&mut self, id: u32, code: Code, connection: &mut Connection) {
        write_reset(id, code.number(), connection.out());
        self.given_up.note(id);
    }

    #[inline]
    fn end(&mut self, at: usize, end: End) {
        if let Some(stream) = self.open.remove(at) {
            self.ended.push_back((stream.place, end));
        }
    }

    /// A part of an answer that came on a stream which is not open: none may, unless we have reset it (RFC 9113 §5.1).
    #[cold]
    fn check_late(&self, id: u32) -> Result<(), ConnectionError> {
        self.check_opened(id)?;
        if self.given_up.may_have(id) {
            return Ok(());
        }
        let why = Why::Rule("a part of an answer on a stream that has ended");
        Err(ConnectionError { code: Code::StreamClosed, why })
    }

    /// What comes on a stream that was never opened breaks the rules; one that has ended may still be reset (RFC 9113 §8.1).
    fn check_opened(&self, id: u32) -> Result<(), ConnectionError> {
        if id % 2 == 1 && id < self.next {
            return Ok(());
        }
        let why = Why::Rule("a frame on a stream that nobody opened");
        Err(ConnectionError { code: Code::ProtocolError, why })
    }

    #[inline]
    fn find(&self, id: u32) -> Option<usize> {
        if self.open.front().is_some_and(|stream| stream.id == id) {
            return Some(0);
        }
        self.open.binary_search_by_key(&id, |stream| stream.id).ok()
    }
}

/// How a request ended whose stream the server has reset with this code.
#[cold]
fn reset_with(code: Code) -> End {
    End::Failed(ErrorClass::StreamReset, format!("the server reset the stream with {code}"))
}
