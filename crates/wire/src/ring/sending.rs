//! The end of a lane where frames are written.

use super::doorbell::{Asleep, Bell};
use super::lane::{Draft, Lane};
use super::layout::{FRAME_BYTES, SLOTS};
use super::order::{learn, publish};
use crate::parts::Outgoing;
use crate::{Sender, Statistics};

/// Frames that become visible at once. One by one, each costs the receiver a cache miss; at the end of a long turn, the
/// receiver idles meanwhile.
const PUBLISH: u32 = 8;

/// Writes frames into a ring.
#[derive(Debug)]
pub struct RingSender {
    lane: Lane,
    /// Where a frame is written before it is copied: whoever writes it may read it again, and must read what was written.
    draft: Draft,
    /// The receiver's.
    bell: Bell,
    /// The next frame.
    pub(super) tail: u32,
    /// What the receiver knows of `tail`.
    pub(super) published: u32,
    /// What we know of the receiver's head.
    pub(super) head: u32,
    /// Found no room when last asked.
    wants_room: bool,
    /// Takes what must not be sent.
    spill: Vec<u8>,
    counted: Statistics,
    /// The receiver wrote what no receiver writes.
    broken: bool,
}

impl RingSender {
    /// Goes on where a predecessor of ours, if there was one, left off.
    pub(super) fn new(lane: Lane, bell: Bell) -> Self {
        let tail = learn(&lane.indices().tail.0);
        let head = learn(&lane.indices().head.0);
        Self {
            lane,
            draft: Draft::new(),
            bell,
            tail,
            published: tail,
            head,
            wants_room: false,
            spill: Vec::new(),
            counted: Statistics::default(),
            broken: false,
        }
    }

    /// Learns how far the receiver is.
    fn look(&mut self) -> bool {
        let head = learn(&self.lane.indices().head.0);
        if self.tail.wrapping_sub(head) > SLOTS {
            self.broken = true;
            return false;
        }
        self.head = head;
        self.has_room()
    }

    fn has_room(&self) -> bool {
        self.tail.wrapping_sub(self.head) < SLOTS
    }
}

impl Sender for RingSender {
    fn room(&mut self) -> bool {
        if self.has_room() {
            return true;
        }
        // What the receiver cannot see it cannot give back.
        self.flush();
        let room = self.look();
        self.wants_room = !room;
        self.counted.full += u64::from(!room);
        room
    }

    fn send<R>(&mut self, length: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        if length > FRAME_BYTES || !self.has_room() {
            self.counted.dropped_frames += 1;
            self.spill.resize(length, 0);
            return fill(&mut self.spill);
        }
        let result = fill(self.draft.frame_mut(length));
        self.lane.put(self.tail, &mut self.draft, length);
        self.tail = self.tail.wrapping_add(1);
        self.lane.expect_to_write(self.tail.wrapping_add(1));
        self.counted.sent_frames += 1;
        if self.tail.wrapping_sub(self.published) >= PUBLISH {
            self.flush();
        }
        result
    }

    fn flush(&mut self) {
        if self.published == self.tail {
            return;
        }
        self.published = self.tail;
        publish(&self.lane.indices().tail.0, self.tail);
        self.counted.system_calls += u64::from(self.bell.ring(Asleep::ForFrames));
    }
}

impl Outgoing for RingSender {
    fn wants_room(&self) -> bool {
        self.wants_room
    }

    fn room_came(&mut self) -> bool {
        let came = self.wants_room && self.look();
        self.wants_room &= !came;
        came
    }

    fn is_intact(&self) -> bool {
        !self.broken
    }

    fn statistics(&self) -> Statistics {
        self.counted
    }
}

impl Drop for RingSender {
    fn drop(&mut self) {
        self.flush();
    }
}
