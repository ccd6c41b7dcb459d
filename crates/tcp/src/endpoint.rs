//! One connection of a user's: its TCP, its frames, and what its TCP has no room for.

use std::net::SocketAddr;
use std::os::unix::fs::FileExt;

use assay_engine::{Conn, FileRange, SEND_QUEUE_BYTES};
use assay_model::units::Nanos;

use crate::connection::bytes::Bytes;
use crate::connection::{Connection, Counts, Segment, Verdict, flag};
use crate::flow::Flow;
use crate::template::Template;

/// Whom a connection belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Nobody: the place is free.
    Nobody,
    /// A listener: its handshake is under way.
    HalfOpen,
    /// A listener: nobody has taken it yet.
    Backlog,
    /// A user who waits for it to be established.
    Opening(Conn),
    /// A user.
    User(Conn),
    /// A user who has closed it: it ends by itself.
    Orphan,
}

/// What became of a segment for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The connection took it; there may be more to see for its user.
    Followed { has_grown: bool },
    /// The segment is to be answered with a reset.
    Strange,
    /// The segment asks for a new connection, which may take the place of this one in TIME-WAIT (RFC 9293 §3.10.7.4, first check of SYN).
    Succeeded,
}

/// Why a file could not be sent to its end: errno(3).
pub(crate) struct BadFile(pub(crate) i32);

/// A place for a connection. It is used again.
pub(crate) struct Endpoint {
    pub(crate) connection: Connection,
    pub(crate) template: Template,
    pub(crate) flow: Flow,
    pub(crate) owner: Owner,
    /// Our port is from [`crate::ports::Ports`].
    pub(crate) borrowed_port: bool,
    /// Counts the connections that were here, so that an old name is recognised.
    pub(crate) serial: u32,
    /// The connection is in the list of those that may have something to send.
    pub(crate) dirty: bool,
    /// The turn in which [`assay_engine::Event::Readable`] was last told.
    pub(crate) told_readable: u64,
    /// The end was told.
    pub(crate) told_end: bool,
    /// The user's view was full when there was more.
    pub(crate) starved: bool,
    /// The connection failed: [`assay_engine::Event::Closed`] is on its way.
    pub(crate) broken: bool,
    /// The connection is kept in TIME-WAIT.
    pub(crate) waits: bool,
    /// The peer's hardware address is not known yet.
    pub(crate) unresolved: bool,
    /// The connection is in the list of those that wait for a hardware address.
    pub(crate) awaits_neighbour: bool,
    /// When it is asked for again.
    pub(crate) ask_at: Nanos,
    /// Our direction ends behind the queue.
    pub(crate) ending: bool,
    /// Bytes were queued or refused: the user waits for [`assay_engine::Event::Writable`].
    pub(crate) wants_room: bool,
    /// When our own patience is over: with a neighbour that does not answer, with an orphan.
    pub(crate) patience: Nanos,
    pub(crate) to_skip: u64,
    /// Memory that it was last found to hold.
    pub(crate) held_bytes: usize,
    /// Accepted bytes that the connection has no room for.
    queue: Bytes,
    file: Option<FileRange>,
}

impl Endpoint {
    /// A place with a connection.
    pub(crate) fn new(flow: Flow, owner: Owner, connection: Connection, template: Template) -> Self {
        Self {
            connection,
            template,
            flow,
            owner,
            borrowed_port: false,
            serial: 0,
            dirty: false,
            told_readable: 0,
            told_end: false,
            starved: false,
            broken: false,
            waits: false,
            unresolved: false,
            awaits_neighbour: false,
            ask_at: Nanos::MAX,
            ending: false,
            wants_room: false,
            patience: Nanos::MAX,
            to_skip: 0,
            held_bytes: 0,
            queue: Bytes::default(),
            file: None,
        }
    }

    /// Takes the place for another connection.
    pub(crate) fn occupy(&mut self, other: Self) {
        let Self { serial, dirty, awaits_neighbour, .. } = *self;
        *self = Self { serial, dirty, awaits_neighbour, ..other };
    }

    /// Leaves the place; what it held in memory is given back.
    pub(crate) fn vacate(&mut self) {
        self.owner = Owner::Nobody;
        self.serial = self.serial.wrapping_add(1);
        (self.queue, self.file) = (Bytes::default(), None);
        self.connection.vacate();
    }

    /// Whether it is the handshake with this serial, still under way.
    pub(crate) fn is_handshake(&self, serial: u32) -> bool {
        self.owner == Owner::HalfOpen && self.serial == serial
    }

    /// Resets it and drops what it holds.
    pub(crate) fn give_up(&mut self) {
        (self.queue, self.file) = (Bytes::default(), None);
        self.connection.abort();
        self.connection.discard();
    }

    /// Memory that it holds besides its place.
    #[inline]
    pub(crate) fn heap_bytes(&self) -> usize {
        self.queue.capacity() + self.connection.heap_bytes()
    }

