//! The epoll engine: edge-triggered, every socket registered once, about two system calls a request.
//!
//! A send is tried at once and only waits for the kernel when its buffer is full. A receive goes into one buffer
//! of the engine's, shared by all connections; only what its user leaves unconsumed is moved aside. So an idle
//! connection owns no buffer.

mod connection;

use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use assay_descriptors as descriptors;
use assay_model::units::Nanos;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use rustix::time::Timespec;

use crate::file::FileRange;
use crate::slots::Slots;
use crate::{
    Config, Conn, Engine, EngineError, Event, RECEIVE_VIEW_BYTES, Reason, Statistics, clock, sockets,
};
use connection::{Drained, EpollConnection, SHORT_RECEIVES};

/// Kernel events taken in one wait.
const EVENTS_AT_ONCE: usize = 256;
/// Connections accepted from one listener in one poll, so that a storm of them does not starve the ones that are open.
const ACCEPTS_AT_ONCE: usize = 64;
/// How long accepting rests after descriptors or memory ran out.
const ACCEPT_PAUSE: Nanos = Nanos::from_millis(20);
/// Stashes kept for reuse; more are freed.
const SPARE_STASHES: usize = 64;
/// Above what a connection's name can be (its generation has 28 bits); the listener's number is in the bits below.
const LISTENER: u64 = 0xF << 60;

/// An [`Engine`] on Linux's epoll(7).
pub struct Epoll {
    poller: OwnedFd,
    connections: Slots<EpollConnection>,
    listeners: Vec<Listener>,
    /// Listeners made so far, which numbers them.
    numbered: u64,
    /// Events found outside a wait, delivered by the next poll.
    pending: Vec<Event>,
    view: View,
    spare_stashes: Vec<Vec<u8>>,
    stats: Statistics,
}

struct Listener {
    number: u64,
    address: SocketAddr,
    socket: OwnedFd,
    /// The user does not want connections now.
    paused: bool,
    /// Connections may be waiting: the edge that announced them was seen, and the queue not yet found empty.
    ready: bool,
    paused_until: Nanos,
}

/// The shared receive buffer: `bytes[start..end]` belongs to `owner`.
struct View {
    owner: Option<Conn>,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Epoll {
    /// An engine for this thread.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new(config: Config) -> Result<Self, EngineError> {
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map(descriptors::keep)
            .map_err(|e| EngineError::system("epoll_create1", e))?;
        Ok(Self {
            poller,
            connections: Slots::new(config.max_connections),
            listeners: Vec::new(),
            numbered: 0,
            pending: Vec::new(),
            view: View { owner: None, bytes: vec![0; RECEIVE_VIEW_BYTES], start: 0, end: 0 },
            spare_stashes: Vec::new(),
            stats: Statistics::default(),
        })
    }

    fn add(&mut self, socket: OwnedFd, connecting: bool) -> Result<Conn, EngineError> {
        let conn = self.connections.insert(EpollConnection::new(socket, connecting));
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        self.stats.other_calls += 1;
        let registered = match self.connections.get(conn) {
            Some(c) => epoll::add(&self.poller, &c.socket, EventData::new_u64(pack(conn)), interest),
            None => Ok(()),
        };
        if let Err(error) = registered {
            self.connections.remove(conn);
            return Err(EngineError::system("epoll_ctl", error));
        }
        Ok(conn)
    }

    fn remove(&mut self, conn: Conn) -> Option<EpollConnection> {
        if self.view.owner == Some(conn) {
            self.view.owner = None;
        }
        let mut connection = self.connections.remove(conn)?;
        let stash = std::mem::take(&mut connection.stash);
        self.keep_spare(stash);
        Some(connection)
    }

    fn break_off(&mut self, conn: Conn, reason: Reason) {
        if let Some(connection) = self.connections.get_mut(conn)
            && !std::mem::replace(&mut connection.broken, true)
        {
            self.pending.push(Event::Closed(conn, reason));
        }
    }

