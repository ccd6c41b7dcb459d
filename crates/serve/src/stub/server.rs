//! One thread's stub: requests in, programmed responses out when they are due.

use assay_engine::{Conn, Engine, EngineError, Event};
use assay_http::render::CONTINUE;
use assay_http::{BodyError, Framing, Limits, Scan, scan_request};
use assay_model::units::Nanos;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use super::agenda::Agenda;
use super::counts::Counts;
use super::faults::Fault;
use super::peer::{Peer, Spoken};
use super::reply::Reply;
use super::request::Request;
use super::shape::{Bytes, Cut, Texts};
use super::socket::{self, Heard, Socket};
use super::streams::{self, Streams};
use super::timing::Timing;
use super::upload::Upload;
use super::warming::Warmth;
use super::{End, Program};
use crate::http2::is_begun_by;

/// The thread spins for so long before a response is due: about what a sleeping virtual CPU takes to wake. On an engine that
/// wakes on time it does not.
const SPIN: Nanos = Nanos::from_micros(60);
/// Between two segments of one response, so that the client can read one before the other comes.
const SEGMENT_GAP: Nanos = Nanos::from_micros(20);
/// Responses that are sent before the next check for new requests, whose arrival would otherwise be noticed late.
const SENDS_AT_ONCE: usize = 16;
/// How soon an idle thread sees that it is to stop.
const STOP_CHECK: Nanos = Nanos::from_millis(20);

/// A stub on one engine.
pub struct Stub<'p, E> {
    engine: E,
    events: Vec<Event>,
    program: &'p Program,
    timing: Timing,
    warmth: Warmth,
    texts: Texts,
    /// By [`Conn::slot`].
    peers: Vec<Option<Peer>>,
    agenda: Agenda,
    counts: Counts,
    /// When the last request arrived.
    last_arrival: Option<Nanos>,
    /// Of service times; faults have their own, so that they change no time.
    times: ChaCha8Rng,
    faults: ChaCha8Rng,
}

impl<'p, E: Engine> Stub<'p, E> {
    /// A stub on an engine that listens already; `thread` tells its random streams from those of others.
    pub fn new(engine: E, program: &'p Program, thread: u64) -> Self {
        let random = |stream| {
            let mut rng = ChaCha8Rng::seed_from_u64(program.seed);
            rng.set_stream(stream);
            rng
        };
        Self {
            engine,
            events: Vec::new(),
            program,
            timing: Timing::new(program.discipline, program.stall),
            warmth: Warmth::default(),
            texts: Texts::new(),
            peers: Vec::new(),
            agenda: Agenda::default(),
            counts: Counts::default(),
            last_arrival: None,
            times: random(thread * 2),
            faults: random(thread * 2 + 1),
        }
    }

    /// Serves until `stopped` says so.
    ///
    /// # Errors
    /// The engine is broken.
    pub fn serve(mut self, stopped: impl Fn() -> bool) -> Result<Counts, EngineError> {
        while !stopped() {
            self.turn()?;
        }
        Ok(self.finish())
    }

    /// Waits for something to happen, and does what follows from it.
    ///
    /// # Errors
    /// The engine is broken.
    pub fn turn(&mut self) -> Result<(), EngineError> {
        let mut events = std::mem::take(&mut self.events);
        let now = self.engine.poll(self.wake_at(), &mut events)?;
        for &event in &events {
            self.handle(event, now);
        }
        self.events = events;
        self.release(self.engine.now());
        Ok(())
    }

    /// What was counted so far, without connections and bytes.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Ends, and tells what was counted.
    pub fn finish(self) -> Counts {
        let waiting = self.peers.iter().flatten().map(Peer::waiting).sum::<u64>();
        let statistics = self.engine.statistics();
        Counts {
            unfinished: self.counts.unfinished + waiting,
            connections: statistics.accepted,
            received_bytes: statistics.received_bytes,
            sent_bytes: statistics.sent_bytes,
            ..self.counts
        }
    }

    fn wake_at(&self) -> Nanos {
        let now = self.engine.now();
        let spin = if self.engine.wakes_on_time() { Nanos::ZERO } else { SPIN };
        let asleep_until = (self.agenda.next() - spin).min(now + STOP_CHECK);
        if asleep_until <= now { Nanos::ZERO } else { asleep_until }
    }

    fn handle(&mut self, event: Event, now: Nanos) {
        match event {
            Event::Readable(conn) => self.read(conn, now),
            Event::Accepted(conn) => self.welcome(conn),
            Event::Eof(conn) => {
                self.engine.close(conn);
                self.forget(conn);
            }
            Event::Closed(conn, _) => self.forget(conn),
            // Room is asked for when the next segment is due; connections are never asked for.
            Event::Writable(_) | Event::Connected(_) => {}
        }
    }

    fn welcome(&mut self, conn: Conn) {
        if conn.slot() >= self.peers.len() {
            self.peers.resize_with(conn.slot() + 1, || None);
        }
        self.peers[conn.slot()] = Some(Peer::new(conn));
    }

