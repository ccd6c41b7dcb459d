//! The database of a run or a check: where it comes from, what the record says of it, how servers reach it.

use std::sync::{Arc, Mutex, PoisonError};

use assay_check::Ledger;
use assay_host::isolation::CompanionPlace;
use assay_model::database::DatabaseKind;
use assay_model::lab::{LabHost, PlacedHost};
use assay_model::record::{Database as Facts, DatabaseOrigin, NotRun, Stage};

use super::{Database, DatabaseError, DocumentStore, Elsewhere, GivenUrl, Order, SessionCounts};
use crate::access::Access;
use crate::error::LabError;
use crate::hosts::host::{Host, JobHandle};
use crate::subject::Subject;

/// Where a database comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A database of our own beside the one that the user names.
    Beside(GivenUrl),
    /// The user's own, of a server that runs already: it is observed.
    Watched(GivenUrl),
    /// A private PostgreSQL on these CPUs.
    Private(CompanionPlace),
    /// A private PostgreSQL on another host.
    Elsewhere(Box<Elsewhere>),
    /// A program of the catalogue, on these CPUs.
    Program(DatabaseKind, Box<Subject>, CompanionPlace),
}

impl Source {
    /// A database of our own on the server that the user names, for these servers.
    ///
    /// # Errors
    /// [`LabError::Argument`] when one of them was written for the TechEmpower toolset: it knows its database's name by heart,
    /// which may be that of the user's data, and would write there.
    pub fn beside<'s>(
        url: GivenUrl,
        servers: impl IntoIterator<Item = &'s Subject>,
    ) -> Result<Self, LabError> {
        match guest(servers) {
            None => Ok(Self::Beside(url)),
            Some(guest) => {
                let problem = format!("{guest}, and not for one of assay's own; leave --database out");
                Err(LabError::Argument { given: url.to_string(), problem })
            }
        }
    }

    /// A private PostgreSQL on another host, for these servers; `version` is that of our own program.
    ///
    /// # Errors
    /// [`LabError::Argument`] when one of them was written for the TechEmpower toolset, which looks for its database on this host.
    pub fn elsewhere<'s>(
        host: LabHost,
        version: &str,
        servers: impl IntoIterator<Item = &'s Subject>,
    ) -> Result<Self, LabError> {
        match guest(servers) {
            None => Ok(Self::Elsewhere(Box::new(Elsewhere { host, version: version.to_owned() }))),
            Some(guest) => {
                let problem = format!("{guest}, on the host on which it runs; leave the role database out");
                Err(LabError::Argument { given: host.name, problem })
            }
        }
    }

    /// What comes from there.
    pub fn kind(&self) -> DatabaseKind {
        match self {
            Self::Beside(_) | Self::Watched(_) | Self::Private(_) | Self::Elsewhere(_) => {
                DatabaseKind::Postgresql
            }
            Self::Program(kind, ..) => *kind,
        }
    }

    /// Name of the program that is built before it is started, which may take a while.
    pub(crate) fn builds(&self) -> Option<&str> {
        match self {
            Self::Beside(_) | Self::Watched(_) | Self::Private(_) | Self::Elsewhere(_) => None,
            Self::Program(_, program, _) => Some(&program.identity.name),
        }
    }

    fn origin(&self) -> DatabaseOrigin {
        match self {
            Self::Beside(_) | Self::Watched(_) => DatabaseOrigin::Given,
            Self::Private(_) | Self::Elsewhere(_) | Self::Program(..) => DatabaseOrigin::Private,
        }
    }

    fn place(&self) -> Option<&CompanionPlace> {
        match self {
            Self::Beside(_) | Self::Watched(_) | Self::Elsewhere(_) => None,
            Self::Private(place) | Self::Program(_, _, place) => Some(place),
        }
    }
}

/// A database that is there.
pub(crate) struct Supplied {
    /// What the record says.
    pub facts: Facts,
    /// How servers reach it, and how it is observed.
    pub access: Access,
    holding: AnyDatabase,
}

/// The database itself. Dropping the last of these stops it.
enum AnyDatabase {
    Tables(Arc<Mutex<Database>>),
    Documents(Box<DocumentStore>),
}

