//! One connection without I/O: ciphertext in, plaintext out, and the other way round.

use std::io::{BufRead as _, IoSlice, Write};

use assay_engine::{FileRange, RECEIVE_VIEW_BYTES, Security};
use assay_model::tls::TlsFault;
use assay_model::units::Nanos;
use rustls::{Connection, Error, HandshakeKind};

use crate::{fault, parameters};

/// Parts that become one record, as far as they fit.
const PARTS_AT_ONCE: usize = 16;

/// A connection whose transport is established.
pub(crate) struct Session {
    tls: Connection,
    /// When the handshake began.
    pub(crate) began: Nanos,
    /// How it was secured, once it is.
    pub(crate) security: Option<Security>,
    /// Decrypted bytes; those before `consumed` are dealt with.
    plain: Vec<u8>,
    consumed: usize,
    /// Bytes of the stream to drop, beyond those that are decrypted.
    pub(crate) to_skip: u64,
    /// There is more than the view has room for.
    pub(crate) starved: bool,
    /// What is left of the stream's end.
    pub(crate) end: End,
    /// Whether the last event is on the way, or nobody is to have one.
    pub(crate) broken: bool,
    pub(crate) outgoing: Outgoing,
}

/// The end of what the peer sends.
#[derive(Default)]
pub(crate) struct End {
    /// The transport has ended.
    pub(crate) of_transport: bool,
    /// The peer has said that it sends no more (RFC 8446 §6.1).
    pub(crate) said: bool,
    /// The user knows, or is about to.
    pub(crate) told: bool,
}

/// What became of bytes that arrived.
pub(crate) struct Absorbed {
    /// How many of them are dealt with.
    pub(crate) used: usize,
    /// Bytes of plaintext that came to light.
    pub(crate) received: u64,
    /// Why the connection cannot go on, if so.
    pub(crate) fault: Option<TlsFault>,
}

/// What waits to leave.
#[derive(Default)]
pub(crate) struct Outgoing {
    /// Ciphertext for which the stack had no room.
    pub(crate) backlog: Vec<u8>,
    /// How much of it has left.
    pub(crate) backlog_sent: usize,
    /// What leaves behind it.
    pub(crate) file: Option<FileRange>,
    /// Our direction ends when all of it has left.
    pub(crate) ends_when_drained: bool,
    /// Records are ready, and are to leave with the next send or poll.
    pub(crate) unflushed: bool,
}

impl Outgoing {
    /// Bytes that have still to be given to the stack.
    pub(crate) fn queued(&self) -> u64 {
        self.backlog_len() as u64 + self.file.as_ref().map_or(0, |range| range.len)
    }

    pub(crate) fn backlog_len(&self) -> usize {
        self.backlog.len() - self.backlog_sent
    }
}

impl Session {
    pub(crate) fn new(mut tls: Connection, began: Nanos) -> Self {
        // What is offered is limited by the engine, which knows what the stack has taken.
        tls.set_buffer_limit(None);
        Self {
            tls,
            began,
            security: None,
            plain: Vec::new(),
            consumed: 0,
            to_skip: 0,
            starved: false,
            end: End::default(),
            broken: false,
            outgoing: Outgoing::default(),
        }
    }

    pub(crate) fn is_client(&self) -> bool {
        matches!(self.tls, Connection::Client(_))
    }

    /// Whether records are ready to leave.
    pub(crate) fn has_records(&self) -> bool {
        self.tls.wants_write()
    }

    /// Decrypted bytes that were not consumed; none while bytes are skipped.
    #[inline]
    pub(crate) fn view(&self) -> &[u8] {
        &self.plain[self.consumed..]
    }

