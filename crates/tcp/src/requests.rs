//! Segments of no connection: requests for one, what goes on with a handshake that was forgotten, and what is refused.

use std::net::IpAddr;

use assay_engine::Event;
use assay_model::units::Nanos;
use assay_wire::{Receiver as _, Wire};

use crate::address::is_unicast;
use crate::connection::options::Written;
use crate::connection::{Connection, Segment, flag};
use crate::endpoint::{Endpoint, Owner};
use crate::frame::Located;
use crate::stack::UserStack;
use crate::template::{Fields, Template};

impl<W: Wire> UserStack<W> {
    /// A segment of no connection: a request for one, the end of a handshake that was forgotten, or to be refused.
    pub(crate) fn stranger_arrives(&mut self, located: &Located, now: Nanos, events: &mut Vec<Event>) {
        let local = located.flow.local();
        let is_ours = self.config.addresses.iter().any(|cidr| cidr.address == local.ip());
        // RFC 1122 §4.2.3.10: nobody can be answered at the address of a group.
        if !is_ours || !is_host(located.flow.remote().ip()) {
            return;
        }
        let is_request = located.is_request();
        let may_go_on = located.is_answer() && self.cookies.may_recall(now);
        if !(is_request || may_go_on) || !self.listeners.include(local) {
            return self.refuse(located);
        }
        if self.listeners.is_behind(local) || self.memory.is_short() {
            self.stack.dropped_requests += 1;
        } else if is_request {
            self.begin(located, now);
        } else {
            self.go_on(located, now, events);
        }
    }

    /// A handshake begins.
    fn begin(&mut self, located: &Located, now: Nanos) {
        let shape = self.shape(located.flow.local().ip());
        let Some(frame) = self.wire.split().0.peek() else { return };
        let (Some(syn), Some(peer)) = (located.read(frame), sender_of(frame)) else { return };
        let number = self.cookies.give(&located.flow, &syn, shape.segment_bytes, now);
        let connection = Connection::accept(&shape, number, &syn, now);
        self.keep_handshake(located, connection, peer, now);
    }

    /// A handshake goes on that was forgotten, unless its segment acknowledges none. That is not refused: it may be the second segment
    /// of somebody whose first was lost.
    fn go_on(&mut self, located: &Located, now: Nanos, events: &mut Vec<Event>) {
        let shape = self.shape(located.flow.local().ip());
        let Some(frame) = self.wire.split().0.peek() else { return };
        let (Some(answer), Some(peer)) = (located.read(frame), sender_of(frame)) else { return };
        let recalled = self.cookies.recall(&located.flow, &answer, shape.segment_bytes, now);
        let Some(offer) = recalled else { return };
        let offered = Written::offer(&offer);
        let syn = Segment {
            sequence: answer.sequence - 1,
            flags: flag::SYN,
            options: offered.as_slice(),
            data: &[],
            ..answer
        };
        let connection = Connection::recall(&shape, answer.acknowledgement - 1, &syn, now);
        let index = self.keep_handshake(located, connection, peer, now);
        self.stack.recalled_handshakes += 1;
        let Some(frame) = self.wire.split().0.peek() else { return };
        if let Some(answer) = located.read(frame) {
            let taken = self.endpoints[index as usize].take(&answer, now, &mut self.counts);
            self.follow(index, taken, located, now, events);
        }
    }

    /// Gives a handshake a place; an old one is forgotten.
    fn keep_handshake(
        &mut self,
        located: &Located,
        connection: Connection,
        peer: [u8; 6],
        now: Nanos,
    ) -> u32 {
        let template = Template::new(self.config.hardware, peer, &located.flow, self.has_checksums);
        let index = self.occupy(Endpoint::new(located.flow, Owner::HalfOpen, connection, template));
        self.touch(index);
        let old = self.handshakes.push(index, self.endpoints[index as usize].serial);
        if let Some((old, serial)) = old
            && self.endpoints[old as usize].is_handshake(serial)
        {
            self.release(old);
            self.cookies.forget(now);
            self.stack.forgotten_handshakes += 1;
        }
        index
    }

    /// RFC 9293 §3.5.2: a reset, never for a reset, and only for what was meant for us.
    pub(crate) fn refuse(&mut self, located: &Located) {
        if located.has(flag::RST) {
            return;
        }
        let Some(frame) = self.wire.split().0.peek() else { return };
        let (Some(segment), Some(peer)) = (located.read(frame), sender_of(frame)) else { return };
        if frame.get(..6) != Some(&self.config.hardware[..]) {
            return;
        }
        let fields = if located.has(flag::ACK) {
            Fields { sequence: segment.acknowledgement.0, flags: flag::RST, ..Fields::default() }
        } else {
            let acknowledgement = (segment.sequence + segment.length()).0;
            Fields { acknowledgement, flags: flag::RST | flag::ACK, ..Fields::default() }
        };
        let template = Template::new(self.config.hardware, peer, &located.flow, self.has_checksums);
        let mut reset = vec![0; template.frame_bytes(0)];
        template.write(&mut reset, &fields, &[], &[]);
        self.replies.keep(reset);
    }
}

/// Whether it can be the address of a single other machine.
fn is_host(ip: IpAddr) -> bool {
    let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !(ip.is_multicast() || ip.is_unspecified() || ip.is_loopback() || is_broadcast)
}

/// The hardware address from which a frame came, if it can be answered.
fn sender_of(frame: &[u8]) -> Option<[u8; 6]> {
    frame.get(6..12)?.first_chunk().copied().filter(|&hardware| is_unicast(hardware))
}
