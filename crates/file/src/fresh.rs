//! What is written only where nothing is yet: files and folders that a person goes on with.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::destination::folder_of;
use crate::{ASIDE_PREFIX, WriteError, aside_in, sync_folder};

/// What may be done with a new file, and with a new program, before the umask is asked.
const FILE: u32 = 0o666;
const PROGRAM: u32 = 0o777;

/// A file of a folder that is yet to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Path of the file in the folder.
    pub path: PathBuf,
    /// What is in it.
    pub content: Vec<u8>,
    /// Whether it is a program.
    pub is_executable: bool,
}

/// Writes a file whole or not at all, where none is. What is there stays, be it a link that leads nowhere.
///
/// # Errors
/// [`WriteError`] with the file, the reason and the remedy.
pub fn write_new(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    let write = || {
        let folder = folder_of(path);
        let aside = aside_in(folder, FILE)?;
        aside.as_file().write_all(content)?;
        aside.as_file().sync_all()?;
        aside.persist_noclobber(path)?;
        sync_folder(folder)
    };
    write().map_err(|source| WriteError::new(path, source))
}

/// Writes a folder with its files, all or nothing, where nothing is.
///
/// # Errors
/// [`WriteError`] with the folder, the reason and the remedy.
pub fn write_folder(path: &Path, files: &[NewFile]) -> Result<(), WriteError> {
    let write = || {
        let parent = folder_of(path);
        // Where there is no such folder, the system says so in its own words.
        parent.metadata()?;
        let aside = tempfile::Builder::new().prefix(ASIDE_PREFIX).tempdir_in(parent).map_err(nameless)?;
        let whole = aside.path().join("whole");
        fs::create_dir(&whole)?;
        files.iter().try_for_each(|file| write_into(&whole, file))?;
        let folders: BTreeSet<&Path> = files.iter().flat_map(|file| file.path.ancestors().skip(1)).collect();
        folders.into_iter().try_for_each(|folder| sync_folder(&whole.join(folder)))?;
        name(&whole, path)?;
        sync_folder(parent)
    };
    write().map_err(|source: io::Error| WriteError::new(path, source))
}

fn write_into(folder: &Path, file: &NewFile) -> io::Result<()> {
    let path = folder.join(&file.path);
    fs::create_dir_all(folder_of(&path))?;
    let mode = if file.is_executable { PROGRAM } else { FILE };
    let mut made: File = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    made.write_all(&file.content)?;
    made.sync_all()
}

/// Gives a folder its name, unless something has it. Some file systems cannot promise that (rename(2): `EINVAL`); there an empty
/// folder that was made at this very moment would be replaced.
fn name(whole: &Path, path: &Path) -> io::Result<()> {
    match renameat_with(CWD, whole, CWD, path, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL) if path.symlink_metadata().is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(Errno::INVAL) => fs::rename(whole, path),
        named => Ok(named?),
    }
}

/// An error without the name that nobody gave.
fn nameless(error: io::Error) -> io::Error {
    error.kind().into()
}
