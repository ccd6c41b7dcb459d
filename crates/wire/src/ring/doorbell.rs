//! How an end sleeps, and how the other wakes it: a futex in the shared memory (futex(2)).
//!
//! A system call is made only for an end that sleeps. That is Dekker's problem: one stores an index and then loads the
//! doorbell, the other stores the doorbell and then loads the index; at least one must see the other's store. Release and
//! Acquire do not order a store before a later load, so that both put a sequentially consistent fence between the two
//! (C++20 [atomics.fences], which Rust's model follows; futex(2) compares the word once more within the kernel).

use std::io;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use assay_model::units::Nanos;
use rustix::io::Errno;
use rustix::thread::futex;

/// What an end is asleep for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Asleep {
    /// Frames that arrive.
    ForFrames = 1,
    /// Those, or room for frames to send.
    ForRoom = 2,
}

const AWAKE: u32 = 0;

/// Sleeps until the bell is rung or `timeout` is over, unless `ready` says that there is no need. Whether a ring ended
/// the sleep; `None` if there was none.
pub(super) fn sleep(
    bell: &AtomicU32,
    reason: Asleep,
    timeout: Nanos,
    ready: impl FnOnce() -> bool,
) -> io::Result<Option<bool>> {
    bell.store(reason as u32, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    let slept = if ready() {
        None
    } else {
        let timeout = futex::Timespec {
            tv_sec: (timeout.0 / 1_000_000_000) as i64,
            tv_nsec: (timeout.0 % 1_000_000_000) as i64,
        };
        // Not FUTEX_PRIVATE: the word is found by its file, as another process maps it elsewhere.
        match futex::wait(bell, futex::Flags::empty(), reason as u32, Some(&timeout)) {
            // EAGAIN: rung before we slept; EINTR: a signal, and waits may end early.
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => Some(true),
            Err(Errno::TIMEDOUT) => Some(false),
            Err(error) => return Err(error.into()),
        }
    };
    bell.store(AWAKE, Ordering::Relaxed);
    Ok(slept)
}

/// Wakes whoever sleeps for `what`, after an index was published. Whether that took a system call.
pub(super) fn ring(bell: &AtomicU32, what: Asleep) -> bool {
    fence(Ordering::SeqCst);
    let asleep = bell.load(Ordering::Relaxed);
    let concerned = asleep == Asleep::ForRoom as u32 || asleep == what as u32;
    // The exchange lets one ring alone make the call.
    if !concerned || bell.swap(AWAKE, Ordering::Relaxed) == AWAKE {
        return false;
    }
    // It cannot fail for a mapped word, and nobody waits who would be told.
    let _ = futex::wake(bell, futex::Flags::empty(), 1);
    true
}
