//! The database of a run or a check: where it comes from, what the record says of it, how servers reach it.

use std::sync::{Arc, Mutex};

use assay_host::isolation::DatabasePlace;
use assay_model::record::{Database as Facts, DatabaseOrigin, NotRun, Stage};

use super::cluster::SETTINGS;
use super::{Database, DatabaseError, Order};

/// Where a database comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The user's own, by its connection URL.
    Given(String),
    /// A private cluster on these CPUs.
    Private(DatabasePlace),
}

/// A database that is there.
pub(crate) struct Supplied {
    /// What the record says.
    pub facts: Facts,
    /// How servers reach it, and how it is observed.
    pub access: Access,
    /// The database, for whoever counts what it is asked. Dropping the last of these stops it.
    pub database: Arc<Mutex<Database>>,
}

/// How servers reach a database, and how it is observed.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// Its connection URL, password included: for servers only.
    pub url: String,
    /// Its first process; none where it is not ours.
    pub pid: Option<u32>,
    /// Whether the generator has the same CPUs.
    pub beside_generator: bool,
}

/// Starts the database, or reaches the user's own.
pub(crate) fn supply(source: &Source, order: &Order<'_>) -> Result<Supplied, DatabaseError> {
    let (mut database, beside_generator) = match source {
        Source::Given(url) => (Database::given(url, order.seed)?, false),
        Source::Private(place) => {
            let (assay, side, log) = (order.assay.clone(), order.side.clone(), order.log.clone());
            let order = Order { assay, side, cpus: Some(&place.cpus), log, ..*order };
            (Database::start(&order)?, place.beside_generator)
        }
    };
    let facts = Facts { version: Some(database.version()?), ..facts(source) };
    let access = Access { url: database.url().to_owned(), pid: database.pid(), beside_generator };
    Ok(Supplied { facts, access, database: Arc::new(Mutex::new(database)) })
}

/// What the record says of a database that is not there.
pub(crate) fn absent(source: &Source, error: &DatabaseError) -> Facts {
    Facts { not_run: Some(not_run(error)), ..facts(source) }
}

fn facts(source: &Source) -> Facts {
    let (origin, place) = match source {
        Source::Given(_) => (DatabaseOrigin::Given, None),
        Source::Private(place) => (DatabaseOrigin::Private, Some(place)),
    };
    let settings = place
        .map_or_else(Vec::new, |_| SETTINGS.iter().map(|(name, value)| format!("{name}={value}")).collect());
    Facts {
        origin,
        version: None,
        settings,
        cpus: place.map(|place| place.cpus.to_string()),
        beside_generator: place.is_some_and(|place| place.beside_generator),
        not_run: None,
    }
}

/// Why what needs a database is not run.
pub(crate) fn not_run(error: &DatabaseError) -> NotRun {
    let remedy = match error {
        DatabaseError::Missing => {
            "apt-get install postgresql, or name a database of your own in DATABASE_URL"
        }
        DatabaseError::Ask { .. } => "mend the database, or the URL in DATABASE_URL",
        _ => "mend that, or name a database of your own in DATABASE_URL",
    };
    let log_tail = match error {
        DatabaseError::Failed { log, .. } => log.clone(),
        _ => Vec::new(),
    };
    let reason = format!("there is no database: {error}");
    NotRun { stage: Stage::Needs, reason, remedy: Some(remedy.to_owned()), log_tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_of_a_users_own_database_has_no_password() {
        let source = Source::Given("postgres://user:secret@127.0.0.1:1/none".to_owned());
        let stop = crate::stop::Stop::default();
        let order = Order {
            assay: "/none".into(),
            side: None,
            cpus: None,
            log: "/none".into(),
            seed: 1,
            stop: &stop,
        };
        let error = supply(&source, &order).err().expect("nobody listens");
        let facts = absent(&source, &error);
        let text = serde_json::to_string(&facts).expect("JSON");
        assert!(!text.contains("secret") && facts.origin == DatabaseOrigin::Given, "{text}");
        assert!(facts.not_run.is_some_and(|why| why.reason.contains("connecting to DATABASE_URL")));
    }

    #[test]
    fn a_missing_postgresql_comes_with_the_command_that_installs_it() {
        let why = not_run(&DatabaseError::Missing);
        assert!(why.remedy.is_some_and(|remedy| remedy.contains("apt-get install postgresql")));
    }
}
