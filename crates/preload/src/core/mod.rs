//! The sockets of one process on one engine, without any of the operating system's calls: which descriptor names what, what
//! has happened to it, and what is true of it now.
//!
//! Nothing here waits. [`Core::turn`] lets the engine move on; a call that would have to wait returns [`Errno::AGAIN`], and
//! its caller waits for [`Core::readiness`] and calls again.

mod arena;
mod calls;
mod counters;
pub(crate) mod inheritance;
mod listener;
mod set;
mod stream;
mod watching;

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::os::fd::RawFd;

use assay_engine::{Conn, Engine, EngineError, Event, Reason};
use assay_model::units::Nanos;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use arena::{Arena, Id};
pub(crate) use calls::Way;
pub(crate) use counters::Counters;
use inheritance::Inheritance;
pub(crate) use listener::Terms;
use listener::{Listener, Taking};
pub(crate) use set::Report;
use set::Set;
use stream::{Phase, Stream};

/// What a descriptor of the program names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Object {
    /// A socket that listens.
    Listener(Id),
    /// A connection.
    Stream(Id),
    /// An epoll instance that watches some of the others.
    Set(Id),
}

/// The interests, each in its set, that watch an object.
type Watchers = Vec<(Id, Id)>;

/// The sockets of one process on one engine.
pub(crate) struct Core<E> {
    make: fn() -> Result<E, EngineError>,
    /// Made when it is first needed: a process that only opens listeners for its children needs none.
    engine: Option<E>,
    /// By the number of the descriptor.
    table: Vec<Option<Object>>,
    listeners: Arena<Listener>,
    streams: Arena<Stream>,
    sets: Arena<Set>,
    /// Epoll instances in which others hang: their numbers, and those of the others.
    nested: Vec<(RawFd, RawFd)>,
    /// Streams by the slot of their connection.
    by_slot: Vec<Option<Id>>,
    /// The engine does not listen yet for some listeners whose connections are waited for.
    unopened: bool,
    /// Connections that came to listeners.
    taken: u64,
    /// The engine said that bytes could be received, and there were none.
    came_to_nothing: bool,
    /// Something has happened to an object since [`Core::take_news`], by the engine or by a call of the program's.
    news: bool,
    /// Counters of engines that broke.
    lost: Counters,
    events: Vec<Event>,
}

impl<E: Engine> Core<E> {
    pub(crate) fn new(make: fn() -> Result<E, EngineError>) -> Self {
        Self {
            make,
            engine: None,
            table: Vec::new(),
            listeners: Arena::new(),
            streams: Arena::new(),
            sets: Arena::new(),
            nested: Vec::new(),
            by_slot: Vec::new(),
            unopened: false,
            taken: 0,
            came_to_nothing: false,
            news: false,
            lost: Counters::default(),
            events: Vec::new(),
        }
    }

    /// Lets the engine move on, waiting until `until` at the latest; returns whether anything happened.
    pub(crate) fn turn(&mut self, until: Nanos) -> Result<bool, Errno> {
        if self.unopened {
            self.open_listeners()?;
        }
        let mut happened = self.poll(until)?;
        // An end that came alone shows when nothing can be received, and is told with another poll.
        if std::mem::take(&mut self.came_to_nothing) {
            happened |= self.poll(Nanos::ZERO)?;
        }
        Ok(happened)
    }

    fn poll(&mut self, until: Nanos) -> Result<bool, Errno> {
        let Some(engine) = &mut self.engine else { return Ok(false) };
        let mut events = std::mem::take(&mut self.events);
        if let Err(error) = engine.poll(until, &mut events) {
            crate::log::say(&format!("the stack broke, and is made anew: {error}"));
            self.lose_engine();
            return Ok(true);
        }
        for &event in &events {
            self.dispatch(event);
        }
        let any = !events.is_empty();
        self.events = events;
        Ok(any)
    }

