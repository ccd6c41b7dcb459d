//! The arguments of `assay init`.

use std::path::PathBuf;

use clap::Args;

use super::value;

/// Write an experiment with servers of your own, with comments, to go on from.
///
/// What is not given is asked for on a terminal. Nothing that exists is changed.
#[derive(Args)]
pub(crate) struct InitArguments {
    /// Servers that run already: http://HOST:PORT/PATH
    #[arg(value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// A server that assay is to start by this command; it finds its port in $PORT, unless --port says which it uses
    #[arg(long, value_name = "COMMAND")]
    pub(crate) cmd: Vec<String>,
    /// The port that the command listens on; one for each --cmd, in order
    #[arg(long, value_name = "PORT", requires = "cmd")]
    pub(crate) port: Vec<u16>,
    /// The path that they are asked for [default: that of the URLs, or /]
    #[arg(long, value_name = "PATH", value_parser = value::path)]
    pub(crate) path: Option<String>,
    /// Numbers of connections [default: 64]
    #[arg(short, long, value_name = "N,…", value_delimiter = ',', value_parser = value::connections)]
    pub(crate) connections: Vec<u32>,
    /// The file to write [default: assay.toml]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
