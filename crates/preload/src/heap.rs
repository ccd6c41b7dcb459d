//! Memory that is not the program's: a signal's handler may call read(2) and write(2) (signal-safety(7)) while the C library gives
//! memory away, and what we need for them must not ask the C library for any.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use dlmalloc::Dlmalloc;

use crate::lock::Lock;

#[global_allocator]
static HEAP: Heap = Heap { ordinary: Lock::new(Dlmalloc::new()), spare: Spare::new() };

struct Heap {
    ordinary: Lock<Dlmalloc>,
    spare: Spare,
}

// SAFETY: the blocks are the allocator's, which is used by one thread at a time, or those of the spare memory.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.ordinary.lock() {
            // SAFETY: the caller's promise.
            Some(mut heap) => unsafe { heap.malloc(layout.size(), layout.align()) },
            None => self.spare.take(layout),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match self.ordinary.lock() {
            // SAFETY: the caller's promise. What is new from the kernel is zero already.
            Some(mut heap) => unsafe { heap.calloc(layout.size(), layout.align()) },
            None => zeroed(self.spare.take(layout), layout.size()),
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.spare.has(block)
            && let Some(mut heap) = self.ordinary.lock()
        {
            // SAFETY: the caller's promise.
            return unsafe { heap.realloc(block, layout.size(), layout.align(), size) };
        }
        // SAFETY: the caller's promise: the size with this alignment is one that a layout can have; the blocks are two.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if self.spare.has(block) {
            self.spare.give_back();
        } else if let Some(mut heap) = self.ordinary.lock() {
            // SAFETY: the caller's promise.
            unsafe { heap.free(block, layout.size(), layout.align()) };
        }
        // Else a handler that could not wait gives back what cannot be taken at this moment: it is lost.
    }
}

/// Writes zeros into a block, if there is one.
fn zeroed(block: *mut u8, size: usize) -> *mut u8 {
    if !block.is_null() {
        // SAFETY: the block has this size, and is nobody else's.
        unsafe { block.write_bytes(0, size) };
    }
    block
}

const SPARE_BYTES: usize = 256 * 1024;

/// Memory for a handler that could not wait ([`crate::signals`]) and finds its own thread asking for some. Blocks are taken one behind
/// the other, without a lock, and all of it is free again when the last one was given back.
struct Spare {
    /// Blocks that are taken, and where the next one begins.
    taken: AtomicU64,
    bytes: UnsafeCell<[MaybeUninit<u8>; SPARE_BYTES]>,
}

// SAFETY: nobody reads the bytes here, and each is in one block.
unsafe impl Sync for Spare {}

impl Spare {
    const fn new() -> Self {
        Self { taken: AtomicU64::new(0), bytes: UnsafeCell::new([MaybeUninit::uninit(); SPARE_BYTES]) }
    }

    fn take(&self, layout: Layout) -> *mut u8 {
        let first = self.bytes.get() as usize;
        let place = |next: u64| (first + next as usize).next_multiple_of(layout.align()) - first;
        let grown = |taken: u64| {
            let end = place(taken & u64::from(u32::MAX)).checked_add(layout.size())?;
            (end <= SPARE_BYTES).then_some(((taken >> 32) + 1) << 32 | end as u64)
        };
        match self.taken.fetch_update(Ordering::Acquire, Ordering::Relaxed, grown) {
            Ok(before) => self.bytes.get().cast::<u8>().wrapping_add(place(before & u64::from(u32::MAX))),
            Err(_) => std::ptr::null_mut(),
        }
    }

    fn give_back(&self) {
        let less = |taken: u64| Some(if taken >> 32 <= 1 { 0 } else { taken - (1 << 32) });
        // It has an answer to every number.
        let _ = self.taken.fetch_update(Ordering::Release, Ordering::Relaxed, less);
    }

    fn has(&self, block: *mut u8) -> bool {
        (block as usize).wrapping_sub(self.bytes.get() as usize) < SPARE_BYTES
    }
}

/// Nobody gets memory until [`let_go`]: it is being copied by fork(2). False when this thread is in it already.
pub(crate) fn hold() -> bool {
    HEAP.ordinary.lock().map(std::mem::forget).is_some()
}

/// In the thread that has held it, or in its copy.
pub(crate) fn let_go() {
    HEAP.ordinary.release();
}

/// In a child whose parent may have been at work here: what is there stays as it is, and nothing of it is given back.
pub(crate) fn begin_anew() {
    if HEAP.ordinary.is_others() {
        HEAP.ordinary.replace_abandoned(Dlmalloc::new());
    }
}
