//! Poll and select.

use std::ffi::{c_int, c_ulong};
use std::os::fd::RawFd;

use assay_engine::clock;
use assay_model::units::Nanos;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::bell::Silence;
use super::io::unfortified;
use crate::host::{self, answer, real};
use crate::process::waiters::Wants;
use crate::process::{self, Shared};
use crate::waiting::{self, WaitOutcome};
use crate::{fdinfo, marks};

/// Bits of a word of a set of select(2).
const WORD_BITS: usize = c_ulong::BITS as usize;

/// `poll(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn poll(
    list: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout_ms: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { with_ours(list, count) } {
        Some(list) => {
            answer(wait(list, u64::try_from(timeout_ms).ok().map(Nanos::from_millis), None)) as c_int
        }
        None => {
            let poll = real!(poll: fn(*mut libc::pollfd, libc::nfds_t, c_int) -> c_int);
            // SAFETY: the caller's promise.
            unsafe { poll(list, count, timeout_ms) }
        }
    }
}

/// `ppoll(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn ppoll(
    list: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match with_ours(list, count) {
            Some(list) => answer(wait(list, timeout.as_ref().map(span), mask.as_ref())) as c_int,
            None => {
                let ppoll = real!(ppoll: fn(*mut libc::pollfd, libc::nfds_t, *const libc::timespec, *const libc::sigset_t) -> c_int);
                ppoll(list, count, timeout, mask)
            }
        }
    }
}

/// `poll` as a fortified program calls it.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __poll_chk(
    list: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout_ms: c_int,
    size: usize,
) -> c_int {
    unfortified(count as usize * size_of::<libc::pollfd>(), size);
    // SAFETY: the caller's promise.
    unsafe { poll(list, count, timeout_ms) }
}

/// `ppoll` as a fortified program calls it.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __ppoll_chk(
    list: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
    size: usize,
) -> c_int {
    unfortified(count as usize * size_of::<libc::pollfd>(), size);
    // SAFETY: the caller's promise.
    unsafe { ppoll(list, count, timeout, mask) }
}

/// `select(2)`: what is left of the time is written back, as Linux does.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn select(
    count: c_int,
    readable: *mut libc::fd_set,
    writable: *mut libc::fd_set,
    exceptional: *mut libc::fd_set,
    timeout: *mut libc::timeval,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let sets = [readable, writable, exceptional];
        let Some((end, mut list)) = listed(count, sets) else {
            let select = real!(select: fn(c_int, *mut libc::fd_set, *mut libc::fd_set, *mut libc::fd_set, *mut libc::timeval) -> c_int);
            return select(count, readable, writable, exceptional, timeout);
        };
        let started = clock::now();
        let time = |t: &libc::timeval| Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1000);
        let allowed = timeout.as_ref().map(time);
        let done = wait(&mut list, allowed, None).and_then(|_| write_back(&list, sets, end));
        if let (Some(allowed), Some(left)) = (allowed, timeout.as_mut()) {
            let micros = (allowed - (clock::now() - started)).0 / 1000;
            left.tv_sec = (micros / 1_000_000) as i64;
            left.tv_usec = (micros % 1_000_000) as i64;
        }
        answer(done) as c_int
    }
}

/// `pselect(2)`.
///
/// # Safety
/// The caller's promise.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn pselect(
    count: c_int,
    readable: *mut libc::fd_set,
    writable: *mut libc::fd_set,
    exceptional: *mut libc::fd_set,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let sets = [readable, writable, exceptional];
        let Some((end, mut list)) = listed(count, sets) else {
            let pselect = real!(pselect: fn(c_int, *mut libc::fd_set, *mut libc::fd_set, *mut libc::fd_set, *const libc::timespec, *const libc::sigset_t) -> c_int);
            return pselect(count, readable, writable, exceptional, timeout, mask);
        };
        let done = wait(&mut list, timeout.as_ref().map(span), mask.as_ref());
        answer(done.and_then(|_| write_back(&list, sets, end))) as c_int
    }
}

