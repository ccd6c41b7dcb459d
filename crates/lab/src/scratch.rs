//! Names of the temporary folders that assay makes. By these and by its mark ([`crate::marks`]) it finds those that a killed run left
//! behind ([`crate::clean`]).

use std::path::{Path, PathBuf};

use rand::RngExt as _;
use rand::distr::Alphanumeric;
use tempfile::TempDir;

use crate::marks;

/// Where memory that processes share lies (shm_overview(7)): the wires of user-space stacks.
pub const SHARED_MEMORY: &str = "/dev/shm";
/// Beginnings of the names, behind which there are random characters.
pub(crate) const SCRATCH_PREFIX: &str = "assay-scratch-";
pub(crate) const CLUSTER_PREFIX: &str = "assay-pg-";
pub(crate) const STORE_PREFIX: &str = "assay-store-";
pub(crate) const AGENT_PREFIX: &str = "assay-agent-";
pub(crate) const RANDOM_CHARACTERS: usize = 6;

/// A name in `folder` that nobody has yet, for the supervisor to make.
pub(crate) fn scratch_in(folder: &Path) -> PathBuf {
    new_name(folder, SCRATCH_PREFIX)
}

/// A new folder for what passes by, removed when it is dropped.
///
/// # Errors
/// As the system tells.
pub(crate) fn temporary() -> std::io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix(SCRATCH_PREFIX).tempdir()?;
    marks::mark(folder.path())?;
    Ok(folder)
}

/// A folder like that of [`scratch_in`], for the cluster of a database.
pub(crate) fn cluster_in(folder: &Path) -> PathBuf {
    new_name(folder, CLUSTER_PREFIX)
}

/// A folder like that of [`scratch_in`], for a document store.
pub(crate) fn store_in(folder: &Path) -> PathBuf {
    new_name(folder, STORE_PREFIX)
}

/// A folder like that of [`scratch_in`], for an agent.
pub(crate) fn agent_in(folder: &Path) -> PathBuf {
    new_name(folder, AGENT_PREFIX)
}

fn new_name(folder: &Path, prefix: &str) -> PathBuf {
    let random: String =
        rand::rng().sample_iter(Alphanumeric).take(RANDOM_CHARACTERS).map(char::from).collect();
    folder.join(format!("{prefix}{random}"))
}
