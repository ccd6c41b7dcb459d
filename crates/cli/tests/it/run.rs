//! A good run, from the command line to the files, and everything that can be made of its record later.

mod quiet;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assay_model::load::{Arrival, Books, LOAD_SCHEMA};
use assay_model::record::{Origin, RECORD_SCHEMA, Record, State};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;

use crate::support::{Lab, Running, listing, stderr, stdout};

fn lab() -> Lab {
    let lab = Lab::new();
    lab.calm("first");
    lab.calm("second");
    lab.stub("reference", "limit", &["--service", "4ms"]);
    lab
}

/// Names of the contenders in the order in which they were measured, round by round.
fn order(record: &Record) -> Vec<Vec<&str>> {
    let rounds = record.rounds.iter();
    rounds.map(|round| round.runs.iter().map(|run| run.contender.as_str()).collect()).collect()
}

/// Books of every window.
fn books(record: &Record) -> Vec<&Books> {
    let runs = record.rounds.iter().flat_map(|round| &round.runs);
    runs.flat_map(|run| &run.cells).map(|window| &window.load.books).collect()
}

#[test]
fn a_run_measures_everybody_and_leaves_its_evidence() {
    let lab = lab();
    let assert = lab.run(&["first", "second", "--seed", "7"]).assert().code(0);
    let (out, err) = (stdout(&assert), stderr(&assert));
    for words in ["first", "second", "reference", "hello, 2 connections", "Trust", "Verdict"] {
        assert!(out.contains(words), "{words}:\n{out}");
    }
    for words in ["2 rounds, about", "round 1 of 2 saved", "round 2 of 2 saved", "record.json", "report.html"]
    {
        assert!(err.contains(words) && !out.contains(words), "{words}:\n{err}\n{out}");
    }
    assert!(!out.contains('\x1b') && !err.contains('\x1b'), "{err}\n{out}");

    let record = lab.record();
    assert_eq!((record.schema.as_str(), record.state, record.seed), (RECORD_SCHEMA, State::Complete, 7));
    assert_eq!(record.command[..2], ["assay", "run"]);
    assert_eq!(record.rounds.len(), 2);
    for mut names in order(&record) {
        names.sort_unstable();
        assert_eq!(names, ["first", "reference", "second"]);
    }
    assert_eq!(books(&record).len(), 6);
    for books in books(&record) {
        assert!(books.balance() && books.ok > 0 && books.failed() == 0, "{books:?}");
    }
    let window = &record.rounds[0].runs[0].cells[0];
    assert_eq!((window.load.schema.as_str(), window.load.connections), (LOAD_SCHEMA, 2));
    assert!(window.server.as_ref().is_some_and(|usage| usage.cpu_ns().0 > 0));

    let folder = lab.run_folder();
    assert_eq!(listing(&folder.join("logs")).len(), 6);
    let log = std::fs::read_to_string(folder.join("histograms.hlog")).expect("log");
    assert_eq!(log.lines().filter(|line| line.starts_with("Tag=")).count(), 6);
}

#[test]
fn everything_is_made_again_from_the_record_alone() {
    let lab = lab();
    let made =
        lab.run(&["first", "-o", "a.html", "-o", "a.csv", "-o", "a.md", "-o", "a.json"]).assert().code(0);
    let read = |path: &Path| std::fs::read_to_string(path).expect("file");
    std::fs::create_dir(lab.path("elsewhere")).expect("folder");
    let record = lab.path("elsewhere/record.json");
    std::fs::rename(lab.run_folder().join("record.json"), &record).expect("moved");
    std::fs::remove_dir_all(lab.runs()).expect("removed");
    let record = record.to_str().expect("path");

    let shown = lab.assay(&["show", record]).assert().code(0);
    assert_eq!(stdout(&shown), stdout(&made));
    assert_eq!(stdout(&lab.assay(&["show", record]).assert().code(0)), stdout(&shown));
    lab.assay(&["report", record]).assert().code(0).stderr(contains("elsewhere/report.html"));
    assert_eq!(read(&lab.path("elsewhere/report.html")), read(&lab.path("a.html")));
    lab.assay(&["report", record, "-o", "b.html"]).assert().code(0);
    assert_eq!(read(&lab.path("b.html")), read(&lab.path("a.html")));
    for format in ["csv", "md", "json"] {
        let exported = lab.assay(&["export", "--format", format, record]).assert().code(0);
        assert_eq!(stdout(&exported), read(&lab.path(&format!("a.{format}"))), "{format}");
    }
    let page = read(&lab.path("a.html"));
    assert!(page.trim_start().to_lowercase().starts_with("<!doctype html>"));
    speaks_without_a_script(&page, &serde_json::from_str(&read(&lab.path("a.json"))).expect("JSON"));
    // A heading and one line for each window: two contenders, two rounds.
    assert_eq!(read(&lab.path("a.csv")).lines().count(), 5);
    assert!(read(&lab.path("a.md")).contains("### hello, 2 connections"));
}

