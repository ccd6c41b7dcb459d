//! Handlers of signals wait while their thread is in a lock of ours, as they would while it is in a call of the kernel's.
//!
//! To mask signals around each lock would be two system calls for every call of the program's. Instead the kernel is given a
//! function of ours in place of each handler (`sigaction`). If the thread has no lock, that calls the handler. If it has, the signal is sent to the
//! thread once more, behind a mask that holds from when this function returns until the last lock is let go of: so it is masked
//! when it has to be, and costs a thread without signals two counts in its own memory.
//!
//! Signals that tell of a fault of the instruction itself cannot wait, and a program that installs a handler by an instruction of
//! its own is not seen; a lock tells those that its thread has it, and the call fails with `EDEADLK`.
//!
//! A handler that has ended a call's wait also tells whether that call is made again, by how it was installed (`SA_RESTART`). Of several
//! that came together the last one to return counts: it is the one that the kernel would have gone by. One that is not seen tells
//! nothing, and the call fails with `EINTR`.
//!
//! One case is left that can wait for ever: a handler that has interrupted malloc(3) and uses a socket of the stack, at the moment at
//! which another thread forks: fork(3) has our locks then and waits for that of malloc(3).

use std::cell::Cell;
use std::sync::atomic::{Ordering, compiler_fence};

/// A set of signals as the kernel has it: what the C library's type has beyond is not in a signal's frame (rt_sigaction(2)).
pub(crate) type Mask = u64;
const ALL: Mask = !0;

thread_local! {
    /// Locks that the thread has, or is about to have.
    static LOCKS: Cell<u32> = const { Cell::new(0) };
    /// Signals wait behind a mask; this is the one to come back to.
    static BEFORE: Cell<Option<Mask>> = const { Cell::new(None) };
    /// Whether the handler that returned last was installed with `SA_RESTART`.
    static RESTART: Cell<bool> = const { Cell::new(false) };
}

/// A call is about to wait.
pub(crate) fn expect() {
    RESTART.set(false);
}

/// A handler has returned; calls that it has interrupted are to be made again, or not.
pub(crate) fn note_return(restart: bool) {
    RESTART.set(restart);
}

/// Whether the call whose wait a signal has ended is to be made again.
pub(crate) fn restart() -> bool {
    RESTART.get()
}

/// From now on handlers wait.
pub(crate) fn hold_back() {
    LOCKS.set(LOCKS.get() + 1);
    compiler_fence(Ordering::SeqCst);
}

/// Lets the signals come that have waited, unless the thread has another lock.
pub(crate) fn let_come() {
    compiler_fence(Ordering::SeqCst);
    let locks = LOCKS.get().saturating_sub(1);
    LOCKS.set(locks);
    compiler_fence(Ordering::SeqCst);
    if locks == 0
        && let Some(before) = BEFORE.take()
    {
        set_mask(before);
    }
}

/// Whether a signal that has come has to wait. Then no other comes before it is sent once more, and `mask`, which the thread gets when
/// the signal's handler returns, keeps all back until the last lock is let go of.
pub(crate) fn waits(mask: &mut Mask) -> bool {
    if LOCKS.get() == 0 {
        return false;
    }
    set_mask(ALL);
    BEFORE.set(Some(BEFORE.get().unwrap_or(*mask)));
    *mask = ALL;
    true
}

fn set_mask(mask: Mask) {
    // SAFETY: a set of signals is plain bits, of which the kernel reads the first.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        (&raw mut set).cast::<Mask>().write(mask);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn current() -> Mask {
        // SAFETY: a set of signals is plain bits, and writable.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut set);
            (&raw const set).cast::<Mask>().read()
        }
    }

    #[test]
    fn a_signal_waits_for_the_last_lock() {
        let (mut mask, before) = (current(), current());
        assert!(!waits(&mut mask), "no lock");
        hold_back();
        hold_back();
        assert!(waits(&mut mask));
        assert_eq!(mask, ALL);
        assert!(waits(&mut mask), "one that came in between");
        let_come();
        assert_ne!(current(), before, "one lock is left");
        let_come();
        assert_eq!(current(), before);
    }
}
