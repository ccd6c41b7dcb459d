//! T13: every way to frame a response, in pieces of any size, read by us and by an independent parser.

use assay_engine::{Config, Engine as _, Event};
use assay_http::{BodyReader, Framing};
use assay_load::LoadPlan;
use assay_model::load::Arrival;
use assay_model::units::Nanos;
use assay_model::workload::{Expect, RequestKind};
use assay_serve::stub::{BODY, Stub};
use assay_sim::seeds::each;
use assay_sim::{Network, Pace, Weather};
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use crate::spoken::Spoken;
use crate::support::{Trial, WAY, get, program, seconds};

const WITH_BODY: [&str; 8] =
    ["/", "/trickle", "/split", "/fields", "/long-head", "/chunked", "/interim", "/close"];

fn all_right(seed: u64, spoken: Spoken, weather: Weather, kind: RequestKind, n: u64) {
    let path = kind.path.clone();
    // A long head through a small window takes thousands of ways.
    let timeout = seconds(600);
    let plan = LoadPlan { requests: vec![kind], timeout, ..spoken.plan(2, Arrival::Closed, n) };
    let report = Trial { weather, ..Trial::new(seed, program("0s"), plan) }.run().report;
    assert_eq!(report.books.ok, n, "{spoken:?} {path}: {:?} {:?}", report.books, report.samples);
}

#[test]
fn t13_every_framing_is_read_right_in_any_weather() {
    each(0..40, |seed| {
        let weather = Weather::rough(&mut ChaCha8Rng::seed_from_u64(seed));
        let spoken = Spoken::HTTP[(seed % 2) as usize];
        for path in WITH_BODY.into_iter().filter(|path| *path != "/long-head" || seed % 8 < 2) {
            all_right(seed, spoken, weather, get(path), 4);
            all_right(seed, spoken, weather, RequestKind { method: "HEAD".into(), ..get(path) }, 4);
        }
        for status in [204, 304] {
            let expect = Expect { status: Some(status), ..Expect::default() };
            all_right(seed, spoken, weather, RequestKind { expect, ..get(&format!("/{status}")) }, 4);
        }
    });
}

/// Four are asked on each connection, and the server ends it with the first answer.
#[test]
fn t13_what_was_asked_behind_the_last_answer_of_a_connection_is_asked_again() {
    let plan = Spoken::Http1.plan(2, Arrival::Closed, 40);
    let plan = LoadPlan { requests: vec![get("/close")], pipeline: 4, ..plan };
    let run = Trial::new(0, program("0s"), plan).run_unaudited();
    let (books, counts) = (&run.report.books, &run.counts);
    assert_eq!((books.ok, books.failed(), counts.right), (40, 0, 40), "{books:?} {:?}", run.report.samples);
    assert_eq!((counts.requests, books.connections_opened), (40 + books.repeated, 40));
}

/// A split answer has less than 150 bytes, so each offset comes up, and so does each for its second part.
#[test]
fn t13_an_answer_may_be_cut_anywhere() {
    for spoken in Spoken::HTTP {
        all_right(0, spoken, Weather::still(WAY), get("/split"), 150);
        let head = RequestKind { method: "HEAD".into(), ..get("/split") };
        all_right(0, spoken, Weather::still(WAY), head, 150);
    }
}

#[test]
fn t13_a_long_body_is_counted_to_the_byte() {
    let expect = Expect { status: Some(200), ..Expect::default() };
    for (weather, len) in [
        (Weather::still(WAY), 33_554_433),
        (Weather { segment_bytes: 2_000, short_receives: 0.2, ..Weather::still(WAY) }, 1_000_003),
    ] {
        let kind = RequestKind { expect: expect.clone(), ..get(&format!("/pattern/{len}")) };
        for spoken in Spoken::HTTP {
            let plan = LoadPlan { requests: vec![kind.clone()], ..spoken.plan(1, Arrival::Closed, 2) };
            let report = Trial { weather, ..Trial::new(0, program("0s"), plan) }.run().report;
            assert_eq!((report.books.ok, report.window.body_bytes), (2, 2 * len), "{spoken:?}");
        }
    }
}

/// Beyond 4 GiB the arithmetic is what can fail, and that needs no network.
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
fn t13_a_request_may_have_a_body_which_is_passed_over() {
    each(0..10, |seed| {
        let weather = Weather::rough(&mut ChaCha8Rng::seed_from_u64(seed));
        for (spoken, bytes) in Spoken::HTTP.into_iter().flat_map(|spoken| [(spoken, 1), (spoken, 100_000)]) {
            let body = Some("b".repeat(bytes));
            all_right(seed, spoken, weather, RequestKind { method: "POST".into(), body, ..get("/") }, 4);
        }
    });
}

/// What lies in a body is no request, however it is framed; and who waits is told to go on, but for one who cannot know of that.
#[test]
fn t13_a_body_is_passed_over_in_any_framing() {
    const HIDDEN: &str = "GET /204 HTTP/1.1\r\nHost: h\r\n\r\n";
    const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";
    let size = HIDDEN.len();
    for (version, fields, body, interim) in [
        ("1.1", format!("Content-Length: {size}"), HIDDEN.to_owned(), ""),
        (
            "1.1",
            "Transfer-Encoding: chunked".to_owned(),
            format!("{size:x};a\r\n{HIDDEN}\r\n0\r\nX-A: b\r\n\r\n"),
            "",
        ),
        ("1.1", format!("Expect: 100-continue\r\nContent-Length: {size}"), HIDDEN.to_owned(), CONTINUE),
        ("1.0", format!("Expect: 100-continue\r\nContent-Length: {size}"), HIDDEN.to_owned(), ""),
    ] {
        let request =
            format!("POST / HTTP/{version}\r\nHost: h\r\nConnection: close\r\n{fields}\r\n\r\n{body}");
        let got = String::from_utf8(receive(&request)).unwrap();
        let answer = got.strip_prefix(interim).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(BODY), "{request}: {got}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{request}: {got}");
    }
}

#[test]
fn t13_an_independent_parser_reads_the_same() {
    for path in WITH_BODY {
        assert_eq!(fetch(path), (200, BODY.as_bytes().to_vec()), "{path}");
    }
    assert_eq!((fetch("/204"), fetch("/304")), ((204, Vec::new()), (304, Vec::new())));
}

/// Asks a stub for a path and reads the answer to the end of the connection with httparse; returns status and body.
fn fetch(path: &str) -> (u16, Vec<u8>) {
    let bytes = receive(&format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
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

/// All that a stub sends in answer to this.
fn receive(request: &str) -> Vec<u8> {
    let (network, program, config) =
        (Network::new(0, Weather::still(WAY)), program("0s"), Config { max_connections: 1 });
    let mut engine = network.driven(config);
    let address = engine.listen("10.0.0.1:80".parse().unwrap()).unwrap();
    let mut stub = Stub::new(engine, &program, 0);
    let mut client = network.driving(config, Pace::EXACT, || stub.turn().unwrap());
    client.connect(address, None).unwrap();
    let (mut got, mut events) = (Vec::new(), Vec::new());
    loop {
        assert!(client.poll(Nanos::MAX, &mut events).unwrap() < Nanos::MAX, "it never ends");
        for event in std::mem::take(&mut events) {
            match event {
                Event::Connected(conn) => assert_eq!(client.send(conn, &[request.as_bytes()]), request.len()),
                Event::Readable(conn) => {
                    let view = client.receive(conn).to_vec();
                    client.consume(conn, view.len());
                    got.extend(view);
                }
                Event::Eof(_) => return got,
                other => panic!("{other:?}"),
            }
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
