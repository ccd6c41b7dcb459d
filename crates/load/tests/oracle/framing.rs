//! T13: every way to frame a response, read by us and by an independent parser.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use assay_http::{BodyReader, Framing};
use assay_load::Plan;
use assay_model::load::Arrival;
use assay_model::units::Nanos;
use assay_model::workload::{Expect, RequestKind};
use assay_serve::stub::{BODY, Program, Service};

use crate::support::{alone, engines, get, measure, plan, with_stub};

const WITH_BODY: [&str; 8] =
    ["/", "/trickle", "/split", "/fields", "/long-head", "/chunked", "/interim", "/close"];

fn program() -> Program {
    Program::new(Service::Fixed(Nanos::ZERO))
}

fn all_right(kind: RequestKind, n: u64) {
    let path = kind.path.clone();
    for engine in engines() {
        let plan = Plan { requests: vec![kind.clone()], stack: engine.into(), ..plan(2, Arrival::Closed, n) };
        let report = measure(&program(), &plan).report;
        assert_eq!(report.books.ok, n, "{path}: {:?} {:?}", report.books, report.samples);
    }
}

#[test]
fn t13_every_framing_is_read_right() {
    let _alone = alone();
    for path in WITH_BODY {
        // A split answer has less than 150 bytes, so each offset comes up.
        all_right(get(path), if path == "/split" { 150 } else { 20 });
        all_right(RequestKind { method: "HEAD".into(), ..get(path) }, 20);
    }
    for status in [204, 304] {
        let expect = Expect { status: Some(status), ..Expect::default() };
        all_right(RequestKind { expect, ..get(&format!("/{status}")) }, 20);
    }
}

#[test]
fn t13_a_long_body_is_counted_to_the_byte() {
    let _alone = alone();
    let expect = Expect { status: Some(200), ..Expect::default() };
    let kind = RequestKind { expect, ..get("/pattern/33554433") };
    for engine in engines() {
        let plan = Plan { requests: vec![kind.clone()], stack: engine.into(), ..plan(1, Arrival::Closed, 2) };
        let report = measure(&program(), &plan).report;
        assert_eq!((report.books.ok, report.window.body_bytes), (2, 2 * 33_554_433));
    }
}

/// Beyond 4 GiB the arithmetic is what can fail, and that needs no socket.
#[test]
fn t13_lengths_beyond_4_gib_are_counted() {
    let length = (5 << 30) + 3;
    let block = vec![b'x'; 1 << 20];
    for framing in [Framing::Length(length), Framing::UntilClose] {
        let mut reader = BodyReader::new(framing);
        let mut received = 0;
        while received < length {
            let left = usize::try_from(length - received).unwrap().min(block.len());
            let step = reader.next(&block[..left]).unwrap();
            received += step.data.len() as u64;
            assert_eq!(
                (step.consumed, step.finished),
                (left, framing == Framing::Length(length) && received == length)
            );
        }
        assert!(reader.finish_at_eof().is_ok());
    }
}

#[test]
fn t13_an_independent_parser_reads_the_same() {
    let _alone = alone();
    let ((), counts) = with_stub(&program(), |address| {
        for path in WITH_BODY {
            assert_eq!(fetch(address, path), (200, BODY.as_bytes().to_vec()), "{path}");
        }
        assert_eq!((fetch(address, "/204"), fetch(address, "/304")), ((204, Vec::new()), (304, Vec::new())));
    });
    assert_eq!((counts.right, counts.requests), (10, 10));
}

/// Asks for a path and reads the answer to the end of the connection with httparse; returns status and body.
fn fetch(address: SocketAddr, path: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let mut rest = &bytes[..];
    loop {
        let mut fields = [httparse::EMPTY_HEADER; 128];
        let mut response = httparse::Response::new(&mut fields);
        let head = response.parse(rest).unwrap().unwrap();
        rest = &rest[head..];
        let status = response.code.unwrap();
        if status >= 200 {
            let is_chunked = response.headers.iter().any(|field| field.name == "Transfer-Encoding");
            return (status, if is_chunked { join_chunks(rest) } else { rest.to_vec() });
        }
    }
}

fn join_chunks(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let (start, size) = httparse::parse_chunk_size(bytes).unwrap().unwrap();
        let size = usize::try_from(size).unwrap();
        if size == 0 {
            assert!(bytes.ends_with(b"\r\n\r\n"), "trailers end with an empty line");
            return body;
        }
        body.extend_from_slice(&bytes[start..start + size]);
        bytes = &bytes[start + size + 2..];
    }
}
