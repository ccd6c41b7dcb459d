//! The stack of one thread: frames in, segments out, timers; what happened becomes events.
//!
//! A turn hands each frame to the one connection that its addresses name, however many there are. What may have something to
//! send is in a list and is asked once for all that happened to it.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;

use assay_engine::slots::Slots;
use assay_engine::wheel::Wheel;
use assay_engine::{Conn, Engine as _, EngineError, Event, Reason, StackStatistics, Statistics, clock};
use assay_model::load::StackCounts;
use assay_model::units::Nanos;
use assay_wire::stats_page::StatsPage;
use assay_wire::{Sender, Wire};
use smoltcp::iface::{Interface, SocketSet};
use smoltcp::phy::DeviceCapabilities;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress};

use crate::config::{Config, MAX_ADDRESSES, SetupError};
use crate::connection::sequence::Seq;
use crate::connection::{Connection, Counts, Shape, State};
use crate::cookies::Cookies;
use crate::device::{Arrival, Replies, capabilities};
use crate::endpoint::{Endpoint, Owner};
use crate::flow::Flow;
use crate::frame::{IPV4_BYTES, IPV6_BYTES, TCP_BYTES};
use crate::handshakes::Handshakes;
use crate::listeners::Listeners;
use crate::memory::Memory;
use crate::neighbours::Neighbours;
use crate::ports::Ports;
use crate::rx_watermark::RxWatermark;
use crate::table::{Flows, secret};
use crate::template::Template;

/// Resolution of timers; the shortest is that of a tail-loss probe, 2 ms and more.
const TICK: Nanos = Nanos::from_millis(1);
/// How long a peer's hardware address is asked for, once a second. RFC 4861 §10 and Linux ask three times; on a cable that loses
/// one frame in twenty each way, one process in a thousand would then find nobody.
pub(crate) const NEIGHBOUR_PATIENCE: Nanos = Nanos::from_millis(10_000);
/// How long a connection that its user has closed may take to end; Linux gives it as long (tcp_fin_timeout, tcp(7)).
const ORPHAN_PATIENCE: Nanos = Nanos::from_millis(60_000);
/// Connections in TIME-WAIT at most. Then the oldest is forgotten, as by Linux (tcp_max_tw_buckets, tcp(7)): a table of
/// connections that are opened and closed quickly must not fill with those of the last ten seconds.
const MAX_TIME_WAITS: usize = 1024;
/// How long a stack that is dropped waits for the connections that were closed.
const FAREWELL: Nanos = Nanos::from_millis(200);

/// A TCP stack over a wire, as an engine.
pub struct UserStack<W: Wire> {
    pub(crate) wire: W,
    pub(crate) capabilities: DeviceCapabilities,
    /// Checksums are written and read.
    pub(crate) has_checksums: bool,
    is_lossless: bool,
    /// The key of initial sequence numbers.
    numbers: RandomState,
    /// Answers what is not TCP.
    pub(crate) interface: Interface,
    pub(crate) neighbours: Neighbours,
    /// Sockets of `interface`: none.
    pub(crate) nobody: SocketSet<'static>,
    pub(crate) config: Config,
    /// Users' names of endpoints.
    pub(crate) names: Slots<u32>,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) free: Vec<u32>,
    pub(crate) flows: Flows,
    pub(crate) ports: Ports,
    pub(crate) listeners: Listeners,
    pub(crate) cookies: Cookies,
    pub(crate) handshakes: Handshakes,
    pub(crate) memory: Memory,
    /// Endpoints that may have something to send.
    pub(crate) dirty: Vec<u32>,
    /// Endpoints that may have something to send, while they are asked.
    pub(crate) asking: Vec<u32>,
    /// Endpoints whose neighbour's hardware address was not known when they were asked.
    pub(crate) unresolved: Vec<u32>,
    /// In the order in which they came to TIME-WAIT, with their serials.
    pub(crate) time_waits: VecDeque<(u32, u32)>,
    pub(crate) wheel: Wheel,
    pub(crate) rx_watermark: RxWatermark,
    due: Vec<u32>,
    pub(crate) replies: Replies,
    /// Events found outside a turn, told by the next one.
    pub(crate) pending: Vec<Event>,
    /// The wire had no room when it was last asked.
    pub(crate) blocked: bool,
    pub(crate) orphans: usize,
    pub(crate) turn: u64,
    pub(crate) statistics: Statistics,
    pub(crate) stack: StackStatistics,
    /// Where others can read what was counted.
    stats_page: Option<StatsPage>,
    pub(crate) counts: Counts,
}