/// Without its scripts the page has every sentence of the verdict, and a row of the first table for everybody.
fn speaks_without_a_script(page: &str, told: &Value) {
    let text = |value: &Value| assay_report::foreign::markup(value.as_str().expect("text"));
    let still: String = page
        .split("<script")
        .enumerate()
        .map(|(i, part)| if i == 0 { part } else { part.split_once("</script>").expect("an end").1 })
        .collect();
    for sentence in told["verdict"]["sentences"].as_array().expect("sentences") {
        assert!(still.contains(&text(sentence)), "{sentence}:\n{still}");
    }
    let standings = told["verdict"]["cells"][0]["standings"].as_array().expect("standings");
    assert!(!standings.is_empty());
    for standing in standings {
        let row = format!("<tr><th scope=\"row\">{}</th><td", text(&standing["contender"]));
        assert!(still.contains(&row), "{row}:\n{still}");
    }
}

#[test]
fn json_is_all_of_standard_output() {
    let lab = lab();
    let assert = lab.run(&["first", "--json"]).assert().code(0);
    let printed: Value = serde_json::from_str(&stdout(&assert)).expect("JSON");
    let record: Record = serde_json::from_value(printed["record"].clone()).expect("record");
    assert_eq!(record, lab.record());
    assert!(printed["verdict"]["sentences"].as_array().is_some_and(|sentences| !sentences.is_empty()));
    let shown = lab.assay(&["show", "--json"]).assert().code(0);
    assert_eq!(stdout(&shown), stdout(&assert));
    lab.assay(&["list", "runs"]).assert().code(0).stdout(contains(record.id.as_str()));
    lab.assay(&["show", &record.id[..10]]).assert().code(0).stdout(contains("Verdict"));
    lab.assay(&["show", "last~1"]).assert().code(2).stderr(contains("it holds 1 run;"));
}

#[test]
fn a_run_without_a_number_of_rounds_goes_on_until_all_is_settled() {
    let lab = lab();
    let run = ["run", "first", "second", "-d", "50ms", "--warmup", "0s", "-c", "2"];
    let dry = lab.assay(&[&run[..], &["--dry-run", "--budget", "60s"]].concat()).assert().code(0);
    assert!(stdout(&dry).contains("one contender takes part twice"), "{}", stdout(&dry));
    let assert = lab.assay(&[&run[..], &["--precision", "90%", "--budget", "30s"]].concat()).assert().code(0);
    assert!(stderr(&assert).contains("round 2 of"), "{}", stderr(&assert));
    let record = lab.record();
    let experiment = &record.experiment;
    assert!(experiment.until_settled && experiment.aa && experiment.precision == Some(0.9));
    assert!((2..=experiment.rounds as usize).contains(&record.rounds.len()), "{}", record.rounds.len());
    let control = record.contenders.iter().find_map(|entry| entry.control_of.clone()).expect("a control");
    assert!(["first", "second"].contains(&control.as_str()));
    assert!(!stdout(&assert).contains('′'), "{}", stdout(&assert));
}

