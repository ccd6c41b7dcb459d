//! What a program does with its sockets.

use std::io::{IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;

use assay_engine::Engine;
use rustix::io::Errno;

use super::stream::{Phase, Stream};
use super::{Arena, Core, Id, Listener, Object, Taking, Terms, errno, name_slot};

/// Parts of one send that go to the engine together; as many as the kernel allows (writev(2), IOV_MAX).
const PARTS_AT_ONCE: usize = 1024;

/// States of a connection (linux/tcp_states.h).
const ESTABLISHED: u8 = 1;
const SYN_SENT: u8 = 2;
const FIN_WAIT: u8 = 5;
const CLOSED: u8 = 7;
const CLOSE_WAIT: u8 = 8;
const LAST_ACK: u8 = 9;
const LISTENS: u8 = 10;

/// How bytes are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The bytes are the program's from now on.
    Take,
    /// The bytes stay (`MSG_PEEK`).
    Peek,
}

impl<E: Engine> Core<E> {
    /// Whether somebody listens at an address already, and not together with others.
    pub(crate) fn is_taken(&self, address: SocketAddr, shares_port: bool) -> bool {
        self.listeners.iter().any(|(_, l)| l.excludes(address, shares_port))
    }

    /// Begins to listen. The engine follows with the first turn, in the process that takes it.
    pub(crate) fn listen(&mut self, fd: RawFd, address: SocketAddr, terms: Terms) -> Result<(), Errno> {
        match self.object(fd) {
            None if self.is_taken(address, terms.shares_port) => Err(Errno::ADDRINUSE),
            None => {
                let listener = self.listeners.insert(Listener::new(address, terms));
                self.put(fd, Object::Listener(listener));
                Ok(())
            }
            Some(Object::Listener(id)) => {
                self.listeners.get_mut(id).ok_or(Errno::BADF)?.set_backlog(terms.backlog);
                Ok(())
            }
            Some(_) => Err(Errno::INVAL),
        }
    }

    /// Takes a waiting connection. Who takes it gives it a descriptor with [`adopt`](Self::adopt).
    pub(crate) fn accept(&mut self, fd: RawFd) -> Result<Id, Errno> {
        let Some(object @ Object::Listener(id)) = self.object(fd) else { return Err(Errno::INVAL) };
        self.want(object);
        let listener = self.listeners.get_mut(id).ok_or(Errno::BADF)?;
        if let Some(error) = listener.error {
            return Err(error);
        }
        let stream = listener.pop().ok_or(Errno::AGAIN)?;
        if listener.paused && !listener.is_full() {
            let address = listener.engine_address();
            self.set_paused(address, false);
        }
        Ok(stream)
    }

    /// Gives a descriptor to an accepted connection; returns our address and the peer's.
    pub(crate) fn adopt(
        &mut self,
        stream: Id,
        fd: RawFd,
        nonblocking: bool,
    ) -> Option<(SocketAddr, SocketAddr)> {
        let entry = self.streams.get_mut(stream)?;
        (entry.descriptors, entry.nonblocking) = (1, nonblocking);
        let addresses = entry.addresses;
        self.put(fd, Object::Stream(stream));
        addresses
    }

    /// Lets a connection wait again for which there was no descriptor.
    pub(crate) fn put_back(&mut self, fd: RawFd, stream: Id) {
        if let Some(Object::Listener(id)) = self.object(fd)
            && let Some(listener) = self.listeners.get_mut(id)
        {
            listener.put_back(stream);
        }
    }

    /// Whether a listener's connections show addresses of IPv6.
    pub(crate) fn is_ipv6(&self, fd: RawFd) -> bool {
        match self.object(fd) {
            Some(Object::Listener(id)) => self.listeners.get(id).is_some_and(|l| l.address.is_ipv6()),
            _ => false,
        }
    }

    pub(crate) fn is_listener(&self, fd: RawFd) -> bool {
        matches!(self.object(fd), Some(Object::Listener(_)))
    }

    pub(crate) fn is_stream(&self, fd: RawFd) -> bool {
        matches!(self.object(fd), Some(Object::Stream(_)))
    }

