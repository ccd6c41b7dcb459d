//! Each way in which a server can fail is counted exactly, in its own class.

use std::io::{Read, Write};
use std::time::Duration;

use crate::support::{Act, Seen, Server, answer, errors, get, hello, measure, plan, try_measure};
use assay_load::{LoadError, LoadPlan, Span};
use assay_model::check::CheckOutcome;
use assay_model::load::ErrorClass;
use assay_model::rule::Rule;
use assay_model::units::Nanos;
use assay_model::workload::{Coding, Expect, MessageKind, RequestKind};

const N: u64 = 60;

/// A server that fails every third request of `N`, and what it failed with.
fn fails_every_third(class: ErrorClass, fault: impl Fn() -> Act + Send + Sync + 'static) {
    let server = Server::start(move |seen| if seen.number % 3 == 1 { fault() } else { Act::Answer(hello()) });
    let plan = LoadPlan { connections: 4, ..plan(&server, N) };
    let report = measure(&plan);
    assert_eq!((report.books.issued, server.requests()), (N, N), "{class:?}");
    assert_eq!((report.books.ok, errors(&report, class)), (N - N / 3, N / 3), "{:?}", report.books);
    assert_eq!(report.window.errors, report.books.errors);
    assert_eq!(report.books.connections_opened, server.connections());
}

#[test]
fn wrong_answers() {
    fails_every_third(ErrorClass::UnexpectedStatus, || Act::Answer(answer(500, "hello")));
    fails_every_third(ErrorClass::WrongBody, || Act::Answer(answer(200, "hellO")));
    fails_every_third(ErrorClass::WrongLength, || Act::Answer(answer(200, "hello!")));
    fails_every_third(ErrorClass::WrongHeader, || {
        Act::Answer(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello".to_vec())
    });
}

/// An answer with a body that is said to be compressed.
fn coded(body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_bodies_that_are_none_or_inflate_without_end() {
    let (right, bomb) = (gzip(b"hello"), gzip(&vec![b'h'; 64 << 20]));
    let cut = right[..right.len() - 3].to_vec();
    let server = Server::start(move |seen| {
        Act::Answer(match seen.number % 6 {
            0 => coded(&right),
            1 => coded(&gzip(b"hellO")),
            2 => coded(&cut),
            3 => coded(b"hello"),
            4 => coded(&bomb),
            _ => hello(),
        })
    });
    let expect = Expect { coding: Some(Coding::Gzip), ..get("/").expect };
    let requests = vec![RequestKind { expect, ..get("/") }];
    let report = measure(&LoadPlan { requests, connections: 4, ..plan(&server, N) });
    let of = |class| errors(&report, class);
    assert_eq!(report.books.ok, N / 6, "{:?}", report.books);
    assert_eq!(
        (of(ErrorClass::WrongBody), of(ErrorClass::WrongHeader)),
        (N / 6, N / 6),
        "{:?}",
        report.books
    );
    assert_eq!((of(ErrorClass::BadCoding), of(ErrorClass::Inflates)), (N / 3, N / 6), "{:?}", report.books);
    assert!(report.books.balance());
}

#[test]
fn what_is_not_http() {
    fails_every_third(ErrorClass::Parse, || Act::Stall(b"\x15\x03\x01\x00\x02\x02\x46\r\n".to_vec()));
    fails_every_third(ErrorClass::Parse, || Act::Stall([hello(), b"surplus".to_vec()].concat()));
    let chunk = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\nnope\r\n";
    fails_every_third(ErrorClass::Parse, || Act::Stall(chunk.to_vec()));
}

#[test]
fn connections_that_break() {
    let half = || hello()[..hello().len() - 2].to_vec();
    fails_every_third(ErrorClass::EarlyEof, || Act::End(Vec::new()));
    fails_every_third(ErrorClass::EarlyEof, || Act::End(b"HTTP/1.1 200".to_vec()));
    fails_every_third(ErrorClass::EarlyEof, move || Act::End(half()));
    fails_every_third(ErrorClass::ResetBeforeHead, || Act::Reset(Vec::new()));
    fails_every_third(ErrorClass::ResetBeforeHead, || Act::Reset(b"HTTP/1.1 200 OK\r\n".to_vec()));
    fails_every_third(ErrorClass::ResetInBody, move || Act::Reset(half()));
}

#[test]
fn answers_that_never_end() {
    let server = Server::start(|seen| match seen.number % 3 {
        0 => Act::Stall(Vec::new()),
        1 => Act::Stall(hello()[..hello().len() - 2].to_vec()),
        _ => Act::Answer(hello()),
    });
    let plan = LoadPlan { connections: 3, timeout: Nanos::from_millis(600), ..plan(&server, 9) };
    let report = measure(&plan);
    let counts = [ErrorClass::HeadTimeout, ErrorClass::BodyTimeout].map(|class| errors(&report, class));
    assert_eq!((report.books.ok, counts), (3, [3, 3]));
    assert!(report.latency.failed_hdr.is_some());
}

#[test]
fn a_reset_while_sending() {
    // The body is more than all buffers hold, and the server reads one byte of the request.
    let server = Server::start(|_| Act::Answer(hello()));
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                stream.read_exact(&mut [0]).unwrap();
                std::thread::sleep(Duration::from_millis(30));
                rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
            }
        });
        address
    };
    let body = Some("x".repeat(16 << 20));
    let kind = RequestKind { method: "POST".into(), body, ..get("/") };
    let plan = LoadPlan { target: address, requests: vec![kind], ..plan(&server, 3) };
    let report = measure(&plan);
    // An engine that finds the connection broken while it sends accepts the rest and drops it: then all seems to have left.
    let [sending, sent] =
        [ErrorClass::SendReset, ErrorClass::ResetBeforeHead].map(|class| errors(&report, class));
    assert_eq!((report.books.issued, sending + sent), (3, 3), "{:?}", report.books);
}

