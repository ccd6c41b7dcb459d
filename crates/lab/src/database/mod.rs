//! Databases for the contenders that need one: a PostgreSQL, which is a private cluster that assay makes, fills and
//! removes, or one that the user names in `DATABASE_URL`; or a store, which is a program of the catalogue that fills itself.
//!
//! What assay starts is new in every run. That costs about two seconds and buys that nothing of an earlier run — bloat
//! from updates, a half-written folder after a crash — is measured.

mod cluster;
mod count;
mod documents;
mod guests;
mod seed;
mod supply;

use std::path::PathBuf;

use assay_check::Ledger;
use assay_host::cpuset::CpuSet;
use assay_link::Side;
use assay_model::record::NotRun;
use postgres::{Client, NoTls};
use thiserror::Error;

pub use assay_check::Counts;
pub use cluster::Programs;
pub use documents::DocumentStore;
pub use seed::{FORTUNES, ROWS};
pub use supply::Source;
pub(crate) use supply::{Access, Supplied, absent, not_run, supply};

use crate::contender::Tools;
use crate::keeper::RunError;
use crate::stop::Stop;
use cluster::Cluster;

/// The database of the TechEmpower tests, whose implementations expect this name.
const NAME: &str = "hello_world";

/// What one start needs to know.
#[derive(Clone)]
pub struct Order<'a> {
    /// Our own program, which keeps the server, and what programs are told of.
    pub tools: Tools,
    /// The side of a link that contenders are started on, which is where they find it.
    pub side: Option<Side>,
    /// CPUs of the database server; all that we may use when absent.
    pub cpus: Option<&'a CpuSet>,
    /// Where its output goes.
    pub log: PathBuf,
    /// Seed of the numbers in the table.
    pub seed: u64,
    /// Whether somebody takes part that looks for it where the TechEmpower toolset had it ([`guests`]).
    pub guests: bool,
    /// Ends the waiting when asked.
    pub stop: &'a Stop,
}

/// A PostgreSQL that is filled and answers. Dropping it stops what was started and removes its folder.
pub struct Database {
    url: String,
    client: Client,
    // Dropped last: the connection is closed before the server stops.
    cluster: Option<Cluster>,
}

/// Why there is no database.
#[derive(Debug, Error)]
pub enum DatabaseError {
    /// No PostgreSQL on this machine.
    #[error("PostgreSQL is not installed (no initdb on the PATH nor under /usr/lib/postgresql)")]
    Missing,
    /// A folder or file for it could not be made.
    #[error("{what}: {source}")]
    Prepare {
        /// What was tried.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// PostgreSQL refuses to run as root, and there is nobody else to run it as.
    #[error("PostgreSQL does not run as root, and this machine has no user `nobody` to run it as")]
    NoUser,
    /// What the catalogue has as a database is missing here or could not be built.
    #[error("{}", .0.reason)]
    NotReady(Box<NotRun>),
    /// A program of the database failed.
    #[error("{what}; the last lines of its log: {}", log.join(" | "))]
    Failed {
        /// What failed, and how.
        what: String,
        /// The end of its log.
        log: Vec<String>,
    },
    /// It could not be started under a keeper.
    #[error(transparent)]
    Keep(#[from] RunError),
    /// It does not answer as a database should.
    #[error("{what}: {source}")]
    Ask {
        /// What was asked.
        what: &'static str,
        /// What it said.
        source: postgres::Error,
    },
    /// A person ended the waiting.
    #[error("stopped while the database was being prepared")]
    Stopped,
}

impl Database {
    /// Makes a private cluster, starts and fills it.
    ///
    /// # Errors
    /// When PostgreSQL is missing, does not start, or cannot be filled; nothing is left behind then.
    pub fn start(order: &Order<'_>) -> Result<Self, DatabaseError> {
        let programs = Programs::find().ok_or(DatabaseError::Missing)?;
        let mut cluster = Cluster::start(&programs, order)?;
        let mut server = cluster.connect("postgres", order.stop)?;
        let ask = |what| move |source| DatabaseError::Ask { what, source };
        server.batch_execute(&format!("CREATE DATABASE {NAME}")).map_err(ask("making a database"))?;
        let mut client = cluster.connect(NAME, order.stop)?;
        seed::fill(&mut client, order.seed).map_err(ask("filling the tables"))?;
        count::prepare(&mut client).map_err(ask("preparing to count statements"))?;
        if order.guests {
            guests::admit(&mut client).map_err(ask("letting guests in"))?;
        }
        Ok(Self { url: cluster.url(NAME), client, cluster: Some(cluster) })
    }

    /// Connects to a database of the user's own and fills its tables `world` and `fortune` where they are missing.
    ///
    /// # Errors
    /// When it cannot be reached or filled.
    pub fn given(url: &str, seed: u64) -> Result<Self, DatabaseError> {
        let ask = |what| move |source| DatabaseError::Ask { what, source };
        let mut client = Client::connect(url, NoTls).map_err(ask("connecting to DATABASE_URL"))?;
        if !seed::is_filled(&mut client).map_err(ask("looking for the tables world and fortune"))? {
            seed::fill(&mut client, seed).map_err(ask("filling the tables"))?;
        }
        count::prepare(&mut client).map_err(ask("preparing to count statements (pg_stat_statements)"))?;
        Ok(Self { url: url.to_owned(), client, cluster: None })
    }

    /// The connection URL for contenders, `postgres://user:password@host:port/hello_world`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The first process of the private server; none for one of the user's own.
    pub fn pid(&self) -> Option<u32> {
        self.cluster.as_ref().map(Cluster::pid)
    }

    /// The version, as the server tells it.
    ///
    /// # Errors
    /// When the database no longer answers.
    pub fn version(&mut self) -> Result<String, DatabaseError> {
        let row = self.client.query_one("SHOW server_version", &[]);
        let row = row.map_err(|source| DatabaseError::Ask { what: "asking for the version", source })?;
        Ok(row.get(0))
    }

    /// Process ids of the private server; empty for one of the user's own.
    pub fn processes(&self) -> Vec<u32> {
        self.cluster.as_ref().map_or_else(Vec::new, Cluster::processes)
    }

    /// Statements and rows since the counters were made, other than our own.
    ///
    /// # Errors
    /// When the database no longer answers.
    pub fn counts(&mut self) -> Result<Counts, DatabaseError> {
        count::read(&mut self.client)
            .map_err(|source| DatabaseError::Ask { what: "counting statements", source })
    }

    /// The number of every row of the table `world`, by id.
    ///
    /// # Errors
    /// When the database no longer answers.
    pub fn numbers(&mut self) -> Result<Vec<i32>, DatabaseError> {
        seed::numbers(&mut self.client)
            .map_err(|source| DatabaseError::Ask { what: "reading the table world", source })
    }
}

impl Ledger for Database {
    fn counts(&mut self) -> Result<Counts, String> {
        Self::counts(self).map_err(|error| error.to_string())
    }

    fn numbers(&mut self) -> Result<Vec<i32>, String> {
        Self::numbers(self).map_err(|error| error.to_string())
    }
}
