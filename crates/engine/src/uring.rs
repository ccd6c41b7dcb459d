//! The io_uring engine: multishot receives into provided buffers, sends without completions, direct descriptors,
//! and one system call a loop for everything (io_uring(7); Linux 6.1 or newer).
//!
//! A send never waits in the kernel (`MSG_DONTWAIT`) and reports only failure, so when an enter has returned,
//! every queue whose failure was not reported has left whole, and its memory is free again.

mod buffers;
mod connection;
mod request;
mod ring;

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use assay_model::units::Nanos;
use io_uring::{cqueue, opcode, squeue, types};
use rustix::io::Errno;
use rustix::net::{SocketAddrAny, SocketFlags};
use rustix::process::{Resource, getrlimit};

use crate::slots::Slots;
use crate::{
    Config, Conn, Engine, EngineError, Event, RECEIVE_VIEW_BYTES, Reason, SEND_QUEUE_BYTES, Statistics,
    clock, sockets,
};
use buffers::{Buffers, GROUP};
use connection::{Connection, Phase, SEND_AT_ONCE};
use request::{Request, file, outcome, pack, send_entry, unpack};
use ring::{Completion, Ring};

/// Accepts that wait in the kernel at the same time.
const ACCEPTS_AT_ONCE: usize = 16;
/// Enters in which the requests of a listener may end: some take a dozen until they have heard of it.
const CANCEL_ATTEMPTS: usize = 100;
/// How long accepting rests after descriptors or memory ran out.
const ACCEPT_PAUSE: Nanos = Nanos::from_millis(20);
/// Closing with this setting resets the connection (socket(7), SO_LINGER).
static NO_LINGER: libc::linger = libc::linger { l_onoff: 1, l_linger: 0 };
/// Empty queues and stashes kept for reuse; more are freed.
const SPARE_VECTORS: usize = 256;
/// A vector that grew beyond this is not kept.
const SPARE_CAPACITY: usize = SEND_AT_ONCE;

/// An [`Engine`] on Linux's io_uring(7).
pub struct Uring {
    // Dropped before the memory that the kernel writes to.
    ring: Ring,
    buffers: Buffers,
    connections: Slots<Connection>,
    listener: Option<Listener>,
    /// Slots reserved for accepts that wait in the kernel.
    accepting: usize,
    /// Connections whose queues leave with the next poll.
    dirty: Vec<Conn>,
    /// A silent success is waited for.
    settle_at_once: bool,
    /// Queues of connections that were closed, needed until the next enter has returned.
    farewells: Vec<Vec<u8>>,
    /// Connections that hold kernel buffers.
    held: Vec<Conn>,
    /// Events found outside a wait, delivered by the next poll.
    pending: Vec<Event>,
    spare: Vec<Vec<u8>>,
    completions: Vec<Completion>,
    /// Addresses of connects that the kernel has not taken yet.
    #[allow(clippy::vec_box, reason = "the kernel holds pointers to the addresses while the list grows")]
    peers: Vec<Box<SocketAddrAny>>,
    /// Why the ring takes no more requests.
    broken: Option<std::io::Error>,
    stats: Statistics,
}

struct Listener {
    socket: OwnedFd,
    paused_until: Nanos,
}

impl Uring {
    /// An engine for this thread.
    ///
    /// # Errors
    /// The kernel is too old for it, or a policy forbids it (`kernel.io_uring_disabled`, seccomp); use
    /// [`crate::Epoll`] then.
    pub fn new(config: Config) -> Result<Self, EngineError> {
        let unusable = |source| EngineError::System { call: "set up io_uring".to_owned(), source };
        // The kernel grants no larger table of direct descriptors than the process may open files. Twice the limit:
        // a slot that was vacated is not given away before the next poll, and until then another one takes its place.
        let files =
            getrlimit(Resource::Nofile).current.map_or(u32::MAX, |n| n.try_into().unwrap_or(u32::MAX));
        let limit = config.max_connections.min(files as usize / 2);
        let mut ring = Ring::new(2 * limit as u32).map_err(unusable)?;
        let buffers = Buffers::new(ring.inner()).map_err(unusable)?;
        Ok(Self {
            ring,
            buffers,
            connections: Slots::new(limit),
            listener: None,
            accepting: 0,
            dirty: Vec::new(),
            settle_at_once: false,
            farewells: Vec::new(),
            held: Vec::new(),
            pending: Vec::new(),
            spare: Vec::new(),
            completions: Vec::new(),
            peers: Vec::new(),
            broken: None,
            stats: Statistics::default(),
        })
    }