impl<W: Wire> UserStack<W> {
    /// A stack for this thread.
    ///
    /// # Errors
    /// The addresses are none, too many or not ones that a device may have; buffers are too small, or there are no random numbers.
    pub fn new(wire: W, config: Config) -> Result<Self, SetupError> {
        config.check()?;
        let facts = wire.facts();
        let capabilities = capabilities(facts);
        let hardware = HardwareAddress::Ethernet(EthernetAddress(config.hardware));
        let mut shape = smoltcp::iface::Config::new(hardware);
        shape.random_seed = secret();
        let (now, memory) = ((config.clock)(), Memory::new(config.memory_bytes));
        let mut replies = Replies::default();
        let mut nowhere = Arrival { frame: None, replies: &mut replies, capabilities: &capabilities };
        let mut interface = Interface::new(shape, &mut nowhere, instant(now));
        interface.update_ip_addrs(|addresses| {
            // `check` saw to it that there is room for all.
            addresses.extend(config.addresses.iter().map(|cidr| cidr.to_smoltcp()).take(MAX_ADDRESSES));
        });
        Ok(Self {
            wire,
            capabilities,
            has_checksums: !facts.trusted,
            is_lossless: facts.lossless,
            numbers: RandomState::new(),
            interface,
            neighbours: Neighbours::default(),
            nobody: SocketSet::new(Vec::new()),
            names: Slots::new(config.max_connections),
            config,
            endpoints: Vec::new(),
            free: Vec::new(),
            flows: Flows::default(),
            ports: Ports::default(),
            listeners: Listeners::default(),
            handshakes: Handshakes::default(),
            cookies: Cookies::new().map_err(|_| SetupError::NoSecret)?,
            memory,
            dirty: Vec::new(),
            asking: Vec::new(),
            unresolved: Vec::new(),
            time_waits: VecDeque::new(),
            wheel: Wheel::new(TICK, now),
            rx_watermark: RxWatermark::new(facts.waiting, now),
            due: Vec::new(),
            replies,
            pending: Vec::new(),
            blocked: false,
            orphans: 0,
            turn: 0,
            statistics: Statistics::default(),
            stack: StackStatistics { lossless: facts.lossless, ..StackStatistics::default() },
            stats_page: None,
            counts: Counts::default(),
        })
    }

    /// Lets others read what is counted from now on.
    pub fn publish_in(&mut self, stats_page: StatsPage) {
        self.stats_page = Some(stats_page);
        self.count();
    }

    /// Turns until something happened or the time has come.
    pub(crate) fn run(&mut self, until: Nanos, events: &mut Vec<Event>) -> Result<Nanos, EngineError> {
        self.turn += 1;
        self.tell_pending(events);
        let mut now = self.now();
        loop {
            if self.wire.other_end_changed() {
                self.lose_peers(events);
            }
            self.expire(events);
            self.balance();
            self.depart(now, events);
            let arrived = self.arrive(now, events);
            self.rx_watermark.advance(arrived, now);
            self.accept(events);
            if events.is_empty() {
                self.tell_pending(events);
            }
            if !events.is_empty() || now >= until {
                break;
            }
            let is_interrupted = arrived == 0 && self.wait(now, until)?;
            now = self.now();
            if is_interrupted {
                break;
            }
        }
        self.wire.split().1.flush();
        self.count();
        Ok(now)
    }

    fn tell_pending(&mut self, events: &mut Vec<Event>) {
        let mut pending = std::mem::take(&mut self.pending);
        for event in pending.drain(..) {
            match event {
                Event::Closed(conn, reason) => self.tell_closed(conn, reason, events),
                Event::Readable(conn) => {
                    if let Some(index) = self.names.get(conn).copied() {
                        self.tell_readable(index, conn, events);
                    }
                }
                Event::Connected(conn) | Event::Accepted(conn) | Event::Writable(conn) | Event::Eof(conn) => {
                    if self.names.get(conn).is_some() {
                        events.push(event);
                    }
                }
            }
        }
        self.pending = pending;
    }

    /// The connection is no longer its user's.
    pub(crate) fn tell_closed(&mut self, conn: Conn, reason: Reason, events: &mut Vec<Event>) {
        if let Some(index) = self.names.remove(conn) {
            events.push(Event::Closed(conn, reason));
            self.orphan(index);
        }
    }

    pub(crate) fn tell_readable(&mut self, index: u32, conn: Conn, events: &mut Vec<Event>) {
        let endpoint = &mut self.endpoints[index as usize];
        if !endpoint.broken && endpoint.told_readable != self.turn {
            endpoint.told_readable = self.turn;
            events.push(Event::Readable(conn));
        }
    }

