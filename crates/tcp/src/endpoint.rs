//! One connection: its socket, and what the socket has no room for.

use std::net::SocketAddr;
use std::os::unix::fs::FileExt;

use assay_engine::{Conn, FileRange, RECEIVE_VIEW_BYTES, SEND_QUEUE_BYTES};
use assay_model::units::Nanos;
use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};

use crate::device::Watch;
use crate::segment::Flow;

/// Whom a connection belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Nobody: the place is free.
    Nobody,
    /// A listener: its handshake is under way.
    HalfOpen,
    /// A listener: nobody has taken it yet.
    Backlog,
    /// A user who waits for it to be established.
    Opening(Conn),
    /// A user.
    User(Conn),
    /// A user who has closed it: it ends by itself.
    Orphan,
}

/// Why a file could not be sent to its end: errno(3).
pub(crate) struct BadFile(pub(crate) i32);

/// A place for a connection. It is used again: socket and buffers stay.
pub(crate) struct Endpoint {
    /// A set of its own, so that smoltcp, which looks at every socket of a set, looks at this one only.
    pub(crate) sockets: SocketSet<'static>,
    handle: SocketHandle,
    pub(crate) flow: Flow,
    pub(crate) owner: Owner,
    /// Our port is from [`crate::ports::Ports`].
    pub(crate) borrowed_port: bool,
    /// Counts the connections that were here, so that an old name is recognised.
    pub(crate) serial: u32,
    /// It is in the list of those that may have something to send.
    pub(crate) dirty: bool,
    /// The turn in which [`assay_engine::Event::Readable`] was last told.
    pub(crate) told_readable: u64,
    /// The user has seen all that the socket holds.
    pub(crate) shown: bool,
    /// The end was told.
    pub(crate) told_end: bool,
    /// The user's view was full when there was more.
    pub(crate) starved: bool,
    /// It failed: [`assay_engine::Event::Closed`] is on its way.
    pub(crate) broken: bool,
    /// It is kept in TIME-WAIT.
    pub(crate) waits: bool,
    /// It is in the list of those whose neighbour is unknown.
    pub(crate) unresolved: bool,
    /// Our direction ends behind the queue.
    pub(crate) ending: bool,
    /// Bytes were queued or refused: the user waits for [`assay_engine::Event::Writable`].
    pub(crate) wants_room: bool,
    pub(crate) watch: Watch,
    /// When smoltcp wants to be asked again.
    pub(crate) socket_due: Nanos,
    /// When our own patience is over: with a neighbour that does not answer, with an orphan.
    pub(crate) patience: Nanos,
    /// Retransmission timers that ran out since the peer was last heard.
    pub(crate) timeouts_in_row: u8,
    /// Received bytes of this connection that came out of the socket and were not consumed, from `stash_start` on.
    stash: Vec<u8>,
    stash_start: usize,
    pub(crate) to_skip: u64,
    /// Accepted bytes that the socket has no room for, from `queue_start` on.
    queue: Vec<u8>,
    queue_start: usize,
    file: Option<FileRange>,
}

impl Endpoint {
    /// A place with buffers of these sizes. The pages of the send buffer are touched only as far as it is filled.
    pub(crate) fn new(flow: Flow, receive_bytes: usize, send_bytes: usize) -> Self {
        let buffer = |bytes| SocketBuffer::new(vec![0; bytes]);
        let mut socket = Socket::new(buffer(receive_bytes), buffer(send_bytes));
        // As the kernel engines do: a response never waits for an acknowledgement (TCP_NODELAY, tcp(7)).
        socket.set_nagle_enabled(false);
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let handle = sockets.add(socket);
        Self {
            sockets,
            handle,
            flow,
            owner: Owner::Nobody,
            borrowed_port: false,
            serial: 0,
            dirty: false,
            told_readable: 0,
            shown: true,
            told_end: false,
            starved: false,
            broken: false,
            waits: false,
            unresolved: false,
            ending: false,
            wants_room: false,
            watch: Watch::default(),
            socket_due: Nanos::MAX,
            patience: Nanos::MAX,
            timeouts_in_row: 0,
            stash: Vec::new(),
            stash_start: 0,
            to_skip: 0,
            queue: Vec::new(),
            queue_start: 0,
            file: None,
        }
    }