    /// Begins to connect; readiness for sending tells that it has come to an end, [`connected`](Self::connected) to which. A socket that
    /// could not connect may try again, once the program knows.
    pub(crate) fn connect(
        &mut self,
        fd: RawFd,
        remote: SocketAddr,
        local: Option<IpAddr>,
        nonblocking: bool,
    ) -> Result<(), Errno> {
        let before = match self.object(fd) {
            None => None,
            Some(Object::Stream(id)) => {
                self.check_connecting(id)?;
                Some(id)
            }
            Some(_) => return Err(Errno::INVAL),
        };
        self.open_for_itself(remote)?;
        let conn = self.engine()?.connect(super::in_family_of(remote, false), local).map_err(|error| {
            crate::log::say(&error.to_string());
            errno(&error)
        })?;
        if let Some((id, stream)) = before.and_then(|id| Some((id, self.streams.get_mut(id)?))) {
            stream.begin_again(conn);
            name_slot(&mut self.by_slot, conn, id);
            return Ok(());
        }
        let mut stream = Stream::new(conn, Phase::Connecting);
        (stream.descriptors, stream.nonblocking) = (1, nonblocking);
        let id = self.streams.insert(stream);
        name_slot(&mut self.by_slot, conn, id);
        self.put(fd, Object::Stream(id));
        Ok(())
    }

    /// Whether it has connected, as a call that waits for that tells.
    pub(crate) fn connected(&mut self, fd: RawFd) -> Result<(), Errno> {
        let stream = stream(self.object(fd), &mut self.streams)?;
        match stream.phase {
            Phase::Connecting => Err(Errno::AGAIN),
            Phase::Open => Ok(()),
            Phase::Gone | Phase::Foreign => Err(stream.tell_failure()),
        }
    }

    /// A program may connect to itself: then it will wait for what comes. If a child has the listener, the child will.
    fn open_for_itself(&mut self, remote: SocketAddr) -> Result<(), Errno> {
        for listener in self.listeners.iter_mut().filter(|l| !l.shared && l.takes(remote) > Taking::No) {
            listener.wanted = true;
        }
        self.open_listeners()
    }

    /// Whether a socket that has connected before, or tried to, may do so now. The first call after a failure only tells it, unless the
    /// one that failed has waited for it (`__inet_stream_connect` of the kernel).
    fn check_connecting(&mut self, id: Id) -> Result<(), Errno> {
        let stream = self.streams.get_mut(id).ok_or(Errno::BADF)?;
        match stream.phase {
            Phase::Connecting => Err(Errno::ALREADY),
            Phase::Open => Err(Errno::ISCONN),
            Phase::Gone if stream.may_connect => Ok(()),
            // It was connected once.
            Phase::Gone if stream.addresses.is_some() => Err(Errno::ISCONN),
            Phase::Gone | Phase::Foreign => Err(stream.tell_failure()),
        }
    }

