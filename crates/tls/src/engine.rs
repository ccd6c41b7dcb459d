//! The engine: its own part of each call, and what it leaves to the engine beneath.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

use assay_engine::{Conn, Engine, EngineError, Event, FileRange, Security, Statistics, TlsStatistics};
use assay_model::units::Nanos;

use crate::table::Table;
use crate::{Client, Server, Terms};

/// How long a client may take for its handshake; a server's user has not heard of it until then.
pub const HANDSHAKE_TIME: Nanos = Nanos::from_millis(20_000);

/// An [`Engine`] over another, whose connections are secured by TLS.
pub struct Tls<E> {
    pub(crate) inner: E,
    pub(crate) client: Option<Client>,
    pub(crate) server: Option<Server>,
    pub(crate) table: Table,
    /// Events found outside a poll, or that must not come with the batch in which they were found.
    pub(crate) pending: Vec<Event>,
    /// Connections with records that leave with the next poll, unless with a send before.
    pub(crate) unflushed: Vec<Conn>,
    /// Connections that were let in and have until then to be secured, the first first.
    pub(crate) arriving: VecDeque<(Nanos, Conn)>,
    /// Events of the engine beneath.
    beneath: Vec<Event>,
    /// Buffers without an owner.
    pub(crate) spares: Vec<Vec<u8>>,
    /// Bytes on their way from a file into records.
    pub(crate) scratch: Vec<u8>,
    pub(crate) stats: Statistics,
    pub(crate) handshakes: TlsStatistics,
}

impl<E: Engine> Tls<E> {
    /// An engine over `inner`, which nobody else has used.
    pub fn new(inner: E, terms: &Terms) -> Self {
        Self {
            inner,
            client: terms.client.as_ref().map(Client::for_thread),
            server: terms.server.clone(),
            table: Table::default(),
            pending: Vec::new(),
            unflushed: Vec::new(),
            arriving: VecDeque::new(),
            beneath: Vec::new(),
            spares: Vec::new(),
            scratch: Vec::new(),
            stats: Statistics { tls: Some(TlsStatistics::default()), ..Statistics::default() },
            handshakes: TlsStatistics::default(),
        }
    }

    /// Brings the counters up to date: calls are those of the engine beneath, bytes and connections our user's.
    fn count(&mut self) {
        let beneath = *self.inner.statistics();
        let tls = TlsStatistics {
            sent_bytes: beneath.sent_bytes,
            received_bytes: beneath.received_bytes,
            ..self.handshakes
        };
        let Statistics { received_bytes, sent_bytes, accepted, connected, .. } = self.stats;
        self.stats =
            Statistics { received_bytes, sent_bytes, accepted, connected, tls: Some(tls), ..beneath };
    }
}

/// What a side without terms cannot do.
fn without_terms(call: &str) -> EngineError {
    let source = io::Error::new(io::ErrorKind::Unsupported, "no TLS is set up for this side");
    EngineError::System { call: call.to_owned(), source }
}

impl<E: Engine> Engine for Tls<E> {
    #[inline]
    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn cpu_time(&self) -> Nanos {
        self.inner.cpu_time()
    }

    fn wakes_on_time(&self) -> bool {
        self.inner.wakes_on_time()
    }

    fn listen(&mut self, address: SocketAddr) -> Result<SocketAddr, EngineError> {
        if self.server.is_none() {
            return Err(without_terms("listen"));
        }
        self.inner.listen(address)
    }

    fn stop_listening(&mut self) {
        self.inner.stop_listening();
        while let Some((_, conn)) = self.arriving.pop_front() {
            self.give_up_arriving(conn);
        }
    }

    fn stop_listening_at(&mut self, address: SocketAddr) {
        self.inner.stop_listening_at(address);
    }

    fn pause_accepting(&mut self, address: SocketAddr, paused: bool) {
        self.inner.pause_accepting(address, paused);
    }

    fn connect(&mut self, remote: SocketAddr, local: Option<IpAddr>) -> Result<Conn, EngineError> {
        if self.client.is_none() {
            return Err(without_terms("connect"));
        }
        let conn = self.inner.connect(remote, local)?;
        self.table.insert(conn, None);
        Ok(conn)
    }