    /// Takes the place for a connection.
    pub(crate) fn occupy(&mut self, flow: Flow, owner: Owner, congestion: CongestionControl) {
        self.flow = flow;
        self.owner = owner;
        self.borrowed_port = false;
        self.told_readable = 0;
        (self.shown, self.told_end, self.starved, self.broken) = (true, false, false, false);
        (self.ending, self.wants_room, self.waits) = (false, false, false);
        self.watch = Watch::default();
        (self.socket_due, self.patience, self.timeouts_in_row) = (Nanos::MAX, Nanos::MAX, 0);
        self.to_skip = 0;
        self.socket_mut().set_congestion_control(congestion);
    }

    /// Leaves the place; what it held in memory beside its buffers is given back.
    pub(crate) fn vacate(&mut self) {
        self.owner = Owner::Nobody;
        self.serial = self.serial.wrapping_add(1);
        (self.stash, self.stash_start) = (Vec::new(), 0);
        (self.queue, self.queue_start) = (Vec::new(), 0);
        self.file = None;
        self.socket_mut().abort();
    }

    pub(crate) fn socket(&self) -> &Socket<'static> {
        self.sockets.get(self.handle)
    }

    pub(crate) fn socket_mut(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    pub(crate) fn state(&self) -> State {
        self.socket().state()
    }

    /// The peer has ended its direction, and all that it sent is here.
    pub(crate) fn peer_has_ended(&self) -> bool {
        matches!(self.state(), State::CloseWait | State::LastAck | State::Closing | State::TimeWait)
    }

    /// When something has to happen for it, whether the peer is heard or not.
    pub(crate) fn due(&self) -> Nanos {
        self.socket_due.min(self.patience)
    }

    /// Prepares [`view`](Self::view): the socket's own buffer while what it holds is in one piece and leaves the peer half of
    /// it, else a copy. Returns how many bytes were copied.
    pub(crate) fn prepare_view(&mut self) -> u64 {
        self.shown = true;
        let held = self.socket().recv_queue();
        let is_direct = self.stash.is_empty()
            && held <= self.socket().recv_capacity() / 2
            && self.socket_mut().peek(held).is_ok_and(|view| view.len() == held);
        if is_direct || held == 0 { 0 } else { self.fill_stash() }
    }

    /// What the user may see.
    pub(crate) fn view(&mut self) -> &[u8] {
        if self.stash.is_empty() {
            return self.socket_mut().peek(usize::MAX).unwrap_or_default();
        }
        &self.stash[self.stash_start..]
    }

    /// Moves what the socket holds behind the bytes that were not consumed, as far as a view may hold it.
    fn fill_stash(&mut self) -> u64 {
        let room = RECEIVE_VIEW_BYTES - (self.stash.len() - self.stash_start);
        let held = self.socket().recv_queue();
        self.starved = held > room;
        self.shown = !self.starved;
        let moved = held.min(room);
        if moved > 0 {
            self.stash.drain(..self.stash_start);
            self.stash_start = 0;
            let end = self.stash.len();
            self.stash.resize(end + moved, 0);
            let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
            let received = socket.recv_slice(&mut self.stash[end..]).unwrap_or_default();
            self.stash.truncate(end + received);
        }
        moved as u64
    }

    /// Drops the first `n` bytes of the view. Returns how many of them were still in the socket.
    pub(crate) fn consume(&mut self, n: usize) -> u64 {
        if self.stash.is_empty() {
            return self.drop_from_socket(n as u64);
        }
        self.stash_start = (self.stash_start + n).min(self.stash.len());
        if self.stash_start == self.stash.len() {
            (self.stash, self.stash_start) = (Vec::new(), 0);
        }
        0
    }

    /// Drops `n` bytes of the stream, those that are here at once. Returns how many of them were still in the socket.
    pub(crate) fn skip(&mut self, n: u64) -> u64 {
        let held = ((self.stash.len() - self.stash_start) as u64).min(n);
        if held > 0 {
            self.consume(held as usize);
        }
        self.starved = false;
        self.to_skip = self.to_skip.saturating_add(n - held);
        self.drop_arrived()
    }

    /// Goes on skipping. Returns how many bytes were dropped.
    pub(crate) fn drop_arrived(&mut self) -> u64 {
        let dropped = self.drop_from_socket(self.to_skip);
        self.to_skip -= dropped;
        dropped
    }

    fn drop_from_socket(&mut self, n: u64) -> u64 {
        let mut left = n;
        // Twice, as the buffer may wrap.
        for _ in 0..2 {
            let drop = |held: &mut [u8]| {
                let dropped = left.min(held.len() as u64) as usize;
                (dropped, dropped)
            };
            left -= self.socket_mut().recv(drop).unwrap_or_default() as u64;
        }
        n - left
    }

    /// Accepted bytes that the socket had no room for.
    pub(crate) fn queued(&self) -> u64 {
        (self.queue.len() - self.queue_start) as u64 + self.file.as_ref().map_or(0, |file| file.len)
    }

    /// Takes the parts as far as there is room; returns how many bytes were taken, and how many of them by the socket.
    pub(crate) fn send(&mut self, parts: &[&[u8]]) -> (usize, u64) {
        if self.file.is_some() {
            self.wants_room = true;
            return (0, 0);
        }
        let (mut taken, mut given) = (0, 0);
        for part in parts {
            let direct = if self.queued() == 0 { self.give(part) } else { 0 };
            let room = SEND_QUEUE_BYTES.saturating_sub(self.queued() as usize);
            let queued = room.min(part.len() - direct);
            self.queue.extend_from_slice(&part[direct..direct + queued]);
            taken += direct + queued;
            given += direct as u64;
            self.wants_room |= direct < part.len();
            if direct + queued < part.len() {
                break;
            }
        }
        (taken, given)
    }

    /// Takes the parts and the range behind them, or nothing. Returns whether it did.
    pub(crate) fn send_file(&mut self, parts: &[&[u8]], range: FileRange) -> bool {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        if self.file.is_some() || self.queued() as usize + bytes > SEND_QUEUE_BYTES {
            self.wants_room = true;
            return false;
        }
        parts.iter().for_each(|part| self.queue.extend_from_slice(part));
        self.file = Some(range);
        true
    }

    /// Gives the socket what is queued. Returns how many bytes it took.
    pub(crate) fn top_up(&mut self) -> Result<u64, BadFile> {
        if self.queue.is_empty() && self.file.is_none() {
            return Ok(0);
        }
        let sockets = &mut self.sockets;
        let socket = sockets.get_mut::<Socket<'_>>(self.handle);
        let mut given = socket.send_slice(&self.queue[self.queue_start..]).unwrap_or_default();
        self.queue_start += given;
        if self.queue_start == self.queue.len() {
            (self.queue, self.queue_start) = (Vec::new(), 0);
            while let Some(file) = &mut self.file {
                let sent = if file.len == 0 { 0 } else { read_into(socket, file)? };
                given += sent;
                if file.len == 0 {
                    self.file = None;
                } else if sent == 0 {
                    break;
                }
            }
        }
        Ok(given as u64)
    }

    /// Ends our direction if that is wanted and nothing is left to be sent.
    pub(crate) fn end_behind_queue(&mut self) {
        let can_end = matches!(self.state(), State::Established | State::CloseWait | State::SynReceived);
        if self.ending && can_end && self.queued() == 0 {
            self.socket_mut().close();
        }
    }

    fn give(&mut self, bytes: &[u8]) -> usize {
        self.socket_mut().send_slice(bytes).unwrap_or_default()
    }

    /// Our end and the peer's.
    pub(crate) fn ends(&self) -> (SocketAddr, SocketAddr) {
        (self.flow.local(), self.flow.remote())
    }
}

/// Reads as much of the range as there is contiguous room for into the socket's own buffer.
fn read_into(socket: &mut Socket<'_>, range: &mut FileRange) -> Result<usize, BadFile> {
    const EIO: i32 = rustix::io::Errno::IO.raw_os_error();
    let read = socket.send(|room| {
        let wanted = room.len().min(usize::try_from(range.len).unwrap_or(usize::MAX));
        if wanted == 0 {
            return (0, Ok(0));
        }
        match range.file.read_at(&mut room[..wanted], range.offset) {
            // The file has become shorter.
            Ok(0) => (0, Err(BadFile(EIO))),
            Ok(n) => (n, Ok(n)),
            Err(error) => (0, Err(BadFile(error.raw_os_error().unwrap_or(EIO)))),
        }
    });
    // A socket that takes no more is broken, which is told elsewhere.
    let n = read.unwrap_or(Ok(0))?;
    range.offset += n as u64;
    range.len -= n as u64;
    Ok(n)
}
