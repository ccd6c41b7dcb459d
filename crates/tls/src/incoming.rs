//! What arrives: events of the engine beneath become our own, and ciphertext plaintext.

use assay_engine::{Conn, Engine, Event, Reason};
use assay_model::tls::TlsFault;
use assay_model::units::Nanos;
use rustls::Connection;

use crate::engine::{HANDSHAKE_TIME, Tls};
use crate::session::{Absorbed, Session};

/// Buffers kept for reuse; more are freed.
const SPARES: usize = 64;

impl<E: Engine> Tls<E> {
    /// When the first handshake has taken too long.
    pub(crate) fn first_deadline(&self) -> Nanos {
        self.arriving.front().map_or(Nanos::MAX, |(deadline, _)| *deadline)
    }

    /// Tells what was found since the last poll.
    pub(crate) fn deliver_pending(&mut self, events: &mut Vec<Event>) {
        let mut pending = std::mem::take(&mut self.pending);
        for event in pending.drain(..) {
            match event {
                Event::Closed(conn, _) => {
                    if self.table.knows(conn) {
                        self.forget(conn);
                        self.inner.close(conn);
                        events.push(event);
                    }
                }
                // While bytes are skipped, the last of them will tell.
                Event::Readable(conn) => {
                    events
                        .extend(self.table.get(conn).filter(|s| s.to_skip == 0 && !s.broken).map(|_| event));
                }
                Event::Eof(conn) | Event::Accepted(conn) | Event::Connected(conn) | Event::Writable(conn) => {
                    events.extend(self.table.get(conn).filter(|s| !s.broken).map(|_| event));
                }
            }
        }
        // What came to be pending meanwhile is for the next poll.
        pending.append(&mut self.pending);
        self.pending = pending;
    }

    pub(crate) fn translate(&mut self, event: Event, now: Nanos, events: &mut Vec<Event>) {
        match event {
            Event::Readable(conn) => self.arrived(conn, events),
            Event::Writable(conn) => self.drained(conn, events),
            Event::Accepted(conn) => self.begin_as_server(conn, now),
            Event::Connected(conn) => self.begin_as_client(conn, now),
            Event::Eof(conn) => self.transport_ended(conn, events),
            Event::Closed(conn, reason) => self.transport_closed(conn, reason, events),
        }
    }

    /// A client that did not complete its handshake in time is reset.
    pub(crate) fn expire(&mut self, now: Nanos) {
        while let Some(&(deadline, conn)) = self.arriving.front() {
            let is_over = self.table.get(conn).is_none_or(|session| session.security.is_some());
            if !is_over && deadline > now {
                return;
            }
            self.arriving.pop_front();
            if !is_over {
                self.give_up_arriving(conn);
            }
        }
    }

    /// Resets a connection of which our user has not heard, unless it was secured meanwhile.
    pub(crate) fn give_up_arriving(&mut self, conn: Conn) {
        if self.table.get(conn).is_some_and(|session| session.security.is_none()) {
            self.forget(conn);
            self.inner.abort(conn);
        }
    }

    fn begin_as_server(&mut self, conn: Conn, now: Nanos) {
        let tls = self.server.as_ref().and_then(|server| server.connection().ok());
        let Some(tls) = tls else { return self.inner.abort(conn) };
        self.table.insert(conn, Some(Session::new(Connection::Server(tls), now)));
        self.arriving.push_back((now + HANDSHAKE_TIME, conn));
    }

    fn begin_as_client(&mut self, conn: Conn, now: Nanos) {
        if !self.table.knows(conn) {
            return;
        }
        let tls = self.client.as_ref().and_then(|client| client.connection().ok());
        let Some(tls) = tls else {
            return self.pending.push(Event::Closed(conn, Reason::Tls(TlsFault::Broken)));
        };
        self.table.insert(conn, Some(Session::new(Connection::Client(tls), now)));
        self.flush(conn);
    }

    /// Once a connection is secured, its user decrypts when it looks at what came; until then, and while it looks at
    /// nothing, we do.
    #[inline]
    fn arrived(&mut self, conn: Conn, events: &mut Vec<Event>) {
        let Some(session) = self.table.get(conn).filter(|session| !session.broken) else { return };
        if session.security.is_some() && session.to_skip == 0 {
            events.push(Event::Readable(conn));
        } else {
            self.pull_and_tell(conn, events);
        }
    }

    /// Takes in what arrived and tells what came of it.
    fn pull_and_tell(&mut self, conn: Conn, events: &mut Vec<Event>) {
        let state = |session: &Session| (session.security.is_some(), session.to_skip > 0);
        let Some((was_secured, was_skipping)) = self.table.get(conn).map(state) else { return };
        self.pull(conn);
        let Some(session) = self.table.get(conn) else { return };
        if !was_secured && session.security.is_some() {
            events.push(if session.is_client() { Event::Connected(conn) } else { Event::Accepted(conn) });
        }
        let is_skipped = was_skipping && session.to_skip == 0;
        if session.security.is_some() && (is_skipped || !session.view().is_empty()) {
            events.push(Event::Readable(conn));
        }
    }

