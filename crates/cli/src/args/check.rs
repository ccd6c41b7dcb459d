//! The arguments of `assay check`.

use std::path::PathBuf;

use assay_host::cpuset::CpuSet;
use assay_link::Spec;
use clap::Args;

use super::tls::TlsArguments;
use super::{DatabaseArguments, HttpName, Places, value};
use crate::destination::Consent;

/// Check which rules of HTTP/1.1, HTTP/2 or WebSocket servers keep.
///
/// The rules of HTTP/1.1 include those of the test types that a server answers. Servers of the catalogue and commands are
/// started, asked and stopped, one after the other; a URL is asked as it is. The suite sends broken and hostile requests: ask
/// only servers that you may ask so.
#[derive(Args)]
pub(crate) struct CheckArguments {
    /// Servers: a name, lang:go, kind:server, a folder, http://… (or host:port), https://…, h2c://… (HTTP/2 without TLS), ws://… and wss://…
    /// (asked for the rules of WebSocket alone, and to give messages back); `!` before one excludes [default: the whole catalogue]
    #[arg(value_name = "SEL")]
    pub(crate) selectors: Vec<String>,
    /// Start this command and ask it; it finds its port in $PORT, unless --port says which it uses
    #[arg(long, value_name = "COMMAND")]
    pub(crate) cmd: Vec<String>,
    /// The port that the command listens on; one for each --cmd, in order
    #[arg(long, value_name = "PORT", requires = "cmd")]
    pub(crate) port: Vec<u16>,
    /// Workloads that it answers; `json` and `plaintext` bring the rules of their test types [default: those its file names; for a URL or a
    /// command: GET of its path]
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) workload: Vec<String>,
    /// Version of HTTP whose rules are asked for [default: 1.1, and 2 for h2c://]; over TLS the server must choose it (ALPN), else
    /// it is spoken at once
    #[arg(long, value_enum, value_name = "VERSION")]
    pub(crate) http: Option<HttpName>,
    /// Path to ask a command or URL for
    #[arg(long, value_name = "PATH", value_parser = value::path, conflicts_with = "workload")]
    pub(crate) path: Option<String>,
    /// Ask only for these rules (`assay list rules` names them all)
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// CPUs of the servers, such as 0-3 [default: half of the cores]
    #[arg(long, value_name = "LIST")]
    pub(crate) server_cpus: Option<CpuSet>,
    /// What joins client and server: loopback, veth (two network namespaces with a virtual cable), veth:1gbit (held to that
    /// rate), veth:loss=0.1% (loses so many frames) or both, veth:1gbit,loss=0.1%
    #[arg(long, value_name = "LINK", default_value = "loopback")]
    pub(crate) link: Spec,
    /// Ask those that are started over TLS, with a certificate of our own making; a command finds it in $CERT, and its key in
    /// $KEY
    #[arg(long = "tls", help_heading = "TLS")]
    pub(crate) start_with_tls: bool,
    #[command(flatten)]
    pub(crate) tls: TlsArguments,
    #[command(flatten)]
    pub(crate) database: DatabaseArguments,

    #[command(flatten)]
    pub(crate) consent: Consent,

    /// Print only what is broken
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print the findings as JSON
    #[arg(long, help_heading = "Output", conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Write the findings also as JUnit XML: a broken `must` is a failure, a broken `should` is skipped
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) places: Places,
}
