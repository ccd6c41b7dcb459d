//! A lock that knows its owner and can be held across fork(2).
//!
//! A signal's handler may call us while the thread that it interrupted has the lock; waiting would never end. So a thread that has
//! a lock has the program's handlers wait ([`crate::signals`]), and one that comes nevertheless is told.

mod sync;
mod word;

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};

use sync::{AtomicU32, this_thread};
use word::{FREE, Word};

use crate::signals;

pub(crate) struct Lock<T> {
    word: Word,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only by the one thread that holds the lock.
unsafe impl<T: Send> Sync for Lock<T> {}

pub(crate) struct Guard<'a, T>(&'a Lock<T>);

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { word: Word(AtomicU32::new(FREE)), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock; `None` when this very thread holds it.
    pub(crate) fn lock(&self) -> Option<Guard<'_, T>> {
        signals::hold_back();
        if self.word.acquire(this_thread()) {
            return Some(Guard(self));
        }
        signals::let_come();
        None
    }

    /// Whether another thread waits for it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.word.is_wanted()
    }

    /// Whether another thread has it.
    pub(crate) fn is_others(&self) -> bool {
        !matches!(self.word.owner(), FREE) && !self.is_own()
    }

    /// Whether the calling thread has it.
    pub(crate) fn is_own(&self) -> bool {
        self.word.owner() == this_thread()
    }

    /// Lets go of a lock whose guard was forgotten, in the thread that took it or in its copy after fork(2).
    pub(crate) fn release(&self) {
        self.word.release();
        signals::let_come();
    }

    /// Takes the value from a lock whose owner is not in this process: it was another thread of the one that forked this one off.
    pub(crate) fn replace_abandoned(&self, value: T) -> T {
        self.word.release();
        // SAFETY: no thread has it, and this is the only one there is.
        std::mem::replace(unsafe { &mut *self.value.get() }, value)
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: a guard exists only while its thread holds the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_has_it() {
        static LOCK: Lock<u64> = Lock::new(0);
        let count = || {
            for _ in 0..20_000 {
                let mut guard = LOCK.lock().unwrap();
                let seen = *guard;
                std::hint::black_box(&guard);
                *guard = seen + 1;
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(count))));
        assert_eq!(*LOCK.lock().unwrap(), 80_000);
    }

    #[test]
    fn who_has_it_is_told_instead_of_waiting_for_itself() {
        let lock = Lock::new(());
        let guard = lock.lock();
        assert!(guard.is_some() && lock.lock().is_none());
        drop(guard);
        assert!(lock.lock().is_some());
    }

    #[test]
    fn it_can_be_let_go_without_its_guard() {
        let lock = Lock::new(());
        std::mem::forget(lock.lock());
        lock.release();
        assert!(lock.lock().is_some());
    }
}