    /// Queues a request. Should the ring take no more, which only a broken one does, the next poll reports it.
    fn push(&mut self, entry: squeue::Entry, request: Request, conn: Conn) {
        let quiet = matches!(request, Request::Silent | Request::Send);
        let flags = if quiet { squeue::Flags::SKIP_SUCCESS } else { squeue::Flags::empty() };
        let entry = entry.flags(flags).user_data(pack(request, conn));
        // SAFETY: requests point to no memory but queues that are in flight, `farewells`, `peers` and statics; none of
        // these is touched before the next enter has returned, and by then the kernel needs them no more.
        self.broken = self.broken.take().or(unsafe { self.ring.push(&entry) }.err());
    }

    /// Queues a send for every connection with something to say; returns their names.
    fn submit_sends(&mut self) -> Vec<Conn> {
        let dirty = std::mem::take(&mut self.dirty);
        for &conn in &dirty {
            let Some(c) = self.connections.get_mut(conn) else { continue };
            c.dirty = false;
            c.in_flight = true;
            // Success is silent, and someone waits for it: do not sleep on it.
            self.settle_at_once |= c.owes_writable || c.ends_when_drained;
            let entry = send_entry(conn, &c.queue[c.queue_sent..]);
            self.push(entry, Request::Send, conn);
        }
        dirty
    }

    /// After an enter: what was not reported as failed has left.
    fn settle_sends(&mut self, mut submitted: Vec<Conn>, events: &mut Vec<Event>) {
        self.farewells.clear();
        self.peers.clear();
        for conn in submitted.drain(..) {
            let Some(c) = self.connections.get_mut(conn) else { continue };
            if !std::mem::take(&mut c.in_flight) {
                continue;
            }
            self.stats.sent_bytes += c.queued() as u64;
            c.queue_sent = 0;
            keep_spare(&mut self.spare, std::mem::take(&mut c.queue));
            if std::mem::take(&mut c.owes_writable) {
                events.push(Event::Writable(conn));
            }
            if std::mem::take(&mut c.ends_when_drained) {
                self.end_sending(conn);
            }
        }
        // Keeps the list's memory, unless the user has begun another one meanwhile.
        if self.dirty.is_empty() {
            self.dirty = submitted;
        }
    }

    /// Keeps accepts waiting in the kernel, each with a slot of its own, as long as there is room.
    fn arm_accepts(&mut self, now: Nanos) {
        loop {
            let room = self.connections.has_room();
            let Some(listener) = self.listener.as_mut().filter(|l| room && l.paused_until <= now) else {
                return;
            };
            if self.accepting >= ACCEPTS_AT_ONCE {
                return;
            }
            self.accepting += 1;
            let fd = types::Fd(listener.socket.as_raw_fd());
            let conn = self.connections.insert(Connection::new(Phase::Accepting));
            let slot = types::DestinationSlot::try_from_slot_target(conn.slot).ok();
            let entry = opcode::Accept::new(fd, std::ptr::null_mut(), std::ptr::null_mut()).file_index(slot);
            self.push(entry.build(), Request::Accept, conn);
        }
    }

