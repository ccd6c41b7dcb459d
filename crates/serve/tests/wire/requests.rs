//! Requests and their order: what a client may send, and what it gets to the byte.

use std::io::{Read, Write};

use assay_engine::EngineKind;
use assay_serve::Limits;

use crate::support::{Running, count, hello, rest, statuses};

on_each_engine!(
    requests_are_answered_and_connections_closed_as_asked,
    pipelined_requests_come_back_in_order_before_the_end_of_the_stream_is_honoured,
    smuggled_requests_are_refused_once_and_the_refusal_arrives,
    the_standard_types_are_answered_with_their_fields,
    every_case_has_its_status,
    a_conversation_may_be_split_anywhere,
    what_is_pipelined_behind_a_close_is_not_answered,
    a_head_may_be_as_long_as_the_limit_says_and_come_in_pieces,
    a_flood_of_pipelined_requests_is_answered_whole_to_a_slow_reader,
);

fn requests_are_answered_and_connections_closed_as_asked(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let mut stream = server.connect();
    for _ in 0..3 {
        hello(&mut stream);
    }
    stream.write_all(b"GET /json HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
    let last = rest(&mut stream);
    assert!(
        last.contains("Connection: close\r\n") && last.ends_with("{\"message\":\"Hello, World!\"}"),
        "{last}"
    );
    assert!(server.exchange(b"GET / HTTP/1.0\r\n\r\n").ends_with("hello"));
    assert_eq!(server.stop().requests(), 5);
}

fn pipelined_requests_come_back_in_order_before_the_end_of_the_stream_is_honoured(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let targets = ["/bytes/1", "/bytes/70000", "/bytes/2", "/json", "/bytes/3"];
    let requests: String = targets.iter().map(|t| format!("GET {t} HTTP/1.1\r\nHost: h\r\n\r\n")).collect();
    let text = server.exchange(requests.as_bytes());
    let lengths: Vec<_> =
        text.split("Content-Length: ").skip(1).map(|s| s.split("\r\n").next().unwrap()).collect();
    assert_eq!(lengths, ["1", "70000", "2", "27", "3"]);
    assert!(text.ends_with("\r\n\r\n012"));
}

fn smuggled_requests_are_refused_once_and_the_refusal_arrives(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let head = "POST /echo HTTP/1.1\r\nHost: h\r\n";
    let smuggled = "GET /json HTTP/1.1\r\nHost: h\r\n\r\n";
    for attack in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 0\r\nContent-Length: 31\r\n\r\n",
        "Content-Length : 0\r\n\r\n",
        "Content-Length: +0\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n",
        "Transfer-Encoding: chunked, identity\r\n\r\n",
        "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n1;\nab\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
        "X: y\rContent-Length: 31\r\n\r\n",
        "X: y\0\r\n\r\n",
        " folded: x\r\n\r\n",
    ] {
        // More than the server looks at: without lingering the rest would reset the connection and lose the refusal.
        let bytes = format!("{head}{attack}{}", smuggled.repeat(40_000));
        let answer = server.exchange(bytes.as_bytes());
        let status: u16 = answer.get(9..12).and_then(|code| code.parse().ok()).unwrap_or(0);
        assert!((400..500).contains(&status) || status == 501, "{attack:?}: {answer:?}");
        assert_eq!(count(&answer), 1, "{attack:?}: {answer:?}");
    }
}

/// The types of the TechEmpower benchmarks that need no database, as its verifier looks at them (WORKLOADS).
pub(crate) fn the_standard_types_are_answered_with_their_fields(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    for (path, media_type, body) in [
        ("/json", "application/json", "{\"message\":\"Hello, World!\"}"),
        ("/plaintext", "text/plain", "Hello, World!"),
    ] {
        let answer = server.exchange(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
        let (head, sent) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(sent, body);
        let mut fields: Vec<_> = head.lines().skip(1).collect();
        let date = fields.remove(fields.iter().position(|field| field.starts_with("Date: ")).unwrap());
        assert!(assay_http::date::parse(&date.as_bytes()[6..], 0).is_some(), "{date}");
        let length = format!("Content-Length: {}", body.len());
        assert_eq!(fields, ["Server: assay", &format!("Content-Type: {media_type}"), &length]);
    }
}

pub(crate) fn every_case_has_its_status(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let get = |fields: &str| format!("GET /hello HTTP/1.1\r\n{fields}\r\n");
    for (request, expected) in [
        (get("Host: h\r\n"), 200),
        ("GET /hello HTTP/1.0\r\n\r\n".into(), 200),
        ("GET http://elsewhere/json HTTP/1.1\r\nHost: h\r\n\r\n".into(), 200),
        ("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n".into(), 204),
        ("OPTIONS /json HTTP/1.1\r\nHost: h\r\n\r\n".into(), 204),
        (get(""), 400),
        (get("Host: h\r\nHost: h\r\n"), 400),
        (get("Host: a b\r\n"), 400),
        ("GET * HTTP/1.1\r\nHost: h\r\n\r\n".into(), 400),
        ("GET hello HTTP/1.1\r\nHost: h\r\n\r\n".into(), 400),
        ("GET /none HTTP/1.1\r\nHost: h\r\n\r\n".into(), 404),
        ("DELETE /hello HTTP/1.1\r\nHost: h\r\n\r\n".into(), 405),
        ("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n".into(), 405),
        (format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(9000)), 414),
        (get("Host: h\r\nExpect: more\r\n"), 417),
        (get(&format!("Host: h\r\nA: {}\r\n", "a".repeat(20_000))), 431),
        ("BREW /hello HTTP/1.1\r\nHost: h\r\n\r\n".into(), 501),
        ("CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n".into(), 501),
        ("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n".into(), 501),
        ("GET /hello HTTP/2.0\r\nHost: h\r\n\r\n".into(), 505),
    ] {
        assert_eq!(statuses(&server.exchange(request.as_bytes())), [expected], "{request:.60}");
    }
}

