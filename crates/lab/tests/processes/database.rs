//! A real PostgreSQL: made, filled, asked, counted, removed.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests, which say what they skip"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use assay_lab::Stop;
use assay_lab::contender::Tools;
use assay_lab::database::{
    Counts, Database, DatabaseError, FORTUNES, GivenUrl, Order, Programs, ROWS, marked, remove_marked,
    unmarked,
};
use assay_lab::secrets::Secrets;
use assay_link::{Cable, Link, Spec};
use postgres::{Client, NoTls};

/// Our own program, and a folder of files that no test looks into.
fn tools() -> Tools {
    Tools {
        assay: crate::common::testkit(),
        files: std::env::temp_dir(),
        preload: None,
        secrets: Secrets::default(),
    }
}

/// A database on any CPU, reached over loopback, by nobody's guests.
fn order<'a>(folder: &tempfile::TempDir, stop: &'a Stop) -> Order<'a> {
    Order {
        tools: tools(),
        side: None,
        cpus: None,
        log: folder.path().join("log"),
        seed: 7,
        run: "20261122-000000-test",
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

/// A server of the user's with a database that has a table and a view of our names in it, whose rows are not ours.
struct Theirs {
    server: Database,
    client: Client,
}

impl Theirs {
    fn start(order: &Order<'_>) -> Self {
        let server = Database::start(order).expect("PostgreSQL (apt-get install postgresql)");
        let own = server.url().replace("hello_world", "theirs");
        let mut client = Client::connect(server.url(), NoTls).unwrap();
        client.batch_execute("CREATE DATABASE theirs").unwrap();
        client = Client::connect(&own, NoTls).unwrap();
        let tables = "CREATE TABLE world (id integer PRIMARY KEY, capital text);
            INSERT INTO world VALUES (1, 'Thimphu'), (2, 'Bairiki');
            CREATE VIEW fortune AS SELECT id, capital AS message FROM world;
            CREATE ROLE poor LOGIN PASSWORD 'poor';
            CREATE ROLE maker LOGIN PASSWORD 'maker' CREATEDB";
        client.batch_execute(tables).unwrap();
        Self { server, client }
    }

    fn url(&self, role: Option<&str>) -> GivenUrl {
        let url = self.server.url().replace("hello_world", "theirs");
        let host = url.rsplit('@').next().unwrap();
        role.map_or_else(|| url.clone(), |role| format!("postgres://{role}:{role}@{host}")).parse().unwrap()
    }

    /// Everything that could have been changed: rows with the transaction and the place that they are of, relations with the
    /// files they are in, schemas, extensions, settings, rights, databases with their comments, and since when statements are
    /// counted.
    fn everything(&mut self) -> Vec<String> {
        let all = "SELECT concat_ws(' ', 'row', xmin, ctid, world) FROM world
            UNION ALL SELECT concat_ws(' ', 'relation', oid, relname, relkind, relfilenode) FROM pg_class
                WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v')
            UNION ALL SELECT concat_ws(' ', 'schema', nspname, nspacl) FROM pg_namespace WHERE nspname !~ '_temp_'
            UNION ALL SELECT concat_ws(' ', 'extension', extname) FROM pg_extension
            UNION ALL SELECT concat_ws(' ', 'setting', setconfig) FROM pg_db_role_setting
            UNION ALL SELECT concat_ws(' ', 'role', rolname, rolcreatedb) FROM pg_roles
            UNION ALL SELECT concat_ws(' ', 'database', datname, shobj_description(oid, 'pg_database')) FROM pg_database
            ORDER BY 1";
        self.client.query(all, &[]).unwrap().iter().map(|row| row.get(0)).collect()
    }
}

#[test]
fn a_database_beside_the_users_own_leaves_that_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    let order = order(&folder, &stop);
    let mut theirs = Theirs::start(&order);
    let before = theirs.everything();
    assert!(before.iter().any(|line| line.starts_with("row ") && line.contains("Thimphu")), "{before:?}");

    // Both a superuser and whoever may do no more than make databases; two runs at once.
    let mut one = Database::beside(&theirs.url(None), &order).unwrap();
    let mut other = Database::beside(&theirs.url(Some("maker")), &order).unwrap();
    assert_ne!(one.url(), other.url());
    for database in [&mut one, &mut other] {
        let mut contender = Client::connect(database.url(), NoTls).unwrap();
        assert_eq!(contender.query("SELECT id, randomnumber FROM world", &[]).unwrap().len(), ROWS as usize);
        contender.execute("UPDATE world SET randomnumber = 1 WHERE id <= 5", &[]).unwrap();
        assert_eq!(contender.query("SELECT id, message FROM fortune", &[]).unwrap().len(), FORTUNES.len());
        assert_eq!(database.numbers().unwrap()[..5], [1; 5]);
    }
    // The server ends every session with the user's database, as after a silence of hours.
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'theirs' AND pid <> pg_backend_pid()";
    assert_eq!(theirs.client.query(end, &[]).unwrap().len(), 2);
    one.end().unwrap();
    assert_eq!(other.numbers().unwrap().len(), ROWS as usize, "the end of a run is its own");
    drop(other);
    assert_eq!(theirs.everything(), before);
}

