//! What leaves: queues that are sent with the next enter, and what becomes of those that did not fit.

use io_uring::opcode;
use rustix::io::Errno;

use super::connection::{Phase, SEND_AT_ONCE};
use super::request::{Request, file, outcome, send_entry};
use super::{Uring, keep_spare};
use crate::{Conn, Event, SEND_QUEUE_BYTES, sockets};

impl Uring {
    /// Takes what there is room for; it leaves with the next enter.
    pub(super) fn enqueue(&mut self, conn: Conn, parts: &[&[u8]]) -> usize {
        let total: usize = parts.iter().map(|p| p.len()).sum();
        let Some(c) = self.connections.get_mut(conn).filter(|c| c.phase != Phase::Broken) else {
            return total;
        };
        let limit = if c.blocked { SEND_QUEUE_BYTES } else { SEND_AT_ONCE };
        let room = if c.file.is_some() { 0 } else { limit.saturating_sub(c.queued()) };
        let accepted = total.min(room);
        c.provide_queue(&mut self.spare);
        let mut left = accepted;
        for part in parts {
            let n = left.min(part.len());
            c.queue.extend_from_slice(&part[..n]);
            left -= n;
        }
        c.owes_writable |= accepted < total || c.is_full();
        self.mark_dirty(conn);
        accepted
    }

    /// Ends our direction, after the queue.
    pub(super) fn end_after_queue(&mut self, conn: Conn) {
        let Some(c) = self.connections.get_mut(conn) else { return };
        if c.unsent() > 0 || c.phase == Phase::Connecting {
            c.ends_when_drained = true;
        } else {
            self.end_sending(conn);
        }
    }

    /// Queues a send for every connection with something to say; returns their names.
    pub(super) fn submit_sends(&mut self) -> Vec<Conn> {
        let dirty = std::mem::take(&mut self.dirty);
        for &conn in &dirty {
            self.transfer(conn);
            self.refill(conn);
            let Some(c) = self.connections.get_mut(conn) else { continue };
            c.dirty = false;
            if c.blocked || c.phase != Phase::Open {
                continue;
            }
            c.in_flight = true;
            // Success is silent, and someone waits for it: do not sleep on it.
            self.settle_at_once |= c.owes_writable || c.ends_when_drained;
            if c.queued() > 0 {
                let entry = send_entry(conn, &c.queue[c.queue_sent..]);
                self.push(entry, Request::Send, conn);
            }
        }
        dirty
    }

    /// After an enter: what was not reported as failed has left.
    pub(super) fn settle_sends(&mut self, mut submitted: Vec<Conn>, events: &mut Vec<Event>) {
        self.farewells.clear();
        self.peers.clear();
        for conn in submitted.drain(..) {
            let Some(c) = self.connections.get_mut(conn) else { continue };
            if !std::mem::take(&mut c.in_flight) {
                continue;
            }
            self.stats.sent_bytes += c.queued() as u64;
            c.queue_sent = 0;
            keep_spare(&mut self.spare, std::mem::take(&mut c.queue));
            if c.file.is_some() {
                self.mark_dirty(conn);
                self.settle_at_once = true;
                continue;
            }
            if std::mem::take(&mut c.owes_writable) {
                events.push(Event::Writable(conn));
            }
            if std::mem::take(&mut c.ends_when_drained) {
                self.end_sending(conn);
            }
        }
        // Keeps the list's memory, unless the user has begun another one meanwhile.
        if self.dirty.is_empty() {
            self.dirty = submitted;
        }
    }

    /// A send that did not take everything: the rest waits for room.
    pub(super) fn sent_in_part(&mut self, conn: Conn, result: i32) {
        let Some(c) = self.connections.get_mut(conn) else { return };
        c.in_flight = false;
        match outcome(result) {
            Ok(n) => {
                c.queue_sent += n as usize;
                self.stats.sent_bytes += u64::from(n);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return self.break_off(conn, sockets::send_reason(error)),
        }
        self.wait_for_room(conn);
    }

    /// What is left of the queue leaves when there is room for it.
    pub(super) fn wait_for_room(&mut self, conn: Conn) {
        let Some(c) = self.connections.get_mut(conn) else { return };
        c.blocked = true;
        c.owes_writable = true;
        let room = opcode::PollAdd::new(file(conn), libc::POLLOUT as u32).build();
        self.push(room, Request::Room, conn);
    }

    pub(super) fn mark_dirty(&mut self, conn: Conn) {
        if let Some(c) = self.connections.get_mut(conn)
            && c.phase == Phase::Open
            && !c.blocked
            && !std::mem::replace(&mut c.dirty, true)
        {
            self.dirty.push(conn);
        }
    }

    pub(super) fn end_sending(&mut self, conn: Conn) {
        self.push(opcode::Shutdown::new(file(conn), libc::SHUT_WR).build(), Request::Silent, conn);
    }
}
