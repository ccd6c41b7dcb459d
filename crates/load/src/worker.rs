//! One thread of the generator: an engine, a session, and the order in which they act.

mod connecting;
mod telling;

use std::net::{IpAddr, SocketAddr};

use assay_engine::wheel::Wheel;
use assay_engine::{Conn, Engine, EngineError, Event};
use assay_model::load::ErrorClass;
use assay_model::units::Nanos;

use crate::arrivals::Arrivals;
use crate::dialler::Dialler;
use crate::protocol::Protocol;
use crate::recorder::Recorder;
use crate::schedule::Hours;
use crate::seconds::{Metronome, Seen};
use crate::session::{Fate, Session};
use crate::signals::Signals;
use crate::slot::State;

/// Events handled, and requests submitted, under one send time stamp: a longer batch would charge the server with the time
/// that our own system calls take.
pub(crate) const BATCH: usize = 16;

/// A thread does not sleep for so long before a request is due: waking a sleeping virtual CPU takes 20 to 100 µs, which would
/// be charged to the server. Closed loops, which have nothing due, never spin.
const SPIN: Nanos = Nanos::from_micros(100);

/// Polls in which what was closed last leaves: where a request still waits on a connection (io_uring), one asks for its end, and another
/// hears of it and lets go of the socket.
const FAREWELL_POLLS: usize = 4;

/// Connects, sends, receives and times out, for one thread.
pub(crate) struct Worker<'a, E, A, P: Protocol> {
    engine: E,
    pub(crate) session: Session<A, P>,
    dialler: Dialler,
    wheel: Wheel,
    expired: Vec<u32>,
    /// The slot of each of the engine's connections.
    owners: Vec<u32>,
    events: Vec<Event>,
    /// Events that came with the end of the last window; they come before those of the next poll.
    kept: Vec<Event>,
    address: Address<'a>,
    timeout: Nanos,
    /// Requests are issued, so a failure to connect fails one.
    begun: bool,
    /// How the first attempt to connect that failed did so.
    pub(crate) first_failure: Option<(ErrorClass, String)>,
    signals: &'a Signals,
    /// Number of this thread.
    thread: usize,
    next_publish: Nanos,
    /// Beats the seconds, if they are asked for.
    metronome: Option<Metronome>,
    /// The thread's CPU time when the turn began that spun and found nothing to do, if the last one was such.
    spinning_since: Option<Nanos>,
    /// CPU time spent in such turns. It is no work, so it does not count as being busy.
    pub(crate) spun: Nanos,
}

/// Where connections come from and go to.
#[derive(Clone, Copy)]
pub(crate) struct Address<'a> {
    pub(crate) remote: SocketAddr,
    pub(crate) sources: &'a [IpAddr],
}

impl<'a, E: Engine, A: Arrivals, P: Protocol> Worker<'a, E, A, P> {
    pub(crate) fn new(
        engine: E,
        session: Session<A, P>,
        address: Address<'a>,
        timeout: Nanos,
        signals: &'a Signals,
        thread: usize,
    ) -> Self {
        let now = engine.now();
        // A timeout is met within 1/512 of its length, and the wheel's 1024 ticks reach beyond it.
        let tick = Nanos(timeout.0 / 512).clamp(Nanos::from_millis(1), Nanos::from_millis(100));
        Self {
            engine,
            dialler: Dialler::new(session.slots.len()),
            owners: Vec::with_capacity(session.slots.len()),
            session,
            wheel: Wheel::new(tick, now),
            expired: Vec::new(),
            events: Vec::new(),
            kept: Vec::new(),
            address,
            timeout,
            begun: false,
            first_failure: None,
            signals,
            thread,
            next_publish: now,
            metronome: None,
            spinning_since: None,
            spun: Nanos::ZERO,
        }
    }

    /// Starts the load; the series of right answers begins at `series_start`, and `seconds` are told if they are asked for.
    pub(crate) fn begin(&mut self, hours: Hours, quota: u64, series_start: Nanos, seconds: bool) {
        self.begun = true;
        // Nothing else wakes a closed loop when it may begin; and where that is past, as the thread had to wait for its CPU, at once.
        self.next_publish = hours.start;
        self.session.begin(hours, quota, series_start);
        self.metronome = seconds.then(|| Metronome::new(hours, self.counters()));
        self.session.recorder.second = seconds.then(|| Box::new(Seen::new(A::OPEN)));
    }

