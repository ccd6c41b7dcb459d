//! Where a name leads.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::descriptor;
use crate::error::Refusal;

/// Links in a row that are followed (path_resolution(7)).
const MAX_LINKS: usize = 40;
/// Everybody may make files here, and remove their own only (`S_ISVTX | S_IWOTH`).
const SHARED_FOLDER: u32 = 0o1002;
/// What may be done with a new file before the umask is asked.
const NEW_FILE: u32 = 0o666;
/// The bits of a mode that say who may do what.
const PERMISSIONS: u32 = 0o777;

/// Where a name leads.
pub(crate) enum Destination {
    /// To a regular file, or to nothing yet.
    File(NamedPlace),
    /// To what can only be written through.
    Stream(File),
}

/// A name in a folder.
pub(crate) struct NamedPlace {
    pub(crate) folder: PathBuf,
    name: OsString,
    /// Owner and mode of what is there.
    old: Option<(u32, u32)>,
}

impl Destination {
    /// Follows `path` to its end. Nothing is made or changed.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
            let folder = folder_of(&path).canonicalize()?;
            if let Some(open) = descriptor::named(&folder, &name) {
                return open.map(Self::Stream);
            }
            let here = folder.join(&name);
            let found = match whatever_is_at(&here)? {
                Some(found) if !found.is_file() => found,
                file_or_nothing => return Ok(Self::File(NamedPlace::new(folder, name, file_or_nothing))),
            };
            if found.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            let shared = folder.metadata()?;
            if is_planted((shared.mode(), shared.uid()), found.uid(), me()) {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, Refusal::Planted));
            }
            // A link of the kernel's own leads to where no name does (proc_pid_fd(5)).
            if !found.is_symlink() || folder.starts_with("/proc") {
                return through(&here).map(Self::Stream);
            }
            path = folder.join(here.read_link()?);
        }
        Err(io::Error::from_raw_os_error(rustix::io::Errno::LOOP.raw_os_error()))
    }
}

impl NamedPlace {
    /// The place that has this very name. A link there is followed nowhere: like all else that is no regular file, it stays.
    pub(crate) fn itself(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
        let folder = folder_of(path).canonicalize()?;
        match whatever_is_at(&folder.join(&name))? {
            Some(found) if !found.is_file() => Err(io::ErrorKind::AlreadyExists.into()),
            file_or_nothing => Ok(Self::new(folder, name, file_or_nothing)),
        }
    }

    fn new(folder: PathBuf, name: OsString, old: Option<Metadata>) -> Self {
        Self { folder, name, old: old.map(|old| (old.uid(), old.mode())) }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Permissions of the user's own file that is replaced, else those that the umask leaves. A file of somebody else tells nothing about who shall
    /// read ours.
    pub(crate) fn mode(&self) -> u32 {
        match self.old {
            Some((owner, mode)) if owner == me() => mode & PERMISSIONS,
            _ => NEW_FILE & !umask(),
        }
    }
}

/// What has this name, be it a link; `None` where nothing has.
fn whatever_is_at(path: &Path) -> io::Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// The folder in which a name is: the current one where none is named.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether another user than `me` put something into a folder that everybody shares: its owner, and the folder's mode and
/// owner.
fn is_planted(folder: (u32, u32), owner: u32, me: u32) -> bool {
    let (mode, folder_owner) = folder;
    mode & SHARED_FOLDER == SHARED_FOLDER && ![me, folder_owner].contains(&owner)
}

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Opens what is there, and makes nothing.
fn through(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags(OFlags::NOCTTY.bits() as i32).open(path)
}

/// The umask as the kernel tells it (proc_pid_status(5)): umask(2) cannot ask without changing it for all threads. Where it
/// does not tell, nobody but the user may read the file.
fn umask() -> u32 {
    let told = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let field = told.lines().find_map(|line| line.strip_prefix("Umask:"));
    field.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok()).unwrap_or(0o077)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_stream(path: &str) -> bool {
        matches!(Destination::of(Path::new(path)), Ok(Destination::Stream(_)))
    }

    #[test]
    fn devices_and_descriptors_are_written_through() {
        for path in ["/dev/null", "/dev/full", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/proc/self/fd/2"] {
            assert!(is_stream(path), "{path}");
        }
        assert!(Destination::of(Path::new("/proc/self/fd/9999")).is_err());
    }

    #[test]
    fn what_others_put_into_a_shared_folder_is_planted() {
        let (tmp, own) = ((0o41777, 0), (0o40755, 1000));
        assert!(is_planted(tmp, 1001, 1000) && is_planted(tmp, 1001, 0));
        assert!(!is_planted(tmp, 1000, 1000), "one's own");
        assert!(!is_planted(tmp, 0, 1000), "the folder's owner can do anything there anyway");
        assert!(!is_planted(own, 1001, 1000), "nobody else may write there");
    }
}
