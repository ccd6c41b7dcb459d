//! What arrives: multishot receives, the views that users see, and bytes that nobody wants to see.

use io_uring::{cqueue, opcode, squeue};
use rustix::io::Errno;

use super::buffers::{Buffers, GROUP};
use super::connection::{Phase, UringConnection};
use super::request::{Request, file, outcome, pack};
use super::ring::Completion;
use super::{Uring, keep_spare};
use crate::{Conn, Event, RECEIVE_VIEW_BYTES, sockets};

/// Receives after a skip that end with the first bytes. Who skips once will do so again, right behind the next head; by
/// then no receive should be with the kernel that would have to be cancelled first.
const SINGLE_RECEIVES: u8 = 4;
/// Bytes that one request skips at most.
const SKIP_AT_ONCE: u64 = 1 << 30;

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
        if c.receiving.is_none() {
            self.unasked.push(conn);
        }
    }

    /// Drops the next `n` bytes: what is held of them now, the rest as it arrives.
    pub(super) fn drop_next(&mut self, conn: Conn, n: u64) {
        let Some(c) = self.connections.get_mut(conn) else { return };
        c.to_skip = c.to_skip.saturating_add(n);
        c.drop_held(&mut self.buffers);
        if c.stashed() == 0 {
            c.stash_start = 0;
            keep_spare(&mut self.spare, std::mem::take(&mut c.stash));
        }
        c.single_receives = SINGLE_RECEIVES;
        if c.to_skip == 0 {
            self.pending.push(Event::Readable(conn));
        } else if c.receiving == Some(Request::Receive) && !self.cannot_skip {
            // Only when it has ended is it certain how many bytes are left to skip.
            self.cancel_receive(conn);
        } else if c.receiving.is_none() {
            self.unasked.push(conn);
        }
    }

    /// Asks for what arrives on connections whose last request for it has ended.
    pub(super) fn ask_again(&mut self) {
        let mut unasked = std::mem::take(&mut self.unasked);
        for conn in unasked.drain(..) {
            if self.connections.get(conn).is_some_and(UringConnection::has_room) {
                self.ask(conn);
            }
        }
        self.unasked = unasked;
    }

    /// Asks for what arrives on the connection, unless it is asked for already.
    pub(super) fn ask(&mut self, conn: Conn) {
        let Some(c) = self.connections.get_mut(conn) else { return };
        if c.phase != Phase::Open || c.receiving.is_some() || c.peer_ended {
            return;
        }
        let (entry, request) = if c.to_skip > 0 && !self.cannot_skip {
            (skip_entry(conn, c.to_skip), Request::Skip)
        } else if c.single_receives > 0 {
            c.single_receives -= 1;
            (single_receive_entry(conn), Request::Receive)
        } else {
            (opcode::RecvMulti::new(file(conn), GROUP).build(), Request::Receive)
        };
        c.receiving = Some(request);
        self.push(entry, request, conn);
    }

    pub(super) fn received(&mut self, conn: Conn, completion: Completion, events: &mut Vec<Event>) {
        let buffer = cqueue::buffer_select(completion.flags);
        let Some(c) = self.connections.get_mut(conn) else {
            // The connection was released while this was on its way.
            return buffer.map_or((), |id| self.buffers.give_back(id));
        };
        if !cqueue::more(completion.flags) {
            c.receiving = None;
            self.unasked.push(conn);
        }
        match outcome(completion.result) {
            Ok(0) => {
                c.peer_ended = true;
                events.push(Event::Eof(conn));
                if let Some(id) = buffer {
                    self.buffers.give_back(id);
                }
            }
            Ok(n) => {
                self.stats.received_bytes += u64::from(n);
                if let Some(id) = buffer {
                    self.buffers.append(&mut c.chain, id, n as usize);
                }
                if !std::mem::replace(&mut c.held, true) {
                    self.held.push(conn);
                }
                c.drop_held(&mut self.buffers);
                if c.to_skip == 0 {
                    events.push(Event::Readable(conn));
                }
            }
            // Buffers ran out, or we asked for a rest: asked for again when there is room.
            Err(Errno::NOBUFS | Errno::CANCELED | Errno::INTR) => {}
            Err(error) => self.break_off(conn, sockets::reason(error)),
        }
    }

    pub(super) fn skipped(&mut self, conn: Conn, result: i32, events: &mut Vec<Event>) {
        let Some(c) = self.connections.get_mut(conn) else { return };
        c.receiving = None;
        self.unasked.push(conn);
        match outcome(result) {
            Ok(0) => {
                c.peer_ended = true;
                events.push(Event::Eof(conn));
            }
            Ok(n) => {
                self.stats.received_bytes += u64::from(n);
                c.to_skip = c.to_skip.saturating_sub(n.into());
                if c.to_skip == 0 {
                    events.push(Event::Readable(conn));
                }
            }
            Err(Errno::AGAIN | Errno::CANCELED | Errno::INTR) => {}
            Err(Errno::INVAL | Errno::FAULT | Errno::OPNOTSUPP) => self.cannot_skip = true,
            Err(error) => self.break_off(conn, sockets::reason(error)),
        }
    }

    /// Moves what its users left in the kernel's buffers aside, so that the kernel always has all of them.
    pub(super) fn release_buffers(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        for conn in held.drain(..) {
            let Some(c) = self.connections.get_mut(conn) else { continue };
            c.held = false;
            stash(c, &mut self.buffers, &mut self.spare);
            if !c.has_room() && c.receiving.is_some() {
                // Its user does not keep up: let TCP slow the peer down.
                self.cancel_receive(conn);
            }
        }
        self.held = held;
    }

    fn cancel_receive(&mut self, conn: Conn) {
        let cancel = opcode::AsyncCancel::new(pack(Request::Receive, conn)).build();
        self.push(cancel, Request::Silent, conn);
    }
}