    /// Asks for everything that arrives on the connection, until told otherwise.
    fn arm_receive(&mut self, conn: Conn) {
        if let Some(c) = self.connections.get_mut(conn)
            && c.phase == Phase::Open
            && !c.receiving
            && !c.peer_ended
        {
            c.receiving = true;
            self.push(opcode::RecvMulti::new(file(conn), GROUP).build(), Request::Receive, conn);
        }
    }

    /// Moves what its users left in the kernel's buffers aside, so that the kernel always has all of them.
    fn release_buffers(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        for conn in held.drain(..) {
            let Some(c) = self.connections.get_mut(conn) else { continue };
            c.held = false;
            stash(c, &mut self.buffers, &mut self.spare);
            if !c.has_room() && c.receiving {
                // Its user does not keep up: let TCP slow the peer down.
                let cancel = opcode::AsyncCancel::new(pack(Request::Receive, conn)).build();
                self.push(cancel, Request::Silent, conn);
            }
        }
        self.held = held;
    }

    fn dispatch(&mut self, completion: Completion, now: Nanos, events: &mut Vec<Event>) {
        let (request, conn) = unpack(completion.data);
        match request {
            Request::Accept => self.accepted(conn, completion.result, now, events),
            Request::Connect => self.connected(conn, completion.result, events),
            Request::Receive => self.received(conn, completion, events),
            Request::Send => self.sent_in_part(conn, completion.result),
            Request::Room => {
                if let Some(c) = self.connections.get_mut(conn) {
                    c.blocked = false;
                    self.mark_dirty(conn);
                }
            }
            Request::Silent => {}
        }
    }

    fn accepted(&mut self, conn: Conn, result: i32, now: Nanos, events: &mut Vec<Event>) {
        self.accepting -= 1;
        let Some(listener) = &mut self.listener else {
            // The listener is gone; a connection that slipped through is let go.
            return self.release(conn);
        };
        if let Err(error) = outcome(result) {
            self.connections.remove(conn);
            if error != Errno::CONNABORTED && error != Errno::INTR {
                self.stats.accept_errors += 1;
                listener.paused_until = now + ACCEPT_PAUSE;
            }
            return;
        }
        self.stats.accepted += 1;
        self.opened(conn);
        events.push(Event::Accepted(conn));
    }

    fn connected(&mut self, conn: Conn, result: i32, events: &mut Vec<Event>) {
        if self.connections.get(conn).is_none() {
            return;
        }
        match outcome(result) {
            Ok(_) => {
                self.stats.connected += 1;
                self.opened(conn);
                events.push(Event::Connected(conn));
            }
            Err(error) => {
                self.release(conn);
                events.push(Event::Closed(conn, sockets::reason(error)));
            }
        }
    }

    fn opened(&mut self, conn: Conn) {
        let Some(c) = self.connections.get_mut(conn) else { return };
        c.phase = Phase::Open;
        let (queued, ends) = (c.queued() > 0, c.ends_when_drained);
        if queued {
            self.mark_dirty(conn);
        } else if ends {
            self.end_sending(conn);
        }
        self.arm_receive(conn);
    }

    fn received(&mut self, conn: Conn, completion: Completion, events: &mut Vec<Event>) {
        let buffer = cqueue::buffer_select(completion.flags);
        let Some(c) = self.connections.get_mut(conn) else {
            // The connection was released while this was on its way.
            return buffer.map_or((), |id| self.buffers.give_back(id));
        };
        c.receiving = cqueue::more(completion.flags);
        match outcome(completion.result) {
            Ok(0) => {
                c.peer_ended = true;
                events.push(Event::Eof(conn));
                return buffer.map_or((), |id| self.buffers.give_back(id));
            }
            Ok(n) => {
                self.stats.received_bytes += u64::from(n);
                if let Some(id) = buffer {
                    self.buffers.append(&mut c.chain, id, n as usize);
                }
                if !std::mem::replace(&mut c.held, true) {
                    self.held.push(conn);
                }
                events.push(Event::Readable(conn));
            }
            // Buffers ran out, or we asked for a rest: asked for again when there is room.
            Err(Errno::NOBUFS | Errno::CANCELED | Errno::INTR) => {}
            Err(error) => return self.break_off(conn, sockets::reason(error)),
        }
        if !cqueue::more(completion.flags) && self.connections.get(conn).is_some_and(Connection::has_room) {
            self.arm_receive(conn);
        }
    }