#[test]
fn a_server_that_goes_away() {
    let server = Server::start(|seen| {
        if seen.number == 19 {
            Act::Retire(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello".to_vec())
        } else {
            Act::Answer(hello())
        }
    });
    let report = measure(&plan(&server, 26));
    assert_eq!((report.books.ok, server.requests()), (20, 20));
    assert_eq!(errors(&report, ErrorClass::ConnectRefused), 6);
    assert_eq!(report.books.connections_opened, 1);
}

#[test]
fn bytes_that_nobody_asked_for() {
    let server = Server::start(|_| Act::Answer(hello()));
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let Ok(mut stream) = stream else { return };
                if number == 0 {
                    stream.write_all(b"HTTP/1.1 503 Not Yet\r\nContent-Length: 0\r\n\r\n").unwrap();
                }
                std::thread::spawn(move || {
                    while stream.read(&mut [0; 1024]).is_ok_and(|n| n > 0) {
                        stream.write_all(&hello()).unwrap();
                    }
                });
            }
        });
        address
    };
    // Two connections, so that the one that speaks first stays idle at a rate of one request at a time.
    let arrival = assay_model::load::Arrival::Constant { per_second: 50.0 };
    let plan = LoadPlan { target: address, connections: 2, arrival, ..plan(&server, 10) };
    let report = measure(&plan);
    // The greeting is seen before the first request, or taken for its answer: then the true answer is one too many.
    let failed = report.books.failed();
    let check = report.checks.iter().find(|check| check.rule == Rule::UnsolicitedBytes).unwrap();
    let noticed = u64::from(check.outcome != CheckOutcome::Pass);
    assert_eq!(report.books.ok + failed, 10);
    assert!((1..=2).contains(&(failed + noticed)), "{:?}", report.books);
}