pub(super) fn span(time: &libc::timespec) -> Nanos {
    Nanos((time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64))
}

/// Whether one of the stack's descriptors is on the list.
///
/// # Safety
/// The caller's promise: as many entries as `count` says.
pub(super) unsafe fn has_ours(list: *mut libc::pollfd, count: libc::nfds_t) -> bool {
    // SAFETY: as promised.
    unsafe { with_ours(list, count) }.is_some()
}

/// The list, when one of the stack's descriptors is on it.
///
/// # Safety
/// The caller's promise: as many entries as `count` says.
unsafe fn with_ours<'a>(list: *mut libc::pollfd, count: libc::nfds_t) -> Option<&'a mut [libc::pollfd]> {
    if list.is_null() || count == 0 {
        return None;
    }
    // SAFETY: as promised.
    let list = unsafe { std::slice::from_raw_parts_mut(list, count as usize) };
    list.iter().any(|entry| marks::is_marked(entry.fd)).then_some(list)
}

/// Waits for any of the list; `None` waits forever. Writes what is true of each and returns of how many something is.
fn wait(
    list: &mut [libc::pollfd],
    timeout: Option<Nanos>,
    mask: Option<&libc::sigset_t>,
) -> Result<usize, Errno> {
    let flags = |entry: &libc::pollfd| EventFlags::from_bits_retain(u32::from(entry.events as u16));
    let mut ours = Vec::new();
    let mut host = list.to_vec();
    for entry in &mut host {
        entry.revents = 0;
        if marks::is_set(entry.fd) {
            // The kernel knows what else it watches.
            ours.push((entry.fd, flags(entry)));
        } else if process::is_ours(entry.fd) {
            ours.push((entry.fd, flags(entry)));
            entry.fd = -1;
        }
    }
    let now = clock::now();
    let deadline = timeout.map_or(Nanos::MAX, |t| now + t);
    let (mut found, _silence) = {
        let mut shared = process::access()?;
        for entry in list.iter() {
            if let Some(object) = shared.core.object(entry.fd) {
                shared.core.want(object);
            }
        }
        shared.turn(Nanos::ZERO)?;
        let silence = Silence::of(&mut shared, list.iter().map(|entry| entry.fd));
        (look(&mut shared, list), silence)
    };
    let wants = Wants::Any(ours);
    loop {
        let mut is_over = found > 0 || timeout == Some(Nanos::ZERO);
        if !is_over {
            let attempt = |shared: &mut Shared| Some(look(shared, list)).filter(|&n| n > 0);
            let outcome = waiting::wait(&wants, &host, deadline, mask, attempt)?;
            is_over = !matches!(outcome, WaitOutcome::Host);
        }
        found = add_hosts(list, &mut host)?;
        // Otherwise another thread has taken what was there.
        if found > 0 || is_over {
            return Ok(found);
        }
    }
}

/// Adds what the kernel knows to what is true; returns of how many something is.
fn add_hosts(list: &mut [libc::pollfd], host: &mut [libc::pollfd]) -> Result<usize, Errno> {
    if host.iter().any(|entry| entry.fd >= 0) {
        host::ppoll(host, Some(Nanos::ZERO), None)?;
    }
    for (entry, host) in list.iter_mut().zip(host) {
        entry.revents |= host.revents;
    }
    Ok(list.iter().filter(|entry| entry.revents != 0).count())
}

/// Writes what is true of the stack's descriptors; returns of how many something is.
fn look(shared: &mut Shared, list: &mut [libc::pollfd]) -> usize {
    let mut found = 0;
    for entry in list {
        entry.revents = 0;
        if let Some(object) = shared.core.object(entry.fd) {
            let always = EventFlags::ERR | EventFlags::HUP;
            let wanted = EventFlags::from_bits_retain(u32::from(entry.events as u16)) | always;
            entry.revents = (shared.core.truth(object) & wanted).bits() as i16;
            found += usize::from(entry.revents != 0);
        }
    }
    found
}

