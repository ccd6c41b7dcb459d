//! A session that speaks HTTP/2, with the server's end by hand.

mod calls;

use super::*;
use crate::arrivals::Closed;
use crate::plan::{Http, Reuse};
use crate::recorder::Recorder;
use crate::schedule::{Hours, Schedule};
use crate::session::{Fate, Session};
use crate::traffic::Numbering;
use assay_h2::frame::{write_go_away, write_ping, write_reset, write_window_update};
use assay_h2::hpack::write_field;
use assay_h2::{Code, Event};
use assay_model::workload::{Expect, RequestKind};
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

const TIMEOUT: Nanos = Nanos(1000);

const OK: (&str, &str) = (":status", "200");

/// Client and server of one connection of four streams, open at time 10.
struct Both {
    session: Session<Closed, Http2>,
    server: Connection,
    /// Bytes of bodies that the client has sent.
    bytes: usize,
}

impl Both {
    fn new(body: Option<&str>, theirs: Settings) -> Self {
        let expect = Expect { body: Some("ok".into()), ..Expect::default() };
        let (method, path, headers) = ("PUT".into(), "/".into(), Vec::new());
        let kind = RequestKind { weight: 1, method, path, headers, body: body.map(str::to_owned), expect };
        Self::asking(kind, false, theirs)
    }

    /// Requests of this kind, or calls of gRPC.
    fn asking(kind: RequestKind, grpc: bool, theirs: Settings) -> Self {
        let plan = LoadPlan {
            http: Http::Two,
            grpc,
            pipeline: 4,
            ..LoadPlan::new("127.0.0.1:80".parse().unwrap(), vec![kind])
        };
        plan.check().unwrap();
        let (protocol, random) = (Http2::new(&plan).unwrap(), ChaCha8Rng::seed_from_u64(0));
        let numbering = Numbering { seed: 0, thread: 0, threads: 1 };
        let numbers = |kind| protocol.numbers(kind);
        let traffic = Traffic::new(&plan.requests, &numbers, plan.checking, numbering, random).unwrap();
        let traffic = if grpc { traffic.of_messages() } else { traffic };
        let recorder = Recorder::new(false, Nanos(1_000_000));
        let schedule = Schedule::new(Closed);
        let mut session = Session::new(1, protocol, Reuse::Always, TIMEOUT, schedule, recorder, traffic);
        session.begin(Hours { start: Nanos(10), window: Nanos(10), end: Nanos::MAX }, u64::MAX, Nanos(10));
        session.opened(0, Nanos(10), None);
        let server = Connection::new(Role::Server, &theirs, 0, Limits::DEFAULT);
        let mut both = Self { session, server, bytes: 0 };
        both.take_sent();
        both
    }

    /// Takes what the client has sent: the streams that it opened.
    fn take_sent(&mut self) -> Vec<u32> {
        let mut opened = Vec::new();
        while self.session.has_unsent(0) {
            let sent: Vec<u8> = self.session.parcel(0).parts().concat();
            self.session.accepted(0, sent.len());
            let mut at = 0;
            while let Some((used, event)) = self.server.read(&sent[at..]).unwrap() {
                match event {
                    Event::Fields { stream, block, .. } => {
                        self.server.decode(&block, |_, _| ()).unwrap();
                        opened.push(stream);
                    }
                    Event::Data { data, .. } => self.bytes += data.len(),
                    _ => {}
                }
                at += used;
            }
        }
        opened
    }

    /// Issues what there is room for, and returns the streams that were opened.
    fn issue(&mut self, now: u64) -> Vec<u32> {
        while self.session.issue(Nanos(now)).is_some() {}
        self.take_sent()
    }

    fn head(&mut self, stream: u32, fields: &[(&str, &str)], is_end: bool) {
        let mut block = Vec::new();
        fields.iter().for_each(|(name, value)| write_field(name.as_bytes(), value.as_bytes(), &mut block));
        write_block(stream, &block, is_end, self.server.out());
    }

    fn data(&mut self, stream: u32, data: &[u8], is_end: bool) {
        let end = if is_end { flag::END_STREAM } else { 0 };
        write_head(Kind::Data, end, stream, data.len(), self.server.out());
        self.server.out().extend_from_slice(data);
    }