    /// Reads what has come, whatever is spoken, as long as it brings anything further.
    fn read(&mut self, conn: Conn, now: Nanos) {
        while let Some(peer) = peer_of(&mut self.peers, conn) {
            let goes_on = match peer.spoken {
                Spoken::Unknown => self.find_out(conn),
                Spoken::Http1(None) => self.read_request(conn, now),
                Spoken::Http1(Some(_)) => self.read_body(conn, now),
                Spoken::WebSocket(_) => self.read_message(conn, now),
                Spoken::Http2(_) => self.read_frame(conn, now),
            };
            if !goes_on {
                return self.rouse(conn);
            }
        }
    }

    /// Tells by the first bytes what is spoken.
    fn find_out(&mut self, conn: Conn) -> bool {
        let is_http2 = is_begun_by(self.engine.receive(conn));
        let Some(peer) = peer_of(&mut self.peers, conn) else { return false };
        peer.spoken = match is_http2 {
            None => return false,
            Some(true) => Spoken::Http2(Box::new(Streams::new())),
            Some(false) => Spoken::Http1(None),
        };
        true
    }

    fn read_request(&mut self, conn: Conn, now: Nanos) -> bool {
        let view = self.engine.receive(conn);
        match scan_request(view, &Limits::DEFAULT) {
            Scan::Complete(head) if matches!(head.framing(), Framing::None | Framing::Length(0)) => {
                let (request, socket) = (Request::of(&head, view), socket::open(&head, view));
                self.engine.consume(conn, head.len as usize);
                match socket {
                    None => self.take(conn, &request, now),
                    Some((answer, socket)) => self.become_socket(conn, socket, answer.into_bytes(), now),
                }
                true
            }
            Scan::Complete(head) => {
                let upload = Upload::new(Request::of(&head, view), head.framing());
                self.engine.consume(conn, head.len as usize);
                if head.expects_continue {
                    self.reply_at_once(conn, CONTINUE.to_vec(), End::Keep, now);
                }
                self.begin_body(conn, upload)
            }
            Scan::Partial => false,
            Scan::Invalid(_) => self.refuse(conn),
        }
    }

    fn begin_body(&mut self, conn: Conn, upload: Result<Upload, BodyError>) -> bool {
        let Ok(upload) = upload else { return self.refuse(conn) };
        if let Some(peer) = peer_of(&mut self.peers, conn) {
            peer.spoken = Spoken::Http1(Some(Box::new(upload)));
        }
        true
    }

    /// Reads on in the body of a request, which has arrived when that ends.
    fn read_body(&mut self, conn: Conn, now: Nanos) -> bool {
        let Some(peer) = peer_of(&mut self.peers, conn) else { return false };
        let Spoken::Http1(upload) = &mut peer.spoken else { return false };
        let Some(mut coming) = upload.take() else { return false };
        let Ok(consumed) = coming.take(self.engine.receive(conn)) else { return self.refuse(conn) };
        self.engine.consume(conn, consumed);
        match coming.finish() {
            Ok(request) => self.take(conn, &request, now),
            Err(coming) => *upload = Some(coming),
        }
        consumed > 0
    }

    /// What came is nothing that the stub takes.
    fn refuse(&mut self, conn: Conn) -> bool {
        self.counts.refused += 1;
        self.engine.abort(conn);
        self.forget(conn);
        false
    }

    /// The opening handshake is no request: it is answered at once.
    fn become_socket(&mut self, conn: Conn, socket: Socket, answer: Vec<u8>, now: Nanos) {
        self.reply_at_once(conn, answer, End::Keep, now);
        if let Some(peer) = peer_of(&mut self.peers, conn) {
            peer.spoken = Spoken::WebSocket(Box::new(socket));
        }
    }

    /// Reads what is said in a WebSocket.
    fn read_message(&mut self, conn: Conn, now: Nanos) -> bool {
        let Some(peer) = peer_of(&mut self.peers, conn) else { return false };
        let Spoken::WebSocket(socket) = &mut peer.spoken else { return false };
        let (consumed, heard) = socket.hear(self.engine.receive(conn));
        self.engine.consume(conn, consumed);
        match heard {
            Heard::More => return false,
            Heard::Passed => {}
            Heard::Message(message) => self.take(conn, &Request::of_message(message), now),
            Heard::Reply(bytes, end) => self.reply_at_once(conn, bytes, end, now),
        }
        true
    }

    /// Reads a frame of HTTP/2. What the connection itself has to say leaves at once.
    fn read_frame(&mut self, conn: Conn, now: Nanos) -> bool {
        let Some(peer) = peer_of(&mut self.peers, conn) else { return false };
        let Spoken::Http2(streams) = &mut peer.spoken else { return false };
        let (consumed, heard) = streams.hear(self.engine.receive(conn));
        self.engine.consume(conn, consumed);
        let said = std::mem::take(streams.connection.out());
        match heard {
            streams::Heard::More | streams::Heard::Passed => {}
            streams::Heard::Request(request) => self.take(conn, &request, now),
            streams::Heard::Window(stream, change) => peer.widen(stream, change, now),
            streams::Heard::GivenUp(stream) => self.counts.unfinished += u64::from(peer.give_up(stream)),
            streams::Heard::Refused => return self.refuse(conn),
        }
        if !said.is_empty() {
            self.reply_at_once(conn, said, End::Keep, now);
        }
        self.end_if_over(conn);
        consumed > 0
    }

