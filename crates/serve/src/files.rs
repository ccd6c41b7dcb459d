//! Static files below one folder: found without ever leaving it, read in pieces.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use assay_http::target;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::coding::{Accepted, Coding};
use crate::media::media_type;
use crate::validators::Found;

/// The one folder whose name begins with a dot and that is public by its purpose (RFC 8615).
const WELL_KNOWN: &[u8] = b".well-known";

/// A folder whose files are served.
pub(crate) struct Folder {
    descriptor: OwnedFd,
    /// Whether names that begin with a dot may be seen.
    dot_files: bool,
    /// Whether the kernel refused to walk for us, so that we do.
    walks: Cell<bool>,
}

/// What is at a path; `T` tells of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lookup<T> {
    /// A file, in a coding that the client takes.
    File(T),
    /// A folder, whose own path ends with a slash: the target that the client should have asked for.
    Folder(String),
    /// A file in no coding that the client takes.
    NotAcceptable,
    /// Nothing, or nothing that may be seen.
    Absent,
}

impl<T> Lookup<T> {
    /// The answer with its file told of in another way.
    pub(crate) fn map<U>(self, tell: impl FnOnce(T) -> U) -> Lookup<U> {
        match self {
            Self::File(file) => Lookup::File(tell(file)),
            Self::Folder(target) => Lookup::Folder(target),
            Self::NotAcceptable => Lookup::NotAcceptable,
            Self::Absent => Lookup::Absent,
        }
    }
}

