//! The end of a lane where frames are read.

use std::sync::atomic::Ordering;

use super::doorbell::{Asleep, ring};
use super::lane::{Board, Lane};
use super::layout::SLOTS;
use crate::parts::Incoming;
use crate::{End, Receiver, Statistics};

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
    counted: Statistics,
    /// The sender wrote what no sender writes.
    broken: bool,
}

impl RingReceiver {
    /// Begins behind what the sender has sent so far where that was for a predecessor of ours.
    pub(super) fn new(board: &Board, lane: Lane, sender: End, is_successor: bool) -> Self {
        let published = lane.indices().head.0.load(Ordering::Acquire);
        let mut receiver = Self {
            lane,
            board: board.clone(),
            sender,
            head: published,
            published,
            tail: published,
            counted: Statistics::default(),
            broken: false,
        };
        if is_successor && receiver.look() {
            receiver.head = receiver.tail;
            receiver.give_back();
        }
        receiver
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
    fn give_back(&mut self) {
        if self.published == self.head {
            return;
        }
        self.published = self.head;
        self.lane.indices().head.0.store(self.head, Ordering::Release);
        let bell = &self.board.control().seats[self.sender.index()].doorbell.0;
        self.counted.system_calls += u64::from(ring(bell, Asleep::ForRoom));
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
                    self.counted.dropped_frames += 1;
                    self.step();
                }
            }
        };
        // SAFETY: `head` is before the tail that the sender published, and was not given back.
        Some(unsafe { self.lane.frame(self.head, length) })
    }

    fn release(&mut self) {
        if self.head != self.tail {
            self.counted.received_frames += 1;
            self.step();
        }
    }
}

impl Incoming for RingReceiver {
    fn is_ready(&mut self) -> bool {
        self.head != self.tail || self.look()
    }

    fn settle(&mut self) {
        self.give_back();
    }

    fn is_intact(&self) -> bool {
        !self.broken
    }

    fn statistics(&self) -> Statistics {
        self.counted
    }
}
