//! The one core of this process.

pub(crate) mod waiters;

use std::cell::Cell;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::sync::{Once, OnceLock};

use assay_descriptors as descriptors;
use assay_engine::clock;
use assay_model::units::Nanos;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use waiters::Waiters;

use crate::core::{Core, Report};
use crate::host::Uncancelled;
use crate::lock::{Guard, Lock};
use crate::settings::{self, Settings};
use crate::stack::{self, Stack};
use crate::{fdinfo, heap, host, marks};

/// Time after the last turn from which any call of the program's catches up: well before the 40 ms for which `assay-tcp` delays an acknowledgement,
/// even when the clock that is asked lags by a tick of 10 ms, and longer than a program is away that comes back to its wait. What a program under
/// load takes in early leaves the processor's cache before it is read.
const AWAY: Nanos = Nanos::from_millis(10);
/// Turns at most that one call takes for that: a peer that never stops must not keep the program from going on.
const TURNS_AT_ONCE: usize = 256;
/// How long the end of the program may wait for bytes to leave.
const FAREWELL: Nanos = Nanos::from_millis(500);

static SHARED: Lock<Option<Shared>> = Lock::new(None);
/// 1, but 0 in a child that does not know of itself yet.
static WITNESS: OnceLock<Option<&'static AtomicU32>> = OnceLock::new();
thread_local! {
    /// See [`part_descriptors`].
    static PARTED: Cell<bool> = const { Cell::new(false) };
    /// Whether [`before_fork`] has taken the core, and memory.
    static HELD_TO_FORK: Cell<(bool, bool)> = const { Cell::new((false, false)) };
}
/// The process that [`SHARED`] belongs to. A child of vfork(2) has another number and our memory.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// The program cancels threads: then those who have the core must not go in the midst of it.
static CANCELS: AtomicBool = AtomicBool::new(false);

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
    /// Streams of the C library that are open on its sockets: their addresses, and what names the descriptor.
    pub(crate) streams: Vec<(usize, usize)>,
    /// Whether the process has children by fork(2), which may have taken what it left to them.
    has_children: bool,
}

impl Shared {
    /// Lets the engine move on and wakes the threads that waited for what happened.
    /// Returns whether anything happened.
    pub(crate) fn turn(&mut self, until: Nanos) -> Result<bool, Errno> {
        let any = self.core.turn(until)?;
        self.turned = clock::now();
        self.tell_news();
        Ok(any)
    }

    /// Wakes the threads that wait for what has happened: by the engine, or by a call of another thread's (shutdown(2)).
    fn tell_news(&mut self) {
        if self.core.take_news() {
            self.waiters.wake(&mut self.core);
        }
    }

    /// An epoll instance watches a descriptor from now on, or in another way. Threads that wait for the instance hear of what is true
    /// already, as from the kernel; should nobody wait at all, whoever does next looks by itself.
    pub(crate) fn tell_of_watch(&mut self, fd: RawFd, flags: EventFlags) {
        if !self.waiters.is_empty() && self.core.is_due(fd, flags) {
            self.waiters.wake(&mut self.core);
        }
    }

    /// Lets go of what a number named, if anything.
    pub(crate) fn forget(&mut self, fd: RawFd) {
        if marks::is_marked(fd) {
            marks::clear(fd);
            self.core.close(fd);
        }
    }

    /// Another descriptor for what is ours already.
    pub(crate) fn duplicate(&mut self, from: RawFd, to: RawFd) {
        if marks::is_set(from) {
            marks::put_set(to)
        } else {
            marks::put_socket(to)
        }
        self.core.duplicate(from, to);
    }

