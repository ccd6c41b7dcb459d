//! The generator and the reference server by hand.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::Stdio;

use assay_model::load::{Arrival, ErrorClass, LOAD_SCHEMA, LoadReport, LoadSecond, Phase, SECOND_SCHEMA};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use rustix::process::Signal;

use crate::support::{Lab, Running, Stranger, eventually, report, stdout};
use assay_skip::skip;

/// A number instead of a time: a busy machine may answer nothing in any time.
const BRIEF: [&str; 6] = ["-n", "100", "-c", "2", "--cpus", "0"];

fn load(lab: &Lab, url: &str, arguments: &[&str]) -> assert_cmd::assert::Assert {
    lab.assay(&[&["load", url], &BRIEF[..], arguments].concat()).assert()
}

#[test]
fn drives_a_server_and_reports() {
    let lab = Lab::new();
    let (mut server, url) = Running::serve(&lab);
    load(&lab, &url, &["--expect-body", "hello"])
        .code(0)
        .stdout(contains("closed loop, 2 connections").and(contains("0 failed")).and(contains('\x1b').not()));
    // Who says no scheme means http.
    let bare = url.trim_start_matches("http://").trim_end_matches('/');
    load(&lab, bare, &["-c", "1"]).code(0).stdout(contains("closed loop, 1 connection ·"));
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
    load(&lab, &url, &["-w", "hello"])
        .code(0)
        .stdout(contains("load        hello at http://").and(contains("0 failed")));
    load(&lab, &url, &["-w", "helo"]).code(2).stderr(contains("did you mean hello?"));
    // What the file leaves open is learnt, as by a run; what does something is not asked twice.
    lab.write(
        "mine.toml",
        "name = \"mine\"\nabout = \"\"\n[[request]]\npath = \"/\"\n[[request]]\npath = \"/\"\nmethod = \"POST\"\n\
         [[request]]\npath = \"/json\"\n",
    );
    let learnt = report(&load(&lab, &url, &["-w", "./mine.toml", "--json"])).learnt;
    assert_eq!(learnt.iter().map(|learnt| learnt.request).collect::<Vec<_>>(), [0, 2], "{learnt:?}");
    lab.write("wrong.toml", "name = \"x\"\nabout = 3\n");
    load(&lab, &url, &["--workload", "wrong.toml"])
        .code(2)
        .stderr(contains("wrong.toml:2:9").and(contains("expected a string")));
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

/// A listener whose connections are made by the kernel and served by nobody.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("its address"));
    (listener, url)
}

#[test]
fn ctrl_c_ends_the_wait_for_a_server_that_never_answers() {
    let lab = Lab::new();
    let (_listener, url) = silent();
    let arguments = ["load", &url, "--timeout", "1h", "-c", "2", "--cpus", "0"];
    // Nobody says what is right, so it is asked first.
    let mut asking = Running::start(lab.command(&arguments));
    eventually("it asks", || is_connected(&url));
    asking.signal(Signal::INT);
    let (status, out) = asking.end();
    assert_eq!((status.code(), out.as_str()), (Some(130), ""), "{}", asking.said);
    assert!(asking.said.contains("stopped before the load began"), "{}", asking.said);
    // In a load, the last answers are waited for, but not for an hour.
    let (_listener, url) = silent();
    let arguments =
        ["load", &url, "--timeout", "1h", "-c", "2", "--cpus", "0", "--expect-body", "x", "--json"];
    let mut waiting = Running::start(lab.command(&arguments));
    eventually("it drives the server", || is_connected(&url));
    waiting.signal(Signal::INT);
    let (status, out) = waiting.end();
    assert_eq!(status.code(), Some(130), "{}", waiting.said);
    let report: LoadReport = serde_json::from_str(&out).expect("a report");
    assert!(report.books.balance() && report.books.ok == 0, "{report:?}");
}

/// Whether somebody has a connection to the port of a URL.
fn is_connected(url: &str) -> bool {
    let port =
        url.trim_end_matches('/').rsplit(':').next().expect("a port").parse::<u16>().expect("a number");
    let connections = std::fs::read_to_string("/proc/net/tcp").expect("the kernel's list");
    // An established connection (01) whose remote end it is.
    connections.contains(&format!(" 0100007F:{port:04X} 01 "))
}

fn seconds(text: &str) -> Vec<LoadSecond> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of the stream")).collect()
}

#[test]
fn each_second_is_a_line_and_an_interval_of_the_log() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let arguments = ["load", &url, "--json", "-d", "1.2s", "--warmup", "300ms", "-r", "500", "-c", "4"];
    let files = ["--stream", "seconds.ndjson", "--hdr", "times.hlog"];
    let report = report(&lab.assay(&[&arguments[..], &files[..]].concat()).assert().code(0));
    let seconds = seconds(&std::fs::read_to_string(lab.path("seconds.ndjson")).expect("the stream"));
    assert!(seconds.iter().all(|second| second.schema == SECOND_SCHEMA));
    assert_eq!((seconds[0].phase, seconds[1].phase), (Phase::WarmUp, Phase::Window));
    assert_eq!(seconds.iter().map(|second| second.ok).sum::<u64>(), report.books.ok);
    let log = std::fs::read_to_string(lab.path("times.hlog")).expect("the log");
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    for entry in IntervalLogIterator::new(log.as_bytes()).map(|entry| entry.expect("a line of the log")) {
        let LogEntry::Interval(interval) = entry else { continue };
        let histogram = assay_stats::Histogram::from_hdr_base64(interval.encoded_histogram()).expect("times");
        let tag = interval.tag().expect("a tag").as_str().to_owned();
        *counts.entry(tag).or_default() += histogram.count();
    }
    let warm_up = seconds.iter().filter(|second| second.phase == Phase::WarmUp).map(|second| second.ok);
    let counted = report.books.ok - warm_up.sum::<u64>();
    assert_eq!(
        counts.into_iter().collect::<Vec<_>>(),
        [("response".into(), counted), ("service".into(), counted)]
    );
}

