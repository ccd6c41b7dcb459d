//! The stack as an engine: what its users may ask.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

use assay_engine::{Conn, Engine, EngineError, Event, FileRange, Reason, Statistics, clock};
use assay_model::units::Nanos;
use assay_wire::{Sender as _, Wire};
use rustix::io::Errno;

use crate::endpoint::{Endpoint, Owner};
use crate::flow::Flow;
use crate::ports::FIRST_PORT;
use crate::stack::{NEIGHBOUR_PATIENCE, UserStack};
use crate::table::secret;

/// Closed connections that have not ended at most; further ones are reset (tcp_max_orphans, tcp(7)).
const MAX_ORPHANS: usize = 16 * 1024;

impl<W: Wire> Engine for UserStack<W> {
    #[inline]
    fn now(&self) -> Nanos {
        (self.config.clock)()
    }

    fn cpu_time(&self) -> Nanos {
        clock::thread_cpu()
    }

    /// Addresses are those of the stack, or all of them, of both families or of IPv4. A second call adds a listener, also where the
    /// addresses of one are among those of another: the closest takes a connection.
    fn listen(&mut self, mut address: SocketAddr) -> Result<SocketAddr, EngineError> {
        if !address.ip().is_unspecified() && !self.interface.has_ip_addr(address.ip()) {
            return Err(refused(format!("listen at {address}"), Errno::ADDRNOTAVAIL));
        }
        if address.port() == 0 {
            let start = secret() as u16;
            let ports = (0..u16::MAX).map(|n| start.wrapping_add(n)).filter(|&port| port >= FIRST_PORT);
            let free =
                ports.map(|port| SocketAddr::new(address.ip(), port)).find(|&at| !self.listeners.include(at));
            address = free.unwrap_or(address);
        }
        if address.port() == 0 || self.listeners.has(address) {
            return Err(refused(format!("listen at {address}"), Errno::ADDRINUSE));
        }
        self.listeners.add(address);
        Ok(address)
    }

    /// Connections that waited there are reset, as by Linux.
    fn stop_listening(&mut self) {
        for address in self.listeners.addresses() {
            self.stop_listening_at(address);
        }
    }

    fn stop_listening_at(&mut self, address: SocketAddr) {
        for index in self.listeners.remove(address) {
            self.endpoints[index as usize].connection.abort();
            self.orphan(index);
        }
    }

    fn pause_accepting(&mut self, address: SocketAddr, paused: bool) {
        self.listeners.pause(address, paused);
    }

    fn connect(&mut self, remote: SocketAddr, local: Option<IpAddr>) -> Result<Conn, EngineError> {
        if !self.names.has_room() {
            return Err(EngineError::Full { limit: self.names.len() });
        }
        let local = self.source(remote, local)?;
        let port = self.ports.take(local, remote, secret()).ok_or(EngineError::NoPort { remote })?;
        let now = self.now();
        let conn = self.names.insert(0);
        let index = self.open(Flow::new(SocketAddr::new(local, port), remote), conn, now);
        if let Some(name) = self.names.get_mut(conn) {
            *name = index;
        }
        if self.config.addresses.iter().any(|cidr| cidr.reaches(remote.ip())) {
            let endpoint = &mut self.endpoints[index as usize];
            endpoint.patience = now + NEIGHBOUR_PATIENCE;
            self.wheel.arm(index, endpoint.patience);
            self.touch(index);
        } else {
            self.break_off(index, Reason::Unreachable);
        }
        Ok(conn)
    }

    fn poll(&mut self, until: Nanos, events: &mut Vec<Event>) -> Result<Nanos, EngineError> {
        events.clear();
        self.names.recycle();
        self.run(until, events)
    }

    fn wake_source(&mut self) -> Option<(BorrowedFd<'_>, Nanos)> {
        // What arrived in the last moment of a turn is answered in the next one.
        let may_reply = self.replies.are_waiting() && self.wire.split().1.room();
        let has_work = may_reply || !self.pending.is_empty() || (!self.dirty.is_empty() && !self.blocked);
        let due = if has_work { Nanos::ZERO } else { self.wheel.next() };
        let now = self.now();
        let (descriptor, at_most) = self.wire.doze()?;
        Some((descriptor, if at_most < Nanos::MAX { due.min(now + at_most) } else { due }))
    }

    fn receive(&mut self, conn: Conn) -> &[u8] {
        let Some(&index) = self.names.get(conn) else { return &[] };
        let endpoint = &mut self.endpoints[index as usize];
        if endpoint.to_skip > 0 {
            return &[];
        }
        self.statistics.received_bytes += endpoint.prepare_view();
        let is_end = !endpoint.starved && !endpoint.broken && endpoint.connection.peer_has_ended();
        if is_end && !std::mem::replace(&mut endpoint.told_end, true) {
            self.pending.push(Event::Eof(conn));
        }
        endpoint.connection.view()
    }

