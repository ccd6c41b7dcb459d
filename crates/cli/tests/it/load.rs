//! The generator and the reference server by hand.

use assay_model::load::{Arrival, ErrorClass, LOAD_SCHEMA, LoadReport};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use rustix::process::Signal;

use crate::support::{Lab, Running, Stranger, eventually, stdout};

const BRIEF: [&str; 6] = ["-d", "100ms", "-c", "2", "--cpus", "0"];

fn load(lab: &Lab, url: &str, arguments: &[&str]) -> assert_cmd::assert::Assert {
    lab.assay(&[&["load", url], &BRIEF[..], arguments].concat()).assert()
}

fn report(assert: &assert_cmd::assert::Assert) -> LoadReport {
    serde_json::from_str(&stdout(assert)).expect("a report")
}

#[test]
fn drives_a_server_and_reports() {
    let lab = Lab::new();
    let (mut server, url) = Running::serve(&lab);
    load(&lab, &url, &["--expect-body", "hello"])
        .code(0)
        .stdout(contains("closed loop, 2 connections").and(contains("0 failed")).and(contains('\x1b').not()));
    let report = report(&load(&lab, &url, &["--json", "--expect-body", "hello"]).code(0).stderr(""));
    assert_eq!((report.schema.as_str(), report.connections), (LOAD_SCHEMA, 2));
    assert!(report.books.balance() && report.window.ok > 0 && report.books.failed() == 0, "{report:?}");
    server.signal(Signal::INT);
    assert_eq!(server.end().0.code(), Some(0));
    assert!(server.said.contains("served "), "{}", server.said);
}

#[test]
fn both_engines_and_every_arrival_give_right_answers() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    for engine in ["auto", "epoll"] {
        let report = report(&load(&lab, &url, &["--json", "--engine", engine]).code(0));
        assert!(report.books.balance() && report.window.ok > 0 && report.books.failed() == 0, "{report:?}");
    }
    for (name, wanted) in [
        ("poisson", Arrival::Poisson { per_second: 200.0 }),
        ("constant", Arrival::Constant { per_second: 200.0 }),
    ] {
        let arguments = ["--json", "--rate", "200", "--arrival", name];
        let report = report(&load(&lab, &url, &arguments).code(0));
        assert_eq!(report.arrival, wanted);
        assert!(report.books.balance() && report.latency.response_hdr.is_some(), "{report:?}");
    }
}

#[test]
fn counts_requests_instead_of_time() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let arguments = ["load", &url, "--json", "-n", "1k", "-c", "4", "--per-connection", "10", "--cpus", "0"];
    let report = report(&lab.assay(&arguments).assert().code(0));
    assert_eq!((report.books.ok, report.books.failed()), (1000, 0), "{report:?}");
    assert!(report.books.connections_opened >= 100, "{report:?}");
}

#[test]
fn a_wrong_answer_has_its_own_exit_code() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let cases = [
        (["--expect-body", "HELLO"], ErrorClass::WrongBody),
        (["--expect-body", "hello!"], ErrorClass::WrongLength),
        (["--expect-status", "404"], ErrorClass::UnexpectedStatus),
    ];
    for (expectation, class) in cases {
        let words = format!("{class}");
        let report = report(&load(&lab, &url, &[&["--json"], &expectation[..]].concat()).code(11));
        assert_eq!((report.window.ok, report.books.ok), (0, 0), "{report:?}");
        assert!(report.books.balance() && report.books.errors[&class] > 0, "{report:?}");
        assert!(!report.samples.is_empty());
        load(&lab, &url, &expectation).code(11).stdout(contains("received: ").and(contains(words)));
    }
}

#[test]
fn nobody_there_is_an_error() {
    let lab = Lab::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("port").local_addr().expect("address");
    load(&lab, &format!("http://{free}/"), &[]).code(10).stdout("").stderr(
        contains(format!("no connection to {free}"))
            .and(contains("nobody listens there; see that the server")),
    );
}

#[test]
fn a_workload_is_read_from_toml() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    load(&lab, &url, &["--workload", "workloads/hello.toml"]).code(0).stdout(contains("0 failed"));
    lab.write("wrong.toml", "name = \"x\"\nabout = 3\n");
    load(&lab, &url, &["--workload", "wrong.toml"])
        .code(2)
        .stderr(contains("wrong.toml").and(contains("about")));
}

#[test]
fn an_interrupted_load_reports_what_it_has() {
    let lab = Lab::new();
    let stranger = Stranger::new();
    let url = format!("http://127.0.0.1:{}/", stranger.port);
    let arguments = ["load", &url, "--json", "-d", "10m", "-c", "2", "--expect-body", "hello", "--cpus", "0"];
    let mut load = Running::start(lab.command(&arguments));
    eventually("it drives the server", || stranger.answered() > 10);
    load.signal(Signal::INT);
    let (status, out) = load.end();
    assert_eq!(status.code(), Some(130), "{}", load.said);
    let report: LoadReport = serde_json::from_str(&out).expect("a report");
    assert!(report.books.balance() && report.books.ok > 10 && report.books.failed() == 0, "{report:?}");
}

#[test]
fn a_port_in_use_cannot_be_served() {
    let lab = Lab::new();
    let stranger = Stranger::new();
    let port = stranger.port.to_string();
    lab.assay(&["serve", "--port", &port]).assert().code(4).stderr(contains(port.as_str()));
}
