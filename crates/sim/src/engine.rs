//! An engine on the network.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use assay_engine::slots::Slots;
use assay_engine::{Config, Conn, Engine, EngineError, Event, FileRange, Reason, Statistics};
use assay_model::units::Nanos;
use rustix::io::Errno;

use crate::Shared;
use crate::connection::{Connection, Drained};
use crate::freeze::Freeze;
use crate::side::{News, SideId};
use crate::wait::{Wait, WaitPlace};

/// An [`Engine`] on a [`Network`](crate::Network), which waits in the way of `W`.
pub struct SimEngine<W> {
    shared: Arc<Shared>,
    /// Number of the engine in the network.
    end: usize,
    wait: W,
    connections: Slots<Connection>,
    limit: usize,
    /// Events found outside a wait, delivered by the next poll.
    pending: Vec<Event>,
    stats: Statistics,
}

impl<W: Wait> SimEngine<W> {
    pub(crate) fn new(shared: &Arc<Shared>, config: Config, wait: W) -> Self {
        let end = shared.net().join();
        let limit = config.max_connections;
        let connections = Slots::new(limit);
        let stats = Statistics::default();
        Self { shared: Arc::clone(shared), end, wait, connections, limit, pending: Vec::new(), stats }
    }

    /// Lets its user do nothing at such times.
    pub fn freeze(&mut self, freeze: Freeze) {
        self.shared.change(|net| net.ends[self.end].freeze = Some(freeze));
    }

    /// Does something to a connection that is not broken.
    fn change<T>(
        &mut self,
        conn: Conn,
        act: impl FnOnce(&mut Connection, &mut crate::network::Net, &mut Statistics) -> T,
    ) -> Option<T> {
        let Self { shared, connections, stats, .. } = self;
        let connection = connections.get_mut(conn).filter(|c| !c.is_broken)?;
        Some(shared.change(|net| act(connection, net, stats)))
    }

    fn break_off(&mut self, conn: Conn, reason: Reason) {
        if let Some(connection) = self.connections.get_mut(conn)
            && !std::mem::replace(&mut connection.is_broken, true)
        {
            self.pending.push(Event::Closed(conn, reason));
        }
    }

    /// Tells with the next poll that there is something to receive, once.
    fn announce(&mut self, conn: Conn) {
        if let Some(connection) = self.connections.get_mut(conn)
            && !std::mem::replace(&mut connection.is_announced, true)
        {
            self.pending.push(Event::Readable(conn));
        }
    }

    /// What the user is to be told of the bytes that arrived, and of their end.
    fn look(&mut self, conn: Conn) -> [Option<Event>; 2] {
        let seen = self.change(conn, |c, net, stats| {
            let was_skipping = c.to_skip > 0;
            c.drop_arrived(net, stats);
            let has_bytes = was_skipping || !net.side(c.side).inbox.is_empty();
            (has_bytes && c.to_skip == 0, c.notes_end(net))
        });
        let (is_readable, has_ended) = seen.unwrap_or_default();
        [is_readable.then_some(Event::Readable(conn)), has_ended.then_some(Event::Eof(conn))]
    }

    fn deliver_pending(&mut self, events: &mut Vec<Event>) {
        for event in std::mem::take(&mut self.pending) {
            match event {
                Event::Closed(conn, _) => {
                    if self.connections.get(conn).is_some() {
                        self.abort(conn);
                        events.push(event);
                    }
                }
                Event::Readable(conn) => {
                    // While bytes are skipped, the last of them will tell.
                    let Some(c) = self.connections.get_mut(conn) else { continue };
                    c.is_announced = false;
                    if !c.is_broken && c.to_skip == 0 {
                        events.push(event);
                    }
                }
                Event::Eof(conn) | Event::Connected(conn) | Event::Accepted(conn) | Event::Writable(conn) => {
                    if self.connections.get(conn).is_some_and(|c| !c.is_broken) {
                        events.push(event);
                    }
                }
            }
        }
    }

    fn accept_waiting(&mut self, events: &mut Vec<Event>) {
        while self.connections.has_room() {
            let Some(side) = self.shared.net().accept(self.end) else { return };
            let conn = self.connections.insert(Connection::new(side, false));
            self.shared.change(|net| net.name(side, conn));
            self.stats.accepted += 1;
            events.push(Event::Accepted(conn));
        }
    }

