//! WebSocket from end to end: our generator with servers of others, our rules, and a run.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use assay_model::experiment::Protocol;
use assay_tls::Made;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::support::{Lab, Running, eventually, report, stdout, windows};

/// A number instead of a time: a busy machine may answer nothing in any time.
const BRIEF: [&str; 6] = ["-n", "200", "-c", "4", "--cpus", "0"];

fn load(lab: &Lab, url: &str, arguments: &[&str]) -> assert_cmd::assert::Assert {
    lab.assay(&[&["load", url], &BRIEF[..], arguments].concat()).assert()
}

fn over_websocket(url: &str) -> String {
    format!("{}/ws", url.replacen("http", "ws", 1))
}

#[test]
fn messages_come_back_and_idle_connections_stay_open() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let url = over_websocket(&url);
    for arguments in [&[][..], &["--binary", "--message-bytes", "5000"], &["-r", "500", "--pipeline", "4"]] {
        let arguments = [&["--json", "--idle", "20"], arguments].concat();
        let report = report(&load(&lab, &url, &arguments).code(0).stderr(""));
        assert_eq!((report.books.ok, report.books.failed(), report.protocol), (200, 0, Protocol::Ws));
        assert_eq!((report.idle, report.books.connections_opened), (20, 24));
    }
    let words = "text messages over /ws";
    load(&lab, &url, &["--idle", "3"]).code(0).stdout(contains(words).and(contains("and 3 idle")));
    load(&lab, &url, &["--body", "hello", "--expect-body", "hullo"]).code(11).stdout(contains("wrong body"));
}

#[test]
fn messages_come_back_over_tls() {
    let lab = Lab::new();
    let made = Made::new(&["localhost".to_owned()]).expect("certificate");
    for (name, text) in [("ca.pem", &made.authority), ("cert.pem", &made.certificate), ("key.pem", &made.key)]
    {
        lab.write(name, text);
    }
    let words = ["serve", "--port", "0", "--cpus", "0", "--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let mut server = Running::start(lab.command(&words));
    let line = server.wait_for("https://");
    let port =
        line.split_whitespace().find_map(|word| word.strip_prefix("https://127.0.0.1:")).expect("port");
    let url = format!("wss://localhost:{port}/ws");
    let report = report(&load(&lab, &url, &["--json", "--cacert", "ca.pem"]).code(0));
    assert_eq!((report.books.ok, report.books.failed(), report.protocol), (200, 0, Protocol::Wss));
}

#[test]
fn a_server_that_no_one_here_wrote_counts_the_same_messages() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("port");
    let url = format!("ws://{}/any", listener.local_addr().expect("address"));
    let counted = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&counted);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counting = Arc::clone(&counting);
            std::thread::spawn(move || {
                let Ok(mut socket) = tungstenite::accept(stream) else { return };
                while let Ok(message) = socket.read() {
                    if message.is_text() || message.is_binary() {
                        counting.fetch_add(1, Ordering::Relaxed);
                        if socket.send(message).is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    let lab = Lab::new();
    for (arguments, total) in [(&[][..], 200), (&["--binary", "--requests-per-connection", "10"], 400)] {
        let report = report(&load(&lab, &url, &[&["--json"], arguments].concat()).code(0));
        assert_eq!((report.books.ok, report.books.failed()), (200, 0), "{report:?}");
        eventually("all are counted", || counted.load(Ordering::Relaxed) == total);
    }
}

#[test]
fn who_speaks_no_websocket_is_told_from_who_does_not_answer() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let assert = load(&lab, &format!("{}/hello", url.replacen("http", "ws", 1)), &[]);
    assert
        .code(10)
        .stderr(contains("status 200 instead of 101").and(contains("speaks WebSocket at this path")));
}

#[test]
fn what_does_not_fit_a_websocket_is_said_so() {
    let lab = Lab::new();
    for (url, arguments, words) in [
        ("http://127.0.0.1:1/", &["--binary"][..], "ws://"),
        ("ws://127.0.0.1:1/", &["--http", "2"], "HTTP/1.1"),
        ("ws://127.0.0.1:1/", &["-m", "POST"], "neither method nor status"),
        ("ws://127.0.0.1:1/", &["--body", "${sequence}"], "--expect-body"),
        ("ws://127.0.0.1:1/", &["--message-bytes", "3"], "message-bytes"),
    ] {
        load(&lab, url, arguments).code(2).stderr(contains(words));
    }
}

#[test]
fn a_run_says_how_a_websocket_is_named() {
    let lab = Lab::new();
    let run = lab.run(&["ws://127.0.0.1:1/ws"]).assert().code(2);
    run.stderr(contains("-w websocket"));
}

#[test]
fn a_websocket_is_asked_for_the_rules_of_its_standard() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let assert = lab.assay(&["check", &over_websocket(&url)]).assert().code(0);
    let out = stdout(&assert);
    assert!(out.contains("ws-accept") && out.contains("RFC 6455 §5.4"), "{out}");
    assert!(out.contains("49/49 rules kept; broken: 0 must, 0 should"), "{out}");
}

#[test]
fn a_run_measures_messages() {
    let lab = Lab::new();
    lab.good("server");
    lab.limit("reference");
    for name in ["server", "reference"] {
        let file = format!("contenders/test/{name}/contender.toml");
        let text = std::fs::read_to_string(lab.path(&file)).expect("file");
        lab.write(&file, &text.replace("[\"hello\"]", "[\"hello\", \"websocket\"]"));
    }
    lab.write("workloads/websocket.toml", include_str!("../../../../workloads/websocket.toml"));
    let assert = lab.run(&["server", "-w", "websocket"]).assert().code(0);
    let out = stdout(&assert);
    assert!(out.contains("websocket, 2 connections, ws"), "{out}");
    let record = lab.record();
    for window in windows(&record) {
        assert!(window.load.books.ok > 0 && window.load.books.failed() == 0, "{:?}", window.load.books);
        assert_eq!((window.load.protocol, window.cell.protocol), (Protocol::Ws, Protocol::Ws));
    }
}
