//! The network itself: what is under way, who listens where, and what each side has got.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use assay_engine::Conn;
use assay_model::units::Nanos;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use crate::BEGINNING;
use crate::freeze::Freeze;
use crate::side::{News, Side, SideId};
use crate::weather::{Weather, below, happens, part};

/// Ports that connections come from, as Linux has them (net.ipv4.ip_local_port_range).
const PORTS: std::ops::Range<u16> = 32_768..61_000;

/// All that engines share.
pub(crate) struct Net {
    now: Nanos,
    /// Tells the time where that is not ours to move.
    clock: Option<fn() -> Nanos>,
    weather: Weather,
    rng: ChaCha8Rng,
    agenda: BinaryHeap<Reverse<Due>>,
    /// Entries made so far: of two for the same time, the older one comes first.
    entered: u64,
    sides: Vec<Side>,
    listeners: Vec<Listener>,
    pub(crate) ends: Vec<End>,
    next_port: u16,
}

/// What the network keeps for one engine.
#[derive(Default)]
pub(crate) struct End {
    /// Sides with news, the oldest first.
    listed: VecDeque<SideId>,
    /// Until when its user waits; none while it has something to do.
    pub(crate) nap: Option<Nanos>,
    /// Whether the engine can take another connection.
    pub(crate) has_room: bool,
    pub(crate) freeze: Option<Freeze>,
}

struct Listener {
    end: usize,
    address: SocketAddr,
    is_paused: bool,
    /// Connections that were not accepted yet.
    backlog: VecDeque<SideId>,
}

/// Something that happens later.
struct Due {
    at: Nanos,
    number: u64,
    arrival: Arrival,
}

enum Arrival {
    /// A request to connect, from this side.
    Request(SideId),
    Connected(SideId),
    Refused(SideId),
    Bytes(SideId, Vec<u8>),
    End(SideId),
    Reset(SideId),
    /// The side may send so many bytes more.
    Room(SideId, usize),
}

impl Net {
    pub(crate) fn new(seed: u64, weather: Weather, clock: Option<fn() -> Nanos>) -> Self {
        Self {
            now: BEGINNING,
            clock,
            weather,
            rng: ChaCha8Rng::seed_from_u64(seed),
            agenda: BinaryHeap::new(),
            entered: 0,
            sides: Vec::new(),
            listeners: Vec::new(),
            ends: Vec::new(),
            next_port: PORTS.start,
        }
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.map_or(self.now, |clock| clock())
    }

    pub(crate) fn is_in_real_time(&self) -> bool {
        self.clock.is_some()
    }

    /// Goes on to `until`.
    pub(crate) fn advance(&mut self, until: Nanos) {
        self.now = self.now.max(until);
        self.arrive();
    }

    /// When the next thing arrives.
    pub(crate) fn next_arrival(&self) -> Nanos {
        self.agenda.peek().map_or(Nanos::MAX, |due| due.0.at)
    }

    /// Lets everything arrive whose time has come.
    pub(crate) fn arrive(&mut self) {
        let now = self.now();
        while self.next_arrival() <= now {
            if let Some(Reverse(due)) = self.agenda.pop() {
                self.apply(due.arrival);
            }
        }
    }

    /// Takes an engine in; returns its number.
    pub(crate) fn join(&mut self) -> usize {
        self.ends.push(End::default());
        self.ends.len() - 1
    }

    /// Whether the engine has something to tell its user. `has_room` for another connection of those that wait to be accepted.
    pub(crate) fn has_news(&self, end: usize, has_room: bool) -> bool {
        !self.ends[end].listed.is_empty() || (has_room && self.listeners.iter().any(|l| l.can_accept(end)))
    }

