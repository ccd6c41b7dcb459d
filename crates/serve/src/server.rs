//! One thread's server: an engine, its connections and their deadlines, driven by events.

use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

use assay_engine::{Conn, Engine, EngineError, Event, RECEIVE_VIEW_BYTES};
use assay_model::units::Nanos;
use assay_wire::requests::RequestCount;

use crate::files::{Folder, Lookup};
use crate::open_files::OpenFiles;
use crate::peers::{Peer, Peers};
use crate::session::{Context, Expiry, Next, Piece, Source, Wanted};
use crate::site::{QUEUED_BYTES, STEP_BYTES, Site};
use crate::spoken::Spoken;

/// How soon an idle thread sees that it is to stop.
const STOP_CHECK: Nanos = Nanos::from_millis(100);
/// Steps of one connection before the others have their turn: 1 MiB of small responses, 4 MiB of long bodies.
const STEPS_IN_TURN: usize = 16;

/// A server on one engine.
pub struct Server<E> {
    pub(crate) engine: E,
    pub(crate) site: Site,
    files: Option<OpenFiles>,
    pub(crate) peers: Peers,
    /// The responses of the step under way.
    out: Vec<u8>,
    events: Vec<Event>,
    /// When it woke last.
    now: Nanos,
    /// Connections that used up their steps and can go on.
    unfinished: Vec<Conn>,
    /// When stopping has taken long enough; set once the server is told to stop.
    stop_deadline: Option<Nanos>,
    /// Where others can read how many requests there were.
    count: Option<RequestCount>,
}

/// What a step left to do.
enum Outcome {
    /// Nothing until an event.
    Wait,
    /// Another step, when there is room.
    Again,
}

impl<E: Engine> Server<E> {
    pub(crate) fn new(engine: E, site: Site, folder: Option<Folder>) -> Self {
        Self {
            peers: Peers::new(engine.now()),
            now: engine.now(),
            engine,
            site,
            files: folder.map(OpenFiles::new),
            out: Vec::with_capacity(STEP_BYTES),
            events: Vec::new(),
            unfinished: Vec::new(),
            stop_deadline: None,
            count: None,
        }
    }

    /// Lets others read how many requests there are from now on.
    pub(crate) fn count_in(&mut self, count: RequestCount) {
        self.count = Some(count);
    }

    /// Serves until `stopped` says so, and then until the last response is out or [`Limits::stop_time`] is over.
    ///
    /// # Errors
    /// The engine is broken.
    ///
    /// [`Limits::stop_time`]: crate::Limits::stop_time
    pub(crate) fn serve(&mut self, stopped: impl Fn() -> bool) -> Result<(), EngineError> {
        while !self.is_done() {
            self.turn()?;
            if self.stop_deadline.is_none() && stopped() {
                self.begin_to_stop(self.now);
            }
        }
        self.abort_all();
        Ok(())
    }

    /// Waits for something to happen, and does what follows from it.
    ///
    /// # Errors
    /// The engine is broken.
    pub fn turn(&mut self) -> Result<(), EngineError> {
        let mut events = std::mem::take(&mut self.events);
        let now = self.engine.poll(self.next_wake(), &mut events)?;
        self.now = now;
        if self.site.date_is_stale(now) {
            let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.site.set_wall_clock(now, since_epoch.into());
            if let Some(files) = &mut self.files {
                files.forget_stale(now);
            }
        }
        for &event in &events {
            self.handle(event, now);
        }
        self.events = events;
        self.resume_unfinished(now);
        self.expire(now);
        if let Some(count) = &self.count {
            count.write(self.site.requests);
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.stop_deadline.is_some_and(|deadline| self.now >= deadline || self.engine.connections() == 0)
    }

    fn next_wake(&self) -> Nanos {
        match (self.unfinished.is_empty(), self.stop_deadline) {
            (false, _) => Nanos::ZERO,
            (true, Some(deadline)) => deadline.min(self.peers.next_deadline()),
            (true, None) => self.peers.next_deadline().min(self.now + STOP_CHECK),
        }
    }

    #[inline]
    fn handle(&mut self, event: Event, now: Nanos) {
        match event {
            Event::Readable(conn) => self.advance(conn, now),
            Event::Accepted(conn) => self.welcome(conn, now),
            Event::Writable(conn) => self.drained(conn, now),
            Event::Eof(conn) => {
                if let Some(peer) = self.peers.get(conn) {
                    peer.ended = true;
                    self.advance(conn, now);
                }
            }
            Event::Closed(conn, _) => self.peers.forget(conn),
            // Never asked for.
            Event::Connected(conn) => self.engine.abort(conn),
        }
    }

    fn welcome(&mut self, conn: Conn, now: Nanos) {
        let agreed = self.engine.security(conn).and_then(|security| security.parameters.protocol);
        self.peers.welcome(conn, Spoken::new(now, agreed, &self.site));
    }

    /// Lets a connection do what it can, as long as what it sends is taken at once.
    #[inline]
    fn advance(&mut self, conn: Conn, now: Nanos) {
        for _ in 0..STEPS_IN_TURN {
            if self.engine.queued(conn) > 0 {
                if let Some(peer) = self.peers.get(conn) {
                    peer.waits_for_room = true;
                }
                return;
            }
            if let Outcome::Wait = self.step(conn, now) {
                return;
            }
        }
        self.unfinished.push(conn);
    }

    /// One step: receive, answer, send.
    #[inline]
    fn step(&mut self, conn: Conn, now: Nanos) -> Outcome {
        let Self { engine, site, files, peers, out, .. } = self;
        let Some(peer) = peers.get(conn) else { return Outcome::Wait };
        peer.waits_for_room = false;
        let (armed_for, ended) = (peer.session.deadline(), peer.ended);
        let kept = Cell::new(peer.file.take());
        let mut find = |wanted: &Wanted<'_>| {
            let mut file = None;
            let found = OpenFiles::find_for(files.as_mut(), &mut file, wanted, now);
            kept.set(file);
            found
        };
        let input = engine.receive(conn);
        let may_hold_more = input.len() >= RECEIVE_VIEW_BYTES;
        let step = peer.session.step(input, &mut Context { now, site, out, find: &mut find, kept: &kept });
        let deadline = peer.session.deadline();
        if step.piece.is_some() || peer.session.is_sending() {
            peer.file = kept.take();
        }
        engine.consume(conn, step.consumed);
        if deadline < armed_for {
            peers.arm(conn, deadline);
        }
        if !self.send(conn, step.piece) {
            // The head has promised bytes that there are not.
            self.engine.abort(conn);
            self.peers.forget(conn);
            return Outcome::Wait;
        }
        match step.next {
            Next::Receive if may_hold_more => Outcome::Again,
            Next::Receive if !ended => Outcome::Wait,
            Next::Receive => self.end(conn, false, now),
            Next::Continue => Outcome::Again,
            Next::End { linger } => self.end(conn, linger, now),
        }
    }