impl Folder {
    /// Opens the folder. Names in it that begin with a dot are absent, unless `dot_files`.
    ///
    /// # Errors
    /// It does not exist, is no folder, or may not be read.
    pub(crate) fn open(path: &Path, dot_files: bool) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { descriptor, dot_files, walks: Cell::new(false) })
    }

    /// The regular file that a request target names, a path that ends with a slash standing for the `index.html` below
    /// it; or, in its place, what lies precompressed beside it (`FILE.br`) and the client likes better.
    ///
    /// # Errors
    /// The file is there but cannot be opened: no descriptor is left, or the disk failed.
    pub(crate) fn find(&self, raw_target: &[u8], accepted: Accepted) -> io::Result<Lookup<(File, Found)>> {
        let parts = target::split(raw_target);
        let mut buffer = vec![0; parts.path.len()];
        let Ok(decoded) = target::decode_path(parts.path, &mut buffer) else {
            return Ok(Lookup::Absent);
        };
        let mut path = decoded.strip_prefix(b"/").unwrap_or(decoded).to_vec();
        if path.is_empty() || path.ends_with(b"/") {
            path.extend_from_slice(b"index.html");
        }
        if !self.dot_files && is_hidden(&path) {
            return Ok(Lookup::Absent);
        }
        let Some((file, status)) = self.open_below(&path)? else { return Ok(Lookup::Absent) };
        match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => self.choose(path, file, &status, accepted),
            FileType::Directory if !decoded.ends_with(b"/") => {
                Ok(Lookup::Folder(with_slash(decoded, parts.query)))
            }
            _ => Ok(Lookup::Absent),
        }
    }

    /// The file, or the sibling of it in the coding that the client likes best. A sibling that is older than the file
    /// was made from something else and does not count.
    fn choose(
        &self,
        mut path: Vec<u8>,
        file: File,
        status: &Stat,
        accepted: Accepted,
    ) -> io::Result<Lookup<(File, Found)>> {
        let media_type = media_type(&path);
        let name_len = path.len();
        let found = describe(status, media_type, Coding::Identity);
        for coding in accepted.best_first() {
            if coding == Coding::Identity {
                return Ok(Lookup::File((file, found)));
            }
            path.truncate(name_len);
            path.extend_from_slice(coding.extension().as_bytes());
            let Some((sibling, status)) = self.open_below(&path)? else { continue };
            let coded = describe(&status, media_type, coding);
            let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
            if is_file && coded.modified() >= found.modified() {
                return Ok(Lookup::File((sibling, coded)));
            }
        }
        Ok(Lookup::NotAcceptable)
    }

    /// Opens what is at a path. The kernel does the walking (openat2(2), RESOLVE_BENEATH), so neither dot segments nor
    /// symbolic links escape, whatever happens to the folder meanwhile.
    fn open_below(&self, path: &[u8]) -> io::Result<Option<(File, Stat)>> {
        match self.open_beneath(path) {
            Ok(file) => {
                let status = rustix::fs::fstat(&file)?;
                Ok(Some((File::from(file), status)))
            }
            Err(error) if is_absence(error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn open_beneath(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        if !self.walks.get() {
            match self.open_by_kernel(path) {
                // Before Linux 5.6; a filter of system calls that does not know this one (seccomp(2)) may say either.
                Err(Errno::NOSYS | Errno::PERM) => self.walks.set(true),
                done => return done,
            }
        }
        self.walk(path)
    }

    /// Has the kernel walk. Any rename of the system that falls into the walk keeps it from being sure of what `..` in a symbolic link
    /// leads to, and it asks to be asked again (`EAGAIN`, openat2(2)).
    fn open_by_kernel(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let open = || rustix::fs::openat2(&self.descriptor, path, READING, Mode::empty(), resolve);
        let disturbed = |opened: &Result<OwnedFd, Errno>| matches!(opened, Err(Errno::AGAIN));
        let undisturbed = (0..MAX_WALKS).map(|_| open()).find(|opened| !disturbed(opened));
        undisturbed.unwrap_or(Err(Errno::AGAIN))
    }

    /// Opens a path one name after the other and through no symbolic link at all: where a link leads to, nobody but the
    /// kernel can tell without a race.
    fn walk(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let mut names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).peekable();
        let mut folder: Option<OwnedFd> = None;
        while let Some(name) = names.next() {
            if name == b".." {
                return Err(Errno::XDEV);
            }
            let flags = if names.peek().is_some() { PASSING } else { READING | OFlags::NOFOLLOW };
            let at = folder.as_ref().map_or(self.descriptor.as_fd(), |folder| folder.as_fd());
            folder = Some(rustix::fs::openat(at, name, flags, Mode::empty())?);
        }
        folder.ok_or(Errno::NOENT)
    }
}

/// Most walks to a file, each of which takes microseconds and was disturbed by a rename.
const MAX_WALKS: usize = 100;
/// Without NONBLOCK a FIFO would stop the thread until somebody writes to it.
const READING: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
/// A folder on the way, no link to one.
const PASSING: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Whether a name on the path begins with a dot: version control, keys, settings of tools.
fn is_hidden(path: &[u8]) -> bool {
    let mut names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).enumerate();
    names.any(|(place, name)| name.starts_with(b".") && !(place == 0 && name == WELL_KNOWN))
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

/// Whether an error means that descriptors or memory have run out, which passes.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

fn describe(status: &Stat, media_type: &'static str, coding: Coding) -> Found {
    Found {
        len: u64::try_from(status.st_size).unwrap_or_default(),
        modified_s: u64::try_from(status.st_mtime).unwrap_or_default(),
        modified_ns: u32::try_from(status.st_mtime_nsec).unwrap_or_default(),
        media_type,
        coding,
    }
}

/// A decoded path as a target, with a slash behind it and the query that was asked for. A decoded path has no empty
/// segment, so the target begins with one slash and cannot be taken for another host (`//host`, RFC 3986 §4.2).
fn with_slash(decoded: &[u8], query: Option<&[u8]>) -> String {
    let mut target = String::with_capacity(decoded.len() + 1);
    for &byte in decoded {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+'
            | b',' | b';' | b'=' | b':' | b'@' => target.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => target.push(char::from(byte)),
            _ => {
                target.push('%');
                for half in [byte >> 4, byte & 15] {
                    target.push(char::from(b"0123456789ABCDEF"[usize::from(half)]));
                }
            }
        }
    }
    target.push('/');
    if let Some(query) = query {
        target.push('?');
        // A query that was scanned is ASCII.
        target.extend(query.iter().copied().map(char::from));
    }
    target
}

