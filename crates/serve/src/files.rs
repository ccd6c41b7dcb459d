//! Static files below one folder: found without ever leaving it, read in pieces.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use assay_http::target;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::validators::Found;

/// A folder whose files are served.
pub(crate) struct Folder(OwnedFd);

impl Folder {
    /// Opens the folder.
    ///
    /// # Errors
    /// It does not exist, is no folder, or may not be read.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// The regular file that a request target names, a folder standing for its `index.html`; `None` when there is
    /// no such file or it lies outside. The kernel does the walking (openat2(2), RESOLVE_BENEATH), so neither dot
    /// segments nor symbolic links escape, whatever happens to the folder meanwhile.
    ///
    /// # Errors
    /// The file is there but cannot be opened: no descriptor is left, or the disk failed.
    pub(crate) fn find(&self, raw_target: &[u8]) -> io::Result<Option<(File, Found)>> {
        let mut buffer = vec![0; raw_target.len() + 1];
        let Ok(path) = target::decode_path(target::split(raw_target).path, &mut buffer) else {
            return Ok(None);
        };
        let mut path = path.strip_prefix(b"/").unwrap_or(path).to_vec();
        if path.is_empty() || path.ends_with(b"/") {
            path.extend_from_slice(b"index.html");
        }
        // Without NONBLOCK a FIFO would stop the thread until somebody writes to it.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(&self.0, path.as_slice(), flags, Mode::empty(), resolve) {
            Ok(file) => describe(file, &path),
            Err(error) if is_absence(error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether an error means that there is nothing here for the client, rather than trouble of our own.
fn is_absence(error: Errno) -> bool {
    matches!(
        error,
        Errno::NOENT
            | Errno::NOTDIR
            | Errno::XDEV
            | Errno::LOOP
            | Errno::ACCESS
            | Errno::NAMETOOLONG
            | Errno::NXIO
    )
}

fn describe(file: OwnedFd, path: &[u8]) -> io::Result<Option<(File, Found)>> {
    let status = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let found = Found {
        len: u64::try_from(status.st_size).unwrap_or_default(),
        modified_s: u64::try_from(status.st_mtime).unwrap_or_default(),
        modified_ns: u32::try_from(status.st_mtime_nsec).unwrap_or_default(),
        media_type: media_type(path),
    };
    Ok(Some((File::from(file), found)))
}

/// Fills `buffer` with the bytes of `file` that begin at `offset`.
///
/// # Errors
/// The disk failed, or the file has become shorter than was announced.
pub(crate) fn read_piece(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    file.read_exact_at(buffer, offset)
}

/// The media type that the end of a file's name stands for.
fn media_type(path: &[u8]) -> &'static str {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let extension = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
    match extension.to_ascii_lowercase().as_slice() {
        b"html" | b"htm" => "text/html; charset=utf-8",
        b"css" => "text/css; charset=utf-8",
        b"js" | b"mjs" => "text/javascript; charset=utf-8",
        b"txt" | b"md" => "text/plain; charset=utf-8",
        b"csv" => "text/csv; charset=utf-8",
        b"json" | b"map" => "application/json",
        b"xml" => "application/xml",
        b"pdf" => "application/pdf",
        b"wasm" => "application/wasm",
        b"svg" => "image/svg+xml",
        b"png" => "image/png",
        b"jpg" | b"jpeg" => "image/jpeg",
        b"gif" => "image/gif",
        b"webp" => "image/webp",
        b"avif" => "image/avif",
        b"ico" => "image/x-icon",
        b"woff2" => "font/woff2",
        b"woff" => "font/woff",
        b"mp4" => "video/mp4",
        b"webm" => "video/webm",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("root");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("index.html"), "top").unwrap();
        std::fs::write(root.join("sub/index.html"), "below").unwrap();
        std::fs::write(root.join("a b.CSS"), "style").unwrap();
        symlink("../secret", root.join("escape")).unwrap();
        symlink(outside.path().join("secret"), root.join("absolute")).unwrap();
        symlink("index.html", root.join("inside")).unwrap();
        let folder = Folder::open(&root).unwrap();
        (outside, folder)
    }

    fn content(folder: &Folder, target: &str) -> Option<String> {
        let (file, found) = folder.find(target.as_bytes()).unwrap()?;
        let mut bytes = vec![0; found.len as usize];
        read_piece(&file, 0, &mut bytes).unwrap();
        Some(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn files_and_indices_are_found() {
        let (_outside, folder) = folder();
        for (target, expected) in [
            ("/", "top"),
            ("/index.html?x", "top"),
            ("/sub/", "below"),
            ("/sub/../sub/./index.html", "below"),
            ("/a%20b.CSS", "style"),
            ("/inside", "top"),
        ] {
            assert_eq!(content(&folder, target).as_deref(), Some(expected), "{target}");
        }
        assert_eq!(folder.find(b"/a%20b.CSS").unwrap().unwrap().1.media_type, "text/css; charset=utf-8");
    }

    #[test]
    fn nothing_outside_is_found_however_it_is_asked_for() {
        let (_outside, folder) = folder();
        for target in [
            "/../secret",
            "/%2e%2e/secret",
            "/sub/%2E%2e/../../secret",
            "/sub/..%2f..%2fsecret",
            "/escape",
            "/absolute",
            "//secret",
            "/..\\secret",
            "/%00",
            "/sub",
            "/missing",
            "/index.html/x",
            "/%",
        ] {
            assert_eq!(content(&folder, target), None, "{target}");
        }
    }

    #[test]
    fn a_file_that_shrank_is_an_error_not_a_wait() {
        let (_outside, folder) = folder();
        let (file, found) = folder.find(b"/").unwrap().unwrap();
        let mut buffer = vec![0; found.len as usize + 1];
        assert!(read_piece(&file, 0, &mut buffer).is_err());
    }
}