    /// When the first of the engines beside `me` wakes; `None` when one is awake.
    pub(crate) fn others_wake(&self, me: Option<usize>) -> Option<Nanos> {
        let mut first = Nanos::MAX;
        for at in (0..self.ends.len()).filter(|&at| Some(at) != me) {
            let end = &self.ends[at];
            let due = match end.nap {
                Some(nap) if !self.has_news(at, end.has_room) => nap,
                Some(_) | None => self.now,
            };
            let due = self.thaw(at).map_or(due, |thaw| due.max(thaw));
            if due <= self.now {
                return None;
            }
            first = first.min(due);
        }
        Some(first)
    }

    /// When an engine's user goes on, if it is frozen.
    pub(crate) fn thaw(&self, end: usize) -> Option<Nanos> {
        self.ends[end].freeze?.thaws_at(self.now)
    }

    /// The next side with news.
    pub(crate) fn next_news(&mut self, end: usize) -> Option<(SideId, News)> {
        let id = self.ends[end].listed.pop_front()?;
        let side = &mut self.sides[id.0];
        side.is_listed = false;
        Some((id, std::mem::take(&mut side.news)))
    }

    pub(crate) fn side(&mut self, id: SideId) -> &mut Side {
        &mut self.sides[id.0]
    }

    /// Listens, at a free port if none is asked for; `None` when this engine does so already.
    pub(crate) fn listen(&mut self, end: usize, mut address: SocketAddr) -> Option<SocketAddr> {
        if address.port() == 0 {
            let is_taken =
                |port| self.listeners.iter().any(|l| l.address == SocketAddr::new(address.ip(), port));
            address.set_port((1024..PORTS.start).find(|&port| !is_taken(port))?);
        }
        if self.listeners.iter().any(|l| l.end == end && l.address == address) {
            return None;
        }
        self.listeners.push(Listener { end, address, is_paused: false, backlog: VecDeque::new() });
        Some(address)
    }

    /// Stops listening at one address, or at all. Who waited there is reset.
    pub(crate) fn stop_listening(&mut self, end: usize, address: Option<SocketAddr>) {
        let is_meant = |l: &Listener| l.end == end && address.is_none_or(|address| l.address == address);
        let (ended, kept) = std::mem::take(&mut self.listeners).into_iter().partition(is_meant);
        self.listeners = kept;
        let ended: Vec<Listener> = ended;
        ended.into_iter().flat_map(|l| l.backlog).for_each(|id| self.abort(id));
    }

    pub(crate) fn pause(&mut self, end: usize, address: SocketAddr, is_paused: bool) {
        let meant = self.listeners.iter_mut().filter(|l| l.end == end && l.address == address);
        meant.for_each(|l| l.is_paused = is_paused);
    }

    /// The next connection that waits to be accepted.
    pub(crate) fn accept(&mut self, end: usize) -> Option<SideId> {
        self.listeners.iter_mut().find(|l| l.can_accept(end))?.backlog.pop_front()
    }

    /// An engine is no more.
    pub(crate) fn leave(&mut self, end: usize) {
        self.stop_listening(end, None);
        for at in 0..self.sides.len() {
            if self.sides[at].end == end && !self.sides[at].is_gone {
                self.close(SideId(at), false);
            }
        }
        self.ends[end].listed.clear();
        self.ends[end].nap = Some(Nanos::MAX);
    }

