//! Databases for the contenders that need one: a PostgreSQL, which is a private cluster that assay makes, fills and removes, here or on
//! another host, or a database of our own on a server that the user names; or a store, which is a program of the catalogue that fills itself.
//!
//! Nothing is dropped, emptied or changed that we have not made. What a program finds in `DATABASE_URL` is for servers; which
//! server of the user's may hold a database of ours is said to assay itself and no one else (`--database`).
//!
//! What assay starts is new in every run. That costs about two seconds and buys that nothing of an earlier run — bloat
//! from updates, a half-written folder after a crash — is measured.

mod cluster;
mod count;
mod documents;
mod elsewhere;
mod guests;
mod own;
mod reach;
mod seed;
mod supply;
mod url;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use assay_check::Ledger;
use assay_host::cpuset::CpuSet;
use assay_link::Side;
use assay_model::lab::PlacedHost;
use assay_model::record::NotRun;
use postgres::Client;
use thiserror::Error;

pub use crate::postgresql::Programs;
pub use assay_check::Counts;
pub use documents::DocumentStore;
pub use elsewhere::{Elsewhere, serve};
pub use own::{Marked, marked, remove_marked, unmarked};
pub use seed::{FORTUNES, ROWS};
pub use supply::Source;
pub(crate) use supply::{Supplied, absent, not_run, supply};
pub use url::GivenUrl;

use crate::host_error::HostError;
use crate::hosts::host::{Host, JobHandle};
use crate::stop::Stop;
use crate::supervisor::{Ended, RunError};
use crate::tools::Tools;
use cluster::{Cluster, Listening, TIMEOUT};
use count::Statements;
use elsewhere::DistantCluster;
use own::OwnDatabase;

/// The database of the TechEmpower tests, whose implementations expect this name.
const NAME: &str = "hello_world";
/// How often a server that does not answer yet is asked again.
const POLL: Duration = Duration::from_millis(20);

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
    /// Name of the run, which what is made on a server of the user's bears.
    pub run: &'a str,
    /// Whether somebody takes part that looks for it where the TechEmpower toolset had it (`guests`).
    pub guests: bool,
    /// Ends the waiting when asked.
    pub stop: &'a Stop,
}

/// A PostgreSQL that is filled and answers. Dropping it stops and removes what was started and made.
pub struct Database {
    url: String,
    client: Client,
    statements: Result<Statements, String>,
    // Dropped last: the connection is closed before the server stops, or the database is removed.
    home: Home,
}

/// A PostgreSQL of our own, wherever it runs.
trait PostgresServer {
    /// Opens a connection, if it answers now.
    fn client(&self, database: &str) -> Result<Client, postgres::Error>;

    /// How it ended, once it has; waits for that at most `timeout`.
    fn ended(&mut self, timeout: Duration) -> Option<Ended>;

    /// What is to be said of one that ended, or does not answer in its time.
    fn failure(&self, ended: Option<Ended>, error: &postgres::Error) -> DatabaseError;

    /// Opens a connection; waits for a server that has just been started.
    fn connect(&mut self, database: &str, stop: &Stop) -> Result<Client, DatabaseError> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let error = match self.client(database) {
                Ok(client) => return Ok(client),
                Err(_) if stop.is_requested() => return Err(DatabaseError::Stopped),
                Err(error) => error,
            };
            let ended = self.ended(POLL);
            if ended.is_some() || Instant::now() > deadline {
                return Err(self.failure(ended, &error));
            }
        }
    }

    /// The connection URL of a database there, password included.
    fn url(&self, database: &str) -> String;
}

/// Connections to a database server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionCounts {
    /// Connections that are open.
    pub open: u64,
    /// How many there may be, those aside that the server keeps for its administrators.
    pub most: u64,
}

