//! Folders that travel: content-addressed, so that what is there already travels once, and what arrived is what was sent.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::message::{Parcel, ParcelKind};
use crate::marks;

/// Most files of a folder that travels: more is not a contender's source but what a build left there.
const MAX_FILES: usize = 20_000;
/// Most bytes of its files together.
const MAX_BYTES: u64 = 256 << 20;
/// Folders that builds make or package managers fill, and that are made anew where the contender is built.
const LEFT_OUT: [&str; 6] = [".git", ".venv", "__pycache__", "node_modules", "target", "venv"];

/// What a file keeps of its mode: who may read, write and execute it (chmod(2)), and nothing that lends the rights of its owner.
const PERMISSIONS: u32 = 0o777;

/// What is in a folder, and where the contents are.
#[derive(Debug, Default)]
pub struct Packed {
    /// In the order of their paths, each folder before what is in it.
    pub files: Vec<Parcel>,
    /// The file of each content, by its SHA-256.
    pub contents: BTreeMap<String, PathBuf>,
}

/// What speaks against a folder that is to travel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// What is the matter with it, in words.
    pub problem: String,
    /// How to mend it.
    pub remedy: &'static str,
}

/// How a folder is mended that is too large.
const TOO_MUCH: &str =
    "take out what a build left there, or start assay in a folder with nothing but what the server needs";
/// How one is mended that cannot be read.
const UNREADABLE: &str = "make it readable, or take it out";

/// Looks through `folder`, but for what builds leave in it and for what stays here: runs of assay, and the folder `runs` that holds them.
/// What earlier runs found is nobody's business there, and the requests of this one may carry a secret.
///
/// # Errors
/// What cannot be read, or is too much, or has a name that is no text.
pub fn pack(folder: &Path, runs: Option<&Path>) -> Result<Packed, Unfit> {
    let mut packing = Packing { packed: Packed::default(), left: MAX_BYTES, runs: runs.and_then(identity) };
    packing.below(folder, "")?;
    Ok(packing.packed)
}

/// What a folder is, by whatever path it is reached.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    fs::metadata(folder).ok().map(|found| (found.dev(), found.ino()))
}

/// A folder that is looked through.
struct Packing {
    packed: Packed,
    /// Bytes that may still come.
    left: u64,
    /// The folder of all runs.
    runs: Option<(u64, u64)>,
}

impl Packing {
    fn below(&mut self, folder: &Path, within: &str) -> Result<(), Unfit> {
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = entries.map_err(|error| unreadable(folder, &error))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        entries.iter().try_for_each(|entry| self.entry(entry, within))
    }

    fn entry(&mut self, entry: &fs::DirEntry, within: &str) -> Result<(), Unfit> {
        let path = entry.path();
        let name = entry.file_name().into_string().map_err(|_| Unfit {
            problem: format!("{} has a name that is not UTF-8", path.display()),
            remedy: "rename it",
        })?;
        let kind = entry.file_type().map_err(|error| unreadable(&path, &error))?;
        if kind.is_dir() && self.stays(&path, &name) {
            return Ok(());
        }
        let within = if within.is_empty() { name } else { format!("{within}/{name}") };
        if self.packed.files.len() >= MAX_FILES {
            let problem = format!("more than {MAX_FILES} files are in it");
            return Err(Unfit { problem, remedy: TOO_MUCH });
        }
        let what = if kind.is_dir() {
            ParcelKind::Folder
        } else if kind.is_symlink() {
            let to = fs::read_link(&path).map_err(|error| unreadable(&path, &error))?;
            ParcelKind::Link { to: to.to_string_lossy().into_owned() }
        } else if kind.is_file() {
            self.file(&path)?
        } else {
            return Ok(());
        };
        self.packed.files.push(Parcel { path: within.clone(), what });
        if kind.is_dir() { self.below(&path, &within) } else { Ok(()) }
    }

