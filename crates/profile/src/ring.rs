//! Events that the kernel writes into memory which it shares with us (`perf_event_open(2)`).

use std::io;

use perf_event::data::{Record, Sample};
use perf_event::{Builder, Sampler};

/// Most events that are read at once, so that one ring never keeps others waiting.
const MOST_AT_ONCE: usize = 1 << 16;
/// How much smaller a ring may be than wanted, where memory that may be locked is short (`kernel.perf_event_mlock_kb`).
const SHRINKING: [usize; 3] = [1, 4, 16];

/// Where events are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// All that runs on a CPU.
    Cpu(u32),
    /// One thread, wherever it runs.
    Thread(u32),
}

/// Memory of the rings of all threads that are watched, in bytes: what anybody may lock on one CPU, and then some (the kernel's default of
/// `kernel.perf_event_mlock_kb` is 516 for each CPU, beside what `RLIMIT_MEMLOCK` allows).
const OF_ALL_THREADS: usize = 1 << 20;
/// The least of one, in bytes: the samples of a busy thread between two looks at its ring, with the deepest stacks.
const LEAST: usize = 1 << 15;

/// Size of the ring of one of so many threads, in bytes.
pub(crate) fn bytes_of_a_thread(threads: usize) -> usize {
    let share = OF_ALL_THREADS / threads.max(1);
    // A ring is a power of two, and is rounded up.
    (share.next_power_of_two() >> usize::from(!share.is_power_of_two())).max(LEAST)
}

/// A ring of one kind of event at one place, being filled.
pub(crate) struct Ring(Sampler);

impl Ring {
    /// Has the kernel fill a ring of `bytes`, or of less.
    ///
    /// # Errors
    /// Those of `perf_event_open(2)` and `mmap(2)`.
    pub(crate) fn open(event: &Builder<'_>, place: Place, bytes: usize) -> io::Result<Self> {
        let mut event = event.clone();
        match place {
            Place::Cpu(cpu) => event.any_pid().one_cpu(cpu as usize),
            Place::Thread(tid) => event.observe_pid(i32::try_from(tid).unwrap_or(i32::MAX)).any_cpu(),
        };
        let mut failure = None;
        for smaller in SHRINKING {
            match event.build()?.sampled(bytes / smaller) {
                Ok(mut sampler) => {
                    sampler.enable()?;
                    return Ok(Self(sampler));
                }
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.map_or_else(|| io::ErrorKind::OutOfMemory.into(), unmapped))
    }

    /// Ends the filling; what is in it can still be read.
    pub(crate) fn stop(&mut self) {
        // A ring that cannot be stopped is closed soon after.
        let _ = self.0.disable();
    }

    /// Empties it; returns how many events were lost.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(&Sample<'_>)) -> u64 {
        let mut lost = 0;
        for _ in 0..MOST_AT_ONCE {
            let Some(record) = self.0.next_record() else { break };
            match record.parse_record() {
                Ok(Record::Sample(sample)) => take(&sample),
                Ok(Record::Lost(told)) => lost += told.lost,
                Ok(Record::LostSamples(told)) => lost += told.lost,
                Ok(_) => {}
                Err(_) => lost += 1,
            }
        }
        lost
    }
}

/// Why there is no memory for a ring. The kernel has let the event be watched by then, so what it does not permit is that more is locked.
fn unmapped(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return error;
    }
    io::Error::other(
        "no more memory may be locked: run as root, or raise `ulimit -l` or kernel.perf_event_mlock_kb",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_may_not_be_locked_is_no_lack_of_rights_to_watch() {
        let told = |code| unmapped(io::Error::from_raw_os_error(code)).to_string();
        assert!(told(libc::EPERM).contains("ulimit -l"));
        assert!(told(libc::ENOMEM).contains("Cannot allocate memory"));
    }

    #[test]
    fn rings_of_many_threads_are_small_and_take_no_more_memory_together() {
        for threads in 1..=OF_ALL_THREADS / LEAST {
            let bytes = bytes_of_a_thread(threads);
            assert!(bytes.is_power_of_two() && bytes * threads <= OF_ALL_THREADS, "{threads}: {bytes}");
            assert!(
                2 * bytes * threads > OF_ALL_THREADS,
                "{threads}: {bytes} are less than there is room for"
            );
        }
        assert_eq!((bytes_of_a_thread(0), bytes_of_a_thread(1_000)), (OF_ALL_THREADS, LEAST));
    }
}
