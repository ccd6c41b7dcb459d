//! Waiting for the stack and the kernel at once, as one call of the kernel's would: until something is ready, the time has
//! come, or a signal was handled.
//!
//! A wait looks first, because most are short, and then sleeps in one call of poll(2) on all at once: the descriptors that the
//! program waits for, and the one by which the engine tells that it has something to do ([`Engine::wake_source`]).
//!
//! Several threads may wait. One of them at a time waits for the engine too (it drives); the others wait for their own descriptors
//! of the kernel's and for a descriptor by which a thread that lets the engine move on tells them that something they wait for has
//! happened. Who stops driving wakes another to do so.
//!
//! [`Engine::wake_source`]: assay_engine::Engine::wake_source

use std::cell::RefCell;
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::Arc;

use assay_engine::clock;
use assay_model::units::Nanos;
use assay_wire::SPIN;
use rustix::io::Errno;

use crate::host::{self, Held};
use crate::process::waiters::{Wake, Wants};
use crate::process::{self, Shared};

/// An engine without a descriptor waits by itself, at most so long before the kernel is asked for its descriptors and for signals,
/// right after something happened; then an eighth of the time since, so that a wait is at most that much too long.
const SLICE: Nanos = Nanos::from_micros(20);
const SLICE_SHARE: u64 = 8;
const SLICE_AT_MOST: Nanos = Nanos::from_millis(1);
/// A driver that holds the core while others want it leaves it to them for so long.
const LEAVE_TO_OTHERS: Nanos = Nanos::from_micros(50);

/// How a wait ended.
pub(crate) enum WaitOutcome<T> {
    /// What was waited for.
    Done(T),
    /// A descriptor of the kernel's is ready.
    Host,
    /// The time has come.
    TimedOut,
}

/// Waits until `attempt` has a result, one of `host` is ready, or `deadline` has come. Signals are handled as `mask` says, or
/// as the thread has set them, and one that was ends the wait with [`Errno::INTR`].
pub(crate) fn wait<T>(
    wants: &Wants,
    host: &[libc::pollfd],
    deadline: Nanos,
    mask: Option<&libc::sigset_t>,
    attempt: impl FnMut(&mut Shared) -> Option<T>,
) -> Result<WaitOutcome<T>, Errno> {
    let held = Held::new();
    let wake = own_wake()?;
    let number = process::access()?.waiters.enlist(wants, &wake);
    let mut descriptors = vec![watched(wake.number()), watched(-1)];
    descriptors.extend_from_slice(host);
    let wait = Wait { number, deadline, mask: mask.unwrap_or(&held.before), since: clock::now() };
    let outcome = wait.run(&mut descriptors, attempt);
    process::access()?.waiters.dismiss(number);
    outcome
}

struct Wait<'a> {
    number: u64,
    deadline: Nanos,
    mask: &'a libc::sigset_t,
    since: Nanos,
}

impl Wait<'_> {
    fn run<T>(
        &self,
        descriptors: &mut [libc::pollfd],
        mut attempt: impl FnMut(&mut Shared) -> Option<T>,
    ) -> Result<WaitOutcome<T>, Errno> {
        let mut slice = Nanos::ZERO;
        loop {
            let mut shared = process::access()?;
            if let Some(done) = self.look(&mut shared, slice, &mut attempt)? {
                return Ok(WaitOutcome::Done(done));
            }
            let now = clock::now();
            if now >= self.deadline {
                return Ok(WaitOutcome::TimedOut);
            }
            let nap = self.nap(&mut shared, now);
            descriptors[1].fd = nap.source;
            slice = nap.slice;
            shared.leave_quietly();
            let sleep = nap.sleep.min(self.deadline - now);
            host::ppoll(descriptors, Some(sleep), Some(self.mask))?;
            if descriptors[0].revents != 0 {
                hush(descriptors[0].fd);
            }
            if descriptors[2..].iter().any(|d| d.revents != 0) {
                return Ok(WaitOutcome::Host);
            }
        }
    }

    /// Lets the engine move on, for `slice` or for as long as it is worth looking.
    fn look<T>(
        &self,
        shared: &mut Shared,
        slice: Nanos,
        attempt: &mut impl FnMut(&mut Shared) -> Option<T>,
    ) -> Result<Option<T>, Errno> {
        let now = clock::now();
        shared.turn(if slice == Nanos::ZERO { slice } else { self.deadline.min(now + slice) })?;
        let mut done = attempt(shared);
        let looks = shared.waiters.drives(self.number) && shared.core.looks_for_free();
        let end = self.deadline.min(self.since + SPIN);
        while done.is_none() && looks && shared.turned < end && !process::is_wanted() {
            if shared.turn(Nanos::ZERO)? {
                done = attempt(shared);
            }
        }
        Ok(done)
    }

    /// What to sleep on next.
    fn nap(&self, shared: &mut Shared, now: Nanos) -> Nap {
        let none = Nap { source: -1, sleep: Nanos::MAX, slice: Nanos::ZERO };
        if !shared.waiters.drives(self.number) {
            return none;
        }
        if let Some((source, due)) = shared.core.wake_source() {
            let (source, engine) = (source.as_raw_fd(), if due < Nanos::MAX { due - now } else { due });
            return Nap { source, sleep: shared.waiters.fall_asleep(engine), ..none };
        }
        if process::is_wanted() {
            return Nap { sleep: LEAVE_TO_OTHERS, slice: SLICE, ..none };
        }
        let idle = Nanos((now - self.since).0 / SLICE_SHARE);
        Nap { sleep: Nanos::ZERO, slice: idle.max(SLICE).min(SLICE_AT_MOST), ..none }
    }
}

/// How a thread sleeps: in the kernel, on the engine's descriptor if there is one, then in the engine.
struct Nap {
    source: RawFd,
    sleep: Nanos,
    slice: Nanos,
}

pub(crate) fn watched(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// The descriptor by which this thread is woken. A child of fork(2) would share the one it inherits with its parent.
fn own_wake() -> Result<Arc<Wake>, Errno> {
    thread_local!(static WAKE: RefCell<Option<Arc<Wake>>> = const { RefCell::new(None) });
    let made = || Wake::new().map(Arc::new);
    let kept = WAKE.try_with(|wake| {
        let mut wake = wake.try_borrow_mut().ok()?;
        let known = wake.as_ref().filter(|known| known.is_whole());
        let own = known.map_or_else(|| made().ok(), |known| Some(Arc::clone(known)))?;
        *wake = Some(Arc::clone(&own));
        Some(own)
    });
    // The thread is ending: one for this wait alone.
    kept.ok().flatten().map_or_else(made, Ok)
}

fn hush(wake: RawFd) {
    let read = host::real!(read: fn(i32, *mut std::ffi::c_void, usize) -> isize);
    let mut count = [0u8; 8];
    // SAFETY: eight bytes are writable, as eventfd(2) wants.
    unsafe { read(wake, count.as_mut_ptr().cast(), count.len()) };
}