/// Fills `buffer` with the bytes of `file` that begin at `offset`.
///
/// # Errors
/// The disk failed, or the file has become shorter than was announced.
pub(crate) fn read_piece(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    file.read_exact_at(buffer, offset)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

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
        let folder = Folder::open(&root, false).unwrap();
        (outside, folder)
    }

    fn folder_path(folder: &Folder) -> std::path::PathBuf {
        use std::os::fd::AsRawFd;
        std::fs::read_link(format!("/proc/self/fd/{}", folder.descriptor.as_raw_fd())).unwrap()
    }

    fn find(folder: &Folder, target: &str, accepts: &str) -> Lookup<(String, Found)> {
        let accepted = Accepted::of(Some(accepts.as_bytes()).into_iter());
        folder.find(target.as_bytes(), accepted).unwrap().map(|(file, found)| {
            let mut bytes = vec![0; found.len as usize];
            read_piece(&file, 0, &mut bytes).unwrap();
            (String::from_utf8(bytes).unwrap(), found)
        })
    }

    fn content(folder: &Folder, target: &str) -> Option<String> {
        match find(folder, target, "") {
            Lookup::File((content, _)) => Some(content),
            _ => None,
        }
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
    }

    #[test]
    fn folders_are_sent_to_their_slash_on_this_host_with_their_query() {
        let (_outside, folder) = folder();
        std::fs::create_dir(folder_path(&folder).join("%e é")).unwrap();
        for (target, expected) in [
            ("/sub", "/sub/"),
            ("/sub?a=/b?c", "/sub/?a=/b?c"),
            ("//sub", "/sub/"),
            ("/x/..//sub", "/sub/"),
            ("http://elsewhere/sub?q", "/sub/?q"),
            ("/%25e%20%C3%A9", "/%25e%20%C3%A9/"),
        ] {
            assert_eq!(find(&folder, target, ""), Lookup::Folder(expected.into()), "{target}");
        }
        assert_eq!(find(&folder, "/%25e%20%C3%A9/", ""), Lookup::Absent, "without an index");
    }

    #[test]
    fn siblings_are_chosen_by_what_the_client_takes_unless_they_are_older() {
        let (_outside, folder) = folder();
        let root = folder_path(&folder);
        std::fs::write(root.join("index.html.gz"), "gzipped").unwrap();
        std::fs::create_dir(root.join("index.html.zst")).unwrap();
        std::fs::write(root.join("index.html.br"), "old").unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        File::options().write(true).open(root.join("index.html.br")).unwrap().set_modified(long_ago).unwrap();
        for (accepts, expected, coding) in [
            ("", "top", Coding::Identity),
            ("br, zstd, gzip", "gzipped", Coding::Gzip),
            ("br", "top", Coding::Identity),
        ] {
            let Lookup::File((content, found)) = find(&folder, "/", accepts) else { panic!("{accepts}") };
            assert_eq!((content.as_str(), found.coding), (expected, coding), "{accepts}");
            assert_eq!(found.media_type, "text/html; charset=utf-8");
        }
        assert_eq!(find(&folder, "/", "br, identity;q=0"), Lookup::NotAcceptable);
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
    fn names_that_begin_with_a_dot_are_absent_unless_asked_for() {
        let (_outside, folder) = folder();
        let root = folder_path(&folder);
        for name in [".git", "sub/.cache", ".well-known", ".well-known/.private"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let hidden =
            ["/.env", "/%2eenv", "/sub/../.env", "/.git/config", "/sub/.cache/x", "/.well-known/.private/x"];
        for name in
            [".env", ".git/config", "sub/.cache/x", ".well-known/.private/x", ".well-known/security.txt"]
        {
            std::fs::write(root.join(name), "x").unwrap();
        }
        let open = Folder::open(&root, true).unwrap();
        for target in hidden {
            assert_eq!(content(&folder, target), None, "{target}");
            assert_eq!(content(&open, target).as_deref(), Some("x"), "{target}");
        }
        assert_eq!(find(&folder, "/.git", ""), Lookup::Absent, "no redirect tells that it is there");
        assert_eq!(content(&folder, "/.well-known/security.txt").as_deref(), Some("x"));
    }

    /// The number of openat2(2), the same on every architecture.
    const OPENAT2: i64 = 437;

    /// On a thread of its own, which can never call openat2(2) again.
    fn without_openat2(answer: Errno, then: impl FnOnce() + Send) {
        use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
        std::thread::scope(|scope| {
            let refuse = SeccompAction::Errno(answer.raw_os_error().unsigned_abs());
            let rules = [(OPENAT2, Vec::new())].into_iter().collect();
            let arch = std::env::consts::ARCH.try_into().unwrap();
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).unwrap();
            let program: BpfProgram = filter.try_into().unwrap();
            let done = scope.spawn(move || {
                seccompiler::apply_filter(&program).unwrap();
                then();
            });
            done.join().unwrap();
        });
    }

    #[test]
    fn without_openat2_the_same_is_found_but_through_no_link() {
        for answer in [Errno::NOSYS, Errno::PERM] {
            without_openat2(answer, || {
                let (outside, folder) = folder();
                let root = folder_path(&folder);
                symlink("sub", root.join("linked")).unwrap();
                for (target, expected) in [
                    ("/", Some("top")),
                    ("/sub/", Some("below")),
                    ("/a%20b.CSS", Some("style")),
                    ("/inside", None),
                    ("/linked/index.html", None),
                    ("/escape", None),
                    ("/absolute", None),
                    ("/%2e%2e/secret", None),
                    ("/missing", None),
                    ("/index.html/x", None),
                ] {
                    assert_eq!(content(&folder, target).as_deref(), expected, "{target}");
                }
                assert!(folder.walks.get(), "the kernel was asked and refused");
                assert_eq!(find(&folder, "/sub", ""), Lookup::Folder("/sub/".into()));
                assert!(folder.walk(b"../secret").is_err() && outside.path().join("secret").exists());
            });
        }
    }

    #[test]
    fn a_walk_that_renames_disturb_is_begun_anew_but_not_for_ever() {
        let (outside, folder) = folder();
        symlink("../index.html", folder_path(&folder).join("sub/up")).unwrap();
        let [one, other] = ["one", "other"].map(|name| outside.path().join(name));
        std::fs::write(&one, "").unwrap();
        let is_over = AtomicBool::new(false);
        let accepted = || Accepted::of(std::iter::empty());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::fs::rename(&one, &other).and_then(|()| std::fs::rename(&other, &one)).unwrap();
                }
            });
            let found = (0..20_000).map(|_| folder.find(b"/sub/up", accepted()));
            let failed = found.filter(|found| !matches!(found, Ok(Lookup::File(_)))).count();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(failed, 0);
        });
        without_openat2(Errno::AGAIN, || {
            let (_outside, folder) = self::folder();
            let refused = folder.find(b"/", accepted()).map(|_| ()).unwrap_err();
            assert_eq!(Errno::from_io_error(&refused), Some(Errno::AGAIN));
        });
    }

    #[test]
    fn a_file_that_shrank_is_an_error_not_a_wait() {
        let (_outside, folder) = folder();
        let accepted = Accepted::of(std::iter::empty());
        let Lookup::File((file, found)) = folder.find(b"/", accepted).unwrap() else { panic!("no index") };
        let mut buffer = vec![0; found.len as usize + 1];
        assert!(read_piece(&file, 0, &mut buffer).is_err());
    }
}
