//! Receive buffers that the kernel picks from as data arrives (io_uring_register_buf_ring(3)).

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// Buffers of an engine; a power of two.
const COUNT: u16 = 512;
/// Bytes of a buffer.
const SIZE: usize = 16 * 1024;
/// Distance of two buffers. Not a power of two: small messages at the heads of many buffers would otherwise
/// share a few cache sets.
const STRIDE: usize = SIZE + 192;
/// The shared ring of entries; the kernel wants it page-aligned.
// SAFETY: 4096 is a power of two, and the size is far below isize::MAX.
const LAYOUT: Layout =
    unsafe { Layout::from_size_align_unchecked(size_of::<BufRingEntry>() * COUNT as usize, 4096) };
/// Name of the buffer group within the ring.
pub(super) const GROUP: u16 = 0;

/// Received bytes in one buffer, and the buffer with the bytes that follow them on the same connection.
#[derive(Clone, Copy, Default)]
struct Chunk {
    start: usize,
    end: usize,
    next: Option<u16>,
}

/// A connection's buffers, oldest first.
#[derive(Clone, Copy, Default)]
pub(super) struct Chain {
    ends: Option<(u16, u16)>,
}

impl Chain {
    pub(super) fn is_empty(self) -> bool {
        self.ends.is_none()
    }
}

pub(super) struct Buffers {
    entries: *mut BufRingEntry,
    tail: u16,
    memory: Box<[u8]>,
    chunks: Box<[Chunk]>,
}

impl Buffers {
    /// Allocates the buffers and hands all of them to the kernel.
    pub(super) fn new(ring: &IoUring) -> io::Result<Self> {
        // SAFETY: the layout has a size above zero.
        let entries = unsafe { alloc_zeroed(LAYOUT) }.cast::<BufRingEntry>();
        if entries.is_null() {
            handle_alloc_error(LAYOUT);
        }
        let mut buffers = Self {
            entries,
            tail: 0,
            memory: vec![0; STRIDE * usize::from(COUNT)].into_boxed_slice(),
            chunks: vec![Chunk::default(); usize::from(COUNT)].into_boxed_slice(),
        };
        // SAFETY: `entries` is page-aligned, holds COUNT entries, and is freed only when Buffers is dropped, which
        // its owner does after the ring.
        unsafe { ring.submitter().register_buf_ring_with_flags(entries as u64, COUNT, GROUP, 0)? };
        (0..COUNT).for_each(|id| buffers.give_back(id));
        Ok(buffers)
    }

    /// Appends `len` bytes that the kernel put into buffer `id`.
    pub(super) fn append(&mut self, chain: &mut Chain, id: u16, len: usize) {
        self.chunks[usize::from(id)] = Chunk { start: 0, end: len.min(SIZE), next: None };
        chain.ends = match chain.ends {
            None => Some((id, id)),
            Some((first, last)) => {
                self.chunks[usize::from(last)].next = Some(id);
                Some((first, id))
            }
        };
    }

    /// The bytes of the oldest buffer.
    pub(super) fn front(&self, chain: Chain) -> &[u8] {
        let Some((first, _)) = chain.ends else { return &[] };
        let chunk = self.chunks[usize::from(first)];
        let base = usize::from(first) * STRIDE;
        &self.memory[base + chunk.start..base + chunk.end]
    }

    /// Whether bytes of a second buffer follow.
    pub(super) fn has_more(&self, chain: Chain) -> bool {
        chain.ends.is_some_and(|(first, last)| first != last)
    }

    /// Drops `n` bytes of the oldest buffer, and returns the buffer to the kernel when it is empty.
    pub(super) fn consume(&mut self, chain: &mut Chain, n: usize) {
        let Some((first, last)) = chain.ends else { return };
        let chunk = &mut self.chunks[usize::from(first)];
        chunk.start = (chunk.start + n).min(chunk.end);
        if chunk.start == chunk.end {
            chain.ends = chunk.next.map(|next| (next, last));
            self.give_back(first);
        }
    }

    /// Moves all bytes of the chain to the end of `sink` and returns the buffers to the kernel.
    pub(super) fn move_into(&mut self, chain: &mut Chain, sink: &mut Vec<u8>) {
        while !chain.is_empty() {
            let front = self.front(*chain);
            sink.extend_from_slice(front);
            let n = front.len();
            self.consume(chain, n);
        }
    }

    /// Returns a buffer to the kernel.
    pub(super) fn give_back(&mut self, id: u16) {
        let index = usize::from(self.tail & (COUNT - 1));
        let address = self.memory[usize::from(id) * STRIDE..].as_ptr() as u64;
        // SAFETY: `index` is below COUNT, the number of entries; the kernel does not read an entry before the tail
        // has passed it.
        unsafe {
            let entry = &mut *self.entries.add(index);
            entry.set_addr(address);
            entry.set_len(SIZE as u32);
            entry.set_bid(id);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the first entry's reserved field is the ring's tail, shared with the kernel and aligned for u16;
        // Release lets the entry be seen before the tail.
        unsafe {
            let tail = BufRingEntry::tail(self.entries).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with the same layout.
        unsafe { dealloc(self.entries.cast(), LAYOUT) };
    }
}
