//! One thread's server: an engine, its connections and their deadlines, driven by events.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use assay_engine::wheel::Wheel;
use assay_engine::{Conn, Engine, EngineError, Event, FileRange, RECEIVE_VIEW_BYTES, clock};
use assay_model::units::Nanos;

use crate::files::{Folder, Lookup};
use crate::open_files::{Content, OpenFiles};
use crate::sending::{Piece, QUEUED_BYTES, Source};
use crate::session::{Context, Expiry, Next, Session, Wanted};
use crate::site::{STEP_BYTES, Site};
use crate::validators::Found;

/// Resolution of deadlines, which are seconds long.
const TICK: Nanos = Nanos::from_millis(50);
/// How soon an idle thread sees that it is to stop.
const STOP_CHECK: Nanos = Nanos::from_millis(100);
/// Steps of one connection before the others have their turn: 1 MiB of small responses, 4 MiB of long bodies.
const STEPS_IN_TURN: usize = 16;

/// A server on one engine.
pub(crate) struct Server<E> {
    pub(crate) engine: E,
    pub(crate) site: Site,
    files: Option<OpenFiles>,
    /// By [`Conn::slot`].
    peers: Vec<Option<Peer>>,
    wheel: Wheel,
    /// The responses of the step under way.
    out: Vec<u8>,
    /// Connections that used up their steps and can go on.
    unfinished: Vec<Conn>,
    /// The most connections that were open at the same time.
    pub(crate) most_connections: usize,
    /// When stopping has taken long enough; set once the server is told to stop.
    stop_deadline: Option<Nanos>,
}

struct Peer {
    conn: Conn,
    session: Session,
    /// The file being sent.
    file: Option<Content>,
    /// A step is owed when the output has drained.
    waits_for_room: bool,
    /// The peer sends no more.
    ended: bool,
    /// Its remaining bytes are read and dropped before it is closed.
    lingers: bool,
}

/// What a step left to do.
enum Outcome {
    /// Nothing until an event.
    Wait,
    /// Another step, when there is room.
    Again,
}

impl<E: Engine> Server<E> {
    /// A server on an engine that listens already.
    pub(crate) fn new(engine: E, site: Site, folder: Option<Folder>) -> Self {
        Self {
            engine,
            site,
            files: folder.map(OpenFiles::new),
            peers: Vec::new(),
            wheel: Wheel::new(TICK, clock::now()),
            out: Vec::with_capacity(STEP_BYTES),
            unfinished: Vec::new(),
            most_connections: 0,
            stop_deadline: None,
        }
    }

    /// Serves until `stopped` says so, and then until the last response is out or [`Limits::stop_time`] is over.
    ///
    /// # Errors
    /// The engine is broken.
    ///
    /// [`Limits::stop_time`]: crate::Limits::stop_time
    pub(crate) fn serve(&mut self, stopped: impl Fn() -> bool) -> Result<(), EngineError> {
        let mut events = Vec::new();
        let mut now = clock::now();
        while !self.is_done(now) {
            now = self.engine.poll(self.next_wake(now), &mut events)?;
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
            self.resume_unfinished(now);
            self.expire(now);
            if self.stop_deadline.is_none() && stopped() {
                self.begin_to_stop(now);
            }
        }
        self.abort_all();
        Ok(())
    }

    fn is_done(&self, now: Nanos) -> bool {
        self.stop_deadline.is_some_and(|deadline| now >= deadline || self.engine.connections() == 0)
    }

    fn next_wake(&self, now: Nanos) -> Nanos {
        match (self.unfinished.is_empty(), self.stop_deadline) {
            (false, _) => Nanos::ZERO,
            (true, Some(deadline)) => deadline.min(self.wheel.next()),
            (true, None) => self.wheel.next().min(now + STOP_CHECK),
        }
    }

    #[inline]
    fn handle(&mut self, event: Event, now: Nanos) {
        match event {
            Event::Readable(conn) => self.advance(conn, now),
            Event::Accepted(conn) => self.welcome(conn, now),
            Event::Writable(conn) => self.drained(conn, now),
            Event::Eof(conn) => {
                if let Some(peer) = peer_of(&mut self.peers, conn) {
                    peer.ended = true;
                    self.advance(conn, now);
                }
            }
            Event::Closed(conn, _) => self.forget(conn),
            // Never asked for.
            Event::Connected(conn) => self.engine.abort(conn),
        }
    }

    fn welcome(&mut self, conn: Conn, now: Nanos) {
        let session = Session::new(now, &self.site);
        let slot = conn.slot();
        if slot >= self.peers.len() {
            self.peers.resize_with(slot + 1, || None);
        }
        self.wheel.arm(slot as u32, session.deadline);
        self.most_connections = self.most_connections.max(self.engine.connections());
        self.peers[slot] =
            Some(Peer { conn, session, file: None, waits_for_room: false, ended: false, lingers: false });
    }

