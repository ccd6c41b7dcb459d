//! What the instrument and the reference server cost beside their peers: alternating runs on the same machine, as ratios
//! with their spread, as tables for docs/results/instrument.md.

mod blocks;
mod books;
mod designs;
mod fleet;
mod http2;
mod load;
mod messages;
mod pairs;
mod probe;
mod serve;
mod skew;
mod table;
mod tls;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use messages::Kind;

use crate::measure::Testbed;

/// What is compared.
#[derive(Subcommand)]
pub(crate) enum Subject {
    /// The load generator with wrk, h2load and ab
    Load(load::Options),
    /// The reference server with nginx, h2o and Apache httpd
    Serve(serve::Options),
    /// Both over TLS: the generator with wrk, the reference server with nginx, and handshakes
    Tls(tls::Options),
    /// Both over HTTP/2, without TLS and over it: the generator with h2load, the reference server with nghttpd and nginx
    H2(http2::Options),
    /// Messages over WebSockets: the reference server with contenders of the catalogue
    Ws(messages::Options),
    /// Calls of gRPC: the generator with h2load, the reference server with contenders of the catalogue
    Grpc(messages::Options),
    /// Two generators with one, and more connections than one process may have
    Fleet(fleet::Options),
    /// Contenders in turns and one at a time: both designs must tell the same ratios
    Designs(designs::Options),
}

/// How long, how often, and with which program.
#[derive(Args)]
pub(crate) struct Length {
    #[command(flatten)]
    program: Program,
    /// Few cells, briefly: to see that it works
    #[arg(long)]
    quick: bool,
    /// Times that everything is measured; a ratio's interval comes from so many pairs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    rounds: Option<u32>,
    /// Length of one measurement in seconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
}

/// The program that is measured.
#[derive(Args)]
pub(crate) struct Program {
    /// The program to measure, in place of one that is built for release
    #[arg(long, value_name = "FILE")]
    assay: Option<PathBuf>,
}

impl Program {
    fn testbed(&self, root: &Path) -> Result<Testbed, String> {
        self.assay.clone().map_or_else(|| Testbed::take(root), Testbed::with)
    }
}

impl Length {
    fn testbed(&self, root: &Path) -> Result<Testbed, String> {
        self.program.testbed(root)
    }

    fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 3 } else { 6 })
    }

    fn seconds(&self) -> u32 {
        self.seconds.unwrap_or(if self.quick { 1 } else { 3 })
    }

    /// The values asked for, else the few or the many.
    fn choose<T: Clone>(&self, asked: &[T], few: &[T], many: &[T]) -> Vec<T> {
        match (asked, self.quick) {
            ([], true) => few.to_vec(),
            ([], false) => many.to_vec(),
            (asked, _) => asked.to_vec(),
        }
    }
}

/// Measures and prints.
///
/// # Errors
/// When the machine does not allow it, or a person asks to end.
pub(crate) fn run(root: &Path, subject: &Subject) -> Result<(), Vec<String>> {
    match subject {
        Subject::Load(options) => load::run(root, options),
        Subject::Serve(options) => serve::run(root, options),
        Subject::Tls(options) => tls::run(root, options),
        Subject::H2(options) => http2::run(root, options),
        Subject::Ws(options) => messages::run(root, options, Kind::WebSocket),
        Subject::Grpc(options) => messages::run(root, options, Kind::Grpc),
        Subject::Fleet(options) => fleet::run(root, options),
        Subject::Designs(options) => designs::run(root, options),
    }
    .map_err(|error| vec![format!("bench: {error}")])
}

/// The command that makes a table, to stand above it.
fn command_line() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!("cargo xtask {}", arguments.join(" "))
}

/// All values of an option, where none was chosen.
fn every<T: ValueEnum + Clone>() -> Vec<T> {
    T::value_variants().to_vec()
}
