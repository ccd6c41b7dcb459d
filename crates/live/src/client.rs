//! One connection: reads its request, sends what it gets, and goes on with the news if these were asked for.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use assay_http::Framing;
use assay_http::render::{PreparedResponse, ResponseSpec, response_head};

use crate::board::Board;
use crate::gate::{Gate, Judgement};

/// Longest time until a request is complete.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Bytes that are read at once.
const PIECE: usize = 4 << 10;
/// Pieces that are read in one turn, so that whoever sends without end holds up nobody else.
const PIECES: usize = 4;
/// Most bytes behind a request that are read, so that a body that nobody asked for does not break the answer off (RFC 9112 §9.6).
const MOST_BEHIND: usize = 64 << 10;
/// What news are sent with. An EventSource that lost its connection comes back after a second.
const NEWS_FIELDS: [(&str, &str); 3] = [
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
];
const RETRY: &[u8] = b"retry: 1000\n\n";

/// A connection.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    stage: Stage,
    out: Vec<u8>,
    sent: usize,
    /// Bytes that came behind its request.
    behind: usize,
}

#[derive(Debug)]
enum Stage {
    /// The request is being read.
    Asking { received: Vec<u8>, until: Instant },
    /// The connection is closed when all is sent.
    Answered,
    /// The page has the news up to these numbers.
    Watching { edition: u64, words: u64 },
}

impl Client {
    pub(crate) fn new(stream: TcpStream, now: Instant) -> Self {
        let stage = Stage::Asking { received: Vec::new(), until: now + REQUEST_TIME };
        Self { stream, stage, out: Vec::new(), sent: 0, behind: 0 }
    }

    /// Reads and sends what can be without waiting; `false` when the connection is over.
    pub(crate) fn turn(&mut self, gate: &Gate, board: &Board, now: Instant) -> bool {
        self.read(gate, board) && !self.is_late(now) && self.send(board)
    }

    /// Whether it is to be woken when more can be sent.
    pub(crate) fn is_sending(&self) -> bool {
        self.sent < self.out.len()
    }

    /// When it is given up.
    pub(crate) fn until(&self) -> Option<Instant> {
        match &self.stage {
            Stage::Asking { until, .. } => Some(*until),
            Stage::Answered | Stage::Watching { .. } => None,
        }
    }

    /// Whether there is nothing left that it waits for.
    pub(crate) fn has_all(&self, board: &Board) -> bool {
        match self.stage {
            Stage::Asking { .. } => true,
            Stage::Answered => !self.is_sending(),
            Stage::Watching { edition, .. } => !self.is_sending() && edition == board.edition.number,
        }
    }

    fn is_late(&self, now: Instant) -> bool {
        self.until().is_some_and(|until| now >= until)
    }

    /// Reads a little of what there is; poll(2) tells again of the rest.
    fn read(&mut self, gate: &Gate, board: &Board) -> bool {
        let mut piece = [0; PIECE];
        for _ in 0..PIECES {
            match self.stream.read(&mut piece) {
                // Whoever has asked may still read.
                Ok(0) => return matches!(self.stage, Stage::Answered),
                Ok(length) => self.take(&piece[..length], gate, board),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        self.behind <= MOST_BEHIND
    }

    /// What comes behind a request is not looked at.
    fn take(&mut self, piece: &[u8], gate: &Gate, board: &Board) {
        let Stage::Asking { received, .. } = &mut self.stage else {
            self.behind += piece.len();
            return;
        };
        received.extend_from_slice(piece);
        match gate.judge(received) {
            Judgement::Incomplete => {}
            Judgement::Page { head_only } => {
                let page = board.page.as_ref();
                let part = if head_only { PreparedResponse::head } else { PreparedResponse::bytes };
                self.answer(Stage::Answered, page.map(part).unwrap_or_default().to_vec());
            }
            Judgement::News => {
                let head = [head(200, &NEWS_FIELDS, Framing::UntilClose), RETRY.to_vec()].concat();
                self.answer(Stage::Watching { edition: 0, words: 0 }, head);
            }
            Judgement::Refused(status) => {
                let allow: &[(&str, &str)] = if status == 405 { &[("Allow", "GET, HEAD")] } else { &[] };
                let fields = [allow, &[("Connection", "close")]].concat();
                self.answer(Stage::Answered, head(status, &fields, Framing::Length(0)));
            }
        }
    }

    fn answer(&mut self, stage: Stage, bytes: Vec<u8>) {
        (self.stage, self.out, self.sent) = (stage, bytes, 0);
    }

    fn send(&mut self, board: &Board) -> bool {
        loop {
            if !self.is_sending() && !self.refill(board) {
                return !matches!(self.stage, Stage::Answered);
            }
            match self.stream.write(&self.out[self.sent..]) {
                Ok(0) => return false,
                Ok(length) => self.sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }

    /// Takes what is new to it; `false` where nothing is.
    fn refill(&mut self, board: &Board) -> bool {
        let Stage::Watching { edition, words } = &mut self.stage else { return false };
        (self.out, self.sent) = (Vec::new(), 0);
        for (seen, news) in [(words, &board.words), (edition, &board.edition)] {
            if *seen < news.number {
                *seen = news.number;
                self.out.extend_from_slice(&news.event);
            }
        }
        self.is_sending()
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// A head without a date: what it belongs to is gone in a moment. Of constants that are all valid none fails.
fn head(status: u16, fields: &[(&str, &str)], framing: Framing) -> Vec<u8> {
    let mut out = Vec::new();
    let written = response_head(&ResponseSpec { status, fields, framing, date: None }, &mut out);
    debug_assert!(written.is_ok(), "{written:?}");
    out
}