    /// Closes what the program ends, which may not wait soon.
    fn end(&mut self, fd: RawFd) {
        let waits = self.core.waits(fd);
        self.forget(fd);
        if waits {
            // A thread that waits in its calls may be long in coming back, and the farewell leaves with a turn. Should the stack
            // be broken, the next call says so.
            let _ = self.turn(Nanos::ZERO);
        }
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
    /// Given back after the core.
    _uncancelled: Option<Uncancelled>,
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
        shared.tell_news();
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

/// Whether the descriptor is a socket of the stack.
pub(crate) fn is_ours(fd: RawFd) -> bool {
    if !marks::is_socket(fd) {
        return false;
    }
    notice_fork();
    marks::holds(fd) || is_ours_after_all(fd)
}

/// Lets go of a descriptor that was ended where we could not see it, and whose number may be another file's; unless another thread
/// has just now closed it and given the number to a socket of the stack, which cannot happen while we have the core.
fn is_ours_after_all(fd: RawFd) -> bool {
    // In a child of vfork(2) the number is another one's, and the mark is its parent's.
    let Some(mut shared) = (!is_borrowed()).then(access).and_then(Result::ok) else { return false };
    let holds = marks::is_socket(fd) && marks::holds(fd);
    if !holds {
        shared.end(fd);
    }
    holds
}

/// The descriptor is about to be closed, or has become another.
pub(crate) fn forget(fd: RawFd) {
    // A child of vfork(2) closes its own descriptors, but this memory is its parent's.
    if marks::is_marked(fd)
        && !is_borrowed()
        && let Ok(mut shared) = access()
    {
        shared.end(fd);
    }
}

/// Whether the number is a descriptor of this library's own, which the program knows nothing of and must not end.
pub(crate) fn is_kept(fd: RawFd) -> bool {
    if !descriptors::is_listed(fd) || is_borrowed() {
        return false;
    }
    if is_unseen_child() {
        // It learns what it is, and lets go of what was its parent's.
        drop(access());
    }
    host::file(fd).is_some_and(|file| descriptors::is_kept(fd, file))
}

/// Kept descriptors of a range, lowest first.
pub(crate) fn kept_within(first: u32, last: u32) -> impl Iterator<Item = u32> {
    descriptors::listed(first, last).filter(|&fd| is_kept(fd)).map(|fd| fd as u32)
}

/// Whether the calling thread is at work in this library, so that what it closes is this library's.
pub(crate) fn is_at_work() -> bool {
    SHARED.is_own()
}

/// Takes the core.
///
/// # Errors
/// The calling thread has it already: it was interrupted by a signal whose handler calls, and could not wait ([`crate::signals`]).
pub(crate) fn access() -> Result<Access, Errno> {
    notice_fork();
    let mut guard = SHARED.lock().ok_or_else(|| {
        crate::log::say("a signal's handler used a socket of the stack while the stack was at work; that cannot be carried");
        Errno::DEADLK
    })?;
    let shared = guard.get_or_insert_with(new_shared);
    if is_unseen_child() {
        begin_as_child(shared);
    }
    let uncancelled = CANCELS.load(Ordering::Relaxed).then(Uncancelled::new);
    Ok(Access { guard, used: false, _uncancelled: uncancelled })
}

/// The program is about to cancel a thread. Whoever has the core now has given it back by then, and from now on whoever takes it
/// cannot be cancelled before that: some of what the engine calls are places where threads are (pthreads(7)).
pub(crate) fn expect_cancellation() {
    if settings().is_some()
        && !CANCELS.load(Ordering::Relaxed)
        && let Ok(_held) = access()
    {
        CANCELS.store(true, Ordering::Relaxed);
    }
}

/// Whether another thread waits for the core.
pub(crate) fn is_wanted() -> bool {
    SHARED.is_wanted()
}

/// The number of the process whose sockets these are.
pub(crate) fn owner() -> i32 {
    OWNER.load(Ordering::Relaxed)
}

/// Whether the descriptors that the calling thread sees are not those that the marks are about: it is a child of vfork(2), which has
/// our memory but is not us, or has parted from the others ([`part_descriptors`]).
pub(crate) fn is_borrowed() -> bool {
    let owner = owner();
    PARTED.get() || (owner != 0 && owner != this_process() && !is_unseen_child())
}

/// Whether this is a child that fork(3) has not made, so that nobody called [`in_child`]: `_Fork(3)`, or the system call itself.
fn is_unseen_child() -> bool {
    WITNESS.get().copied().flatten().is_some_and(|word| word.load(Ordering::Relaxed) == 0)
}

fn this_process() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// The calling thread gets a table of descriptors for itself (`CLONE_FILES` of unshare(2)): what it ends there stays with the others.
/// A thread that is alone keeps the one there is.
pub(crate) fn part_descriptors() {
    if settings().is_some() && !is_alone() {
        PARTED.set(true);
    }
}

/// Whether this process has no thread but the calling one, as far as can be told. One that is on its way out does not count, although
/// it is still there for a moment when it has been waited for.
fn is_alone() -> bool {
    let stays = |task: std::io::Result<std::fs::DirEntry>| {
        let told = task.and_then(|task| std::fs::read_to_string(task.path().join("stat")));
        told.is_ok_and(|text| !fdinfo::is_exiting(&text))
    };
    std::fs::read_dir("/proc/self/task")
        .is_ok_and(|tasks| tasks.filter_map(|t| stays(t).then_some(())).count() <= 1)
}

fn new_shared() -> Shared {
    static HANDLERS: Once = Once::new();
    OWNER.store(this_process(), Ordering::Relaxed);
    HANDLERS.call_once(|| {
        // SAFETY: the three functions are there as long as this library, which nobody unloads.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
    });
    witness();
    descriptors::set_apart();
    Shared {
        core: Core::new(stack::make),
        waiters: Waiters::new(),
        asked_host: Nanos::ZERO,
        turned: Nanos::ZERO,
        reports: Vec::new(),
        host_sets: Vec::new(),
        streams: Vec::new(),
        has_children: false,
    }
}

/// Lets this process know of itself from now on.
fn witness() {
    if let Some(word) = WITNESS.get_or_init(host::witness_of_fork) {
        word.store(1, Ordering::Relaxed);
    }
}

/// Nobody else may be at work when memory is copied. A handler of a signal that did not wait and forks finds the core with its own
/// thread, which goes on with it, in the parent and in the child.
extern "C" fn before_fork() {
    let core = SHARED.lock().map(std::mem::forget).is_some();
    HELD_TO_FORK.set((core, heap::hold()));
}

fn after_fork() {
    let (core, heap) = HELD_TO_FORK.take();
    if heap {
        heap::let_go();
    }
    if core {
        SHARED.release();
    }
}

extern "C" fn in_parent() {
    after_fork();
    if let Some(mut guard) = SHARED.lock()
        && let Some(shared) = guard.as_mut()
    {
        shared.core.shared_with_child();
        shared.has_children = true;
    }
}

extern "C" fn in_child() {
    after_fork();
    if let Some(mut guard) = SHARED.lock()
        && let Some(shared) = guard.as_mut()
    {
        begin_as_child(shared);
    }
}

fn begin_as_child(shared: &mut Shared) {
    OWNER.store(this_process(), Ordering::Relaxed);
    witness();
    shared.core.after_fork();
    let core = &shared.core;
    let parents = descriptors::listed(0, u32::MAX).filter(|&fd| !core.has_bell(fd));
    parents.for_each(close_parents);
    shared.waiters.begin_as_child();
    shared.has_children = false;
}

/// Closes what the parent's stack has open, and a child has no use for: it would keep the parent's place on a wire beyond its end.
fn close_parents(fd: RawFd) {
    let is_there = host::file(fd).is_some_and(|file| descriptors::is_kept(fd, file));
    descriptors::release(fd);
    if is_there {
        host::close(fd);
    }
}

/// In a child that nobody saw, another thread of the parent may have been at work when memory was copied: what it left is not whole,
/// and this process has nothing of it.
fn notice_fork() {
    if !is_unseen_child() {
        return;
    }
    heap::begin_anew();
    if !SHARED.is_others() {
        return;
    }
    // Dropping it could touch memory that both processes share.
    std::mem::forget(SHARED.replace_abandoned(None));
    marks::within(0, u32::MAX).for_each(marks::clear);
    descriptors::listed(0, u32::MAX).for_each(close_parents);
    OWNER.store(this_process(), Ordering::Relaxed);
    witness();
}

/// Lets what was written leave, before the process becomes another program.
pub(crate) fn send_all() {
    if settings().is_some()
        && owner() != 0
        && !is_borrowed()
        && let Ok(mut shared) = access()
    {
        // Should the stack be broken, there is nobody to tell.
        let _ = shared.turn(Nanos::ZERO);
    }
}

/// Sends what is left when the program ends: the kernel would.
pub(crate) fn finish() {
    if settings().is_none() || OWNER.load(Ordering::Relaxed) == 0 || is_borrowed() || is_unseen_child() {
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