    /// Tells with the next poll that there is something to receive, once.
    fn announce(&mut self, conn: Conn) {
        if let Some(connection) = self.connections.get_mut(conn)
            && !std::mem::replace(&mut connection.announced, true)
        {
            self.pending.push(Event::Readable(conn));
        }
    }

    /// Moves unconsumed bytes of the view's owner aside, so that the buffer can serve another.
    fn vacate_view(&mut self) {
        let Some(owner) = self.view.owner.take() else { return };
        let left = &self.view.bytes[self.view.start..self.view.end];
        if left.is_empty() {
            return;
        }
        if let Some(connection) = self.connections.get_mut(owner) {
            let mut stash = self.spare_stashes.pop().unwrap_or_default();
            stash.extend_from_slice(left);
            connection.stash = stash;
        }
    }

    /// Makes `conn` the view's owner, with what it left unconsumed before.
    fn occupy_view(&mut self, conn: Conn) {
        self.vacate_view();
        let Some(connection) = self.connections.get_mut(conn) else { return };
        let stash = std::mem::take(&mut connection.stash);
        self.view.bytes[..stash.len()].copy_from_slice(&stash);
        (self.view.owner, self.view.start, self.view.end) = (Some(conn), 0, stash.len());
        self.keep_spare(stash);
    }

    fn keep_spare(&mut self, mut stash: Vec<u8>) {
        if stash.capacity() > 0 && self.spare_stashes.len() < SPARE_STASHES {
            stash.clear();
            self.spare_stashes.push(stash);
        }
    }

    /// Waits in the kernel and turns what it reports into events.
    fn wait(&mut self, until: Nanos, events: &mut Vec<Event>) -> Result<Nanos, EngineError> {
        let timeout = if self.pending.is_empty() { self.wait_span(until) } else { Some(Nanos::ZERO) };
        let timeout = timeout.map(|t| Timespec {
            tv_sec: (t.0 / 1_000_000_000) as i64,
            tv_nsec: (t.0 % 1_000_000_000) as i64,
        });
        let mut raw = [MaybeUninit::<epoll::Event>::uninit(); EVENTS_AT_ONCE];
        self.stats.waits += 1;
        let ready = match epoll::wait(&self.poller, &mut raw, timeout.as_ref()) {
            Ok((ready, _)) => ready,
            Err(Errno::INTR) => &mut [],
            Err(error) => {
                descriptors::check(self.poller.as_fd())
                    .map_err(|e| EngineError::system("epoll_pwait2", e))?;
                return Err(EngineError::system("epoll_pwait2", error));
            }
        };
        let now = clock::now();
        self.deliver_pending(events);
        for event in ready {
            let (flags, data) = (event.flags, event.data.u64());
            if data >= LISTENER {
                let number = data - LISTENER;
                self.listeners.iter_mut().filter(|l| l.number == number).for_each(|l| l.ready = true);
            } else {
                self.translate(unpack(data), flags, events);
            }
        }
        Ok(now)
    }

    /// The time at which accepting is to be tried again, or `until` if that is earlier.
    fn accept_time(&self, until: Nanos) -> Nanos {
        let has_room = self.connections.has_room();
        let waiting = self.listeners.iter().filter(|l| l.ready && !l.paused && has_room);
        waiting.map(|l| l.paused_until).fold(until, Nanos::min)
    }

    /// How long the kernel may wait; `None` is forever.
    fn wait_span(&self, until: Nanos) -> Option<Nanos> {
        match self.accept_time(until) {
            Nanos::MAX => None,
            Nanos::ZERO => Some(Nanos::ZERO),
            until => Some(until - clock::now()),
        }
    }

