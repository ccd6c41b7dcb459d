//! `assay new`: what it writes runs at once, and nothing that was there is changed.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use assay_model::record::Stage;
use assay_skip::skip;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::support::{Lab, listing, stdout};

/// The repository, whose catalogue has the workload json.
const CATALOGUE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const LANGUAGES: [&str; 8] = ["c", "go", "java", "javascript", "julia", "php", "python", "rust"];

/// A contender is made, built and measured, and answers each of its workloads rightly throughout.
fn runs_at_once(language: &str) {
    let lab = Lab::new();
    // PHP-FPM and nginx, started as root, serve as nobody.
    for folder in ["", "tmp"] {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(lab.path(folder), mode).expect("its owner's");
    }
    lab.assay(&["new", "mine", "--language", language]).assert().code(0);
    let run = lab.run(&["./mine", "-w", "hello,json", "--rounds", "1", "--catalogue", CATALOGUE]).assert();
    let record = lab.record();
    let entry = record.contenders.iter().find(|entry| entry.identity.name == "mine").expect("an entry");
    if let Some(missing) = entry.not_run.as_ref().filter(|why| why.stage == Stage::Needs) {
        skip("tools", format!("{language}: {}", missing.reason));
        return;
    }
    assert_eq!(entry.not_run, None);
    run.code(0);
    let runs: Vec<_> = record.rounds.iter().flat_map(|round| &round.runs).collect();
    let windows: Vec<_> =
        runs.iter().filter(|run| run.contender == "mine").flat_map(|run| &run.cells).collect();
    assert_eq!(windows.len(), 2, "hello and json");
    assert!(windows.iter().all(|window| window.load.books.ok > 0 && window.load.books.errors.is_empty()));
}

#[test]
fn a_new_server_in_c_runs_at_once() {
    runs_at_once("c");
}

#[test]
fn a_new_server_in_go_runs_at_once() {
    runs_at_once("go");
}

#[test]
fn a_new_server_in_javascript_runs_at_once() {
    runs_at_once("javascript");
}

#[test]
fn a_new_server_in_php_runs_at_once() {
    runs_at_once("php");
}

/// Servers with dependencies take packages from registries, and minutes: `make templates-check`.
#[test]
#[ignore = "takes packages from registries"]
fn new_servers_with_dependencies_run_at_once() {
    for language in ["java", "python", "rust"] {
        runs_at_once(language);
    }
}

#[test]
fn there_is_a_server_for_every_language_with_the_command_to_run_it() {
    let lab = Lab::new();
    for language in LANGUAGES {
        let name = format!("my-{language}");
        let told =
            stdout(&lab.assay(&["new", &name, "-l", language, "--title", "My \"own\""]).assert().code(0));
        assert!(told.starts_with(&format!("wrote ./{name}: ")), "{told}");
        assert!(told.ends_with(&format!("\n  assay run --quick ./{name}\n")), "{told}");
        let command = told.lines().last().unwrap_or_default().trim();
        let words: Vec<&str> =
            command.split(' ').skip(1).chain(["--dry-run", "--catalogue", CATALOGUE]).collect();
        lab.assay(&words).assert().code(0).stdout(contains(&name));
        assert!(listing(&lab.path(&name)).contains(&"README.md".to_owned()));
    }
}

/// Templates use what the catalogue uses, so that what keeps the one up to date keeps the other.
#[test]
fn what_a_template_pins_is_pinned_in_the_catalogue() {
    let text = |path: &str| std::fs::read_to_string(Path::new(CATALOGUE).join(path)).expect(path);
    let lines = |path: &str| text(path).lines().map(str::to_owned).collect::<Vec<_>>();
    for (own, theirs) in [
        ("templates/python/requirements.txt", "contenders/python/starlette/requirements.txt"),
        ("templates/python/build.sh", "contenders/python/starlette/build.sh"),
        ("templates/julia/Project.toml", "contenders/julia/http-jl/Project.toml"),
        ("templates/c/build.sh", "contenders/c/libuv/build.sh"),
    ] {
        let known = lines(theirs);
        assert!(lines(own).iter().all(|line| known.contains(line)), "{own} is no part of {theirs}");
    }
    let versions = |path: &str| {
        let is_version =
            |line: &&String| line.trim().starts_with("<version>") && !line.contains("<version>1<");
        lines(path).iter().filter(is_version).map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let known = [versions("contenders/java/pom.xml"), versions("contenders/java/vertx/pom.xml")].concat();
    assert!(versions("templates/java/pom.xml").iter().all(|version| known.contains(version)));
    let known = text("contenders/rust/Cargo.lock");
    let locked = text("templates/rust/Cargo.lock");
    let own = locked.split("\n\n").filter(|package| package.contains("checksum = "));
    for package in own {
        let sum = package.lines().find(|line| line.starts_with("checksum = ")).unwrap_or_default();
        assert!(known.contains(sum), "{package}");
    }
}

#[test]
fn a_folder_that_is_there_stays_and_what_is_missing_is_told() {
    let lab = Lab::new();
    lab.write("mine/notes.txt", "precious");
    let new = |arguments: &[&str]| lab.assay(&[&["new"], arguments].concat()).assert().stdout("");
    new(&["mine", "-l", "go"])
        .code(4)
        .stderr(contains("./mine").and(contains("stays as it is, so name another")));
    assert_eq!(listing(&lab.path("mine")), ["notes.txt"]);
    new(&["mine"]).code(2).stderr(contains("no terminal to ask on").and(contains("--language (c, go, java")));
    new(&["mine", "-l", "rst"]).code(2).stderr(contains("did you mean rust?"));
    new(&["My Server", "-l", "go"]).code(2).stderr(contains("use a-z, 0-9 and -"));
    new(&["deep", "-l", "go", "--folder", "no/where"]).code(4).stderr(contains("make its folder first"));
    assert!(!lab.path("deep").exists() && !lab.path("no").exists());
}
