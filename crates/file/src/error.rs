//! Why something could not be written, and what to do about it.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A file that could not be written.
#[derive(Debug, Error)]
#[error("cannot write {}: {source}; {}", path.display(), remedy(source))]
pub struct WriteError {
    /// The file, as it was named.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// What is not written although the system would allow it.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    #[error("another user put a link or a pipe there, in a folder where everybody may write")]
    Planted,
}

impl WriteError {
    /// For a file whose writing went on elsewhere.
    pub fn new(path: &Path, source: io::Error) -> Self {
        Self { path: path.to_owned(), source }
    }

    /// Whether the disk, or the part of it that the user may fill, is full.
    pub fn is_full(&self) -> bool {
        matches!(
            self.source.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
        )
    }
}

fn remedy(error: &io::Error) -> &'static str {
    if error.get_ref().is_some_and(|inner| inner.is::<Refusal>()) {
        return "name the file that is meant, or one in a folder of your own";
    }
    match error.kind() {
        ErrorKind::NotFound => "make its folder first, or name another",
        ErrorKind::AlreadyExists => "what is there stays as it is, so name another",
        ErrorKind::IsADirectory => "it is a folder, so name a file in it",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room there, or name a file on another disk"
        }
        ErrorKind::FileTooLarge => "raise the limit (ulimit -f), or name a file on another disk",
        ErrorKind::ResourceBusy => "it is a mount point, so name a file beside it",
        ErrorKind::BrokenPipe => "nobody reads it any more",
        _ => "name a file in a folder that you may write to",
    }
}
