//! The bell in an epoll instance that is ours: a descriptor that wakes whoever waits for the instance in the kernel.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use crate::process::{self, Shared};
use crate::{host, marks};

/// What the kernel reports when the bell rings: a number that no program uses for an event of its own.
const BELL: u64 = 0x8e1c_55d0_a53a_9f27;
const RING: libc::epoll_event =
    libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLET) as u32, u64: BELL };

/// Makes an epoll instance ours, if it is not yet.
///
/// # Errors
/// It hangs in another: [`Errno::PERM`], as for a descriptor that epoll_ctl(2) cannot watch. Or no descriptor is left for the bell.
pub(super) fn adopt(shared: &mut Shared, set: RawFd) -> Result<(), Errno> {
    if !is_ours(shared, set) {
        if shared.core.around(set).any(|outer| hangs(set, outer)) {
            say_nested();
            return Err(Errno::PERM);
        }
        // Before the bell rings: whoever it wakes looks whether the instance is ours, and then waits for the core, which we have.
        marks::put_set(set);
        let bell = hang_bell(set).inspect_err(|_| marks::clear(set))?;
        shared.core.adopt_set(set, bell);
    }
    Ok(())
}

/// Whether the instance is ours, and the number still its own: what the program ended unseen is let go of. Its bell hangs in it,
/// and cannot be hung there twice.
pub(super) fn is_ours(shared: &mut Shared, set: RawFd) -> bool {
    let hang = |bell| host::epoll_control(set, libc::EPOLL_CTL_ADD, bell, Some(RING));
    let bell = shared.core.bell(set).filter(|_| marks::is_set(set));
    if bell.is_some_and(|bell| !process::is_kept(bell)) {
        return renew_bell(shared, set);
    }
    match bell.map(|bell| (bell, hang(bell))) {
        Some((_, Err(Errno::EXIST))) => return true,
        // Now it hangs in another one.
        Some((bell, Ok(()))) => drop(host::epoll_control(set, libc::EPOLL_CTL_DEL, bell, None)),
        _ => {}
    }
    shared.forget(set);
    false
}

/// The program has ended the bell by a call that nobody sees, but not, as far as can be told, the instance.
fn renew_bell(shared: &mut Shared, set: RawFd) -> bool {
    match hang_bell(set) {
        Ok(bell) => shared.core.renew_bell(set, bell),
        Err(_) => {
            shared.forget(set);
            false
        }
    }
}

/// Wakes a thread that waits in the kernel for an instance that was not ours until now. The bell rings once, and hangs there as
/// long as the instance is ours.
fn hang_bell(set: RawFd) -> Result<OwnedFd, Errno> {
    let bell = eventfd(1, EventfdFlags::CLOEXEC).map(assay_descriptors::keep)?;
    host::epoll_control(set, libc::EPOLL_CTL_ADD, bell.as_raw_fd(), Some(RING))?;
    Ok(bell)
}

/// Whether an epoll instance hangs in another, which cannot take it in twice.
fn hangs(inner: RawFd, outer: RawFd) -> bool {
    let nothing = libc::epoll_event { events: 0, u64: 0 };
    match host::epoll_control(outer, libc::EPOLL_CTL_ADD, inner, Some(nothing)) {
        Ok(()) => {
            // It was taken out, or the number is another's now.
            let _ = host::epoll_control(outer, libc::EPOLL_CTL_DEL, inner, None);
            false
        }
        Err(error) => error == Errno::EXIST,
    }
}

/// Says why an epoll instance cannot hang in another: who waits for the outer one does so in the kernel, which knows nothing of the stack's
/// sockets.
pub(super) fn say_nested() {
    crate::log::say(
        "an epoll instance that watches sockets of the stack is to hang in another; that cannot be carried. Let the program wait for \
         it with poll or select, or for the sockets themselves",
    );
}

/// Epoll instances that poll(2) or select(2) is asked about: as long as this lives their bells are silent, for a bell is no event of the
/// program's. Then they ring anew, should somebody not have woken yet.
pub(super) struct Silence(Vec<RawFd>);

impl Silence {
    /// Silences those of a list that are ours.
    pub(super) fn of(shared: &mut Shared, fds: impl Iterator<Item = RawFd>) -> Self {
        let mut sets: Vec<RawFd> = fds.filter(|&fd| marks::is_set(fd)).collect();
        sets.retain(|&set| is_ours(shared, set) && set_bell(shared, set, 0));
        Self(sets)
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        if self.0.is_empty() {
            return;
        }
        if let Ok(shared) = process::access() {
            for &set in &self.0 {
                set_bell(&shared, set, RING.events);
            }
        }
    }
}

/// Has a bell ring for these events; whether it hangs there.
fn set_bell(shared: &Shared, set: RawFd, events: u32) -> bool {
    let ring = libc::epoll_event { events, ..RING };
    let change = |bell| host::epoll_control(set, libc::EPOLL_CTL_MOD, bell, Some(ring)).is_ok();
    shared.core.bell(set).is_some_and(change)
}

/// Takes the bell out of what the kernel reported; returns how much is left.
pub(super) fn without_bell(events: &mut [libc::epoll_event]) -> usize {
    match events.iter().position(|event| event.u64 == BELL) {
        Some(at) => {
            let last = events.len() - 1;
            events.swap(at, last);
            last
        }
        None => events.len(),
    }
}
