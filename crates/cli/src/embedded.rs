//! What the binary carries, for where there is none of the user's: the catalogue, and the preload library of the user-space stack. Each is
//! unpacked into the user's data folder when it is first needed, whole or not at all. Templates of contenders are read where they are.

use std::collections::BTreeMap;
use std::hash::Hasher as _;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use assay_file::NewFile;
use assay_lab::starter::Templates;
use assay_lab::{clean, stack};
use flate2::read::GzDecoder;
use siphasher::sip::SipHasher13;

use crate::failure::Failure;

/// A compressed archive.
struct Carried {
    what: &'static str,
    /// What the name of its folder begins with.
    prefix: &'static str,
    /// The archive that `build.rs` has packed.
    archive: &'static [u8],
    /// What to do where it cannot be unpacked.
    instead: &'static str,
}

const CATALOGUE: Carried = Carried {
    what: "catalogue",
    prefix: "",
    archive: include_bytes!(concat!(env!("OUT_DIR"), "/catalogue.tar.gz")),
    instead: "name a catalogue with --catalogue",
};
const LIBRARY: Carried = Carried {
    what: "preload library",
    prefix: "preload-",
    archive: include_bytes!(concat!(env!("OUT_DIR"), "/preload.tar.gz")),
    instead: "name a library with --preload",
};

/// Templates as `build.rs` has packed them: templates/LANGUAGE/….
const TEMPLATES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/templates.tar.gz"));

/// Where the catalogue is, after it was unpacked if it was not there.
///
/// # Errors
/// There is no data folder, or nothing can be written there.
pub(crate) fn catalogue() -> Result<PathBuf, Failure> {
    unpacked(&CATALOGUE)
}

/// The carried preload library; none where one lies beside the binary `assay`, which goes first, or where none is carried.
///
/// # Errors
/// There is no data folder, or nothing can be written there.
pub(crate) fn preload_library(assay: &Path) -> Result<Option<PathBuf>, Failure> {
    if stack::library(assay).is_ok() || is_empty(&LIBRARY) {
        return Ok(None);
    }
    unpacked(&LIBRARY).map(|folder| Some(folder.join(stack::LIBRARY)))
}

/// The small servers that `assay new` begins with.
pub(crate) fn templates() -> Result<Templates, Failure> {
    read_templates(TEMPLATES).map_err(|error| Failure::Bug(format!("its own templates: {error}")))
}

fn read_templates(archive: &[u8]) -> io::Result<Templates> {
    let mut of = BTreeMap::<String, Vec<NewFile>>::new();
    for file in files(archive)? {
        let mut parts = file.path.components();
        let (Some(_), Some(language)) = (parts.next(), parts.next()) else { continue };
        let (path, language) =
            (parts.as_path().to_owned(), language.as_os_str().to_string_lossy().into_owned());
        of.entry(language).or_default().push(NewFile { path, ..file });
    }
    Ok(Templates(of))
}

/// What is in an archive: files alone (`build.rs`).
fn files(archive: &[u8]) -> io::Result<Vec<NewFile>> {
    let mut archive = tar::Archive::new(GzDecoder::new(archive));
    let read = |entry: io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry?;
        let (path, mut content) = (entry.path()?.into_owned(), Vec::new());
        entry.read_to_end(&mut content)?;
        Ok(NewFile { path, content, is_executable: entry.header().mode()? & 0o100 != 0 })
    };
    archive.entries()?.map(read).collect()
}

fn is_empty(carried: &Carried) -> bool {
    let mut archive = tar::Archive::new(GzDecoder::new(carried.archive));
    archive.entries().is_ok_and(|mut entries| entries.next().is_none())
}

fn unpacked(carried: &Carried) -> Result<PathBuf, Failure> {
    let Carried { what, instead, .. } = carried;
    let parent = own_folder().ok_or_else(|| {
        Failure::Machine(format!(
            "there is no {what}, and no folder for assay's own: set HOME or XDG_DATA_HOME, or {instead}"
        ))
    })?;
    unpack_into(&parent, carried).map_err(|error| {
        let place = parent.display();
        Failure::Machine(format!(
            "assay's own {what} cannot be unpacked into {place}: {error}; make room there, set XDG_DATA_HOME, or {instead}"
        ))
    })
}

/// Where all of it is unpacked.
fn own_folder() -> Option<PathBuf> {
    data_folder(|name| std::env::var_os(name).map(PathBuf::from)).map(|data| data.join("assay"))
}

/// What processes left that were killed while they unpacked.
pub(crate) fn leftovers() -> Vec<PathBuf> {
    own_folder().map(|folder| clean::cut_short(&folder)).unwrap_or_default()
}

/// The user's data folder (XDG Base Directory Specification), of which a relative one is to be ignored.
fn data_folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))
}

