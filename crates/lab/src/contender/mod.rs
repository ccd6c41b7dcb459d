//! The life of a contender: needs probed, built, started, found ready and right, stopped without a trace.

mod answer;
mod ask;
pub mod before;
mod container;
pub mod environment;
mod inherited;
mod launch;
pub mod learn;
mod port;
mod prepare;
mod probe;
mod ready;
mod server;
mod version;

use std::path::PathBuf;

pub use inherited::Inherited;
pub(crate) use inherited::Purpose;
pub(crate) use prepare::Preparation;
pub(crate) use server::{OnUserStack, Server, StartOrder};

use crate::secrets::Secrets;

/// The shell's exit status for a command that it does not find (POSIX.1-2024, Shell Command Language 2.8.2).
const NOT_FOUND: i32 = 127;

/// The programs that the lab starts, and the files that contenders serve.
#[derive(Clone, Debug)]
pub struct Tools {
    /// Our own program, for its subcommands `keep` and `load`.
    pub assay: PathBuf,
    /// The folder of the catalogue whose files are served, `workloads/files`, from the root.
    pub files: PathBuf,
    /// The preload library, where it is neither beside our program nor installed with it.
    pub preload: Option<PathBuf>,
    /// What nothing that they print may repeat.
    pub secrets: Secrets,
}
