//! The arguments of `assay new`.

use std::path::PathBuf;

use clap::Args;

/// Write a folder with a small server that runs at once, a contender of your own to go on from.
///
/// The server answers hello and json. What is not given is asked for on a terminal. Nothing that exists is changed.
#[derive(Args)]
pub(crate) struct NewArguments {
    /// What it is called: a-z, 0-9 and -
    pub(crate) name: Option<String>,
    /// The language: c, go, java, javascript, julia, php, python or rust
    #[arg(short, long)]
    pub(crate) language: Option<String>,
    /// How people call it [default: its name]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// The folder to write [default: ./NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}
