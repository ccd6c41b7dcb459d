//! The stats page: what a stack has counted, in a file that others can read while it works and after its process was killed.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_model::load::StackCounts;
use assay_model::stats_page::{self, BYTES, StatsRow, WORDS};
use rustix::fs::{FallocateFlags, FileType, Mode, OFlags};

use crate::memory::Mapping;
use crate::ownership;

/// One stack's row of a stats page.
#[derive(Debug)]
pub struct StatsPage {
    mapping: Mapping,
    offset: usize,
    /// What others counted here before.
    base: StatsRow,
}

impl StatsPage {
    /// The row of a queue in the file at `path`, which is made if it is not there. Who had the row before is counted on from.
    ///
    /// # Errors
    /// The file cannot be made or mapped, is another user's or open to others, or has no such row.
    pub fn open(path: &Path, queue: u16) -> io::Result<Self> {
        let mapping = shared_page(path, BYTES)?;
        let mut stats_page =
            Self { mapping, offset: usize::from(queue) * size_of::<StatsRow>(), base: [0; WORDS] };
        for n in 0..WORDS {
            let outside = || io::Error::new(io::ErrorKind::InvalidInput, "it has no row for this queue");
            stats_page.base[n] = stats_page.word(n).ok_or_else(outside)?.load(Ordering::Relaxed);
        }
        Ok(stats_page)
    }

    /// Writes all that was counted so far.
    pub fn write(&self, counts: &StackCounts) {
        let row = stats_page::behind(&self.base, stats_page::row(counts));
        for (n, value) in row.into_iter().enumerate() {
            if let Some(word) = self.word(n) {
                word.store(value, Ordering::Relaxed);
            }
        }
    }

    fn word(&self, n: usize) -> Option<&AtomicU64> {
        self.mapping.at(self.offset + n * size_of::<u64>())
    }
}

/// Maps the first `bytes` of the file at `path`, which is made if it is not there and must be ours alone.
pub(crate) fn shared_page(path: &Path, bytes: usize) -> io::Result<Mapping> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
    ownership::check(&file, FileType::RegularFile)?;
    // Not a mere length: a page that cannot be had later would kill the process that touches it.
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes as u64)?;
    Mapping::of_shared_file(file.as_fd(), bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn counts(frames: u64) -> StackCounts {
        StackCounts { received_frames: frames, lossless: true, ..StackCounts::default() }
    }

    #[test]
    fn others_read_what_all_queues_have_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("stats");
        let (first, last) =
            (StatsPage::open(&path, 0).expect("a row"), StatsPage::open(&path, 255).expect("a row"));
        first.write(&counts(3));
        first.write(&counts(4));
        last.write(&counts(10));
        let read = || stats_page::total(&std::fs::read(&path).expect("a file"), "");
        assert_eq!(read(), Some(counts(14)));
        drop(first);
        let successor = StatsPage::open(&path, 0).expect("a row");
        successor.write(&counts(1));
        assert_eq!(read(), Some(counts(15)));
        assert!(StatsPage::open(&path, 256).is_err(), "there are rows for 256 queues");
        assert!(StatsPage::open(folder.path(), 0).is_err(), "a folder is no file");
    }

    #[test]
    fn a_file_open_to_others_is_refused_and_one_cut_short_kills_nobody() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("stats");
        let stats_page = StatsPage::open(&path, 0).expect("a row");
        File::options().write(true).open(&path).expect("the file").set_len(0).expect("shorter");
        stats_page.write(&counts(3));
        std::fs::set_permissions(&path, Permissions::from_mode(0o660)).expect("a new mode");
        let error = StatsPage::open(&path, 0).expect_err("a group may write");
        assert!(error.to_string().contains("0660"), "{error}");
    }
}
