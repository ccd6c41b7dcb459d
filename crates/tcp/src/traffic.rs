//! What passes between the wire and the connections: arrival, departure, and what they tell.

use assay_engine::{Conn, Event, Reason};
use assay_model::units::Nanos;
use assay_wire::{Receiver, Sender, Wire};

use crate::connection::options::Written;
use crate::connection::{Failure, State};
use crate::device::Arrival;
use crate::endpoint::{BadFile, Owner, Taken};
use crate::frame::Located;
use crate::neighbours::{QUESTION_INTERVAL, question};
use crate::stack::{UserStack, instant};
use crate::template::Fields;

/// Frames taken from the wire before what they caused is told: enough that what is done once a turn costs little each, few enough that
/// the peer works on the first answers while we make the next. As many as AF_XDP sends in one call.
const FRAMES_AT_ONCE: usize = 32;

impl<W: Wire> UserStack<W> {
    /// Takes frames from the wire; returns how many.
    pub(crate) fn arrive(&mut self, now: Nanos, events: &mut Vec<Event>) -> usize {
        for n in 0..FRAMES_AT_ONCE {
            let Some(frame) = self.wire.split().0.peek() else { return n };
            match &Located::find(frame, self.has_checksums) {
                Some(located) => match self.flows.get(&located.flow) {
                    Some(&index) => {
                        if let Some(segment) = located.read(frame) {
                            let taken = self.endpoints[index as usize].take(&segment, now, &mut self.counts);
                            self.follow(index, taken, located, now, events);
                        }
                    }
                    None => self.stranger_arrives(located, now, events),
                },
                None => self.other_arrives(now),
            }
            self.wire.split().0.release();
        }
        FRAMES_AT_ONCE
    }

    /// What comes of a segment that a connection was given.
    pub(crate) fn follow(
        &mut self,
        index: u32,
        taken: Taken,
        located: &Located,
        now: Nanos,
        events: &mut Vec<Event>,
    ) {
        let has_grown = match taken {
            Taken::Followed { has_grown } => has_grown,
            Taken::Strange => {
                self.refuse(located);
                false
            }
            Taken::Succeeded => {
                self.release(index);
                return self.stranger_arrives(located, now, events);
            }
        };
        self.touch(index);
        self.notice(index, has_grown, events);
        self.account(index);
    }

    /// Anything but a segment.
    fn other_arrives(&mut self, now: Nanos) {
        let Some(frame) = self.wire.split().0.peek() else { return };
        let has_learnt = self.neighbours.learn(frame, now);
        let mut arrival =
            Arrival { frame: Some(frame), replies: &mut self.replies, capabilities: &self.capabilities };
        self.interface.poll_ingress_single(instant(now), &mut arrival, &mut self.nobody);
        if has_learnt {
            for index in std::mem::take(&mut self.unresolved) {
                self.endpoints[index as usize].awaits_neighbour = false;
                self.touch(index);
            }
        }
    }

    /// What a segment has changed.
    fn notice(&mut self, index: u32, has_grown: bool, events: &mut Vec<Event>) {
        let endpoint = &mut self.endpoints[index as usize];
        let connection = &mut endpoint.connection;
        match endpoint.owner {
            Owner::User(conn) => self.tell(index, conn, has_grown, events),
            Owner::Nobody | Owner::Backlog => {}
            Owner::HalfOpen if connection.state() == State::Closed => self.release(index),
            Owner::HalfOpen if connection.is_established() => {
                endpoint.owner = Owner::Backlog;
                if !self.listeners.push(index, endpoint.flow.local()) {
                    endpoint.connection.abort();
                    self.orphan(index);
                }
            }
            Owner::Opening(conn) if connection.state() == State::Closed => {
                self.tell_closed(conn, Reason::Refused, events);
            }
            Owner::Opening(conn) if connection.is_established() => {
                endpoint.owner = Owner::User(conn);
                self.statistics.connected += 1;
                events.push(Event::Connected(conn));
                self.tell(index, conn, has_grown, events);
            }
            Owner::HalfOpen | Owner::Opening(_) => {}
            // Nobody will read it: its sender is to know (RFC 1122 §4.2.2.13).
            Owner::Orphan if has_grown => connection.abort(),
            Owner::Orphan => {}
        }
    }

