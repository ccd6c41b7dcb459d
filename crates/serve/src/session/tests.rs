//! A session driven without sockets: every rule of the protocol, and the same output however the input is split.

mod sockets;

use std::os::unix::fs::FileExt;

use proptest::prelude::*;
use rustix::io::Errno;

use super::*;
use crate::config::Limits;
use crate::route::Files;
use crate::site::QUEUED_BYTES;

/// One connection with everything it needs; pieces are rendered as the bytes they stand for.
struct Wire {
    session: Session,
    site: Site,
    now: Nanos,
    /// Received and not consumed.
    pending: Vec<u8>,
    sent: Vec<u8>,
    end: Option<bool>,
    files: Vec<(&'static str, &'static str)>,
}

impl Wire {
    fn new(limits: Limits) -> Self {
        let mut site = Site::new(limits, Files::Nowhere).unwrap();
        site.set_wall_clock(Nanos::ZERO, Nanos(784_111_777_000_000_000));
        let session = Session::new(Nanos::ZERO, &site);
        Self {
            session,
            site,
            now: Nanos::ZERO,
            pending: Vec::new(),
            sent: Vec::new(),
            end: None,
            files: Vec::new(),
        }
    }

    /// Delivers bytes and lets the session go on until it waits or ends.
    fn deliver(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        while self.end.is_none() {
            match self.step() {
                Next::Continue => {}
                Next::Receive => return,
                Next::End { linger } => self.end = Some(linger),
            }
        }
    }

    fn step(&mut self) -> Next {
        let Self { session, site, now, pending, sent, files, .. } = self;
        let mut out = Vec::new();
        let mut find = |wanted: &Wanted<'_>| Ok(found(files, wanted));
        let step = session.step(
            pending,
            &mut Context { now: *now, site, out: &mut out, find: &mut find, kept: &Cell::new(None) },
        );
        let copied = step.piece.map(|piece| piece.len).filter(|&len| len <= QUEUED_BYTES).unwrap_or_default();
        assert!(out.len() + copied <= STEP_BYTES, "a step is bounded");
        sent.append(&mut out);
        pending.drain(..step.consumed);
        match step.piece {
            Some(Piece { source: Source::Pattern, offset, len }) => {
                let range = site.pattern.range(offset, len);
                let from = sent.len();
                sent.resize(from + len, 0);
                range.file.read_exact_at(&mut sent[from..], range.offset).unwrap();
            }
            Some(Piece { source: Source::File, offset, len }) => {
                sent.extend_from_slice(&files[0].1.as_bytes()[offset as usize..][..len]);
            }
            None => {}
        }
        step.next
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.sent).into_owned()
    }

    fn expire(&mut self, stuck: bool) -> Expiry {
        let mut out = Vec::new();
        let mut find = |_: &Wanted<'_>| Ok(Lookup::Absent);
        let mut cx = Context {
            now: self.now,
            site: &mut self.site,
            out: &mut out,
            find: &mut find,
            kept: &Cell::new(None),
        };
        let expiry = self.session.expire(stuck, &mut cx);
        self.sent.append(&mut out);
        expiry
    }
}

/// Looks among the files that are given; one that has no content is a folder.
fn found(files: &[(&str, &str)], wanted: &Wanted<'_>) -> Lookup<Found> {
    let Some(file) = files.iter().find(|file| file.0.as_bytes() == wanted.target) else {
        return Lookup::Absent;
    };
    if file.1.is_empty() {
        return Lookup::Folder(format!("{}/", file.0));
    }
    let len = file.1.len() as u64;
    let coding = wanted.accepted.best_first().next();
    coding.map_or(Lookup::NotAcceptable, |coding| {
        Lookup::File(Found { len, modified_s: 784_111_777, modified_ns: 0, media_type: "text/plain", coding })
    })
}

fn exchange(input: &str) -> Wire {
    let mut wire = Wire::new(Limits::default());
    wire.deliver(input.as_bytes());
    wire
}

