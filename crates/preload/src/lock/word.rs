//! The word of memory that a lock is: nobody's, or its owner's number, and whether others sleep until it is free.
//!
//! Owner and state change in one step, so that whoever asks, at whatever moment a signal interrupts its thread, is told rightly
//! whether that thread has the lock. The wait is futex(2), as in Drepper, "Futexes Are Tricky" (2011), mutex 2, with the owner's
//! number where that has a 1, as in the kernel's own (`FUTEX_TID_MASK`, `FUTEX_WAITERS`).

use std::sync::atomic::Ordering;

use super::sync::{AtomicU32, SPINS, pause, sleep, wake};

pub(crate) const FREE: u32 = 0;
const WANTED: u32 = 1 << 31;

pub(crate) struct Word(pub(crate) AtomicU32);

impl Word {
    /// Waits for it in the name of `me`, which is not 0; false when it is `me`'s already.
    pub(crate) fn acquire(&self, me: u32) -> bool {
        let mut seen = self.0.load(Ordering::Relaxed);
        if owner(seen) == me {
            return false;
        }
        let mut spins = 0;
        // Once it has slept, it cannot know whether others sleep still.
        let mut mine = me;
        loop {
            if seen == FREE {
                match self.0.compare_exchange_weak(FREE, mine, Ordering::Acquire, Ordering::Relaxed) {
                    Ok(_) => return true,
                    Err(other) => seen = other,
                }
            } else if seen & WANTED == 0 && spins < SPINS {
                spins += 1;
                pause();
                seen = self.0.load(Ordering::Relaxed);
            } else {
                mine = me | WANTED;
                if self.is_announced(seen) {
                    sleep(&self.0, seen | WANTED);
                }
                seen = self.0.load(Ordering::Relaxed);
            }
        }
    }

    /// Frees it, whoever has it.
    pub(crate) fn release(&self) {
        if self.0.swap(FREE, Ordering::Release) & WANTED != 0 {
            wake(&self.0);
        }
    }

    /// Whether somebody sleeps until it is free.
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed) & WANTED != 0
    }

    /// Owner of the lock; 0 is nobody.
    pub(crate) fn owner(&self) -> u32 {
        owner(self.0.load(Ordering::Relaxed))
    }

    /// Whether the owner, which was seen, will know that somebody sleeps.
    fn is_announced(&self, seen: u32) -> bool {
        let announce = || self.0.compare_exchange(seen, seen | WANTED, Ordering::Relaxed, Ordering::Relaxed);
        seen & WANTED != 0 || announce().is_ok()
    }
}

fn owner(word: u32) -> u32 {
    word & !WANTED
}