    /// A send that did not take everything: the rest waits for room.
    fn sent_in_part(&mut self, conn: Conn, result: i32) {
        let Some(c) = self.connections.get_mut(conn) else { return };
        c.in_flight = false;
        match outcome(result) {
            Ok(n) => {
                c.queue_sent += n as usize;
                self.stats.sent_bytes += u64::from(n);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return self.break_off(conn, sockets::send_reason(error)),
        }
        c.blocked = true;
        c.owes_writable = true;
        let room = opcode::PollAdd::new(file(conn), libc::POLLOUT as u32).build();
        self.push(room, Request::Room, conn);
    }

    fn mark_dirty(&mut self, conn: Conn) {
        if let Some(c) = self.connections.get_mut(conn)
            && c.phase == Phase::Open
            && !c.blocked
            && !std::mem::replace(&mut c.dirty, true)
        {
            self.dirty.push(conn);
        }
    }

    fn break_off(&mut self, conn: Conn, reason: Reason) {
        if let Some(c) = self.connections.get_mut(conn)
            && c.phase != Phase::Broken
        {
            c.phase = Phase::Broken;
            self.pending.push(Event::Closed(conn, reason));
        }
    }

    fn end_sending(&mut self, conn: Conn) {
        self.push(opcode::Shutdown::new(file(conn), libc::SHUT_WR).build(), Request::Silent, conn);
    }

    /// Forgets the connection, ends its requests and closes its descriptor.
    fn release(&mut self, conn: Conn) {
        let Some(mut c) = self.connections.remove(conn) else { return };
        self.buffers.move_into(&mut c.chain, &mut c.stash);
        keep_spare(&mut self.spare, c.stash);
        self.farewells.push(c.queue);
        if c.receiving {
            // A request holds on to the socket; it would outlive the descriptor.
            self.push(opcode::AsyncCancel::new(pack(Request::Receive, conn)).build(), Request::Silent, conn);
        }
        if c.blocked {
            self.push(opcode::AsyncCancel::new(pack(Request::Room, conn)).build(), Request::Silent, conn);
        }
        self.push(opcode::Close::new(file(conn)).build(), Request::Silent, conn);
    }
}

impl Engine for Uring {
    fn listen(&mut self, address: SocketAddr) -> Result<SocketAddr, EngineError> {
        // Blocking sockets: a request on a non-blocking one fails instead of waiting in the kernel.
        let (socket, bound) = sockets::listening(address, SocketFlags::empty())?;
        self.listener = Some(Listener { socket, paused_until: Nanos::ZERO });
        self.arm_accepts(Nanos::ZERO);
        Ok(bound)
    }

    fn stop_listening(&mut self) {
        self.listener = None;
        for conn in self.connections.names(|c| c.phase == Phase::Accepting) {
            self.push(opcode::AsyncCancel::new(pack(Request::Accept, conn)).build(), Request::Silent, conn);
        }
        // The port is free only when no request holds on to the listener any more.
        let ended = |completion: &Completion| unpack(completion.data).0 == Request::Accept;
        for _ in 0..CANCEL_ATTEMPTS {
            self.flush();
            if self.completions.iter().filter(|c| ended(c)).count() >= self.accepting {
                break;
            }
        }
    }

