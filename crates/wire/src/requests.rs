//! How many requests a thread has received, in a file that others can read while it serves and after it was killed.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_model::requests::{BYTES, MARK, WORDS};

use crate::memory::Mapping;
use crate::stats_page::shared_page;

/// One thread's line of such a file.
#[derive(Debug)]
pub struct RequestCount {
    mapping: Mapping,
    offset: usize,
}

impl RequestCount {
    /// The line of a thread in the file at `path`, which is made if it is not there. What stood in the line is forgotten.
    ///
    /// # Errors
    /// The file cannot be made or mapped, is another user's or open to others, or has no such line.
    pub fn open(path: &Path, thread: usize) -> io::Result<Self> {
        let mapping = shared_page(path, BYTES)?;
        let offset = thread.saturating_mul(WORDS * size_of::<u64>());
        let count = Self { mapping, offset };
        let outside = || io::Error::new(io::ErrorKind::InvalidInput, "it has no line for this thread");
        let (mark, number) = (count.word(0).ok_or_else(outside)?, count.word(1).ok_or_else(outside)?);
        number.store(0, Ordering::Relaxed);
        mark.store(MARK, Ordering::Relaxed);
        Ok(count)
    }

    /// Writes how many there were so far.
    #[inline]
    pub fn write(&self, requests: u64) {
        if let Some(word) = self.word(1) {
            word.store(requests, Ordering::Relaxed);
        }
    }

    fn word(&self, n: usize) -> Option<&AtomicU64> {
        self.mapping.at(self.offset + n * size_of::<u64>())
    }
}

#[cfg(test)]
mod tests {
    use assay_model::requests::{LINES, total};

    use super::*;

    #[test]
    fn others_read_what_all_threads_have_received() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("requests");
        let read = || total(&std::fs::read(&path).expect("a file"));
        let first = RequestCount::open(&path, 0).expect("a line");
        let last = RequestCount::open(&path, LINES - 1).expect("a line");
        first.write(3);
        first.write(4);
        last.write(10);
        assert_eq!(read(), Some(14));
        drop((first, last));
        assert_eq!(read(), Some(14), "it outlives its writers");
        drop(RequestCount::open(&path, 0).expect("a line"));
        assert_eq!(read(), Some(10), "a successor begins anew");
        assert!(RequestCount::open(&path, LINES).is_err(), "there is no such line");
        assert!(RequestCount::open(&path, usize::MAX).is_err());
        assert!(RequestCount::open(folder.path(), 0).is_err(), "a folder is no file");
    }
}