    fn answer(&mut self, stream: u32, body: &str) {
        self.head(stream, &[OK], false);
        self.data(stream, body.as_bytes(), true);
    }

    /// Hands over what the server has to say.
    fn deliver(&mut self, now: u64) -> Fate {
        let bytes = std::mem::take(self.server.out());
        let (used, fate) = self.session.received(0, 0, &bytes, Nanos(now));
        assert_eq!(used, bytes.len());
        self.take_sent();
        fate
    }

    fn outcomes(&self) -> (u64, Vec<(ErrorClass, u64)>) {
        let total = &self.session.recorder.total;
        (total.ok, total.errors().into_iter().collect())
    }
}

#[test]
fn streams_are_answered_in_any_order_and_their_places_taken_again() {
    let mut both = Both::new(None, Settings::default());
    assert_eq!(both.issue(10), [1, 3, 5, 7]);
    both.answer(5, "ok");
    both.answer(1, "ok");
    assert_eq!(both.deliver(20), Fate::Keep);
    assert_eq!((both.outcomes(), both.session.in_flight()), ((2, vec![]), 2));
    assert_eq!(both.issue(20), [9, 11]);
    assert_eq!(both.session.slots[0].deadline, Nanos(10) + TIMEOUT, "of the oldest that is left");
}

#[test]
fn no_more_streams_are_opened_than_the_server_takes() {
    let mut both = Both::new(None, Settings { concurrent_streams: 2, ..Settings::default() });
    both.deliver(15);
    assert_eq!(both.issue(20), [1, 3]);
    assert_eq!(both.session.limit(), 2, "more are not kept back by us");
}

#[test]
fn what_the_server_has_not_looked_at_is_sent_once_more_and_is_no_failure() {
    let mut both = Both::new(None, Settings::default());
    both.issue(10);
    both.answer(1, "ok");
    write_reset(3, Code::RefusedStream.number(), both.server.out());
    write_go_away(5, 0, both.server.out());
    assert_eq!(both.deliver(20), Fate::Keep);
    assert_eq!((both.outcomes(), both.session.recorder.repeated), ((1, vec![]), 2));
    assert_eq!((both.session.in_flight(), both.issue(21)), (1, vec![]), "this connection takes no more");
    both.answer(5, "ok");
    assert!(matches!(both.deliver(30), Fate::Linger(_)));
    both.session.vacated(0);
    both.session.opened(0, Nanos(40), None);
    both.server = Connection::new(Role::Server, &Settings::default(), 0, Limits::DEFAULT);
    both.take_sent();
    assert_eq!(both.issue(40), [1, 3, 5, 7]);
    assert_eq!(both.session.schedule.issued(), 6, "of these, two were due before");
}

#[test]
fn each_fault_of_a_stream_has_its_class_and_leaves_the_others() {
    let mut both = Both::new(None, Settings::default());
    both.issue(10);
    both.answer(1, "no");
    write_reset(3, Code::InternalError.number(), both.server.out());
    both.head(5, &[("server", "without a status")], true);
    both.answer(7, "ok");
    assert_eq!(both.deliver(20), Fate::Await(Nanos(20) + TIMEOUT));
    let classes = [ErrorClass::StreamReset, ErrorClass::Parse, ErrorClass::WrongBody];
    assert_eq!(both.outcomes(), (1, classes.map(|class| (class, 1)).to_vec()));
}

#[test]
fn a_reset_is_told_with_its_code_and_without_what_came_for_others() {
    let mut both = Both::new(None, Settings::default());
    both.issue(10);
    both.head(1, &[OK], false);
    write_reset(3, Code::EnhanceYourCalm.number(), both.server.out());
    both.deliver(20);
    let [told] = both.session.recorder.samples.as_slice() else { panic!("one failure") };
    assert_eq!(told.detail, "the server reset the stream with ENHANCE_YOUR_CALM");
    assert_eq!(told.received, "");
}