    /// Tells a user of data, of the peer's end and of a failure.
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
        let is_all_seen = endpoint.connection.unseen() == 0;
        if endpoint.connection.failure().is_some() {
            if is_all_seen {
                self.tell_closed(conn, Reason::Reset, events);
            } else {
                self.break_off(index, Reason::Reset);
            }
        } else if is_all_seen
            && endpoint.connection.peer_has_ended()
            && !std::mem::replace(&mut endpoint.told_end, true)
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
        if self.endpoints[index as usize].unresolved && !self.resolve(index, now) {
            return;
        }
        let endpoint = &mut self.endpoints[index as usize];
        let sender = self.wire.split().1;
        loop {
            match endpoint.top_up() {
                Ok(given) => self.statistics.sent_bytes += given,
                Err(bad) => return self.break_for_file(index, bad),
            }
            endpoint.end_behind_queue();
            let connection = &mut endpoint.connection;
            // Not moved: wide loads would have to wait for the narrow stores that made it.
            let planned = connection.next_segment(now, self.rx_watermark.at(), &mut self.counts);
            let Some(plan) = &planned else { return };
            if !sender.room() {
                self.blocked = true;
                return;
            }
            let (options, data) = (connection.options(plan), connection.data(plan));
            let options = options.as_ref().map_or(&[][..], Written::as_slice);
            let length = endpoint.template.frame_bytes(options.len() + data.len());
            sender.send(length, |frame| endpoint.template.write(frame, &Fields::of(plan), options, data));
            connection.sent(plan, now, &mut self.counts);
            if endpoint.has_told_all() {
                return;
            }
        }
    }

    /// Looks for the peer's hardware address, and asks for it. Returns whether it is known.
    fn resolve(&mut self, index: u32, now: Nanos) -> bool {
        let endpoint = &mut self.endpoints[index as usize];
        let (local, remote) = endpoint.ends();
        if let Some(hardware) = self.neighbours.find(remote.ip(), now) {
            endpoint.template.set_peer(hardware);
            endpoint.unresolved = false;
            (endpoint.patience, endpoint.ask_at) = (Nanos::MAX, Nanos::MAX);
            return true;
        }
        endpoint.ask_at = now + QUESTION_INTERVAL;
        if !std::mem::replace(&mut endpoint.awaits_neighbour, true) {
            self.unresolved.push(index);
        }
        if self.neighbours.is_to_be_asked(remote.ip(), now)
            && let Some(frame) = question(self.config.hardware, local.ip(), remote.ip())
        {
            self.replies.keep(frame);
            self.replies.send(self.wire.split().1);
        }
        false
    }

    /// Breaks a connection whose peer cannot be given the rest: a reset tells it so.
    pub(crate) fn break_for_file(&mut self, index: u32, BadFile(number): BadFile) {
        self.endpoints[index as usize].connection.abort();
        self.break_off(index, Reason::Other(number));
        self.touch(index);
    }

    /// What follows for a connection from what was sent.
    fn settle(&mut self, index: u32, now: Nanos, events: &mut Vec<Event>) {
        if self.blocked {
            self.touch(index);
        }
        let endpoint = &mut self.endpoints[index as usize];
        if endpoint.connection.failure() == Some(Failure::TimedOut) {
            self.break_off(index, Reason::TimedOut);
        }
        let endpoint = &mut self.endpoints[index as usize];
        match endpoint.owner {
            Owner::User(conn) if endpoint.wants_room && endpoint.queued() == 0 && !endpoint.broken => {
                endpoint.wants_room = false;
                events.push(Event::Writable(conn));
            }
            Owner::Orphan if endpoint.connection.is_over() => return self.release(index),
            Owner::Orphan if endpoint.connection.state() == State::TimeWait => self.keep_waiting(index),
            _ => {}
        }
        let due = self.endpoints[index as usize].due();
        if due < Nanos::MAX {
            self.wheel.arm(index, due.max(now));
        }
        self.account(index);
    }
}
