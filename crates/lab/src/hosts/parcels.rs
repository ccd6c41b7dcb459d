//! Folders that travel: content-addressed, so that what is there already travels once, and what arrived is what was sent.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::message::{Parcel, ParcelKind};

/// Most files of a folder that travels: more is not a contender's source but what a build left there.
const MAX_FILES: usize = 20_000;
/// Most bytes of its files together.
const MAX_BYTES: u64 = 256 << 20;
/// Folders that builds make or package managers fill, and that are made anew where the contender is built.
const LEFT_OUT: [&str; 6] = [".git", ".venv", "__pycache__", "node_modules", "target", "venv"];

/// What is in a folder, and where the contents are.
#[derive(Debug, Default)]
pub struct Packed {
    /// In the order of their paths, each folder before what is in it.
    pub files: Vec<Parcel>,
    /// The file of each content, by its SHA-256.
    pub contents: BTreeMap<String, PathBuf>,
}

/// Looks through `folder`, but for what builds leave in it.
///
/// # Errors
/// In words: what cannot be read, or is too much, or has a name that is no text.
pub fn pack(folder: &Path) -> Result<Packed, String> {
    let mut packed = Packed::default();
    let mut left = MAX_BYTES;
    pack_below(folder, "", &mut packed, &mut left)?;
    Ok(packed)
}

fn pack_below(folder: &Path, within: &str, packed: &mut Packed, left: &mut u64) -> Result<(), String> {
    let cannot = |path: &Path, error: io::Error| format!("cannot read {}: {error}", path.display());
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.map_err(|error| cannot(folder, error))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name().into_string();
        let name = name.map_err(|_| format!("{} has a name that is not UTF-8; rename it", path.display()))?;
        let kind = entry.file_type().map_err(|error| cannot(&path, error))?;
        let within = if within.is_empty() { name.clone() } else { format!("{within}/{name}") };
        if packed.files.len() >= MAX_FILES {
            return Err(format!("more than {MAX_FILES} files are in it; take out what a build left there"));
        }
        if kind.is_dir() {
            if LEFT_OUT.contains(&&*name) {
                continue;
            }
            packed.files.push(Parcel { path: within.clone(), what: ParcelKind::Folder });
            pack_below(&path, &within, packed, left)?;
        } else if kind.is_symlink() {
            let to = fs::read_link(&path).map_err(|error| cannot(&path, error))?;
            let to = to.to_string_lossy().into_owned();
            packed.files.push(Parcel { path: within, what: ParcelKind::Link { to } });
        } else if kind.is_file() {
            let what = pack_file(&path, packed, left).map_err(|error| cannot(&path, error))?;
            packed.files.push(Parcel { path: within, what });
        }
    }
    Ok(())
}

fn pack_file(path: &Path, packed: &mut Packed, left: &mut u64) -> io::Result<ParcelKind> {
    let metadata = fs::metadata(path)?;
    *left = left.checked_sub(metadata.len()).ok_or_else(|| {
        let problem = format!("with it the folder has more than {} MiB", MAX_BYTES >> 20);
        io::Error::other(problem)
    })?;
    let sha256 = digest(File::open(path)?)?;
    packed.contents.entry(sha256.clone()).or_insert_with(|| path.to_owned());
    Ok(ParcelKind::File { sha256, is_program: metadata.permissions().mode() & 0o111 != 0 })
}

/// SHA-256 of what can be read, in hexadecimal digits (FIPS 180-4).
///
/// # Errors
/// As reading.
pub fn digest(mut from: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = [0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => hasher.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
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

    /// Those of `wanted` that have not come.
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
        files.iter().try_for_each(|parcel| self.place(&folder, parcel))
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
            ParcelKind::File { sha256, is_program } => {
                let from = self.path(sha256).ok_or_else(strange)?;
                let mode = if *is_program { 0o755 } else { 0o644 };
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
        fs::write(from.join("src/other"), "same").expect("file");
        fs::write(from.join("target/debug/big"), "left by a build").expect("file");
        symlink("src/main", from.join("link")).expect("link");
        let packed = pack(&from).expect("packed");
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
        assert_eq!(pack(&to).expect("packed").files, packed.files);
        assert!(!to.join("target").exists() && to.join("src/empty").is_dir());
        assert_eq!(fs::read_to_string(to.join("link")).expect("read"), "same");
    }

    #[test]
    fn nothing_is_written_elsewhere_and_nothing_else_than_was_sent() {
        let root = tempfile::tempdir().expect("folder");
        let mut contents = Contents::new(root.path().join("contents"));
        let sha256 = digest(&b"x"[..]).expect("digest");
        assert!(contents.take(&sha256, b"y", true).expect_err("changed").contains("has come as"));
        assert!(contents.take("../../x", b"x", true).is_err());
        contents.take(&sha256, b"x", true).expect("taken");
        let file = || ParcelKind::File { sha256: sha256.clone(), is_program: false };
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