pub(crate) fn a_conversation_may_be_split_anywhere(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let conversation = "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n\
        HEAD /json HTTP/1.1\r\nHost: h\r\n\r\n\
        POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc\
        POST /hello HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nT: r\r\n\r\n\
        GET /plaintext HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    let expected = [200, 200, 200, 405, 200];
    assert_eq!(statuses(&server.exchange(conversation.as_bytes())), expected);
    for pieces in [1, 2, 7, 50] {
        let mut stream = server.connect();
        stream.set_nodelay(true).unwrap();
        for piece in conversation.as_bytes().chunks(pieces) {
            stream.write_all(piece).unwrap();
        }
        let text = rest(&mut stream);
        assert_eq!(statuses(&text), expected, "in pieces of {pieces}: {text}");
        assert!(text.contains("\r\n\r\nabcHTTP/1.1 ") && text.ends_with("\r\n\r\nHello, World!"), "{text}");
    }
    for cut in 1..conversation.len() {
        let mut stream = server.connect();
        stream.set_nodelay(true).unwrap();
        stream.write_all(&conversation.as_bytes()[..cut]).unwrap();
        // An answer to another client in between: the server has seen the first part, most likely by itself.
        hello(&mut server.connect());
        stream.write_all(&conversation.as_bytes()[cut..]).unwrap();
        assert_eq!(statuses(&rest(&mut stream)), expected, "cut at {cut}");
    }
}

pub(crate) fn what_is_pipelined_behind_a_close_is_not_answered(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let get = |fields: &str| format!("GET /hello HTTP/1.1\r\nHost: h\r\n{fields}\r\n");
    let mut stream = server.connect();
    let requests = [get(""), get(""), get("Connection: close\r\n"), get("").repeat(2000)].concat();
    stream.write_all(requests.as_bytes()).unwrap();
    // Without lingering, the unread requests would reset the connection and might take the answers with them.
    assert_eq!(statuses(&rest(&mut stream)), [200; 3]);
    let version_0 = "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /hello HTTP/1.0\r\n\r\n";
    let text = server.exchange(format!("{version_0}{}", get("")).as_bytes());
    assert_eq!(statuses(&text), [200; 2]);
    assert!(text.contains("Connection: keep-alive\r\n") && text.contains("Connection: close\r\n"), "{text}");
}

pub(crate) fn a_flood_of_pipelined_requests_is_answered_whole_to_a_slow_reader(engine: EngineKind) {
    const REQUESTS: usize = 60_000;
    let server = Running::start(engine, Limits::default());
    let mut stream = server.connect();
    let mut sender = stream.try_clone().unwrap();
    let flood = "GET /json HTTP/1.1\r\nHost: h\r\n\r\n".repeat(REQUESTS - 1);
    let writer = std::thread::spawn(move || {
        sender.write_all(flood.as_bytes()).unwrap();
        sender.write_all(b"GET /json HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
    });
    // Nothing is read until the server has had to stop taking requests; others are served meanwhile.
    for _ in 0..50 {
        hello(&mut server.connect());
    }
    let mut first = [0; 9];
    stream.read_exact(&mut first).unwrap();
    let text = rest(&mut stream);
    writer.join().unwrap();
    assert_eq!(count(&text) + 1, REQUESTS);
}

pub(crate) fn a_head_may_be_as_long_as_the_limit_says_and_come_in_pieces(engine: EngineKind) {
    const HEAD: usize = 150_000;
    let limits = |head_bytes| Limits { head_bytes, ..Limits::default() };
    let start = "GET /json HTTP/1.1\r\nHost: h\r\nConnection: close\r\nA: ";
    let request = format!("{start}{}\r\n\r\n", "a".repeat(HEAD - start.len() - 4));
    for (limit, expected) in [(HEAD, 200), (HEAD - 1, 431)] {
        let server = Running::start(engine, limits(u32::try_from(limit).unwrap()));
        for pieces in [request.len(), 40_000, 1000] {
            let mut stream = server.connect();
            stream.set_nodelay(true).unwrap();
            for piece in request.as_bytes().chunks(pieces) {
                stream.write_all(piece).unwrap();
            }
            assert_eq!(statuses(&rest(&mut stream)), [expected], "limit {limit}, in pieces of {pieces}");
        }
    }
}