#[test]
fn whoever_may_make_no_database_is_told_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    let order = order(&folder, &stop);
    let mut theirs = Theirs::start(&order);
    let before = theirs.everything();
    let refused = Database::beside(&theirs.url(Some("poor")), &order).err().expect("refused");
    assert!(matches!(&refused, DatabaseError::NoRight { role } if role == "poor"), "{refused}");
    assert!(refused.to_string().contains("no database but its own"), "{refused}");
    let nobody = "postgres://poor:wrong-password@127.0.0.1:1/theirs".parse().unwrap();
    let unreachable = Database::beside(&nobody, &order).err().expect("nobody listens").to_string();
    assert!(unreachable.contains("127.0.0.1:1/theirs") && unreachable.contains("refused"), "{unreachable}");
    assert!(!unreachable.contains("wrong-password"), "{unreachable}");
    let password = theirs.url(Some("maker"));
    let wrong = format!("{password:?}").replace("://", "://maker:wrong-password@").parse().unwrap();
    let unknown = Database::beside(&wrong, &order).err().expect("not let in").to_string();
    assert!(unknown.contains("password authentication failed"), "{unknown}");
    assert!(!unknown.contains("wrong-password"), "{unknown}");
    assert_eq!(theirs.everything(), before);
}

/// A pooler that leads everybody to one database, as PgBouncer does with `* = dbname=…`: it writes that name over the one in the
/// startup message (PostgreSQL documentation, 55.7), which is as long.
fn pooler(server: SocketAddr, database: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut server = TcpStream::connect(server).unwrap();
            let mut startup = [0; 1024];
            let length = client.read(&mut startup).unwrap();
            let name = startup[..length].windows(6).position(|bytes| bytes == b"assay_");
            if let Some(at) = name {
                startup[at..at + database.len()].copy_from_slice(database.as_bytes());
            }
            server.write_all(&startup[..length]).unwrap();
            let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            std::thread::spawn(move || std::io::copy(&mut client, &mut server));
        }
    });
    port
}

#[test]
fn nothing_is_written_where_a_pooler_leads_elsewhere() {
    const PRECIOUS: &str = "precious_and_untouched";
    let folder = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    let order = order(&folder, &stop);
    let mut theirs = Theirs::start(&order);
    theirs.client.batch_execute(&format!("CREATE DATABASE {PRECIOUS}")).unwrap();
    let before = theirs.everything();
    let url = theirs.server.url().to_owned();
    let authority: SocketAddr = url.rsplit(['@', '/']).nth(1).unwrap().parse().unwrap();
    let port = pooler(authority, PRECIOUS);
    let through = url.replace(&format!(":{}/hello_world", authority.port()), &format!(":{port}/theirs"));
    let refused = Database::beside(&through.parse().unwrap(), &order).err().expect("refused");
    assert!(matches!(&refused, DatabaseError::LedElsewhere { found, .. } if found == PRECIOUS), "{refused}");
    let mut precious = Client::connect(&url.replace("hello_world", PRECIOUS), NoTls).unwrap();
    let tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    assert_eq!(precious.query_one(tables, &[]).unwrap().get::<_, i64>(0), 0);
    assert_eq!(theirs.everything(), before, "the new database is gone again");
}