/// Who owns what.
enum Home {
    /// The server is ours, and runs here.
    Private(Box<Cluster>),
    /// The server is ours, and runs on another host.
    Distant(Box<DistantCluster>),
    /// The database is ours, the server is not.
    Lodged(Box<OwnDatabase>),
    /// Nothing is ours.
    Theirs,
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
    /// The server could not be started under a supervisor.
    #[error(transparent)]
    Supervise(#[from] RunError),
    /// The host on which it was to run does not do what was asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The server that the user named cannot be reached.
    #[error("{url} cannot be reached: {}", in_full(source))]
    Unreachable {
        /// Where, without the password.
        url: GivenUrl,
        /// What was said.
        source: postgres::Error,
    },
    /// The server that the user named says nothing.
    #[error("{url} has not answered for {} s", patience.as_secs())]
    Silent {
        /// Where, without the password.
        url: GivenUrl,
        /// How long it was waited for.
        patience: Duration,
    },
    /// The user named a server as somebody who may not make a database there.
    #[error("{role} may not make a database there, and assay writes into no database but its own")]
    NoRight {
        /// The role under which we connected.
        role: String,
    },
    /// Something between us and the server leads everybody to a database of its own choice.
    #[error("asked for the new database {wanted}, the server or a pooler before it led to {found}")]
    LedElsewhere {
        /// Where we wanted to be.
        wanted: String,
        /// Where we were.
        found: String,
    },
    /// A database of ours could not be removed.
    #[error("the database {name} is left: {}", in_full(source))]
    Left {
        /// Name of the database.
        name: String,
        /// What the server said.
        source: postgres::Error,
    },
    /// The server does not answer as a database should.
    #[error("{what}: {}", in_full(source))]
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
        let cluster = Cluster::start(&programs, order, Listening::here(order.guests)?)?;
        Self::filled(cluster, order, |cluster| Home::Private(Box::new(cluster)))
    }

    /// Makes a private cluster on another host, starts and fills it.
    ///
    /// # Errors
    /// As [`Self::start`], and when the host cannot be reached, or its server not from here; nothing is left behind there then.
    pub fn on_another_host(elsewhere: &Elsewhere, order: &Order<'_>) -> Result<Self, DatabaseError> {
        let cluster = DistantCluster::start(elsewhere, order)?;
        Self::filled(cluster, order, |cluster| Home::Distant(Box::new(cluster)))
    }

    fn filled<S: PostgresServer>(
        mut cluster: S,
        order: &Order<'_>,
        home: impl FnOnce(S) -> Home,
    ) -> Result<Self, DatabaseError> {
        let mut server = cluster.connect("postgres", order.stop)?;
        let ask = |what| move |source| DatabaseError::Ask { what, source };
        server.batch_execute(&format!("CREATE DATABASE {NAME}")).map_err(ask("making a database"))?;
        let mut client = cluster.connect(NAME, order.stop)?;
        seed::fill(&mut client, order.seed).map_err(ask("filling the tables"))?;
        client.batch_execute(count::EXTENSION).map_err(ask("preparing to count statements"))?;
        if order.guests {
            guests::admit(&mut client).map_err(ask("letting guests in"))?;
        }
        let statements = Statements::of(&mut client, NAME);
        Ok(Self { url: cluster.url(NAME), client, statements, home: home(cluster) })
    }

    /// Makes a database of our own beside the one that the user names, and fills it. Without the extension pg_stat_statements,
    /// which only a superuser can add, it does not count.
    ///
    /// # Errors
    /// When the server cannot be reached or does not let us make one; nothing is left behind then.
    pub fn beside(given: &GivenUrl, order: &Order<'_>) -> Result<Self, DatabaseError> {
        let (own, mut client) = OwnDatabase::make(given, order.run, order.stop)?;
        seed::fill(&mut client, order.seed)
            .map_err(|source| DatabaseError::Ask { what: "filling the tables", source })?;
        // Refused to whoever is no superuser; then the user's database may have it, which counts for the whole server.
        let _ = client.batch_execute(count::EXTENSION);
        let statements = Statements::of(&mut client, own.name());
        Ok(Self { url: own.url().to_owned(), client, statements, home: Home::Lodged(Box::new(own)) })
    }

