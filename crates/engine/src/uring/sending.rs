//! What leaves: queues that are sent with the next enter, and what becomes of those that did not fit.

use assay_model::units::Nanos;
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

    /// Queues a send for every connection with something to say; returns their names. Where these are more than the ring holds, what
    /// it holds leaves before the next is queued, and has the time of the call that took it.
    pub(super) fn submit_sends(&mut self) -> Vec<Conn> {
        let dirty = std::mem::take(&mut self.dirty);
        self.ring.take_submitted_early();
        self.submitted_in_parts = false;
        let mut left = 0;
        for (index, &conn) in dirty.iter().enumerate() {
            self.submit_send(conn);
            if let Some(at) = self.ring.take_submitted_early() {
                self.note_submitted_early(&dirty[left..index], at);
                left = index;
            }
        }
        dirty
    }

    fn submit_send(&mut self, conn: Conn) {
        self.transfer(conn);
        self.refill(conn);
        let Some(c) = self.connections.get_mut(conn) else { return };
        c.dirty = false;
        c.submitted_early_at = None;
        if c.blocked || c.phase != Phase::Open {
            return;
        }
        c.in_flight = true;
        // Success is silent, and someone waits for it: do not sleep on it.
        self.settle_at_once |= c.owes_writable || c.ends_when_drained;
        if c.queued() > 0 {
            let entry = send_entry(conn, &c.queue[c.queue_sent..]);
            self.push(entry, Request::Send, conn);
        }
    }

    #[cold]
    fn note_submitted_early(&mut self, conns: &[Conn], at: Nanos) {
        self.submitted_in_parts = true;
        for &conn in conns {
            if let Some(c) = self.connections.get_mut(conn) {
                c.submitted_early_at = Some(at);
            }
        }
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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpStream};

    use rustix::net::sockopt::set_socket_recv_buffer_size;

    use super::super::ring::Queues;
    use super::*;
    use crate::{Config, Engine, clock};

    /// Connections, several times as many as the queues hold.
    const CONNECTIONS: usize = 48;
    const QUEUES: Queues = Queues { submissions: 8, completions: 16 };

    /// An engine with small queues, its connections, and the other ends of them.
    fn crowded() -> Option<(Uring, Vec<Conn>, Vec<TcpStream>)> {
        let Ok(mut engine) = Uring::with_queues(Config { max_connections: CONNECTIONS }, QUEUES) else {
            assay_skip::skip("uring", "no io_uring here");
            return None;
        };
        let address = engine.listen((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let peers: Vec<_> = (0..CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
        let deadline = clock::now() + Nanos::from_millis(10_000);
        let (mut conns, mut events) = (Vec::new(), Vec::new());
        while conns.len() < CONNECTIONS && engine.poll(deadline, &mut events).unwrap() < deadline {
            conns.extend(events.iter().filter_map(|event| match event {
                Event::Accepted(conn) => Some(*conn),
                _ => None,
            }));
        }
        Some((engine, conns, peers))
    }

    #[test]
    fn what_leaves_before_the_rest_has_a_time_of_its_own() {
        let Some((mut engine, conns, _peers)) = crowded() else { return };
        conns.iter().for_each(|&conn| assert_eq!(engine.send(conn, &[b"request"]), 7));
        let before = clock::now();
        engine.poll(Nanos::ZERO, &mut Vec::new()).unwrap();
        let after = clock::now();
        let times: Vec<_> = conns.iter().map(|&conn| engine.submitted_at(conn).unwrap()).collect();
        assert!(times.is_sorted() && before < times[0] && times[CONNECTIONS - 1] < after, "{times:?}");
        let calls = times.chunk_by(|one, other| one == other).map(<[_]>::len);
        assert!(
            calls.clone().all(|sends| sends <= QUEUES.submissions as usize),
            "{:?}",
            calls.collect::<Vec<_>>()
        );
        assert_eq!(engine.send(conns[0], &[b"another"]), 7);
        engine.poll(Nanos::ZERO, &mut Vec::new()).unwrap();
        assert!(engine.submitted_at(conns[0]).unwrap() > after, "a later call has a later time");
    }

    #[test]
    fn what_did_not_leave_is_known_though_completions_overflow() {
        let Some((mut engine, conns, peers)) = crowded() else { return };
        // Their peers do not read until all socket buffers are full.
        peers.iter().for_each(|peer| set_socket_recv_buffer_size(peer, 4096).unwrap());
        let bytes = vec![b'x'; SEND_AT_ONCE];
        let mut sent = vec![0; CONNECTIONS];
        let mut events = Vec::new();
        for _ in 0..64 {
            for (sent, &conn) in sent.iter_mut().zip(&conns) {
                *sent += engine.send(conn, &[&bytes]);
            }
            engine.poll(Nanos::ZERO, &mut events).unwrap();
            if conns.iter().all(|&conn| engine.queued(conn) > 0) {
                break;
            }
        }
        assert!(conns.iter().all(|&conn| engine.queued(conn) > 0), "each waits for room");
        let queued: u64 = conns.iter().map(|&conn| engine.queued(conn)).sum();
        let accepted = sent.iter().sum::<usize>() as u64;
        assert_eq!(engine.statistics().sent_bytes + queued, accepted, "what has left and what has not");
    }
}