    /// Gives its connection a segment.
    #[inline]
    pub(crate) fn take(&mut self, segment: &Segment<'_>, now: Nanos, counts: &mut Counts) -> Taken {
        if self.waits && flag::is_request(segment.flags) {
            return Taken::Succeeded;
        }
        let unseen = self.connection.unseen();
        match self.connection.segment_arrives(segment, now, counts) {
            Verdict::Taken => Taken::Followed { has_grown: self.connection.unseen() > unseen },
            Verdict::Strange => Taken::Strange,
        }
    }

    /// When something has to happen for it, whether the peer is heard or not.
    pub(crate) fn due(&self) -> Nanos {
        self.connection.due().min(self.patience).min(self.ask_at)
    }

    /// Prepares the view. Returns how many bytes in it are new.
    pub(crate) fn prepare_view(&mut self) -> u64 {
        let fresh = self.connection.show() as u64;
        self.starved = self.connection.unseen() > 0;
        fresh
    }

    /// Drops the first `n` bytes of the view.
    pub(crate) fn consume(&mut self, n: usize) {
        self.connection.consume(n);
    }

    /// Drops `n` bytes of the stream, those that are here at once. Returns how many of them nobody had seen.
    pub(crate) fn skip(&mut self, n: u64) -> u64 {
        self.starved = false;
        self.to_skip = self.to_skip.saturating_add(n);
        self.drop_arrived()
    }

    /// Goes on skipping. Returns how many bytes were dropped that nobody had seen.
    pub(crate) fn drop_arrived(&mut self) -> u64 {
        let (dropped, unseen) = self.connection.consume(usize::try_from(self.to_skip).unwrap_or(usize::MAX));
        self.to_skip -= dropped as u64;
        unseen as u64
    }

    /// Accepted bytes that the connection had no room for.
    pub(crate) fn queued(&self) -> u64 {
        self.queue.len() as u64 + self.file.as_ref().map_or(0, |file| file.len)
    }

    /// Takes the parts as far as there is room; returns how many bytes were taken, and how many of them by the connection.
    pub(crate) fn send(&mut self, parts: &[&[u8]]) -> (usize, u64) {
        if self.file.is_some() {
            self.wants_room = true;
            return (0, 0);
        }
        let (mut taken, mut given) = (0, 0);
        for part in parts {
            let direct = if self.queue.is_empty() { self.connection.send(part) } else { 0 };
            let room = SEND_QUEUE_BYTES.saturating_sub(self.queue.len());
            let queued = room.min(part.len() - direct);
            if direct < part.len() {
                self.queue.push(&part[direct..direct + queued]);
                self.wants_room = true;
            }
            taken += direct + queued;
            given += direct as u64;
            if direct + queued < part.len() {
                break;
            }
        }
        (taken, given)
    }

    /// Takes the parts and the range behind them, or nothing. Returns whether it did.
    pub(crate) fn send_file(&mut self, parts: &[&[u8]], range: FileRange) -> bool {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        if self.file.is_some() || self.queued() as usize + bytes > SEND_QUEUE_BYTES {
            self.wants_room = true;
            return false;
        }
        parts.iter().for_each(|part| self.queue.push(part));
        self.file = Some(range);
        true
    }

    /// Gives the connection what is queued. Returns how many bytes it took.
    pub(crate) fn top_up(&mut self) -> Result<u64, BadFile> {
        if self.queue.is_empty() && self.file.is_none() {
            return Ok(0);
        }
        let mut given = self.connection.send(self.queue.as_slice());
        self.queue.drop_front(given);
        if self.queue.is_empty()
            && let Some(file) = &mut self.file
        {
            given += read_into(&mut self.connection, file)?;
            if file.len == 0 {
                self.file = None;
            }
        }
        Ok(given as u64)
    }

    /// Whether, behind a segment that has just left, nothing else is to be sent; a cheaper question than what is.
    #[inline]
    pub(crate) fn has_told_all(&self) -> bool {
        self.queue.is_empty() && self.file.is_none() && self.connection.has_told_all()
    }

    /// Ends our direction if that is wanted and nothing is left to be given to the connection.
    pub(crate) fn end_behind_queue(&mut self) {
        if self.ending && self.connection.is_established() && self.queued() == 0 {
            self.connection.close();
        }
    }

    /// Our end and the peer's.
    pub(crate) fn ends(&self) -> (SocketAddr, SocketAddr) {
        (self.flow.local(), self.flow.remote())
    }
}

/// Reads as much of the range as there is room for to where it will be sent from.
fn read_into(connection: &mut Connection, range: &mut FileRange) -> Result<usize, BadFile> {
    const EIO: i32 = rustix::io::Errno::IO.raw_os_error();
    let wanted = usize::try_from(range.len).unwrap_or(usize::MAX);
    let read = connection.send_with(wanted, |room| match range.file.read_at(room, range.offset) {
        // The file has become shorter.
        Ok(0) => Err(BadFile(EIO)),
        Ok(n) => Ok(n),
        Err(error) => Err(BadFile(error.raw_os_error().unwrap_or(EIO))),
    })?;
    range.offset += read as u64;
    range.len -= read as u64;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_takes_about_a_kilobyte() {
        assert!(size_of::<Endpoint>() <= 1024, "{} bytes", size_of::<Endpoint>());
    }
}