    fn consume(&mut self, conn: Conn, n: usize) {
        let Some(&index) = self.names.get(conn).filter(|_| n > 0) else { return };
        let endpoint = &mut self.endpoints[index as usize];
        endpoint.consume(n);
        if std::mem::take(&mut endpoint.starved) {
            self.pending.push(Event::Readable(conn));
        }
        self.touch(index);
    }

    fn skip(&mut self, conn: Conn, n: u64) {
        let Some(endpoint) = self.endpoint(conn) else { return };
        let received = endpoint.skip(n);
        let is_done = endpoint.to_skip == 0;
        let is_end = !is_done
            && endpoint.connection.peer_has_ended()
            && !std::mem::replace(&mut endpoint.told_end, true);
        self.statistics.received_bytes += received;
        if is_done {
            self.pending.push(Event::Readable(conn));
        } else if is_end {
            self.pending.push(Event::Eof(conn));
        }
        self.touch_named(conn);
    }

    fn skipping(&self, conn: Conn) -> u64 {
        self.names.get(conn).map_or(0, |&index| self.endpoints[index as usize].to_skip)
    }

    fn send(&mut self, conn: Conn, parts: &[&[u8]]) -> usize {
        let Some(endpoint) = self.endpoint(conn).filter(|e| !e.broken) else {
            return parts.iter().map(|part| part.len()).sum();
        };
        let (taken, given) = endpoint.send(parts);
        self.statistics.sent_bytes += given;
        self.has_sent(conn);
        taken
    }

    fn send_file(&mut self, conn: Conn, parts: &[&[u8]], range: FileRange) -> bool {
        let Some(endpoint) = self.endpoint(conn).filter(|e| !e.broken) else { return true };
        if !endpoint.send_file(parts, range) {
            return false;
        }
        let given = endpoint.top_up();
        endpoint.wants_room = endpoint.queued() > 0;
        match given {
            Ok(given) => {
                self.statistics.sent_bytes += given;
                self.has_sent(conn);
            }
            Err(bad) => {
                if let Some(&index) = self.names.get(conn) {
                    self.break_for_file(index, bad);
                }
            }
        }
        true
    }

    fn is_ending(&self, conn: Conn) -> bool {
        let endpoint = self.names.get(conn).map(|&index| &self.endpoints[index as usize]);
        endpoint.is_some_and(|endpoint| endpoint.broken || endpoint.connection.peer_has_ended())
    }

    fn queued(&self, conn: Conn) -> u64 {
        self.names.get(conn).map_or(0, |&index| self.endpoints[index as usize].queued())
    }

    fn shutdown(&mut self, conn: Conn) {
        if let Some(endpoint) = self.endpoint(conn) {
            endpoint.ending = true;
            self.touch_named(conn);
        }
    }

    /// The queue is still sent, for a minute at most. Bytes that arrived and were never shown reset the connection, as in
    /// Linux (RFC 1122 §4.2.2.13).
    fn close(&mut self, conn: Conn) {
        let has_too_many = self.orphans >= MAX_ORPHANS;
        let Some(index) = self.names.remove(conn) else { return };
        let endpoint = &mut self.endpoints[index as usize];
        endpoint.ending = true;
        let is_unread = endpoint.connection.unseen() > 0;
        if is_unread || has_too_many || matches!(endpoint.owner, Owner::Opening(_)) {
            endpoint.connection.abort();
        }
        self.orphan(index);
    }

    fn abort(&mut self, conn: Conn) {
        if let Some(index) = self.names.remove(conn) {
            self.endpoints[index as usize].connection.abort();
            self.orphan(index);
        }
    }

    fn addresses(&mut self, conn: Conn) -> Option<(SocketAddr, SocketAddr)> {
        self.endpoint(conn).filter(|e| matches!(e.owner, Owner::User(_))).map(|e| e.ends())
    }

    fn connections(&self) -> usize {
        self.names.len()
    }

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}

impl<W: Wire> UserStack<W> {
    fn endpoint(&mut self, conn: Conn) -> Option<&mut Endpoint> {
        self.names.get(conn).map(|&index| &mut self.endpoints[index as usize])
    }

    /// Something may be to send, and is held.
    fn has_sent(&mut self, conn: Conn) {
        if let Some(&index) = self.names.get(conn) {
            self.touch(index);
            self.account(index);
        }
    }

    fn touch_named(&mut self, conn: Conn) {
        if let Some(&index) = self.names.get(conn) {
            self.touch(index);
        }
    }

    /// Our address towards a peer.
    fn source(&self, remote: SocketAddr, local: Option<IpAddr>) -> Result<IpAddr, EngineError> {
        let ours = |ip: &IpAddr| self.interface.has_ip_addr(*ip) && ip.is_ipv4() == remote.is_ipv4();
        let chosen = || self.interface.get_source_address(&remote.ip().into()).map(IpAddr::from);
        let source = local.filter(|ip| !ip.is_unspecified()).or_else(chosen).filter(ours);
        source.ok_or_else(|| refused(format!("connect to {remote}"), Errno::ADDRNOTAVAIL))
    }
}

fn refused(call: String, error: Errno) -> EngineError {
    EngineError::System { call, source: error.into() }
}
