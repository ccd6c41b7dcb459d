//! The end of a lane where frames are read.

use super::doorbell::{Asleep, Bell};
use super::lane::{Draft, Lane};
use super::layout::SLOTS;
use super::order::{learn, publish};
use crate::parts::Incoming;
use crate::{Receiver, Statistics};

/// Slots that are given back at once; a sender who waits for room is woken for that many.
const GIVE_BACK: u32 = 64;

/// Reads frames from a ring.
#[derive(Debug)]
pub struct RingReceiver {
    lane: Lane,
    /// The frame that is shown.
    draft: Draft,
    /// Length of the frame; 0 while none is shown.
    length: usize,
    /// The sender's.
    bell: Bell,
    /// The oldest frame that was not released.
    pub(super) head: u32,
    /// What the sender knows of `head`.
    pub(super) published: u32,
    /// What we know of the sender's tail.
    pub(super) tail: u32,
    counted: Statistics,
    /// The sender wrote what no sender writes.
    broken: bool,
    /// How many have sat at the sender's end so far.
    sittings: u32,
    /// There is a new one, none of whose frames is shown yet.
    changed: bool,
}

impl RingReceiver {
    /// Begins behind what the sender has sent so far where that was for a predecessor of ours.
    pub(super) fn new(lane: Lane, bell: Bell, is_successor: bool) -> Self {
        let sittings = lane.sittings();
        let published = learn(&lane.indices().head.0);
        let mut receiver = Self {
            lane,
            draft: Draft::new(),
            length: 0,
            bell,
            head: published,
            published,
            tail: published,
            counted: Statistics::default(),
            broken: false,
            sittings,
            changed: false,
        };
        if is_successor && receiver.look() {
            receiver.head = receiver.tail;
            receiver.give_back();
        }
        receiver
    }

    /// Learns how far the sender is.
    fn look(&mut self) -> bool {
        let tail = learn(&self.lane.indices().tail.0);
        // A slot that was not published as given back cannot have been filled again.
        if tail.wrapping_sub(self.published) > SLOTS || tail.wrapping_sub(self.head) > SLOTS {
            self.broken = true;
        } else if self.is_sender_known() {
            self.tail = tail;
            self.expect_next();
        }
        self.head != self.tail
    }

    /// Whether it is the sender whom we know, or the first one. Who sees a tail that a successor published sees him here.
    fn is_sender_known(&mut self) -> bool {
        let sittings = self.lane.sittings();
        if self.sittings == 0 {
            self.sittings = sittings;
        }
        self.changed = sittings != self.sittings;
        !self.changed
    }

    /// Lets the sender see which slots are free again.
    fn give_back(&mut self) {
        if self.published == self.head {
            return;
        }
        self.published = self.head;
        publish(&self.lane.indices().head.0, self.head);
        self.counted.system_calls += u64::from(self.bell.ring(Asleep::ForRoom));
    }

    /// Has the frame behind the next one on its way.
    #[inline]
    fn expect_next(&self) {
        if self.tail.wrapping_sub(self.head) > 1 {
            self.lane.expect_to_read(self.head.wrapping_add(1));
        }
    }

    fn step(&mut self) {
        self.head = self.head.wrapping_add(1);
        self.expect_next();
        if self.head.wrapping_sub(self.published) >= GIVE_BACK {
            self.give_back();
        }
    }
}

impl Receiver for RingReceiver {
    fn peek(&mut self) -> Option<&[u8]> {
        let mut left = SLOTS;
        while self.length == 0 {
            if left == 0 {
                // A sender who goes on so would hold us here for ever.
                self.broken = true;
                return None;
            }
            if self.head == self.tail {
                self.give_back();
                if !self.look() {
                    return None;
                }
            }
            match self.lane.fetch(self.head, &mut self.draft) {
                Some(length) => self.length = length,
                None => {
                    self.counted.dropped_frames += 1;
                    left -= 1;
                    self.step();
                }
            }
        }
        Some(self.draft.frame(self.length))
    }

    fn release(&mut self) {
        if self.head != self.tail {
            self.counted.received_frames += 1;
            self.length = 0;
            self.step();
        }
    }
}

impl Incoming for RingReceiver {
    fn is_ready(&mut self) -> bool {
        self.head != self.tail || self.look() || self.changed
    }

    fn take_change(&mut self) -> bool {
        if self.changed {
            self.sittings = self.lane.sittings();
        }
        std::mem::take(&mut self.changed)
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