/// Each version and content has a folder of its own, which gets its name when it is complete and on the disk.
fn unpack_into(parent: &Path, carried: &Carried) -> io::Result<PathBuf> {
    let (version, content) = (env!("CARGO_PKG_VERSION"), content(carried.archive));
    let home = parent.join(format!("{}{version}-{:08x}", carried.prefix, content as u32));
    if home.is_dir() {
        return Ok(home);
    }
    std::fs::create_dir_all(parent)?;
    // Where the file system knows no locks, nobody can tell that we are at work.
    let _at_work = clean::at_work(parent).ok();
    match assay_file::write_folder(&home, &files(carried.archive)?) {
        // Another process was first.
        Err(_) if home.is_dir() => Ok(home),
        written => written.map(|()| home).map_err(|error| error.source),
    }
}

fn content(archive: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(archive);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn it_is_unpacked_once_and_whole() {
        let folder = tempfile::tempdir().expect("folder");
        let parent = folder.path().join("deep/assay");
        let home = unpack_into(&parent, &CATALOGUE).expect("unpacked");
        assert!(home.join("contenders/c/nginx/contender.toml").is_file());
        let marked = home.join("contenders/mark");
        std::fs::write(&marked, "").expect("mark");
        assert_eq!(unpack_into(&parent, &CATALOGUE).expect("there"), home);
        assert!(marked.is_file(), "it was not unpacked again");
        let names: Vec<_> = parent.read_dir().expect("folder").collect();
        assert_eq!(names.len(), 1, "nothing is left aside: {names:?}");
        let mode = |name: &str| home.join(name).metadata().expect("there").permissions().mode();
        assert_eq!(mode("contenders/c/nginx/serve.sh") & 0o100, 0o100, "a program");
        assert_eq!(mode("contenders/c/nginx/contender.toml") & 0o111, 0);
    }

    #[test]
    fn what_is_carried_has_a_folder_of_its_own_and_may_be_nothing() {
        let packed = |files: &[&str]| -> &'static [u8] {
            let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            let mut archive = tar::Builder::new(gzip);
            for name in files {
                let mut header = tar::Header::new_gnu();
                header.set_size(3);
                header.set_mode(0o644);
                archive.append_data(&mut header, name, &b"ELF"[..]).expect("a file");
            }
            archive.into_inner().and_then(flate2::write::GzEncoder::finish).expect("an archive").leak()
        };
        assert!(is_empty(&Carried { archive: packed(&[]), ..LIBRARY }));
        let library = Carried { archive: packed(&[stack::LIBRARY]), ..LIBRARY };
        assert!(!is_empty(&library) && !is_empty(&CATALOGUE));
        let folder = tempfile::tempdir().expect("folder");
        let home = unpack_into(folder.path(), &library).expect("unpacked");
        assert_eq!(std::fs::read(home.join(stack::LIBRARY)).expect("library"), b"ELF");
        assert_ne!(unpack_into(folder.path(), &CATALOGUE).expect("unpacked"), home);
    }

    /// What `git` knows of is what is packed: nothing that a build has left, and nothing less.
    #[test]
    fn it_is_the_repositorys() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let listed = std::process::Command::new("git")
            .args(["ls-files", "contenders", "workloads", "experiments"])
            .current_dir(&root)
            .output();
        let Some(listed) = listed.ok().filter(|done| done.status.success()) else { return };
        let mut listed: Vec<String> =
            String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect();
        let mut archive = tar::Archive::new(GzDecoder::new(CATALOGUE.archive));
        let name = |entry: tar::Entry<'_, _>| entry.path().expect("path").to_string_lossy().into_owned();
        let mut packed: Vec<String> =
            archive.entries().expect("entries").map(|entry| name(entry.expect("entry"))).collect();
        listed.sort();
        packed.sort();
        assert_eq!(packed, listed);
    }

    #[test]
    fn there_is_a_template_for_each_language_of_the_catalogue_but_those_without() {
        let templates = templates().expect("templates");
        let languages: Vec<&str> = templates.languages().collect();
        assert_eq!(languages, ["c", "go", "java", "javascript", "julia", "php", "python", "rust"]);
        let php = templates.of("php").expect("PHP");
        let script = php.iter().find(|file| file.path == Path::new("serve.sh")).expect("a script");
        assert!(script.is_executable);
    }

    #[test]
    fn the_data_folder_is_the_users() {
        let of = |xdg: Option<&str>, home: Option<&str>| {
            let value = |name: &str| if name == "HOME" { home } else { xdg };
            data_folder(|name| value(name).map(PathBuf::from))
        };
        assert_eq!(of(Some("/x"), Some("/h")), Some("/x".into()));
        assert_eq!(of(Some("relative"), Some("/h")), Some("/h/.local/share".into()));
        assert_eq!(of(None, None), None);
    }
}
