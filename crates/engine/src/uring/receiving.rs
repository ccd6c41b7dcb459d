//! What arrives: multishot receives, the views that users see, and bytes that nobody wants to see.

use io_uring::{cqueue, opcode};
use rustix::io::Errno;

use super::buffers::{Buffers, GROUP};
use super::connection::{Connection, Phase};
use super::request::{Request, file, outcome, pack};
use super::ring::Completion;
use super::{Uring, keep_spare};
use crate::{Conn, Event, RECEIVE_VIEW_BYTES, sockets};

impl Uring {
    /// What the user sees: the oldest buffer, or everything moved together when one is not enough.
    pub(super) fn view(&mut self, conn: Conn) -> &[u8] {
        let Some(c) = self.connections.get_mut(conn) else { return &[] };
        if c.stashed() == 0 && !(c.shown && self.buffers.has_more(c.chain)) {
            c.shown = !c.chain.is_empty();
            return self.buffers.front(c.chain);
        }
        stash(c, &mut self.buffers, &mut self.spare);
        let view = &c.stash[c.stash_start..];
        &view[..view.len().min(RECEIVE_VIEW_BYTES)]
    }

    /// Drops the first `n` bytes of the view.
    pub(super) fn consume_view(&mut self, conn: Conn, n: usize) {
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

    /// Asks for everything that arrives on the connection, until told otherwise.
    pub(super) fn arm_receive(&mut self, conn: Conn) {
        if let Some(c) = self.connections.get_mut(conn)
            && c.phase == Phase::Open
            && !c.receiving
            && !c.peer_ended
        {
            c.receiving = true;
            self.push(opcode::RecvMulti::new(file(conn), GROUP).build(), Request::Receive, conn);
        }
    }

    pub(super) fn received(&mut self, conn: Conn, completion: Completion, events: &mut Vec<Event>) {
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

    /// Moves what its users left in the kernel's buffers aside, so that the kernel always has all of them.
    pub(super) fn release_buffers(&mut self) {
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