    /// Begins to connect.
    pub(crate) fn connect(&mut self, end: usize, remote: SocketAddr, local: Option<IpAddr>) -> SideId {
        let usual = || match remote {
            SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::new(10, 0, 0, 1 + end as u8)),
            SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1 + end as u16)),
        };
        let local = SocketAddr::new(local.unwrap_or_else(usual), self.next_port);
        self.next_port = if self.next_port + 1 < PORTS.end { self.next_port + 1 } else { PORTS.start };
        let id = self.open(Side::new(end, local, remote));
        self.send_on(id, Arrival::Request(id));
        id
    }

    /// Sends bytes as far as the network takes them; returns how many.
    pub(crate) fn send(&mut self, from: SideId, bytes: &[u8]) -> usize {
        let side = &mut self.sides[from.0];
        let Some(to) = side.peer else { return 0 };
        let room = self.weather.window_bytes.saturating_sub(side.under_way);
        let mut n = bytes.len().min(room);
        if happens(self.weather.short_sends, &mut self.rng) {
            n = part(n, &mut self.rng);
        }
        side.wants_room = n < bytes.len();
        side.under_way += n;
        // There is room left, and nothing that would tell of it.
        let is_cut_short = n < bytes.len() && n < room;
        if happens(self.weather.resets, &mut self.rng) {
            self.break_during(from, to, &bytes[..n]);
            return n;
        }
        self.send_segments(from, to, &bytes[..n]);
        if is_cut_short {
            self.send_on(from, Arrival::Room(from, 0));
        }
        n
    }

    /// Sends bytes whether there is room for them or not.
    pub(crate) fn send_beyond_window(&mut self, from: SideId, bytes: &[u8]) {
        if let Some(to) = self.sides[from.0].peer {
            self.sides[from.0].under_way += bytes.len();
            self.send_segments(from, to, bytes);
        }
    }

    /// Receives up to `most` bytes to the end of `sink`; returns how many.
    pub(crate) fn receive(&mut self, id: SideId, sink: Option<&mut Vec<u8>>, most: usize) -> usize {
        let side = &mut self.sides[id.0];
        let mut n = side.inbox.len().min(most);
        // Of what came before a reset nothing is kept back: there may be no second look.
        if !side.is_reset && happens(self.weather.short_receives, &mut self.rng) {
            n = part(n, &mut self.rng);
        }
        if let Some(sink) = sink {
            let (front, back) = side.inbox.as_slices();
            let of_front = n.min(front.len());
            sink.extend_from_slice(&front[..of_front]);
            sink.extend_from_slice(&back[..n - of_front]);
        }
        side.inbox.drain(..n);
        if let Some(peer) = side.peer.filter(|_| n > 0) {
            self.make_room(id, peer, n);
        }
        n
    }

    /// Sends no more.
    pub(crate) fn end(&mut self, id: SideId) {
        if let Some(peer) = self.sides[id.0].peer {
            self.send_on(id, Arrival::End(peer));
        }
    }

    /// The user lets go of the side. Bytes that arrived and were never received reset it, as in Linux (RFC 1122 §4.2.2.13).
    /// `is_over` when our direction has ended already.
    pub(crate) fn close(&mut self, id: SideId, is_over: bool) {
        let side = &mut self.sides[id.0];
        if !side.inbox.is_empty() {
            return self.abort(id);
        }
        side.is_gone = true;
        if !is_over && !side.is_reset {
            self.end(id);
        }
    }

    /// Resets the side's connection.
    pub(crate) fn abort(&mut self, id: SideId) {
        let side = &mut self.sides[id.0];
        side.inbox = VecDeque::new();
        if std::mem::replace(&mut side.is_gone, true) {
            return;
        }
        if let Some(peer) = side.peer.filter(|_| !side.is_reset) {
            self.send_on(id, Arrival::Reset(peer));
        }
    }

    /// The engine has named a side: from now on it is told of it, and of what happened before.
    pub(crate) fn name(&mut self, id: SideId, conn: Conn) {
        self.sides[id.0].conn = Some(conn);
        if self.sides[id.0].news != News::default() {
            self.tell(id, |_| {});
        }
    }

    fn open(&mut self, side: Side) -> SideId {
        self.sides.push(side);
        SideId(self.sides.len() - 1)
    }

    /// Puts something on its way from a side, behind all that is on its way from there already.
    fn send_on(&mut self, from: SideId, arrival: Arrival) {
        let now = self.now();
        let side = &mut self.sides[from.0];
        let at = self.weather.arrival(now, side.last_arrival, &mut self.rng);
        side.last_arrival = at;
        self.entered += 1;
        self.agenda.push(Reverse(Due { at, number: self.entered, arrival }));
    }

    fn send_segments(&mut self, from: SideId, to: SideId, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (segment, rest) = bytes.split_at(self.weather.segment(bytes.len(), &mut self.rng));
            self.send_on(from, Arrival::Bytes(to, segment.to_vec()));
            bytes = rest;
        }
    }

    /// Some of the bytes arrive, then both sides find the connection reset.
    fn break_during(&mut self, from: SideId, to: SideId, bytes: &[u8]) {
        let arriving = below(&mut self.rng, bytes.len() as u64 + 1) as usize;
        self.send_segments(from, to, &bytes[..arriving]);
        self.send_on(from, Arrival::Reset(to));
        self.send_on(to, Arrival::Reset(from));
    }

    /// The side has received `n` bytes: its peer has so much more room, and is told if it waits for that.
    fn make_room(&mut self, id: SideId, peer: SideId, n: usize) {
        if self.sides[peer.0].wants_room {
            self.send_on(id, Arrival::Room(peer, n));
        } else {
            self.sides[peer.0].under_way -= n;
        }
    }

    fn apply(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Request(from) => self.requested(from),
            Arrival::Connected(id) => self.tell(id, |news| news.connected = true),
            Arrival::Refused(id) => self.tell(id, |news| news.refused = true),
            Arrival::Bytes(to, bytes) => self.arrived(to, &bytes),
            Arrival::End(to) => {
                self.sides[to.0].has_ended = true;
                self.tell(to, |news| news.ended = true);
            }
            Arrival::Reset(to) => {
                self.sides[to.0].is_reset = true;
                self.tell(to, |news| news.reset = true);
            }
            Arrival::Room(to, n) => {
                let side = &mut self.sides[to.0];
                side.under_way -= n;
                if std::mem::take(&mut side.wants_room) {
                    self.tell(to, |news| news.room = true);
                }
            }
        }
    }

    fn requested(&mut self, from: SideId) {
        let Side { local, remote, is_gone, .. } = self.sides[from.0];
        if is_gone {
            return;
        }
        let there: Vec<usize> =
            (0..self.listeners.len()).filter(|&at| self.listeners[at].hears(remote)).collect();
        if there.is_empty() {
            return self.send_on(from, Arrival::Refused(from));
        }
        let listener = there[below(&mut self.rng, there.len() as u64) as usize];
        let end = self.listeners[listener].end;
        let to = self.open(Side { peer: Some(from), ..Side::new(end, remote, local) });
        self.sides[from.0].peer = Some(to);
        self.listeners[listener].backlog.push_back(to);
        self.send_on(to, Arrival::Connected(from));
    }

    fn arrived(&mut self, to: SideId, bytes: &[u8]) {
        let side = &mut self.sides[to.0];
        if side.is_reset {
            return;
        }
        if !side.is_gone {
            side.inbox.extend(bytes);
            return self.tell(to, |news| news.bytes = true);
        }
        // Nobody is there any more (RFC 9293 §3.10.7.1).
        if let Some(peer) = side.peer {
            side.is_reset = true;
            self.send_on(to, Arrival::Reset(peer));
        }
    }

    fn tell(&mut self, id: SideId, note: impl FnOnce(&mut News)) {
        let side = &mut self.sides[id.0];
        if side.is_gone {
            return;
        }
        note(&mut side.news);
        // One that was not accepted yet is listed when it is.
        if side.conn.is_some() && !std::mem::replace(&mut side.is_listed, true) {
            self.ends[side.end].listed.push_back(id);
        }
    }
}

impl Listener {
    fn can_accept(&self, end: usize) -> bool {
        self.end == end && !self.is_paused && !self.backlog.is_empty()
    }

    fn hears(&self, address: SocketAddr) -> bool {
        let own = self.address;
        own == address || (own.ip().is_unspecified() && own.port() == address.port())
    }
}

impl Due {
    /// Time and number as one, which is compared in one step.
    fn key(&self) -> u128 {
        (u128::from(self.at.0) << 64) | u128::from(self.number)
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Due {}