    /// Lets a connection do what it can, as long as what it sends is taken at once.
    #[inline]
    fn advance(&mut self, conn: Conn, now: Nanos) {
        for _ in 0..STEPS_IN_TURN {
            if self.engine.queued(conn) > 0 {
                if let Some(peer) = peer_of(&mut self.peers, conn) {
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
        let Some(peer) = peer_of(peers, conn) else { return Outcome::Wait };
        peer.waits_for_room = false;
        let armed_for = peer.session.deadline;
        let file = &mut peer.file;
        let mut find = |wanted: &Wanted<'_>| find(files.as_mut(), file, wanted, now);
        let input = engine.receive(conn);
        let may_hold_more = input.len() >= RECEIVE_VIEW_BYTES;
        let step = peer.session.step(input, &mut Context { now, site, out, find: &mut find });
        engine.consume(conn, step.consumed);
        if peer.session.deadline < armed_for {
            self.wheel.arm(conn.slot() as u32, peer.session.deadline);
        }
        if step.piece.is_none() && !peer.session.is_sending() {
            peer.file = None;
        }
        let ended = peer.ended;
        if self.send(conn, step.piece).is_err() {
            // The head has promised bytes that there are not.
            self.engine.abort(conn);
            self.forget(conn);
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

    /// Sends the output and the piece behind it. Nothing is queued, so all of it is accepted.
    #[inline]
    fn send(&mut self, conn: Conn, piece: Option<Piece>) -> io::Result<()> {
        let Self { engine, site, peers, out, .. } = self;
        match piece {
            None if out.is_empty() => return Ok(()),
            None => engine.send(conn, &[out]),
            Some(piece) => {
                let sent = peer_of(peers, conn).and_then(|peer| send_piece(engine, site, peer, out, piece));
                out.clear();
                return sent.ok_or_else(|| io::ErrorKind::NotConnected.into());
            }
        };
        out.clear();
        Ok(())
    }

    /// The last response is out: closes the connection, or shuts our direction and waits for the peer.
    fn end(&mut self, conn: Conn, linger: bool, now: Nanos) -> Outcome {
        let Some(peer) = peer_of(&mut self.peers, conn) else { return Outcome::Wait };
        let stuck = self.engine.queued(conn) > 0;
        peer.lingers = linger && !peer.ended;
        if !stuck && !peer.lingers {
            self.engine.close(conn);
            self.forget(conn);
            return Outcome::Wait;
        }
        let limits = &self.site.limits;
        let deadline = now + if stuck { limits.send_time } else { limits.linger_time };
        peer.session.linger(deadline);
        self.engine.shutdown(conn);
        self.wheel.arm(conn.slot() as u32, deadline);
        Outcome::Wait
    }

    /// The output has left: on with what waited for it.
    fn drained(&mut self, conn: Conn, now: Nanos) {
        let Some(peer) = peer_of(&mut self.peers, conn) else { return };
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
        if now < self.wheel.next() {
            return;
        }
        let Self { peers, wheel, .. } = self;
        let mut expired = Vec::new();
        wheel.expire(now, |slot| {
            let peer = peers.get(slot as usize)?.as_ref()?;
            if peer.session.deadline <= now {
                expired.push(peer.conn);
            }
            Some(peer.session.deadline)
        });
        for conn in expired {
            self.expire_one(conn, now);
        }
    }

    fn expire_one(&mut self, conn: Conn, now: Nanos) {
        let stuck = self.engine.queued(conn) > 0;
        let Self { site, peers, out, .. } = self;
        let Some(peer) = peer_of(peers, conn) else { return };
        let cx = &mut Context { now, site, out, find: &mut |_| Ok(Lookup::Absent) };
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
        self.forget(conn);
    }

    /// No more connections; the idle ones end, the others after their response.
    fn begin_to_stop(&mut self, now: Nanos) {
        self.stop_deadline = Some(now + self.site.limits.stop_time);
        self.engine.stop_listening();
        let open: Vec<Conn> = self.peers.iter().flatten().map(|peer| peer.conn).collect();
        for conn in open {
            if let Some(peer) = peer_of(&mut self.peers, conn) {
                peer.session.make_last();
            }
            self.advance(conn, now);
        }
    }

    fn abort_all(&mut self) {
        for peer in self.peers.drain(..).flatten() {
            self.engine.abort(peer.conn);
        }
    }

    fn forget(&mut self, conn: Conn) {
        if let Some(place) = self.peers.get_mut(conn.slot())
            && place.as_ref().is_some_and(|peer| peer.conn == conn)
        {
            *place = None;
        }
    }
}

#[inline]
fn peer_of(peers: &mut [Option<Peer>], conn: Conn) -> Option<&mut Peer> {
    peers.get_mut(conn.slot())?.as_mut().filter(|peer| peer.conn == conn)
}

/// Sends the output and a piece of a body behind it, and lets go of a file behind its last piece: an idle connection holds
/// none. `None` if there is no such piece.
fn send_piece<E: Engine>(
    engine: &mut E,
    site: &Site,
    peer: &mut Peer,
    out: &[u8],
    piece: Piece,
) -> Option<()> {
    let Piece { source, offset, len } = piece;
    let file = if peer.session.is_sending() { peer.file.clone() } else { peer.file.take() };
    let accepted = match (source, file) {
        (Source::Pattern, _) if len <= QUEUED_BYTES => {
            engine.send(peer.conn, &[out, site.pattern.piece(offset, len)]) == out.len() + len
        }
        (Source::Pattern, _) => engine.send_file(peer.conn, &[out], site.pattern.range(offset, len)),
        (Source::File, Some(Content::Memory(bytes))) => {
            let piece = bytes.get(offset as usize..)?.get(..len)?;
            engine.send(peer.conn, &[out, piece]) == out.len() + len
        }
        (Source::File, Some(Content::Open(file))) => {
            engine.send_file(peer.conn, &[out], FileRange { file, offset, len: len as u64 })
        }
        (Source::File, None) => false,
    };
    accepted.then_some(())
}

/// Looks for the file that is wanted and keeps it for the connection.
fn find(
    files: Option<&mut OpenFiles>,
    kept: &mut Option<Content>,
    wanted: &Wanted<'_>,
    now: Nanos,
) -> io::Result<Lookup<Found>> {
    *kept = None;
    let Some(files) = files else { return Ok(Lookup::Absent) };
    let lookup = files.find(wanted.target, wanted.accepted, now)?;
    Ok(lookup.map(|(content, found)| {
        *kept = Some(content);
        found
    }))
}
