//! Calls that may have to wait, as a program makes them on one of its sockets.

use std::cell::Cell;
use std::ffi::c_int;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::RawFd;

use assay_engine::clock;
use assay_model::units::Nanos;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use crate::core::Way;
use crate::host;
use crate::process::waiters::Wants;
use crate::process::{self, Shared};
use crate::waiting::{self, WaitOutcome};

/// A program that asks again and again without ever waiting is given a turn of the engine after so long.
const TURN_AT_LEAST_EVERY: Nanos = Nanos::from_millis(1);

/// Receives into the parts; waits for the first byte, or for all of them if `whole`.
pub(super) fn receive(fd: RawFd, parts: &mut [IoSliceMut<'_>], flags: c_int) -> Result<usize, Errno> {
    if flags & (libc::MSG_OOB | libc::MSG_ERRQUEUE) != 0 {
        // There is no urgent data (RFC 6093 advises against it), and no queue of errors.
        return Err(if flags & libc::MSG_OOB != 0 { Errno::INVAL } else { Errno::AGAIN });
    }
    let way = if flags & libc::MSG_PEEK != 0 { Way::Peek } else { Way::Take };
    let mut parts = parts;
    let received = Cell::new(0);
    let whole = flags & libc::MSG_WAITALL != 0 && way == Way::Take;
    let outcome = perform_in_parts(fd, EventFlags::IN, libc::SO_RCVTIMEO, flags, &received, |shared| {
        let n = shared.core.receive(fd, parts, way)?;
        received.set(received.get() + n);
        IoSliceMut::advance_slices(&mut parts, n);
        if whole && n > 0 && !parts.is_empty() { Err(Errno::AGAIN) } else { Ok(()) }
    });
    finished(outcome, received.get())
}

/// Sends the parts; waits until all are on their way if the socket waits.
pub(super) fn send(fd: RawFd, parts: &mut [IoSlice<'_>], flags: c_int) -> Result<usize, Errno> {
    if flags & libc::MSG_OOB != 0 {
        return Err(Errno::OPNOTSUPP);
    }
    let mut parts = parts;
    let sent = Cell::new(0);
    let outcome = perform_in_parts(fd, EventFlags::OUT, libc::SO_SNDTIMEO, flags, &sent, |shared| {
        let n = shared.core.send(fd, parts)?;
        sent.set(sent.get() + n);
        IoSlice::advance_slices(&mut parts, n);
        if parts.is_empty() { Ok(()) } else { Err(Errno::AGAIN) }
    });
    if outcome == Err(Errno::PIPE) && sent.get() == 0 && flags & libc::MSG_NOSIGNAL == 0 {
        host::raise_pipe();
    }
    finished(outcome, sent.get())
}

/// What was done counts, whatever ended it.
fn finished(outcome: Result<(), Errno>, done: usize) -> Result<usize, Errno> {
    match outcome {
        Err(error) if done == 0 => Err(error),
        _ => Ok(done),
    }
}

/// Makes a call. If it would have to wait ([`Errno::AGAIN`]) and the socket is one that waits, it is made again when the socket
/// is ready, until the time that the socket's option `patience` gives has passed.
pub(super) fn perform<T>(
    fd: RawFd,
    ready: EventFlags,
    patience: c_int,
    flags: c_int,
    call: impl FnMut(&mut Shared) -> Result<T, Errno>,
) -> Result<T, Errno> {
    perform_in_parts(fd, ready, patience, flags, &Cell::new(0), call)
}

/// Makes a call that may do a part before it has to wait: then it counts what it has `done`. If a signal ends its wait, the call is made
/// again as signal(7) says: if the handler is one whose calls go on, nothing was done yet, and the option `patience` is not set.
fn perform_in_parts<T>(
    fd: RawFd,
    ready: EventFlags,
    patience: c_int,
    flags: c_int,
    done: &Cell<usize>,
    mut call: impl FnMut(&mut Shared) -> Result<T, Errno>,
) -> Result<T, Errno> {
    loop {
        match perform_once(fd, ready, patience, flags, &mut call) {
            Err(Errno::RESTART) if done.get() == 0 && host::patience(fd, patience).is_none() => {}
            Err(Errno::RESTART) => return Err(Errno::INTR),
            outcome => return outcome,
        }
    }
}

/// Makes a call until it has an outcome, or a signal has ended its wait.
fn perform_once<T>(
    fd: RawFd,
    ready: EventFlags,
    patience: c_int,
    flags: c_int,
    mut call: impl FnMut(&mut Shared) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let mut shared = process::access()?;
    let waits = flags & libc::MSG_DONTWAIT == 0 && shared.core.waits(fd);
    let mut outcome = call(&mut shared);
    if waits {
        // A thread that waits in its calls may be long in coming back, and what was sent leaves with a turn.
        shared.turn(Nanos::ZERO)?;
    }
    if !waits && would_wait(&outcome) && clock::now() - shared.turned > TURN_AT_LEAST_EVERY {
        shared.catch_up()?;
        outcome = call(&mut shared);
    }
    drop(shared);
    if !waits || !would_wait(&outcome) {
        return outcome;
    }
    let deadline = host::patience(fd, patience).map_or(Nanos::MAX, |p| clock::now() + p);
    let attempt = |shared: &mut Shared| Some(call(shared)).filter(|outcome| !would_wait(outcome));
    match waiting::wait_or_restart(&Wants::One(fd, ready), &[], deadline, None, attempt)? {
        WaitOutcome::Done(outcome) => {
            process::access()?.turn(Nanos::ZERO)?;
            outcome
        }
        WaitOutcome::Host | WaitOutcome::TimedOut => Err(Errno::AGAIN),
    }
}

fn would_wait<T>(outcome: &Result<T, Errno>) -> bool {
    matches!(outcome, Err(Errno::AGAIN))
}