    fn deliver_pending(&mut self, events: &mut Vec<Event>) {
        let mut pending = std::mem::take(&mut self.pending);
        for event in pending.drain(..) {
            match event {
                Event::Closed(conn, _) => {
                    if self.remove(conn).is_some() {
                        events.push(event);
                    }
                }
                Event::Readable(conn) => {
                    // While bytes are skipped, the last of them will tell.
                    let Some(c) = self.connections.get_mut(conn) else { continue };
                    c.announced = false;
                    if !c.broken && c.to_skip == 0 {
                        events.push(event);
                    }
                }
                Event::Eof(conn) | Event::Connected(conn) => {
                    if self.connections.get(conn).is_some_and(|c| !c.broken) {
                        events.push(event);
                    }
                }
                Event::Accepted(_) | Event::Writable(_) => events.push(event),
            }
        }
        self.pending = pending;
    }

    fn translate(&mut self, conn: Conn, flags: EventFlags, events: &mut Vec<Event>) {
        let Some(connection) = self.connections.get_mut(conn).filter(|c| !c.broken) else { return };
        connection.peer_ended |= flags.intersects(EventFlags::RDHUP | EventFlags::HUP);
        let failed =
            flags.contains(EventFlags::ERR) || (connection.connecting && flags.contains(EventFlags::HUP));
        if failed {
            return self.fail(conn, flags, events);
        }
        if std::mem::take(&mut connection.connecting) {
            self.stats.connected += 1;
            events.push(Event::Connected(conn));
        }
        if flags.contains(EventFlags::IN) {
            connection.readable = true;
            if connection.to_skip == 0 {
                events.push(Event::Readable(conn));
            } else {
                events.extend(self.drop_arrived(conn));
            }
        }
        let Some(connection) = self.connections.get_mut(conn) else { return };
        if flags.contains(EventFlags::OUT) {
            match connection.drain(&mut self.stats) {
                Drained::Yes => events.push(Event::Writable(conn)),
                Drained::Quiet => {}
                Drained::Broken(error) => self.break_off(conn, sockets::send_reason(error)),
            }
        }
    }

    /// Goes on skipping; returns what the user is to be told.
    fn drop_arrived(&mut self, conn: Conn) -> Option<Event> {
        let connection = self.connections.get_mut(conn).filter(|c| !c.broken)?;
        if let Err(error) = connection.drop_arrived(&mut self.stats) {
            self.break_off(conn, sockets::reason(error));
            return None;
        }
        if connection.to_skip == 0 {
            return Some(Event::Readable(conn));
        }
        let ended = connection.is_at_unannounced_end();
        connection.eof_told |= ended;
        ended.then_some(Event::Eof(conn))
    }

    /// The kernel reports an error. What arrived before it can still be received, so it is offered first and the
    /// end told with the next poll.
    fn fail(&mut self, conn: Conn, flags: EventFlags, events: &mut Vec<Event>) {
        let Some(connection) = self.connections.get_mut(conn) else { return };
        self.stats.other_calls += 1;
        let error = sockets::pending_error(&connection.socket).unwrap_or(Errno::CONNRESET);
        if flags.contains(EventFlags::IN) && !connection.connecting {
            connection.readable = true;
            // The end is announced: neither receive nor send has to announce it again.
            connection.eof_told = true;
            let skips = connection.to_skip > 0;
            events.extend(if skips { self.drop_arrived(conn) } else { Some(Event::Readable(conn)) });
            self.pending.push(Event::Closed(conn, sockets::reason(error)));
        } else if self.remove(conn).is_some() {
            events.push(Event::Closed(conn, sockets::reason(error)));
        }
    }

    fn accept_waiting(&mut self, now: Nanos, events: &mut Vec<Event>) {
        for at in 0..self.listeners.len() {
            for _ in 0..ACCEPTS_AT_ONCE {
                if !self.accept_one(at, now, events) {
                    break;
                }
            }
        }
    }

