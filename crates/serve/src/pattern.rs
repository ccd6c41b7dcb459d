//! The bytes of sized bodies: 64 letters over and over, so that a piece that is missing, doubled or misplaced
//! shows unless the mistake is a multiple of 64 bytes.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use assay_engine::FileRange;
use rustix::fs::MemfdFlags;

const PERIOD: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

/// Two blocks of the pattern, long enough that any piece up to the length they were made for lies in one: a short one in
/// memory, and a long one in a file without a disk, from which the kernel sends without copying (memfd_create(2)).
pub(crate) struct Pattern {
    short: Box<[u8]>,
    long: Arc<File>,
}

impl Pattern {
    /// A pattern whose pieces in memory and in the file may be so long.
    ///
    /// # Errors
    /// No descriptor or no memory is left.
    pub(crate) fn new(short_bytes: usize, long_bytes: usize) -> io::Result<Self> {
        let block =
            |bytes| -> Vec<u8> { PERIOD.iter().copied().cycle().take(bytes + PERIOD.len()).collect() };
        let mut long = File::from(rustix::fs::memfd_create("assay-pattern", MemfdFlags::CLOEXEC)?);
        long.write_all(&block(long_bytes))?;
        Ok(Self { short: block(short_bytes).into(), long: Arc::new(long) })
    }

    /// The `len` bytes of a body that begin at `offset`; fewer if `len` is more than the short block was made for.
    pub(crate) fn piece(&self, offset: u64, len: usize) -> &[u8] {
        let rest = self.short.get(phase(offset) as usize..).unwrap_or_default();
        rest.get(..len).unwrap_or(rest)
    }

    /// The bytes as a part of the long block, for which it must have been made.
    pub(crate) fn range(&self, offset: u64, len: usize) -> FileRange {
        FileRange { file: Arc::clone(&self.long), offset: phase(offset), len: len as u64 }
    }
}

fn phase(offset: u64) -> u64 {
    offset % PERIOD.len() as u64
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn pieces_join_to_the_body_wherever_it_is_cut() {
        let pattern = Pattern::new(1000, 3000).unwrap();
        let whole: Vec<u8> = PERIOD.iter().copied().cycle().take(1000).collect();
        for cut in 0..=1000 {
            let joined = [pattern.piece(0, cut), pattern.piece(cut as u64, 1000 - cut)].concat();
            assert!(joined == whole, "cut at {cut}");
        }
    }

    #[test]
    fn the_long_block_has_the_same_bytes() {
        let pattern = Pattern::new(3000, 3000).unwrap();
        for offset in [0, 1, 63, 64, 1_000_001] {
            let FileRange { file, offset: at, len } = pattern.range(offset, 3000);
            let mut bytes = vec![0; len as usize];
            file.read_exact_at(&mut bytes, at).unwrap();
            assert_eq!(bytes, pattern.piece(offset, 3000));
        }
    }
}