#[test]
fn an_answer_that_has_no_body_is_malformed_with_one() {
    for (method, status) in [("HEAD", "200"), ("GET", "204"), ("GET", "304")] {
        let expect = Expect { status: status.parse().ok(), ..Expect::default() };
        let kind = RequestKind { method: method.into(), expect, ..RequestKind::get("/") };
        let mut both = Both::asking(kind, false, Settings::default());
        both.issue(10);
        let fields = [(":status", status), ("content-length", "2")];
        both.head(1, &fields, true);
        both.head(3, &fields, false);
        both.data(3, b"", true);
        both.head(5, &fields, false);
        both.data(5, b"ok", true);
        assert_eq!(both.deliver(20), Fate::Keep);
        assert_eq!(both.outcomes(), (2, vec![(ErrorClass::Parse, 1)]), "{method} {status}");
    }
}

#[test]
fn a_field_that_is_none_spoils_its_answer_in_the_head_and_in_trailers() {
    let spoilt = [
        ("x", "a\0b"),
        ("x", "a\r\nset-cookie: b"),
        ("x", " a"),
        ("x", "a\t"),
        ("X", "a"),
        ("x(y)", "a"),
        ("", "a"),
        (":path", "/"),
        ("connection", "close"),
    ];
    for field in spoilt.into_iter().chain([("content-length", "+2"), ("content-length", "")]) {
        let mut both = Both::new(None, Settings::default());
        both.issue(10);
        both.head(1, &[OK, field], false);
        both.data(1, b"ok", true);
        both.head(3, &[OK, ("x", "a \t\u{e9}"), ("content-length", "02")], false);
        both.data(3, b"ok", false);
        both.head(3, &[field], true);
        both.answer(5, "ok");
        assert_eq!(both.deliver(20), Fate::Keep);
        // A trailer tells no length, so nothing can be wrong with it.
        let in_trailers = u64::from(spoilt.contains(&field));
        assert_eq!(
            both.outcomes(),
            (2 - in_trailers, vec![(ErrorClass::Parse, 1 + in_trailers)]),
            "{field:?}"
        );
    }
}

/// A block of 5 kB that stands for 4 MB: a field enters the table, and is named there a thousand times (an HPACK bomb).
#[test]
fn a_head_that_inflates_fails_its_request_and_leaves_the_others() {
    let mut both = Both::new(None, Settings::default());
    both.issue(10);
    let mut block = Vec::new();
    write_field(b":status", b"200", &mut block);
    // A literal with indexing; 4000 is 127 in the prefix and 3873 in two bytes (RFC 7541 §5.1).
    block.extend_from_slice(&[0x40, 1, b'x', 0x7f, 0xa1, 0x1e]);
    block.extend_from_slice(&[b'y'; 4000]);
    block.extend_from_slice(&[0x80 | 62; 1000]);
    write_block(1, &block, true, both.server.out());
    both.answer(3, "ok");
    assert_eq!(both.deliver(20), Fate::Keep);
    assert_eq!(both.outcomes(), (1, vec![(ErrorClass::Parse, 1)]));
}

#[test]
fn a_stream_that_is_not_answered_in_time_is_given_up_alone() {
    let mut both = Both::new(None, Settings::default());
    assert_eq!(both.issue(10), [1, 3, 5, 7]);
    both.answer(3, "ok");
    both.deliver(20);
    assert_eq!(both.issue(500), [9]);
    assert_eq!(both.session.expire(0, 0, Nanos(10) + TIMEOUT), Fate::Keep);
    assert_eq!(both.outcomes(), (1, vec![(ErrorClass::HeadTimeout, 3)]));
    assert_eq!((both.session.in_flight(), both.session.slots[0].deadline), (1, Nanos(500) + TIMEOUT));
    both.answer(1, "ok");
    both.answer(9, "ok");
    assert_eq!(both.deliver(1100), Fate::Await(Nanos(1100) + TIMEOUT));
    assert_eq!(both.outcomes().0, 2, "what comes too late is nobody's");
    both.issue(1200);
    assert_eq!(both.session.expire(0, 0, Nanos(1200) + TIMEOUT), Fate::Abort, "nothing is left to wait for");
}

