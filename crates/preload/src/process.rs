//! The one core of this process, and which descriptors are its.

use std::os::fd::RawFd;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};

use assay_engine::clock;
use assay_model::units::Nanos;
use rustix::io::Errno;

use crate::core::{Core, Report};
use crate::lock::{Guard, Lock};
use crate::settings::{self, Settings};
use crate::stack::{self, Stack};
use crate::waiting::Waiters;

/// Descriptors that can be the stack's; as many as the kernel lets a process open unless `fs.nr_open` was raised.
const DESCRIPTORS: usize = 1 << 20;
/// So long after the last turn, any call of the program's catches up: well before the 40 ms for which `assay-tcp` delays an
/// acknowledgement, even when the clock that is asked lags by a tick of 10 ms, and longer than who comes back to its wait is away.
/// What a program under load takes in early leaves the processor's cache before it is read.
const AWAY: Nanos = Nanos::from_millis(10);
/// Turns at most that one call takes for that: a peer that never stops must not keep the program from going on.
const TURNS_AT_ONCE: usize = 256;
/// How long the end of the program may wait for bytes to leave.
const FAREWELL: Nanos = Nanos::from_millis(500);

/// Which descriptors are the stack's. To be asked by every call, also from a signal's handler: so no lock.
static OURS: [AtomicU8; DESCRIPTORS] = [const { AtomicU8::new(0) }; DESCRIPTORS];
static SHARED: Lock<Option<Shared>> = Lock::new(None);
/// The process that [`SHARED`] belongs to. A child of vfork(2) has another number and our memory.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// What the threads of the process share.
pub(crate) struct Shared {
    pub(crate) core: Core<Stack>,
    pub(crate) waiters: Waiters,
    /// When the kernel was last asked for its own descriptors.
    pub(crate) asked_host: Nanos,
    /// When the core last had a turn.
    pub(crate) turned: Nanos,
    /// Memory for what an epoll instance reports.
    pub(crate) reports: Vec<Report>,
    /// Epoll instances that were given sockets of the kernel's to watch, which may become ours.
    pub(crate) host_sets: Vec<RawFd>,
    /// It has children by fork(2), which may have taken what it left to them.
    has_children: bool,
}

impl Shared {
    /// Lets the engine move on and wakes the threads that waited for what happened.
    /// Returns whether anything happened.
    pub(crate) fn turn(&mut self, until: Nanos) -> Result<bool, Errno> {
        let any = self.core.turn(until)?;
        self.turned = clock::now();
        if any {
            self.waiters.wake(&mut self.core);
        }
        Ok(any)
    }

    /// Whether there is an engine, or could be one by what is known before it is made ([`stack::check`]). A parent of processes that
    /// have every queue may go on listening for them.
    pub(crate) fn check_stack(&self) -> Result<(), Errno> {
        if self.core.has_engine() || self.has_children { Ok(()) } else { stack::check() }
    }

    /// Takes turns until the wire is empty, or as many as are allowed: a turn takes only so much of it, and a program may accept ten
    /// thousand connections, or answer all that one wait has reported, before it waits again. One that computes and makes no call on
    /// our descriptors cannot be helped: until it does, its peers hear nothing, not even what it has written already.
    pub(crate) fn catch_up(&mut self) -> Result<(), Errno> {
        for _ in 0..TURNS_AT_ONCE {
            let frames = self.core.received_frames();
            self.turn(Nanos::ZERO)?;
            if self.core.received_frames() == frames {
                break;
            }
        }
        Ok(())
    }
}

/// The core, to be given back soon.
pub(crate) struct Access {
    guard: Guard<'static, Option<Shared>>,
    /// What the engine has to do may be more now.
    used: bool,
}

impl Access {
    /// Gives it back without a word to the thread that waits for the engine: it is this one.
    pub(crate) fn leave_quietly(mut self) {
        self.used = false;
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        let Some(shared) = self.guard.as_mut().filter(|_| self.used) else { return };
        // A broken engine is made anew by who waits for it.
        if shared.waiters.driver_sleeps() {
            // What was sent leaves.
            let _ = shared.turn(Nanos::ZERO);
            shared.waiters.disturb();
        } else if shared.core.has_engine() && clock::at_last_tick() - shared.turned > AWAY {
            let _ = shared.catch_up();
        }
    }
}