    fn hear(&mut self, events: &mut Vec<Event>) {
        loop {
            let (side, news, conn) = {
                let mut net = self.shared.net();
                let Some((side, news)) = net.next_news(self.end) else { return };
                (side, news, net.side(side).conn)
            };
            // A connection that the user has closed has no name any more.
            if let Some(conn) =
                conn.filter(|&conn| self.connections.get(conn).is_some_and(|c| c.side == side))
            {
                self.translate(conn, side, news, events);
            }
        }
    }

    fn translate(&mut self, conn: Conn, side: SideId, news: News, events: &mut Vec<Event>) {
        if news.refused {
            self.abort(conn);
            return events.push(Event::Closed(conn, Reason::Refused));
        }
        if news.connected {
            if let Some(c) = self.connections.get_mut(conn) {
                c.is_connecting = false;
            }
            self.stats.connected += 1;
            events.push(Event::Connected(conn));
        }
        let told = if news.bytes || news.ended { self.look(conn) } else { [None; 2] };
        events.extend(told.into_iter().flatten());
        if news.room || news.connected {
            events.extend(self.drain(conn));
        }
        if news.reset {
            self.was_reset(conn, side, told != [None; 2], events);
        }
    }

    /// Lets the queue leave; returns what the user is to be told.
    fn drain(&mut self, conn: Conn) -> Option<Event> {
        match self.change(conn, |c, net, stats| c.drain(net, stats))? {
            Drained::Yes => Some(Event::Writable(conn)),
            Drained::Quiet => None,
            Drained::Broken(_) => {
                self.break_for_file(conn);
                None
            }
        }
    }

    /// A file could not be sent to its end, which must not look as if it had been.
    fn break_for_file(&mut self, conn: Conn) {
        self.change(conn, |c, net, _| net.abort(c.side));
        self.break_off(conn, Reason::Other(Errno::IO.raw_os_error()));
    }

    /// The connection is reset. What arrived before can still be received, so it is offered first and the end told with the next
    /// poll.
    fn was_reset(&mut self, conn: Conn, side: SideId, is_told: bool, events: &mut Vec<Event>) {
        let holds = !self.shared.net().side(side).inbox.is_empty();
        let Some(c) = self.connections.get_mut(conn) else { return };
        c.end_told = true;
        if holds || is_told || !c.view().is_empty() {
            self.pending.push(Event::Closed(conn, Reason::Reset));
        } else if !c.is_broken {
            self.abort(conn);
            events.push(Event::Closed(conn, Reason::Reset));
        }
    }

    fn refused(call: String, error: Errno) -> EngineError {
        EngineError::System { call, source: error.into() }
    }
}

/// A user has ended: its connections are closed as a kernel closes them.
impl<W> Drop for SimEngine<W> {
    fn drop(&mut self) {
        self.shared.change(|net| net.leave(self.end));
    }
}

impl<W: Wait> Engine for SimEngine<W> {
    fn now(&self) -> Nanos {
        self.shared.net().now()
    }

    fn cpu_time(&self) -> Nanos {
        self.wait.cpu_time()
    }

    fn wakes_on_time(&self) -> bool {
        self.wait.is_exact()
    }

    fn listen(&mut self, address: SocketAddr) -> Result<SocketAddr, EngineError> {
        let bound = self.shared.change(|net| net.listen(self.end, address));
        bound.ok_or_else(|| Self::refused(format!("listen at {address}"), Errno::ADDRINUSE))
    }

    fn stop_listening(&mut self) {
        self.shared.change(|net| net.stop_listening(self.end, None));
    }

    fn stop_listening_at(&mut self, address: SocketAddr) {
        self.shared.change(|net| net.stop_listening(self.end, Some(address)));
    }

    fn pause_accepting(&mut self, address: SocketAddr, paused: bool) {
        self.shared.change(|net| net.pause(self.end, address, paused));
    }

    fn connect(&mut self, remote: SocketAddr, local: Option<IpAddr>) -> Result<Conn, EngineError> {
        if !self.connections.has_room() {
            return Err(EngineError::Full { limit: self.limit });
        }
        let side = self.shared.change(|net| net.connect(self.end, remote, local));
        let conn = self.connections.insert(Connection::new(side, true));
        self.shared.change(|net| net.name(side, conn));
        Ok(conn)
    }