    /// Whether anything has happened since this was asked: then threads that wait have to be told.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    /// Counters of the engine and of those that were lost before it.
    pub(crate) fn counters(&self) -> Counters {
        let mut counters = self.lost;
        if let Some(engine) = &self.engine {
            counters.add(engine.statistics());
        }
        counters
    }

    /// What the engine can be waited for with; see [`Engine::wake_source`].
    pub(crate) fn wake_source(&mut self) -> Option<(std::os::fd::BorrowedFd<'_>, Nanos)> {
        self.engine.as_mut()?.wake_source()
    }

    /// Frames that the engine has taken from the wire; none if it is on the kernel's stack, which takes them by itself.
    pub(crate) fn received_frames(&self) -> u64 {
        let stack = self.engine.as_ref().and_then(|e| e.statistics().stack.as_ref());
        stack.map_or(0, |s| s.received_frames)
    }

    /// Whether the engine was made already.
    pub(crate) fn has_engine(&self) -> bool {
        self.engine.is_some()
    }

    /// Whether a turn that finds nothing takes no system call: the stack is in user space.
    pub(crate) fn looks_for_free(&self) -> bool {
        self.engine.as_ref().is_some_and(|e| e.statistics().stack.is_some())
    }

    /// What a descriptor names; `None` when it is none of the stack's.
    pub(crate) fn object(&self, descriptor: RawFd) -> Option<Object> {
        *self.table.get(usize::try_from(descriptor).ok()?)?
    }

    /// What may be true of an object now, as epoll_ctl(2) names it: of an epoll instance it is only known that something has happened
    /// ([`truth`](Self::truth)).
    pub(crate) fn readiness(&mut self, object: Object) -> EventFlags {
        readiness(object, &self.listeners, &self.streams, &self.sets, &mut self.engine)
    }

    /// Begins anew in a child of fork(2): the engine and its connections stay with the parent, listeners are opened again.
    pub(crate) fn after_fork(&mut self) {
        // Dropping it could touch memory that both processes share.
        std::mem::forget(self.engine.take());
        self.by_slot.clear();
        for stream in self.streams.iter_mut() {
            stream.phase = Phase::Foreign;
            stream.error = None;
        }
        for listener in self.listeners.iter_mut() {
            (listener.opened, listener.paused, listener.error) = (false, false, None);
            listener.shared = true;
            listener.take_waiting();
            self.unopened |= listener.wanted;
        }
    }

    /// Notes that a child has everything too.
    pub(crate) fn shared_with_child(&mut self) {
        self.listeners.iter_mut().for_each(|l| l.shared = true);
    }

    /// Takes note that this process waits for what comes to the listener.
    pub(crate) fn want(&mut self, object: Object) {
        if let Object::Listener(id) = object
            && let Some(listener) = self.listeners.get_mut(id)
        {
            listener.wanted = true;
            self.unopened |= !listener.opened;
        }
    }

    /// Sends what is still to be sent and ends all connections in the ordinary way, as far as that is possible by `until`.
    pub(crate) fn finish(&mut self, until: Nanos) {
        let Some(engine) = &mut self.engine else { return };
        let open: Vec<Conn> =
            self.streams.iter().filter(|(_, s)| s.phase == Phase::Open).map(|(_, s)| s.conn).collect();
        engine.stop_listening();
        let mut events = Vec::new();
        let queued = |engine: &E| open.iter().any(|&c| engine.queued(c) > 0);
        while queued(engine) && engine.poll(until, &mut events).is_ok_and(|now| now < until) {}
        open.iter().for_each(|&conn| engine.close(conn));
        // An engine that is broken by now has nothing left to send.
        let _ = engine.poll(Nanos::ZERO, &mut events);
    }

    /// Lets go of the engine, at the end.
    pub(crate) fn drop_engine(&mut self) {
        self.engine = None;
    }