    /// Passes over so many decrypted bytes, or over all where there are fewer.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        self.consumed = self.consumed.saturating_add(n).min(self.plain.len());
        if self.consumed == self.plain.len() {
            self.consumed = 0;
            self.plain.clear();
        }
    }

    /// Lends a buffer to a session without one.
    pub(crate) fn lend(&mut self, spares: &mut Vec<Vec<u8>>) {
        if self.plain.capacity() == 0 {
            self.plain = spares.pop().unwrap_or_default();
        }
    }

    /// Takes the buffer of a session that holds nothing in it.
    pub(crate) fn take_spare(&mut self) -> Option<Vec<u8>> {
        (self.plain.is_empty() && self.plain.capacity() > 0).then(|| std::mem::take(&mut self.plain))
    }

    /// Takes in what arrived, as far as there is room for what it says.
    pub(crate) fn absorb(&mut self, ciphertext: &[u8]) -> Absorbed {
        if self.consumed > 0 {
            self.plain.drain(..self.consumed);
            self.consumed = 0;
        }
        let mut received = self.decrypted();
        let mut rest = ciphertext;
        while !rest.is_empty() && !self.starved && !self.end.said {
            let is_first = self.tls.protocol_version().is_none();
            let outcome = match self.tls.read_tls(&mut rest) {
                Ok(_) => self.tls.process_new_packets(),
                // A message longer than any that is allowed.
                Err(_) => Err(Error::PeerSentOversizedRecord),
            };
            received += self.decrypted();
            match outcome {
                Ok(state) => self.end.said = state.peer_has_closed(),
                Err(error) => {
                    let fault = Some(fault::of(&error, is_first));
                    return Absorbed { used: ciphertext.len(), received, fault };
                }
            }
        }
        // Nothing that comes after the end is of any meaning (RFC 8446 §6.1).
        let left = if self.end.said { 0 } else { rest.len() };
        Absorbed { used: ciphertext.len() - left, received, fault: None }
    }

    /// Moves what rustls has decrypted to the view, or drops it; returns how many bytes.
    fn decrypted(&mut self) -> u64 {
        let mut reader = self.tls.reader();
        let mut moved = 0;
        self.starved = false;
        while let Ok(chunk) = reader.fill_buf()
            && !chunk.is_empty()
        {
            let dropped = self.to_skip.min(chunk.len() as u64) as usize;
            let kept = (chunk.len() - dropped).min(RECEIVE_VIEW_BYTES - self.plain.len());
            self.plain.extend_from_slice(&chunk[dropped..dropped + kept]);
            self.to_skip -= dropped as u64;
            self.starved = dropped + kept < chunk.len();
            reader.consume(dropped + kept);
            moved += (dropped + kept) as u64;
            if self.starved {
                break;
            }
        }
        moved
    }

    /// Notes that the handshake is complete; returns whether it is so only now.
    pub(crate) fn notes_completion(&mut self) -> bool {
        if self.security.is_some() || self.tls.is_handshaking() {
            return false;
        }
        let is_resumed = self.tls.handshake_kind() == Some(HandshakeKind::Resumed);
        let parameters = parameters::of(&self.tls);
        self.security = Some(Security { began: self.began, is_resumed, parameters });
        true
    }

    /// Makes records of the parts; they are ready to leave.
    pub(crate) fn encrypt(&mut self, parts: &[&[u8]]) {
        let mut writer = self.tls.writer();
        for group in parts.chunks(PARTS_AT_ONCE) {
            let mut slices = [IoSlice::new(&[]); PARTS_AT_ONCE];
            for (slice, part) in slices.iter_mut().zip(group) {
                *slice = IoSlice::new(part);
            }
            // Without a limit it takes all, and cannot fail.
            let _ = writer.write_vectored(&slices[..group.len()]);
        }
    }

    /// Says that we send no more.
    pub(crate) fn say_end(&mut self) {
        self.tls.send_close_notify();
    }

    /// Gives the records that are ready to `transport`, which takes as many of them as it likes; the rest is kept.
    pub(crate) fn flush(&mut self, transport: impl FnMut(&[&[u8]]) -> usize) {
        let outgoing = &mut self.outgoing;
        outgoing.unflushed = false;
        let mut sink = Sink { transport, backlog: &mut outgoing.backlog };
        while self.tls.wants_write() && self.tls.write_tls(&mut sink).is_ok() {}
    }

    /// Gives what was kept to `transport`; returns whether it took all of it.
    pub(crate) fn flush_backlog(&mut self, transport: impl FnOnce(&[&[u8]]) -> usize) -> bool {
        let outgoing = &mut self.outgoing;
        if outgoing.backlog_len() > 0 {
            outgoing.backlog_sent += transport(&[&outgoing.backlog[outgoing.backlog_sent..]]);
        }
        if outgoing.backlog_len() > 0 {
            return false;
        }
        // What stood still for once may never do so again.
        outgoing.backlog = Vec::new();
        outgoing.backlog_sent = 0;
        true
    }
}

/// Where records go: to the stack, or where that has no room, to the backlog.
struct Sink<'b, T> {
    transport: T,
    backlog: &'b mut Vec<u8>,
}

/// Slices that rustls gives at once.
const SLICES: usize = 64;

impl<T: FnMut(&[&[u8]]) -> usize> Write for Sink<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> std::io::Result<usize> {
        let slices = &slices[..slices.len().min(SLICES)];
        let mut parts: [&[u8]; SLICES] = [&[]; SLICES];
        for (part, slice) in parts.iter_mut().zip(slices) {
            *part = slice;
        }
        let parts = &parts[..slices.len()];
        let mut taken = if self.backlog.is_empty() { (self.transport)(parts) } else { 0 };
        for part in parts {
            let from = taken.min(part.len());
            self.backlog.extend_from_slice(&part[from..]);
            taken -= from;
        }
        Ok(parts.iter().map(|part| part.len()).sum())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
