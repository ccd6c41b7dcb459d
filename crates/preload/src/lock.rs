//! A lock that knows its owner and can be held across fork(2).
//!
//! A signal's handler may call us while the thread that it interrupted holds the lock; waiting would never end, so it is told.
//! The wait is futex(2), as in Drepper, "Futexes Are Tricky" (2011), mutex 2.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use rustix::thread::futex;

/// Attempts before a thread sleeps: a call holds the lock for less than a microsecond mostly.
const SPINS: u32 = 100;
const FREE: u32 = 0;
const HELD: u32 = 1;
const WANTED: u32 = 2;

pub(crate) struct Lock<T> {
    state: AtomicU32,
    owner: AtomicUsize,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only by the one thread that holds the lock.
unsafe impl<T: Send> Sync for Lock<T> {}

pub(crate) struct Guard<'a, T>(&'a Lock<T>);

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { state: AtomicU32::new(FREE), owner: AtomicUsize::new(0), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock; `None` when this very thread holds it.
    pub(crate) fn lock(&self) -> Option<Guard<'_, T>> {
        let me = this_thread();
        if self.owner.load(Ordering::Relaxed) == me {
            return None;
        }
        if !self.is_taken_at_once() {
            while self.state.swap(WANTED, Ordering::Acquire) != FREE {
                // Woken too early or interrupted, it tries again.
                let _ = futex::wait(&self.state, futex::Flags::PRIVATE, WANTED, None);
            }
        }
        self.owner.store(me, Ordering::Relaxed);
        Some(Guard(self))
    }

    /// Whether another thread waits for it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.state.load(Ordering::Relaxed) == WANTED
    }

    /// Lets go of a lock whose guard was forgotten, in the thread that took it or in its copy after fork(2).
    pub(crate) fn release(&self) {
        self.owner.store(0, Ordering::Relaxed);
        if self.state.swap(FREE, Ordering::Release) == WANTED {
            let _ = futex::wake(&self.state, futex::Flags::PRIVATE, 1);
        }
    }

    fn is_taken_at_once(&self) -> bool {
        for _ in 0..SPINS {
            let taken = self.state.compare_exchange_weak(FREE, HELD, Ordering::Acquire, Ordering::Relaxed);
            match taken {
                Ok(_) => return true,
                Err(WANTED) => return false,
                Err(_) => std::hint::spin_loop(),
            }
        }
        false
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

/// A number that no other living thread has: where a variable of its own is. It needs no system call and no memory.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here) as usize)
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