/// The status codes of all responses, in order, and whether the connection ended.
fn outcome(input: &str) -> (Vec<u16>, bool) {
    let wire = exchange(input);
    (statuses(&wire.text()), wire.end.is_some())
}

fn statuses(text: &str) -> Vec<u16> {
    text.split("HTTP/1.1 ").skip(1).map(|rest| rest[..3].parse().unwrap()).collect()
}

const GET: &str = "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n";

#[test]
fn hello_is_answered_to_the_byte() {
    assert_eq!(
        exchange(GET).text(),
        "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: assay\r\nContent-Type: text/plain\r\n\
         Content-Length: 5\r\n\r\nhello"
    );
}

#[test]
fn pipelined_requests_are_answered_in_order_in_one_step() {
    let targets = ["/hello", "/plaintext", "/json", "/byte", "/bytes/3", "/missing", "/"];
    let requests: String = targets.iter().map(|t| format!("GET {t} HTTP/1.1\r\nHost: h\r\n\r\n")).collect();
    let mut wire = Wire::new(Limits::default());
    wire.pending.extend_from_slice(requests.as_bytes());
    assert_eq!(wire.step(), Next::Receive);
    let text = wire.text();
    let bodies: Vec<_> =
        text.split("\r\n\r\n").skip(1).map(|s| s.split("HTTP/1.1").next().unwrap()).collect();
    let missing = "404 there is nothing at this path\n";
    let json = "{\"message\":\"Hello, World!\"}";
    assert_eq!(bodies, ["hello", "Hello, World!", json, "!", "012", missing, "hello"]);
    assert_eq!(wire.site.requests, 7);
}

#[test]
fn the_output_is_the_same_wherever_the_input_is_split() {
    let conversations = [
        format!("{GET}HEAD /json HTTP/1.1\r\nHost: h\r\n\r\n\r\nGET /bytes/5000 HTTP/1.1\r\nHost: h\r\n\r\n"),
        format!("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde{GET}"),
        format!(
            "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n{GET}"
        ),
        format!("POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi{GET}"),
        format!("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n{GET}"),
        format!("{GET}GET / HTTP/1.1\r\nHost: h\r\nBad Name: x\r\n\r\n{GET}"),
        format!("{GET}POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{GET}"),
    ];
    for conversation in &conversations {
        let whole = exchange(conversation);
        assert!(!whole.sent.is_empty());
        for cut in 1..conversation.len() {
            let mut wire = Wire::new(Limits::default());
            wire.deliver(&conversation.as_bytes()[..cut]);
            wire.deliver(&conversation.as_bytes()[cut..]);
            assert_eq!(wire.text(), whole.text(), "cut at {cut}: {conversation:?}");
            assert_eq!(wire.end.is_some(), whole.end.is_some(), "cut at {cut}: {conversation:?}");
        }
        let mut wire = Wire::new(Limits::default());
        conversation.bytes().for_each(|byte| wire.deliver(&[byte]));
        assert_eq!(wire.text(), whole.text(), "byte by byte: {conversation:?}");
    }
}

/// The data of a chunked body.
fn dechunk(mut body: &[u8]) -> Vec<u8> {
    let mut reader = assay_http::BodyReader::new(Framing::Chunked);
    let mut data = Vec::new();
    while !reader.is_finished() {
        let step = reader.next(body).unwrap();
        data.extend_from_slice(step.data);
        body = &body[step.consumed..];
    }
    assert!(body.is_empty());
    data
}

#[test]
fn a_chunked_echo_carries_the_same_data_wherever_it_is_split() {
    let request = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n";
    for cut in 1..request.len() {
        let mut wire = Wire::new(Limits::default());
        wire.deliver(&request.as_bytes()[..cut]);
        wire.deliver(&request.as_bytes()[cut..]);
        let text = wire.text();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("Transfer-Encoding: chunked"));
        assert_eq!(dechunk(body.as_bytes()), b"hello0123456789abcdef", "cut at {cut}");
    }
}