#[test]
fn the_stream_is_whole_after_an_interruption() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let mut load =
        Running::start(lab.command(&["load", &url, "--stream", "-", "-d", "10m", "-c", "2", "--cpus", "0"]));
    std::thread::sleep(std::time::Duration::from_millis(1300));
    load.signal(Signal::INT);
    let (status, out) = load.end();
    assert_eq!(status.code(), Some(130), "{}", load.said);
    let seconds = seconds(&out);
    assert!(seconds.len() >= 2 && seconds.iter().all(|second| second.errors.is_empty()), "{out}");
    let of_all = seconds.iter().map(|second| second.ok).sum::<u64>();
    // The summary is on standard error then.
    let books = load.said.lines().find(|line| line.starts_with("books")).expect(&load.said);
    assert!(books.replace(',', "").contains(&format!("= {of_all} right + 0 failed")), "{books} {of_all}");
}

#[test]
fn a_reader_of_the_stream_that_goes_away_ends_the_load_and_is_no_failure() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let mut command = lab.command(&["load", &url, "--stream", "-", "-d", "10m", "-c", "2", "--cpus", "0"]);
    let mut load = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    let mut first = String::new();
    BufReader::new(load.stdout.take().expect("its output")).read_line(&mut first).expect("a second");
    assert!(first.starts_with('{'), "{first}");
    assert_eq!(load.wait().expect("ended").code(), Some(0));
}

#[test]
fn hands_that_know_wrk_and_ab_find_their_flags() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let run = |arguments: &[&str]| {
        report(&lab.assay(&[&["load", &url, "--json"], arguments].concat()).assert().code(0))
    };
    let wrk = run(&["-t1", "-c", "8", "-d", "0.5s", "--latency", "-H", "A: b", "-H", "C: d", "-c3"]);
    assert_eq!(wrk.connections, 3, "the last one counts");
    let ab = run(&["-n", "0.1k", "-c", "2", "-k", "--cpus", "0"]);
    assert_eq!((ab.books.ok, ab.books.connections_opened), (100, 2));
    let close = run(&["-n", "20", "-c", "2", "--close", "--cpus", "0"]);
    assert_eq!((close.books.ok, close.books.connections_opened), (20, 20));
    let slow = run(&["-n", "2", "-r", "2.5k/s", "-R", "12.5", "--cpus", "0"]);
    assert_eq!(slow.arrival, Arrival::Poisson { per_second: 12.5 });
    let text = stdout(&load(&lab, &url, &["--expect-body", "hello"]).code(0));
    // A build that is not optimised is told of in two of them.
    assert!((7..=12).contains(&text.lines().count()) || text.contains("caution"), "{text}");
    assert!(text.contains("void        assay was built for debug"), "{text}");
    assert!(text.lines().any(|line| line.contains("system calls per answer")), "{text}");
    assert!(text.lines().last().is_some_and(|line| line.starts_with("trust ")), "{text}");
}

#[test]
fn placeholders_and_shapes_work_from_the_command_line() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let url = format!("{}/json?n=${{sequence}}&id=${{random:1..500}}", url.trim_end_matches('/'));
    for (shape, code) in [(r#"{"message": string}"#, 0), (r#"{"message": 1..5}"#, 11)] {
        load(&lab, &url, &["-H", "X: ${random:1..9}", "--expect-shape", shape]).code(code);
    }
    load(&lab, &url, &["--expect-shape", "[1 2]"]).code(2).stderr(contains("expect.shape, at byte 3"));
    load(&lab, &url, &["-H", "X: ${nothing}"]).code(2).stderr(contains("`${nothing}`").and(contains("$${")));
}

#[test]
fn nine_thousand_connections_are_made_and_used_on_either_engine() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(u64::MAX);
    if limit < 9500 {
        return skip("files", format_args!("this process may open {limit} files only"));
    }
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    for engine in ["epoll", "auto"] {
        let arguments =
            ["load", &url, "--json", "-c", "9k", "-n", "18k", "--engine", engine, "--timeout", "30s"];
        let report =
            report(&lab.assay(&[&arguments[..], &["--expect-body", "hello"]].concat()).assert().code(0));
        assert_eq!((report.books.ok, report.books.connections_opened), (18_000, 9000), "{:?}", report.books);
        assert!(report.memory.ready_bytes >= report.memory.start_bytes && report.memory.start_bytes > 0);
    }
}

#[test]
fn more_connections_than_the_machine_has_room_for_are_refused_before_any_is_made() {
    let lab = Lab::new();
    let stranger = Stranger::new();
    let url = format!("http://127.0.0.1:{}/", stranger.port);
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(u64::MAX);
    if limit < 1_000_000 {
        load(&lab, &url, &["-c", "1M"])
            .code(4)
            .stderr(contains("open files").and(contains("ulimit -Hn")).and(contains("enough for")));
    }
    load(&lab, &url, &["-c", "2M"]).code(2).stderr(contains("2000000 connections"));
    assert_eq!(stranger.answered(), 0);
}

#[test]
fn a_port_in_use_cannot_be_served() {
    let lab = Lab::new();
    let stranger = Stranger::new();
    let port = stranger.port.to_string();
    lab.assay(&["serve", "--port", &port]).assert().code(4).stderr(contains(port.as_str()));
}
