//! Waiting for the stack and the kernel at once, as one call of the kernel's would: until something is ready, the time has
//! come, or a signal was handled.
//!
//! A wait looks first, because most are short, and then sleeps in one call of poll(2) on all at once: the descriptors that the
//! program waits for, and the one by which the engine tells that it has something to do ([`Engine::wake_source`]).
//!
//! Several threads may wait. One of them at a time waits for the engine too (it drives); the others wait for their own descriptors
//! of the kernel's and for a descriptor by which a thread that lets the engine move on tells them that something they wait for has
//! happened. A thread that stops driving wakes another to do so.
//!
//! A thread may leave its wait and never come back here: a handler jumps out of it (siglongjmp(3)), or the thread is cancelled. So a
//! wait is over as soon as a signal has ended it, before the program's handler runs ([`leave`]). Where no handler of ours is called (a
//! cancellation, a handler that nobody sees) it is over when the thread waits again, hears another signal, or ends. What such a wait
//! has on its stack is left as it is, so it owns nothing there that others need.
//!
//! [`Engine::wake_source`]: assay_engine::Engine::wake_source

use std::cell::{Cell, RefCell};
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::Arc;

use assay_engine::clock;
use assay_model::units::Nanos;
use assay_wire::SPIN;
use rustix::io::Errno;

use crate::host::{self, Held};
use crate::process::waiters::{Wake, Wants};
use crate::process::{self, Shared};
use crate::signals;

/// An engine without a descriptor waits by itself, at most so long before the kernel is asked for its descriptors and for signals,
/// right after something happened; then an eighth of the time since, so that a wait is at most that much too long.
const SLICE: Nanos = Nanos::from_micros(20);
const SLICE_SHARE: u64 = 8;
const SLICE_AT_MOST: Nanos = Nanos::from_millis(1);
/// A driver that holds the core while others want it leaves it to them for so long.
const LEAVE_TO_OTHERS: Nanos = Nanos::from_micros(50);

/// No wait has this number.
const NO_WAIT: u64 = 0;

thread_local! {
    /// The number of the wait that the thread is in, or was in when it left without a word.
    static WAIT: Cell<u64> = const { Cell::new(NO_WAIT) };
    /// The descriptor by which the thread is woken, once it has waited.
    static OWN: Own = const { Own(RefCell::new(None)) };
}

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
    let outcome = wait_or_restart(wants, host, deadline, mask, attempt);
    outcome.map_err(|error| if error == Errno::RESTART { Errno::INTR } else { error })
}

/// Waits like [`wait`], for a call that signal(7) has go on: if the handler that ended it is one whose calls do (`SA_RESTART`), the
/// error is [`Errno::RESTART`].
pub(crate) fn wait_or_restart<T>(
    wants: &Wants,
    host: &[libc::pollfd],
    deadline: Nanos,
    mask: Option<&libc::sigset_t>,
    attempt: impl FnMut(&mut Shared) -> Option<T>,
) -> Result<WaitOutcome<T>, Errno> {
    let held = Held::new();
    let wake = own_wake()?;
    // Most waits are for one descriptor of the kernel's, or none, and take no memory.
    let mut few = [watched(wake.number()), watched(-1), watched(-1)];
    let mut many = Vec::new();
    let descriptors = match host {
        [] => &mut few[..2],
        &[one] => {
            few[2] = one;
            &mut few[..]
        }
        _ => {
            many.extend(few[..2].iter().chain(host));
            &mut many[..]
        }
    };
    leave();
    let number = process::access()?.waiters.enlist(wants, wake);
    WAIT.set(number);
    let wait = Wait { number, deadline, mask: mask.unwrap_or(&held.before), since: clock::now() };
    let outcome = wait.run(descriptors, attempt);
    WAIT.set(NO_WAIT);
    process::access()?.waiters.dismiss(number);
    outcome
}

/// Takes the calling thread off those that wait, if it is among them: should it drive, another does so from now on.
pub(crate) fn leave() {
    let number = WAIT.replace(NO_WAIT);
    if number != NO_WAIT
        && let Ok(mut shared) = process::access()
    {
        shared.waiters.dismiss(number);
        shared.leave_quietly();
    }
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
            signals::expect();
            if let Err(error) = host::ppoll(descriptors, Some(sleep), Some(self.mask)) {
                return Err(if error == Errno::INTR && signals::restart() { Errno::RESTART } else { error });
            }
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

/// A thread's own descriptor, and an end of its last wait when the thread ends.
struct Own(RefCell<Option<Arc<Wake>>>);

impl Drop for Own {
    fn drop(&mut self) {
        leave();
    }
}

/// The descriptor by which this thread is woken. A child of fork(2) would share the one it inherits with its parent.
fn own_wake() -> Result<Arc<Wake>, Errno> {
    let made = || Wake::new().map(Arc::new);
    let kept = OWN.try_with(|own| {
        let mut wake = own.0.try_borrow_mut().ok()?;
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
