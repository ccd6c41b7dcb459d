//! One connection: the responses it waits for, in the order of their requests.

use std::collections::VecDeque;

use assay_engine::Conn;
use assay_model::units::Nanos;

use super::End;
use super::faults::Fault;
use super::shape::{Bytes, Cut};
use super::socket::Socket;

/// A connection.
pub(super) struct Peer {
    pub(super) conn: Conn,
    /// Only the first is on the agenda.
    pub(super) replies: VecDeque<Reply>,
    /// A request was taken that is never to be answered, nor is any behind it.
    pub(super) silent: bool,
    /// What it has become, if it asked for that.
    pub(super) socket: Option<Box<Socket>>,
}

/// A response that is due or on its way.
pub(super) struct Reply {
    pub(super) arrived: Nanos,
    pub(super) due: Nanos,
    pub(super) bytes: Bytes,
    pub(super) cut: Cut,
    pub(super) sent: u64,
    pub(super) end: End,
    pub(super) fault: Fault,
    /// Whether it answers a request; a pong and a farewell answer none.
    pub(super) is_answer: bool,
}

impl Peer {
    pub(super) fn new(conn: Conn) -> Self {
        Self { conn, replies: VecDeque::new(), silent: false, socket: None }
    }

    /// Requests that wait for their answers.
    pub(super) fn waiting(&self) -> u64 {
        self.replies.iter().filter(|reply| reply.is_answer).count() as u64
    }
}

impl Reply {
    /// What leaves next in one segment.
    pub(super) fn piece(&self) -> &[u8] {
        let rest = self.bytes.from(self.sent);
        let most = match self.cut {
            Cut::Everywhere => 1,
            Cut::At(offset) if self.sent < offset as u64 => offset - self.sent as usize,
            Cut::At(_) | Cut::Nowhere => rest.len(),
        };
        &rest[..most.min(rest.len())]
    }

    pub(super) fn is_sent(&self) -> bool {
        self.sent >= self.bytes.len
    }
}
