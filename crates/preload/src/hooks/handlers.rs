//! Handlers of signals: `sigaction(2)` and `signal(2)`. The kernel is given a function of ours that calls the program's handler at
//! once, or later (see [`crate::signals`]); the program is told of its own.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::io::Errno;

use crate::host::{answer, real};
use crate::process;
use crate::signals::{self, Mask};
use crate::waiting;

/// One more than the last signal there is.
const SIGNALS: usize = 65;
/// What tells that the very instruction failed cannot wait.
const FAULTS: [c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGABRT];

/// The program's handlers: the address, and in bits that no address has, how it is to be called.
static HANDLERS: [AtomicU64; SIGNALS] = [const { AtomicU64::new(0) }; SIGNALS];
/// `SA_SIGINFO`: it is a function of three arguments. One of one takes them as well.
const OF_THREE: u64 = 1 << 63;
/// `SA_RESETHAND`: it is called once. The kernel would count our function's call.
const ONCE: u64 = 1 << 62;
/// `SA_RESTART`: calls that it has interrupted are made again.
const RESTART: u64 = 1 << 61;
const MANNERS: u64 = OF_THREE | ONCE | RESTART;
/// Signals after which no call goes on that they have interrupted, with handlers to come too (siginterrupt(3)).
static INTERRUPTS: [AtomicBool; SIGNALS] = [const { AtomicBool::new(false) }; SIGNALS];

type Handler = extern "C-unwind" fn(c_int, *mut libc::siginfo_t, *mut c_void);
type Send = unsafe extern "C" fn(libc::c_long, i32, i32, c_int, *mut libc::siginfo_t) -> libc::c_long;
type Interrupt = unsafe extern "C" fn(c_int, c_int) -> c_int;
type SetAction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;

/// `sigaction(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    let set: SetAction = real!(sigaction: fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    let Some(known) =
        of(&HANDLERS, signal).filter(|_| process::settings().is_some() && !FAULTS.contains(&signal))
    else {
        // SAFETY: the caller's promise.
        return unsafe { set(signal, new, old) };
    };
    // Looked up here, for a handler cannot.
    send();
    let before = known.load(Ordering::Relaxed);
    // SAFETY: the caller's promise: null, or an action.
    let wanted = unsafe { new.as_ref() }.map(|new| ours_for(new, known));
    let new = wanted.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the caller's promise, and an action that outlives the call.
    let done = unsafe { set(signal, new, old) };
    if done < 0 {
        known.store(before, Ordering::Relaxed);
        return done;
    }
    // SAFETY: the caller's promise: null, or an action, which has just been written.
    if let Some(old) = unsafe { old.as_mut() }.filter(|old| old.sa_sigaction == ours()) {
        show(before, old);
    }
    done
}

/// `signal(2)`, as the C library has it: the handler stays, and calls go on.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    if handler == libc::SIG_ERR {
        answer(Err(Errno::INVAL));
        return libc::SIG_ERR;
    }
    // SAFETY: an action is plain data; both outlive the call.
    unsafe {
        let mut new: libc::sigaction = std::mem::zeroed();
        let mut old: libc::sigaction = std::mem::zeroed();
        let interrupts = of(&INTERRUPTS, signal).is_some_and(|interrupts| interrupts.load(Ordering::Relaxed));
        (new.sa_sigaction, new.sa_flags) = (handler, if interrupts { 0 } else { libc::SA_RESTART });
        libc::sigemptyset(&raw mut new.sa_mask);
        libc::sigaddset(&raw mut new.sa_mask, signal);
        if sigaction(signal, &raw const new, &raw mut old) < 0 { libc::SIG_ERR } else { old.sa_sigaction }
    }
}

/// `siginterrupt(3)`: the C library changes the handler's action by a call of its own, which nobody sees.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn siginterrupt(signal: c_int, interrupts: c_int) -> c_int {
    let change: Interrupt = real!(siginterrupt: fn(c_int, c_int) -> c_int);
    // SAFETY: no pointers.
    let done = unsafe { change(signal, interrupts) };
    if done == 0
        && !process::is_borrowed()
        && let (Some(interrupt), Some(known)) = (of(&INTERRUPTS, signal), of(&HANDLERS, signal))
    {
        interrupt.store(interrupts != 0, Ordering::Relaxed);
        if interrupts != 0 {
            known.fetch_and(!RESTART, Ordering::Relaxed);
        } else {
            known.fetch_or(RESTART, Ordering::Relaxed);
        }
    }
    done
}

/// What is noted of a signal.
fn of<T>(notes: &[T; SIGNALS], signal: c_int) -> Option<&T> {
    usize::try_from(signal).ok().and_then(|number| notes.get(number))
}

/// The action with our function in its handler's place, which is noted. A child of vfork(2) has handlers of its own, but the notes
/// are its parent's.
fn ours_for(new: &libc::sigaction, known: &AtomicU64) -> libc::sigaction {
    let mut action = *new;
    if matches!(new.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) || process::is_borrowed() {
        return action;
    }
    let manner = |flag, bit| if new.sa_flags & flag != 0 { bit } else { 0 };
    let manners = manner(libc::SA_SIGINFO, OF_THREE)
        | manner(libc::SA_RESETHAND, ONCE)
        | manner(libc::SA_RESTART, RESTART);
    known.store(new.sa_sigaction as u64 | manners, Ordering::Relaxed);
    action.sa_sigaction = ours();
    action.sa_flags = (new.sa_flags | libc::SA_SIGINFO) & !libc::SA_RESETHAND;
    action
}

/// The action as the program has set it.
fn show(known: u64, action: &mut libc::sigaction) {
    action.sa_sigaction = (known & !MANNERS) as usize;
    if known & OF_THREE == 0 {
        action.sa_flags &= !libc::SA_SIGINFO;
    }
    if known & ONCE != 0 {
        action.sa_flags |= libc::SA_RESETHAND;
    }
}

fn ours() -> libc::sighandler_t {
    on_signal as Handler as usize
}

extern "C-unwind" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands over its context of this thread, of whose mask it knows the first word.
    let mask = unsafe { &mut *(&raw mut (*context.cast::<libc::ucontext_t>()).uc_sigmask).cast::<Mask>() };
    if signals::waits(mask) {
        send_again(signal, info);
        return;
    }
    let Some(known) = of(&HANDLERS, signal) else { return };
    // The handler may not come back.
    waiting::leave();
    let known = known.load(Ordering::Relaxed);
    if known & ONCE != 0 {
        // SAFETY: an action of zeros is the default one; it outlives the call.
        unsafe { sigaction(signal, &std::mem::zeroed(), std::ptr::null_mut()) };
    }
    // SAFETY: it is the address of the handler that the program has set.
    let handler: Handler = unsafe { std::mem::transmute((known & !MANNERS) as usize) };
    handler(signal, info, context);
    signals::note_return(known & RESTART != 0);
}

/// To this thread, which does not hear it before its mask allows; with all that was told of it (rt_sigqueueinfo(2)).
fn send_again(signal: c_int, info: *mut libc::siginfo_t) {
    // SAFETY: the location is the calling thread's own; the information is the kernel's.
    unsafe {
        let error = *libc::__errno_location();
        send()(libc::SYS_rt_tgsigqueueinfo, libc::getpid(), libc::gettid(), signal, info);
        *libc::__errno_location() = error;
    }
}

fn send() -> Send {
    real!(syscall: fn(libc::c_long, i32, i32, c_int, *mut libc::siginfo_t) -> libc::c_long)
}