    /// Sends the output and the piece behind it; says whether there is such a piece. Nothing is queued, so all of it is
    /// accepted.
    #[inline]
    fn send(&mut self, conn: Conn, piece: Option<Piece>) -> bool {
        let Self { engine, site, peers, out, .. } = self;
        let sent = match piece {
            None if out.is_empty() => true,
            None => engine.send(conn, &[out]) == out.len(),
            Some(Piece { source: Source::Pattern, offset, len }) if len <= QUEUED_BYTES => {
                engine.send(conn, &[out, site.pattern.piece(offset, len)]) == out.len() + len
            }
            Some(Piece { source: Source::Pattern, offset, len }) => {
                engine.send_file(conn, &[out], site.pattern.range(offset, len))
            }
            Some(Piece { source: Source::File, offset, len }) => {
                let file = peers.get(conn).and_then(Peer::file_of_piece);
                file.is_some_and(|file| file.send(engine, conn, out, offset, len))
            }
        };
        out.clear();
        sent
    }

    /// The last response is out: closes the connection, or shuts our direction and waits for the peer.
    fn end(&mut self, conn: Conn, linger: bool, now: Nanos) -> Outcome {
        let Some(peer) = self.peers.get(conn) else { return Outcome::Wait };
        let stuck = !self.engine.has_sent_all(conn);
        peer.lingers = linger && !peer.ended;
        if !stuck && !peer.lingers {
            self.engine.close(conn);
            self.peers.forget(conn);
            return Outcome::Wait;
        }
        let limits = &self.site.limits;
        let deadline = now + if stuck { limits.send_time } else { limits.linger_time };
        peer.session.linger(deadline);
        if peer.lingers {
            self.engine.shutdown(conn);
        }
        self.peers.arm(conn, deadline);
        Outcome::Wait
    }

    /// The output has left: on with what waited for it.
    fn drained(&mut self, conn: Conn, now: Nanos) {
        let Some(peer) = self.peers.get(conn) else { return };
        let lingers = peer.lingers;
        if peer.session.is_lingering() {
            self.end(conn, lingers, now);
        } else if peer.waits_for_room {
            self.advance(conn, now);
        }
    }

    fn resume_unfinished(&mut self, now: Nanos) {
        let mut unfinished = std::mem::take(&mut self.unfinished);
        for conn in unfinished.drain(..) {
            self.advance(conn, now);
        }
        // What came to be unfinished meanwhile is in the new list; the old one gives its memory.
        unfinished.append(&mut self.unfinished);
        self.unfinished = unfinished;
    }

    fn expire(&mut self, now: Nanos) {
        for conn in self.peers.expired(now) {
            self.expire_one(conn, now);
        }
    }

    fn expire_one(&mut self, conn: Conn, now: Nanos) {
        let stuck = !self.engine.has_sent_all(conn);
        let Self { site, peers, out, .. } = self;
        let Some(peer) = peers.get(conn) else { return };
        let cx = &mut Context { now, site, out, find: &mut |_| Ok(Lookup::Absent), kept: &Cell::new(None) };
        match peer.session.expire(stuck, cx) {
            Expiry::Refused => {
                self.engine.send(conn, &[&self.out]);
                self.out.clear();
                self.end(conn, true, now);
                return;
            }
            Expiry::Close => self.engine.close(conn),
            Expiry::Abort => self.engine.abort(conn),
        }
        self.peers.forget(conn);
    }

    /// No more connections; the idle ones end, the others after their response.
    fn begin_to_stop(&mut self, now: Nanos) {
        self.stop_deadline = Some(now + self.site.limits.stop_time);
        self.engine.stop_listening();
        for conn in self.peers.names() {
            if let Some(peer) = self.peers.get(conn) {
                peer.session.make_last();
            }
            self.advance(conn, now);
        }
    }

    fn abort_all(&mut self) {
        for conn in self.peers.names() {
            self.engine.abort(conn);
            self.peers.forget(conn);
        }
    }
}
