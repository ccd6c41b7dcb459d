//! One thread's stub: requests in, programmed responses out when they are due.

use std::rc::Rc;

use assay_engine::{Conn, Engine, EngineError, Event};
use assay_http::{Framing, Limits, Method, RequestHead, Scan, Version, scan_request};
use assay_model::units::Nanos;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::End;
use super::agenda::Agenda;
use super::counts::Counts;
use super::faults::Fault;
use super::peer::{Peer, Reply};
use super::shape::{Cut, Shape, Texts};
use super::socket::{self, Heard, Message, Socket};
use super::timing::Timing;
use super::warming::Warmth;
use super::{BODY, Program};

/// The thread spins for so long before a response is due: about what a sleeping virtual CPU takes to wake. On an engine that
/// wakes on time it does not.
const SPIN: Nanos = Nanos::from_micros(60);
/// Between two segments of one response, so that the client can read one before the other comes.
const SEGMENT_GAP: Nanos = Nanos::from_micros(20);
/// Responses that leave before it is looked for new requests, whose arrival would otherwise be noticed late.
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

/// What the stub needs to know of a request.
struct Request {
    head_only: bool,
    closes: bool,
    path: Box<[u8]>,
    /// What is to be given back, in a WebSocket.
    message: Option<Message>,
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

    fn read(&mut self, conn: Conn, now: Nanos) {
        while !self.hear(conn, now) {
            let view = self.engine.receive(conn);
            match scan_request(view, &Limits::DEFAULT) {
                Scan::Complete(head) if matches!(head.framing(), Framing::None | Framing::Length(0)) => {
                    let (request, socket) = (Request::of(&head, view), socket::open(&head, view));
                    self.engine.consume(conn, head.len as usize);
                    match socket {
                        None => self.take(conn, &request, now),
                        Some((answer, socket)) => self.become_socket(conn, socket, answer.into_bytes(), now),
                    }
                }
                Scan::Partial => return,
                Scan::Complete(_) | Scan::Invalid(_) => {
                    self.counts.refused += 1;
                    self.engine.abort(conn);
                    return self.forget(conn);
                }
            }
        }
    }

    /// The opening handshake is no request: it is answered at once.
    fn become_socket(&mut self, conn: Conn, socket: Socket, answer: Vec<u8>, now: Nanos) {
        self.reply_at_once(conn, answer, End::Keep, now);
        if let Some(peer) = peer_of(&mut self.peers, conn) {
            peer.socket = Some(Box::new(socket));
        }
    }

    /// Reads what is said in a WebSocket; says whether the connection is one, or is none any more.
    fn hear(&mut self, conn: Conn, now: Nanos) -> bool {
        loop {
            let Some(peer) = peer_of(&mut self.peers, conn) else { return true };
            let Some(socket) = &mut peer.socket else { return false };
            let (consumed, heard) = socket.hear(self.engine.receive(conn));
            self.engine.consume(conn, consumed);
            match heard {
                Heard::More => return true,
                Heard::Passed => {}
                Heard::Message(message) => self.take(conn, &Request::of_message(message), now),
                Heard::Reply(bytes, end) => self.reply_at_once(conn, bytes, end, now),
            }
        }
    }

    /// Enters what answers no request, behind what is waiting already.
    fn reply_at_once(&mut self, conn: Conn, bytes: Vec<u8>, end: End, now: Nanos) {
        let (bytes, cut, fault) = (self.texts.bytes(bytes.into()), Cut::Nowhere, Fault::None);
        let reply = Reply { arrived: now, due: now, bytes, cut, sent: 0, end, fault, is_answer: false };
        self.enter(conn, reply);
    }

    fn enter(&mut self, conn: Conn, mut reply: Reply) {
        let Some(peer) = peer_of(&mut self.peers, conn) else { return };
        match peer.replies.back() {
            Some(last) => reply.due = reply.due.max(last.due),
            None => self.agenda.enter(reply.due, conn),
        }
        peer.replies.push_back(reply);
    }

    /// Enters the response to a request that arrived at `now`.
    fn take(&mut self, conn: Conn, request: &Request, now: Nanos) {
        let Some(peer) = peer_of(&mut self.peers, conn) else { return };
        let number = self.counts.requests;
        self.counts.requests += 1;
        if let Some(last) = self.last_arrival.replace(now) {
            self.counts.add_gap(now - last);
        }
        if peer.silent {
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
            peer.silent = true;
            return;
        }
        let reply = Reply { arrived: now, due, ..reply(&mut self.texts, request, fault) };
        self.enter(conn, reply);
    }

