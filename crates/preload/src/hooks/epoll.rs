//! Epoll: the stack's descriptors are watched here, all others by the kernel's instance of the same number (epoll(7)). An instance that
//! watches any of ours can be waited for with poll and select, but not hang in another.

use std::ffi::c_int;
use std::os::fd::RawFd;

use assay_model::units::Nanos;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::bell::{self, adopt, is_ours, without_bell};
use super::early;
use crate::core::Report;
use crate::host::{self, answer, real};
use crate::marks;
use crate::process::waiters::Wants;
use crate::process::{self, Shared};
use crate::waiting::{self, WaitOutcome, watched};

/// While the stack has something to report, the kernel is asked for its own descriptors at most so often: each time costs a
/// system call.
const ASK_HOST_EVERY: Nanos = Nanos::from_micros(20);

/// `epoll_ctl(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_ctl(
    set: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut libc::epoll_event,
) -> c_int {
    if !process::is_ours(fd) {
        if operation == libc::EPOLL_CTL_ADD && marks::is_set(fd) && refuses_nesting(fd) {
            return answer(Err(Errno::PERM)) as c_int;
        }
        let control = real!(epoll_ctl: fn(c_int, c_int, c_int, *mut libc::epoll_event) -> c_int);
        // SAFETY: the caller's promise.
        let done = unsafe { control(set, operation, fd, event) };
        if done == 0 && operation == libc::EPOLL_CTL_ADD {
            early::note(set, fd);
        }
        return done;
    }
    // SAFETY: the caller's promise: null, or an event, which is packed.
    let event = (!event.is_null()).then(|| unsafe { event.read_unaligned() });
    answer(control(set, operation, fd, event).map(|()| 0)) as c_int
}

/// Whether an epoll instance must not hang in another, because it is ours.
fn refuses_nesting(inner: RawFd) -> bool {
    let is_ours = process::access().is_ok_and(|mut shared| is_ours(&mut shared, inner));
    if is_ours {
        bell::say_nested();
    }
    is_ours
}

fn control(set: RawFd, operation: c_int, fd: RawFd, event: Option<libc::epoll_event>) -> Result<(), Errno> {
    if !marks::fits(set) {
        return Err(Errno::BADF);
    }
    let mut shared = process::access()?;
    let wanted = event.map(|e| (EventFlags::from_bits_retain(e.events), e.u64)).ok_or(Errno::FAULT);
    if operation == libc::EPOLL_CTL_ADD {
        let (flags, data) = wanted?;
        adopt(&mut shared, set)?;
        shared.core.watch(set, fd, flags, data)?;
        shared.tell_of_watch(fd, flags);
        return Ok(());
    }
    if !is_ours(&mut shared, set) {
        // It watches none of ours. The kernel says so, or that it is no epoll instance.
        return host::epoll_control(set, operation, fd, event);
    }
    match operation {
        libc::EPOLL_CTL_MOD => {
            let (flags, data) = wanted?;
            shared.core.change_watch(set, fd, flags, data)?;
            shared.tell_of_watch(fd, flags);
            Ok(())
        }
        libc::EPOLL_CTL_DEL => shared.core.unwatch(set, fd),
        _ => Err(Errno::INVAL),
    }
}

/// `epoll_wait(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_wait(
    set: c_int,
    room: *mut libc::epoll_event,
    most: c_int,
    timeout_ms: c_int,
) -> c_int {
    let host = || {
        let wait = real!(epoll_wait: fn(c_int, *mut libc::epoll_event, c_int, c_int) -> c_int);
        // SAFETY: the caller's promise.
        unsafe { wait(set, room, most, timeout_ms) }
    };
    // SAFETY: the caller's promise.
    unsafe { wait_on(set, room, most, milliseconds(timeout_ms), std::ptr::null(), host) }
}

/// `epoll_pwait(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_pwait(
    set: c_int,
    room: *mut libc::epoll_event,
    most: c_int,
    timeout_ms: c_int,
    mask: *const libc::sigset_t,
) -> c_int {
    let host = || {
        let wait = real!(epoll_pwait: fn(c_int, *mut libc::epoll_event, c_int, c_int, *const libc::sigset_t) -> c_int);
        // SAFETY: the caller's promise.
        unsafe { wait(set, room, most, timeout_ms, mask) }
    };
    // SAFETY: the caller's promise.
    unsafe { wait_on(set, room, most, milliseconds(timeout_ms), mask, host) }
}