/// A receive of what there is, or else of the next that arrives, into one buffer.
fn single_receive_entry(conn: Conn) -> squeue::Entry {
    let whole_buffer = opcode::Recv::new(file(conn), std::ptr::null_mut(), 0).buf_group(GROUP);
    whole_buffer.build().flags(squeue::Flags::BUFFER_SELECT)
}

/// A receive that drops up to `left` bytes without touching memory (tcp(7), MSG_TRUNC). Not all of them at once with
/// MSG_WAITALL: the kernel would begin each attempt with the whole length again, and drop too many.
fn skip_entry(conn: Conn, left: u64) -> squeue::Entry {
    let len = left.min(SKIP_AT_ONCE) as u32;
    opcode::Recv::new(file(conn), std::ptr::null_mut(), len).flags(libc::MSG_TRUNC).build()
}

/// Moves everything a connection holds in the kernel's buffers behind what it has stashed.
fn stash(c: &mut UringConnection, buffers: &mut Buffers, spare: &mut Vec<Vec<u8>>) {
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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpStream};

    use crate::{Config, Engine, Event, Uring, clock};
    use assay_model::units::Nanos;

    #[test]
    fn a_kernel_that_does_not_skip_is_helped_out() {
        let Ok(mut engine) = Uring::new(Config { max_connections: 1 }) else {
            return assay_skip::skip("uring", "no io_uring here");
        };
        engine.cannot_skip = true;
        let mut peer = TcpStream::connect(engine.listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap()).unwrap();
        let deadline = clock::now() + Nanos::from_millis(10_000);
        let (mut events, mut seen) = (Vec::new(), Vec::new());
        while seen != b"seen" && engine.poll(deadline, &mut events).unwrap() < deadline {
            for &event in &events {
                match event {
                    Event::Accepted(conn) => {
                        engine.skip(conn, 100_000);
                        peer.write_all(&[&[0; 100_000], &b"seen"[..]].concat()).unwrap();
                    }
                    Event::Readable(conn) if engine.skipping(conn) == 0 => {
                        seen = engine.receive(conn).to_vec();
                    }
                    _ => {}
                }
            }
        }
        assert_eq!(seen, b"seen");
        assert_eq!(engine.statistics().received_bytes, 100_004);
    }
}
