//! Connections of the io_uring engine: how they come to be and how they end.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use assay_model::units::Nanos;
use io_uring::{opcode, types};
use rustix::io::Errno;
use rustix::net::{SocketAddrAny, SocketFlags};

use super::connection::{Phase, UringConnection};
use super::request::{Request, file, outcome, pack, send_entry, unpack};
use super::ring::Completion;
use super::{Uring, keep_spare};
use crate::{Conn, EngineError, Event, Reason, sockets};

/// Accepts that wait in the kernel at the same time.
const ACCEPTS_AT_ONCE: usize = 16;
/// Enters in which the requests of a listener may end: some take a dozen until they have heard of it.
const CANCEL_ATTEMPTS: usize = 100;
/// How long accepting rests after descriptors or memory ran out.
const ACCEPT_PAUSE: Nanos = Nanos::from_millis(20);
/// Closing with this setting resets the connection (socket(7), SO_LINGER).
static NO_LINGER: libc::linger = libc::linger { l_onoff: 1, l_linger: 0 };

pub(super) struct Listener {
    number: u32,
    pub(super) address: SocketAddr,
    socket: OwnedFd,
    /// Accepts that wait in the kernel.
    pub(super) waiting: usize,
    /// The user does not want connections now.
    pub(super) paused: bool,
    pub(super) paused_until: Nanos,
}

impl Uring {
    /// Listens, and keeps accepts waiting.
    pub(super) fn open_listener(&mut self, address: SocketAddr) -> Result<SocketAddr, EngineError> {
        sockets::not_taken(address, self.listeners.iter().map(|l| l.address))?;
        // Blocking sockets: a request on a non-blocking one fails instead of waiting in the kernel.
        let (socket, bound) = sockets::listening(address, SocketFlags::empty())?;
        self.listeners.push(Listener {
            number: self.numbered,
            address: bound,
            socket,
            waiting: 0,
            paused: false,
            paused_until: Nanos::ZERO,
        });
        self.numbered = self.numbered.wrapping_add(1);
        self.arm_accepts(Nanos::ZERO);
        Ok(bound)
    }

    /// Lets go of the listeners that `ending` picks, and their ports.
    pub(super) fn close_listeners(&mut self, ending: impl Fn(&Listener) -> bool) {
        let (gone, kept): (Vec<_>, Vec<_>) = self.listeners.drain(..).partition(ending);
        self.listeners = kept;
        let numbers: Vec<u32> = gone.iter().map(|l| l.number).collect();
        let theirs = self.connections.names(|c| numbers.iter().any(|&n| c.phase == Phase::Accepting(n)));
        for &conn in &theirs {
            self.push(opcode::AsyncCancel::new(pack(Request::Accept, conn)).build(), Request::Silent, conn);
        }
        // The port is free only when no request holds on to the listener any more.
        let ended = |completion: &Completion| {
            let (request, conn) = unpack(completion.data);
            request == Request::Accept && theirs.contains(&conn)
        };
        for _ in 0..CANCEL_ATTEMPTS {
            self.flush();
            if self.completions.iter().filter(|c| ended(c)).count() >= theirs.len() {
                break;
            }
        }
    }