    /// Accepts a connection of the listener; returns whether to try again.
    fn accept_one(&mut self, at: usize, now: Nanos, events: &mut Vec<Event>) -> bool {
        let has_room = self.connections.has_room();
        let listener = &mut self.listeners[at];
        if !listener.ready || listener.paused || listener.paused_until > now || !has_room {
            return false;
        }
        self.stats.other_calls += 1;
        match sockets::accept(&listener.socket) {
            Ok(socket) => match self.add(socket, false) {
                Ok(conn) => {
                    self.stats.accepted += 1;
                    events.push(Event::Accepted(conn));
                }
                Err(_) => self.stats.accept_errors += 1,
            },
            Err(Errno::AGAIN) => listener.ready = false,
            // The peer gave up while it waited (accept(2)); the next one may be fine.
            Err(Errno::CONNABORTED | Errno::INTR) => {}
            Err(_) => {
                self.stats.accept_errors += 1;
                listener.paused_until = now + ACCEPT_PAUSE;
            }
        }
        true
    }
}

impl Engine for Epoll {
    #[inline]
    fn now(&self) -> Nanos {
        clock::now()
    }

    fn cpu_time(&self) -> Nanos {
        clock::thread_cpu()
    }

    fn listen(&mut self, address: SocketAddr) -> Result<SocketAddr, EngineError> {
        sockets::not_taken(address, self.listeners.iter().map(|l| l.address))?;
        let (socket, bound) = sockets::listening(address, SocketFlags::NONBLOCK)?;
        let interest = EventFlags::IN | EventFlags::ET;
        let number = self.numbered;
        epoll::add(&self.poller, &socket, EventData::new_u64(LISTENER | number), interest)
            .map_err(|e| EngineError::system("epoll_ctl", e))?;
        self.numbered += 1;
        let (paused, paused_until) = (false, Nanos::ZERO);
        self.listeners.push(Listener { number, address: bound, socket, paused, ready: true, paused_until });
        Ok(bound)
    }

    fn stop_listening(&mut self) {
        self.listeners.clear();
    }

    fn stop_listening_at(&mut self, address: SocketAddr) {
        self.listeners.retain(|l| l.address != address);
    }

    fn pause_accepting(&mut self, address: SocketAddr, paused: bool) {
        self.listeners.iter_mut().filter(|l| l.address == address).for_each(|l| l.paused = paused);
    }

    fn connect(&mut self, remote: SocketAddr, local: Option<IpAddr>) -> Result<Conn, EngineError> {
        if !self.connections.has_room() {
            return Err(EngineError::Full { limit: self.connections.len() });
        }
        self.stats.other_calls += 2;
        let (socket, connected) = sockets::connecting(remote, local)?;
        let conn = self.add(socket, !connected)?;
        if connected {
            self.stats.connected += 1;
            self.pending.push(Event::Connected(conn));
        }
        Ok(conn)
    }

    fn poll(&mut self, until: Nanos, events: &mut Vec<Event>) -> Result<Nanos, EngineError> {
        events.clear();
        self.vacate_view();
        self.connections.recycle();
        let now = self.wait(until, events)?;
        self.accept_waiting(now, events);
        Ok(now)
    }

    fn wake_source(&mut self) -> Option<(BorrowedFd<'_>, Nanos)> {
        let due = if self.pending.is_empty() { self.accept_time(Nanos::MAX) } else { Nanos::ZERO };
        Some((self.poller.as_fd(), due))
    }

    fn receive(&mut self, conn: Conn) -> &[u8] {
        if self.view.owner != Some(conn) {
            self.occupy_view(conn);
        }
        let Some(connection) = self.connections.get_mut(conn) else { return &[] };
        let view = &mut self.view;
        if connection.readable && !connection.broken && connection.to_skip == 0 {
            view.compact();
            let space = &mut view.bytes[view.end..];
            connection.starved = space.is_empty();
            if !space.is_empty() {
                let received = connection.receive(space, &mut self.stats);
                let (again, ended) = (connection.readable, connection.is_at_unannounced_end());
                connection.eof_told |= ended;
                match received {
                    Ok(n) => view.end += n,
                    Err(error) => self.break_off(conn, sockets::reason(error)),
                }
                if again {
                    self.announce(conn);
                } else if ended {
                    self.pending.push(Event::Eof(conn));
                }
            }
        }
        &self.view.bytes[self.view.start..self.view.end]
    }