#[test]
fn large_bodies_leave_in_bounded_steps() {
    let wire = exchange(&format!("GET /bytes/1000000 HTTP/1.1\r\nHost: h\r\n\r\n{GET}"));
    let text = wire.text();
    let (head, rest) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("Content-Length: 1000000"));
    let body: String = ('0'..='9').chain('A'..='Z').chain('a'..='z').chain("-_".chars()).collect();
    assert_eq!(&rest[..1_000_000], body.repeat(15_625));
    assert_eq!(statuses(&text), [200, 200]);
}

#[test]
fn a_flood_of_pipelined_requests_waits_for_the_output_to_drain() {
    let mut wire = Wire::new(Limits::default());
    wire.pending = GET.repeat(2000).into_bytes();
    assert_eq!(wire.step(), Next::Continue);
    assert!(!wire.pending.is_empty(), "parsing stopped");
    wire.deliver(b"");
    assert_eq!(statuses(&wire.text()).len(), 2000);
}

#[test]
fn connections_persist_as_the_version_and_the_client_say() {
    for (request, ends, says) in [
        ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", false, None),
        ("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", true, Some("Connection: close\r\n")),
        ("GET / HTTP/1.0\r\n\r\n", true, Some("Connection: close\r\n")),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false, Some("Connection: keep-alive\r\n")),
        ("GET /bytes/9 HTTP/1.0\r\n\r\n", true, Some("Connection: close\r\n")),
        ("GET /bytes/90000 HTTP/1.0\r\n\r\n", true, Some("Connection: close\r\n")),
    ] {
        let wire = exchange(request);
        assert_eq!(wire.end, ends.then_some(false), "{request:?}");
        assert_eq!(wire.text().contains("Connection:"), says.is_some(), "{request:?}");
        assert!(wire.text().contains(says.unwrap_or("")), "{request:?}");
    }
}

#[test]
fn nothing_is_answered_after_the_last_response() {
    let wire = exchange(&format!("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n{GET}"));
    assert_eq!((statuses(&wire.text()), wire.end), (vec![200], Some(true)), "lingers, for there is more");
}