#[test]
fn statements_beside_are_counted_without_the_users_own_and_theirs_are_not_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    let order = order(&folder, &stop);
    let mut theirs = Theirs::start(&order);
    let uncounted = Database::beside(&theirs.url(Some("maker")), &order).unwrap().counts().unwrap_err();
    assert!(uncounted.contains("pg_stat_statements is not there"), "{uncounted}");

    theirs
        .client
        .batch_execute("CREATE EXTENSION pg_stat_statements; GRANT pg_read_all_stats TO maker")
        .unwrap();
    let of_theirs =
        "SELECT stats_reset::text, (SELECT calls FROM pg_stat_statements WHERE query ~ '^SELECT capital')
        FROM pg_stat_statements_info";
    for role in [None, Some("maker")] {
        theirs.client.query("SELECT capital FROM world", &[]).unwrap();
        let told = theirs.client.query_one(of_theirs, &[]).unwrap();
        let told: (String, i64) = (told.get(0), told.get(1));
        let mut database = Database::beside(&theirs.url(role), &order).unwrap();
        let before = database.counts().unwrap();
        Client::connect(database.url(), NoTls)
            .unwrap()
            .query("SELECT id FROM world WHERE id < 4", &[])
            .unwrap();
        theirs.client.query("SELECT capital FROM world", &[]).unwrap();
        let counts = database.counts().unwrap().since(before);
        assert_eq!(counts, Counts { selects: 1, rows_read: 3, ..Counts::default() }, "{role:?}");
        drop(database);
        let after = theirs.client.query_one(of_theirs, &[]).unwrap();
        assert_eq!((after.get::<_, String>(0), after.get::<_, i64>(1)), (told.0, told.1 + 1));
    }
}

#[test]
fn only_marked_databases_that_nobody_uses_are_cleaned_away() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    let order = order(&folder, &stop);
    let mut theirs = Theirs::start(&order);
    let url = theirs.url(None);
    let names = ["assay_00000000000000aa", "assay_00000000000000bb", "assay_notes"];
    for name in names {
        theirs.client.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
    }
    theirs.client.batch_execute("COMMENT ON DATABASE assay_00000000000000bb IS 'made by hand'").unwrap();
    let before = theirs.everything();

    let living = Database::beside(&url, &order).unwrap();
    let of_living = living.url().rsplit('/').next().unwrap().to_owned();
    // As a killed run leaves it: with its mark, and nobody there.
    let dead = "assay_00000000000000dd";
    let mark = "made by assay, which removes it, for the run killed";
    theirs.client.batch_execute(&format!("CREATE DATABASE {dead}")).unwrap();
    theirs.client.batch_execute(&format!("COMMENT ON DATABASE {dead} IS '{mark}'")).unwrap();

    let found = marked(&url).unwrap();
    let told: Vec<(&str, &str, bool)> =
        found.iter().map(|found| (found.name.as_str(), found.run.as_str(), found.is_used)).collect();
    let mut wanted = [(dead, "killed", false), (of_living.as_str(), "20261122-000000-test", true)];
    wanted.sort_unstable();
    assert_eq!(told, wanted);
    assert_eq!(unmarked(&url).unwrap(), names[..2], "named, and left to the user");
    let refused = remove_marked(&url, &of_living).unwrap_err();
    assert!(matches!(refused, DatabaseError::Left { .. }), "{refused}");
    assert!(!remove_marked(&url, names[0]).unwrap() && !remove_marked(&url, "theirs").unwrap());
    assert!(remove_marked(&url, dead).unwrap() && !remove_marked(&url, dead).unwrap());
    living.end().unwrap();
    assert_eq!(theirs.everything(), before);
}

#[test]
fn the_database_of_a_server_that_runs_already_is_only_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    let order = order(&folder, &stop);
    let mut theirs = Theirs::start(&order);
    let before = theirs.everything();
    let mut watched = Database::watched(&theirs.url(None), &stop).unwrap();
    assert!(watched.counts().unwrap_err().contains("pg_stat_statements is not there"));
    assert!(watched.numbers().is_err(), "their table has no such column");
    watched.end().unwrap();
    assert_eq!(theirs.everything(), before);
}

#[test]
fn a_cluster_on_a_side_of_a_link_is_reached_there() {
    if Programs::find().is_none() {
        return;
    }
    let link = match Link::open(&crate::common::testkit(), Spec::Veth(Cable::default())) {
        Ok(link) => link,
        Err(error) => return assay_skip::skip("netns", error),
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