    fn connect(&mut self, remote: SocketAddr, local: Option<IpAddr>) -> Result<Conn, EngineError> {
        if !self.connections.has_room() {
            return Err(EngineError::Full { limit: self.connections.len() });
        }
        let cannot = |error| sockets::cannot_connect(remote, error);
        let socket = sockets::unconnected(remote, local, SocketFlags::empty()).map_err(cannot)?;
        let conn = self.connections.insert(Connection::new(Phase::Connecting));
        self.stats.other_calls += 4;
        let registered =
            self.ring.inner().submitter().register_files_update(conn.slot, &[socket.as_raw_fd()]);
        if let Err(error) = registered {
            self.connections.remove(conn);
            return Err(cannot(error));
        }
        let peer = Box::new(SocketAddrAny::from(remote));
        let entry = opcode::Connect::new(file(conn), peer.as_ptr().cast(), peer.addr_len());
        self.peers.push(peer);
        self.push(entry.build(), Request::Connect, conn);
        Ok(conn)
    }

    fn poll(&mut self, until: Nanos, events: &mut Vec<Event>) -> Result<Nanos, EngineError> {
        events.clear();
        self.release_buffers();
        self.connections.recycle();
        self.arm_accepts(clock::now());
        let submitted = self.submit_sends();
        let found = !self.pending.is_empty() || !self.completions.is_empty();
        let hurry = std::mem::take(&mut self.settle_at_once) || found;
        let timeout = if hurry { Some(Nanos::ZERO) } else { self.wait_span(until) };
        let mut completions = std::mem::take(&mut self.completions);
        let entered = self.ring.enter(timeout, &mut completions);
        self.stats.waits = self.ring.enters;
        if let Some(error) = entered.err().or_else(|| self.broken.take()) {
            return Err(EngineError::system("io_uring_enter", error));
        }
        let now = clock::now();
        self.deliver_pending(events);
        for completion in completions.drain(..) {
            self.dispatch(completion, now, events);
        }
        self.completions = completions;
        self.settle_sends(submitted, events);
        Ok(now)
    }

    fn receive(&mut self, conn: Conn) -> &[u8] {
        let Some(c) = self.connections.get_mut(conn) else { return &[] };
        if c.stashed() == 0 && !(c.shown && self.buffers.has_more(c.chain)) {
            c.shown = !c.chain.is_empty();
            return self.buffers.front(c.chain);
        }
        stash(c, &mut self.buffers, &mut self.spare);
        let view = &c.stash[c.stash_start..];
        &view[..view.len().min(RECEIVE_VIEW_BYTES)]
    }

    fn consume(&mut self, conn: Conn, n: usize) {
        let Some(c) = self.connections.get_mut(conn) else { return };
        if c.stashed() == 0 {
            let last_of_buffer = n >= self.buffers.front(c.chain).len();
            c.shown &= !last_of_buffer;
            return self.buffers.consume(&mut c.chain, n);
        }
        let exceeded = c.stashed() > RECEIVE_VIEW_BYTES;
        c.stash_start += n.min(c.stashed());
        if c.stashed() == 0 {
            c.stash_start = 0;
            keep_spare(&mut self.spare, std::mem::take(&mut c.stash));
        } else if exceeded && n > 0 {
            self.pending.push(Event::Readable(conn));
        }
        if c.has_room() {
            self.arm_receive(conn);
        }
    }

    fn send(&mut self, conn: Conn, parts: &[&[u8]]) -> usize {
        let total: usize = parts.iter().map(|p| p.len()).sum();
        let Some(c) = self.connections.get_mut(conn).filter(|c| c.phase != Phase::Broken) else {
            return total;
        };
        let limit = if c.blocked { SEND_QUEUE_BYTES } else { SEND_AT_ONCE };
        let accepted = total.min(limit.saturating_sub(c.queued()));
        if c.queue.capacity() == 0 {
            c.queue = self.spare.pop().unwrap_or_default();
        }
        let mut left = accepted;
        for part in parts {
            let n = left.min(part.len());
            c.queue.extend_from_slice(&part[..n]);
            left -= n;
        }
        c.owes_writable |= accepted < total || c.is_full();
        self.mark_dirty(conn);
        accepted
    }

    fn queued(&self, conn: Conn) -> usize {
        self.connections.get(conn).filter(|c| c.is_full()).map_or(0, Connection::queued)
    }

