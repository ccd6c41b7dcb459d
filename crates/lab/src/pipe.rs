//! Named pipes, through which a process under a supervisor is told and tells.

use std::fs::File;
use std::path::PathBuf;

use rustix::fs::{FileType, Mode};

/// A named pipe of ours.
pub(crate) struct Pipe {
    /// The name of the pipe.
    pub(crate) path: PathBuf,
}

impl Pipe {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Makes it and opens both ends, which waits for nobody (fifo(7)).
    pub(crate) fn both_ends(&self) -> std::io::Result<File> {
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &self.path, FileType::Fifo, mode, 0)?;
        File::options().read(true).write(true).open(&self.path)
    }

    /// The end to read from; it finds an end when nobody else holds the other.
    pub(crate) fn reader(&self) -> std::io::Result<File> {
        File::open(&self.path)
    }
}

impl Drop for Pipe {
    /// Whoever has opened it keeps it; its name is of no more use.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
