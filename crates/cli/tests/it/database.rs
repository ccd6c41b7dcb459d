//! Workloads that need a database: with a private PostgreSQL, and without any.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use assay_lab::Stop;
use assay_lab::contender::Tools;
use assay_lab::database::{Database, GivenUrl, Order, marked};
use assay_lab::secrets::Secrets;
use assay_model::record::{DatabaseOrigin, Record};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Lab, eventually, has, listing, not_run, stderr, stdout};
use assay_skip::skip;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A lab with the workloads `db` and `queries` of the catalogue.
fn lab() -> Lab {
    let lab = Lab::new();
    for name in ["db", "queries"] {
        let text = std::fs::read_to_string(format!("{REPOSITORY}/workloads/{name}.toml")).expect("workload");
        lab.write(&format!("workloads/{name}.toml"), &text);
    }
    let items = std::fs::read_to_string(format!("{REPOSITORY}/workloads/files/items.json")).expect("items");
    lab.write("workloads/files/items.json", &items);
    lab
}

fn cells<'r>(
    record: &'r Record,
    workload: &'r str,
) -> impl Iterator<Item = &'r assay_model::record::Measurement> {
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    runs.flat_map(|run| &run.cells).filter(move |window| window.cell.workload == workload)
}

#[test]
fn a_private_database_is_started_observed_and_removed() {
    if std::process::Command::new("go").arg("version").output().is_err() {
        return skip("tools", "the contender net-http needs Go");
    }
    let lab = lab();
    // PostgreSQL does not run as root; whoever runs it then must reach its folder.
    std::fs::set_permissions(lab.path(""), PermissionsExt::from_mode(0o711)).expect("permissions");
    symlink(Path::new(REPOSITORY).join("contenders/go"), lab.path("contenders/go")).expect("link");
    let quick = ["net-http", "-w", "hello,db,queries", "--rounds", "1"];
    // What applications find there is no word to assay.
    let of_the_shell = "postgres://user:secret@127.0.0.1:1/precious";
    let assert = lab.run(&quick).env("DATABASE_URL", of_the_shell).assert();
    let told = format!("{}{}", stdout(&assert), stderr(&assert));
    assert!(told.contains("DATABASE_URL is set, and not used") && told.contains("--database URL"), "{told}");
    assert!(!told.contains("secret"), "{told}");

    let record = lab.record();
    let database = record.database.as_ref().expect("a database");
    assert_eq!((database.origin, &database.not_run), (DatabaseOrigin::Private, &None), "{told}");
    assert!(database.version.is_some() && database.cpus.is_some(), "{database:?}");
    let text = serde_json::to_string(&record).expect("JSON");
    assert!(!text.contains("postgres://"), "the password is nobody's business");
    for (workload, needs) in [("hello", false), ("db", true), ("queries-1", true), ("queries-20", true)] {
        let mut windows = cells(&record, workload).peekable();
        assert!(windows.peek().is_some(), "{workload} was not measured:\n{told}");
        for window in windows {
            assert!(window.load.books.ok > 0 && window.load.books.failed() == 0, "{:?}", window.load.samples);
            assert_eq!(window.database.as_ref().is_some_and(|d| d.usage.cpu_ns().0 > 0), needs, "{workload}");
        }
    }
    assert!(lab.run_folder().join("logs/database-server.log").is_file());
}

