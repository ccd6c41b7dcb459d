//! `assay serve` as a process: its end by signals, its words, and life without descriptors.

#![allow(clippy::print_stderr, reason = "a test says what it skips")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use assay_engine::EngineKind;
use rustix::process::Signal;

use crate::support::{Lab, PATIENCE, Running, eventually, stdout};

const GET: &[u8] = b"GET /hello HTTP/1.1\r\nHost: h\r\n\r\n";

/// The names of the engines that this machine allows.
fn engines() -> &'static [&'static str] {
    match EngineKind::best() {
        (EngineKind::IoUring, _) => &["epoll", "uring"],
        (EngineKind::Epoll, obstacle) => {
            eprintln!("on epoll only: {}", obstacle.map(|obstacle| obstacle.to_string()).unwrap_or_default());
            &["epoll"]
        }
    }
}

/// A server that is going on, and where.
fn start(command: Command) -> (Running, String) {
    let mut server = Running::start(command);
    let line = server.wait_for("serving http://");
    let address = line.split_whitespace().find_map(|word| word.strip_prefix("http://")).expect("address");
    (server, address.to_owned())
}

fn serve(lab: &Lab, engine: &str, more: &[&str]) -> Command {
    lab.command(&[&["serve", "--port", "0", "--cpus", "0", "--engine", engine], more].concat())
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream
}

fn read_hello(stream: &mut TcpStream) {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\nhello") {
        let mut piece = [0; 512];
        let n = stream.read(&mut piece).expect("an answer in time");
        assert!(n > 0, "ended after {:?}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..n]);
    }
}

#[test]
fn without_descriptors_clients_wait_and_are_all_served() {
    const CLIENTS: usize = 100;
    let lab = Lab::new();
    for engine in engines() {
        // io_uring keeps a reserve, of which its connections take nothing.
        let files = if *engine == "epoll" { 40 } else { 300 };
        let assay = serve(&lab, engine, &[]);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\"")]).arg(assay.get_program());
        limited.args(assay.get_args());
        limited.envs(assay.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let (mut server, address) = start(limited);
        let mut clients: Vec<_> = (0..CLIENTS).map(|_| connect(&address)).collect();
        clients.iter_mut().for_each(|client| client.write_all(GET).expect("sent"));
        // Each that is served goes and makes room for another.
        for mut client in clients {
            read_hello(&mut client);
        }
        server.signal(Signal::TERM);
        assert_eq!(server.end().0.code(), Some(0), "{}", server.said);
        assert!(server.said.contains("served 100 requests, refused 0"), "{}", server.said);
        if *engine == "epoll" {
            assert!(server.said.contains("for want of descriptors"), "{}", server.said);
        }
    }
}

#[test]
fn the_first_signal_ends_in_order_and_the_second_at_once() {
    let lab = Lab::new();
    for engine in engines() {
        let (mut server, address) = start(serve(&lab, engine, &["--stop-time", "1h", "--send-time", "1h"]));
        let mut stuck = connect(&address);
        stuck.write_all(b"GET /bytes/1073741824 HTTP/1.1\r\nHost: h\r\n\r\n").expect("sent");
        stuck.read_exact(&mut [0; 9]).expect("begun");
        server.signal(Signal::TERM);
        eventually("it stops listening", || TcpStream::connect(&address).is_err());
        assert!(server.is_alive(), "a response is under way");
        server.signal(Signal::INT);
        assert_eq!(server.end().0.code(), Some(130), "{}", server.said);
    }
}

#[test]
fn what_it_did_and_what_that_took_is_said_at_the_end() {
    let lab = Lab::new();
    for engine in engines() {
        let (mut server, address) = start(serve(&lab, engine, &[]));
        let mut clients: Vec<_> = (0..50).map(|_| connect(&address)).collect();
        for client in &mut clients {
            client.write_all(GET).expect("sent");
            read_hello(client);
        }
        server.signal(Signal::TERM);
        assert_eq!(server.end().0.code(), Some(0));
        for words in [
            "served 50 requests, refused 0",
            "accepted 50 connections, at most 50 at a time",
            "for each of 50 connections",
        ] {
            assert!(server.said.contains(words), "{words}:\n{}", server.said);
        }
    }
}

#[test]
fn the_limits_are_arguments() {
    let lab = Lab::new();
    let (_server, address) = start(serve(&lab, "epoll", &["--head-bytes", "100", "--body-bytes", "3"]));
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\nHost: h\r\nA: {}\r\n\r\n", "a".repeat(100)), "431"),
        ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabcd".into(), "413"),
    ] {
        let mut client = connect(&address);
        client.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("read");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
}

#[test]
fn the_help_names_every_path() {
    let help = stdout(&Lab::new().assay(&["serve", "--help"]).assert().success());
    for path in ["/hello", "/plaintext", "/json", "/byte", "/bytes/N", "/echo"] {
        assert!(help.contains(path), "{path}: {help}");
    }
}

#[test]
fn files_under_the_servers_own_paths_are_told_and_dot_files_are_served_when_asked_for() {
    let lab = Lab::new();
    for name in ["site/json", "site/page", "site/.env"] {
        lab.write(name, "file");
    }
    let root = lab.path("site");
    let root = root.to_str().expect("path");
    let get = |address: &str, target: &str| {
        let mut client = connect(address);
        let request = format!("GET {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        client.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("answer");
        answer
    };
    let (mut server, address) = start(serve(&lab, "epoll", &["--root", root]));
    assert!(server.said.contains("warning: json in "), "{}", server.said);
    assert!(get(&address, "/json").contains("Hello, World!"), "the route wins");
    assert!(get(&address, "/page").ends_with("file"));
    assert!(get(&address, "/.env").starts_with("HTTP/1.1 404"));
    server.signal(Signal::TERM);
    server.end();
    let (mut server, address) = start(serve(&lab, "epoll", &["--root", root, "--dot-files"]));
    assert!(get(&address, "/.env").ends_with("file"));
    server.signal(Signal::TERM);
    server.end();
}