    fn poll(&mut self, until: Nanos, events: &mut Vec<Event>) -> Result<Nanos, EngineError> {
        events.clear();
        self.flush_all();
        let due = if self.pending.is_empty() { self.first_deadline() } else { Nanos::ZERO };
        let mut beneath = std::mem::take(&mut self.beneath);
        let woken = self.inner.poll(until.min(due), &mut beneath);
        self.deliver_pending(events);
        if let Ok(now) = woken {
            beneath.drain(..).for_each(|event| self.translate(event, now, events));
            self.expire(now);
        }
        self.beneath = beneath;
        self.count();
        woken
    }

    fn wake_source(&mut self) -> Option<(BorrowedFd<'_>, Nanos)> {
        let is_due = !self.pending.is_empty() || !self.unflushed.is_empty();
        let own = if is_due { Nanos::ZERO } else { self.first_deadline() };
        self.inner.wake_source().map(|(descriptor, due)| (descriptor, due.min(own)))
    }

    #[inline]
    fn receive(&mut self, conn: Conn) -> &[u8] {
        if self.table.get(conn).is_some_and(|session| session.to_skip == 0) {
            self.pull(conn);
        }
        self.table.get(conn).map_or(&[], |session| session.view())
    }

    #[inline]
    fn consume(&mut self, conn: Conn, n: usize) {
        let Some(session) = self.table.get_mut(conn) else { return };
        session.consume(n);
        if n > 0 && std::mem::take(&mut session.starved) {
            self.pending.push(Event::Readable(conn));
        }
        self.reclaim(conn);
    }

    fn skip(&mut self, conn: Conn, n: u64) {
        let Some(session) = self.table.get_mut(conn) else { return };
        let dropped = n.min(session.view().len() as u64);
        session.consume(dropped as usize);
        session.to_skip = session.to_skip.saturating_add(n - dropped);
        // The end of the stream may come with the last of these bytes, and is told behind them.
        let next = self.pending.len();
        if session.to_skip > 0 {
            self.pull(conn);
        }
        if self.skipping(conn) == 0 {
            self.pending.insert(next, Event::Readable(conn));
        }
    }

    fn skipping(&self, conn: Conn) -> u64 {
        self.table.get(conn).map_or(0, |session| session.to_skip)
    }

    fn send(&mut self, conn: Conn, parts: &[&[u8]]) -> usize {
        self.send_parts(conn, parts)
    }

    fn send_file(&mut self, conn: Conn, parts: &[&[u8]], range: FileRange) -> bool {
        self.send_parts_and_file(conn, parts, range)
    }

    fn submitted_at(&self, conn: Conn) -> Option<Nanos> {
        self.inner.submitted_at(conn)
    }

    #[inline]
    fn is_ending(&self, conn: Conn) -> bool {
        self.inner.is_ending(conn)
    }

    fn queued(&self, conn: Conn) -> u64 {
        self.inner.queued(conn) + self.table.get(conn).map_or(0, |session| session.outgoing.queued())
    }

    fn has_sent_all(&mut self, conn: Conn) -> bool {
        let is_waiting = self.table.get(conn).is_some_and(|session| session.outgoing.queued() > 0);
        self.inner.has_sent_all(conn) && !is_waiting
    }

    fn shutdown(&mut self, conn: Conn) {
        let Some(session) = self.table.get_mut(conn) else { return };
        if session.outgoing.queued() > 0 {
            session.outgoing.ends_when_drained = true;
        } else {
            self.end_sending(conn);
        }
    }

    fn close(&mut self, conn: Conn) {
        if let Some(session) = self.table.get_mut(conn).filter(|session| !session.broken) {
            session.say_end();
            self.flush(conn);
            self.flush_backlog(conn);
        }
        self.forget(conn);
        self.inner.close(conn);
    }

    fn abort(&mut self, conn: Conn) {
        self.forget(conn);
        self.inner.abort(conn);
    }

    fn addresses(&mut self, conn: Conn) -> Option<(SocketAddr, SocketAddr)> {
        self.inner.addresses(conn)
    }

    fn security(&self, conn: Conn) -> Option<Security> {
        self.table.get(conn)?.security
    }

    fn connections(&self) -> usize {
        self.inner.connections()
    }

    fn statistics(&self) -> &Statistics {
        &self.stats
    }
}
