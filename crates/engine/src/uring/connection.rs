//! One connection of the io_uring engine.

use std::os::fd::OwnedFd;

use assay_model::units::Nanos;

use super::buffers::{Buffers, Chain};
use super::request::Request;
use crate::file::FileRange;
use crate::{RECEIVE_VIEW_BYTES, SEND_QUEUE_BYTES};

/// Bytes that one send takes from its user at most.
pub(super) const SEND_AT_ONCE: usize = 256 * 1024;

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Reserved for a peer of the listener with this number, who has not come yet.
    Accepting(u32),
    /// The request to connect is under way.
    Connecting,
    /// The connection is established.
    Open,
    /// Failed; its last event is on the way.
    Broken,
}

pub(super) struct UringConnection {
    pub(super) phase: Phase,
    /// Bytes accepted from the user; they leave with the next poll.
    pub(super) queue: Vec<u8>,
    /// How much of `queue` has left.
    pub(super) queue_sent: usize,
    /// What leaves behind the queue.
    pub(super) file: Option<FileRange>,
    /// The connection's descriptor in the process's own table, if it needed one.
    pub(super) descriptor: Option<OwnedFd>,
    /// The queue is on the list of those that leave with the next poll.
    pub(super) dirty: bool,
    /// The queue's send was submitted and has not reported failure.
    pub(super) in_flight: bool,
    /// When its last send was taken, if that was before the rest of the poll's ([`Uring::submit_sends`](super::Uring::submit_sends)).
    pub(super) submitted_early_at: Option<Nanos>,
    /// The kernel had no room; a request waits for it to have some.
    pub(super) blocked: bool,
    /// The user is to be told when the queue has drained.
    pub(super) owes_writable: bool,
    /// Our direction ends when the queue has drained.
    pub(super) ends_when_drained: bool,
    /// Received bytes in the kernel's buffers.
    pub(super) chain: Chain,
    /// The oldest buffer was shown to the user and not consumed.
    pub(super) shown: bool,
    /// The connection is on the list of those whose buffers are emptied before the next wait.
    pub(super) held: bool,
    /// Received bytes that were moved aside, from `stash_start` on.
    pub(super) stash: Vec<u8>,
    pub(super) stash_start: usize,
    /// The request that is with the kernel for what arrives: a receive or a skip.
    pub(super) receiving: Option<Request>,
    /// Receives that are to end with the first bytes that arrive, before one goes on until it is told otherwise.
    pub(super) single_receives: u8,
    /// Bytes of the stream to drop, beyond those that are held.
    pub(super) to_skip: u64,
    /// The peer has ended its direction.
    pub(super) peer_ended: bool,
}

impl UringConnection {
    pub(super) fn new(phase: Phase) -> Self {
        Self {
            phase,
            queue: Vec::new(),
            queue_sent: 0,
            file: None,
            descriptor: None,
            dirty: false,
            in_flight: false,
            submitted_early_at: None,
            blocked: false,
            owes_writable: false,
            ends_when_drained: false,
            chain: Chain::default(),
            shown: false,
            held: false,
            stash: Vec::new(),
            stash_start: 0,
            receiving: None,
            single_receives: 0,
            to_skip: 0,
            peer_ended: false,
        }
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len() - self.queue_sent
    }

    /// Gives the queue memory that another one had, if it has none.
    pub(super) fn provide_queue(&mut self, spare: &mut Vec<Vec<u8>>) {
        if self.queue.capacity() == 0 {
            self.queue = spare.pop().unwrap_or_default();
        }
    }

    /// Bytes that have still to leave, those of the file included.
    pub(super) fn unsent(&self) -> u64 {
        self.queued() as u64 + self.file.as_ref().map_or(0, |range| range.len)
    }

    pub(super) fn stashed(&self) -> usize {
        self.stash.len() - self.stash_start
    }

    /// Drops what is held of the bytes to skip.
    pub(super) fn drop_held(&mut self, buffers: &mut Buffers) {
        let dropped = self.to_skip.min(self.stashed() as u64);
        self.stash_start += dropped as usize;
        self.to_skip -= dropped;
        while self.to_skip > 0 && !self.chain.is_empty() {
            let front = buffers.front(self.chain).len();
            let dropped = self.to_skip.min(front as u64);
            buffers.consume(&mut self.chain, dropped as usize);
            self.to_skip -= dropped;
            self.shown = false;
        }
    }

    /// Whether the next send may find no room. Until then what is queued only waits for the next poll, and is no
    /// concern of the user's.
    pub(super) fn is_full(&self) -> bool {
        self.blocked || self.file.is_some() || self.queued() > SEND_AT_ONCE - SEND_QUEUE_BYTES
    }

    /// Whether more may be received: its user keeps up.
    pub(super) fn has_room(&self) -> bool {
        self.stashed() <= RECEIVE_VIEW_BYTES
    }
}