    /// The other end of the wire is gone: so are all connections, as if they had been reset. Listeners are opened again.
    fn lose_engine(&mut self) {
        self.lost = self.counters();
        self.engine = None;
        self.by_slot.clear();
        let lost: Vec<Id> = self.streams.iter().filter(|(_, s)| s.is_alive()).map(|(id, _)| id).collect();
        for id in lost {
            if let Some(stream) = self.streams.get_mut(id) {
                stream.fail(Reason::Reset);
            }
            self.notify(Object::Stream(id));
        }
        for listener in self.listeners.iter_mut() {
            (listener.opened, listener.paused) = (false, false);
            self.unopened |= listener.wanted;
        }
    }

    fn engine(&mut self) -> Result<&mut E, Errno> {
        if self.engine.is_none() {
            let made = (self.make)().map_err(|error| {
                crate::log::say(&format!("no stack: {error}"));
                Errno::NETDOWN
            })?;
            self.engine = Some(made);
        }
        self.engine.as_mut().ok_or(Errno::NETDOWN)
    }

    fn open_listeners(&mut self) -> Result<(), Errno> {
        self.unopened = false;
        let unopened = self.listeners.iter().filter(|(_, l)| l.wanted && !l.opened);
        for id in unopened.map(|(id, _)| id).collect::<Vec<_>>() {
            self.open_listener(id)?;
        }
        Ok(())
    }

    /// Has the engine listen for a listener. It does so once for all that share an address (SO_REUSEPORT, socket(7)).
    fn open_listener(&mut self, id: Id) -> Result<(), Errno> {
        let Some(address) = self.listeners.get(id).map(Listener::engine_address) else { return Ok(()) };
        let refused = if self.is_open_at(address) {
            // There is room now.
            self.set_paused(address, false);
            None
        } else {
            self.engine()?.listen(address).err()
        };
        let Some(listener) = self.listeners.get_mut(id) else { return Ok(()) };
        listener.opened = true;
        if let Some(error) = refused {
            crate::log::say(&format!("cannot listen at {}: {error}", listener.address));
            listener.error = Some(errno(&error));
        }
        Ok(())
    }

    /// Whether the engine listens there for any listener.
    fn is_open_at(&self, address: SocketAddr) -> bool {
        self.listeners.iter().any(|(_, l)| l.is_open_at(address))
    }

    /// Has the engine hold connections to an address back, or let them come.
    fn set_paused(&mut self, address: SocketAddr, paused: bool) {
        self.listeners.iter_mut().filter(|l| l.is_open_at(address)).for_each(|l| l.paused = paused);
        if let Some(engine) = &mut self.engine {
            engine.pause_accepting(address, paused);
        }
    }

    fn dispatch(&mut self, event: Event) {
        let conn = match event {
            Event::Accepted(conn) => return self.take_in(conn),
            Event::Connected(c)
            | Event::Readable(c)
            | Event::Writable(c)
            | Event::Eof(c)
            | Event::Closed(c, _) => c,
        };
        let Some(id) = self.by_slot.get(conn.slot()).copied().flatten() else { return };
        let Some(stream) = self.streams.get_mut(id).filter(|s| s.conn == conn) else { return };
        match event {
            Event::Connected(_) => {
                stream.phase = Phase::Open;
                stream.addresses = self.engine.as_mut().and_then(|e| e.addresses(conn));
            }
            Event::Writable(_) => stream.blocked = false,
            Event::Eof(_) => stream.peer_ended = true,
            Event::Closed(_, reason) => stream.fail(reason),
            Event::Readable(_) => {
                self.came_to_nothing |= self.engine.as_mut().is_some_and(|e| e.receive(conn).is_empty());
            }
            Event::Accepted(_) => {}
        }
        self.notify(Object::Stream(id));
    }