    /// Decrypts what the stack holds, as far as there is room, and does what follows from it but for telling.
    pub(crate) fn pull(&mut self, conn: Conn) {
        let Self { inner, table, spares, stats, .. } = self;
        let Some(session) = table.get_mut(conn).filter(|session| !session.broken) else { return };
        session.lend(spares);
        // A view may be a part of what the stack holds, with an event for each; whoever skips looks at none of them.
        let (fault, is_empty) = loop {
            let view = inner.receive(conn);
            let arrived = view.len();
            let Absorbed { used, received, fault } = session.absorb(view);
            inner.consume(conn, used);
            stats.received_bytes += received;
            if fault.is_some() || arrived == 0 || used < arrived {
                break (fault, arrived == 0);
            }
        };
        match fault {
            None => self.advance(conn, is_empty),
            Some(fault) => self.fail(conn, fault),
        }
        self.reclaim(conn);
    }

    /// Does what follows from bytes that were taken in; `is_empty` when the stack holds no more of them.
    fn advance(&mut self, conn: Conn, is_empty: bool) {
        let Some(session) = self.table.get_mut(conn) else { return };
        if session.notes_completion() {
            self.secured(conn);
        } else if session.has_records() && session.security.is_none() {
            self.flush(conn);
        } else if session.has_records() {
            self.flush_later(conn);
        }
        let Some(session) = self.table.get_mut(conn) else { return };
        if session.starved || session.end.told {
            return;
        }
        if session.end.said {
            session.end.told = true;
            if session.security.is_some() {
                return self.pending.push(Event::Eof(conn));
            }
        }
        if session.end.said || (session.end.of_transport && is_empty) {
            let is_secured = session.security.is_some();
            self.fail(conn, if is_secured { TlsFault::Truncated } else { TlsFault::ClosedInHandshake });
        }
    }

    /// The handshake is complete. What it has still to say leaves with what our user sends in answer.
    fn secured(&mut self, conn: Conn) {
        let Some(session) = self.table.get(conn) else { return };
        let is_resumed = session.security.is_some_and(|security| security.is_resumed);
        let handshakes = &mut self.handshakes;
        *(if is_resumed { &mut handshakes.resumed } else { &mut handshakes.full }) += 1;
        *(if session.is_client() { &mut self.stats.connected } else { &mut self.stats.accepted }) += 1;
        self.flush_later(conn);
    }

    /// The connection cannot go on. Whoever has heard of it is told with the next poll, so that what came before can still
    /// be received.
    pub(crate) fn fail(&mut self, conn: Conn, fault: TlsFault) {
        self.flush(conn);
        let Some(session) = self.table.get_mut(conn) else { return };
        session.broken = true;
        let is_known = session.is_client() || session.security.is_some();
        if is_known {
            self.pending.push(Event::Closed(conn, Reason::Tls(fault)));
        } else {
            self.forget(conn);
            self.inner.close(conn);
        }
    }

    fn transport_ended(&mut self, conn: Conn, events: &mut Vec<Event>) {
        let Some(session) = self.table.get_mut(conn) else { return };
        session.end.of_transport = true;
        self.pull_and_tell(conn, events);
    }

    fn transport_closed(&mut self, conn: Conn, reason: Reason, events: &mut Vec<Event>) {
        if !self.table.knows(conn) {
            return;
        }
        let session = self.table.get(conn);
        let is_in_handshake = session.is_some_and(|session| session.security.is_none());
        let is_client = session.is_none_or(Session::is_client);
        self.forget(conn);
        if is_in_handshake && !is_client {
            return;
        }
        let is_reset = matches!(reason, Reason::Reset | Reason::SendReset);
        let reason =
            if is_in_handshake && is_reset { Reason::Tls(TlsFault::ClosedInHandshake) } else { reason };
        events.push(Event::Closed(conn, reason));
    }

    /// Forgets a connection, but for its buffer.
    pub(crate) fn forget(&mut self, conn: Conn) {
        if let Some(Some(mut session)) = self.table.remove(conn) {
            self.handshakes.failed += u64::from(session.security.is_none());
            session.consume(usize::MAX);
            self.keep_spare(session.take_spare());
        }
    }

    /// Takes back the buffer of a connection that holds nothing in it.
    #[inline]
    pub(crate) fn reclaim(&mut self, conn: Conn) {
        let spare = self.table.get_mut(conn).and_then(Session::take_spare);
        self.keep_spare(spare);
    }

    fn keep_spare(&mut self, spare: Option<Vec<u8>>) {
        if self.spares.len() < SPARES {
            self.spares.extend(spare);
        }
    }
}