    /// Enters what answers no request, behind what is waiting already.
    fn reply_at_once(&mut self, conn: Conn, bytes: Vec<u8>, end: End, now: Nanos) {
        let Some(peer) = peer_of(&mut self.peers, conn) else { return };
        let reply = Reply::new(Bytes::whole(bytes.into()), Cut::Nowhere, end, Fault::None);
        peer.enter(Reply { is_answer: false, ..reply.timed(now, now) });
    }

    /// Enters the response to a request that arrived at `now`.
    fn take(&mut self, conn: Conn, request: &Request, now: Nanos) {
        let Some(peer) = peer_of(&mut self.peers, conn) else { return };
        let number = self.counts.requests;
        self.counts.requests += 1;
        if let Some(last) = self.last_arrival.replace(now) {
            self.counts.add_gap(now - last);
        }
        if peer.is_silent() {
            self.counts.unfinished += 1;
            return;
        }
        toil(self.program.work);
        let drawn = self.program.service.draw(number, &mut self.times);
        let service = self.warmth.serve(self.program.warming, request.asked_time().unwrap_or(drawn));
        let due = self.timing.due(now, service);
        let fault = self.program.faults.draw(&mut self.faults);
        if fault == Fault::Never {
            self.counts.never_answered += 1;
            return peer.ignore(request.stream());
        }
        peer.enter(request.reply(&mut self.texts, fault).timed(now, due));
    }

    /// Lets leave what is due at `now`.
    fn release(&mut self, now: Nanos) {
        for _ in 0..SENDS_AT_ONCE {
            let Some(conn) = self.agenda.take(now) else { return };
            let rings = peer_of(&mut self.peers, conn).is_some_and(|peer| peer.take_alarm(now));
            if rings {
                self.go_on(conn, now);
                self.rouse(conn);
            }
        }
    }

    /// Sees to it that a connection is looked at when its first response goes on.
    fn rouse(&mut self, conn: Conn) {
        let Some(peer) = peer_of(&mut self.peers, conn) else { return };
        if let Some(at) = peer.set_alarm() {
            self.agenda.enter(at, conn);
        }
    }

    /// Sends the next segment of a connection's first response.
    fn go_on(&mut self, conn: Conn, now: Nanos) {
        let Self { engine, peers, .. } = self;
        let Some(peer) = peer_of(peers, conn) else { return };
        let Some(reply) = peer.ready(now) else { return };
        if engine.queued(conn) > 0 {
            return peer.put_off(now + SEGMENT_GAP);
        }
        let was_sent = reply.is_sent();
        if !was_sent {
            reply.sent += engine.send(conn, &[reply.piece()]) as u64;
        }
        // Neither end must overtake what was sent before it.
        let is_too_soon = match reply.end {
            End::Keep => false,
            End::Close => !engine.has_sent_all(conn),
            End::Reset => !was_sent,
        };
        if !reply.is_sent() || is_too_soon {
            return peer.put_off(now + SEGMENT_GAP);
        }
        self.conclude(conn);
    }

    /// A connection's first response has left.
    fn conclude(&mut self, conn: Conn) {
        let Some(peer) = peer_of(&mut self.peers, conn) else { return };
        let Some(reply) = peer.replies.pop_front() else { return };
        if reply.is_answer {
            self.counts.add(&reply);
        }
        match reply.end {
            End::Keep => return self.end_if_over(conn),
            End::Close => self.engine.close(conn),
            End::Reset => self.engine.abort(conn),
        }
        self.forget(conn);
    }

    /// Closes a connection whose client has said that it asks no more, when all is answered.
    fn end_if_over(&mut self, conn: Conn) {
        if peer_of(&mut self.peers, conn).is_some_and(|peer| peer.is_over()) {
            self.engine.close(conn);
            self.forget(conn);
        }
    }

    fn forget(&mut self, conn: Conn) {
        if let Some(peer) = peer_of(&mut self.peers, conn) {
            self.counts.unfinished += peer.waiting();
            self.peers[conn.slot()] = None;
        }
    }
}

/// Takes CPU time in steps, each of which waits for the one before it: a processor does no two of them at once.
fn toil(steps: u32) {
    let end =
        (0..steps).fold(1_u64, |sum, step| sum.wrapping_mul(6_364_136_223_846_793_005) ^ u64::from(step));
    std::hint::black_box(end);
}

fn peer_of(peers: &mut [Option<Peer>], conn: Conn) -> Option<&mut Peer> {
    peers.get_mut(conn.slot())?.as_mut().filter(|peer| peer.conn == conn)
}