    /// Receives into the parts in order; 0 at the end.
    pub(crate) fn receive(
        &mut self,
        fd: RawFd,
        parts: &mut [IoSliceMut<'_>],
        way: Way,
    ) -> Result<usize, Errno> {
        let stream = stream(self.object(fd), &mut self.streams)?;
        if parts.iter().all(|p| p.is_empty()) {
            return Ok(0);
        }
        // What arrived before the program ended this direction, or comes all the same, is there to be read, as in Linux.
        let open = stream.phase == Phase::Open;
        let Some(engine) = self.engine.as_mut().filter(|_| open) else { return stream.nothing_to_receive() };
        let view = engine.receive(stream.conn);
        let mut copied = 0;
        for part in parts {
            let n = part.len().min(view.len() - copied);
            part[..n].copy_from_slice(&view[copied..copied + n]);
            copied += n;
        }
        if copied == 0 {
            return stream.nothing_to_receive();
        }
        if way == Way::Take {
            engine.consume(stream.conn, copied);
        }
        Ok(copied)
    }

    /// Bytes that could be received now.
    pub(crate) fn receivable(&mut self, fd: RawFd) -> Result<usize, Errno> {
        let stream = stream(self.object(fd), &mut self.streams)?;
        let open = stream.phase == Phase::Open;
        Ok(self.engine.as_mut().filter(|_| open).map_or(0, |e| e.receive(stream.conn).len()))
    }

    /// Sends as much of the parts as there is room for.
    pub(crate) fn send(&mut self, fd: RawFd, parts: &[IoSlice<'_>]) -> Result<usize, Errno> {
        if self.is_listener(fd) {
            return Err(Errno::PIPE);
        }
        let stream = stream(self.object(fd), &mut self.streams)?;
        stream.check_sending()?;
        let engine = self.engine.as_mut().ok_or(Errno::NOTCONN)?;
        let wanted: usize = parts.iter().map(|p| p.len()).sum();
        if wanted == 0 {
            return Ok(0);
        }
        if stream.blocked {
            return Err(Errno::AGAIN);
        }
        let sent = match parts {
            [one] => engine.send(stream.conn, &[one]),
            many => {
                let parts: Vec<&[u8]> = many.iter().take(PARTS_AT_ONCE).map(|p| &**p).collect();
                engine.send(stream.conn, &parts)
            }
        };
        stream.blocked = sent < wanted || engine.queued(stream.conn) > 0;
        if sent == 0 { Err(Errno::AGAIN) } else { Ok(sent) }
    }

    /// Ends the directions that are given.
    pub(crate) fn shutdown(&mut self, fd: RawFd, receiving: bool, sending: bool) -> Result<(), Errno> {
        if let Some(object @ Object::Listener(id)) = self.object(fd) {
            self.stop_listening(id)?;
            self.notify(object);
            return Ok(());
        }
        let Some(Object::Stream(id)) = self.object(fd) else { return Err(Errno::NOTCONN) };
        let stream = self.streams.get_mut(id).ok_or(Errno::BADF)?;
        if stream.phase != Phase::Open {
            return Err(Errno::NOTCONN);
        }
        stream.receiving_ended |= receiving;
        if sending
            && !std::mem::replace(&mut stream.sending_ended, true)
            && let Some(engine) = &mut self.engine
        {
            engine.shutdown(stream.conn);
        }
        self.notify(Object::Stream(id));
        Ok(())
    }

    /// Another descriptor for the same object. The number must be free.
    pub(crate) fn duplicate(&mut self, from: RawFd, to: RawFd) {
        let Some(object) = self.object(from) else { return };
        if let Some(count) = self.descriptors(object) {
            *count += 1;
        }
        self.put(to, object);
    }

    /// A descriptor is closed; the object goes with the last of them.
    pub(crate) fn close(&mut self, fd: RawFd) {
        let Some(object) = usize::try_from(fd).ok().and_then(|fd| self.table.get_mut(fd)?.take()) else {
            return;
        };
        let Some(count) = self.descriptors(object) else { return };
        *count = count.saturating_sub(1);
        if *count > 0 {
            return;
        }
        match object {
            Object::Listener(id) => self.drop_listener(id),
            Object::Stream(id) => self.drop_stream(id, false),
            Object::Set(id) => self.drop_set(id),
        }
    }

    /// The error that waits to be told, once (`SO_ERROR`).
    pub(crate) fn take_error(&mut self, fd: RawFd) -> Option<Errno> {
        stream(self.object(fd), &mut self.streams).ok()?.error.take()
    }

    /// Our address and the peer's.
    pub(crate) fn addresses(&mut self, fd: RawFd) -> Option<(SocketAddr, SocketAddr)> {
        let stream = stream(self.object(fd), &mut self.streams).ok()?;
        stream.addresses.filter(|_| stream.phase == Phase::Open)
    }

    /// The state of its connection as tcp(7) numbers them (linux/tcp_states.h), as far as it can be told here.
    pub(crate) fn tcp_state(&self, fd: RawFd) -> Option<u8> {
        let stream = match self.object(fd)? {
            Object::Listener(_) => return Some(LISTENS),
            Object::Stream(id) => self.streams.get(id)?,
            Object::Set(_) => return None,
        };
        Some(match (stream.phase, stream.sending_ended, stream.peer_ended) {
            (Phase::Connecting, _, _) => SYN_SENT,
            (Phase::Open, false, false) => ESTABLISHED,
            (Phase::Open, true, false) => FIN_WAIT,
            (Phase::Open, false, true) => CLOSE_WAIT,
            (Phase::Open, true, true) => LAST_ACK,
            (Phase::Gone | Phase::Foreign, _, _) => CLOSED,
        })
    }

    /// Whether calls on it are to wait; `None` for what has no such setting.
    pub(crate) fn waits(&mut self, fd: RawFd) -> bool {
        !self.nonblocking(fd).is_some_and(|n| *n)
    }

    pub(crate) fn set_nonblocking(&mut self, fd: RawFd, on: bool) {
        if let Some(nonblocking) = self.nonblocking(fd) {
            *nonblocking = on;
        }
    }

    /// Closing is to reset the connection, or not any more.
    pub(crate) fn set_resets(&mut self, fd: RawFd, on: bool) {
        if let Ok(stream) = stream(self.object(fd), &mut self.streams) {
            stream.resets = on;
        }
    }

    pub(super) fn put(&mut self, fd: RawFd, object: Object) {
        let Ok(index) = usize::try_from(fd) else { return };
        if self.table.len() <= index {
            self.table.resize(index + 1, None);
        }
        self.table[index] = Some(object);
    }

    fn nonblocking(&mut self, fd: RawFd) -> Option<&mut bool> {
        match self.object(fd)? {
            Object::Listener(id) => self.listeners.get_mut(id).map(|l| &mut l.nonblocking),
            Object::Stream(id) => self.streams.get_mut(id).map(|s| &mut s.nonblocking),
            Object::Set(_) => None,
        }
    }

    fn descriptors(&mut self, object: Object) -> Option<&mut u32> {
        match object {
            Object::Listener(id) => self.listeners.get_mut(id).map(|l| &mut l.descriptors),
            Object::Stream(id) => self.streams.get_mut(id).map(|s| &mut s.descriptors),
            Object::Set(id) => self.sets.get_mut(id).map(|s| &mut s.descriptors),
        }
    }

    /// The kernel resets whoever was not accepted (listen(2)), and accepts nobody any more.
    fn stop_listening(&mut self, id: Id) -> Result<(), Errno> {
        let listener = self.listeners.get_mut(id).ok_or(Errno::BADF)?;
        let (address, waiting) = (listener.engine_address(), listener.take_waiting());
        let was_open = listener.is_open_at(address);
        (listener.error, listener.wanted) = (Some(Errno::INVAL), false);
        // Others may share the address.
        if was_open
            && !self.is_open_at(address)
            && let Some(engine) = &mut self.engine
        {
            engine.stop_listening_at(address);
        }
        waiting.into_iter().for_each(|stream| self.drop_stream(stream, true));
        Ok(())
    }

    fn drop_listener(&mut self, id: Id) {
        // Only what is not there cannot be stopped, which is as good.
        let _ = self.stop_listening(id);
        if let Some(listener) = self.listeners.remove(id) {
            self.drop_watchers(&listener.watchers);
        }
    }

    fn drop_stream(&mut self, id: Id, reset: bool) {
        let Some(stream) = self.streams.remove(id) else { return };
        self.drop_watchers(&stream.watchers);
        let Some(engine) = self.engine.as_mut().filter(|_| stream.is_alive()) else {
            return;
        };
        // Closing with bytes that nobody read resets, as the kernel does (RFC 2525 §2.17).
        let unread = stream.phase == Phase::Open && !engine.receive(stream.conn).is_empty();
        if reset || stream.resets || unread {
            engine.abort(stream.conn)
        } else {
            engine.close(stream.conn)
        }
        if let Some(name) = self.by_slot.get_mut(stream.conn.slot()) {
            *name = None;
        }
    }
}

fn stream(object: Option<Object>, streams: &mut Arena<Stream>) -> Result<&mut Stream, Errno> {
    match object {
        Some(Object::Stream(id)) => streams.get_mut(id).ok_or(Errno::BADF),
        Some(_) => Err(Errno::NOTCONN),
        None => Err(Errno::BADF),
    }
}
