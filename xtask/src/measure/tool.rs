//! Programs of others: where they are, and what to install when they are not.

use std::path::PathBuf;

/// Where daemons are installed, which is often no part of a user's PATH.
const DAEMON_FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// A program that may be absent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    /// Its name on the PATH.
    pub(crate) program: &'static str,
    /// How to come by it.
    pub(crate) install: &'static str,
}

impl Tool {
    /// Where it is; `None` when it is not installed.
    pub(crate) fn find(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(DAEMON_FOLDERS.map(PathBuf::from));
        folders.map(|folder| folder.join(self.program)).find(|file| file.is_file())
    }

    /// What to tell a person who lacks it.
    pub(crate) fn advice(&self) -> String {
        format!("{} is not on the PATH and is left out; to have it: {}", self.program, self.install)
    }
}