impl Supplied {
    /// The database for whoever counts what it is asked; a store does not count.
    pub(crate) fn ledger(&self) -> Option<Arc<Mutex<dyn Ledger>>> {
        match &self.holding {
            AnyDatabase::Tables(database) => Some(database.clone()),
            AnyDatabase::Documents(_) => None,
        }
    }

    /// The agent on the other host where it was started, if it was.
    pub(crate) fn agent(&self) -> Option<Host> {
        match &self.holding {
            AnyDatabase::Tables(database) => {
                database.lock().unwrap_or_else(PoisonError::into_inner).agent().cloned()
            }
            AnyDatabase::Documents(_) => None,
        }
    }

    /// The connections to the database, where it tells of them; a store does not.
    pub(crate) fn sessions(&self) -> Option<SessionCounts> {
        match &self.holding {
            AnyDatabase::Tables(database) => {
                database.lock().unwrap_or_else(PoisonError::into_inner).sessions()
            }
            AnyDatabase::Documents(_) => None,
        }
    }

    /// Ends it; what is left on a server of the user's is told.
    pub(crate) fn end(self) -> Result<(), DatabaseError> {
        let AnyDatabase::Tables(database) = self.holding else { return Ok(()) };
        let database = Arc::into_inner(database).map(Mutex::into_inner);
        database.map_or(Ok(()), |database| database.unwrap_or_else(PoisonError::into_inner).end())
    }
}

/// What a database that was started tells of itself.
struct StartedDatabase {
    version: Option<String>,
    url: String,
    /// The database's job, through which we look at what it uses; absent where it is the user's own.
    seen: Option<JobHandle>,
    /// What was changed for the run.
    settings: Vec<String>,
    /// The other host on which it was started.
    host: Option<PlacedHost>,
}

impl AnyDatabase {
    fn start(source: &Source, order: &Order<'_>) -> Result<Self, DatabaseError> {
        let placed = |place| Order { cpus: Some(place), ..order.clone() };
        let tables = |database| Self::Tables(Arc::new(Mutex::new(database)));
        match source {
            Source::Beside(url) => Database::beside(url, order).map(tables),
            Source::Watched(url) => Database::watched(url, order.stop).map(tables),
            Source::Private(place) => Database::start(&placed(&place.cpus)).map(tables),
            Source::Elsewhere(elsewhere) => Database::on_another_host(elsewhere, order).map(tables),
            Source::Program(_, program, place) => DocumentStore::start(program, &placed(&place.cpus))
                .map(|store| Self::Documents(Box::new(store))),
        }
    }

    fn told(&self, here: &Host) -> Result<StartedDatabase, DatabaseError> {
        match self {
            Self::Tables(database) => {
                let mut database = database.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(StartedDatabase {
                    version: Some(database.version()?),
                    url: database.url().to_owned(),
                    seen: database.seen(here),
                    settings: database.settings(),
                    host: database.host().cloned(),
                })
            }
            Self::Documents(store) => Ok(StartedDatabase {
                version: store.version().map(str::to_owned),
                url: store.url(),
                seen: here.adopt(vec![store.pid()]),
                settings: store.settings().to_vec(),
                host: None,
            }),
        }
    }
}

/// What is to be said of one of the servers that was written for the TechEmpower toolset, if there is one.
fn guest<'s>(servers: impl IntoIterator<Item = &'s Subject>) -> Option<String> {
    let guest = servers.into_iter().find(|server| server.is_contained())?;
    Some(format!("{} asks for the database that it knows by heart", guest.identity.title))
}

/// Starts the database, or reaches the user's own; what runs on this host is looked at through `here`.
pub(crate) fn supply(source: &Source, order: &Order<'_>, here: &Host) -> Result<Supplied, DatabaseError> {
    let holding = AnyDatabase::start(source, order)?;
    let StartedDatabase { version, url, seen, settings, host } = holding.told(here)?;
    let beside_generator = source.place().is_some_and(|place| place.beside_generator);
    let access = Access { kind: source.kind(), url, seen, beside_generator };
    let facts = facts(source);
    let cpus = host.as_ref().map(|host| host.cpus.clone()).or(facts.cpus);
    Ok(Supplied { facts: Facts { version, settings, cpus, host, ..facts }, access, holding })
}