#[test]
fn loads_may_be_mixed_and_all_of_them_are_recorded() {
    let lab = lab();
    let loads = ["first", "second", "-r", "50%,common,200", "--pipeline", "2", "--arrival", "constant"];
    lab.run(&loads).assert().code(0);
    let record = lab.record();
    let windows = || record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    assert!(windows().all(|window| window.load.pipeline == 2 && window.load.connections == 2));
    for window in windows() {
        let offered = window.cell.offered.to_string();
        match window.load.arrival {
            Arrival::Closed => assert_eq!(offered, "max"),
            Arrival::Constant { per_second } if offered == "200/s" => assert_eq!(per_second, 200.0),
            Arrival::Constant { per_second } => assert!(per_second >= 1.0),
            Arrival::Poisson { .. } => panic!("{offered} was offered with Poisson arrivals"),
        }
    }
    assert_eq!(windows().filter(|window| window.cell.offered.to_string() == "200/s").count(), 6);
    let csv = stdout(&lab.assay(&["export", "--format", "csv"]).assert().code(0));
    assert!(csv.lines().any(|line| line.contains(",hello,2,2,200/s,")), "{csv}");
}

#[test]
fn a_redline_is_searched_at_rates_that_are_all_recorded() {
    let lab = lab();
    let search = [
        "redline", "first", "--slo", "p90<8ms", "-c", "2", "-d", "100ms", "--warmup", "0s", "--budget", "8s",
    ];
    let assert = lab.assay(&search).assert();
    let is_found = !stdout(&assert).contains("was not found");
    let assert = assert.code(if is_found { 0 } else { 12 });
    let record = lab.record();
    assert_eq!(record.contenders.len(), 1, "neither the limit nor a control takes part");
    let windows = || record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    let loads: BTreeSet<String> = windows().map(|window| window.cell.offered.to_string()).collect();
    assert!(
        loads.contains("max") && loads.iter().all(|load| load == "max" || load == "redline:p90<8ms"),
        "{loads:?}"
    );
    for window in windows().filter(|window| !window.cell.offered.is_capacity()) {
        assert!(matches!(window.load.arrival, Arrival::Poisson { per_second } if per_second >= 1.0));
    }
    // Where other tests void every closed loop there is no rate to begin from, and that is told.
    assert!(!is_found || loads.len() > 1, "{loads:?}");
    assert!(stdout(&assert).contains("highest rate that keeps p90<8ms"), "{}", stdout(&assert));
    assert_eq!(stdout(&lab.assay(&["show"]).assert().code(0)), stdout(&assert));
}

