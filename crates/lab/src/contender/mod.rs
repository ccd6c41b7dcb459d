//! The life of a contender: needs probed, built, started, found ready and right, stopped without a trace.

mod answer;
mod ask;
pub mod before;
mod container;
pub mod environment;
mod launch;
pub mod learn;
mod prepare;
pub(crate) mod probe;
mod ready;
mod server;
mod upstream;

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_host::cpuset::CpuSet;
use assay_link::Link;
use assay_model::network::Network;
use assay_model::protocol::Protocol;
use assay_model::workload::Workload;
use assay_tls::Client;

pub(crate) use prepare::Preparation;
pub(crate) use server::Server;
pub use upstream::Upstream;

pub use crate::tools::Tools;

use before::Commands;

use crate::access::Access;
use crate::hosts::host::Host;
use crate::stop::Stop;
use crate::tls::RunTls;

/// The shell's exit status for a command that it does not find (POSIX.1-2024, Shell Command Language 2.8.2).
const NOT_FOUND: i32 = 127;

/// What one start needs to know.
#[derive(Clone)]
pub(crate) struct StartOrder<'a> {
    /// Our own program.
    pub tools: &'a Tools,
    /// Where it is to live.
    pub host: &'a Host,
    /// What joins it and the generator.
    pub link: &'a Link,
    /// The user-space stack that it is to be started on; absent for the kernel's, over the link.
    pub user: Option<OnUserStack<'a>>,
    /// What it is to speak.
    pub protocol: Protocol,
    /// What secures its connections; absent for plain HTTP.
    pub tls: Option<&'a RunTls>,
    /// The client that asks, where its connections are secured.
    pub client: Option<&'a Client>,
    /// CPUs of the server.
    pub cpus: &'a CpuSet,
    /// Where its output goes.
    pub log: PathBuf,
    /// The database of a contender that needs one.
    pub database: Option<&'a Access>,
    /// What is started behind it if it is a proxy.
    pub upstream: Option<&'a Upstream>,
    /// What it will be asked for, every kind of request to be answered rightly before the load.
    pub workloads: Vec<Workload>,
    /// How long the load waits for an answer; absent where none follows.
    pub load_timeout: Option<Duration>,
    /// Runs what they want to be run before that.
    pub commands: &'a Commands,
    /// Ends the waiting when asked twice.
    pub stop: &'a Stop,
}

/// A start on the user-space stack.
#[derive(Clone, Copy)]
pub(crate) struct OnUserStack<'a> {
    /// Over which wire.
    pub network: Network,
    /// CPUs of the generator, which asks for the first answers: one for each queue.
    pub generator_cpus: &'a CpuSet,
    /// Queues of the wire: one for each worker.
    pub queues: u16,
    /// A folder for what it is told and tells.
    pub work: &'a Path,
}
