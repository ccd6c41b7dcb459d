//! Reading the kernel's small text files, and the few shapes they come in, as pure functions on text.

use std::path::{Path, PathBuf};

/// A file system as seen from some root: `/` for this machine, a folder of saved samples in tests.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The tree of this machine.
    pub(crate) fn live() -> Self {
        Self { root: PathBuf::from("/") }
    }

    /// What is below `root`: a saved machine, or a single folder of this one.
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    /// The path of `file` (given without the leading slash) under this root.
    pub(crate) fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.root.join(file)
    }

    /// The file's text without white space around it; `None` when it is absent, unreadable, empty or no
    /// UTF-8.
    pub(crate) fn read(&self, file: impl AsRef<Path>) -> Option<String> {
        let text = std::fs::read_to_string(self.path(file)).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The file's text as a number, a CPU list or whatever else `T` reads.
    pub(crate) fn parse<T: std::str::FromStr>(&self, file: impl AsRef<Path>) -> Option<T> {
        self.read(file)?.parse().ok()
    }

    /// Whether the path exists.
    pub(crate) fn exists(&self, file: impl AsRef<Path>) -> bool {
        self.path(file).exists()
    }

    /// The names in a folder, sorted; none when it cannot be read.
    pub(crate) fn names(&self, folder: impl AsRef<Path>) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// The value of the first line `name: value` (as in `/proc/PID/status`, `/proc/meminfo`, `/proc/cpuinfo`),
/// trimmed.
pub(crate) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// A field as a whole number, whatever follows it (`VmHWM: 1780 kB` is 1780).
pub(crate) fn number(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.split_whitespace().next()?.parse().ok()
}

/// The number after `name` in lines of `name number` (as in a cgroup's `cpu.stat`).
pub(crate) fn keyed(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(char::is_whitespace)?;
        (key == name).then(|| value.trim().parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_numbers_and_keys() {
        let status = "Name:\tcat\nVmHWM:\t    1780 kB\nThreads:\t1\nCpus_allowed_list:\t0-1\n";
        assert_eq!(field(status, "Cpus_allowed_list"), Some("0-1"));
        assert_eq!(number(status, "VmHWM"), Some(1780));
        assert_eq!(number(status, "VmRSS"), None);
        assert_eq!(number(status, "Name"), None);
        assert_eq!(keyed("usage_usec 12\nuser_usec 7\n", "user_usec"), Some(7));
        assert_eq!(keyed("usage_usec 12\n", "usage"), None);
    }
}
