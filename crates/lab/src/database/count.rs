//! What a contender really asked of the database, by the database's own count: statements and rows by the extension
//! pg_stat_statements (PostgreSQL documentation, F.32), over the tables `world` and `fortune`, without our own.

use assay_check::Counts;
use postgres::{Client, Error};

/// Begins every statement of our own that reads the tables: so it does not begin like a contender's and is not counted.
pub(super) const OWN: &str = "/* assay */";

pub(super) fn prepare(client: &mut Client) -> Result<(), Error> {
    client.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
}

pub(super) fn read(client: &mut Client) -> Result<Counts, Error> {
    let sums = format!(
        "{OWN} SELECT coalesce(sum(calls) FILTER (WHERE reads), 0)::bigint,
                coalesce(sum(rows) FILTER (WHERE reads), 0)::bigint,
                coalesce(sum(calls) FILTER (WHERE NOT reads), 0)::bigint,
                coalesce(sum(rows) FILTER (WHERE NOT reads), 0)::bigint
         FROM (SELECT calls, rows, query ~* '^\\s*select' AS reads FROM pg_stat_statements
               JOIN pg_database ON pg_database.oid = dbid AND datname = current_database()
               WHERE query ~* '^\\s*(select|update|with)' AND query ~* '\\m(world|fortune)\\M') AS theirs"
    );
    let row = client.query_one(&sums, &[])?;
    let count = |column: usize| u64::try_from(row.get::<_, i64>(column)).unwrap_or(0);
    Ok(Counts { selects: count(0), rows_read: count(1), updates: count(2), rows_changed: count(3) })
}
