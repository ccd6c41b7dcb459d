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
//! The other process is not trusted. An index or a length out of bounds is found before it is used. Slots are read and written by
//! atomics, word by word, and nobody is given a reference into them: a frame is copied out once, with its length from the same
//! word as its first bytes, so that what was checked is what is used, whatever the other process writes meanwhile.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::layout::{self, Control, FRAME_BYTES, FRAME_OFFSET, Indices, SLOTS, STRIDE_BYTES};
use super::order::{self, Octets};
use crate::End;
use crate::memory::{self, Mapping};

/// Shortest frame: two addresses and a type (IEEE 802.3).
const HEADER_BYTES: usize = 14;
/// Words of the longest frame with its length.
const WORDS: usize = (FRAME_OFFSET + FRAME_BYTES).div_ceil(size_of::<Octets>());

/// Memory of our own for what a slot holds: the frame's length, and the frame.
#[derive(Debug)]
pub(super) struct Draft(Box<[Octets; WORDS]>);

impl Draft {
    pub(super) fn new() -> Self {
        Self(Box::new([Octets::default(); WORDS]))
    }

    /// The first `length` bytes of the frame, [`FRAME_BYTES`] at most.
    pub(super) fn frame(&self, length: usize) -> &[u8] {
        &self.0.as_flattened()[FRAME_OFFSET..FRAME_OFFSET + length]
    }

    /// A frame's room, to be written.
    pub(super) fn frame_mut(&mut self, length: usize) -> &mut [u8] {
        &mut self.0.as_flattened_mut()[FRAME_OFFSET..FRAME_OFFSET + length]
    }
}

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

    /// Whether the file was found to be shorter than it was.
    pub(super) fn is_cut(&self) -> bool {
        self.mapping.is_cut()
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

    /// The words of a slot.
    fn words(&self, index: u32) -> &[AtomicU64; WORDS] {
        // SAFETY: slots are aligned to 64 bytes within the page-aligned mapping and longer than that; any bytes are valid values of
        // atomics, which others may change.
        unsafe { self.slot(index).cast::<[AtomicU64; WORDS]>().as_ref() }
    }

    /// Copies a frame that the sender has published; `None` when its length cannot be one.
    #[inline]
    pub(super) fn fetch(&self, index: u32, draft: &mut Draft) -> Option<usize> {
        let words = self.words(index);
        let first = words[0].load(Ordering::Relaxed).to_ne_bytes();
        let length = usize::from(u16::from_ne_bytes([first[0], first[1]]));
        if !(HEADER_BYTES..=FRAME_BYTES).contains(&length) {
            return None;
        }
        draft.0[0] = first;
        let used = 1..(FRAME_OFFSET + length).div_ceil(size_of::<Octets>());
        order::read(&words[used.clone()], &mut draft.0[used]);
        Some(length)
    }

    /// Copies a frame of `length` bytes, [`FRAME_BYTES`] at most, to a slot that the receiver gave back.
    #[inline]
    pub(super) fn put(&self, index: u32, draft: &mut Draft, length: usize) {
        draft.0.as_flattened_mut()[..FRAME_OFFSET].copy_from_slice(&(length as u16).to_ne_bytes());
        let used = ..(FRAME_OFFSET + length).div_ceil(size_of::<Octets>());
        order::write(&self.words(index)[used], &draft.0[used]);
    }
}