    /// Whether a folder does not travel.
    fn stays(&self, path: &Path, name: &str) -> bool {
        let holds_runs = || self.runs.is_some() && identity(path) == self.runs;
        LEFT_OUT.contains(&name) || marks::is_run(path) || holds_runs()
    }

    fn file(&mut self, path: &Path) -> Result<ParcelKind, Unfit> {
        let found = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        self.left = self.left.checked_sub(found.len()).ok_or_else(|| Unfit {
            problem: format!("with {} it has more than {} MiB", path.display(), MAX_BYTES >> 20),
            remedy: TOO_MUCH,
        })?;
        let sha256 = File::open(path).and_then(digest).map_err(|error| unreadable(path, &error))?;
        self.packed.contents.entry(sha256.clone()).or_insert_with(|| path.to_owned());
        Ok(ParcelKind::File { sha256, mode: found.permissions().mode() & PERMISSIONS })
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Unfit {
    Unfit { problem: format!("cannot read {}: {error}", path.display()), remedy: UNREADABLE }
}

/// SHA-256 of what can be read, in hexadecimal digits (FIPS 180-4).
///
/// # Errors
/// As reading.
pub fn digest(mut from: impl Read) -> io::Result<String> {
    let mut digest = Digest::default();
    let mut buffer = [0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(digest.finish()),
            Ok(read) => digest.feed(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// SHA-256 of what comes in parts.
#[derive(Default)]
pub(super) struct Digest(Sha256);

impl Digest {
    /// Takes the next part.
    pub(super) fn feed(&mut self, part: &[u8]) {
        self.0.update(part);
    }

    /// The digest of all parts, in hexadecimal digits.
    pub(super) fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Contents that have come, each a file named by its SHA-256.
#[derive(Debug)]
pub(super) struct Contents {
    folder: PathBuf,
    /// The one that is coming.
    coming: Option<(String, File)>,
}

impl Contents {
    /// Keeps them in `folder`, which is made when the first comes.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, coming: None }
    }

    /// The contents among `wanted` that have not come.
    pub(super) fn missing(&self, wanted: Vec<String>) -> Vec<String> {
        wanted.into_iter().filter(|sha256| !self.path(sha256).is_some_and(|path| path.is_file())).collect()
    }

    /// Takes a part of a content. A whole one is there from then on if it has the name that it was given.
    pub(super) fn take(&mut self, sha256: &str, part: &[u8], is_last: bool) -> Result<(), String> {
        let path = self.path(sha256).ok_or("a content has a name that is no SHA-256")?;
        let coming = self.folder.join("coming");
        let failed = |error: io::Error| format!("{} cannot be written: {error}", coming.display());
        let mut file = match self.coming.take() {
            Some((name, file)) if name == sha256 => file,
            _ => fs::create_dir_all(&self.folder).and_then(|()| File::create(&coming)).map_err(failed)?,
        };
        file.write_all(part).map_err(failed)?;
        if !is_last {
            self.coming = Some((sha256.to_owned(), file));
            return Ok(());
        }
        drop(file);
        let arrived = File::open(&coming).and_then(digest).map_err(failed)?;
        if arrived != sha256 {
            return Err(format!("a content has come as {arrived} that was sent as {sha256}"));
        }
        fs::rename(&coming, path).map_err(failed)
    }

    /// Makes a folder of contents that have come.
    pub(super) fn unpack(&self, folder: &Path, files: &[Parcel]) -> Result<(), String> {
        let failed = |error: io::Error| format!("{} cannot be made: {error}", folder.display());
        let folder = fs::create_dir(folder).and_then(|()| folder.canonicalize()).map_err(failed)?;
        files.iter().try_for_each(|parcel| self.place(&folder, parcel)).inspect_err(|_| {
            // Or the next try would find its name taken, and tell that instead of the reason.
            let _ = fs::remove_dir_all(&folder);
        })
    }

    fn place(&self, folder: &Path, parcel: &Parcel) -> Result<(), String> {
        let strange = || format!("`{}` is no path within a folder", parcel.path);
        let path = folder.join(inner(Path::new(&parcel.path)).ok_or_else(strange)?);
        let failed = |error: io::Error| format!("{} cannot be made: {error}", path.display());
        // Its folder came before it, and is no link: nothing is made where one leads to.
        let parent = path.parent().ok_or_else(strange)?;
        if parent.canonicalize().map_err(failed)? != parent {
            return Err(format!("`{}` lies behind a link", parcel.path));
        }
        match &parcel.what {
            ParcelKind::Folder => fs::create_dir(&path).map_err(failed),
            ParcelKind::Link { to } => symlink(to, &path).map_err(failed),
            ParcelKind::File { sha256, mode } => {
                let from = self.path(sha256).ok_or_else(strange)?;
                let mode = mode & PERMISSIONS;
                let mut file = File::options();
                // Nothing is written through a link that came before.
                let file = file.write(true).create_new(true).mode(mode).open(&path);
                let copied = file.and_then(|mut to| io::copy(&mut File::open(from)?, &mut to));
                copied.and_then(|_| fs::set_permissions(&path, Permissions::from_mode(mode))).map_err(failed)
            }
        }
    }

    fn path(&self, sha256: &str) -> Option<PathBuf> {
        let is_digest = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then(|| self.folder.join(sha256))
    }
}

/// A path that leads to something within, if it is one.
pub(super) fn inner(path: &Path) -> Option<&Path> {
    let is_inner = path.components().all(|part| matches!(part, Component::Normal(_)));
    (is_inner && path.components().next().is_some()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_arrives_as_it_was_sent_without_what_builds_left() {
        let root = tempfile::tempdir().expect("folder");
        let from = root.path().join("from");
        for folder in ["src/empty", "target/debug"] {
            fs::create_dir_all(from.join(folder)).expect("folder");
        }
        fs::write(from.join("run.sh"), "#!/bin/sh\n").expect("file");
        fs::set_permissions(from.join("run.sh"), Permissions::from_mode(0o755)).expect("mode");
        fs::write(from.join("src/main"), "same").expect("file");
        fs::set_permissions(from.join("src/main"), Permissions::from_mode(0o600)).expect("mode");
        fs::write(from.join("src/other"), "same").expect("file");
        fs::write(from.join("target/debug/big"), "left by a build").expect("file");
        symlink("src/main", from.join("link")).expect("link");
        let packed = pack(&from, None).expect("packed");
        assert_eq!(packed.contents.len(), 2, "what is the same travels once");

        let mut contents = Contents::new(root.path().join("contents"));
        let wanted: Vec<String> = packed.contents.keys().cloned().collect();
        assert_eq!(contents.missing(wanted.clone()), wanted);
        for (sha256, path) in &packed.contents {
            let bytes = fs::read(path).expect("read");
            let (one, other) = bytes.split_at(2);
            contents.take(sha256, one, false).expect("a part");
            contents.take(sha256, other, true).expect("the rest");
        }
        assert_eq!(contents.missing(wanted), Vec::<String>::new());
        let to = root.path().join("to");
        contents.unpack(&to, &packed.files).expect("unpacked");
        assert_eq!(pack(&to, None).expect("packed").files, packed.files);
        let mode = |path: &str| to.join(path).metadata().expect("there").permissions().mode() & 0o777;
        assert_eq!(
            (mode("run.sh"), mode("src/main")),
            (0o755, 0o600),
            "nobody else may read what was private"
        );
        assert!(!to.join("target").exists() && to.join("src/empty").is_dir());
        assert_eq!(fs::read_to_string(to.join("link")).expect("read"), "same");
    }

    #[test]
    fn runs_stay_here() {
        let root = tempfile::tempdir().expect("folder");
        let run = "20261120-221530-mine";
        for file in [
            "server.py",
            "results/20261120-221530-mine/logs/unfinished.log",
            &format!("elsewhere/{run}/record.json"),
            &format!("elsewhere/{run}/logs/server.log"),
            &format!("elsewhere/{run}-2/work/.assay-work"),
            &format!("elsewhere/{run}-2/work/get.json"),
            "models/20261120-221530-resnet/logs/weights",
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folder");
            fs::write(path, file).expect("file");
        }
        // It is the same folder by another path.
        let runs = root.path().join("models/../results");
        let packed = pack(root.path(), Some(&runs)).expect("packed");
        let is_file = |parcel: &&Parcel| matches!(parcel.what, ParcelKind::File { .. });
        let files: Vec<&str> = packed.files.iter().filter(is_file).map(|parcel| &*parcel.path).collect();
        assert_eq!(files, ["models/20261120-221530-resnet/logs/weights", "server.py"]);
    }

    #[test]
    fn what_cannot_travel_says_why_and_how_that_is_mended() {
        let root = tempfile::tempdir().expect("folder");
        let heavy = File::create(root.path().join("heavy")).expect("file");
        heavy.set_len(MAX_BYTES + 1).expect("a file with holes");
        let unfit = pack(root.path(), None).expect_err("too much");
        assert!(unfit.problem.contains("heavy it has more than 256 MiB"), "{unfit:?}");
        assert_eq!(unfit.remedy, TOO_MUCH);
    }

    #[test]
    fn a_folder_that_could_not_be_made_whole_is_not_in_the_way_of_the_next_try() {
        let root = tempfile::tempdir().expect("folder");
        let mut contents = Contents::new(root.path().join("contents"));
        let sha256 = digest(&b"x"[..]).expect("digest");
        let file = ParcelKind::File { sha256: sha256.clone(), mode: 0o600 };
        let files = [("a", ParcelKind::Folder), ("a/b", file)];
        let files = files.map(|(path, what)| Parcel { path: path.to_owned(), what });
        let to = root.path().join("to");
        let missing = contents.unpack(&to, &files).expect_err("its content has not come");
        assert!(missing.contains("a/b cannot be made: No such file"), "{missing}");
        assert_eq!(contents.unpack(&to, &files), Err(missing), "the reason is the same");
        contents.take(&sha256, b"x", true).expect("taken");
        contents.unpack(&to, &files).expect("unpacked");
        assert_eq!(fs::read(to.join("a/b")).expect("read"), b"x");
    }

    #[test]
    fn nothing_is_written_elsewhere_and_nothing_else_than_was_sent() {
        let root = tempfile::tempdir().expect("folder");
        let mut contents = Contents::new(root.path().join("contents"));
        let sha256 = digest(&b"x"[..]).expect("digest");
        assert!(contents.take(&sha256, b"y", true).expect_err("changed").contains("has come as"));
        assert!(contents.take("../../x", b"x", true).is_err());
        contents.take(&sha256, b"x", true).expect("taken");
        let file = || ParcelKind::File { sha256: sha256.clone(), mode: 0o600 };
        let up = || ParcelKind::Link { to: "..".to_owned() };
        for (number, parcels) in [
            vec![("../x", file())],
            vec![("/tmp/x", file())],
            vec![("", file())],
            vec![("up", up()), ("up", file())],
            vec![("up", up()), ("up/x", file())],
            vec![("up", up()), ("up/x", up())],
            vec![("up", up()), ("up/x", ParcelKind::Folder)],
        ]
        .into_iter()
        .enumerate()
        {
            let to = root.path().join(number.to_string());
            let parcel = |(path, what): (&str, ParcelKind)| Parcel { path: path.to_owned(), what };
            let files: Vec<Parcel> = parcels.into_iter().map(parcel).collect();
            assert!(contents.unpack(&to, &files).is_err(), "{files:?}");
        }
        assert!(!root.path().join("x").exists());
    }
}