    /// Looks on at the database of a server that runs already. Nothing is made or changed there.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn watched(given: &GivenUrl, stop: &Stop) -> Result<Self, DatabaseError> {
        let ask = |what| move |source| DatabaseError::Ask { what, source };
        let mut client = own::connect(given, stop)?;
        let read_only = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY";
        client.batch_execute(read_only).map_err(ask("promising only to read"))?;
        let name = client.query_one("SELECT current_database()::text", &[]);
        let name: String = name.map_err(ask("asking for its name"))?.get(0);
        let statements = Statements::of(&mut client, &name);
        Ok(Self { url: given.whole(), client, statements, home: Home::Theirs })
    }

    /// Removes what was made on a server of the user's, and says so where that fails; what else is ours goes when dropped.
    ///
    /// # Errors
    /// [`DatabaseError::Left`].
    pub fn end(self) -> Result<(), DatabaseError> {
        let Self { client, home, .. } = self;
        // PostgreSQL removes no database that somebody is connected to.
        drop(client);
        match home {
            Home::Lodged(mut own) => own.remove(),
            Home::Distant(cluster) => cluster.end(),
            Home::Private(_) | Home::Theirs => Ok(()),
        }
    }

    /// The connection URL for contenders, `postgres://user:password@host:port/hello_world`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The first process of the private server; none for one of the user's own.
    pub fn pid(&self) -> Option<u32> {
        self.cluster().map(Cluster::pid)
    }

    /// What its server is looked at through, which may be a process of `here`; `None` where it is the user's own.
    pub(crate) fn seen(&self, here: &Host) -> Option<JobHandle> {
        match &self.home {
            Home::Private(cluster) => here.adopt(vec![cluster.pid()]),
            Home::Distant(cluster) => Some(cluster.handle()),
            Home::Lodged(_) | Home::Theirs => None,
        }
    }

    /// The agent on the other host on which its server was started.
    pub(crate) fn agent(&self) -> Option<&Host> {
        match &self.home {
            Home::Distant(cluster) => Some(cluster.agent()),
            Home::Private(_) | Home::Lodged(_) | Home::Theirs => None,
        }
    }

    /// The other host on which its server was started.
    pub fn host(&self) -> Option<&PlacedHost> {
        match &self.home {
            Home::Distant(cluster) => Some(cluster.host()),
            Home::Private(_) | Home::Lodged(_) | Home::Theirs => None,
        }
    }

    /// What was changed for the run; nothing of a server of the user's own.
    pub fn settings(&self) -> Vec<String> {
        match &self.home {
            Home::Private(cluster) => cluster.settings(),
            Home::Distant(_) => cluster::settings().collect(),
            Home::Lodged(_) | Home::Theirs => Vec::new(),
        }
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

    /// Connections that are open now, ours among them, and how many there may be; `None` where the server does not tell.
    pub fn sessions(&mut self) -> Option<SessionCounts> {
        let row = self.client.query_one(
            "SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
                    current_setting('max_connections')::bigint
                    - current_setting('superuser_reserved_connections')::bigint",
            &[],
        );
        let row = row.ok()?;
        let number = |column: usize| u64::try_from(row.get::<_, i64>(column)).ok();
        Some(SessionCounts { open: number(0)?, most: number(1)? })
    }

    /// Process ids of the private server; empty for one of the user's own.
    pub fn processes(&self) -> Vec<u32> {
        self.cluster().map_or_else(Vec::new, Cluster::processes)
    }

    fn cluster(&self) -> Option<&Cluster> {
        match &self.home {
            Home::Private(cluster) => Some(cluster),
            Home::Distant(_) | Home::Lodged(_) | Home::Theirs => None,
        }
    }

    /// Statements and rows since the counters were made, other than our own.
    ///
    /// # Errors
    /// In words, when the database does not count or no longer answers.
    pub fn counts(&mut self) -> Result<Counts, String> {
        let counts = match (&self.statements, &mut self.home) {
            (Ok(statements), _) => statements.read(&mut self.client),
            (Err(problem), Home::Lodged(own)) => own.counts().ok_or_else(|| problem.clone())?,
            (Err(problem), _) => return Err(problem.clone()),
        };
        counts.map_err(|error| format!("counting statements: {}", in_full(&error)))
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

/// An error with what is behind it, which it does not tell by itself.
fn in_full(error: &postgres::Error) -> String {
    let mut text = error.to_string();
    let mut behind = std::error::Error::source(error);
    while let Some(error) = behind {
        text += &format!(": {error}");
        behind = error.source();
    }
    text
}

impl Ledger for Database {
    fn counts(&mut self) -> Result<Counts, String> {
        Self::counts(self)
    }

    fn numbers(&mut self) -> Result<Vec<i32>, String> {
        Self::numbers(self).map_err(|error| error.to_string())
    }
}
