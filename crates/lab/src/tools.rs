//! Where the lab finds what it starts and serves.

use std::path::PathBuf;

use crate::secrets::Secrets;

/// The programs that the lab starts, and the files that contenders serve.
#[derive(Clone, Debug)]
pub struct Tools {
    /// Our own program, for its subcommands `supervise` and `load`.
    pub assay: PathBuf,
    /// The folder of the catalogue whose files are served, `workloads/files`, from the root.
    pub files: PathBuf,
    /// The preload library, where it is neither beside our program nor installed with it.
    pub preload: Option<PathBuf>,
    /// What nothing that they print may repeat.
    pub secrets: Secrets,
}
