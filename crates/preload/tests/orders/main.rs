//! The lock's word in every order in which the steps of its threads can come (loom), with a model of futex(2) in the kernel's place.

#[path = "../../src/lock/word.rs"]
#[allow(dead_code, unreachable_pub, reason = "the library uses all of it")]
#[allow(clippy::absurd_extreme_comparisons, reason = "no attempts are made here before a thread sleeps")]
mod word;

/// What the word needs of the machine, as a model.
mod sync {
    pub(crate) use loom::sync::atomic::AtomicU32;
    use loom::sync::{Condvar, Mutex};
    use std::sync::atomic::Ordering;

    /// Each attempt doubles what there is to explore.
    pub(crate) const SPINS: u32 = 0;

    pub(crate) use loom::thread::yield_now as pause;

    loom::lazy_static! {
        /// The kernel's queue of sleepers, and its lock (kernel/futex).
        static ref QUEUE: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    pub(crate) fn sleep(word: &AtomicU32, value: u32) {
        let held = QUEUE.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if word.load(Ordering::Relaxed) == value {
            drop(QUEUE.1.wait(held));
        }
    }

    pub(crate) fn wake(_: &AtomicU32) {
        drop(QUEUE.0.lock());
        QUEUE.1.notify_one();
    }
}

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use word::{FREE, Word};

struct Counted {
    word: Word,
    count: UnsafeCell<u32>,
}

impl Counted {
    /// Loom fails when two of these can be at work at once, or one does not see what the other did.
    fn count(&self, me: u32) {
        assert!(self.word.acquire(me));
        assert_eq!(self.word.owner(), me);
        assert!(!self.word.acquire(me), "a signal's handler, at any moment in between");
        // SAFETY: the word is ours.
        self.count.with_mut(|count| unsafe { *count += 1 });
        self.word.release();
        assert_ne!(self.word.owner(), me);
    }
}

/// Lets threads meet at a lock that each takes `times` times, with at most `preemptions` interruptions in all.
fn threads_meet(threads: u32, times: u32, preemptions: usize) {
    // Errors show with few changes of thread at the wrong moment (Musuvathi and Qadeer, "Iterative Context Bounding", 2007).
    let mut explored = loom::model::Builder::new();
    explored.preemption_bound = Some(preemptions);
    explored.check(move || {
        let counted = Arc::new(Counted { word: Word(sync::AtomicU32::new(FREE)), count: UnsafeCell::new(0) });
        let others: Vec<_> = (1..threads)
            .map(|other| {
                let counted = Arc::clone(&counted);
                thread::spawn(move || (0..times).for_each(|_| counted.count(other + 1)))
            })
            .collect();
        (0..times).for_each(|_| counted.count(1));
        others.into_iter().for_each(|other| assert!(other.join().is_ok()));
        // SAFETY: the others have ended.
        counted.count.with(|count| assert_eq!(unsafe { *count }, threads * times));
        assert_eq!(counted.word.owner(), 0);
        assert!(!counted.word.is_wanted(), "nobody sleeps for ever");
    });
}

#[test]
fn two_threads_twice() {
    threads_meet(2, 2, 3);
}

#[test]
fn three_threads() {
    threads_meet(3, 1, 2);
}