    /// Keeps a connection for the listener that it came to.
    fn take_in(&mut self, conn: Conn) {
        let Some(engine) = &mut self.engine else { return };
        let Some(addresses) = engine.addresses(conn) else { return engine.abort(conn) };
        // Of several for one address (SO_REUSEPORT, socket(7)), nginx's workers wait each for one. Those that are waited for take turns.
        let rank = |l: &Listener| (l.takes(addresses.0), l.wanted, !l.is_full(), Reverse(l.taken));
        let best = self.listeners.iter().max_by_key(|(_, l)| rank(l));
        let Some((id, _)) = best.filter(|(_, l)| l.takes(addresses.0) > Taking::No) else {
            return engine.abort(conn);
        };
        let mut stream = Stream::new(conn, Phase::Open);
        stream.addresses = Some(addresses);
        stream.untold = self.listeners.get(id).and_then(|l| l.inheritance.clone());
        stream.resets = stream.untold.as_ref().is_some_and(|inheritance| inheritance.resets);
        let stream = self.streams.insert(stream);
        name_slot(&mut self.by_slot, conn, stream);
        self.taken += 1;
        let Some(listener) = self.listeners.get_mut(id) else { return };
        listener.push(stream);
        listener.taken = self.taken;
        let address = listener.engine_address();
        let is_full = listener.is_full() && !listener.paused;
        if is_full && self.listeners.iter().all(|(_, l)| l.is_full() || !l.is_open_at(address)) {
            self.set_paused(address, true);
        }
        self.notify(Object::Listener(id));
    }

    /// Something happened to an object: whoever watches it has to look.
    fn notify(&mut self, object: Object) {
        self.news = true;
        let watchers = match object {
            Object::Listener(id) => self.listeners.get(id).map(|l| &l.watchers),
            Object::Stream(id) => self.streams.get(id).map(|s| &s.watchers),
            Object::Set(_) => None,
        };
        for &(set, interest) in watchers.into_iter().flatten() {
            if let Some(set) = self.sets.get_mut(set) {
                set.list(interest);
            }
        }
    }
}

fn name_slot(by_slot: &mut Vec<Option<Id>>, conn: Conn, stream: Id) {
    if by_slot.len() <= conn.slot() {
        by_slot.resize(conn.slot() + 1, None);
    }
    by_slot[conn.slot()] = Some(stream);
}

fn readiness<E: Engine>(
    object: Object,
    listeners: &Arena<Listener>,
    streams: &Arena<Stream>,
    sets: &Arena<Set>,
    engine: &mut Option<E>,
) -> EventFlags {
    match object {
        Object::Listener(id) => listeners.get(id).map(Listener::readiness),
        Object::Stream(id) => streams.get(id).map(|stream| {
            let open = stream.phase == Phase::Open && !stream.receiving_ended;
            let has_bytes = open && engine.as_mut().is_some_and(|e| !e.receive(stream.conn).is_empty());
            stream.readiness(has_bytes)
        }),
        Object::Set(id) => sets.get(id).map(|set| {
            if set.may_be_ready() { EventFlags::IN | EventFlags::RDNORM } else { EventFlags::empty() }
        }),
    }
    .unwrap_or(EventFlags::ERR)
}

/// The error number that the kernel would have given for what the engine could not do (bind(2), connect(2)).
fn errno(error: &EngineError) -> Errno {
    match error {
        EngineError::System { source, .. } => Errno::from_io_error(source).unwrap_or(Errno::IO),
        EngineError::Full { .. } => Errno::NOBUFS,
        EngineError::NoPort { .. } => Errno::ADDRNOTAVAIL,
    }
}

/// An address as a socket of the family of `like` would show it.
pub(crate) fn in_family_of(address: SocketAddr, is_ipv6: bool) -> SocketAddr {
    match address.ip().to_canonical() {
        std::net::IpAddr::V4(v4) if is_ipv6 => SocketAddr::new(v4.to_ipv6_mapped().into(), address.port()),
        std::net::IpAddr::V4(v4) => SocketAddr::new(v4.into(), address.port()),
        std::net::IpAddr::V6(_) => address,
    }
}

#[cfg(test)]
mod tests;