    /// Lets leave what is due at `now`.
    fn release(&mut self, now: Nanos) {
        for _ in 0..SENDS_AT_ONCE {
            let Some(conn) = self.agenda.take(now) else { return };
            self.go_on(conn, now);
        }
    }

    /// Sends the next segment of a connection's first response.
    fn go_on(&mut self, conn: Conn, now: Nanos) {
        let Self { engine, peers, agenda, .. } = self;
        let Some(reply) = peer_of(peers, conn).and_then(|peer| peer.replies.front_mut()) else { return };
        if engine.queued(conn) > 0 {
            return agenda.enter(now + SEGMENT_GAP, conn);
        }
        let was_sent = reply.is_sent();
        if !was_sent {
            reply.sent += engine.send(conn, &[reply.piece()]) as u64;
        }
        // A reset must not overtake what was sent before it.
        if !reply.is_sent() || (reply.end == End::Reset && !was_sent) {
            return agenda.enter(now + SEGMENT_GAP, conn);
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
            End::Keep => {
                if let Some(next) = peer.replies.front() {
                    self.agenda.enter(next.due, conn);
                }
                return;
            }
            End::Close => self.engine.close(conn),
            End::Reset => self.engine.abort(conn),
        }
        self.forget(conn);
    }

    fn forget(&mut self, conn: Conn) {
        if let Some(peer) = peer_of(&mut self.peers, conn) {
            self.counts.unfinished += peer.waiting();
            self.peers[conn.slot()] = None;
        }
    }
}

/// So many steps, each of which waits for the one before it: a processor does no two of them at once.
fn toil(steps: u32) {
    let end =
        (0..steps).fold(1_u64, |sum, step| sum.wrapping_mul(6_364_136_223_846_793_005) ^ u64::from(step));
    std::hint::black_box(end);
}

impl Request {
    fn of(head: &RequestHead, bytes: &[u8]) -> Self {
        let path = head.target.of(bytes).into();
        // A client of HTTP/1.0 keeps a connection only if it is told so (RFC 9112 §9.3), which the programmed texts do not.
        let closes = !head.keeps_alive() || head.version == Version::Http10;
        Self { head_only: head.method == Method::Head, closes, path, message: None }
    }

    fn of_message(message: Message) -> Self {
        Self { head_only: false, closes: false, path: Box::default(), message: Some(message) }
    }

    /// The service time that its path asks for.
    fn asked_time(&self) -> Option<Nanos> {
        let name = str::from_utf8(self.path.strip_prefix(b"/")?).ok()?;
        // A plain number would be seconds; here it is a status.
        name.parse().ok().filter(|_| name.ends_with('s'))
    }
}

/// The response to a request; its times are not known here.
fn reply(texts: &mut Texts, request: &Request, fault: Fault) -> Reply {
    let (arrived, due, is_answer) = (Nanos::ZERO, Nanos::ZERO, true);
    if let Some(message) = &request.message {
        let (bytes, cut, end) = message.echo(fault);
        return Reply { arrived, due, bytes: texts.bytes(bytes.into()), cut, sent: 0, end, fault, is_answer };
    }
    let spoilt = |text: &Rc<[u8]>, texts: &Texts| Shape {
        bytes: texts.bytes(Rc::clone(text)),
        cut: Cut::Nowhere,
        closes: false,
    };
    let shape = match fault {
        Fault::None | Fault::Never => texts.shape(&request.path, request.head_only),
        Fault::WrongByte => spoilt(&texts.wrong_byte, texts),
        Fault::Status500 => spoilt(&texts.status_500, texts),
        Fault::ResetInBody => {
            let whole = texts.shape(b"/", false);
            let half = whole.bytes.len - BODY.len() as u64 / 2;
            Shape { bytes: whole.bytes.truncated(half), ..whole }
        }
    };
    let end = match fault {
        Fault::ResetInBody => End::Reset,
        _ if shape.closes || request.closes => End::Close,
        _ => End::Keep,
    };
    Reply { arrived, due, bytes: shape.bytes, cut: shape.cut, sent: 0, end, fault, is_answer }
}

fn peer_of(peers: &mut [Option<Peer>], conn: Conn) -> Option<&mut Peer> {
    peers.get_mut(conn.slot())?.as_mut().filter(|peer| peer.conn == conn)
}
