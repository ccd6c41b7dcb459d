//! Ranges of files on their way into sockets.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::io::Errno;

use crate::Statistics;

/// Bytes that one system call moves at most.
const MOVED_AT_ONCE: u64 = 1 << 30;

/// A part of a file to send; the file stays open until it has left.
#[derive(Clone, Debug)]
pub struct FileRange {
    /// The file, opened for reading.
    pub file: Arc<File>,
    /// Where the part begins.
    pub offset: u64,
    /// Length of the range in bytes.
    pub len: u64,
}

impl FileRange {
    /// Lets the kernel move as much as there is room for from the page cache into a non-blocking socket (sendfile(2)); what
    /// has left is no longer part of the range.
    ///
    /// # Errors
    /// [`Errno::IO`] when the file has become shorter; what sendfile(2) says otherwise.
    pub(crate) fn move_into(&mut self, socket: &impl AsFd, stats: &mut Statistics) -> Result<(), Errno> {
        while self.len > 0 {
            stats.sends += 1;
            let count = self.len.min(MOVED_AT_ONCE) as usize;
            match rustix::fs::sendfile(socket, &self.file, Some(&mut self.offset), count) {
                Ok(0) => return Err(Errno::IO),
                Ok(n) => {
                    self.len -= n as u64;
                    stats.sent_bytes += n as u64;
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Copies the first bytes of the range, `most` at most, to the end of `sink`; they are no longer part of the range.
    ///
    /// # Errors
    /// [`Errno::IO`] when the file has become shorter; what pread(2) says otherwise.
    pub fn copy_onto(&mut self, sink: &mut Vec<u8>, most: usize) -> Result<(), Errno> {
        let n = self.len.min(most as u64) as usize;
        let before = sink.len();
        sink.resize(before + n, 0);
        self.file.read_exact_at(&mut sink[before..], self.offset).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Errno::IO,
            _ => Errno::from_io_error(&error).unwrap_or(Errno::IO),
        })?;
        self.offset += n as u64;
        self.len -= n as u64;
        Ok(())
    }
}