/// What each of select's sets stands for in poll's terms, as the kernel has it (select(2), correspondence to poll).
const MEANINGS: [(i16, i16); 3] = [
    (libc::POLLIN | libc::POLLRDNORM, libc::POLLIN | libc::POLLRDNORM | libc::POLLHUP | libc::POLLERR),
    (libc::POLLOUT | libc::POLLWRNORM, libc::POLLOUT | libc::POLLWRNORM | libc::POLLERR),
    (libc::POLLPRI, libc::POLLPRI),
];

/// How far the sets go, and their descriptors as a list, when one of the stack's is among them. A program may have made its sets larger than the
/// type says, for numbers from 1024 up.
///
/// # Safety
/// The caller's promise: each set is null or holds as many descriptors as `count` says, as far as there are any.
unsafe fn listed(count: c_int, sets: [*mut libc::fd_set; 3]) -> Option<(RawFd, Vec<libc::pollfd>)> {
    let count = u32::try_from(count).ok().filter(|&n| n > 0)?;
    let has = |set: *mut libc::fd_set, fd: RawFd| {
        let (word, bit) = bit(set, fd);
        // SAFETY: as promised.
        !set.is_null() && unsafe { *word } & bit != 0
    };
    let asks = |fd| {
        let wanted = sets.iter().zip(MEANINGS).filter(|(set, _)| has(**set, fd));
        wanted.fold(0, |events, (_, (asks, _))| events | asks)
    };
    // The marked ones first: beyond them nothing is ours, and below they are as far as the kernel would read.
    marks::within(0, count - 1).find(|&fd| asks(fd) != 0)?;
    let end = looked_at(count);
    let list = (0..end).map(|fd| libc::pollfd { fd, events: asks(fd), revents: 0 });
    Some((end, list.filter(|entry| entry.events != 0).collect()))
}

/// How far the kernel looks into a set: a count beyond the descriptors that there can be at the moment is no promise that the set is
/// as large (fs/select.c, core_sys_select).
fn looked_at(count: u32) -> RawFd {
    let most = || {
        let status = std::fs::read_to_string("/proc/self/status").ok();
        status.and_then(|text| fdinfo::table_size(&text)).unwrap_or(libc::FD_SETSIZE as u32)
    };
    let count = if count as usize > libc::FD_SETSIZE { count.min(most()) } else { count };
    RawFd::try_from(count).unwrap_or(RawFd::MAX)
}

/// Where a descriptor is in a set, and which bit of that word (linux/posix_types.h).
fn bit(set: *mut libc::fd_set, fd: RawFd) -> (*mut c_ulong, c_ulong) {
    let (word, bit) = (fd as usize / WORD_BITS, fd as usize % WORD_BITS);
    (set.cast::<c_ulong>().wrapping_add(word), 1 << bit)
}

/// Leaves in each set the descriptors of which its meaning is true; returns how many are left in all.
///
/// # Errors
/// One of them is not open (select(2)).
///
/// # Safety
/// As for [`listed`], with the list that it returned.
unsafe fn write_back(
    list: &[libc::pollfd],
    sets: [*mut libc::fd_set; 3],
    end: RawFd,
) -> Result<usize, Errno> {
    if list.iter().any(|entry| entry.revents & libc::POLLNVAL != 0) {
        return Err(Errno::BADF);
    }
    for set in sets.into_iter().filter(|set| !set.is_null() && !(end as usize).is_multiple_of(WORD_BITS)) {
        // The kernel writes whole words, in which what it has not looked at is not ready.
        let (word, bit) = bit(set, end);
        // SAFETY: as promised: it is the word of the last descriptor too.
        unsafe { *word &= bit - 1 };
    }
    let mut left = 0;
    for (set, (asks, means)) in sets.into_iter().zip(MEANINGS) {
        for entry in list.iter().filter(|e| e.events & asks != 0) {
            if entry.revents & means != 0 {
                left += 1;
            } else {
                let (word, bit) = bit(set, entry.fd);
                // SAFETY: as promised: the set is not null, for the descriptor was found in it.
                unsafe { *word &= !bit };
            }
        }
    }
    Ok(left)
}
