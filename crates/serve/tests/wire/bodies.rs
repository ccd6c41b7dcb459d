//! Bodies in both directions, large and slow.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use assay_engine::EngineKind;
use assay_model::units::Nanos;
use assay_serve::Limits;

use crate::support::{Running, count, hello, rest, statuses};

on_each_engine!(
    a_body_is_sent_after_it_was_asked_for,
    a_large_upload_comes_back_whole_through_bounded_memory,
    a_large_download_waits_for_a_reader_that_sleeps,
    a_body_behind_a_blocked_output_is_read_to_its_end,
    a_refused_client_sees_the_end_though_it_keeps_its_own_side_open,
    chunks_and_trailers_are_read_to_their_end,
    the_client_of_a_refused_upload_reads_why,
    an_upload_is_summed_up_however_it_is_framed,
    the_end_of_an_echo_waits_for_a_reader_that_is_slow,
    a_refused_expectation_costs_no_body,
);

fn a_body_is_sent_after_it_was_asked_for(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let mut stream = server.connect();
    let head = b"POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n";
    stream.write_all(head).unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"body").unwrap();
    assert!(rest(&mut stream).ends_with("\r\n\r\nbody"));
}

fn a_large_upload_comes_back_whole_through_bounded_memory(engine: EngineKind) {
    const LENGTH: usize = 8 << 20;
    let server = Running::start(engine, Limits::default());
    let mut stream = server.connect();
    let mut sender = stream.try_clone().unwrap();
    let body: Vec<u8> = (0..LENGTH as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let sent = body.clone();
    let writer = std::thread::spawn(move || {
        write!(
            sender,
            "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: {LENGTH}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        sender.write_all(&sent).unwrap();
    });
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    writer.join().unwrap();
    assert!(answer[answer.len() - LENGTH..] == body, "the echo differs");
}

/// The end of a response leaves the server though the socket's buffers are almost full, whatever room there is in them by chance.
fn the_end_of_an_echo_waits_for_a_reader_that_is_slow(engine: EngineKind) {
    const LENGTHS: [usize; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
    let server = Running::start(engine, Limits::default());
    let missing = std::thread::scope(|scope| {
        let clients = LENGTHS.map(|more| (server.connect(), (8 << 20) + more * 70_000));
        let readers = clients.map(|(stream, length)| scope.spawn(move || missing_of_echo(stream, length)));
        readers.map(|reader| reader.join().unwrap())
    });
    assert_eq!(missing, [0; LENGTHS.len()]);
}

/// Bytes of an echo that did not come to a client that reads more slowly than the server writes.
fn missing_of_echo(mut stream: TcpStream, length: usize) -> usize {
    let mut sender = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        let head = format!(
            "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        sender.write_all(head.as_bytes()).unwrap();
        sender.write_all(&vec![b'x'; length]).unwrap();
    });
    let (mut part, mut bodies) = (vec![0; 1 << 16], 0);
    loop {
        let read = stream.read(&mut part).unwrap();
        if read == 0 {
            break;
        }
        bodies += part[..read].iter().filter(|byte| **byte == b'x').count();
        std::thread::sleep(Duration::from_millis(2));
    }
    writer.join().unwrap();
    length - bodies
}

fn an_upload_is_summed_up_however_it_is_framed(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let body = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_".repeat(1 << 14);
    let end = "Connection: close\r\n";
    let told = |head: &str, body: &[u8]| {
        let mut stream = server.connect();
        let head = format!("POST /upload HTTP/1.1\r\nHost: h\r\n{end}{head}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        rest(&mut stream).rsplit("\r\n\r\n").next().unwrap_or_default().to_owned()
    };
    let right = r#"{"bytes":1048576,"crc32":"3521e627"}"#;
    assert_eq!(told(&format!("Content-Length: {}\r\n", body.len()), &body), right);
    let chunks: Vec<u8> =
        body.chunks(1 << 16).flat_map(|part| [b"10000\r\n", part, b"\r\n"].concat()).collect();
    assert_eq!(told("Transfer-Encoding: chunked\r\n", &[&chunks[..], b"0\r\n\r\n"].concat()), right);
    let nothing = r#"{"bytes":0,"crc32":"00000000"}"#;
    assert_eq!((told("", b""), told("Content-Length: 0\r\n", b"")), (nothing.to_owned(), nothing.to_owned()));
}

fn a_large_download_waits_for_a_reader_that_sleeps(engine: EngineKind) {
    const LENGTH: usize = 32 << 20;
    let server = Running::start(engine, Limits::default());
    let mut stream = server.connect();
    write!(stream, "GET /bytes/{LENGTH} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
    // Meanwhile the socket's buffers are full and another connection is served.
    hello(&mut server.connect());
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let body = &answer[answer.len() - LENGTH..];
    assert!(body.chunks(64).all(|line| line == &body[..64]) && body.starts_with(b"0123456789AB"));
}

fn a_body_behind_a_blocked_output_is_read_to_its_end(engine: EngineKind) {
    const DOWNLOAD: usize = 40 << 20;
    const BODY: usize = 2 << 20;
    let server = Running::start(engine, Limits::default());
    let mut stream = server.connect();
    let mut sender = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        write!(sender, "GET /bytes/{DOWNLOAD} HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
        write!(sender, "POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: {BODY}\r\n\r\n").unwrap();
        sender.write_all(&vec![b'x'; BODY]).unwrap();
        sender.write_all(b"GET /json HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
    });
    // Until both directions are full; how long that takes changes nothing but the path that is tested.
    std::thread::sleep(Duration::from_millis(300));
    let text = rest(&mut stream);
    writer.join().unwrap();
    assert_eq!(count(&text), 3);
    assert!(text.contains("HTTP/1.1 405 ") && text.ends_with("{\"message\":\"Hello, World!\"}"));
}

fn a_refused_client_sees_the_end_though_it_keeps_its_own_side_open(engine: EngineKind) {
    let server =
        Running::start(engine, Limits { linger_time: Nanos::from_millis(3_600_000), ..Limits::default() });
    let mut stream = server.connect();
    stream.write_all(b"GARBAGE\r\n\r\n").unwrap();
    assert!(rest(&mut stream).starts_with("HTTP/1.1 400 "));
}

pub(crate) fn chunks_and_trailers_are_read_to_their_end(engine: EngineKind) {
    let server = Running::start(engine, Limits::default());
    let text = server.exchange(
        b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n\
          5;name=\"value\"\r\nhello\r\n1\r\n!\r\n0\r\nSum: 6\r\n\r\nGET /json HTTP/1.1\r\nHost: h\r\n\r\n",
    );
    assert_eq!(statuses(&text), [200, 200]);
    let (echo, _) = text.split_once("0\r\n\r\nHTTP/1.1 200").unwrap();
    assert!(echo.contains("hello") && echo.contains('!') && !echo.contains("Sum"), "{echo}");
}

pub(crate) fn the_client_of_a_refused_upload_reads_why(engine: EngineKind) {
    const BODY: usize = 4 << 20;
    let server = Running::start(engine, Limits { body_bytes: 1 << 20, ..Limits::default() });
    for framing in
        [format!("Content-Length: {BODY}\r\n\r\n"), format!("Transfer-Encoding: chunked\r\n\r\n{BODY:x}\r\n")]
    {
        let mut stream = server.connect();
        write!(stream, "POST /echo HTTP/1.1\r\nHost: h\r\n{framing}").unwrap();
        // It sends everything before it looks for an answer, as most clients do.
        stream.write_all(&vec![b'x'; BODY]).unwrap();
        let answer = rest(&mut stream);
        assert_eq!(statuses(&answer), [413], "{answer}");
        assert!(answer.contains("Connection: close\r\n"), "{answer}");
    }
}

pub(crate) fn a_refused_expectation_costs_no_body(engine: EngineKind) {
    let server = Running::start(engine, Limits { body_bytes: 10, ..Limits::default() });
    for (path, length, expected) in [("/echo", 11, 413), ("/none", 5, 404)] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
        );
        let mut stream = server.connect();
        stream.write_all(head.as_bytes()).unwrap();
        assert_eq!(statuses(&rest(&mut stream)), [expected], "no 100 before it, and the end behind it");
    }
}
