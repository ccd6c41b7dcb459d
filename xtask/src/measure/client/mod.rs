//! Load generators, ours and others', behind one face: a command line out of a load, figures out of what is printed.

mod ab;
mod assay;
mod h2load;
mod json;
mod text;
mod wrk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub(crate) use ab::Ab;
pub(crate) use assay::{Assay, CODES, Engine};
pub(crate) use h2load::H2load;
pub(crate) use json::JSON_CLIENTS;
pub(crate) use wrk::{WRK, WRK2};

use assay_model::load::Arrival;

use super::Place;
use super::process::{Ended, complete};
use super::tool::Tool;

/// Beyond the length of the load, a client gets so long to start, to connect and to end.
const GRACE: Duration = Duration::from_secs(40);

/// What a client is asked to do: to repeat a GET.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) url: String,
    pub(crate) connections: u32,
    /// Requests in flight on one connection.
    pub(crate) pipeline: u32,
    /// All clients know whole seconds.
    pub(crate) seconds: u32,
    pub(crate) arrival: Arrival,
    /// The longest wait for an answer, for clients that can be told.
    pub(crate) timeout_seconds: u32,
    /// Whether each request has a connection of its own, and may resume a session where that is secured.
    pub(crate) fresh: Option<Sessions>,
    /// File with the workload, and so with the right answers, for clients that check them.
    pub(crate) workload: Option<PathBuf>,
}

/// What becomes of sessions of TLS when a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sessions {
    Forgotten,
    Resumed,
}

impl Load {
    /// A closed loop without pipelining.
    pub(crate) fn closed(url: String, connections: u32, seconds: u32) -> Self {
        let (arrival, timeout_seconds) = (Arrival::Closed, 5);
        Self { url, connections, pipeline: 1, seconds, arrival, timeout_seconds, fresh: None, workload: None }
    }

    /// Requests per second at even intervals, or none in a closed loop: what the generators of others can make of it.
    /// `None` when arrivals are random, which they cannot.
    fn even_rate(&self) -> Option<Option<f64>> {
        match self.arrival {
            Arrival::Closed => Some(None),
            Arrival::Constant { per_second } => Some(Some(per_second)),
            Arrival::Poisson { .. } => None,
        }
    }
}

/// What a client says. What it does not say is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    /// Answers that it calls right.
    pub(crate) right: u64,
    /// Requests that it calls failed, for whatever reason.
    pub(crate) failed: u64,
    /// Length of the measurement by its own clock.
    pub(crate) seconds: f64,
    pub(crate) mean_ms: Option<f64>,
    /// Latency in ms by percentile in tenths: 990 is p99.
    pub(crate) percentiles_ms: BTreeMap<u32, f64>,
}

impl Answer {
    pub(crate) fn per_second(&self) -> f64 {
        self.right as f64 / self.seconds
    }
}

/// A load generator.
pub(crate) trait Client {
    /// The name it has in tables.
    fn name(&self) -> &'static str;

    /// The program that must be installed; `None` for our own.
    fn tool(&self) -> Option<Tool>;

    /// The command for a load; `None` when it cannot make such a one. `scratch` is for files it has to read.
    fn command(&self, load: &Load, place: &Place) -> Option<Command>;

    /// Exit codes after which what it printed holds.
    fn codes(&self) -> &'static [i32] {
        &[0]
    }

    /// What it printed on standard output, understood.
    ///
    /// # Errors
    /// When that is not what this client prints.
    fn read(&self, stdout: &str) -> Result<Answer, String>;

    /// Whether its program is installed.
    fn is_here(&self) -> bool {
        self.tool().is_none_or(|tool| tool.find().is_some())
    }
}

/// Ours with both engines first, then those of others that measure one server on one core.
pub(crate) fn all() -> Vec<Box<dyn Client>> {
    let mut all: Vec<Box<dyn Client>> = Engine::ALL.map(|engine| Box::new(Assay(engine)) as _).into();
    all.extend([Box::new(WRK) as Box<dyn Client>, Box::new(H2load), Box::new(Ab)]);
    all
}

/// Puts a load on a server; also says what it cost.
///
/// # Errors
/// When the client fails, or says something that is not understood.
pub(crate) fn run(client: &dyn Client, load: &Load, place: &Place) -> Result<(Answer, Ended), String> {
    let mut command =
        client.command(load, place).ok_or(format!("{} cannot make this load", client.name()))?;
    let ended = complete(&mut command, limit(load), place)?.with_code(client.codes(), client.name())?;
    let answer = client.read(&ended.stdout).map_err(|why| format!("{}: {why}", client.name()))?;
    Ok((answer, ended))
}

/// How long a load may take.
pub(crate) fn limit(load: &Load) -> Duration {
    Duration::from_secs(u64::from(load.seconds + load.timeout_seconds)) + GRACE
}

/// A command of a tool, wherever it is.
fn command_of(tool: Tool) -> Command {
    Command::new(tool.find().unwrap_or_else(|| Path::new(tool.program).to_owned()))
}
