//! What the tables of the TechEmpower tests hold.

use std::io::Write;

use chacha20::ChaCha8Rng;
use postgres::{Client, Error};
use rand::{RngExt, SeedableRng};

use super::count::OWN;

/// Rows of the table `world`, and the greatest number in it.
pub const ROWS: i32 = 10_000;

/// The table `fortune`: id and message. In the order of messages, and with the one that each request adds (id 0), the
/// ids are 11 4 5 2 8 0 3 7 10 6 9 1 12; 11 must be escaped, 12 must survive as UTF-8.
pub const FORTUNES: [(i32, &str); 12] = [
    (1, "fortune: the reader's own is always at another address"),
    (2, "A mean hides its tail."),
    (3, "Backups are theory; restores are practice."),
    (4, "A bad estimate is better than none, said nobody afterwards."),
    (5, "A cache is a promise that nothing has changed."),
    (6, "No measurement survives contact with a \"quick\" question."),
    (7, "Every queue is empty until it matters."),
    (8, "A retry is a second opinion from the same doctor."),
    (9, "Warm caches make cold comfort."),
    (10, "Latency is what users feel & throughput is what slides show."),
    (11, "<script>alert(\"A page that shows this box has not escaped its data.\");</script>"),
    (12, "計測なくして改善なし。"),
];

const TABLES: &str = "
    CREATE TABLE world (id integer PRIMARY KEY, randomnumber integer NOT NULL);
    CREATE TABLE fortune (id integer PRIMARY KEY, message varchar(2048) NOT NULL);";

/// Makes and fills both tables in a database where they are not; numbers are uniform in 1..=[`ROWS`] and follow from `seed`.
pub(super) fn fill(client: &mut Client, seed: u64) -> Result<(), Error> {
    client.batch_execute(TABLES)?;
    let mut rows = client.copy_in("COPY world (id, randomnumber) FROM STDIN")?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut text = Vec::new();
    for id in 1..=ROWS {
        // Writing into memory does not fail.
        let _ = writeln!(text, "{id}\t{}", rng.random_range(1..=ROWS));
    }
    // What `copy_in` could not take, `finish` reports.
    let _ = rows.write_all(&text);
    rows.finish()?;
    let insert = client.prepare("INSERT INTO fortune (id, message) VALUES ($1, $2)")?;
    for (id, message) in FORTUNES {
        client.execute(&insert, &[&id, &message])?;
    }
    client.batch_execute("VACUUM ANALYZE world")?;
    client.batch_execute("VACUUM ANALYZE fortune")
}

/// The numbers of all rows, by id.
pub(super) fn numbers(client: &mut Client) -> Result<Vec<i32>, Error> {
    let rows = client.query(&format!("{OWN} SELECT randomnumber FROM world ORDER BY id"), &[])?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

#[cfg(test)]
mod tests {
    use assay_model::html::Page;

    use super::*;

    #[test]
    fn the_fortunes_have_the_order_that_verifiers_expect() {
        let mut all: Vec<(i32, &str)> = FORTUNES.to_vec();
        all.push((0, "Additional fortune added at request time."));
        all.sort_by_key(|(_, message)| *message);
        let ids: Vec<i32> = all.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [11, 4, 5, 2, 8, 0, 3, 7, 10, 6, 9, 1, 12]);
        assert!(FORTUNES.iter().all(|(_, message)| message.len() <= 2048));
    }

    #[test]
    fn the_page_that_the_workload_expects_is_drawn_from_this_table() {
        let page = include_str!("../../../../workloads/fortunes.html");
        let page = Page::read(page).expect("a page");
        let mut rows: Vec<(i32, &str)> = FORTUNES.to_vec();
        rows.push((0, "Additional fortune added at request time."));
        rows.sort_by_key(|(_, message)| *message);
        let head = ["Fortunes", "id", "message"].map(str::to_owned);
        let cells = rows.iter().flat_map(|(id, message)| [id.to_string(), (*message).to_owned()]);
        let wanted: Vec<String> = head.into_iter().chain(cells).collect();
        assert_eq!(page.texts().collect::<Vec<_>>(), wanted);
    }
}