    fn poll(&mut self, until: Nanos, events: &mut Vec<Event>) -> Result<Nanos, EngineError> {
        events.clear();
        self.connections.recycle();
        self.stats.waits += 1;
        let (has_work, has_room) = (!self.pending.is_empty(), self.connections.has_room());
        let place = WaitPlace { shared: &self.shared, end: self.end, has_work, has_room };
        let now = self.wait.wait(place, until);
        self.deliver_pending(events);
        self.accept_waiting(events);
        self.hear(events);
        Ok(now)
    }

    fn receive(&mut self, conn: Conn) -> &[u8] {
        let told = self.change(conn, |c, net, stats| {
            if c.to_skip > 0 || net.side(c.side).inbox.is_empty() {
                return None;
            }
            c.receive(net, stats);
            Some((!c.is_starved && !net.side(c.side).inbox.is_empty(), c.notes_end(net)))
        });
        if let Some(Some((has_more, is_end))) = told {
            if has_more {
                self.announce(conn);
            } else if is_end {
                self.pending.push(Event::Eof(conn));
            }
        }
        self.connections.get(conn).filter(|c| c.to_skip == 0).map_or(&[], Connection::view)
    }

    fn consume(&mut self, conn: Conn, n: usize) {
        let Some(connection) = self.connections.get_mut(conn).filter(|_| n > 0) else { return };
        connection.consume(n);
        if std::mem::take(&mut connection.is_starved) {
            self.announce(conn);
        }
    }

    fn skip(&mut self, conn: Conn, n: u64) {
        let done = self.change(conn, |c, _, _| {
            c.skip(n);
            c.to_skip == 0
        });
        if done == Some(true) {
            return self.announce(conn);
        }
        for told in self.look(conn).into_iter().flatten() {
            match told {
                Event::Readable(_) => self.announce(conn),
                told => self.pending.push(told),
            }
        }
    }

    fn skipping(&self, conn: Conn) -> u64 {
        self.connections.get(conn).map_or(0, |c| c.to_skip)
    }

    fn send(&mut self, conn: Conn, parts: &[&[u8]]) -> usize {
        let everything = || parts.iter().map(|part| part.len()).sum();
        let sent =
            self.change(
                conn,
                |c, net, stats| {
                    if net.side(c.side).is_reset { None } else { Some(c.send(net, parts, stats)) }
                },
            );
        let place = WaitPlace { shared: &self.shared, end: self.end, has_work: false, has_room: false };
        self.wait.send(place);
        match sent {
            Some(Some(sent)) => sent,
            Some(None) => {
                self.break_off(conn, Reason::SendReset);
                everything()
            }
            None => everything(),
        }
    }

    fn send_file(&mut self, conn: Conn, parts: &[&[u8]], range: FileRange) -> bool {
        let sent = self.change(conn, |c, net, stats| {
            if net.side(c.side).is_reset { None } else { Some(c.send_file(net, parts, range, stats)) }
        });
        match sent {
            Some(Some(Ok(accepted))) => return accepted,
            Some(Some(Err(_))) => self.break_for_file(conn),
            Some(None) => self.break_off(conn, Reason::SendReset),
            None => {}
        }
        true
    }

    fn is_ending(&self, conn: Conn) -> bool {
        let Some(c) = self.connections.get(conn) else { return false };
        let mut net = self.shared.net();
        let side = net.side(c.side);
        c.is_broken || side.has_ended || side.is_reset
    }

    fn queued(&self, conn: Conn) -> u64 {
        self.connections.get(conn).map_or(0, Connection::queued)
    }

    fn shutdown(&mut self, conn: Conn) {
        self.change(conn, |c, net, _| c.shutdown(net));
    }

    fn close(&mut self, conn: Conn) {
        let Some(mut c) = self.connections.remove(conn) else { return };
        self.shared.change(|net| {
            self.stats.sent_bytes += c.hand_over(net) as u64;
            net.close(c.side, c.is_over);
        });
    }

    fn abort(&mut self, conn: Conn) {
        if let Some(c) = self.connections.remove(conn) {
            self.shared.change(|net| net.abort(c.side));
        }
    }

    fn addresses(&mut self, conn: Conn) -> Option<(SocketAddr, SocketAddr)> {
        let c = self.connections.get(conn).filter(|c| !c.is_connecting)?;
        let mut net = self.shared.net();
        let side = net.side(c.side);
        Some((side.local, side.remote))
    }

    fn connections(&self) -> usize {
        self.connections.len()
    }

    fn statistics(&self) -> &Statistics {
        &self.stats
    }
}
