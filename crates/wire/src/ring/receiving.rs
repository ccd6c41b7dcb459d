//! The end of a lane where frames are read.

use std::sync::atomic::Ordering;

use super::doorbell::{Asleep, ring};
use super::lane::{Board, Lane};
use super::layout::SLOTS;
use crate::{End, Receiver};

/// Slots that are given back at once; a sender who waits for room is woken for that many.
const GIVE_BACK: u32 = 64;

/// Reads frames from a ring.
#[derive(Debug)]
pub struct RingReceiver {
    lane: Lane,
    board: Board,
    sender: End,
    /// The oldest frame that was not released.
    pub(super) head: u32,
    /// What the sender knows of `head`.
    pub(super) published: u32,
    /// What we know of the sender's tail.
    pub(super) tail: u32,
    pub(super) received: u64,
    pub(super) dropped: u64,
    pub(super) wakes: u64,
    /// The sender wrote what no sender writes.
    pub(super) broken: bool,
}

impl RingReceiver {
    pub(super) fn new(board: &Board, lane: Lane, sender: End) -> Self {
        Self {
            lane,
            board: board.clone(),
            sender,
            head: 0,
            published: 0,
            tail: 0,
            received: 0,
            dropped: 0,
            wakes: 0,
            broken: false,
        }
    }

    /// Whether a frame is there.
    pub(super) fn has_frames(&mut self) -> bool {
        self.head != self.tail || self.look()
    }

    /// Learns how far the sender is.
    fn look(&mut self) -> bool {
        let tail = self.lane.indices().tail.0.load(Ordering::Acquire);
        // A slot that was not published as given back cannot have been filled again.
        if tail.wrapping_sub(self.published) > SLOTS || tail.wrapping_sub(self.head) > SLOTS {
            self.broken = true;
        } else {
            self.tail = tail;
        }
        self.head != self.tail
    }

    /// Lets the sender see which slots are free again.
    pub(super) fn give_back(&mut self) {
        if self.published == self.head {
            return;
        }
        self.published = self.head;
        self.lane.indices().head.0.store(self.head, Ordering::Release);
        let bell = &self.board.control().seats[self.sender.index()].doorbell.0;
        self.wakes += u64::from(ring(bell, Asleep::ForRoom));
    }

    fn step(&mut self) {
        self.head = self.head.wrapping_add(1);
        if self.head.wrapping_sub(self.published) >= GIVE_BACK {
            self.give_back();
        }
    }
}

impl Receiver for RingReceiver {
    fn peek(&mut self) -> Option<&[u8]> {
        let length = loop {
            if self.head == self.tail {
                self.give_back();
                if !self.look() {
                    return None;
                }
            }
            match self.lane.checked_length(self.head) {
                Some(length) => break length,
                None => {
                    self.dropped += 1;
                    self.step();
                }
            }
        };
        // SAFETY: `head` is before the tail that the sender published, and was not given back.
        Some(unsafe { self.lane.frame(self.head, length) })
    }

    fn release(&mut self) {
        if self.head != self.tail {
            self.received += 1;
            self.step();
        }
    }
}
