//! One direction of one queue: its slots and indices in shared memory, and who may touch what.
//!
//! A single-producer, single-consumer queue after Lamport ("Specifying Concurrent Program Modules", 1983), with each
//! side's copy of the other's index as in FastForward and its successors (Giacomoni et al., PPoPP 2008).
//!
//! Memory ordering. A slot belongs to the sender while `tail - head < SLOTS` for its index, to the receiver from the
//! publication of `tail` beyond it until the publication of `head` beyond it.
//! - `tail` is stored with Release and loaded with Acquire: who sees the index sees the frame's bytes and length.
//! - `head` is stored with Release and loaded with Acquire: the receiver's reads of a slot come before the sender's
//!   next writes to it.
//! - Each index has one writer, which reads its own copy; no read-modify-write is needed.
//!
//! The other process is not trusted: an index or a length out of bounds is found before it is used.

use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use super::layout::{self, Control, FRAME_BYTES, FRAME_OFFSET, Indices, SLOTS, STRIDE_BYTES};
use crate::End;
use crate::memory::{self, Mapping};

/// Shortest frame: two addresses and a type (IEEE 802.3).
const HEADER_BYTES: usize = 14;

/// A queue's control block; keeps the memory mapped.
#[derive(Clone, Debug)]
pub(super) struct Board {
    mapping: Arc<Mapping>,
    control: NonNull<Control>,
}

// SAFETY: points into the mapping that it holds, at nothing but atomics.
unsafe impl Send for Board {}

impl Board {
    /// `None` when the mapping is too small.
    pub(super) fn of(mapping: &Arc<Mapping>, queue: u16) -> Option<Self> {
        let control = NonNull::from(mapping.at::<Control>(layout::control_offset(queue))?);
        Some(Self { mapping: Arc::clone(mapping), control })
    }

    pub(super) fn control(&self) -> &Control {
        // SAFETY: `of` found it within the mapping, which lives as long as `self`.
        unsafe { self.control.as_ref() }
    }
}

/// One direction of a queue.
#[derive(Debug)]
pub(super) struct Lane {
    board: Board,
    slots: NonNull<u8>,
    from: End,
}

// SAFETY: the slots are in the board's mapping; what may be touched by whom is governed by the indices.
unsafe impl Send for Lane {}

impl Lane {
    /// The direction in which `from` sends; `None` when the mapping is too small.
    pub(super) fn of(board: &Board, queue: u16, from: End) -> Option<Self> {
        let slots = board.mapping.range(layout::slots_offset(queue, from), layout::slots_bytes())?;
        Some(Self { board: board.clone(), slots, from })
    }

    pub(super) fn indices(&self) -> &Indices {
        &self.board.control().directions[self.from.index()]
    }

    /// How many have sat at the end that sends, one after the other.
    pub(super) fn sittings(&self) -> u32 {
        self.board.control().seats[self.from.index()].sittings.0.load(Ordering::Acquire)
    }

    /// Where the slot of the `index`th frame begins.
    fn slot(&self, index: u32) -> NonNull<u8> {
        let offset = (index % SLOTS) as usize * STRIDE_BYTES;
        // SAFETY: below SLOTS * STRIDE_BYTES, which `of` found to be within the mapping.
        unsafe { self.slots.add(offset) }
    }

    /// The receiver will soon come to that frame.
    #[inline]
    pub(super) fn expect_to_read(&self, index: u32) {
        memory::expect_to_read(self.slot(index));
    }

    /// The sender will soon come to that slot.
    #[inline]
    pub(super) fn expect_to_write(&self, index: u32) {
        memory::expect_to_write(self.slot(index));
    }

    /// The length of a slot's frame. The word is the slot's first.
    fn length(&self, index: u32) -> &AtomicU16 {
        // SAFETY: slots are aligned to 64 bytes within the page-aligned mapping, and any bytes are a valid value.
        unsafe { self.slot(index).cast::<AtomicU16>().as_ref() }
    }

    /// The length of a frame that the sender published; `None` when it cannot be one.
    pub(super) fn checked_length(&self, index: u32) -> Option<usize> {
        let length = usize::from(self.length(index).load(Ordering::Relaxed));
        (HEADER_BYTES..=FRAME_BYTES).contains(&length).then_some(length)
    }

    /// The first `length` bytes of a frame.
    ///
    /// # Safety
    /// The slot belongs to the receiver, who calls this.
    pub(super) unsafe fn frame(&self, index: u32, length: usize) -> &[u8] {
        // SAFETY: within the slot. Its sender does not write to it before `head` is published beyond it. A sender that
        // broke this rule could change bytes while they are read: never their number, so that a parser which checks what it
        // reads stays within bounds. The file is open to processes of the same user only.
        unsafe { slice::from_raw_parts(self.slot(index).add(FRAME_OFFSET).as_ptr(), length.min(FRAME_BYTES)) }
    }

    /// Room for a frame of `length` bytes, [`FRAME_BYTES`] at most, with the length noted.
    ///
    /// # Safety
    /// The slot belongs to the sender, who calls this.
    pub(super) unsafe fn frame_mut(&mut self, index: u32, length: usize) -> &mut [u8] {
        let length = length.min(FRAME_BYTES);
        self.length(index).store(length as u16, Ordering::Relaxed);
        // SAFETY: within the slot, which nobody reads before `tail` is published beyond it; `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.slot(index).add(FRAME_OFFSET).as_ptr(), length) }
    }
}