#[test]
fn without_a_database_the_rest_is_measured() {
    let lab = lab();
    let serve = |name: &str, workloads: &str| {
        let text = format!(
            "name = \"{name}\"\ntitle = \"{name}\"\nlanguage = \"test\"\nkind = \"server\"\nworkloads = {workloads}\n\
             [run]\ncommand = [\"${{ASSAY}}\", \"serve\", \"--port\", \"${{PORT}}\"]\n"
        );
        lab.write(&format!("contenders/test/{name}/contender.toml"), &text);
    };
    serve("both", r#"["hello", "queries"]"#);
    serve("only", r#"["db"]"#);
    let nobody = "postgres://user:secret@127.0.0.1:1/none";
    let arguments = ["both", "only", "-w", "hello,db,queries-5", "--database", nobody];
    let assert = lab.run(&arguments).env("ASSAY_LOG", "info").assert();
    let told = format!("{}{}", stdout(&assert), stderr(&assert));
    assert!(told.contains("INFO database: there is no database: ") && !told.contains("secret"), "{told}");

    let record = lab.record();
    let database = record.database.as_ref().expect("asked for");
    assert_eq!((database.origin, database.not_run.is_some()), (DatabaseOrigin::Given, true));
    assert!(cells(&record, "hello").count() > 0);
    assert_eq!(cells(&record, "db").chain(cells(&record, "queries-5")).count(), 0);
    assert!(not_run(&record, "only").reason.contains("there is no database"));
    assert!(!serde_json::to_string(&record).expect("JSON").contains("secret"));
}

/// A PostgreSQL of the user's, in a folder that is not the lab's.
fn theirs(folder: &Path, stop: &Stop) -> (Database, GivenUrl) {
    let tools = Tools {
        assay: env!("CARGO_BIN_EXE_assay").into(),
        files: std::env::temp_dir(),
        preload: None,
        secrets: Secrets::default(),
    };
    let log = folder.join("log");
    let order = Order { tools, side: None, cpus: None, log, seed: 1, run: "theirs", guests: false, stop };
    let database = Database::start(&order).expect("PostgreSQL (apt-get install postgresql)");
    let url = database.url().parse().expect("URL");
    (database, url)
}

#[test]
fn a_database_on_a_server_of_the_users_goes_with_the_run_or_with_clean() {
    let (folder, stop) = (tempfile::tempdir().expect("folder"), Stop::default());
    let (database, url) = theirs(folder.path(), &stop);
    let lab = lab();
    // Never ready, so that the run is ended while the database is there.
    let slow = "name = \"slow\"\ntitle = \"slow\"\nlanguage = \"test\"\nkind = \"server\"\nworkloads = [\"db\"]\n\
                [run]\ncommand = [\"sleep\", \"1000\"]\nready_timeout_s = 1000\n";
    lab.write("contenders/test/slow/contender.toml", slow);
    for signals in [&[Signal::INT, Signal::INT][..], &[Signal::KILL]] {
        let mut command = lab.command(&["run", "slow", "-w", "db", "--no-aa", "--no-check"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = command.env("ASSAY_DATABASE_URL", database.url()).spawn().expect("started");
        eventually("a database is there, and used", || {
            marked(&url).expect("asked").iter().any(|marked| marked.is_used)
        });
        for signal in signals {
            kill_process(Pid::from_child(&run), *signal).expect("signalled");
        }
        run.wait().expect("ended");
        if !signals.contains(&Signal::KILL) {
            assert_eq!(marked(&url).expect("asked"), [], "Ctrl-C leaves nothing");
        }
    }
    eventually("the killed run's connection is closed", || {
        marked(&url).expect("asked").iter().all(|marked| !marked.is_used)
    });
    let left = marked(&url).expect("asked");
    assert_eq!(left.len(), 1, "{left:?}");
    let assert = lab.assay(&["clean", "--database", database.url()]).assert().code(0);
    assert!(stdout(&assert).contains(&format!("removed the database {}", left[0].name)));
    assert_eq!(marked(&url).expect("asked"), []);
    // What else the killed run left is younger than a minute; it is removed by hand here.
    eventually("its processes have ended", || lab.processes().is_empty());
    for entry in std::fs::read_dir(lab.path("tmp")).expect("tmp").flatten() {
        std::fs::remove_dir_all(entry.path()).expect("removed");
    }
}

#[test]
fn where_the_databases_host_is_lost_the_rest_is_measured_and_the_host_is_named() {
    let lab = lab();
    let both = "name = \"both\"\ntitle = \"both\"\nlanguage = \"test\"\nkind = \"server\"\nworkloads = [\"hello\", \"db\"]\n\
                [run]\ncommand = [\"${ASSAY}\", \"serve\", \"--port\", \"${PORT}\"]\n";
    lab.write("contenders/test/both/contender.toml", both);
    let host = "[[host]]\nname = \"data\"\ntransport = \"command\"\ncommand = [\"false\"]\nroles = [\"database\"]\n\
                address = \"127.0.0.1\"\n";
    lab.write("lab.toml", host);
    lab.run(&["both", "-w", "hello,db", "--lab", "lab.toml", "--rounds", "1"]).assert().code(0);
    let record = lab.record();
    let reason = record.database.as_ref().and_then(|of| of.not_run.as_ref()).expect("none");
    assert!(reason.reason.starts_with("there is no database: data: no agent answers"), "{reason:?}");
    assert!(cells(&record, "hello").count() > 0 && cells(&record, "db").count() == 0);
}

#[test]
fn a_wrong_url_is_refused_without_its_password() {
    let lab = lab();
    lab.good("good");
    for bad in
        ["host=h password=secret", "mysql://u:secret@h/a", "postgres://u:secret@h", "postgres://h/a?dbname=b"]
    {
        let assert = lab.assay(&["run", "good", "--database", bad]).assert().code(2);
        let told = stderr(&assert);
        assert!(told.contains("--database or ASSAY_DATABASE_URL") && !told.contains("secret"), "{told}");
    }
    let help = lab.assay(&["run", "--help"]).env("ASSAY_DATABASE_URL", "postgres://u:secret@h/a").assert();
    assert!(stdout(&help).contains("ASSAY_DATABASE_URL") && !stdout(&help).contains("secret"));
}

/// The contender net-http as a user would have it running, with a database of the user's.
fn running(folder: &Path, database: &str) -> Option<(std::process::Child, String)> {
    let server = folder.join("server");
    let mut build = Command::new("go");
    // As in a lab: Go compiles its standard library once for all.
    build.env("CGO_ENABLED", "0").args(["build", "-buildvcs=false", "-o"]).arg(&server).arg(".");
    let source = Path::new(REPOSITORY).join("contenders/go/net-http");
    let built = build.current_dir(source).output().ok()?;
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("address");
    let mut command = Command::new(server);
    command.env("ADDRESS", "127.0.0.1").env("PORT", free.port().to_string()).env("WORKERS", "1");
    command.env("FILES", Path::new(REPOSITORY).join("workloads/files")).env("DATABASE_URL", database);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    eventually("it listens", || TcpStream::connect(free).is_ok());
    Some((child, format!("http://{free}/")))
}

#[test]
fn a_server_that_runs_already_is_asked_beside_its_own_database() {
    let (folder, stop) = (tempfile::tempdir().expect("folder"), Stop::default());
    let (database, url) = theirs(folder.path(), &stop);
    let Some((mut server, at)) = running(folder.path(), database.url()) else {
        return skip("tools", "the contender net-http needs Go");
    };
    let rules = ["check", &at, "-w", "db", "--only", "db-row,db-statements"];
    let lab = lab();
    let unknown = stdout(&lab.assay(&rules).assert());
    let known = stdout(&lab.assay(&rules).env("ASSAY_DATABASE_URL", database.url()).assert());
    server.kill().expect("killed");
    server.wait().expect("ended");
    // Without its database nobody can tell what was asked of it.
    let not_asked = "its database is not known";
    assert!(unknown.contains(not_asked) && !known.contains(not_asked), "{unknown}\n{known}");
    assert!(known.contains("2/2 rules kept"), "{known}");
    assert_eq!(marked(&url).expect("asked"), []);
}

/// A server that an agent has started finds the database that the user names, with its tables in it; one of assay's own it cannot have.
#[test]
fn a_server_of_a_lab_has_the_database_that_the_user_names() {
    if !has("psql") {
        return;
    }
    let (folder, stop) = (tempfile::tempdir().expect("folder"), Stop::default());
    let (database, url) = theirs(folder.path(), &stop);
    let lab = Lab::new();
    let asks = "name = \"hello\"\nabout = \"\"\ndatabase = \"postgresql\"\n[[request]]\npath = \"/\"\n\
                expect = { status = 200, body = \"hello\" }\n";
    lab.write("workloads/hello.toml", asks);
    let counts = "psql \"$DATABASE_URL\" -Atc \"SELECT count(*) FROM world\"";
    let serves = "exec \"$ASSAY\" serve --address \"$ADDRESS\" --port \"$PORT\" --cpus \"$CPUS\"";
    lab.contender("one", "server", &format!("[run]\ncommand = [\"sh\", \"-c\", '{counts} && {serves}']"));
    let host = |rest: &str| {
        let generator = "[[host]]\nname = \"gen\"\ntransport = \"command\"\ncommand = [\"env\"]\nroles = [\"generator\"]\n";
        lab.write("lab.toml", &format!("{generator}[[host]]\nname = \"box1\"\nroles = [\"server\"]\naddress = \"127.0.0.1\"\n{rest}\n"));
    };
    host("transport = \"local\"");
    let arguments = ["one", "--lab", "lab.toml", "--rounds", "1"];
    let given = ["--database", database.url()];
    lab.run(&[&arguments[..], &given].concat()).assert().code(0);
    let record = lab.record();
    assert_eq!(record.database.as_ref().map(|of| of.origin), Some(DatabaseOrigin::Given));
    assert!(
        cells(&record, "hello").all(|window| window.load.books.ok > 0) && cells(&record, "hello").count() > 0
    );
    let logs = lab.run_folder().join("logs");
    let log = listing(&logs).into_iter().find(|name| name.contains("one")).expect("its log");
    let text = std::fs::read_to_string(logs.join(log)).expect("its log");
    assert!(text.starts_with("10000"), "{text}");
    assert_eq!(marked(&url).expect("asked"), []);
    host("transport = \"command\"\ncommand = [\"env\"]");
    let refused = lab.run(&[&arguments[..], &given].concat()).assert().code(2);
    assert!(
        stderr(&refused).contains("name an address that the servers' host reaches, too"),
        "{}",
        stderr(&refused)
    );
}
