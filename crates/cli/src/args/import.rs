//! The arguments of `assay import`.

use std::path::PathBuf;

use clap::Args;

use super::Places;

/// Import results that others measured: a results.json of TechEmpower's.
///
/// The file is one of the TechEmpower toolset, as it was for Rounds 19 to 23. The figures are marked as not measured here, and
/// shown as they are: each is a single run, so there is no interval, no tier and no rank. `show`, `report` and `export` know
/// the result by its id, which is the time at which the source began.
#[derive(Args)]
pub(crate) struct ImportArguments {
    /// The file of results
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The descriptions of the tests (test_metadata.json) [default: those in the file of results]
    #[arg(long, value_name = "FILE")]
    pub(crate) metadata: Option<PathBuf>,
    /// Print record and verdict as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Stay within ASCII
    #[arg(long)]
    pub(crate) ascii: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}
