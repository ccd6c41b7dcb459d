//! A database of our own on a server that the user names: made beside theirs, marked, and removed at the end.
//!
//! Nothing is written into the database that the URL names; it is only where we stand while we make ours. It is a whole
//! database rather than a schema because every driver goes where the URL's path says, while a search path travels in the
//! parameter `options`, which drivers and hand-written parsers drop: then a server would update the user's own tables of the
//! names `world` and `fortune`. And statements are counted by database, so that theirs and ours are never mixed up.
//!
//! Whose run is dead is told by the server: a living run keeps a connection to its database, and PostgreSQL removes none that
//! somebody is connected to (DROP DATABASE without FORCE).

use assay_check::Counts;
use postgres::Client;
use postgres::error::SqlState;

use super::DatabaseError;
use super::count::Statements;
use super::reach::{self, PATIENCE, Unreached};
use super::url::GivenUrl;
use crate::stop::Stop;

/// Begins the name of each database that we make, behind which there is a random number.
const PREFIX: &str = "assay_";
/// Begins the comment on each; the run's name follows.
const MARK: &str = "made by assay, which removes it, for the run ";
/// What has the form of such a name and bears the mark.
const MARKED: &str = "SELECT datname::text, shobj_description(oid, 'pg_database'),
        EXISTS (SELECT FROM pg_stat_activity WHERE datid = pg_database.oid)
    FROM pg_database
    WHERE datname ~ '^assay_[0-9a-f]{16}$' AND starts_with(shobj_description(oid, 'pg_database'), $1)
    ORDER BY datname";

/// What has the form of such a name and does not bear the mark.
const UNMARKED: &str = "SELECT datname::text FROM pg_database
    WHERE datname ~ '^assay_[0-9a-f]{16}$' AND starts_with(shobj_description(oid, 'pg_database'), $1) IS NOT TRUE
    ORDER BY datname";

/// Keeps a session that is silent for long, which servers from version 14 on may be set to end.
const STAY: &str = "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'";

/// A database of ours on a server of the user's.
pub(super) struct OwnDatabase {
    /// The user's, from which ours is made and removed.
    theirs: Client,
    /// The statements in ours, where the user's database sees them counted.
    statements: Option<Statements>,
    given: GivenUrl,
    name: String,
    url: String,
    is_there: bool,
}