    /// Lets the user of a connection hear with the next turn that it failed.
    pub(crate) fn break_off(&mut self, index: u32, reason: Reason) {
        let endpoint = &mut self.endpoints[index as usize];
        match endpoint.owner {
            Owner::User(conn) | Owner::Opening(conn) => {
                if !std::mem::replace(&mut endpoint.broken, true) {
                    self.pending.push(Event::Closed(conn, reason));
                }
            }
            Owner::HalfOpen | Owner::Orphan => self.release(index),
            // Who takes it from the backlog finds out.
            Owner::Backlog | Owner::Nobody => {}
        }
    }

    /// The host at the other end is gone, and all its connections with it: nothing is to be sent for them any more.
    fn lose_peers(&mut self, events: &mut Vec<Event>) {
        for index in 0..self.endpoints.len() as u32 {
            let endpoint = &mut self.endpoints[index as usize];
            match endpoint.owner {
                Owner::Nobody => continue,
                Owner::Opening(conn) | Owner::User(conn) => self.tell_closed(conn, Reason::Reset, events),
                Owner::HalfOpen | Owner::Orphan => {}
                // Who takes it from the backlog finds out, and gives its place away.
                Owner::Backlog => {
                    endpoint.connection.abort();
                    continue;
                }
            }
            self.release(index);
        }
    }

    /// Hands what is established to the user while there is room.
    fn accept(&mut self, events: &mut Vec<Event>) {
        while self.names.has_room() {
            let Some(index) = self.listeners.pop() else { return };
            if self.endpoints[index as usize].connection.state() == State::Closed {
                self.release(index);
                continue;
            }
            let conn = self.names.insert(index);
            let endpoint = &mut self.endpoints[index as usize];
            endpoint.owner = Owner::User(conn);
            let holds_data = endpoint.connection.unseen() > 0;
            self.statistics.accepted += 1;
            events.push(Event::Accepted(conn));
            self.tell(index, conn, holds_data, events);
        }
    }

    /// Does what has come due.
    fn expire(&mut self, events: &mut Vec<Event>) {
        let now = self.rx_watermark.at();
        if self.wheel.next() > now {
            return;
        }
        let mut due = std::mem::take(&mut self.due);
        let endpoints = &self.endpoints;
        self.wheel.expire(now, |index| {
            let deadline = endpoints.get(index as usize).filter(|e| e.owner != Owner::Nobody)?.due();
            if deadline <= now {
                due.push(index);
            }
            (deadline < Nanos::MAX).then_some(deadline)
        });
        for index in due.drain(..) {
            if self.endpoints[index as usize].patience <= now {
                self.lose_patience(index, events);
            } else {
                self.touch(index);
            }
        }
        self.due = due;
    }

    fn lose_patience(&mut self, index: u32, events: &mut Vec<Event>) {
        match self.endpoints[index as usize].owner {
            Owner::Opening(conn) => self.tell_closed(conn, Reason::Unreachable, events),
            Owner::Orphan => self.release(index),
            Owner::Nobody | Owner::HalfOpen | Owner::Backlog | Owner::User(_) => {}
        }
    }

    /// Waits for the wire. Returns whether a signal ended that.
    fn wait(&mut self, now: Nanos, until: Nanos) -> Result<bool, EngineError> {
        self.wire.split().1.flush();
        let timeout = until.min(self.wheel.next()) - now;
        let has_work = !self.dirty.is_empty() && !self.blocked;
        if has_work || timeout == Nanos::ZERO {
            return Ok(false);
        }
        self.count();
        match self.wire.wait(timeout) {
            Ok(()) => Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(true),
            Err(source) => Err(EngineError::System { call: "wait for the wire".to_owned(), source }),
        }
    }

    fn count(&mut self) {
        let wire = self.wire.statistics();
        self.stack.received_frames = wire.received_frames;
        self.stack.sent_frames = wire.sent_frames;
        self.stack.wire_full = wire.full;
        self.stack.dropped_frames = wire.dropped_frames + self.replies.dropped;
        self.stack.system_calls = wire.system_calls;
        self.stack.retransmitted_segments = self.counts.retransmitted;
        self.stack.retransmission_timeouts = self.counts.timeouts;
        self.stack.tail_loss_probes = self.counts.tail_loss_probes;
        self.stack.loss_recoveries = self.counts.recoveries;
        [self.stack.held_bytes, self.stack.most_held_bytes] = self.memory.held().map(|bytes| bytes as u64);
        self.statistics.waits = wire.system_calls;
        self.statistics.stack = Some(self.stack);
        if let Some(stats_page) = &self.stats_page {
            stats_page.write(&StackCounts::from(&self.stack));
        }
    }

    /// Puts it into the list of those that may have something to send.
    pub(crate) fn touch(&mut self, index: u32) {
        if !std::mem::replace(&mut self.endpoints[index as usize].dirty, true) {
            self.dirty.push(index);
        }
    }