    /// Begins to connect.
    pub(super) fn dial(&mut self, remote: SocketAddr, local: Option<IpAddr>) -> Result<Conn, EngineError> {
        if !self.connections.has_room() {
            return Err(EngineError::Full { limit: self.connections.len() });
        }
        let cannot = |error| sockets::cannot_connect(remote, error);
        let socket = sockets::unconnected(remote, local, SocketFlags::empty()).map_err(cannot)?;
        let conn = self.connections.insert(UringConnection::new(Phase::Connecting));
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

    /// Offers what is queued to the kernel once more and closes.
    pub(super) fn part(&mut self, conn: Conn) {
        self.transfer(conn);
        let Some(c) = self.connections.get_mut(conn) else { return };
        if c.queued() > 0 && c.phase == Phase::Open {
            let entry = send_entry(conn, &c.queue[c.queue_sent..]);
            // What the kernel does not take now is lost with the connection, as close(2) says.
            self.push(entry, Request::Silent, conn);
        }
        self.release(conn);
    }

    /// Closes with a reset.
    pub(super) fn reset(&mut self, conn: Conn) {
        if self.connections.get(conn).is_none() {
            return;
        }
        self.reset_on_close(conn);
        self.release(conn);
    }

    /// Keeps accepts of every listener waiting in the kernel, each with a slot of its own, as long as there is room.
    pub(super) fn arm_accepts(&mut self, now: Nanos) {
        for at in 0..self.listeners.len() {
            while self.arm_accept(at, now) {}
        }
    }

    fn arm_accept(&mut self, at: usize, now: Nanos) -> bool {
        let listener = &mut self.listeners[at];
        let wants = !listener.paused && listener.paused_until <= now && listener.waiting < ACCEPTS_AT_ONCE;
        if !wants || !self.connections.has_room() {
            return false;
        }
        listener.waiting += 1;
        self.accepting += 1;
        let fd = types::Fd(listener.socket.as_raw_fd());
        let conn = self.connections.insert(UringConnection::new(Phase::Accepting(listener.number)));
        let slot = types::DestinationSlot::try_from_slot_target(conn.slot).ok();
        let entry = opcode::Accept::new(fd, std::ptr::null_mut(), std::ptr::null_mut()).file_index(slot);
        self.push(entry.build(), Request::Accept, conn);
        true
    }

    pub(super) fn accepted(&mut self, conn: Conn, result: i32, now: Nanos, events: &mut Vec<Event>) {
        self.accepting -= 1;
        let phase = self.connections.get(conn).map(|c| c.phase);
        let ours = |l: &&mut Listener| phase == Some(Phase::Accepting(l.number));
        let Some(listener) = self.listeners.iter_mut().find(ours) else {
            // The listener is gone; a connection that slipped through is let go.
            return self.release(conn);
        };
        listener.waiting -= 1;
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

    /// Our address and the peer's: a direct descriptor has no number that getsockname(2) would take, so it is given one
    /// for the moment, unless it has one already.
    pub(super) fn ask_addresses(&mut self, conn: Conn) -> Option<(SocketAddr, SocketAddr)> {
        let connection = self.connections.get(conn).filter(|c| c.phase == Phase::Open)?;
        self.stats.other_calls += 2;
        if let Some(descriptor) = &connection.descriptor {
            return sockets::addresses(descriptor).ok();
        }
        let descriptor = self.install_descriptor(conn).ok()?;
        self.stats.other_calls += 1;
        sockets::addresses(&descriptor).ok()
    }

    pub(super) fn connected(&mut self, conn: Conn, result: i32, events: &mut Vec<Event>) {
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
                if let Some(c) = self.connections.get_mut(conn) {
                    c.phase = Phase::Broken;
                }
                self.release(conn);
                events.push(Event::Closed(conn, sockets::reason(error)));
            }
        }
    }

    pub(super) fn opened(&mut self, conn: Conn) {
        let Some(c) = self.connections.get_mut(conn) else { return };
        c.phase = Phase::Open;
        let (queued, ends) = (c.unsent() > 0, c.ends_when_drained);
        if queued {
            self.mark_dirty(conn);
        } else if ends {
            self.end_sending(conn);
        }
        self.ask(conn);
    }

    pub(super) fn break_off(&mut self, conn: Conn, reason: Reason) {
        if let Some(c) = self.connections.get_mut(conn)
            && c.phase != Phase::Broken
        {
            c.phase = Phase::Broken;
            self.pending.push(Event::Closed(conn, reason));
        }
    }

    /// Sees to it that closing resets the connection.
    pub(super) fn reset_on_close(&mut self, conn: Conn) {
        let (level, name) = (libc::SOL_SOCKET as u32, libc::SO_LINGER as u32);
        let length = size_of::<libc::linger>() as u32;
        let linger = opcode::SetSockOpt::new(file(conn), level, name, (&raw const NO_LINGER).cast(), length);
        // Before Linux 6.7 this fails, and the connection closes in the ordinary way.
        self.push(linger.build(), Request::Silent, conn);
    }

    /// Forgets the connection, ends its requests and closes its descriptor.
    pub(super) fn release(&mut self, conn: Conn) {
        let Some(mut c) = self.connections.remove(conn) else { return };
        self.close_descriptor(&mut c);
        self.buffers.move_into(&mut c.chain, &mut c.stash);
        keep_spare(&mut self.spare, c.stash);
        self.farewells.push(c.queue);
        let connect = (c.phase == Phase::Connecting).then_some(Request::Connect);
        let room = c.blocked.then_some(Request::Room);
        for request in [connect, c.receiving, room].into_iter().flatten() {
            // A request holds on to the socket; it would outlive the descriptor.
            self.push(opcode::AsyncCancel::new(pack(request, conn)).build(), Request::Silent, conn);
        }
        self.push(opcode::Close::new(file(conn)).build(), Request::Silent, conn);
    }
}