impl OwnDatabase {
    /// Makes a database that bears the name of `run`, and connects to it.
    pub(super) fn make(given: &GivenUrl, run: &str, stop: &Stop) -> Result<(Self, Client), DatabaseError> {
        let mut theirs = connect(given, stop)?;
        let name = format!("{PREFIX}{:016x}", rand::random::<u64>());
        // template0 has nothing of the user's in it, which template1 may.
        let make =
            format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'");
        theirs.batch_execute(&make).map_err(|source| refused(&mut theirs, source))?;
        let (given, url) = (given.clone(), given.at(&name));
        let statements = Statements::of(&mut theirs, &name).ok();
        let own = Self { theirs, statements, given, name, url, is_there: true };
        let client = own.enter(run, stop)?;
        Ok((own, client))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What was counted in it, as the user's database sees it; `None` where that has no such view.
    pub(super) fn counts(&mut self) -> Option<Result<Counts, postgres::Error>> {
        Some(self.statements.as_ref()?.read(&mut self.theirs))
    }

    /// The URL under which contenders find it.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Connects as a contender will, sees that this leads to ours, and marks it.
    fn enter(&self, run: &str, stop: &Stop) -> Result<Client, DatabaseError> {
        let ask = |what| move |source| DatabaseError::Ask { what, source };
        let connected = reach::connect(&self.url, PATIENCE, stop);
        let mut client = connected.map_err(|why| match why {
            Unreached::Refused(source) => DatabaseError::Ask { what: "connecting to a new database", source },
            other => unreached(&self.given, other),
        })?;
        let found = client.query_one("SELECT current_database()::text", &[]);
        let found: String = found.map_err(ask("asking where that led"))?.get(0);
        if found != self.name {
            return Err(DatabaseError::LedElsewhere { wanted: self.name.clone(), found });
        }
        let mark = format!("COMMENT ON DATABASE {} IS '{MARK}{}'", self.name, run.replace('\'', ""));
        // Before it is marked: whoever cleans up takes a marked database for a dead run's when nobody is connected.
        client.batch_execute(STAY).map_err(ask("asking to stay connected"))?;
        client.batch_execute(&mark).map_err(ask("marking the new database"))?;
        Ok(client)
    }

    /// Removes it. Whoever is connected must have ended.
    pub(super) fn remove(&mut self) -> Result<(), DatabaseError> {
        if !std::mem::take(&mut self.is_there) {
            return Ok(());
        }
        let remove = format!("DROP DATABASE {}", self.name);
        let mut removed = self.theirs.batch_execute(&remove);
        if removed.is_err() && self.theirs.is_closed() {
            // Also where somebody has asked to stop: it is about to be left.
            removed = connect(&self.given, &Stop::new())?.batch_execute(&remove);
        }
        removed.map_err(|source| DatabaseError::Left { name: self.name.clone(), source })
    }
}

impl Drop for OwnDatabase {
    fn drop(&mut self) {
        // Whoever wants to know what became of it has called `remove`.
        let _ = self.remove();
    }
}

pub(super) fn connect(given: &GivenUrl, stop: &Stop) -> Result<Client, DatabaseError> {
    reach::connect(&given.whole(), PATIENCE, stop).map_err(|why| unreached(given, why))
}

fn unreached(given: &GivenUrl, why: Unreached) -> DatabaseError {
    let url = given.clone();
    match why {
        Unreached::Refused(source) => DatabaseError::Unreachable { url, source },
        Unreached::Silent(patience) => DatabaseError::Silent { url, patience },
        Unreached::Stopped => DatabaseError::Stopped,
    }
}

/// Why the server did not let us make a database.
fn refused(theirs: &mut Client, source: postgres::Error) -> DatabaseError {
    if source.code() != Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
        return DatabaseError::Ask { what: "making a database beside it", source };
    }
    let role = theirs.query_one("SELECT current_user::text", &[]).map(|row| row.get(0));
    DatabaseError::NoRight { role: role.unwrap_or_else(|_| "USER".to_owned()) }
}

/// A database that bears our mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Name of the database.
    pub name: String,
    /// The run for which it was made.
    pub run: String,
    /// Whether somebody is connected to it, as a living run is.
    pub is_used: bool,
}

/// The databases on a server that bear our mark, of living runs and of dead ones.
///
/// # Errors
/// When it cannot be reached or asked.
pub fn marked(given: &GivenUrl) -> Result<Vec<Marked>, DatabaseError> {
    let rows = connect(given, &Stop::new())?.query(MARKED, &[&MARK]);
    let rows = rows.map_err(|source| DatabaseError::Ask { what: "looking for databases of ours", source })?;
    let of = |row: &postgres::Row| Marked {
        name: row.get(0),
        run: row.get::<_, &str>(1).replacen(MARK, "", 1),
        is_used: row.get(2),
    };
    Ok(rows.iter().map(of).collect())
}

/// The databases on a server that have a name such as we give, but not our mark: somebody else's, or one of a run that was killed
/// before it had marked it.
///
/// # Errors
/// When it cannot be reached or asked.
pub fn unmarked(given: &GivenUrl) -> Result<Vec<String>, DatabaseError> {
    let rows = connect(given, &Stop::new())?.query(UNMARKED, &[&MARK]);
    let rows = rows.map_err(|source| DatabaseError::Ask { what: "looking for databases of ours", source })?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Removes a database that bears our mark, unless somebody is connected to it; whether it was still there.
///
/// # Errors
/// When the server cannot be reached, does not allow it, or somebody is connected; nothing is removed then.
pub fn remove_marked(given: &GivenUrl, name: &str) -> Result<bool, DatabaseError> {
    // The name goes into a statement, and what it says may have changed since: only what is found again is removed.
    let Some(found) = marked(given)?.into_iter().find(|found| found.name == name) else { return Ok(false) };
    let dropped = connect(given, &Stop::new())?.batch_execute(&format!("DROP DATABASE {}", found.name));
    dropped.map(|()| true).map_err(|source| DatabaseError::Left { name: found.name, source })
}