/// What the record says of a database that is not there.
pub(crate) fn absent(source: &Source, error: &DatabaseError) -> Facts {
    Facts { not_run: Some(not_run(error)), ..facts(source) }
}

fn facts(source: &Source) -> Facts {
    let place = source.place();
    Facts {
        kind: source.kind(),
        origin: source.origin(),
        version: None,
        settings: Vec::new(),
        cpus: place.map(|place| place.cpus.to_string()),
        host: None,
        beside_generator: place.is_some_and(|place| place.beside_generator),
        not_run: None,
    }
}

/// Why what needs a database is not run.
pub(crate) fn not_run(error: &DatabaseError) -> NotRun {
    if let DatabaseError::NotReady(why) = error {
        return NotRun { reason: format!("there is no database: {}", why.reason), ..NotRun::clone(why) };
    }
    let remedy = match error {
        DatabaseError::Missing => {
            "apt-get install postgresql, or name a server of your own with --database".to_owned()
        }
        DatabaseError::Unreachable { .. } | DatabaseError::Silent { .. } => {
            "start it, or mend the URL of --database or ASSAY_DATABASE_URL".to_owned()
        }
        DatabaseError::NoRight { role } => {
            format!("ALTER ROLE \"{role}\" CREATEDB, name another role in --database, or leave it out")
        }
        DatabaseError::LedElsewhere { .. } => "name the server itself in --database".to_owned(),
        _ => "mend that, or name a server of your own with --database".to_owned(),
    };
    let log_tail = match error {
        DatabaseError::Failed { log, .. } => log.clone(),
        _ => Vec::new(),
    };
    let reason = format!("there is no database: {error}");
    NotRun { stage: Stage::Needs, reason, remedy: Some(remedy), log_tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Secrets;
    use crate::tools::Tools;

    #[test]
    fn the_record_of_a_users_own_database_has_no_password() {
        let source = Source::Beside("postgres://user:secret@127.0.0.1:1/none".parse().expect("URL"));
        let stop = crate::stop::Stop::default();
        let order = Order {
            tools: Tools {
                assay: "/none".into(),
                files: "/none".into(),
                preload: None,
                secrets: Secrets::default(),
            },
            side: None,
            cpus: None,
            log: "/none".into(),
            seed: 1,
            run: "test",
            guests: false,
            stop: &stop,
        };
        let error = supply(&source, &order, &Host::here(&order.tools)).err().expect("nobody listens");
        let facts = absent(&source, &error);
        let text = serde_json::to_string(&facts).expect("JSON");
        assert!(!text.contains("secret") && facts.origin == DatabaseOrigin::Given, "{text}");
        assert!(
            facts
                .not_run
                .is_some_and(|why| why.reason.contains("postgres://127.0.0.1:1/none cannot be reached"))
        );
    }

    #[test]
    fn guests_who_know_their_database_by_heart_get_none_on_a_server_of_the_users() {
        let folder = tempfile::tempdir().expect("folder");
        let config = r#"{"framework": "guest", "tests": [{"default": {"port": 8080, "db_url": "/db"}}]}"#;
        std::fs::write(folder.path().join("benchmark_config.json"), config).expect("file");
        let (guests, _) = crate::techempower::subjects(folder.path()).expect("subjects");
        let url: GivenUrl = "postgres://user:secret@127.0.0.1:1/none".parse().expect("URL");
        assert_eq!(Source::beside(url.clone(), []).expect("nobody"), Source::Beside(url.clone()));
        let refused = Source::beside(url, &guests).expect_err("a guest");
        assert_eq!(refused.exit(), crate::Exit::Usage);
        let told = refused.to_string();
        assert!(told.contains("guest asks for the database that it knows by heart"), "{told}");
        assert!(!told.contains("secret"), "{told}");
    }

    #[test]
    fn a_missing_postgresql_comes_with_the_command_that_installs_it() {
        let why = not_run(&DatabaseError::Missing);
        assert!(why.remedy.is_some_and(|remedy| remedy.contains("apt-get install postgresql")));
    }
}
