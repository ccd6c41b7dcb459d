//! Programs of others: where they are, and what to install where they are not.

use std::path::PathBuf;

/// Where daemons are installed, which is often no part of a user's PATH.
const DAEMON_FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// A program that may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The program's name on the PATH.
    pub program: &'static str,
    /// The command that installs it, or where to have it from.
    pub install: &'static str,
}

impl Tool {
    /// Where it is; `None` when it is not installed.
    pub fn find(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(DAEMON_FOLDERS.map(PathBuf::from));
        folders.map(|folder| folder.join(self.program)).find(|file| file.is_file())
    }

    /// Where it is, or its bare name for whoever starts it to complain about.
    pub fn path(&self) -> PathBuf {
        self.find().unwrap_or_else(|| PathBuf::from(self.program))
    }

    /// What to tell a person who lacks it.
    pub fn advice(&self) -> String {
        format!("{} is not on the PATH; to have it: {}", self.program, self.install)
    }
}
