//! Memory that others see too: mapped files, and the kernel's rings.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_HINT_ET0, _MM_HINT_T0, _mm_prefetch};
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::guard::Guard;

/// Bytes that processors exchange at once.
#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;
/// Lines of a frame that are asked for ahead: 66 bytes of headers, and a short request or answer.
#[cfg(target_arch = "x86_64")]
const FRAME_HEAD_LINES: usize = 3;

/// What may lie in memory that another process or the kernel writes.
///
/// # Safety
/// All of it is atomics: any bytes are a valid value, and a reference to it allows for changes by others.
pub(crate) unsafe trait Shared {}

// SAFETY: an atomic of an integer.
unsafe impl Shared for std::sync::atomic::AtomicU32 {}
// SAFETY: likewise.
unsafe impl Shared for std::sync::atomic::AtomicU64 {}
// SAFETY: likewise, each of them.
unsafe impl<T: Shared, const N: usize> Shared for [T; N] {}

/// A range of mapped memory, unmapped on drop.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    /// Where others may cut the file short.
    guard: Option<Guard>,
}

// SAFETY: a mapping belongs to the process, not to a thread; what is in it is reached by atomics, or by the one thread
// that the ring's indices give it to.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` of a file from `offset` on, seen by all that map it.
    pub(crate) fn of_file(file: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a fresh range chosen by the kernel; nothing else refers to it.
        let base =
            unsafe { mmap(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags, file, offset)? };
        Self::over(base.cast(), bytes)
    }

    /// Maps the first `bytes` of a file that another process may cut short: that kills nobody, and [`is_cut`](Self::is_cut) tells.
    pub(crate) fn of_shared_file(file: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        let mut mapping = Self::of_file(file, 0, bytes)?;
        mapping.guard = Some(Guard::over(mapping.base, bytes)?);
        Ok(mapping)
    }

    /// Whether the file was found to be shorter than what is mapped of it. What is here since then is nobody else's.
    pub(crate) fn is_cut(&self) -> bool {
        self.guard.as_ref().is_some_and(Guard::is_cut)
    }

    /// Maps `bytes` of zeroed memory of this process.
    pub(crate) fn anonymous(bytes: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: a fresh range chosen by the kernel; nothing else refers to it.
        let base = unsafe { mmap_anonymous(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags)? };
        Self::over(base.cast(), bytes)
    }

    fn over(base: *mut u8, bytes: usize) -> io::Result<Self> {
        let base = NonNull::new(base).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { base, bytes, guard: None })
    }

    /// How many bytes are mapped.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the `bytes` bytes at `offset` begin; `None` when they are not all within.
    pub(crate) fn range(&self, offset: usize, bytes: usize) -> Option<NonNull<u8>> {
        let end = offset.checked_add(bytes)?;
        // SAFETY: `offset` is at most the mapping's length.
        (end <= self.bytes).then(|| unsafe { self.base.add(offset) })
    }

    /// The value at `offset`; `None` when it is not all within, or not aligned.
    pub(crate) fn at<T: Shared>(&self, offset: usize) -> Option<&T> {
        let place = self.range(offset, size_of::<T>())?.cast::<T>();
        if !place.is_aligned() {
            return None;
        }
        // SAFETY: within the mapping, aligned, and valid whatever the bytes are, by the promise of `Shared`.
        Some(unsafe { place.as_ref() })
    }
}

/// Asks the processor for the first bytes of a frame that will soon be read here and was written by another processor: its headers,
/// and all of a short one. While they come, the frame before it can be worked on.
#[inline]
pub(crate) fn expect_to_read(place: NonNull<u8>) {
    expect::<false>(place);
}

/// Prepares for a write to a place that was read by another processor.
#[inline]
pub(crate) fn expect_to_write(place: NonNull<u8>) {
    expect::<true>(place);
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn expect<const TO_WRITE: bool>(place: NonNull<u8>) {
    for line in 0..FRAME_HEAD_LINES {
        let line = place.as_ptr().wrapping_add(line * LINE_BYTES).cast();
        if TO_WRITE {
            // SAFETY: a hint, which touches nothing, whatever lies there.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(line) };
        } else {
            // SAFETY: likewise.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
        }
    }
}

/// Other processors are not asked: the standard library has no stable hint for them.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn expect<const TO_WRITE: bool>(_place: NonNull<u8>) {}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.guard = None;
        // SAFETY: mapped by us with this length; all that points into it has been dropped with its owner, which holds us.
        // It fails only for a range that was never mapped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::os::unix::process::ExitStatusExt as _;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn nothing_outside_is_reached() {
        let mapping = Mapping::anonymous(4096).expect("memory");
        assert!(mapping.range(0, 4096).is_some() && mapping.range(4096, 0).is_some());
        assert!(mapping.range(1, 4096).is_none() && mapping.range(usize::MAX, 2).is_none());
        assert!(mapping.at::<AtomicU32>(4093).is_none(), "beyond the end");
        assert!(mapping.at::<AtomicU32>(2).is_none(), "not aligned");
        let word = mapping.at::<AtomicU32>(4092).expect("the last word");
        word.store(7, Ordering::Relaxed);
        assert_eq!(mapping.at::<AtomicU32>(4092).map(|word| word.load(Ordering::Relaxed)), Some(7));
    }

    #[test]
    fn a_file_that_is_cut_short_is_noticed_and_nobody_dies_of_it() {
        for (left, is_cut) in [(0, true), (4096, true), (8192, false)] {
            let file = tempfile::tempfile().expect("a file");
            file.set_len(8192).expect("two pages");
            let mapping = Mapping::of_shared_file(file.as_fd(), 8192).expect("mapped");
            let [first, last] = [0, 8188].map(|at| mapping.at::<AtomicU32>(at).expect("a word"));
            first.store(7, Ordering::Relaxed);
            file.set_len(left).expect("shorter");
            last.store(9, Ordering::Relaxed);
            assert_eq!((mapping.is_cut(), last.load(Ordering::Relaxed)), (is_cut, 9), "{left} bytes left");
            assert_eq!(first.load(Ordering::Relaxed), if is_cut { 0 } else { 7 });
        }
    }

    /// What is set in the process that is to die.
    const DOOMED: &str = "ASSAY_TEST_DOOMED";

    /// A process that touches a page of a file that is not guarded, beside one that is: this program again, which runs this alone.
    #[test]
    fn as_the_process_that_is_to_die() {
        if std::env::var_os(DOOMED).is_none() {
            return;
        }
        let file = tempfile::tempfile().expect("a file");
        file.set_len(4096).expect("a page");
        let _guarded = Mapping::of_shared_file(file.as_fd(), 4096).expect("mapped");
        let other = Mapping::of_file(file.as_fd(), 0, 4096).expect("mapped");
        file.set_len(0).expect("shorter");
        other.at::<AtomicU32>(0).expect("a word").store(7, Ordering::Relaxed);
    }

    #[test]
    fn any_other_missing_page_kills_as_it_did_before() {
        let mut command = std::process::Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "memory::tests::as_the_process_that_is_to_die"]).env(DOOMED, "yes");
        let ended = command.output().expect("a process").status;
        assert_eq!(ended.signal(), Some(libc::SIGBUS), "{ended}");
    }

    #[test]
    fn guarded_places_are_used_again() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(4096).expect("a page");
        for _ in 0..3000 {
            drop(Mapping::of_shared_file(file.as_fd(), 4096).expect("mapped"));
        }
    }
}
