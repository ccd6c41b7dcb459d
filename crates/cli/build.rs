//! Packs what the binary carries: the repository's catalogue, templates of contenders, and the preload library of the user-space
//! stack. An installed binary has no repository above it, and `cargo install` puts no library beside it.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

/// What a catalogue consists of.
const PARTS: [&str; 3] = ["contenders", "workloads", "experiments"];
/// What `assay new` begins with: a folder for each language.
const TEMPLATES: &str = "templates";
/// What builds leave in a contender's folder (`.gitignore` names the same).
const BUILT: [&str; 3] = ["build", "node_modules", "target"];
/// Names the preload library that is carried, in place of one that is built here; where it is empty, none is.
const GIVEN: &str = "ASSAY_CARRIED_PRELOAD";
/// What the preload library is made of.
const LIBRARY_CRATES: [&str; 7] = ["preload", "tcp", "wire", "engine", "model", "file", "descriptors"];

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out =
        env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| io::Error::other("Cargo sets OUT_DIR"))?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=ASSAY_PROFILE={}", profile(&out));
    archive(&root, &PARTS, &out.join("catalogue.tar.gz"))?;
    archive(&root, &[TEMPLATES], &out.join("templates.tar.gz"))?;
    library(&root, &out)
}

/// The profile's name, which only the folder of what is built tells: target/PROFILE/build/PACKAGE/out.
fn profile(out: &Path) -> String {
    let name = out.ancestors().nth(3).and_then(Path::file_name).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Packs all files of some folders.
fn archive(root: &Path, parts: &[&str], archive: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for part in parts {
        collect(&root.join(part), &mut files)?;
    }
    files.sort();
    pack(root, &files, archive)?;
    // Not the folders of contenders: a build in one would then be a reason to build this again.
    files.iter().for_each(|file| println!("cargo::rerun-if-changed={}", file.display()));
    for part in parts.iter().filter(|part| **part != PARTS[0]) {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            files.push(entry.path());
        } else if !BUILT.iter().any(|built| entry.file_name() == *built) {
            collect(&entry.path(), files)?;
        }
    }
    Ok(())
}

/// An archive without a file where none is carried: what is not optimised is for developers, who have the library beside it.
fn library(root: &Path, out: &Path) -> io::Result<()> {
    println!("cargo::rerun-if-env-changed={GIVEN}");
    let file = match env::var_os(GIVEN) {
        Some(given) => Some(PathBuf::from(given)).filter(|path| !path.as_os_str().is_empty()),
        None if env::var_os("PROFILE").is_some_and(|profile| profile == "release") => {
            Some(build_library(root, &out.join("preload"))?)
        }
        None => None,
    };
    let folder = file.as_deref().and_then(Path::parent).unwrap_or(root);
    if env::var_os(GIVEN).is_some() {
        file.iter().for_each(|file| println!("cargo::rerun-if-changed={}", file.display()));
    }
    pack(folder, file.as_slice(), &out.join("preload.tar.gz"))
}

/// Builds the library by a Cargo of its own: Cargo has no stable way to depend on a library of C's kind.
fn build_library(root: &Path, target: &Path) -> io::Result<PathBuf> {
    for name in LIBRARY_CRATES {
        println!("cargo::rerun-if-changed={}", root.join("crates").join(name).join("src").display());
    }
    println!("cargo::rerun-if-changed={}", root.join("Cargo.lock").display());
    // Programs that are linked dynamically are Debian's, whatever assay itself is linked with.
    let platform =
        format!("{}-unknown-linux-gnu", env::var("CARGO_CFG_TARGET_ARCH").map_err(io::Error::other)?);
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--locked", "-p", "assay-preload", "--target", &platform]);
    cargo.args(["--config", "profile.release.strip='symbols'"]).arg("--target-dir").arg(target);
    if env::var_os("CARGO_FEATURE_DPDK").is_some() {
        cargo.args(["--features", "dpdk"]);
    }
    if env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|list| list.split(',').any(|it| it == "crt-static")) {
        cargo.env_remove("CARGO_ENCODED_RUSTFLAGS"); // no library can be loaded that is linked statically
    }
    // Clippy's, which is meant for what is looked at.
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER");
    if !cargo.current_dir(root).status()?.success() {
        let told =
            format!("the preload library cannot be built (see above); {GIVEN}= builds assay without it");
        return Err(io::Error::other(told));
    }
    Ok(target.join(platform).join("release/libassay_preload.so"))
}

/// Packs files so that equal files give equal bytes: without times and owners.
fn pack(root: &Path, files: &[PathBuf], archive: &Path) -> io::Result<()> {
    let mut archive = tar::Builder::new(GzEncoder::new(File::create(archive)?, Compression::best()));
    for file in files {
        let content = fs::read(file)?;
        let is_executable = fs::metadata(file)?.permissions().mode() & 0o100 != 0;
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(if is_executable { 0o755 } else { 0o644 });
        let name = file.strip_prefix(root).map_err(io::Error::other)?;
        archive.append_data(&mut header, name, content.as_slice())?;
    }
    archive.into_inner()?.finish().map(drop)
}
