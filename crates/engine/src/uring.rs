//! The io_uring engine: multishot receives into provided buffers, sends without completions, direct descriptors,
//! and one system call a loop for everything (io_uring(7); Linux 6.1 or newer).
//!
//! A send never waits in the kernel (`MSG_DONTWAIT`) and reports only failure, so when an enter has returned,
//! every queue whose failure was not reported has left whole, and its memory is free again.

mod buffers;
mod connection;
mod files;
mod obstacle;
mod opening;
mod receiving;
mod request;
mod ring;
mod sending;

use std::net::{IpAddr, SocketAddr};

use assay_model::units::Nanos;
use io_uring::squeue;
use rustix::net::SocketAddrAny;
use rustix::process::{Resource, getrlimit};

use crate::file::FileRange;
use crate::slots::{SPARE_SLOTS, Slots};
use crate::{Config, Conn, Engine, EngineError, Event, Statistics, clock};
use buffers::{Buffers, GROUP};
use connection::{Phase, SEND_AT_ONCE, UringConnection};
use files::installed_descriptor;
pub use obstacle::Obstacle;
use opening::Listener;
use request::{Request, pack, unpack};
use ring::{Completion, Queues, Ring};

/// Empty queues and stashes kept for reuse; more are freed.
const SPARE_VECTORS: usize = 256;
/// A vector that grew beyond this is not kept.
const SPARE_CAPACITY: usize = SEND_AT_ONCE;

/// The share of the files that the process may open which connections that send files may use: one in so many.
const DESCRIPTOR_SHARE: usize = 4;

/// An [`Engine`] on Linux's io_uring(7).
pub struct Uring {
    // Dropped before the memory that the kernel writes to.
    ring: Ring,
    buffers: Buffers,
    connections: Slots<UringConnection>,
    listeners: Vec<Listener>,
    /// Listeners made so far, which numbers them.
    numbered: u32,
    /// When an enter last took sends with it.
    submitted_at: Option<Nanos>,
    /// The last poll's sends did not fit into one submission: those that left before the others have times of their own.
    submitted_in_parts: bool,
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
    /// Connections whose receive has ended and is asked for again with the next poll.
    unasked: Vec<Conn>,
    /// The kernel does not skip: what it would have dropped is received and then dropped.
    cannot_skip: bool,
    /// Events found outside a wait, delivered by the next poll.
    pending: Vec<Event>,
    spare: Vec<Vec<u8>>,
    /// Connections that have a descriptor beside the direct one, and how many may.
    descriptors: usize,
    descriptors_at_most: usize,
    completions: Vec<Completion>,
    /// Addresses of connects that the kernel has not taken yet.
    #[allow(clippy::vec_box, reason = "the kernel holds pointers to the addresses while the list grows")]
    peers: Vec<Box<SocketAddrAny>>,
    /// Why the ring takes no more requests.
    broken: Option<std::io::Error>,
    stats: Statistics,
}

impl Uring {
    /// An engine for this thread.
    ///
    /// # Errors
    /// Something is in the way, and the error says what and how to mend it; use [`crate::Epoll`] then.
    pub fn new(config: Config) -> Result<Self, EngineError> {
        Self::on_this_kernel(config).map_err(|obstacle| EngineError::System {
            call: "set up io_uring".to_owned(),
            source: std::io::Error::other(obstacle),
        })
    }

    /// An engine on this kernel; the error says what is in the way.
    pub(crate) fn on_this_kernel(config: Config) -> Result<Self, Obstacle> {
        Self::with_queues(config, Queues::USUAL)
    }