#[test]
fn what_comes_on_a_stream_that_has_ended_nobody_asked_for() {
    for write in [
        (|both| both.data(1, b"more", true)) as fn(&mut Both),
        |both| both.data(1, b"", false),
        |both| both.head(1, &[OK], true),
        |both| both.head(3, &[OK], true),
    ] {
        let mut both = Both::new(None, Settings { concurrent_streams: 2, ..Settings::default() });
        both.deliver(5);
        assert_eq!(both.issue(10), [1, 3]);
        both.answer(1, "ok");
        write_reset(3, Code::InternalError.number(), both.server.out());
        write(&mut both);
        assert_eq!(both.deliver(20), Fate::Abort);
        assert_eq!(both.outcomes(), (1, vec![(ErrorClass::StreamReset, 1)]), "no request is to blame");
        let recorder = &both.session.recorder;
        let told = &recorder.samples[recorder.samples.len() - 1].detail;
        assert!(told.contains("on a stream that has ended (STREAM_CLOSED)"), "{told}");
        assert_eq!(recorder.unsolicited, 1);
    }
}

#[test]
fn what_is_in_flight_is_lost_with_a_connection_on_which_an_ended_stream_goes_on() {
    for answered_or_given_back in [1, 7] {
        let mut both = Both::new(None, Settings::default());
        both.issue(10);
        both.answer(1, "ok");
        write_go_away(5, 0, both.server.out());
        both.data(answered_or_given_back, b"more", true);
        both.answer(3, "ok");
        assert_eq!(both.deliver(20), Fate::Abort);
        assert_eq!(both.outcomes(), (1, vec![(ErrorClass::Parse, 2)]));
        let recorder = &both.session.recorder;
        assert_eq!((recorder.unsolicited, recorder.repeated, both.session.in_flight()), (0, 1, 0));
    }
}

#[test]
fn what_was_under_way_on_a_stream_that_we_reset_is_passed_over() {
    let mut both = Both::new(None, Settings::default());
    both.issue(10);
    both.data(1, b"before the head", false);
    both.answer(1, "ok");
    write_window_update(3, 0, both.server.out());
    both.answer(3, "ok");
    both.answer(5, "ok");
    write_reset(5, Code::NoError.number(), both.server.out());
    write_window_update(5, 1, both.server.out());
    both.answer(7, "ok");
    both.deliver(20);
    assert_eq!(both.outcomes(), (2, vec![(ErrorClass::Parse, 2)]));
}

#[test]
fn a_body_waits_for_its_window_and_an_early_answer_ends_it() {
    let theirs = Settings { initial_window: 10, concurrent_streams: 1, ..Settings::default() };
    let mut both = Both::new(Some(&"x".repeat(100)), theirs);
    both.deliver(15);
    assert_eq!((both.issue(20), both.bytes), (vec![1], 10));
    write_window_update(1, 30, both.server.out());
    both.deliver(25);
    assert_eq!(both.bytes, 40);
    both.answer(1, "ok");
    both.deliver(30);
    assert_eq!(both.outcomes(), (1, vec![]));
    write_window_update(1, 100, both.server.out());
    both.deliver(35);
    assert_eq!(both.bytes, 40);
}

#[test]
fn a_server_that_speaks_http_1_is_told_as_such() {
    let mut both = Both::new(None, Settings::default());
    both.issue(10);
    let text = b"HTTP/1.1 400 Bad Request\r\n\r\n";
    assert_eq!(both.session.received(0, 0, text, Nanos(20)).1, Fate::Abort);
    assert_eq!(both.outcomes(), (0, vec![(ErrorClass::Parse, 4)]));
    assert!(both.session.recorder.samples[0].detail.contains("HTTP/1.1"));
}

