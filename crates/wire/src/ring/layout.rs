//! What lies where in the shared file.
//!
//! ```text
//! page 0          header: magic, version, shape
//! per queue:      control block: heads, tails, doorbells, presence, each on cache lines of its own
//!                 slots of the direction first → second
//!                 slots of the direction second → first
//! ```

use std::sync::atomic::{AtomicU32, Ordering};

use crate::End;
use crate::memory::{Mapping, Shared};

/// Frames that fit into one direction; a power of two. Four times as many halve the rate: they leave the cache.
pub(super) const SLOTS: u32 = 1024;
/// Distance of two slots.
pub(super) const STRIDE_BYTES: usize = 2048;
/// Where a slot's frame begins, behind its length; the IP header behind 14 bytes of Ethernet is then aligned.
pub(super) const FRAME_OFFSET: usize = 2;
/// Largest frame: 1500 bytes of IP behind the Ethernet header (IEEE 802.3).
pub(super) const FRAME_BYTES: usize = 1514;
/// Most queues of one file.
pub(super) const QUEUES: u16 = 256;

const PAGE: usize = 4096;
const MAGIC: u32 = u32::from_be_bytes(*b"asRg");
/// Counts changes of this layout.
const VERSION: u32 = 2;
const CONTROL_BYTES: usize = size_of::<Control>().next_multiple_of(PAGE);
const LANE_BYTES: usize = SLOTS as usize * STRIDE_BYTES;
const QUEUE_BYTES: usize = (CONTROL_BYTES + 2 * LANE_BYTES).next_multiple_of(PAGE);

/// A word with a pair of cache lines to itself: the prefetcher of x86 fetches lines in pairs (Intel 64 and IA-32
/// Architectures Optimization Reference Manual, "spatial prefetcher").
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub(super) struct Line(pub(super) AtomicU32);

/// One direction of a queue. Both count frames and wrap.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct Indices {
    /// Frames that the sender has published.
    pub(super) tail: Line,
    /// Frames that the receiver has given back.
    pub(super) head: Line,
}

/// One end of a queue.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct Seat {
    /// What this end sleeps for, and how; a futex.
    pub(super) doorbell: Line,
    /// Whether somebody sits here.
    pub(super) presence: Line,
    /// How many have sat here, one after the other. It wraps.
    pub(super) sittings: Line,
}

/// What a queue's ends tell each other.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct Control {
    /// By the end that sends.
    pub(super) directions: [Indices; 2],
    /// By end.
    pub(super) seats: [Seat; 2],
}

// SAFETY: lines of atomics, and padding that nobody reads.
unsafe impl Shared for Control {}

/// The words of page 0.
#[repr(C)]
struct Header {
    magic: AtomicU32,
    version: AtomicU32,
    queues: AtomicU32,
    slots: AtomicU32,
    stride_bytes: AtomicU32,
}

// SAFETY: atomics alone.
unsafe impl Shared for Header {}

/// Bytes of a file with that many queues.
pub(super) fn file_bytes(queues: u16) -> usize {
    PAGE + usize::from(queues) * QUEUE_BYTES
}

/// Where a queue's control block is.
pub(super) fn control_offset(queue: u16) -> usize {
    PAGE + usize::from(queue) * QUEUE_BYTES
}

/// Where the slots of frames sent by `end` are.
pub(super) fn slots_offset(queue: u16, end: End) -> usize {
    control_offset(queue) + CONTROL_BYTES + end.index() * LANE_BYTES
}

/// Bytes of the slots of one direction.
pub(super) fn slots_bytes() -> usize {
    LANE_BYTES
}

/// Writes the header of a file that nobody else sees yet.
pub(super) fn write_header(mapping: &Mapping, queues: u16) {
    let Some(header) = mapping.at::<Header>(0) else { return };
    header.version.store(VERSION, Ordering::Relaxed);
    header.queues.store(queues.into(), Ordering::Relaxed);
    header.slots.store(SLOTS, Ordering::Relaxed);
    header.stride_bytes.store(STRIDE_BYTES as u32, Ordering::Relaxed);
    header.magic.store(MAGIC, Ordering::Release);
}

/// Whether a ring of ours can have that many bytes.
pub(super) fn is_file_length(bytes: usize) -> bool {
    (1..=QUEUES).any(|queues| bytes == file_bytes(queues))
}

/// How many queues a mapped file has; `None` when it is no ring as this version makes it.
pub(super) fn queues(mapping: &Mapping) -> Option<u32> {
    let header = mapping.at::<Header>(0)?;
    let read = |word: &AtomicU32| word.load(Ordering::Acquire);
    let shape = [read(&header.magic), read(&header.version), read(&header.slots), read(&header.stride_bytes)];
    let queues = read(&header.queues);
    let fits = u16::try_from(queues).is_ok_and(|queues| file_bytes(queues) == mapping.bytes());
    (fits && shape == [MAGIC, VERSION, SLOTS, STRIDE_BYTES as u32]).then_some(queues)
}
