//! Packs the repository's catalogue into one compressed archive, which the binary carries: an installed one has no repository above it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

/// What a catalogue consists of.
const PARTS: [&str; 3] = ["contenders", "workloads", "experiments"];
/// What builds leave in a contender's folder (`.gitignore` names the same).
const BUILT: [&str; 3] = ["build", "node_modules", "target"];

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for part in PARTS {
        collect(&root.join(part), &mut files)?;
    }
    files.sort();
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("Cargo sets OUT_DIR"))?;
    pack(&root, &files, &Path::new(&out).join("catalogue.tar.gz"))?;
    // Not the folders: a contender's build would then be a reason to build this again.
    files.iter().for_each(|file| println!("cargo::rerun-if-changed={}", file.display()));
    println!("cargo::rerun-if-changed={}", root.join("workloads").display());
    println!("cargo::rerun-if-changed={}", root.join("experiments").display());
    println!("cargo::rerun-if-changed=build.rs");
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

/// The same files give the same bytes: without times and owners.
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