#[test]
fn nobody_there() {
    let server = Server::start(|_| Act::Answer(hello()));
    let mut plan = plan(&server, 5);
    drop(server);
    match try_measure(&plan) {
        Err(LoadError::Unreachable { class, target, .. }) => {
            assert_eq!((class, target), (ErrorClass::ConnectRefused, plan.target));
        }
        other => panic!("{other:?}"),
    }
    // An address of a documentation network (RFC 5737) is none of ours.
    plan.sources = vec!["203.0.113.7".parse().unwrap()];
    match try_measure(&plan) {
        Err(LoadError::Plan(why)) => {
            assert!(why.contains("203.0.113.7 is no address of this machine"), "{why}")
        }
        other => panic!("{other:?}"),
    }
}

/// A server that agrees to be a WebSocket, and says this behind it.
fn opens_with(more: impl Fn(&Seen) -> &'static [u8] + Send + Sync + 'static) -> Server {
    Server::start(move |seen| {
        let key = seen.text.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
        let accept = assay_ws::handshake::accept(key.as_bytes());
        let head = format!(
            "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        );
        Act::Answer([head.as_bytes(), more(seen)].concat())
    })
}

/// A plan of `n` messages over a WebSocket.
fn messages(server: &Server, n: u64) -> LoadPlan {
    let kind = RequestKind { body: Some("hello".into()), ..RequestKind::get("/") };
    LoadPlan { requests: vec![kind], websocket: Some(MessageKind::Text), ..plan(server, n) }
}

/// Connects more often than a thread may be connecting at once, so none of the failed attempts may be taken for one that goes on.
#[test]
fn messages_right_behind_the_opening_of_a_websocket() {
    let server = opens_with(|seen| if seen.number == 0 { b"" } else { b"\x81\x02hi" });
    let plan = LoadPlan {
        connections: 100,
        span: Span::Time(Nanos::from_millis(1_500)),
        timeout: Nanos::from_millis(600),
        ..messages(&server, 1)
    };
    let report = measure(&plan);
    assert!(server.connections() > 200, "only {} connections", server.connections());
    assert!(errors(&report, ErrorClass::UpgradeRefused) > 100, "{:?}", report.books);
    let words = "a message came that none of ours asked for";
    assert!(report.samples.iter().any(|sample| sample.detail == words), "{:?}", report.samples);
}

/// The first is opened and not answered, so that the load begins; all others are ended with the answer that opens them.
#[test]
fn a_close_frame_right_behind_the_opening_of_a_websocket() {
    let server = opens_with(|seen| if seen.number == 0 { b"" } else { b"\x88\x02\x03\xf0" });
    let plan = LoadPlan { timeout: Nanos::from_millis(600), ..messages(&server, 6) };
    let report = measure(&plan);
    let counts = [ErrorClass::HeadTimeout, ErrorClass::UpgradeRefused].map(|class| errors(&report, class));
    assert_eq!((report.books.ok, counts), (0, [1, 5]), "{:?}", report.books);
    let words = "the server sent a close frame with code 1008";
    assert!(report.samples.iter().any(|sample| sample.detail == words), "{:?}", report.samples);
}

#[test]
fn idle_connections_that_are_lost_for_good() {
    let server = Server::start(|_| Act::Answer(hello()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut used = listener.accept().unwrap().0;
        let mut idle: Vec<_> = (0..3).map(|_| listener.accept().unwrap().0).collect();
        drop(listener);
        while used.read(&mut [0; 1024]).is_ok_and(|n| n > 0) {
            idle.clear();
            used.write_all(&hello()).unwrap();
        }
    });
    let report = measure(&LoadPlan { target, idle: 3, ..plan(&server, 2_000) });
    assert_eq!((report.books.ok, report.books.failed()), (2_000, 0), "{:?}", report.books);
}

#[test]
fn samples_show_what_came() {
    let server = Server::start(|_| Act::Answer(answer(503, "busy\n")));
    let report = measure(&plan(&server, 10));
    let sample = &report.samples[0];
    assert_eq!((sample.class, report.samples.len()), (ErrorClass::UnexpectedStatus, 3));
    assert_eq!(sample.detail, "expected status 200, got status 503 with 5 bytes");
    assert!(sample.received.starts_with(r"HTTP/1.1 503 X\x0d\x0aContent-Type"), "{}", sample.received);
}
