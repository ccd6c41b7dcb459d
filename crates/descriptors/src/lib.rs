//! Descriptors of a library that lives in another's program: out of that program's way, known, and not taken for one another.
//!
//! Daemons close every descriptor from 3 up, and so close those of a library that is in them; the numbers then go to files of the
//! program's, and the library would go on reading and writing there. Linux has no descriptors that only a library can close. So
//! one that lives in another's program says so once ([`set_apart`]), and from then on each descriptor that is [kept](keep)
//! - is moved to a high number, where it takes none that the program expects to be given (the lowest, POSIX.1-2024 §2.6),
//! - is listed, so that the library's own functions in front of close(2) and its kin can pass it over ([`is_listed`], [`is_kept`]),
//! - is compared with the file that it was ([`holds`]) before anything is written to it: a system call by an instruction of the
//!   program's own is seen by nobody.
//!
//! In any other process all of this is a look at one word of memory.
//!
//! Invariants: nothing here takes a lock or memory, as a handler of signals may close descriptors.
//!
//! Must not know: what the descriptors are for, and who closes them.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rustix::process::{Resource, getrlimit};

/// Numbers that can be listed; as many as the kernel lets a process open unless `fs.nr_open` was raised.
const NUMBERS: usize = 1 << 20;
/// Where descriptors are moved to at most: the kernel's table of a process has room up to the highest number, eight bytes for each.
const HIGHEST_FLOOR: u64 = 24 << 10;

const NONE: u64 = 0;

/// Whether this process is another's program.
static APART: AtomicBool = AtomicBool::new(false);
/// [`NONE`], or what tells the kept file from others.
static KEPT: [AtomicU64; NUMBERS] = [const { AtomicU64::new(NONE) }; NUMBERS];
/// All that are kept are from here ...
static FIRST: AtomicU32 = AtomicU32::new(u32::MAX);
/// ... to before here.
static END: AtomicU32 = AtomicU32::new(0);

/// The file that a number names, as stat(3type) tells it from every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// The device that it is on.
    pub device: u64,
    /// Number of the file on the device. All eventfds, epoll instances and their like share one.
    pub inode: u64,
}

impl File {
    /// The file of a descriptor; `None` when it is not open.
    pub fn of(descriptor: impl AsFd) -> Option<Self> {
        let status = rustix::fs::fstat(descriptor).ok()?;
        Some(Self { device: status.st_dev, inode: status.st_ino })
    }

    /// Device and number in one word, never [`NONE`]. Devices of the kernel's own have small numbers.
    fn word(self) -> u64 {
        (self.device.rotate_left(40) ^ self.inode).max(1)
    }
}

/// Says that this process is another's program, whose calls the library stands before.
pub fn set_apart() {
    APART.store(true, Ordering::Relaxed);
}

/// Keeps a descriptor of the library's apart from the program's. Without room above it stays at its number and is listed all the
/// same. Does nothing in a process of our own.
pub fn keep(descriptor: OwnedFd) -> OwnedFd {
    if !APART.load(Ordering::Relaxed) {
        return descriptor;
    }
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let floor = (limit / 4 * 3).min(HIGHEST_FLOOR) as RawFd;
    let moved = if descriptor.as_raw_fd() < floor {
        rustix::io::fcntl_dupfd_cloexec(&descriptor, floor).unwrap_or(descriptor)
    } else {
        descriptor
    };
    if let (Some(place), Some(file)) = (place(moved.as_raw_fd()), File::of(&moved)) {
        place.store(file.word(), Ordering::Relaxed);
        let number = moved.as_raw_fd() as u32;
        FIRST.fetch_min(number, Ordering::Relaxed);
        END.fetch_max(number + 1, Ordering::Relaxed);
    }
    moved
}

/// Whether a descriptor still names the file that was [kept](keep): one that was not, and any in a process of our own, does.
/// A stranger of those kinds that share an inode is not told from ours; at a high number there is hardly one.
pub fn holds(descriptor: BorrowedFd<'_>) -> bool {
    if !APART.load(Ordering::Relaxed) {
        return true;
    }
    let kept = place(descriptor.as_raw_fd()).map_or(NONE, |place| place.load(Ordering::Relaxed));
    kept == NONE || File::of(descriptor).is_some_and(|file| file.word() == kept)
}

/// Whether a descriptor still names its file, as an error that says what has happened.
///
/// # Errors
/// The descriptor names another file, or none.
pub fn check(descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let text = "the program has closed a descriptor of the stack's, or put a file of its own in its place, by a system call that \
                nobody sees; let it leave numbers alone that it was not given";
    if holds(descriptor) { Ok(()) } else { Err(io::Error::other(text)) }
}

/// Whether a number is listed, be it true or not.
pub fn is_listed(number: RawFd) -> bool {
    place(number).is_some_and(|place| place.load(Ordering::Relaxed) != NONE)
}

/// Whether a number that names `file` is one that was kept.
pub fn is_kept(number: RawFd, file: File) -> bool {
    place(number).is_some_and(|place| place.load(Ordering::Relaxed) == file.word())
}

/// The numbers of a range that are listed, lowest first.
pub fn listed(first: u32, last: u32) -> impl Iterator<Item = RawFd> {
    let first = first.max(FIRST.load(Ordering::Relaxed));
    let end = u64::from(END.load(Ordering::Relaxed)).min(u64::from(last) + 1) as u32;
    (first..end.max(first)).map(|number| number as RawFd).filter(|&number| is_listed(number))
}

/// Takes a number off the list, before its descriptor is closed.
pub fn release(number: RawFd) {
    if let Some(place) = place(number) {
        place.store(NONE, Ordering::Relaxed);
    }
}

fn place(number: RawFd) -> Option<&'static AtomicU64> {
    KEPT.get(usize::try_from(number).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> OwnedFd {
        tempfile::tempfile().unwrap().into()
    }

    /// One test: what is said of a process holds for all of its threads.
    #[test]
    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    fn what_is_kept_is_high_listed_and_known_again() {
        let ours = keep(file());
        assert!(!is_listed(ours.as_raw_fd()), "a process of our own has no list");
        assert!(holds(ours.as_fd()));

        set_apart();
        let (one, other) = (keep(file()), keep(file()));
        let [first, second] = [&one, &other].map(|kept| kept.as_raw_fd());
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        assert!(first as u64 >= (limit / 4 * 3).min(HIGHEST_FLOOR), "{first} of {limit}");
        assert!(rustix::io::fcntl_getfd(&one).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        assert_eq!(listed(0, u32::MAX).collect::<Vec<_>>(), [first, second]);
        assert_eq!(listed(0, first as u32).collect::<Vec<_>>(), [first]);
        assert_eq!(listed(second as u32 + 1, u32::MAX).count(), 0);
        assert!(holds(one.as_fd()) && is_kept(first, File::of(&one).unwrap()));

        // Another file comes to the number.
        let mut one = one;
        rustix::io::dup2(file(), &mut one).unwrap();
        assert!(!holds(one.as_fd()) && !is_kept(first, File::of(&one).unwrap()) && is_listed(first));
        release(first);
        assert!(!is_listed(first) && holds(one.as_fd()), "nothing is said of what was let go");
        release(second);
    }
}
