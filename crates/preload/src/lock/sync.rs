//! What a lock's word needs of the machine. The test of all its orders (`tests/orders`) puts a model in this place.

use std::sync::atomic::Ordering;

use rustix::thread::futex;

pub(crate) use std::hint::spin_loop as pause;
pub(crate) use std::sync::atomic::AtomicU32;

/// Attempts before a thread sleeps: a call holds the lock for less than a microsecond mostly.
pub(crate) const SPINS: u32 = 100;

/// Sleeps while the word is `value`; woken too early or interrupted, it returns.
pub(crate) fn sleep(word: &AtomicU32, value: u32) {
    let _ = futex::wait(word, futex::Flags::PRIVATE, value, None);
}

/// Wakes one that sleeps.
pub(crate) fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
}

/// A number that no other thread of this process has, and none of its children by fork(2) gets. It needs no system call: a signal's
/// handler may ask for it, and the thread's number in the kernel is another one after fork(2).
pub(crate) fn this_thread() -> u32 {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    thread_local!(static NUMBER: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
    NUMBER.with(|number| {
        if number.get() == 0 {
            // Half of all numbers are the most that a word can tell apart; nobody starts two thousand million threads.
            number.set(GIVEN.fetch_add(1, Ordering::Relaxed) + 1);
        }
        number.get()
    })
}
