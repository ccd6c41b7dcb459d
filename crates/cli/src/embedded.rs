//! The catalogue that the binary carries, for where there is none of the user's: unpacked into the user's data folder when it is first
//! needed, whole or not at all.

use std::hash::Hasher as _;
use std::io;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use siphasher::sip::SipHasher13;

use crate::failure::Failure;

/// As `build.rs` has packed it.
const ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/catalogue.tar.gz"));

/// Where it is, after it was unpacked if it was not there.
///
/// # Errors
/// There is no data folder, or nothing can be written there.
pub(crate) fn unpacked() -> Result<PathBuf, Failure> {
    let data = data_folder(|name| std::env::var_os(name).map(PathBuf::from)).ok_or_else(|| {
        Failure::Machine(
            "there is no catalogue, and no folder for assay's own: set HOME or XDG_DATA_HOME, or name a catalogue with --catalogue"
                .to_owned(),
        )
    })?;
    let parent = data.join("assay");
    unpack_into(&parent).map_err(|error| {
        Failure::Machine(format!(
            "assay's own catalogue cannot be unpacked into {}: {error}; make room there, set XDG_DATA_HOME, or name a catalogue \
             with --catalogue",
            parent.display()
        ))
    })
}

/// The user's data folder (XDG Base Directory Specification), of which a relative one is to be ignored.
fn data_folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))
}

/// Each version and content has a folder of its own, which gets its name when it is complete.
fn unpack_into(parent: &Path) -> io::Result<PathBuf> {
    let home = parent.join(format!("{}-{:08x}", env!("CARGO_PKG_VERSION"), content() as u32));
    if home.is_dir() {
        return Ok(home);
    }
    std::fs::create_dir_all(parent)?;
    let aside = tempfile::Builder::new().prefix(".unpacking-").tempdir_in(parent)?;
    let folder = aside.path().join("catalogue");
    tar::Archive::new(GzDecoder::new(ARCHIVE)).unpack(&folder)?;
    match std::fs::rename(&folder, &home) {
        // Another process was first.
        Err(_) if home.is_dir() => Ok(home),
        renamed => renamed.map(|()| home),
    }
}

fn content() -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(ARCHIVE);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_unpacked_once_and_whole() {
        let folder = tempfile::tempdir().expect("folder");
        let parent = folder.path().join("deep/assay");
        let home = unpack_into(&parent).expect("unpacked");
        assert!(home.join("contenders/c/nginx/contender.toml").is_file());
        let marked = home.join("contenders/mark");
        std::fs::write(&marked, "").expect("mark");
        assert_eq!(unpack_into(&parent).expect("there"), home);
        assert!(marked.is_file(), "it was not unpacked again");
        let names: Vec<_> = parent.read_dir().expect("folder").collect();
        assert_eq!(names.len(), 1, "nothing is left aside: {names:?}");
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
        let mut archive = tar::Archive::new(GzDecoder::new(ARCHIVE));
        let name = |entry: tar::Entry<'_, _>| entry.path().expect("path").to_string_lossy().into_owned();
        let mut packed: Vec<String> =
            archive.entries().expect("entries").map(|entry| name(entry.expect("entry"))).collect();
        listed.sort();
        packed.sort();
        assert_eq!(packed, listed);
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