    /// Takes a place for a connection.
    pub(crate) fn occupy(&mut self, endpoint: Endpoint) -> u32 {
        let flow = endpoint.flow;
        let index = match self.free.pop() {
            Some(index) => {
                self.endpoints[index as usize].occupy(endpoint);
                index
            }
            None => {
                self.endpoints.push(endpoint);
                self.endpoints.len() as u32 - 1
            }
        };
        self.flows.insert(flow, index);
        if self.memory.is_short() {
            self.endpoints[index as usize].connection.press(true);
        }
        index
    }

    /// What connections from `local` are made for.
    pub(crate) fn shape(&self, local: IpAddr) -> Shape {
        let headers = TCP_BYTES + if local.is_ipv4() { IPV4_BYTES } else { IPV6_BYTES };
        let most = self.capabilities.ip_mtu().saturating_sub(headers);
        Shape {
            segment_bytes: u16::try_from(most).unwrap_or(u16::MAX),
            receive_bytes: self.config.receive_bytes as u32,
            send_bytes: self.config.send_bytes as u32,
            is_lossless: self.is_lossless,
        }
    }

    /// Where the numbers of a connection begin that we open: a clock of 4 µs, and what nobody outside can guess (RFC 6528 §3). Those of
    /// one that we accept are [cookies](crate::cookies).
    pub(crate) fn iss(&self, flow: &Flow, now: Nanos) -> Seq {
        Seq(self.numbers.hash_one(flow) as u32) + (now.0 / 4_000) as u32
    }

    /// A connection of ours that begins.
    pub(crate) fn open(&mut self, flow: Flow, conn: Conn, now: Nanos) -> u32 {
        let connection = Connection::open(&self.shape(flow.local().ip()), self.iss(&flow, now), now);
        let template = Template::new(self.config.hardware, [0; 6], &flow, self.has_checksums);
        let mut endpoint = Endpoint::new(flow, Owner::Opening(conn), connection, template);
        (endpoint.borrowed_port, endpoint.unresolved) = (true, true);
        self.occupy(endpoint)
    }

    /// Lets a connection that its user has left end by itself, within bounds.
    pub(crate) fn orphan(&mut self, index: u32) {
        let now = self.now();
        let endpoint = &mut self.endpoints[index as usize];
        endpoint.owner = Owner::Orphan;
        endpoint.patience = now + ORPHAN_PATIENCE;
        self.orphans += 1;
        self.touch(index);
    }

    /// Gives its place away; nothing of it is sent any more.
    pub(crate) fn release(&mut self, index: u32) {
        let endpoint = &mut self.endpoints[index as usize];
        let (local, remote) = endpoint.ends();
        match endpoint.owner {
            Owner::Orphan => self.orphans -= 1,
            Owner::Nobody => return,
            Owner::HalfOpen | Owner::Backlog | Owner::Opening(_) | Owner::User(_) => {}
        }
        if endpoint.borrowed_port {
            self.ports.give_back(local, remote);
        }
        self.flows.remove(&endpoint.flow);
        endpoint.vacate();
        self.measure(index);
        self.free.push(index);
    }

    /// Keeps an orphan in TIME-WAIT (RFC 9293 §3.6.1), and forgets the oldest when there are too many.
    pub(crate) fn keep_waiting(&mut self, index: u32) {
        let endpoint = &mut self.endpoints[index as usize];
        if std::mem::replace(&mut endpoint.waits, true) {
            return;
        }
        self.time_waits.push_back((index, endpoint.serial));
        while self.time_waits.len() > MAX_TIME_WAITS {
            let Some((oldest, serial)) = self.time_waits.pop_front() else { return };
            if self.endpoints[oldest as usize].serial == serial {
                self.release(oldest);
            }
        }
    }
}

impl<W: Wire> Drop for UserStack<W> {
    /// Nobody answers for its connections any more: what was closed gets a little time to end, all others are reset.
    fn drop(&mut self) {
        let deadline = clock::now() + FAREWELL;
        let mut events = Vec::new();
        let is_ending = |e: &Endpoint| e.owner == Owner::Orphan && !e.waits;
        self.stop_listening();
        while self.endpoints.iter().any(is_ending) && clock::now() < deadline {
            events.clear();
            if self.run(Nanos::ZERO, &mut events).is_err() {
                return;
            }
            if events.is_empty() && self.wire.wait(TICK).is_err() {
                return;
            }
        }
        let left = |e: &Endpoint| e.owner != Owner::Nobody && !e.waits;
        for index in 0..self.endpoints.len() as u32 {
            if left(&self.endpoints[index as usize]) {
                self.endpoints[index as usize].connection.abort();
                self.touch(index);
            }
        }
        self.depart(self.now(), &mut events);
    }
}

/// The time as smoltcp counts it.
pub(crate) fn instant(time: Nanos) -> Instant {
    Instant::from_micros((time.0 / 1000) as i64)
}
