//! A real PostgreSQL: made, filled, asked, counted, removed.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests, which say what they skip"
)]

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use assay_lab::Stop;
use assay_lab::contender::Tools;
use assay_lab::database::{Counts, Database, FORTUNES, Order, Programs, ROWS};
use assay_link::{Cable, Link, Spec};
use postgres::{Client, NoTls};

/// Our own program, and a folder of files that no test looks into.
fn tools() -> Tools {
    Tools { assay: common::testkit(), files: std::env::temp_dir(), preload: None }
}

/// A database on any CPU, reached over loopback, by nobody's guests.
fn order<'a>(folder: &tempfile::TempDir, stop: &'a Stop) -> Order<'a> {
    Order {
        tools: tools(),
        side: None,
        cpus: None,
        log: folder.path().join("log"),
        seed: 7,
        guests: false,
        stop,
    }
}

#[test]
fn a_private_database_is_filled_counts_what_is_asked_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    let order = order(&folder, &stop);
    let mut database = Database::start(&order).expect("PostgreSQL (apt-get install postgresql)");

    let numbers = database.numbers().unwrap();
    assert_eq!(numbers.len(), ROWS as usize);
    assert!(numbers.iter().all(|number| (1..=ROWS).contains(number)));

    let before = database.counts().unwrap();
    let mut client = Client::connect(database.url(), NoTls).unwrap();
    for id in 1..=20_i32 {
        client.query_one("SELECT id, randomnumber FROM world WHERE id = $1", &[&id]).unwrap();
    }
    assert_eq!(client.query("SELECT * FROM fortune", &[]).unwrap().len(), FORTUNES.len());
    client.execute("UPDATE world SET randomnumber = 1 WHERE id <= 5", &[]).unwrap();
    let asked = database.counts().unwrap().since(before);
    let expected = Counts { selects: 21, rows_read: 20 + 12, updates: 1, rows_changed: 5 };
    assert_eq!(asked, expected, "our own statements are not counted");
    assert_eq!(database.numbers().unwrap()[..5], [1; 5]);

    let (url, processes) = (database.url().to_owned(), database.processes());
    assert!(!processes.is_empty());
    drop(client);
    drop(database);
    assert!(Client::connect(&url, NoTls).is_err());
    let alive = |pid: &u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert!(!processes.iter().any(alive), "no process is left");
}

#[test]
fn a_database_of_the_users_own_is_filled_once() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    let order = order(&folder, &stop);
    let private = Database::start(&order).expect("PostgreSQL (apt-get install postgresql)");
    let own = private.url().replace("hello_world", "postgres");

    let first = Database::given(&own, 1).unwrap().numbers().unwrap();
    let second = Database::given(&own, 2).unwrap().numbers().unwrap();
    assert_eq!(first, second, "a filled table is left as it is");
    assert!(Database::given("postgres://nobody@127.0.0.1:1/none", 1).is_err());
}

#[test]
fn a_cluster_on_a_side_of_a_link_is_reached_there() {
    if Programs::find().is_none() {
        return;
    }
    let link = match Link::open(&common::testkit(), Spec::Veth(Cable::default())) {
        Ok(link) => link,
        Err(error) => return common::skip(error),
    };
    let folder = tempfile::tempdir().expect("folder");
    let (stop, side) = (Stop::new(), link.server_side());
    let order = Order { side, ..order(&folder, &stop) };
    let database = Database::start(&order).expect("database");
    let port: u16 =
        database.url().rsplit([':', '/']).nth(1).and_then(|port| port.parse().ok()).expect("port");
    // Nothing of it listens here, and somebody in the namespace has the port.
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    assert!(link.listen(port).is_ok(), "the server's address is not the loopback that it listens on");
}

#[test]
fn guests_find_the_database_where_they_know_it() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    let order = Order { guests: true, ..order(&folder, &stop) };
    let database = Database::start(&order).expect("PostgreSQL (apt-get install postgresql)");
    let host = database.url().rsplit('@').next().and_then(|rest| rest.split(':').next()).unwrap().to_owned();
    assert!(host.starts_with("127.") && host != "127.0.0.1" && database.url().contains(":5432/hello_world"));
    let url = format!("postgres://benchmarkdbuser:benchmarkdbpass@{host}:5432/hello_world");
    let mut guest = postgres::Client::connect(&url, postgres::NoTls).expect("let in");
    let row = guest
        .query_one("UPDATE world SET randomnumber = 5 WHERE id = 3 RETURNING randomnumber", &[])
        .unwrap();
    assert_eq!(row.get::<_, i32>(0), 5);
    assert_eq!(guest.query("SELECT id FROM fortune", &[]).unwrap().len(), 12);
    assert!(guest.batch_execute("DROP TABLE world").is_err(), "no more than the tests ask for");
    assert!(guest.batch_execute("COPY (SELECT 1) TO PROGRAM 'true'").is_err(), "no commands");
}
