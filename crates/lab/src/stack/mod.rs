//! The user-space stack as programs are told of it: the two ends of its wire, the preload library for programs that know
//! nothing of it, and which programs that library cannot serve.

mod ends;
mod program;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub use ends::{Ends, UserEnd};
pub use program::{Obstacle, find_program, named_library, obstacle};

/// The file name of our preload library.
pub const LIBRARY: &str = "libassay_preload.so";
/// Where a program finds it if not beside our own: the layout of an installation with bin/ and lib/.
const INSTALLED: &str = "../lib/assay";

/// Names the file in which a stack of ours tells what it counts, to the preload library and to `assay serve`.
pub const STATS_VARIABLE: &str = "ASSAY_STACK_STATS";

/// The preload library that belongs to the program `assay`: beside it, or where an installation has it.
///
/// # Errors
/// In words, with how to get it.
pub fn library(assay: &Path) -> Result<PathBuf, String> {
    let folder = assay.parent().unwrap_or(Path::new("."));
    let places = [folder.join(LIBRARY), folder.join(INSTALLED).join(LIBRARY)];
    places
        .iter()
        .find(|place| place.is_file())
        .cloned()
        .ok_or_else(|| format!("there is no {LIBRARY} beside {} nor in {INSTALLED}", assay.display()))
}

/// Whether a library is ours by its name, so that it takes the wires that we take.
pub fn is_own(library: &Path) -> bool {
    library.file_name().is_some_and(|name| name == LIBRARY)
}

/// How to get the library.
pub const LIBRARY_REMEDY: &str = "in assay's source, `cargo build --release --locked -p assay-preload` makes target/release/libassay_preload.so: \
     copy it there, or name it with --preload PATH or in ASSAY_PRELOAD";

/// The variables that put an unmodified program on the user-space stack at `end`, with so many queues, one for each of its
/// processes. `others` are the libraries that are preloaded otherwise.
pub fn variables(
    library: &Path,
    others: Option<&OsStr>,
    end: &UserEnd,
    queues: u16,
) -> Vec<(OsString, OsString)> {
    // libuv 1.46 and later may hand file operations to io_uring, past every hook; and the first process of a Node.js cluster
    // would accept for all, where a connection of the stack cannot be handed on.
    let fixed = [("ASSAY_STACK", "user"), ("UV_USE_IO_URING", "0"), ("NODE_CLUSTER_SCHED_POLICY", "none")];
    let fixed = fixed.map(|(name, value)| (name.into(), value.into()));
    let mut all: Vec<(OsString, OsString)> = fixed.to_vec();
    all.push(("LD_PRELOAD".into(), preloaded(library, others)));
    all.push(("ASSAY_STACK_WIRE".into(), end.wire.clone().into()));
    all.push(("ASSAY_STACK_QUEUES".into(), queues.to_string().into()));
    if let Some(address) = &end.address {
        all.push(("ASSAY_STACK_ADDRESS".into(), address.into()));
    }
    all
}

/// The libraries to preload, ours first, so that its functions are found before those of whatever else is preloaded (ld.so(8)).
fn preloaded(library: &Path, others: Option<&OsStr>) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_beside_the_program_or_installed() {
        let root = tempfile::tempdir().expect("folder");
        let assay = root.path().join("bin/assay");
        let installed = root.path().join("lib/assay");
        std::fs::create_dir_all(assay.parent().expect("folder")).expect("bin");
        std::fs::create_dir_all(&installed).expect("lib");
        assert!(library(&assay).expect_err("none").contains(LIBRARY));
        std::fs::write(installed.join(LIBRARY), "").expect("library");
        let found = library(&assay).expect("installed").canonicalize().expect("path");
        assert_eq!(found, installed.join(LIBRARY).canonicalize().expect("path"));
        let beside = assay.with_file_name(LIBRARY);
        std::fs::write(&beside, "").expect("library");
        assert_eq!(library(&assay), Ok(beside));
    }

    #[test]
    fn ours_is_preloaded_before_others() {
        let of = |others: Option<&str>| preloaded(Path::new("/a.so"), others.map(OsStr::new));
        assert_eq!(of(None), "/a.so");
        assert_eq!(of(Some("")), "/a.so");
        assert_eq!(of(Some("/b.so")), "/a.so:/b.so");
    }

    #[test]
    fn a_program_is_told_its_end() {
        let end = UserEnd { wire: "ring:/x".to_owned(), address: Some("10.77.0.1/24".to_owned()) };
        let told = variables(Path::new("/a.so"), None, &end, 2);
        let value = |name: &str| told.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        assert_eq!(value("ASSAY_STACK_WIRE"), Some("ring:/x".into()));
        assert_eq!(value("ASSAY_STACK_ADDRESS"), Some("10.77.0.1/24".into()));
        assert_eq!(value("ASSAY_STACK_QUEUES"), Some("2".into()));
        assert_eq!(value("UV_USE_IO_URING"), Some("0".into()));
    }
}
