//! Reading with a limit.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Reads a text of at most so many bytes; a file that claims to have none, or has no end, is no different.
///
/// # Errors
/// As for [`read_bytes`]; [`io::ErrorKind::InvalidData`] for what is not UTF-8.
pub fn read(path: &Path, at_most: u64) -> io::Result<String> {
    read_bytes(path, at_most).and_then(text)
}

/// Reads at most so many bytes, which need be no text. Of a pipe, what comes until its end.
///
/// # Errors
/// As the system tells; [`io::ErrorKind::FileTooLarge`] for a longer one.
pub fn read_bytes(path: &Path, at_most: u64) -> io::Result<Vec<u8>> {
    whole(File::open(path)?, at_most)
}

/// Reads a text of at most so many bytes from a file that no person named, but that was found. Links are followed; of a pipe nobody may
/// ever come to the end, so only a regular file is read.
///
/// # Errors
/// As for [`read`]; [`io::ErrorKind::InvalidInput`] for what is no regular file.
pub fn read_found(path: &Path, at_most: u64) -> io::Result<String> {
    regular(path, OFlags::empty()).and_then(|file| whole(file, at_most)).and_then(text)
}

/// Reads a text of at most so many bytes that lies in a folder of anybody's making, or below it. What a link leads to outside of it is not
/// read, nor anything that is no regular file: of a pipe nobody may ever come to the end.
///
/// # Errors
/// As for [`read`]; [`io::ErrorKind::PermissionDenied`] for a file outside of the folder, [`io::ErrorKind::InvalidInput`] for what is no
/// regular file.
pub fn read_within(folder: &Path, name: &Path, at_most: u64) -> io::Result<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let path = inside(&folder.canonicalize()?, &folder.join(name))?;
    // The path has no links any more.
    regular(&path, OFlags::NOFOLLOW).and_then(|file| whole(file, at_most)).and_then(text)
}

/// Opens a regular file. Nothing is waited for should it have become a pipe meanwhile (open(2)), and no device is opened, which may
/// already have an effect.
fn regular(path: &Path, flags: OFlags) -> io::Result<File> {
    let no_other = || io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file");
    let is_regular = |found: Metadata| found.is_file().then_some(()).ok_or_else(no_other);
    path.metadata().and_then(is_regular)?;
    let flags = (flags | OFlags::NONBLOCK).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    file.metadata().and_then(is_regular)?;
    Ok(file)
}

/// Where the path leads to, if that is inside of the folder.
fn inside(folder: &Path, path: &Path) -> io::Result<PathBuf> {
    let path = path.canonicalize()?;
    if path.starts_with(folder) {
        return Ok(path);
    }
    let told = format!("it leads out of {}", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, told))
}

fn whole(file: File, at_most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(at_most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > at_most {
        let told = format!("it is longer than {at_most} bytes, the most that is read of such a file");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, told));
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "it is no text (UTF-8)");
    String::from_utf8(bytes).map_err(wrong)
}