    fn shutdown(&mut self, conn: Conn) {
        let Some(c) = self.connections.get_mut(conn) else { return };
        if c.queued() > 0 || c.phase == Phase::Connecting {
            c.ends_when_drained = true;
        } else {
            self.end_sending(conn);
        }
    }

    fn close(&mut self, conn: Conn) {
        let Some(c) = self.connections.get_mut(conn) else { return };
        if c.queued() > 0 && c.phase == Phase::Open {
            let entry = send_entry(conn, &c.queue[c.queue_sent..]);
            // What the kernel does not take now is lost with the connection, as close(2) says.
            self.push(entry, Request::Silent, conn);
        }
        self.release(conn);
    }

    fn abort(&mut self, conn: Conn) {
        if self.connections.get(conn).is_none() {
            return;
        }
        let (level, name) = (libc::SOL_SOCKET as u32, libc::SO_LINGER as u32);
        let length = size_of::<libc::linger>() as u32;
        let linger = opcode::SetSockOpt::new(file(conn), level, name, (&raw const NO_LINGER).cast(), length);
        // Before Linux 6.7 this fails, and the connection closes in the ordinary way.
        self.push(linger.build(), Request::Silent, conn);
        self.release(conn);
    }

    fn connections(&self) -> usize {
        self.connections.len() - self.accepting
    }

    fn statistics(&self) -> &Statistics {
        &self.stats
    }
}

impl Uring {
    /// How long the kernel may wait; `None` is forever.
    fn wait_span(&self, until: Nanos) -> Option<Nanos> {
        let retry = match &self.listener {
            Some(l) if self.accepting == 0 && self.connections.has_room() => l.paused_until,
            _ => Nanos::MAX,
        };
        match until.min(retry) {
            Nanos::MAX => None,
            Nanos::ZERO => Some(Nanos::ZERO),
            until => Some(until - clock::now()),
        }
    }

    /// Lets the kernel take what was asked of it; the next poll sees what came of it.
    fn flush(&mut self) {
        let flushed = self.ring.enter(Some(Nanos::ZERO), &mut self.completions);
        self.broken = self.broken.take().or(flushed.err());
    }

    fn deliver_pending(&mut self, events: &mut Vec<Event>) {
        let mut pending = std::mem::take(&mut self.pending);
        for event in pending.drain(..) {
            let (Event::Accepted(conn)
            | Event::Connected(conn)
            | Event::Readable(conn)
            | Event::Writable(conn)
            | Event::Eof(conn)
            | Event::Closed(conn, _)) = event;
            if self.connections.get(conn).is_some() {
                events.push(event);
            }
            if matches!(event, Event::Closed(..)) {
                self.release(conn);
            }
        }
        self.pending = pending;
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // Closes and resets that were asked for happen now, not when the kernel gets round to the ring's remains.
        self.flush();
        // The kernel must not pick buffers any more when their memory is freed; a ring that never registered any
        // refuses this, which is as good.
        let _ = self.ring.inner().submitter().unregister_buf_ring(GROUP);
    }
}

/// Moves everything a connection holds in the kernel's buffers behind what it has stashed.
fn stash(c: &mut Connection, buffers: &mut Buffers, spare: &mut Vec<Vec<u8>>) {
    if c.chain.is_empty() {
        return;
    }
    if c.stash.capacity() == 0 {
        c.stash = spare.pop().unwrap_or_default();
    }
    c.stash.drain(..c.stash_start);
    c.stash_start = 0;
    c.shown = false;
    buffers.move_into(&mut c.chain, &mut c.stash);
}

fn keep_spare(spare: &mut Vec<Vec<u8>>, mut vector: Vec<u8>) {
    if (1..=SPARE_CAPACITY).contains(&vector.capacity()) && spare.len() < SPARE_VECTORS {
        vector.clear();
        spare.push(vector);
    }
}
