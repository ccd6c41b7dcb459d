//! Files, written without harm to what is there: the one way in which assay writes what a person named, and reads with a
//! limit.
//!
//! - A regular file is written aside, under a random name in the same folder that nobody else can read, synced, given the
//!   mode that the umask says, and renamed. A reader, or a crash at any moment, finds the old file or the new one.
//! - What already is at the name keeps nothing but its permissions, and those only if it is the user's own. A hard link to
//!   something else therefore stays as it is.
//! - Devices, pipes and sockets are written through and never replaced; `/dev/stdout` and `/proc/self/fd/N` are that
//!   descriptor, at the place where it stands.
//! - A symbolic link is followed, and the file that it leads to is replaced in its own folder, as editors do. Links and pipes
//!   that another user put into a folder where everybody may write are refused, as the kernel does where it opens them
//!   (Linux: admin-guide/sysctl/fs.rst, `protected_symlinks`, `protected_fifos`).
//! - A file that no person named lies where its name is, and no link leads it elsewhere ([`write_here`]).
//! - What a person goes on with is written only where nothing is yet ([`write_new`], [`write_folder`]).
//!
//! Must not know: what is written or read, and why.
#![forbid(unsafe_code)]

mod descriptor;
mod destination;
mod error;
mod fresh;
mod reading;

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use tempfile::NamedTempFile;

use destination::{Destination, NamedPlace};
pub use error::WriteError;
pub use fresh::{NewFile, write_folder, write_new};
pub use reading::{read, read_bytes, read_found, read_within};

/// Beginning of the names under which files are written aside. A writer that was killed leaves one behind.
pub const ASIDE_PREFIX: &str = ".assay-part-";
/// The mode of what is its owner's alone.
const PRIVATE: u32 = 0o600;

/// Writes a file whole or not at all. Of something that is written through, a reader that has gone away is no error: it saw
/// what it wanted.
///
/// # Errors
/// [`WriteError`] with the file, the reason and the remedy; what was there before is then still there.
pub fn write(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    write_with(path, content, NamedPlace::mode)
}

/// Writes what nobody else is to read: a regular file has mode 0600, whatever the umask says.
///
/// # Errors
/// As for [`write()`].
pub fn write_private(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    write_with(path, content, |_| PRIVATE)
}

/// Writes a file whole or not at all under a name that no person typed: of what is there, only a regular file is replaced, and no link
/// is followed.
///
/// # Errors
/// As for [`write()`]; [`io::ErrorKind::AlreadyExists`] where something else has the name.
pub fn write_here(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    let write = || NamedPlace::itself(path).and_then(|place| whole(&place, content, place.mode()));
    write().map_err(|source| WriteError::new(path, source))
}

fn write_with(path: &Path, content: &[u8], mode: impl Fn(&NamedPlace) -> u32) -> Result<(), WriteError> {
    let write = || match Destination::of(path)? {
        Destination::File(place) => whole(&place, content, mode(&place)),
        Destination::Stream(mut stream) => match stream.write_all(content).and_then(|()| stream.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        },
    };
    write().map_err(|source| WriteError::new(path, source))
}

/// Begins a file that grows while others may read along. What was there before is replaced, not cut to nothing: who has it
/// open keeps it.
///
/// # Errors
/// [`WriteError`] with the file, the reason and the remedy.
pub fn begin(path: &Path) -> Result<File, WriteError> {
    let begin = || match Destination::of(path)? {
        Destination::File(place) => {
            let aside = aside_in(&place.folder, PRIVATE)?;
            allow(&aside, place.mode())?;
            Ok(aside.persist(place.path())?)
        }
        Destination::Stream(stream) => Ok(stream),
    };
    begin().map_err(|source| WriteError::new(path, source))
}

fn whole(place: &NamedPlace, content: &[u8], mode: u32) -> io::Result<()> {
    let mut aside = aside_in(&place.folder, PRIVATE)?;
    aside.as_file_mut().write_all(content)?;
    allow(&aside, mode)?;
    aside.as_file().sync_all()?;
    aside.persist(place.path())?;
    sync_folder(&place.folder)
}

/// A new file (`O_EXCL`) under a random name, which goes away unless it is renamed. What goes wrong is told in the system's words alone,
/// without the name that nobody gave.
fn aside_in(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let make = |path: &Path| OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path);
    tempfile::Builder::new().prefix(ASIDE_PREFIX).make_in(folder, make)
}

/// Gives the file the mode that it will be found with.
fn allow(aside: &NamedTempFile, mode: u32) -> io::Result<()> {
    aside.as_file().set_permissions(Permissions::from_mode(mode))
}

/// The new name is on disk only when the folder is. Some file systems cannot sync a folder (fsync(2): `EINVAL`).
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}
