//! The four rings that a socket shares with the kernel (kernel document networking/af_xdp.rst).
//!
//! Single producer, single consumer, as in our own ring. The kernel's half is in net/xdp/xsk_queue.h, which says why each
//! barrier is there: a producer's index is stored with Release, behind the entries; a consumer loads it with Acquire, before
//! them; and the same the other way about for the entries that are free again.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::net::xdp::XdpRingOffset;

use crate::memory::{Mapping, Shared};

/// A frame in a receive or transmit ring (`struct xdp_desc`).
#[repr(C)]
struct Descriptor {
    address: AtomicU64,
    length: AtomicU32,
    options: AtomicU32,
}

// SAFETY: atomics alone.
unsafe impl Shared for Descriptor {}

/// Set by the kernel where a system call is needed (`XDP_RING_NEED_WAKEUP`).
const NEED_WAKEUP: u32 = 1;

/// Where a ring is in its socket's address space (`XDP_PGOFF_*` of linux/if_xdp.h).
#[derive(Clone, Copy, Debug)]
pub(super) enum RingKind {
    Receive,
    Transmit,
    Fill,
    Completion,
}

impl RingKind {
    fn offset(self) -> u64 {
        match self {
            Self::Receive => 0,
            Self::Transmit => 0x8000_0000,
            Self::Fill => 0x1_0000_0000,
            Self::Completion => 0x1_8000_0000,
        }
    }

    fn entry_bytes(self) -> usize {
        match self {
            Self::Receive | Self::Transmit => size_of::<Descriptor>(),
            Self::Fill | Self::Completion => size_of::<AtomicU64>(),
        }
    }
}

/// One of the rings.
#[derive(Debug)]
pub(super) struct Queue {
    mapping: Mapping,
    producer: usize,
    consumer: usize,
    flags: Option<usize>,
    entries: usize,
    entry_bytes: usize,
    mask: u32,
}

impl Queue {
    /// Maps a ring of `size` entries, a power of two.
    pub(super) fn of(
        socket: BorrowedFd<'_>,
        kind: RingKind,
        offsets: XdpRingOffset,
        size: u32,
    ) -> io::Result<Self> {
        let entries = offsets.desc as usize;
        let bytes = entries + size as usize * kind.entry_bytes();
        Ok(Self {
            mapping: Mapping::of_file(socket, kind.offset(), bytes)?,
            producer: offsets.producer as usize,
            consumer: offsets.consumer as usize,
            flags: offsets.flags.map(|offset| offset as usize),
            entries,
            entry_bytes: kind.entry_bytes(),
            mask: size - 1,
        })
    }

    /// How far the producer is, when that is the kernel.
    pub(super) fn producer(&self) -> u32 {
        self.load(self.producer, Ordering::Acquire)
    }

    /// How far the consumer is, when that is the kernel.
    pub(super) fn consumer(&self) -> u32 {
        self.load(self.consumer, Ordering::Acquire)
    }

    /// Tells the kernel how far we have produced.
    pub(super) fn publish_producer(&self, index: u32) {
        self.store(self.producer, index);
    }

    /// Tells the kernel how far we have consumed.
    pub(super) fn publish_consumer(&self, index: u32) {
        self.store(self.consumer, index);
    }

    /// Whether the kernel goes on by itself, or wants a call.
    pub(super) fn needs_wakeup(&self) -> bool {
        self.flags.is_some_and(|offset| self.load(offset, Ordering::Relaxed) & NEED_WAKEUP != 0)
    }

    /// The address of an entry of a fill or completion ring.
    pub(super) fn address(&self, index: u32) -> u64 {
        let entry = self.mapping.at::<AtomicU64>(self.offset(index));
        entry.map_or(u64::MAX, |entry| entry.load(Ordering::Relaxed))
    }

    pub(super) fn set_address(&self, index: u32, address: u64) {
        if let Some(entry) = self.mapping.at::<AtomicU64>(self.offset(index)) {
            entry.store(address, Ordering::Relaxed);
        }
    }

    /// The address and length of an entry of a receive or transmit ring.
    pub(super) fn frame(&self, index: u32) -> (u64, usize) {
        let entry = self.mapping.at::<Descriptor>(self.offset(index));
        entry.map_or((u64::MAX, 0), |entry| {
            (entry.address.load(Ordering::Relaxed), entry.length.load(Ordering::Relaxed) as usize)
        })
    }

    pub(super) fn set_frame(&self, index: u32, address: u64, length: usize) {
        if let Some(entry) = self.mapping.at::<Descriptor>(self.offset(index)) {
            entry.address.store(address, Ordering::Relaxed);
            entry.length.store(length as u32, Ordering::Relaxed);
            entry.options.store(0, Ordering::Relaxed);
        }
    }

    fn offset(&self, index: u32) -> usize {
        self.entries + (index & self.mask) as usize * self.entry_bytes
    }

    /// Offsets come from the kernel and are within what it has mapped.
    fn load(&self, offset: usize, order: Ordering) -> u32 {
        self.mapping.at::<AtomicU32>(offset).map_or(0, |word| word.load(order))
    }

    fn store(&self, offset: usize, value: u32) {
        if let Some(word) = self.mapping.at::<AtomicU32>(offset) {
            word.store(value, Ordering::Release);
        }
    }
}
