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
pub(super) fn adopt(shared: &mut Shared, set: RawFd) -> Result<(), Errno> {
    if !is_ours(shared, set) {
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
