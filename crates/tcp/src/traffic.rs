//! What passes between the wire and the connections: arrival, departure, and what they tell.

use assay_engine::{Conn, Event, Reason};
use assay_model::units::Nanos;
use assay_wire::{Receiver, Sender, Wire};
use smoltcp::iface::PollResult;
use smoltcp::socket::tcp::State;
use smoltcp::wire::IpListenEndpoint;

use crate::device::{Arrival, Departure};
use crate::endpoint::{BadFile, Owner};
use crate::segment::Segment;
use crate::stack::{UserStack, instant};

/// Frames taken from the wire before what they caused is told: as many as a ring publishes at a time, so that the peer works on
/// the first answers while we make the next.
const FRAMES_AT_ONCE: usize = 8;
/// Retransmission timers that may run out in a row: the last one after two minutes (RFC 1122 §4.2.3.5: at least 100 s).
const MAX_TIMEOUTS_IN_ROW: u8 = 6;

/// Whose a segment is.
enum Claim {
    Endpoint(u32),
    /// No connection's: answered with a reset.
    Nobody,
    /// A request for a connection that we cannot have now.
    Dropped,
}

impl<W: Wire> UserStack<W> {
    /// Takes frames from the wire; returns how many.
    pub(crate) fn arrive(&mut self, now: Nanos, events: &mut Vec<Event>) -> usize {
        for n in 0..FRAMES_AT_ONCE {
            let Some(frame) = self.wire.split().0.peek() else { return n };
            let segment = Segment::parse(frame);
            match segment.as_ref().map(|segment| self.claim(segment)) {
                Some(Claim::Endpoint(index)) => {
                    let window_closed = segment.is_some_and(|segment| segment.window_closed);
                    let has_grown = self.hand_to(index, window_closed, now);
                    self.notice(index, has_grown, events);
                }
                Some(Claim::Nobody) => self.hand_to_nobody(now),
                Some(Claim::Dropped) => self.stack.dropped_syns += 1,
                None => {
                    self.hand_to_nobody(now);
                    self.try_unresolved();
                }
            }
            self.wire.split().0.release();
        }
        FRAMES_AT_ONCE
    }

    fn claim(&mut self, segment: &Segment) -> Claim {
        let is_request = segment.syn && !segment.ack;
        if let Some(&index) = self.flows.get(&segment.flow) {
            // A new connection may take the place of one in TIME-WAIT (RFC 9293 §3.10.7.4, first check of SYN).
            if !(is_request && self.endpoints[index as usize].waits) {
                return Claim::Endpoint(index);
            }
            self.release(index);
        }
        let local = segment.flow.local();
        if !is_request || !self.listeners.include(local) {
            return Claim::Nobody;
        }
        if self.listeners.is_full() {
            return Claim::Dropped;
        }
        let index = self.occupy(segment.flow, Owner::HalfOpen);
        self.listeners.half_open += 1;
        let listener = IpListenEndpoint { addr: Some(local.ip().into()), port: local.port() };
        // A vacant socket can listen; should it not, its state tells when the segment has been handed to it.
        let _ = self.endpoints[index as usize].socket_mut().listen(listener);
        Claim::Endpoint(index)
    }

    /// Hands the frame to its connection. Returns whether data arrived.
    fn hand_to(&mut self, index: u32, window_closed: bool, now: Nanos) -> bool {
        let endpoint = &mut self.endpoints[index as usize];
        let held = endpoint.socket().recv_queue();
        endpoint.watch.window_closed = window_closed;
        endpoint.timeouts_in_row = 0;
        let (receiver, sender) = self.wire.split();
        let mut arrival = Arrival {
            frame: receiver.peek(),
            sender,
            replies: &mut self.replies,
            capabilities: &self.capabilities,
        };
        self.interface.poll_ingress_single(instant(now), &mut arrival, &mut endpoint.sockets);
        let has_grown = endpoint.socket().recv_queue() > held;
        endpoint.shown &= !has_grown;
        self.touch(index);
        has_grown
    }

    fn hand_to_nobody(&mut self, now: Nanos) {
        let (receiver, sender) = self.wire.split();
        let mut arrival = Arrival {
            frame: receiver.peek(),
            sender,
            replies: &mut self.replies,
            capabilities: &self.capabilities,
        };
        self.interface.poll_ingress_single(instant(now), &mut arrival, &mut self.nobody);
    }

    /// A neighbour may have told its hardware address.
    fn try_unresolved(&mut self) {
        let mut unresolved = std::mem::take(&mut self.unresolved);
        for index in unresolved.drain(..) {
            self.endpoints[index as usize].unresolved = false;
            self.touch(index);
        }
        self.unresolved = unresolved;
    }

    /// What a segment has changed.
    fn notice(&mut self, index: u32, has_grown: bool, events: &mut Vec<Event>) {
        let endpoint = &mut self.endpoints[index as usize];
        let state = endpoint.state();
        match endpoint.owner {
            Owner::Nobody | Owner::Backlog => {}
            Owner::HalfOpen => match state {
                State::SynReceived => {}
                State::Listen | State::Closed => self.release(index),
                _ => {
                    endpoint.owner = Owner::Backlog;
                    self.listeners.half_open -= 1;
                    if !self.listeners.push(index, endpoint.flow.local()) {
                        endpoint.socket_mut().abort();
                        self.orphan(index);
                    }
                }
            },
            Owner::Opening(conn) => match state {
                State::SynSent | State::SynReceived => {}
                State::Closed => self.tell_closed(conn, Reason::Refused, events),
                _ => {
                    endpoint.owner = Owner::User(conn);
                    self.statistics.connected += 1;
                    events.push(Event::Connected(conn));
                    self.tell(index, conn, has_grown, events);
                }
            },
            Owner::User(conn) => self.tell(index, conn, has_grown, events),
            // Nobody will read it: its sender is to know (RFC 1122 §4.2.2.13).
            Owner::Orphan if has_grown => endpoint.socket_mut().abort(),
            Owner::Orphan => {}
        }
    }