    fn consume(&mut self, conn: Conn, n: usize) {
        if self.view.owner != Some(conn) {
            return;
        }
        self.view.start = (self.view.start + n).min(self.view.end);
        if n > 0 && self.connections.get_mut(conn).is_some_and(|c| std::mem::take(&mut c.starved)) {
            self.pending.push(Event::Readable(conn));
        }
    }

    fn skip(&mut self, conn: Conn, n: u64) {
        if self.view.owner != Some(conn) {
            self.occupy_view(conn);
        }
        let Some(connection) = self.connections.get_mut(conn) else { return };
        let held = (self.view.end - self.view.start) as u64;
        self.view.start += held.min(n) as usize;
        connection.to_skip = connection.to_skip.saturating_add(n - held.min(n));
        // What is told when all is dropped makes up for it.
        connection.starved = false;
        connection.short_receives = SHORT_RECEIVES;
        match self.drop_arrived(conn) {
            Some(Event::Readable(_)) => self.announce(conn),
            told => self.pending.extend(told),
        }
    }

    fn skipping(&self, conn: Conn) -> u64 {
        self.connections.get(conn).map_or(0, |c| c.to_skip)
    }

    fn send(&mut self, conn: Conn, parts: &[&[u8]]) -> usize {
        let everything = || parts.iter().map(|p| p.len()).sum();
        let Some(connection) = self.connections.get_mut(conn).filter(|c| !c.broken) else {
            return everything();
        };
        match connection.send(parts, &mut self.stats) {
            Ok(accepted) => accepted,
            Err(error) => {
                self.break_off(conn, sockets::send_reason(error));
                everything()
            }
        }
    }

    fn send_file(&mut self, conn: Conn, parts: &[&[u8]], range: FileRange) -> bool {
        let Some(connection) = self.connections.get_mut(conn).filter(|c| !c.broken) else { return true };
        connection.send_file(parts, range, &mut self.stats).unwrap_or_else(|error| {
            self.break_off(conn, sockets::send_reason(error));
            true
        })
    }

    #[inline]
    fn is_ending(&self, conn: Conn) -> bool {
        self.connections.get(conn).is_some_and(|c| c.peer_ended || c.broken)
    }

    fn queued(&self, conn: Conn) -> u64 {
        self.connections.get(conn).map_or(0, EpollConnection::queued)
    }

    fn shutdown(&mut self, conn: Conn) {
        if let Some(connection) = self.connections.get_mut(conn) {
            self.stats.other_calls += 1;
            connection.shutdown();
        }
    }

    fn close(&mut self, conn: Conn) {
        if let Some(mut connection) = self.remove(conn) {
            self.stats.other_calls += 1;
            // What the kernel does not take now is lost with the connection, as close(2) says.
            let _ = connection.drain(&mut self.stats);
        }
    }

    fn abort(&mut self, conn: Conn) {
        if let Some(connection) = self.remove(conn) {
            self.stats.other_calls += 2;
            sockets::reset_on_close(&connection.socket);
        }
    }

    fn addresses(&mut self, conn: Conn) -> Option<(SocketAddr, SocketAddr)> {
        let connection = self.connections.get(conn).filter(|c| !c.connecting)?;
        self.stats.other_calls += 2;
        sockets::addresses(&connection.socket).ok()
    }

    fn connections(&self) -> usize {
        self.connections.len()
    }

    fn statistics(&self) -> &Statistics {
        &self.stats
    }
}

impl View {
    /// Moves the unconsumed bytes to the front, so that all free space is behind them.
    fn compact(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
    }
}

fn pack(conn: Conn) -> u64 {
    u64::from(conn.generation) << 32 | u64::from(conn.slot)
}

fn unpack(data: u64) -> Conn {
    Conn { slot: data as u32, generation: (data >> 32) as u32 }
}
