//! The owner of a file: what two processes share by a name is shared with nobody else.

use std::fs::Metadata;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use rustix::fs::{FileType, fstat};
use rustix::process::geteuid;

/// Rights of a group and of all others.
const FOREIGN_RIGHTS: u32 = 0o077;

/// Checks an open file, so that nobody can put another in its place: it is of this kind, belongs to the user as whom this program
/// runs, and gives nobody else a right to it. Root is held to that too: who owns a file can change it at any time.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check(file: impl AsFd, kind: FileType) -> io::Result<()> {
    let found = fstat(file)?;
    let (mode, user) = (found.st_mode, geteuid().as_raw());
    let problem = if FileType::from_raw_mode(mode) != kind {
        format!("it is no {}", if kind == FileType::Fifo { "pipe" } else { "regular file" })
    } else if found.st_uid != user {
        format!("it belongs to user {}, and this program runs as user {user}", found.st_uid)
    } else if mode & FOREIGN_RIGHTS != 0 {
        format!("its mode {:04o} gives others a right to it, where 0600 gives none", mode & 0o7777)
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, problem))
}

/// Whether a name is that of a pipe which [`check`] would let pass, so that it may be removed.
pub(crate) fn is_our_pipe(found: &Metadata) -> bool {
    let is_ours = found.uid() == geteuid().as_raw() && found.mode() & FOREIGN_RIGHTS == 0;
    is_ours && found.file_type().is_fifo()
}

#[cfg(test)]
mod tests {
    use std::fs::{File, Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown};

    use super::*;

    #[test]
    fn a_file_is_ours_alone_or_refused_with_the_reason() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let told = |kind| check(file.as_file(), kind).err().map(|error| error.to_string());
        assert_eq!(told(FileType::RegularFile), None, "made with 0600");
        assert_eq!(told(FileType::Fifo).as_deref(), Some("it is no pipe"));
        for (mode, is_ours) in
            [(0o600, true), (0o400, true), (0o620, false), (0o602, false), (0o604, false), (0o666, false)]
        {
            set_permissions(file.path(), Permissions::from_mode(mode)).expect("a new mode");
            assert_eq!(told(FileType::RegularFile).is_none(), is_ours, "{mode:o}");
        }
        assert!(told(FileType::RegularFile).is_some_and(|text| text.contains("0666")));
        let folder = File::open(std::env::temp_dir()).expect("a folder");
        assert!(check(&folder, FileType::RegularFile).is_err());
    }

    #[test]
    fn root_too_refuses_the_files_of_others() {
        if !geteuid().is_root() {
            return; // Only root can give a file away.
        }
        let file = tempfile::NamedTempFile::new().expect("a file");
        chown(file.path(), Some(65_534), None).expect("a new owner");
        let error = check(file.as_file(), FileType::RegularFile).expect_err("another's");
        assert_eq!(error.to_string(), "it belongs to user 65534, and this program runs as user 0");
    }
}