#[test]
fn head_has_the_fields_and_no_body() {
    for target in ["/hello", "/json", "/bytes/100000", "/missing"] {
        let get = exchange(&format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n")).text();
        let head = exchange(&format!("HEAD {target} HTTP/1.1\r\nHost: h\r\n\r\n")).text();
        assert!(head.ends_with("\r\n\r\n") && get.starts_with(&head) && get.len() > head.len(), "{target}");
    }
}

#[test]
fn refusals_have_their_status_and_end_the_connection() {
    let long_target = format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "x".repeat(9000));
    let long_head = format!("GET / HTTP/1.1\r\nHost: h\r\nA: {}\r\n\r\n", "x".repeat(70_000));
    let head = "POST /echo HTTP/1.1\r\nHost: h\r\n";
    for (request, status) in [
        ("GARBAGE\r\n\r\n".into(), 400),
        ("GET / HTTP/1.1\r\n\r\n".into(), 400),
        ("GET / HTTP/1.1\r\nHost: h\r\n folded: x\r\n\r\n".into(), 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n".into(), 400),
        ("GET / HTTP/1.1\r\nHost: h\r\nA: b\0c\r\n\r\n".into(), 400),
        ("GET / HTTP/3.0\r\nHost: h\r\n\r\n".into(), 505),
        ("CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n".into(), 501),
        ("GET / HTTP/1.1\r\nHost: h\r\nExpect: a-miracle\r\n\r\n".into(), 417),
        ("GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n".into(), 400),
        (long_target, 414),
        (long_head, 431),
        (format!("{head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"), 400),
        (format!("{head}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400),
        (format!("{head}Content-Length: -1\r\n\r\n"), 400),
        (format!("{head}Content-Length: 1073741825\r\n\r\n"), 413),
        (format!("{head}Transfer-Encoding: gzip\r\n\r\n"), 501),
        (format!("{head}Transfer-Encoding: chunked\r\n\r\nxyz\r\n"), 400),
        (format!("{head}Transfer-Encoding: chunked\r\n\r\n11111111111111111\r\n"), 413),
    ] {
        // What follows is never believed to be a request: a smuggled one would be answered here.
        assert_eq!(outcome(&format!("{request}{GET}")), (vec![status], true), "{:.80}", request);
    }
}

#[test]
fn wrong_paths_and_methods_keep_the_connection() {
    let ask = |line: &str| outcome(&format!("{line} HTTP/1.1\r\nHost: h\r\n\r\n{GET}"));
    assert_eq!(ask("GET /nothing"), (vec![404, 200], false));
    assert_eq!(ask("GET /../etc/passwd"), (vec![400, 200], false));
    assert_eq!(ask("DELETE /hello"), (vec![405, 200], false));
    assert_eq!(ask("GET /echo"), (vec![405, 200], false));
    assert_eq!(ask("BREW /hello"), (vec![501, 200], false));
    assert_eq!(ask("OPTIONS *"), (vec![204, 200], false));
    assert_eq!(ask("TRACE /hello"), (vec![405, 200], false));
    for (line, allow) in [
        ("PUT /json", "GET, HEAD, OPTIONS"),
        ("OPTIONS /json", "GET, HEAD, OPTIONS"),
        ("GET /echo", "POST, OPTIONS"),
        ("OPTIONS /echo", "POST, OPTIONS"),
    ] {
        let answer = exchange(&format!("{line} HTTP/1.1\r\nHost: h\r\n\r\n")).text();
        assert!(answer.contains(&format!("\r\nAllow: {allow}\r\n")), "{line}: {answer}");
    }
}

#[test]
fn a_body_is_read_before_the_answer_and_never_taken_for_a_request() {
    let inner = "GET /json HTTP/1.1\r\nHost: h\r\n\r\n";
    let length = inner.len();
    let request =
        format!("POST /missing HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{inner}{GET}");
    assert_eq!(outcome(&request), (vec![404, 200], false));
    let request =
        format!("GET /hello HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{}", &inner[1..]);
    assert_eq!(outcome(&request), (vec![], false), "one byte is missing");
}

#[test]
fn expect_is_answered_before_the_body_comes() {
    let head = "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    let mut wire = exchange(head);
    assert_eq!(statuses(&wire.text()), [100]);
    wire.deliver(b"ok");
    assert_eq!(statuses(&wire.text()), [100, 200]);
    assert!(wire.text().ends_with("\r\n\r\nok"));
    let refused = outcome(&head.replace("/echo", "/missing"));
    assert_eq!(refused, (vec![404], true), "the body is not asked for, so the connection cannot go on");
}

#[test]
fn a_body_over_the_limit_is_refused_in_either_framing() {
    let limits = Limits { body_bytes: 10, ..Limits::default() };
    for body in ["Content-Length: 11\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nb\r\n"] {
        let mut wire = Wire::new(limits);
        wire.deliver(format!("POST /echo HTTP/1.1\r\nHost: h\r\n{body}{}{GET}", "x".repeat(11)).as_bytes());
        assert_eq!((statuses(&wire.text()), wire.end), (vec![413], Some(true)), "{body:?}");
    }
}

#[test]
fn half_an_echo_ends_short_instead_of_becoming_two_responses() {
    let mut wire = exchange("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
    wire.deliver(format!("zz\r\n{GET}").as_bytes());
    assert_eq!((statuses(&wire.text()), wire.end), (vec![200], Some(true)));
    assert!(!wire.text().ends_with("0\r\n\r\n"));
}

#[test]
fn deadlines_follow_what_the_connection_waits_for() {
    let limits = Limits::default();
    let mut wire = Wire::new(limits);
    assert_eq!(wire.session.deadline, limits.idle);
    wire.now = Nanos(1);
    wire.deliver(b"GET / HT");
    assert_eq!(wire.session.deadline, Nanos(1) + limits.head_time);
    wire.now = Nanos(2);
    wire.deliver(b"TP/1.1\r\n");
    assert_eq!(wire.session.deadline, Nanos(1) + limits.head_time, "a trickle buys no time");
    wire.now = Nanos(3);
    wire.deliver(b"Host: h\r\n\r\n");
    assert_eq!(wire.session.deadline, Nanos(3) + limits.idle);
}

#[test]
fn a_body_buys_time_by_its_rate() {
    let limits = Limits { body_rate: 1000, ..Limits::default() };
    let mut wire = Wire::new(limits);
    wire.deliver(b"POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
    assert_eq!(wire.session.deadline, limits.body_time);
    wire.now = Nanos::from_millis(5000);
    wire.deliver(&[b'x'; 100]);
    assert_eq!(wire.session.deadline, limits.body_time + Nanos::from_millis(100));
}

#[test]
fn time_ends_a_connection_in_the_way_its_state_asks_for() {
    assert_eq!(exchange("").expire(false), Expiry::Close);
    assert_eq!(exchange(GET).expire(false), Expiry::Close);
    assert_eq!(exchange(GET).expire(true), Expiry::Abort, "the peer does not take its answer");
    let mut late = exchange("GET / HTTP/1.1\r\n");
    assert_eq!((late.expire(false), statuses(&late.text())), (Expiry::Refused, vec![408]));
    let mut late = exchange("POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc");
    assert_eq!((late.expire(false), statuses(&late.text())), (Expiry::Refused, vec![408]));
    let mut late = exchange("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc");
    assert_eq!((late.expire(false), statuses(&late.text())), (Expiry::Abort, vec![200]));
    assert_eq!(exchange("garbage\r\n\r\n").expire(false), Expiry::Close);
}

#[test]
fn stopping_ends_idle_connections_and_finishes_requests() {
    let mut idle = exchange(GET);
    idle.session.make_last();
    idle.deliver(b"");
    assert_eq!(idle.end, Some(false));
    let mut busy = exchange(&GET[..20]);
    busy.session.make_last();
    busy.deliver(&GET.as_bytes()[20..]);
    assert!(busy.text().contains("\r\nConnection: close\r\n\r\nhello"));
    assert_eq!(busy.end, Some(true), "it did not ask for the end and may have sent more");
}

#[test]
fn files_are_sent_whole_in_part_or_not_at_all() {
    let ask = |fields: &str| {
        let mut wire = Wire::new(Limits::default());
        wire.site.files = Files::Everywhere;
        wire.files = vec![("/", "0123456789")];
        wire.deliver(format!("GET / HTTP/1.1\r\nHost: h\r\n{fields}\r\n{GET}").as_bytes());
        wire.text()
    };
    assert!(ask("").contains("\r\n\r\n0123456789HTTP/1.1 200"));
    assert!(ask("").contains("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nETag: \"2ebc98a1.0-a\"\r\n"));
    assert!(ask("").contains("Vary: Accept-Encoding\r\n") && !ask("").contains("Content-Encoding"));
    let coded = ask("Accept-Encoding: zstd, gzip\r\nRange: bytes=0-0\r\n");
    assert!(coded.contains("Content-Encoding: zstd\r\n") && coded.contains("-a-zstd\"\r\n"), "{coded}");
    assert!(coded.contains("\r\n\r\n0HTTP/1.1 200"), "the range is one of the coded bytes: {coded}");
    let refused = ask("Accept-Encoding: identity;q=0\r\n");
    assert!(refused.contains("Vary: Accept-Encoding\r\n") && statuses(&refused) == [406, 200], "{refused}");
    let part = ask("Range: bytes=2-4\r\n");
    assert!(part.starts_with("HTTP/1.1 206") && part.contains("Content-Range: bytes 2-4/10\r\n"), "{part}");
    assert!(part.contains("Content-Length: 3\r\n\r\n234HTTP/1.1 200"), "{part}");
    assert!(ask("Range: bytes=10-\r\n").contains("Content-Range: bytes */10\r\n"));
    let not_modified = ask("If-None-Match: \"2ebc98a1.0-a\"\r\n");
    assert!(not_modified.starts_with("HTTP/1.1 304"), "{not_modified}");
    assert_eq!(statuses(&not_modified), [304, 200]);
    assert_eq!(statuses(&ask("If-Match: \"x\"\r\n")), [412, 200]);
    assert_eq!(statuses(&ask("Content-Length: 1\r\n")), [400], "a body for a file");
}

#[test]
fn a_folder_is_a_redirect_however_full_the_step_is() {
    let mut wire = Wire::new(Limits::default());
    wire.site.files = Files::Everywhere;
    wire.files = vec![("/sub", "")];
    let request = "GET /sub HTTP/1.1\r\nHost: h\r\n\r\n";
    wire.deliver(request.repeat(1000).as_bytes());
    assert_eq!(wire.text().matches("\r\nLocation: /sub/\r\n").count(), 1000);
    assert_eq!(statuses(&wire.text()), vec![301; 1000]);
}

#[test]
fn trouble_with_a_file_is_told_from_a_shortage_that_passes() {
    for (error, status) in [(Errno::MFILE, 503), (Errno::NFILE, 503), (Errno::IO, 500)] {
        let mut wire = Wire::new(Limits::default());
        wire.site.files = Files::Everywhere;
        let mut out = Vec::new();
        let mut find = |_: &Wanted<'_>| Err(error.into());
        let mut cx = Context {
            now: wire.now,
            site: &mut wire.site,
            out: &mut out,
            find: &mut find,
            kept: &Cell::new(None),
        };
        let step = wire.session.step(b"GET /file HTTP/1.1\r\nHost: h\r\n\r\n", &mut cx);
        assert_eq!((step.next, statuses(&String::from_utf8(out).unwrap())), (Next::Receive, vec![status]));
    }
}

#[test]
fn pipelined_responses_leave_before_more_than_the_limit_are_put_together() {
    let mut wire = Wire::new(Limits { pipeline: 3, ..Limits::default() });
    wire.pending = GET.repeat(7).into_bytes();
    for (requests, next) in [(3, Next::Continue), (6, Next::Continue), (7, Next::Receive)] {
        assert_eq!(wire.step(), next);
        assert_eq!(statuses(&wire.text()).len(), requests);
    }
}

#[test]
fn idle_connections_are_small() {
    assert!(size_of::<Session>() <= 128, "{} bytes", size_of::<Session>());
}

proptest! {
    #[test]
    fn noise_between_requests_is_survived_and_split_anywhere_alike(
        parts in prop::collection::vec(
            prop_oneof![
                Just(GET.as_bytes().to_vec()),
                Just(b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc".to_vec()),
                Just(b"GET /bytes/4097 HTTP/1.1\r\nHost: h\r\n\r\n".to_vec()),
                Just(b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n".to_vec()),
                "[ -~\r\n]{0,40}".prop_map(String::into_bytes),
                prop::collection::vec(any::<u8>(), 0..20),
            ],
            0..8,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        // A head is looked at again when a line ends, so what is wrong with it shows at the next line end.
        let input = [parts.concat(), b"\r\n".to_vec()].concat();
        let mut whole = Wire::new(Limits::default());
        whole.deliver(&input);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.extend([0, input.len()]);
        cuts.sort_unstable();
        let mut split = Wire::new(Limits::default());
        cuts.windows(2).for_each(|ends| split.deliver(&input[ends[0]..ends[1]]));
        prop_assert_eq!(split.text(), whole.text());
        prop_assert_eq!(split.site.requests, whole.site.requests);
        prop_assert!(whole.site.refused <= 1, "the first refusal is the last word");
    }
}
