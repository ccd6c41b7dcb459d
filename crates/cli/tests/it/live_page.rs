//! The page of a run that goes on, as a browser would ask for it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use predicates::str::contains;
use rustix::process::Signal;

use crate::support::{Lab, PATIENCE, Running, eventually};

/// What is answered to a GET of `path`, until the connection ends.
fn get(host: &str, path: &str, named: &str) -> String {
    let mut stream = TcpStream::connect(host).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("patience");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {named}\r\n\r\n").expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answered");
    text
}

#[test]
fn a_run_serves_its_page_to_who_knows_the_address_and_hands_over_the_report_at_the_end() {
    let lab = Lab::new();
    lab.calm("only");
    let mut run = Running::start(lab.command(&[
        "run",
        "only",
        "--no-check",
        "--no-aa",
        "-d",
        "300ms",
        "--warmup",
        "0s",
        "--rounds",
        "3",
        "-c",
        "2",
        "--live",
    ]));
    let line = run.wait_for("live page http://127.0.0.1:");
    let address = line.rsplit("http://").next().expect("address");
    let (host, path) = address.split_once('/').expect("path");
    let path = format!("/{path}");
    let page = get(host, &path, host);
    assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("id=\"assay-live\""), "{page:.300}");
    assert!(get(host, "/", host).starts_with("HTTP/1.1 404 "), "without the token");
    assert!(get(host, &path, "evil.example").starts_with("HTTP/1.1 421 "), "under another name");
    let events = get(host, &format!("{path}events"), host);
    assert!(events.contains("\nevent: words\ndata: round "), "{events:.300}");
    assert!(events.contains("\nevent: edition\ndata: {"), "{events:.300}");
    let (_, last) = events.rsplit_once("\nevent: end\ndata: ").expect("an end");
    let (status, _) = run.end();
    assert_eq!(status.code(), Some(0), "{}", run.said);
    let report = std::fs::read_to_string(lab.run_folder().join("report.html")).expect("report");
    let last: serde_json::Value = serde_json::from_str(last.trim_end()).expect("JSON");
    assert_eq!(last["saved"].as_str(), Some(report.as_str()), "the very report");
    assert!(TcpStream::connect(host).is_err(), "nobody listens any more");
}

/// In place of the desktop's: keeps its arguments, and the page that they name with its mode.
const BROWSER: &str = "#!/bin/sh\nstat -c %a \"$1\" >mode\ncp \"$1\" page\nprintf '%s\\n' \"$@\" >given.part\nmv given.part given\n";

#[test]
fn the_key_of_the_page_is_in_the_arguments_of_no_process() {
    let lab = Lab::new();
    lab.calm("only");
    lab.write("bin/xdg-open", BROWSER);
    let program = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(lab.path("bin/xdg-open"), program).expect("a program");
    let path = format!("{}:{}", lab.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    let arguments =
        ["run", "only", "--no-check", "--no-aa", "--rounds", "30", "-d", "200ms", "--live", "--open"];
    let mut command = lab.command(&arguments);
    command.env("PATH", path);
    let mut run = Running::start(command);
    let line = run.wait_for("live page http://127.0.0.1:");
    let address = line.rsplit("live page ").next().expect("address");
    let key = address.trim_end_matches('/').rsplit('/').next().expect("a key");
    eventually("a browser is asked", || lab.path("given").exists());
    let read = |name: &str| std::fs::read_to_string(lab.path(name)).expect(name);
    let given = read("given");
    assert!(!given.contains(key), "{given}");
    assert!(read("page").contains(&format!("url={address}\"")), "{}", read("page"));
    assert_eq!(read("mode"), "600\n");
    run.signal(Signal::INT);
    run.signal(Signal::INT);
    run.end();
    assert!(!Path::new(given.trim_end()).exists(), "it goes with the run");
}

#[test]
fn a_port_for_the_page_that_is_taken_ends_the_run_before_anything_is_measured() {
    let lab = Lab::new();
    lab.calm("only");
    let taken = TcpListener::bind("127.0.0.1:0").expect("port");
    let port = taken.local_addr().expect("address").port();
    let words = format!("cannot serve the live page on port {port}");
    lab.run(&["only", &format!("--live={port}")]).assert().code(4).stderr(contains(words));
    assert!(!lab.runs().exists(), "nothing was begun");
}
