//! What every load generator has in common, ours and others': a command line out of a load, figures out of what it prints.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assay_host::cpuset::CpuSet;
use assay_link::Link;
use assay_model::generator::{GeneratorName, Told};
use assay_model::load::Arrival;

use super::tool::Tool;
use crate::tools::Tools;

/// A load of which every generator can make some: one request, repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// `http://host:port/path`, or `https://`.
    pub url: String,
    /// Header fields besides those that a generator sends anyway.
    pub headers: Vec<(String, String)>,
    /// Connections of all threads.
    pub connections: u32,
    /// Requests in flight on one connection at most.
    pub pipeline: u32,
    /// Whether HTTP/2 is spoken, each request a stream; without TLS by prior knowledge.
    pub http2: bool,
    /// Length in whole seconds, which all generators know.
    pub seconds: u32,
    /// When requests are issued.
    pub arrival: Arrival,
    /// Longest wait for an answer in seconds, for generators that can be told.
    pub timeout_s: u32,
    /// Whether each request has a connection of its own, and may resume a session where that is secured.
    pub fresh: Option<Sessions>,
    /// File with the workload, and so with the right answers, for a generator that checks them.
    pub workload: Option<PathBuf>,
    /// File with the authority to trust, for a generator that looks at certificates; absent to trust anybody.
    pub authority: Option<PathBuf>,
    /// Seed of random choices.
    pub seed: u64,
}

/// What becomes of sessions of TLS when a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// Each handshake is a full one.
    Forgotten,
    /// A handshake resumes an earlier one's session.
    Resumed,
}

impl Load {
    /// A closed loop without pipelining, whose answers nobody checks.
    pub fn closed(url: String, connections: u32, seconds: u32) -> Self {
        Self {
            url,
            headers: Vec::new(),
            connections,
            pipeline: 1,
            http2: false,
            seconds,
            arrival: Arrival::Closed,
            timeout_s: 5,
            fresh: None,
            workload: None,
            authority: None,
            seed: 0,
        }
    }

    /// Requests per second at even intervals; `None` in a closed loop.
    pub(super) fn even_rate(&self) -> Option<f64> {
        match self.arrival {
            Arrival::Constant { per_second } => Some(per_second),
            Arrival::Closed | Arrival::Poisson { .. } => None,
        }
    }
}

/// Where a generator runs.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The programs to start.
    pub tools: &'a Tools,
    /// What joins it and the server.
    pub link: &'a Link,
    /// CPUs of all its threads.
    pub cpus: &'a CpuSet,
    /// A folder for what it reads and prints.
    pub work: &'a Path,
}

/// A program that loads a server: ours, or one of another project, which is no more trusted than a contender is.
pub trait LoadGenerator {
    /// The generator by its name.
    fn name(&self) -> GeneratorName;

    /// The name that it has in tables.
    fn title(&self) -> &'static str {
        self.name().name()
    }

    /// The program that must be installed; `None` for our own.
    fn tool(&self) -> Option<Tool>;

    /// The argument with which it tells its version.
    fn version_flag(&self) -> &'static str {
        "--version"
    }

    /// Why it cannot make this load, in words that follow its name: "has no rate"; `None` when it can.
    fn refusal(&self, load: &Load) -> Option<String>;

    /// Program and arguments for a load that it does not refuse.
    ///
    /// # Errors
    /// A file that it has to read cannot be written.
    fn command(&self, load: &Load, site: &Site<'_>) -> std::io::Result<Vec<OsString>>;

    /// Exit statuses after which what it printed holds.
    fn exit_codes(&self) -> &'static [i32] {
        &[0]
    }

    /// Most bytes of standard output that are read.
    fn most_output_bytes(&self) -> u64 {
        1 << 20
    }

    /// What it printed on standard output, understood; the text is a stranger's.
    ///
    /// # Errors
    /// What is missing in it or wrong with it.
    fn read(&self, printed: &str) -> Result<Told, String>;

    /// Whether its program is installed.
    fn is_here(&self) -> bool {
        self.tool().is_none_or(|tool| tool.find().is_some())
    }
}