#[test]
fn colours_are_for_those_who_want_them() {
    let lab = lab();
    lab.run(&["first", "--rounds", "1"]).assert().code(0);
    let show = |settings: &[(&str, &str)]| {
        stdout(&lab.assay(&["show"]).envs(settings.iter().copied()).assert().code(0)).contains('\x1b')
    };
    assert!(!show(&[]));
    assert!(show(&[("CLICOLOR_FORCE", "1")]));
    assert!(!show(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    let plain = stdout(&lab.assay(&["show", "--ascii"]).assert().code(0));
    assert!(plain.is_ascii(), "{plain}");
}

#[test]
fn a_seed_gives_the_same_order_again() {
    let (one, other) = (lab(), lab());
    let arguments = ["first", "second", "--seed", "20", "--rounds", "3", "-d", "30ms"];
    for lab in [&one, &other] {
        lab.run(&arguments).assert().code(0);
    }
    assert_eq!(order(&one.record()), order(&other.record()));
    assert_eq!(one.record().rounds.len(), 3);
}

#[test]
fn a_command_line_and_a_url_need_no_file() {
    let lab = Lab::new();
    let (mut server, url) = Running::serve(&lab);
    let fixed =
        std::net::TcpListener::bind("127.0.0.1:0").expect("port").local_addr().expect("address").port();
    let insists = format!("\"$ASSAY\" serve --port {fixed}");
    let port = fixed.to_string();
    // As a browser takes it.
    let typed = url.strip_prefix("http://").expect("a URL");
    let arguments = ["--cmd", &insists, "--port", &port, "--cmd", "\"$ASSAY\" serve --port $PORT", typed];
    lab.run(&arguments).assert().code(0);

    let record = lab.record();
    let origins: Vec<&Origin> = record.contenders.iter().map(|entry| &entry.identity.origin).collect();
    assert_eq!(origins, [&Origin::Url(url.clone()), &Origin::Command, &Origin::Command]);
    assert_eq!(order(&record).concat().len(), 6);
    assert!(books(&record).iter().all(|books| books.balance() && books.ok > 0 && books.failed() == 0));
    let target = format!(":{fixed}");
    let targets: BTreeMap<&str, &str> = (record.rounds[0].runs.iter())
        .map(|run| (run.contender.as_str(), run.cells[0].load.target.as_str()))
        .collect();
    assert!(targets[record.contenders[1].identity.name.as_str()].ends_with(&target), "{targets:?}");

    assert!(server.is_alive(), "{}", server.said);
    lab.assay(&["load", &url, "-n", "10", "--expect-body", "hello"]).assert().code(0);
    server.signal(rustix::process::Signal::TERM);
    assert_eq!(server.end().0.code(), Some(0));
}

#[test]
fn a_dry_run_does_nothing_but_tell() {
    let lab = lab();
    lab.run(&["first", "--dry-run", "--seed", "5"])
        .assert()
        .code(0)
        .stdout(contains("reference, first").and(contains("hello at 2")).and(contains("seed        5")));
    let windows = |length| {
        let dry = lab.assay(&["run", "first", "--dry-run", "-d", length]).assert().code(0);
        stdout(&dry).lines().find(|line| line.starts_with("windows")).expect("windows").to_owned()
    };
    let wanted = "windows     turns of 0.15 s, up to 10 s where answers are slow; 10 s of them at most in the first round";
    assert_eq!(windows("10s"), wanted);
    assert_ne!(windows("10s"), windows("5m"));
    assert!(!lab.runs().exists());
}

/// A number of rounds and the length of a window say how long a run is: the budget of an experiment does not stretch them, one that is
/// typed as well does.
#[test]
fn a_length_that_is_given_whole_is_not_stretched_to_an_experiments_budget() {
    let lab = lab();
    let experiment = "name = \"long\"\ncontenders = [\"first\", \"second\"]\nrounds = 3\nbudget_s = 1500\n\
                      [[measure]]\nworkload = \"hello\"\nconnections = [2]\n";
    lab.write("experiments/long.toml", experiment);
    let told = |more: &[&str]| {
        let run = [&["run", "-e", "long", "--dry-run"], more].concat();
        let dry = stdout(&lab.assay(&run).assert().code(0));
        dry.lines().find(|line| line.starts_with("time")).expect("time").to_owned()
    };
    for stretched in
        [&["--rounds", "2"][..], &["-d", "0.3s"], &["--rounds", "2", "-d", "0.3s", "--budget", "25m"]]
    {
        assert!(told(stretched).contains("within 25:00 min"), "{stretched:?}: {}", told(stretched));
    }
    let whole = told(&["--rounds", "2", "-d", "0.3s"]);
    assert!(!whole.contains("within") && !whole.contains("min"), "{whole}");
}

/// What the help says of the budget is what is done, and one that is given is kept.
#[test]
fn a_search_for_a_redline_keeps_to_its_budget() {
    let lab = lab();
    let told = |more: &[&str]| {
        let search = [&["redline", "first", "--slo", "p99<20ms"], more].concat();
        stdout(&lab.assay(&search).assert().code(0))
    };
    assert!(told(&["--dry-run"]).contains(", within 10:00 min:"), "{}", told(&["--dry-run"]));
    let help = told(&["--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("[default: 10m]") && !help.contains("[default: 5m"), "{help}");
    let short = told(&["--dry-run", "--budget", "17s"]);
    let time = short.lines().find_map(|line| line.strip_prefix("time        about ")).expect("time");
    let (seconds, bound) = time.split_once(" s, ").expect("seconds");
    assert!(seconds.parse::<u32>().is_ok_and(|seconds| seconds <= 17), "{short}");
    assert!(bound.starts_with("within 17 s: "), "{short}");
}