    /// Tells a user of data, of the peer's end and of a reset.
    pub(crate) fn tell(&mut self, index: u32, conn: Conn, has_grown: bool, events: &mut Vec<Event>) {
        let endpoint = &mut self.endpoints[index as usize];
        if endpoint.broken {
            return; // Why it failed is in the list of what will be told; the peer's answer to our reset is no other reason.
        }
        if has_grown && endpoint.to_skip > 0 {
            self.statistics.received_bytes += endpoint.drop_arrived();
        }
        if has_grown && endpoint.to_skip == 0 {
            self.tell_readable(index, conn, events);
        }
        let endpoint = &mut self.endpoints[index as usize];
        let is_all_seen = endpoint.shown || !endpoint.socket().can_recv();
        if endpoint.state() == State::Closed {
            if is_all_seen {
                self.tell_closed(conn, Reason::Reset, events);
            } else {
                self.break_off(index, Reason::Reset);
            }
        } else if is_all_seen && endpoint.peer_has_ended() && !std::mem::replace(&mut endpoint.told_end, true)
        {
            events.push(Event::Eof(conn));
        }
    }

    /// Asks all that may have something to send, while there is room.
    pub(crate) fn depart(&mut self, now: Nanos, events: &mut Vec<Event>) {
        self.replies.send(self.wire.split().1);
        self.blocked = false;
        let mut asking = std::mem::replace(&mut self.dirty, std::mem::take(&mut self.asking));
        for index in asking.drain(..) {
            if self.blocked {
                self.dirty.push(index);
                continue;
            }
            self.endpoints[index as usize].dirty = false;
            if self.endpoints[index as usize].owner != Owner::Nobody {
                self.send_of(index, now);
                self.settle(index, now, events);
            }
        }
        self.asking = asking;
        self.wire.split().1.flush();
    }

    /// Sends what a connection may send now.
    fn send_of(&mut self, index: u32, now: Nanos) {
        let endpoint = &mut self.endpoints[index as usize];
        let (before, is_due) = (endpoint.watch.retransmitted, endpoint.socket_due <= now);
        let (mut has_sent, mut has_asked) = (false, false);
        loop {
            match endpoint.top_up() {
                Ok(given) => self.statistics.sent_bytes += given,
                Err(bad) => return self.break_for_file(index, bad),
            }
            endpoint.end_behind_queue();
            let mut departure = Departure {
                sender: self.wire.split().1,
                watch: &mut endpoint.watch,
                capabilities: &self.capabilities,
                blocked: false,
                asked: false,
            };
            let result = self.interface.poll_egress(instant(now), &mut departure, &mut endpoint.sockets);
            has_asked |= departure.asked;
            self.blocked = departure.blocked;
            let due = self.interface.poll_at(instant(now), &endpoint.sockets);
            endpoint.socket_due =
                due.map_or(Nanos::MAX, |due| Nanos(due.total_micros().max(0) as u64 * 1000));
            if result == PollResult::None || endpoint.socket_due > now {
                break;
            }
            has_sent = true;
        }
        let retransmitted = endpoint.watch.retransmitted - before;
        self.stack.retransmitted_segments += retransmitted;
        if retransmitted > 0 && is_due {
            self.stack.retransmission_timeouts += 1;
            endpoint.timeouts_in_row += 1;
        }
        let is_unknown = has_asked || (!has_sent && !self.blocked && !endpoint.watch.has_sent());
        if is_unknown && !std::mem::replace(&mut endpoint.unresolved, true) {
            self.unresolved.push(index);
        }
    }

    /// Its peer cannot be given the rest: a reset tells it so.
    pub(crate) fn break_for_file(&mut self, index: u32, BadFile(number): BadFile) {
        self.endpoints[index as usize].socket_mut().abort();
        self.break_off(index, Reason::Other(number));
        self.touch(index);
    }

    /// What follows for a connection from what was sent.
    fn settle(&mut self, index: u32, now: Nanos, events: &mut Vec<Event>) {
        let is_blocked = self.blocked;
        if is_blocked {
            self.touch(index);
        }
        let endpoint = &mut self.endpoints[index as usize];
        if endpoint.timeouts_in_row > MAX_TIMEOUTS_IN_ROW {
            endpoint.socket_mut().abort();
            self.break_off(index, Reason::TimedOut);
            return;
        }
        match endpoint.owner {
            Owner::Opening(_) if endpoint.watch.has_sent() => endpoint.patience = Nanos::MAX,
            Owner::User(conn) if endpoint.wants_room && endpoint.queued() == 0 && !endpoint.broken => {
                endpoint.wants_room = false;
                events.push(Event::Writable(conn));
            }
            // A reset has left, or cannot.
            Owner::Orphan if endpoint.state() == State::Closed && !is_blocked => return self.release(index),
            Owner::Orphan if endpoint.state() == State::TimeWait => self.keep_waiting(index),
            _ => {}
        }
        let due = self.endpoints[index as usize].due();
        if due < Nanos::MAX {
            self.wheel.arm(index, due.max(now));
        }
    }
}
