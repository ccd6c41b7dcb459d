//! The arguments of `assay doctor`.

use std::path::PathBuf;

use assay_model::units::Nanos;
use clap::Args;

use super::value;

#[derive(Args)]
pub(crate) struct DoctorArguments {
    /// How long to watch what else runs
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = value::span)]
    pub(crate) watch: Nanos,
    /// Set what can be set: as root at once, otherwise print the commands; says how to take it back
    #[arg(long, conflicts_with_all = ["json", "root"])]
    pub(crate) fix: bool,
    /// Exit with 4 also when the machine is usable with caution
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print the diagnosis as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Look at saved files of another machine: a folder with its proc/ and sys/; nothing is measured then
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Look at every host of a lab instead: whether an agent answers there, its clock, its machine, the network (docs/fleet.md)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fix", "root", "watch"])]
    pub(crate) lab: Option<PathBuf>,
    /// Do not load the network between the hosts of the lab to see what it carries
    #[arg(long, requires = "lab")]
    pub(crate) no_network: bool,
    /// Stay within ASCII
    #[arg(long)]
    pub(crate) ascii: bool,
}