#[test]
fn a_request_that_is_given_back_each_time_fails_when_its_time_is_over() {
    let mut both = Both::new(None, Settings::default());
    let mut now = 10;
    while both.session.recorder.total.failed() == 0 {
        for stream in both.issue(now) {
            write_reset(stream, Code::RefusedStream.number(), both.server.out());
        }
        now += 400;
        assert!(now < 10_000, "it never ends");
        // Timed once, because our answer to the server's settings has not left.
        let timed = Fate::Await(Nanos(now) + TIMEOUT);
        assert_eq!(both.deliver(now), if now == 410 { timed } else { Fate::Keep });
    }
    assert_eq!(both.outcomes(), (0, vec![(ErrorClass::SendTimeout, 4)]));
    assert_eq!(
        (now, both.session.recorder.repeated),
        (10 + 3 * 400, 2 * 4),
        "within the timeout they are repeated"
    );
}

#[test]
fn streams_that_are_reset_are_failures_however_many_they_are() {
    let mut both = Both::new(None, Settings::default());
    for round in 0..4000 {
        for stream in both.issue(20) {
            write_reset(stream, Code::InternalError.number(), both.server.out());
        }
        let timed = Fate::Await(Nanos(20) + TIMEOUT);
        let expected = if round == 0 { timed } else { Fate::Keep };
        assert_eq!(both.deliver(20), expected, "no flood: each ends a request");
    }
    assert_eq!(both.outcomes(), (0, vec![(ErrorClass::StreamReset, 16_000)]));
}

#[test]
fn a_server_that_takes_no_stream_fails_what_is_due() {
    let mut both = Both::new(None, Settings { concurrent_streams: 0, ..Settings::default() });
    assert_eq!(both.deliver(20), Fate::Await(Nanos(20) + TIMEOUT));
    assert!(both.issue(30).is_empty());
    assert_eq!(both.session.expire(0, 0, Nanos(1020)), Fate::Abort);
    assert_eq!(both.outcomes(), (0, vec![(ErrorClass::SendTimeout, 1)]));
    let told = &both.session.recorder.samples[0].detail;
    assert!(told.contains("SETTINGS_MAX_CONCURRENT_STREAMS"), "{told}");
}

/// Each interim answer brings its stream further, so these are no idle frames.
#[test]
fn answers_to_pings_are_not_owed_without_measure() {
    let mut both = Both::new(None, Settings::default());
    both.issue(10);
    both.deliver(20);
    for _ in 0..20_000 {
        write_ping([0; 8], false, both.server.out());
        both.head(1, &[(":status", "103")], false);
    }
    let bytes = std::mem::take(both.server.out());
    assert_eq!(both.session.received(0, 0, &bytes, Nanos(30)), (bytes.len(), Fate::Abort));
    let told = &both.session.recorder.samples[0].detail;
    assert!(told.contains("owed_frames"), "{told}");
}

#[test]
fn a_server_that_takes_no_more_streams_is_timed_from_its_last_answer() {
    let mut both = Both::new(None, Settings::default());
    let opened = both.issue(10);
    write_head(Kind::Settings, 0, 0, 6, both.server.out());
    both.server.out().extend_from_slice(&[0, 3, 0, 0, 0, 0]);
    opened.iter().for_each(|&stream| both.answer(stream, "ok"));
    assert_eq!(both.deliver(20), Fate::Await(Nanos(20) + TIMEOUT));
    assert_eq!(both.outcomes(), (4, vec![]));
    assert!(both.issue(30).is_empty());
}

#[test]
fn a_body_for_which_no_window_opens_was_not_taken() {
    let mut both = Both::new(Some("12345"), Settings { initial_window: 0, ..Settings::default() });
    both.deliver(11);
    assert_eq!((both.issue(20).len(), both.bytes), (4, 0));
    assert_eq!(both.session.expire(0, 0, Nanos(2000)), Fate::Abort);
    assert_eq!(both.outcomes(), (0, vec![(ErrorClass::SendTimeout, 4)]));
}

#[test]
fn a_refusal_in_tls_is_told_as_such() {
    let mut both = Both::new(None, Settings::default());
    both.issue(20);
    assert_eq!(both.session.received(0, 0, &[21, 3, 3, 0, 2, 2, 50], Nanos(30)), (7, Fate::Abort));
    assert_eq!(both.outcomes(), (0, vec![(ErrorClass::Parse, 4)]));
    assert!(both.session.recorder.samples[0].detail.contains("https://"));
}