    /// An engine whose requests and completions wait in queues of these sizes.
    fn with_queues(config: Config, queues: Queues) -> Result<Self, Obstacle> {
        // The kernel grants no larger table of direct descriptors than the process may open files, though they count as none.
        let files =
            getrlimit(Resource::Nofile).current.map_or(u32::MAX, |n| n.try_into().unwrap_or(u32::MAX));
        let limit = config.max_connections.min((files as usize).saturating_sub(SPARE_SLOTS).max(1));
        let mut ring = Ring::new((limit + SPARE_SLOTS) as u32, queues)?;
        let buffers = Buffers::new(ring.inner()).map_err(|e| Obstacle::of("rings of receive buffers", e))?;
        Ok(Self {
            ring,
            buffers,
            connections: Slots::new(limit),
            listeners: Vec::new(),
            numbered: 0,
            accepting: 0,
            submitted_at: None,
            submitted_in_parts: false,
            dirty: Vec::new(),
            settle_at_once: false,
            farewells: Vec::new(),
            held: Vec::new(),
            unasked: Vec::new(),
            cannot_skip: false,
            pending: Vec::new(),
            spare: Vec::new(),
            descriptors: 0,
            descriptors_at_most: files as usize / DESCRIPTOR_SHARE,
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

    fn dispatch(&mut self, completion: Completion, now: Nanos, events: &mut Vec<Event>) {
        let (request, conn) = unpack(completion.data);
        match request {
            Request::Accept => self.accepted(conn, completion.result, now, events),
            Request::Connect => self.connected(conn, completion.result, events),
            Request::Receive => self.received(conn, completion, events),
            Request::Skip => self.skipped(conn, completion.result, events),
            Request::Send => self.sent_in_part(conn, completion.result),
            Request::Room => {
                if let Some(c) = self.connections.get_mut(conn) {
                    c.blocked = false;
                    self.mark_dirty(conn);
                }
            }
            // Asked for and forgotten: its descriptor is closed.
            Request::Install => drop(installed_descriptor(completion.result)),
            Request::Silent => {}
        }
    }
}

impl Engine for Uring {
    #[inline]
    fn now(&self) -> Nanos {
        clock::now()
    }

    fn cpu_time(&self) -> Nanos {
        clock::thread_cpu()
    }

    fn listen(&mut self, address: SocketAddr) -> Result<SocketAddr, EngineError> {
        self.open_listener(address)
    }

    fn stop_listening(&mut self) {
        self.close_listeners(|_| true);
    }

    fn stop_listening_at(&mut self, address: SocketAddr) {
        self.close_listeners(|listener| listener.address == address);
    }

    fn pause_accepting(&mut self, address: SocketAddr, paused: bool) {
        self.listeners.iter_mut().filter(|l| l.address == address).for_each(|l| l.paused = paused);
    }

    fn connect(&mut self, remote: SocketAddr, local: Option<IpAddr>) -> Result<Conn, EngineError> {
        self.dial(remote, local)
    }

    fn poll(&mut self, until: Nanos, events: &mut Vec<Event>) -> Result<Nanos, EngineError> {
        events.clear();
        self.release_buffers();
        self.ask_again();
        self.connections.recycle();
        self.arm_accepts(clock::now());
        let submitted = self.submit_sends();
        let found = !self.pending.is_empty() || !self.completions.is_empty();
        let hurry = std::mem::take(&mut self.settle_at_once) || found;
        let timeout = if hurry { Some(Nanos::ZERO) } else { self.wait_span(until) };
        let mut completions = std::mem::take(&mut self.completions);
        if !submitted.is_empty() {
            self.submitted_at = Some(clock::now());
        }
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
        self.view(conn)
    }

    fn consume(&mut self, conn: Conn, n: usize) {
        self.consume_view(conn, n);
    }

    fn skip(&mut self, conn: Conn, n: u64) {
        self.drop_next(conn, n);
    }

    fn skipping(&self, conn: Conn) -> u64 {
        self.connections.get(conn).map_or(0, |c| c.to_skip)
    }

    fn send(&mut self, conn: Conn, parts: &[&[u8]]) -> usize {
        self.enqueue(conn, parts)
    }

    fn send_file(&mut self, conn: Conn, parts: &[&[u8]], range: FileRange) -> bool {
        self.enqueue_file(conn, parts, range)
    }

    #[inline]
    fn submitted_at(&self, conn: Conn) -> Option<Nanos> {
        let early = match self.submitted_in_parts {
            true => self.connections.get(conn).and_then(|c| c.submitted_early_at),
            false => None,
        };
        early.or(self.submitted_at)
    }

    #[inline]
    fn is_ending(&self, conn: Conn) -> bool {
        self.connections.get(conn).is_some_and(|c| c.peer_ended || c.phase == Phase::Broken)
    }

    fn queued(&self, conn: Conn) -> u64 {
        self.connections.get(conn).filter(|c| c.is_full()).map_or(0, UringConnection::unsent)
    }

    fn has_sent_all(&mut self, conn: Conn) -> bool {
        let unsent = self.connections.get_mut(conn).filter(|c| c.unsent() > 0);
        unsent.map(|c| c.owes_writable = true).is_none()
    }

    fn shutdown(&mut self, conn: Conn) {
        self.end_after_queue(conn);
    }

    fn close(&mut self, conn: Conn) {
        self.part(conn);
    }

    fn abort(&mut self, conn: Conn) {
        self.reset(conn);
    }

    fn addresses(&mut self, conn: Conn) -> Option<(SocketAddr, SocketAddr)> {
        self.ask_addresses(conn)
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
        let has_room = self.connections.has_room();
        let idle = self.listeners.iter().filter(|l| l.waiting == 0 && !l.paused && has_room);
        match idle.map(|l| l.paused_until).fold(until, Nanos::min) {
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

fn keep_spare(spare: &mut Vec<Vec<u8>>, mut vector: Vec<u8>) {
    if (1..=SPARE_CAPACITY).contains(&vector.capacity()) && spare.len() < SPARE_VECTORS {
        vector.clear();
        spare.push(vector);
    }
}
