//! How a wire waits: looks first, because most waits are short, then sleeps, and asks now and then whether anybody is still there.

use std::hint::spin_loop;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use assay_model::units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How long a wait looks before it sleeps: about what falling asleep and being woken cost on a virtual machine, so that it never
/// costs more than twice of what would have been best (Karlin et al., "Competitive Snoopy Caching", 1988).
pub const SPIN: Nanos = Nanos::from_micros(50);
/// Looks between two at the clock.
const LOOKS: u32 = 16;
/// Longest sleep until the next check whether the other end is still there.
pub(crate) const LIFE_CHECK: Nanos = Nanos::from_millis(100);
/// Waits that found nothing until the next check.
pub(crate) const IDLE_WAITS: u32 = 4096;

/// Looks for a while whether the wait is over; once only where there is no time to wait.
pub(crate) fn spin(timeout: Nanos, mut is_over: impl FnMut() -> bool) -> bool {
    if is_over() {
        return true;
    }
    let (began, span) = (Instant::now(), timeout.min(SPIN));
    while Nanos::from(began.elapsed()) < span {
        for _ in 0..LOOKS {
            spin_loop();
            if is_over() {
                return true;
            }
        }
    }
    false
}

/// Sleeps until something can be read, or written if that is wanted, or the time is over, or a signal comes (poll(2)).
pub(crate) fn sleep(file: BorrowedFd<'_>, to_write: bool, timeout: Nanos) -> io::Result<()> {
    let write = if to_write { PollFlags::OUT } else { PollFlags::empty() };
    let mut files = [PollFd::from_borrowed_fd(file, PollFlags::IN | write)];
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.0 / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: (timeout.0 % 1_000_000_000) as i64,
    };
    match poll(&mut files, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
