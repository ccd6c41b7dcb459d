//! The streams of a connection: requests that are still coming, and answers that are not wholly sent.

use std::sync::Arc;

use assay_h2::Connection;
use assay_h2::frame::{FRAME_BYTES, HEAD_BYTES, Kind, flag, write_block, write_head};

use super::call::Call;
use crate::content::Content;
use crate::files::read_piece;
use crate::pattern::Pattern;
use crate::session::Source;

/// Numbers of streams that have ended which are remembered, to tell a late frame from one that breaks the rules.
const REMEMBERED: usize = 64;

/// One stream.
pub(super) struct Stream {
    pub(super) id: u32,
    /// What is done with its request's body; absent when that has come whole.
    pub(super) incoming: Option<Incoming>,
    pub(super) outgoing: Outgoing,
    /// Bytes of body that the client takes.
    pub(super) window: i64,
    /// Bytes of an echo that have come and have not been given back.
    pub(super) held: u32,
}

/// The body of a request.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Bytes that have come.
    pub(super) received: u64,
    /// Length that was announced.
    pub(super) length: Option<u64>,
    pub(super) purpose: Purpose,
}

/// What is done with a body.
#[derive(Debug)]
pub(super) enum Purpose {
    /// The body is given back as it comes.
    Echo,
    /// The body is dropped; then this request is answered.
    Drop(Vec<u8>),
    /// The body is the message of a call.
    Call(Box<Call>),
    /// The body is passed over, because its request was refused.
    PassOver,
}

impl Incoming {
    /// What may still come of a request that was refused.
    pub(super) const UNWANTED: Self = Self { received: 0, length: None, purpose: Purpose::PassOver };
}

/// The body of an answer, as far as it is not sent.
#[derive(Default)]
pub(super) struct Outgoing {
    /// Bytes at hand, from `at` on.
    pub(super) bytes: Vec<u8>,
    pub(super) at: usize,
    /// What follows them.
    pub(super) rest: Option<Rest>,
    /// Whether more may come that is not known yet.
    pub(super) is_open: bool,
    /// The block that ends it, behind its last byte; empty where that byte does.
    pub(super) trailers: &'static [u8],
}

/// A part of the pattern or of a file.
pub(super) struct Rest {
    pub(super) source: Source,
    pub(super) file: Option<Content>,
    pub(super) offset: u64,
    pub(super) left: u64,
}

/// What a stream could do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Bytes of body that left; more will.
    Some(usize),
    /// The answer is out.
    All,
    /// A file is shorter than was promised.
    Broken,
}

impl Stream {
    /// Appends at most one frame of the body, in as much room as there is; `echoed` is what of the request's body was given back.
    pub(super) fn send(
        &mut self,
        connection: &mut Connection,
        pattern: &Pattern,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Sent {
        let window = self.window.min(connection.send_window()).max(0) as usize;
        let trailers = self.outgoing.trailers;
        let behind = if trailers.is_empty() { 0 } else { HEAD_BYTES + trailers.len() };
        let most = window.min(FRAME_BYTES).min(room.saturating_sub(HEAD_BYTES + behind));
        let ready = self.outgoing.ready();
        let len = usize::try_from(ready).unwrap_or(usize::MAX).min(most);
        let is_last = len as u64 == ready && !self.outgoing.is_open;
        if (len == 0 && !is_last) || room < HEAD_BYTES + behind {
            return Sent::Some(0);
        }
        let begin = out.len();
        let is_end = is_last && trailers.is_empty();
        write_head(Kind::Data, if is_end { flag::END_STREAM } else { 0 }, self.id, len, out);
        if !self.outgoing.write(len, pattern, out) {
            out.truncate(begin);
            return Sent::Broken;
        }
        connection.spend(len);
        self.window -= len as i64;
        if is_last && !is_end {
            write_block(self.id, trailers, true, out);
        }
        if is_last { Sent::All } else { Sent::Some(len) }
    }
}

impl Outgoing {
    /// Bytes that could be sent now.
    pub(super) fn ready(&self) -> u64 {
        let rest = self.rest.as_ref().map_or(0, |rest| rest.left);
        (self.bytes.len() - self.at) as u64 + rest
    }

    /// Appends the next `len` bytes, no more than are ready; says whether they could be had.
    fn write(&mut self, len: usize, pattern: &Pattern, out: &mut Vec<u8>) -> bool {
        let at_hand = &self.bytes[self.at..];
        let n = at_hand.len().min(len);
        out.extend_from_slice(&at_hand[..n]);
        self.at += n;
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
        }
        match &mut self.rest {
            Some(rest) if n < len => rest.write(len - n, pattern, out),
            _ => true,
        }
    }
}

impl Rest {
    fn write(&mut self, len: usize, pattern: &Pattern, out: &mut Vec<u8>) -> bool {
        let from = out.len();
        let is_right = match (&self.source, &self.file) {
            (Source::Pattern, _) => {
                out.extend_from_slice(pattern.piece(self.offset, len));
                true
            }
            (Source::File, Some(Content::Memory(bytes))) => {
                let at = self.offset as usize;
                bytes
                    .get(at..)
                    .and_then(|rest| rest.get(..len))
                    .map(|piece| out.extend_from_slice(piece))
                    .is_some()
            }
            (Source::File, Some(Content::Open(file))) => {
                out.resize(from + len, 0);
                read_piece(&Arc::clone(file), self.offset, &mut out[from..]).is_ok()
            }
            (Source::File, None) => false,
        };
        self.offset += len as u64;
        self.left -= len as u64;
        is_right && out.len() == from + len
    }
}

/// The streams of one connection.
#[derive(Default)]
pub(super) struct Streams {
    /// In the order of their numbers.
    pub(super) open: Vec<Stream>,
    /// The highest number that the client has used.
    pub(super) highest: u32,
    /// The last ones that have ended.
    ended: Vec<u32>,
    /// The place of the stream whose turn it is to send.
    pub(super) turn: usize,
}

/// Where a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// At this place of the list.
    Open(usize),
    /// The stream has ended.
    Ended,
    /// Nobody has opened it.
    Idle,
    /// The stream was passed over, and so is ended without having been opened (RFC 9113 §5.1.1).
    Skipped,
}

impl Streams {
    #[inline]
    pub(super) fn find(&self, id: u32) -> Standing {
        if id > self.highest {
            return Standing::Idle;
        }
        match self.open.binary_search_by_key(&id, |stream| stream.id) {
            Ok(at) => Standing::Open(at),
            Err(_) if id.is_multiple_of(2) => Standing::Idle,
            Err(_) if self.ended.contains(&id) || self.ended.len() == REMEMBERED => Standing::Ended,
            Err(_) => Standing::Skipped,
        }
    }

    /// A stream that has ended with its head.
    #[inline]
    pub(super) fn note_ended(&mut self, id: u32) {
        if self.ended.len() == REMEMBERED {
            let oldest = (id as usize / 2) % REMEMBERED;
            self.ended[oldest] = id;
        } else {
            self.ended.push(id);
        }
    }

    /// The stream at this place has ended.
    pub(super) fn close(&mut self, at: usize) -> Stream {
        let stream = self.open.remove(at);
        self.note_ended(stream.id);
        stream
    }
}