    /// When the load ends.
    pub(crate) fn end(&self) -> Nanos {
        self.signals.end()
    }

    /// Until when the last answers are waited for at most.
    pub(crate) fn patience(&self) -> Nanos {
        self.signals.patience()
    }

    /// Connections made since the beginning.
    pub(crate) fn connections_made(&self) -> u64 {
        self.engine.statistics().connected
    }

    /// Whether each connection was made or has failed once.
    pub(crate) fn has_tried_all(&self) -> bool {
        self.dialler.has_tried_all()
    }

    /// The time.
    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        self.engine.now()
    }

    /// The engine, for its counters.
    pub(crate) fn engine(&self) -> &E {
        &self.engine
    }

    /// Waits for something to happen, until `until` at the latest, and does what follows from it.
    ///
    /// # Errors
    /// The engine broke.
    pub(crate) fn turn(&mut self, until: Nanos) -> Result<Nanos, EngineError> {
        let beat = self.metronome.as_ref().map_or(Nanos::MAX, Metronome::next);
        let until = until.min(self.next_publish).min(self.wheel.next()).min(beat);
        let until = if A::OPEN { self.sleep_until(until) } else { until };
        let mut events = std::mem::take(&mut self.events);
        let woken = self.engine.poll(until, &mut events);
        if !self.kept.is_empty() {
            self.kept.append(&mut events);
            std::mem::swap(&mut self.kept, &mut events);
        }
        let issued = self.session.schedule.issued();
        self.note_submission();
        if let Ok(now) = woken {
            self.session.end_at(self.signals.end());
            self.tell_seconds(now);
            self.note_endings(&events);
            self.submit();
            for batch in events.chunks(BATCH) {
                batch.iter().for_each(|&event| self.handle(event, now));
                self.submit();
            }
            self.expire(now);
            self.connect_waiting(now);
            self.publish(now);
        }
        if !events.is_empty() || self.session.schedule.issued() > issued {
            self.spinning_since = None;
        }
        self.events = events;
        woken
    }

    /// Until when it may sleep that has to be awake at `until`, and shortly before the next request is due.
    fn sleep_until(&mut self, until: Nanos) -> Nanos {
        let now = self.now();
        if let Some(since) = self.spinning_since.take() {
            self.spun += self.engine.cpu_time() - since;
        }
        let due = self.session.schedule.wake_at();
        let spin = if self.engine.wakes_on_time() { Nanos::ZERO } else { SPIN };
        if now < due - spin {
            return until.min(due - spin);
        }
        self.spinning_since = (now < due).then(|| self.engine.cpu_time());
        Nanos::ZERO
    }

    /// Prepares for a window: what has lost its connection since the last one gets another, which is no request's business.
    ///
    /// # Errors
    /// The engine broke.
    pub(crate) fn call_in(&mut self) -> Result<Nanos, EngineError> {
        self.begun = false;
        let now = self.catch_up()?;
        let vacant = self.session.slots.iter().filter(|slot| !slot.is_connected()).count();
        self.dialler.try_again(vacant);
        Ok(now)
    }

    /// Takes note of what happened while nobody looked: a server may have closed all connections, each told by an event of its
    /// own. No more turns than that takes: whoever closes each new connection as well is never caught up with.
    fn catch_up(&mut self) -> Result<Nanos, EngineError> {
        let mut now = self.turn(Nanos::ZERO)?;
        for _ in 0..self.session.slots.len() {
            if self.events.is_empty() {
                break;
            }
            now = self.turn(Nanos::ZERO)?;
        }
        Ok(now)
    }

    /// Closes the books of a window and hands them over; the next one's are `fresh`. A connection on which a request is still
    /// unanswered is of no use for that one.
    pub(crate) fn end_window(&mut self, fresh: Recorder) -> Recorder {
        let now = self.now();
        self.session.close_books(now);
        self.tell_second(now);
        self.metronome = None;
        for index in self.session.give_up() {
            if let Some(conn) = self.session.slots[index as usize].conn {
                self.engine.close(conn);
            }
            self.vacate(index, now);
        }
        self.publish_now(now);
        std::mem::replace(&mut self.session.recorder, fresh)
    }

    /// Lets leave what was asked of the engine last, resets above all: before the next window there may be no other poll for long, and
    /// a server would go on with what was given up. What else the poll finds waits for [`Self::call_in`].
    ///
    /// # Errors
    /// The engine broke.
    pub(crate) fn let_go(&mut self) -> Result<(), EngineError> {
        let mut events = Vec::new();
        for _ in 0..FAREWELL_POLLS {
            self.engine.poll(Nanos::ZERO, &mut events)?;
            self.kept.append(&mut events);
        }
        Ok(())
    }

    /// Ends all connections.
    pub(crate) fn close_all(&mut self) {
        for slot in &mut self.session.slots {
            if let Some(conn) = slot.conn.take() {
                self.engine.close(conn);
            }
        }
    }

    fn handle(&mut self, event: Event, now: Nanos) {
        let (Event::Accepted(conn)
        | Event::Connected(conn)
        | Event::Readable(conn)
        | Event::Writable(conn)
        | Event::Eof(conn)
        | Event::Closed(conn, _)) = event;
        let Some(index) = self.owner(conn) else { return };
        let now = self.came_at(conn, index, now);
        match event {
            Event::Readable(_) => self.read(conn, index, now),
            Event::Connected(_) => self.connected(conn, index, now),
            Event::Writable(_) => self.flush(conn, index),
            Event::Eof(_) if self.is_greeting(index) => {
                self.engine.close(conn);
                let why = "the connection ended before the opening handshake was answered";
                self.connect_failed(index, ErrorClass::UpgradeRefused, why, now);
            }
            Event::Eof(_) => {
                self.session.ended(index, now);
                self.engine.close(conn);
                self.vacate(index, now);
            }
            Event::Closed(_, reason) => self.broken(index, reason, now),
            Event::Accepted(_) => {}
        }
    }

    /// When what is found now on the slot's connection came: with the wake at `woken`, or after it where a request has left on it
    /// since, as whoever receives at once may find the answer. None may seem to have come before its request was sent.
    #[inline]
    fn came_at(&mut self, conn: Conn, index: u32, woken: Nanos) -> Nanos {
        if self.session.slots[index as usize].issued_at < woken || self.engine.submitted_at(conn).is_some() {
            return woken;
        }
        let now = self.now();
        self.tell_seconds(now);
        now
    }

    /// Takes note of the connections whose end is among the events, before requests are sent on them.
    fn note_endings(&mut self, events: &[Event]) {
        if !self.session.has_ready() {
            return;
        }
        for &event in events {
            match event {
                Event::Eof(conn) | Event::Closed(conn, _) => self.note_ending(conn),
                Event::Readable(conn) if self.engine.is_ending(conn) => self.note_ending(conn),
                _ => {}
            }
        }
    }

    #[cold]
    fn note_ending(&mut self, conn: Conn) {
        if let Some(index) = self.owner(conn) {
            self.session.slots[index as usize].ending = true;
        }
    }

    #[inline]
    fn owner(&self, conn: Conn) -> Option<u32> {
        let index = *self.owners.get(conn.slot())?;
        (self.session.slots.get(index as usize)?.conn == Some(conn)).then_some(index)
    }

    /// Whether the slot's connection is made and cannot be used yet.
    #[inline]
    fn is_greeting(&self, index: u32) -> bool {
        self.session.slots[index as usize].state == State::Greeting
    }

    #[inline]
    fn read(&mut self, conn: Conn, index: u32, now: Nanos) {
        if self.session.is_skipping(index) {
            if self.engine.skipping(conn) > 0 {
                return;
            }
            self.session.skipped(index);
        }
        let held = self.engine.queued(conn);
        let view = self.engine.receive(conn);
        let (used, mut fate) = self.session.received(index, held, view, now);
        self.engine.consume(conn, used);
        if self.engine.is_ending(conn) {
            self.note_ending(conn);
        }
        if fate == Fate::Keep
            && self.is_greeting(index)
            && let Some(then) = self.session.greeted(index, now)
        {
            self.dialler.finish();
            fate = then;
        }
        if !matches!(fate, Fate::Abort | Fate::Decline) && self.session.has_unsent(index) {
            self.flush(conn, index);
        }
        match fate {
            Fate::Keep => {}
            Fate::Decline => {
                self.engine.abort(conn);
                let why = self.session.take_refusal();
                self.connect_failed(index, ErrorClass::UpgradeRefused, &why, now);
            }
            Fate::Skip(n) => self.engine.skip(conn, n),
            Fate::Await(until) => self.arm(index, until),
            Fate::Linger(until) => self.arm(index, until),
            Fate::Abort => {
                self.engine.abort(conn);
                self.vacate(index, now);
            }
        }
    }

    /// Sends everything that is due and for which there is a connection.
    #[inline]
    fn submit(&mut self) {
        while self.session.has_ready() {
            let now = self.now();
            self.session.schedule.collect(now);
            for _ in 0..BATCH {
                let Some(index) = self.session.issue(now) else { return };
                let slot = &self.session.slots[index as usize];
                let conn = slot.conn;
                if !slot.armed {
                    self.arm(index, slot.deadline);
                }
                if let Some(conn) = conn {
                    self.flush(conn, index);
                }
            }
        }
        if A::OPEN {
            let now = self.now();
            self.session.schedule.collect(now);
        }
    }

    /// What was issued since the poll before has left with this one, where the engine does not send at once: it is stamped
    /// with the clock's reading before the call that took it instead of the time when it was queued.
    #[inline]
    fn note_submission(&mut self) {
        let engine = &self.engine;
        self.session.submitted(|conn| engine.submitted_at(conn?));
    }

    #[inline]
    fn flush(&mut self, conn: Conn, index: u32) {
        while self.session.has_unsent(index) {
            let parcel = self.session.parcel(index);
            let offered = parcel.bytes;
            let accepted = self.engine.send(conn, parcel.parts());
            self.session.accepted(index, accepted);
            if accepted < offered {
                return;
            }
        }
    }

    /// Sees to it that the slot comes up at `deadline`. Requests do not need this one by one: their deadlines only move
    /// on, and a timer that comes up early is armed again.
    fn arm(&mut self, index: u32, deadline: Nanos) {
        self.wheel.arm(index, deadline);
        self.session.slots[index as usize].armed = true;
    }

    /// Acts on the slots whose time has come.
    fn expire(&mut self, now: Nanos) {
        if self.wheel.next() > now {
            return;
        }
        let mut expired = std::mem::take(&mut self.expired);
        let slots = &mut self.session.slots;
        self.wheel.expire(now, |index| {
            let slot = &mut slots[index as usize];
            let deadline = slot.deadline;
            if deadline <= now {
                expired.push(index);
            }
            slot.armed = deadline > now && deadline < Nanos::MAX;
            slot.armed.then_some(deadline)
        });
        expired.drain(..).for_each(|index| self.expired_one(index, now));
        self.expired = expired;
    }

    fn expired_one(&mut self, index: u32, now: Nanos) {
        let slot = &mut self.session.slots[index as usize];
        slot.deadline = Nanos::MAX;
        let (state, conn) = (slot.state, slot.conn);
        match (state, conn) {
            (State::Open | State::Closing, Some(conn)) => self.waited_too_long(conn, index, now),
            (State::Vacant, _) | (_, None) => self.dialler.want(index),
            (State::Connecting | State::Greeting, Some(conn)) => {
                self.engine.abort(conn);
                let waited = format!("no answer within {} s", self.timeout.as_secs_f64());
                self.connect_failed(index, ErrorClass::ConnectTimeout, &waited, now);
            }
            (State::Lingering, Some(conn)) => {
                self.engine.close(conn);
                self.vacate(index, now);
            }
        }
    }

    /// A request of the slot has not been answered in time.
    fn waited_too_long(&mut self, conn: Conn, index: u32, now: Nanos) {
        let now = self.came_at(conn, index, now);
        if self.session.expire(index, self.engine.queued(conn), now) == Fate::Keep {
            self.flush(conn, index);
            let deadline = self.session.slots[index as usize].deadline;
            if deadline < Nanos::MAX {
                self.arm(index, deadline);
            }
            return;
        }
        self.engine.abort(conn);
        self.vacate(index, now);
    }
}