impl std::ops::Deref for Access {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        match &*self.guard {
            Some(shared) => shared,
            None => std::process::abort(),
        }
    }
}

impl std::ops::DerefMut for Access {
    fn deref_mut(&mut self) -> &mut Shared {
        self.used = true;
        self.guard.get_or_insert_with(new_shared)
    }
}

/// The settings, when this process has a stack.
pub(crate) fn settings() -> Option<&'static Settings> {
    settings::get()
}

/// Whether the descriptor is the stack's.
pub(crate) fn is_ours(fd: RawFd) -> bool {
    usize::try_from(fd).ok().and_then(|fd| OURS.get(fd)).is_some_and(|o| o.load(Ordering::Relaxed) != 0)
}

/// Whether the descriptor can become the stack's.
pub(crate) fn fits(fd: RawFd) -> bool {
    usize::try_from(fd).is_ok_and(|fd| fd < DESCRIPTORS)
}

/// Notes that the descriptor is the stack's, or no longer.
pub(crate) fn mark(fd: RawFd, ours: bool) {
    if let Some(mark) = usize::try_from(fd).ok().and_then(|fd| OURS.get(fd)) {
        mark.store(u8::from(ours), Ordering::Relaxed);
    }
}

/// Takes the core.
///
/// # Errors
/// The calling thread has it already: it was interrupted, and a signal's handler calls.
pub(crate) fn access() -> Result<Access, Errno> {
    let mut guard = SHARED.lock().ok_or_else(|| {
        crate::log::say("a signal's handler used a socket of the stack while the stack was at work; that cannot be carried");
        Errno::DEADLK
    })?;
    guard.get_or_insert_with(new_shared);
    Ok(Access { guard, used: false })
}

/// Whether another thread waits for the core.
pub(crate) fn is_wanted() -> bool {
    SHARED.is_wanted()
}

/// The number of the process whose sockets these are.
pub(crate) fn owner() -> i32 {
    OWNER.load(Ordering::Relaxed)
}

/// Whether this process is a child of vfork(2), which has our memory but is not us.
pub(crate) fn is_borrowed() -> bool {
    let owner = owner();
    owner != 0 && owner != rustix::process::getpid().as_raw_nonzero().get()
}

fn new_shared() -> Shared {
    static HANDLERS: Once = Once::new();
    OWNER.store(rustix::process::getpid().as_raw_nonzero().get(), Ordering::Relaxed);
    HANDLERS.call_once(|| {
        // SAFETY: the three functions are there as long as this library, which nobody unloads.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
    });
    Shared {
        core: Core::new(stack::make),
        waiters: Waiters::new(),
        asked_host: Nanos::ZERO,
        turned: Nanos::ZERO,
        reports: Vec::new(),
        host_sets: Vec::new(),
        has_children: false,
    }
}

extern "C" fn before_fork() {
    std::mem::forget(SHARED.lock());
}

extern "C" fn in_parent() {
    SHARED.release();
    if let Some(mut guard) = SHARED.lock()
        && let Some(shared) = guard.as_mut()
    {
        shared.core.shared_with_child();
        shared.has_children = true;
    }
}

extern "C" fn in_child() {
    SHARED.release();
    OWNER.store(rustix::process::getpid().as_raw_nonzero().get(), Ordering::Relaxed);
    if let Some(mut guard) = SHARED.lock()
        && let Some(shared) = guard.as_mut()
    {
        shared.core.after_fork();
        shared.waiters = Waiters::new();
        shared.has_children = false;
    }
}

/// Sends what is left when the program ends: the kernel would.
pub(crate) fn finish() {
    if settings().is_none() || OWNER.load(Ordering::Relaxed) == 0 || is_borrowed() {
        return;
    }
    if let Some(mut guard) = SHARED.lock()
        && let Some(shared) = guard.as_mut()
    {
        shared.core.finish(clock::now() + FAREWELL);
        report(shared);
        // What the engine has outside this process, it takes down itself.
        shared.core.drop_engine();
    }
}

/// Leaves the counters where messages go, if that is a file: a program's own standard error is not ours to fill.
fn report(shared: &Shared) {
    if settings().is_some_and(|s| s.log.is_some()) {
        crate::log::say(&shared.core.counters().to_string());
    }
}
