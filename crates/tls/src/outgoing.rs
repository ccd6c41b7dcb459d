//! What leaves: plaintext becomes records, records go to the engine beneath, and what that has no room for waits.

use assay_engine::{Conn, Engine, Event, FileRange, Reason, SEND_QUEUE_BYTES};

use crate::engine::Tls;

/// Bytes of a file that are read and made into records at once.
const FILE_BYTES_AT_ONCE: usize = 64 * 1024;

impl<E: Engine> Tls<E> {
    pub(crate) fn send_parts(&mut self, conn: Conn, parts: &[&[u8]]) -> usize {
        let total = parts.iter().map(|part| part.len()).sum();
        let in_stack = self.inner.queued(conn);
        if self.table.knows(conn) && self.table.get(conn).is_none() {
            return 0;
        }
        let Some(session) = self.table.get_mut(conn).filter(|session| !session.broken) else { return total };
        let is_idle = in_stack + session.outgoing.queued() == 0;
        let room = SEND_QUEUE_BYTES.saturating_sub(session.outgoing.backlog_len());
        let is_blocked = session.security.is_none() || session.outgoing.file.is_some();
        if is_blocked || (!is_idle && total > room) {
            return 0;
        }
        let accepted = if total <= SEND_QUEUE_BYTES {
            session.encrypt(parts);
            self.flush(conn);
            total
        } else {
            self.send_by_pieces(conn, parts)
        };
        self.stats.sent_bytes += accepted as u64;
        accepted
    }

    /// Sends more than may be queued, as long as the stack takes it.
    fn send_by_pieces(&mut self, conn: Conn, parts: &[&[u8]]) -> usize {
        let mut accepted = 0;
        for piece in parts.iter().flat_map(|part| part.chunks(SEND_QUEUE_BYTES)) {
            let Some(session) = self.table.get_mut(conn) else { break };
            session.encrypt(&[piece]);
            self.flush(conn);
            accepted += piece.len();
            if self.queued(conn) > 0 {
                break;
            }
        }
        accepted
    }

    pub(crate) fn send_parts_and_file(&mut self, conn: Conn, parts: &[&[u8]], range: FileRange) -> bool {
        if self.queued(conn) > 0 {
            return false;
        }
        let Some(session) = self.table.get_mut(conn).filter(|session| !session.broken) else { return true };
        session.encrypt(parts);
        session.outgoing.file = Some(range).filter(|range| range.len > 0);
        self.stats.sent_bytes += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        if self.move_file(conn) {
            self.flush(conn);
        }
        true
    }

    /// Makes records of the file as long as the stack takes them; returns whether the connection lives on. The kernel
    /// cannot do it, as the bytes have to be encrypted.
    fn move_file(&mut self, conn: Conn) -> bool {
        loop {
            let Self { table, scratch, .. } = self;
            let Some(session) = table.get_mut(conn) else { return false };
            let Some(range) = session.outgoing.file.as_mut() else { return true };
            scratch.clear();
            if let Err(error) = range.copy_onto(scratch, FILE_BYTES_AT_ONCE) {
                self.break_off_file(conn, Reason::Other(error.raw_os_error()));
                return false;
            }
            if range.len == 0 {
                session.outgoing.file = None;
            }
            session.encrypt(&[scratch]);
            self.stats.sent_bytes += scratch.len() as u64;
            self.flush(conn);
            let is_stuck = self.table.get(conn).is_some_and(|session| session.outgoing.backlog_len() > 0);
            if is_stuck || self.inner.queued(conn) > 0 {
                return true;
            }
        }
    }

    /// A file that cannot be sent to its end must not look as if it had been: the connection is reset.
    fn break_off_file(&mut self, conn: Conn, reason: Reason) {
        self.inner.abort(conn);
        if let Some(session) = self.table.get_mut(conn) {
            session.broken = true;
            session.outgoing = Default::default();
        }
        self.pending.push(Event::Closed(conn, reason));
    }

    /// The stack has room again. It tells so only after it has queued or refused something, and our user waits to hear it.
    pub(crate) fn drained(&mut self, conn: Conn, events: &mut Vec<Event>) {
        if !self.flush_backlog(conn) || !self.move_file(conn) || self.queued(conn) > 0 {
            return;
        }
        let Some(session) = self.table.get_mut(conn) else { return };
        let is_known = session.security.is_some();
        if std::mem::take(&mut session.outgoing.ends_when_drained) {
            self.end_sending(conn);
        }
        if is_known {
            events.push(Event::Writable(conn));
        }
    }

    /// Ends our direction: everything has been given to the stack.
    pub(crate) fn end_sending(&mut self, conn: Conn) {
        let Some(session) = self.table.get_mut(conn) else { return };
        session.say_end();
        self.flush(conn);
        match self.table.get_mut(conn).map(|session| &mut session.outgoing) {
            Some(outgoing) if outgoing.backlog_len() > 0 => outgoing.ends_when_drained = true,
            _ => self.inner.shutdown(conn),
        }
    }

    /// Gives the records that are ready to the stack.
    #[inline]
    pub(crate) fn flush(&mut self, conn: Conn) {
        let Self { inner, table, .. } = self;
        if let Some(session) = table.get_mut(conn) {
            session.flush(|parts| inner.send(conn, parts));
        }
    }

    /// Gives what the stack had no room for to it; returns whether nothing is left of it.
    pub(crate) fn flush_backlog(&mut self, conn: Conn) -> bool {
        let Self { inner, table, .. } = self;
        table.get_mut(conn).is_some_and(|session| session.flush_backlog(|parts| inner.send(conn, parts)))
    }

    /// Sees to it that the records that are ready leave with the next poll.
    pub(crate) fn flush_later(&mut self, conn: Conn) {
        if let Some(session) = self.table.get_mut(conn)
            && session.has_records()
            && !std::mem::replace(&mut session.outgoing.unflushed, true)
        {
            self.unflushed.push(conn);
        }
    }

    /// Gives the records that were to wait for a poll to the stack, unless a send took them along.
    pub(crate) fn flush_all(&mut self) {
        let mut unflushed = std::mem::take(&mut self.unflushed);
        for conn in unflushed.drain(..) {
            if self.table.get(conn).is_some_and(|session| session.outgoing.unflushed) {
                self.flush(conn);
            }
        }
        self.unflushed = unflushed;
    }
}
