//! What a contender really asked of the database, by the database's own count: statements and rows by the extension
//! pg_stat_statements (PostgreSQL documentation, F.32), over the tables `world` and `fortune`, without our own.

use assay_check::Counts;
use postgres::{Client, Error};

use super::in_full;

/// Begins every statement of our own that reads the tables: so it does not begin like a contender's and is not counted.
pub(super) const OWN: &str = "/* assay */";

/// Makes statements counted in a database of ours.
pub(super) const EXTENSION: &str = "CREATE EXTENSION pg_stat_statements";
/// Where the view is, whose place in a user's database is the user's choice, and whether it tells of what it is told.
const VIEW: &str = "SELECT format('%I.pg_stat_statements', nspname), current_setting('pg_stat_statements.track', true)
    FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_stat_statements'";

/// Statements as they are counted in one database.
pub(super) struct Statements {
    view: String,
    database: String,
}

impl Statements {
    /// The statements of `database`, as a connection sees them; else why it does not.
    pub(super) fn of(client: &mut Client, database: &str) -> Result<Self, String> {
        let row = client.query_opt(VIEW, &[]).map_err(|error| in_full(&error))?;
        let row = row.ok_or("the extension pg_stat_statements is not there")?;
        match row.get::<_, Option<&str>>(1) {
            None => Err("pg_stat_statements is not among shared_preload_libraries".to_owned()),
            Some("none") => Err("pg_stat_statements.track is none".to_owned()),
            Some(_) => Ok(Self { view: row.get(0), database: database.to_owned() }),
        }
    }

    /// What was counted so far. It is never set back: the counts are the user's too, and differences tell as much.
    pub(super) fn read(&self, client: &mut Client) -> Result<Counts, Error> {
        let sums = format!(
            "{OWN} SELECT coalesce(sum(calls) FILTER (WHERE reads), 0)::bigint,
                    coalesce(sum(rows) FILTER (WHERE reads), 0)::bigint,
                    coalesce(sum(calls) FILTER (WHERE NOT reads), 0)::bigint,
                    coalesce(sum(rows) FILTER (WHERE NOT reads), 0)::bigint
             FROM (SELECT calls, rows, query ~* '^\\s*select' AS reads FROM {}
                   JOIN pg_database ON pg_database.oid = dbid AND datname::text = $1
                   WHERE query ~* '^\\s*(select|update|with)' AND query ~* '\\m(world|fortune)\\M') AS theirs",
            self.view
        );
        let row = client.query_one(&sums, &[&self.database])?;
        let count = |column: usize| u64::try_from(row.get::<_, i64>(column)).unwrap_or(0);
        Ok(Counts { selects: count(0), rows_read: count(1), updates: count(2), rows_changed: count(3) })
    }
}
