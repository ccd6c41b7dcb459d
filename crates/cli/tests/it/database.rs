//! Workloads that need a database: with a private PostgreSQL, and without any.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use assay_model::record::{DatabaseOrigin, Record};

use crate::support::{Lab, not_run, skip, stderr, stdout};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A lab with the workloads `db` and `queries` of the catalogue.
fn lab() -> Lab {
    let lab = Lab::new();
    for name in ["db", "queries"] {
        let text = std::fs::read_to_string(format!("{REPOSITORY}/workloads/{name}.toml")).expect("workload");
        lab.write(&format!("workloads/{name}.toml"), &text);
    }
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
        return skip("the contender net-http needs Go");
    }
    let lab = lab();
    // PostgreSQL does not run as root; whoever runs it then must reach its folder.
    std::fs::set_permissions(lab.path(""), PermissionsExt::from_mode(0o711)).expect("permissions");
    symlink(Path::new(REPOSITORY).join("contenders/go"), lab.path("contenders/go")).expect("link");
    let quick = ["net-http", "-w", "hello,db,queries", "--rounds", "1"];
    let assert = lab.run(&quick).env_remove("DATABASE_URL").assert();
    let told = format!("{}{}", stdout(&assert), stderr(&assert));

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
    let assert = lab.run(&["both", "only", "-w", "hello,db,queries-5"]).env("DATABASE_URL", nobody).assert();
    let told = format!("{}{}", stdout(&assert), stderr(&assert));
    assert!(told.contains("there is no database") && !told.contains("secret"), "{told}");

    let record = lab.record();
    let database = record.database.as_ref().expect("asked for");
    assert_eq!((database.origin, database.not_run.is_some()), (DatabaseOrigin::Given, true));
    assert!(cells(&record, "hello").count() > 0);
    assert_eq!(cells(&record, "db").chain(cells(&record, "queries-5")).count(), 0);
    assert!(not_run(&record, "only").reason.contains("there is no database"));
    assert!(!serde_json::to_string(&record).expect("JSON").contains("secret"));
}
