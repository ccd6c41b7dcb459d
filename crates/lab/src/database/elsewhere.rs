//! A private PostgreSQL on another host. Our own program makes it there and ends it, as it does here; the tables are filled and looked at
//! over the network, because that is the way of the servers, too.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use assay_link::Link;
use assay_model::lab::{LabHost, PlacedHost};
use postgres::{Client, Config, NoTls};

use super::cluster::{Cluster, Listening, TAIL_LINES, password, prepare};
use super::{DatabaseError, Order, PostgresServer, in_full};
use crate::hosts::host::{Host, Job, JobHandle, JobSurroundings};
use crate::inherited::Inherited;
use crate::postgresql::Programs;
use crate::secrets::Secrets;
use crate::stop::Stop;
use crate::supervisor::{Ended, SupervisorOptions, tail_of_death};
use crate::tools::Tools;

/// The variable of the environment that tells our program there what everybody must know who comes in.
const PASSWORD: &str = "ASSAY_DATABASE_PASSWORD";
/// From the request to end until it is killed: the cluster below it has its own grace.
const GRACE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);
/// Longest time for a connection over the network, and until one is given up that nothing comes through any more.
const CONNECTING: Duration = Duration::from_secs(5);
const SILENCE: Duration = Duration::from_secs(30);

/// The host on which a PostgreSQL is to be started.
#[derive(Clone, Debug, PartialEq)]
pub struct Elsewhere {
    /// The name of the host, the way there, and the address at which servers are to reach the database.
    pub host: LabHost,
    /// Version of our own program, which an agent must have too.
    pub version: String,
}

/// A cluster on another host. Dropping it ends it, and the agent there.
pub(super) struct DistantCluster {
    listening: Listening,
    found: PlacedHost,
    log: PathBuf,
    secrets: Secrets,
    // Dropped in this order: the agent ends when its last job has.
    job: Job,
    away: Host,
}

impl DistantCluster {
    /// Has our program there make a cluster that listens at the host's address.
    pub(super) fn start(elsewhere: &Elsewhere, order: &Order<'_>) -> Result<Self, DatabaseError> {
        let mut wanted = || !order.stop.is_requested();
        let (away, found) = Host::open(&elsewhere.host, &order.tools, &elsewhere.version, None, &mut wanted)?;
        let loopback = Link::loopback();
        let port = away.free_port(&loopback, None)?;
        let address = away.address(&loopback);
        let listening = Listening { address, port, password: password(), is_open: true };
        let words = ["database".to_owned(), listening.address.to_string(), port.to_string()];
        let command: Vec<OsString> = std::iter::once(OsString::from(&away.tools().assay))
            .chain(words.into_iter().map(OsString::from))
            .collect();
        let job = away.new_job(&order.log);
        let mut options = SupervisorOptions::new(job.log.clone(), command);
        options.cpus = away.cpus().cloned();
        options.grace = GRACE;
        let around = JobSurroundings {
            folder: &away.folder(),
            inherited: &Inherited::LEAST,
            is_building: false,
            variables: vec![(PASSWORD.into(), listening.password.clone().into())],
        };
        let job = away.start(job, &options, around)?;
        let (log, secrets) = (order.log.clone(), order.tools.secrets.clone());
        Ok(Self { listening, found, log, secrets, job, away })
    }

    /// The host.
    pub(super) fn host(&self) -> &PlacedHost {
        &self.found
    }

    /// The agent there.
    pub(super) fn agent(&self) -> &Host {
        &self.away
    }

    /// What it uses can be asked through this.
    pub(super) fn handle(&self) -> JobHandle {
        self.job.handle()
    }

    /// Ends it, and the agent there.
    pub(super) fn end(mut self) -> Result<(), DatabaseError> {
        self.job.stop();
        Ok(self.away.end()?)
    }
}

impl PostgresServer for DistantCluster {
    fn client(&self, database: &str) -> Result<Client, postgres::Error> {
        let mut config: Config = self.listening.url(database).parse()?;
        config.connect_timeout(CONNECTING).tcp_user_timeout(SILENCE).keepalives_idle(SILENCE);
        config.connect(NoTls)
    }

    fn ended(&mut self, timeout: Duration) -> Option<Ended> {
        self.job.wait(timeout)
    }

    fn failure(&self, ended: Option<Ended>, error: &postgres::Error) -> DatabaseError {
        self.job.fetch_log();
        let (host, address) = (&self.found.name, self.listening.address);
        let what = match ended {
            Some(ended) => format!("PostgreSQL on {host} ended with {ended}"),
            None => format!("PostgreSQL on {host} cannot be reached at {address}: {}", in_full(error)),
        };
        DatabaseError::Failed { what, log: tail_of_death(&self.log, TAIL_LINES, &self.secrets) }
    }

    fn url(&self, database: &str) -> String {
        self.listening.url(database)
    }
}

/// The body of `assay database`: a cluster on this host for a lab on another one, until `stop` asks for its end. What its server says goes
/// to our error output in the end.
///
/// # Errors
/// When it cannot be made, or ends by itself; nothing is left behind then.
pub fn serve(address: IpAddr, port: u16, stop: &Stop) -> Result<(), DatabaseError> {
    let password =
        std::env::var(PASSWORD).map_err(|error| prepare("no password")(io::Error::other(error)))?;
    let assay = std::env::current_exe().map_err(prepare("no program"))?;
    let programs = Programs::find().ok_or(DatabaseError::Missing)?;
    let folder = tempfile::tempdir_in(".").map_err(prepare("no folder"))?;
    let log = folder.path().canonicalize().map_err(prepare("no folder"))?.join("log");
    let order = Order {
        tools: Tools { assay, files: PathBuf::new(), preload: None, secrets: Secrets::default() },
        side: None,
        cpus: None,
        log: log.clone(),
        seed: 0,
        run: "",
        guests: false,
        stop,
    };
    let mut cluster =
        Cluster::start(&programs, &order, Listening { address, port, password, is_open: true })?;
    let ended = loop {
        match cluster.ended(POLL) {
            None if !stop.is_requested() => {}
            ended => break ended,
        }
    };
    drop(cluster);
    let _ = std::fs::File::open(&log).and_then(|mut log| io::copy(&mut log, &mut io::stderr()));
    match ended {
        Some(ended) => {
            Err(DatabaseError::Failed { what: format!("PostgreSQL ended with {ended}"), log: Vec::new() })
        }
        None => Ok(()),
    }
}