/// `epoll_pwait2(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn epoll_pwait2(
    set: c_int,
    room: *mut libc::epoll_event,
    most: c_int,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    let host = || {
        let wait = real!(epoll_pwait2: fn(c_int, *mut libc::epoll_event, c_int, *const libc::timespec, *const libc::sigset_t) -> c_int);
        // SAFETY: the caller's promise.
        unsafe { wait(set, room, most, timeout, mask) }
    };
    // SAFETY: the caller's promise.
    unsafe { wait_on(set, room, most, timeout.as_ref().map(super::poll::span), mask, host) }
}

fn milliseconds(timeout: c_int) -> Option<Nanos> {
    u64::try_from(timeout).ok().map(Nanos::from_millis)
}

/// Waits as one of these calls, however the program has made it: `host` is the same call of the kernel.
///
/// # Safety
/// The caller's promise: room for `most` events, and a mask or null.
pub(super) unsafe fn wait_on(
    set: RawFd,
    room: *mut libc::epoll_event,
    most: c_int,
    timeout: Option<Nanos>,
    mask: *const libc::sigset_t,
    host: impl Fn() -> c_int,
) -> c_int {
    if !marks::is_set(set) {
        let returned = host();
        if returned <= 0 || !marks::is_set(set) {
            return returned;
        }
        // It has become ours since. If nothing but the bell rang, the wait goes on here.
        // SAFETY: so many events were written there.
        let left = without_bell(unsafe { std::slice::from_raw_parts_mut(room, returned as usize) });
        if left > 0 {
            return left as c_int;
        }
    }
    let Some(most) = usize::try_from(most).ok().filter(|&n| n > 0) else {
        return answer(Err(Errno::INVAL)) as c_int;
    };
    // SAFETY: as promised; an event is plain bits and packed, so that any address is aligned.
    let (room, mask) = unsafe { (std::slice::from_raw_parts_mut(room, most), mask.as_ref()) };
    match wait(set, room, timeout, mask).transpose() {
        Some(outcome) => answer(outcome) as c_int,
        None => host(),
    }
}

/// Waits for the stack and the kernel; without a timeout forever. `None` when the instance is not ours any more.
fn wait(
    set: RawFd,
    room: &mut [libc::epoll_event],
    timeout: Option<Nanos>,
    mask: Option<&libc::sigset_t>,
) -> Result<Option<usize>, Errno> {
    let (now, ours, ask_host) = {
        let mut shared = process::access()?;
        shared.turn(Nanos::ZERO)?;
        let ours = collect(&mut shared, set, room);
        let now = shared.turned;
        let ask_host = ours == 0 || now - shared.asked_host >= ASK_HOST_EVERY;
        if ask_host {
            shared.asked_host = now;
            if !is_ours(&mut shared, set) {
                return Ok(None);
            }
        }
        (now, ours, ask_host)
    };
    let theirs = if ask_host && ours < room.len() { take(set, &mut room[ours..])? } else { 0 };
    if ours + theirs > 0 || timeout == Some(Nanos::ZERO) {
        return Ok(Some(ours + theirs));
    }
    let deadline = timeout.map_or(Nanos::MAX, |t| now + t);
    loop {
        let attempt = |shared: &mut Shared| Some(collect(shared, set, room)).filter(|&n| n > 0);
        match waiting::wait(&Wants::Set(set), &[watched(set)], deadline, mask, attempt)? {
            WaitOutcome::Done(n) => return Ok(Some(n)),
            WaitOutcome::TimedOut => return Ok(Some(0)),
            // Another thread may have taken it.
            WaitOutcome::Host => match take(set, room)? {
                0 => {}
                n => return Ok(Some(n)),
            },
        }
    }
}

/// Takes what the kernel has ready, but for the bell.
fn take(set: RawFd, room: &mut [libc::epoll_event]) -> Result<usize, Errno> {
    let taken = host::epoll_take(set, room)?;
    Ok(without_bell(&mut room[..taken]))
}

/// Writes what the stack has to report and returns how much.
fn collect(shared: &mut Shared, set: RawFd, room: &mut [libc::epoll_event]) -> usize {
    let mut reports = std::mem::take(&mut shared.reports);
    reports.clear();
    shared.core.collect(set, &mut reports, room.len());
    for (event, &Report { flags, data }) in room.iter_mut().zip(&reports) {
        *event = libc::epoll_event { events: flags.bits(), u64: data };
    }
    let n = reports.len();
    shared.reports = reports;
    n
}
