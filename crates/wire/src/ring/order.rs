//! The steps with which the two ends of a ring meet in shared memory, each in its order; `lane.rs` and `doorbell.rs` say why. They
//! are apart from all else so that a test can have them come in every order there is (loom).

use std::sync::atomic::Ordering;

use super::sync::{AtomicU32, AtomicU64, fence};

/// What a slot is read and written by.
pub(crate) type Octets = [u8; size_of::<u64>()];

/// Nobody sleeps.
pub(crate) const AWAKE: u32 = 0;

/// Tells the other end how far this one is. Who learns it sees what this end wrote before, and writes only after what it read.
#[inline]
pub(crate) fn publish(index: &AtomicU32, value: u32) {
    index.store(value, Ordering::Release);
}

/// How far the other end is.
#[inline]
pub(crate) fn learn(index: &AtomicU32) -> u32 {
    index.load(Ordering::Acquire)
}

/// Writes to a slot that the receiver has given back.
#[inline]
pub(crate) fn write(words: &[AtomicU64], octets: &[Octets]) {
    for (word, octets) in words.iter().zip(octets) {
        word.store(u64::from_ne_bytes(*octets), Ordering::Relaxed);
    }
}

/// Reads from a slot that the sender has published.
#[inline]
pub(crate) fn read(words: &[AtomicU64], octets: &mut [Octets]) {
    for (octets, word) in octets.iter_mut().zip(words) {
        *octets = word.load(Ordering::Relaxed).to_ne_bytes();
    }
}

/// Announces that this end sleeps for `what`, which is not [`AWAKE`]. Whether it may, as `ready` says that there is nothing to do.
#[inline]
pub(crate) fn lie_down(doorbell: &AtomicU32, what: u32, ready: impl FnOnce() -> bool) -> bool {
    doorbell.store(what, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    let may_sleep = !ready();
    if !may_sleep {
        get_up(doorbell);
    }
    may_sleep
}

/// Lets an end sleep no more.
#[inline]
pub(crate) fn get_up(doorbell: &AtomicU32) {
    doorbell.store(AWAKE, Ordering::Relaxed);
}

/// After an index was published: what the other end sleeps for, if that is to be ended, which is the caller's to do.
#[inline]
pub(crate) fn rouse(doorbell: &AtomicU32, is_wanted: impl FnOnce(u32) -> bool) -> Option<u32> {
    fence(Ordering::SeqCst);
    let asleep = doorbell.load(Ordering::Relaxed);
    if !is_wanted(asleep) {
        return None;
    }
    // The exchange lets one ring alone make the call. Who got up meanwhile looks again before it sleeps, and sees the index.
    doorbell.compare_exchange(asleep, AWAKE, Ordering::Relaxed, Ordering::Relaxed).ok()
}
