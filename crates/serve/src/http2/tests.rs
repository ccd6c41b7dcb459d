//! A session driven without sockets, with the client's end of the same crate and frames by hand.

mod calls;

use std::cell::Cell;

use assay_h2::frame::{HEAD_BYTES as FRAME_HEAD, Kind, flag, write_block, write_head, write_window_update};
use assay_h2::hpack::write_field;

use super::*;
use crate::config::Limits as ServeLimits;
use crate::files::Lookup;
use crate::route::Files;
use crate::session::Wanted;

/// One connection with both its ends.
struct Wire {
    session: Http2Session,
    site: Site,
    client: Connection,
    now: Nanos,
    end: bool,
    heads: Vec<(u32, String)>,
    /// The first byte of each field block.
    block_starts: Vec<u8>,
    bodies: Vec<(u32, Vec<u8>)>,
    /// Streams with the codes of their resets; 0 is the connection.
    resets: Vec<(u32, Code)>,
    ended: Vec<u32>,
}

impl Wire {
    fn new(limits: ServeLimits) -> Self {
        Self::with(limits, &Settings::default())
    }

    fn with(limits: ServeLimits, theirs: &Settings) -> Self {
        let mut site = Site::new(limits, Files::Nowhere).unwrap();
        site.set_wall_clock(Nanos::ZERO, Nanos(784_111_777_000_000_000));
        let session = Http2Session::new(Nanos::ZERO, &site);
        let client = Connection::new(Role::Client, theirs, 0, Limits::DEFAULT);
        let mut wire = Self {
            session,
            site,
            client,
            now: Nanos::ZERO,
            end: false,
            heads: Vec::new(),
            block_starts: Vec::new(),
            bodies: Vec::new(),
            resets: Vec::new(),
            ended: Vec::new(),
        };
        wire.deliver();
        wire
    }

    /// What the client has written goes to the server, and what that answers is read.
    fn deliver(&mut self) {
        let mut pending = std::mem::take(self.client.out());
        loop {
            let Self { session, site, now, .. } = self;
            let mut out = Vec::new();
            let mut find = |_: &Wanted<'_>| Ok(Lookup::Absent);
            let kept = Cell::new(None);
            let mut cx = Context { now: *now, site, out: &mut out, find: &mut find, kept: &kept };
            let step = session.step(&pending, &mut cx);
            assert!(out.len() <= STEP_BYTES, "a step is bounded");
            pending.drain(..step.consumed);
            self.read(&out);
            match step.next {
                Next::Continue => {}
                Next::Receive => break,
                Next::End { .. } => {
                    self.end = true;
                    break;
                }
            }
        }
        assert!(pending.len() < 20_000, "no more is left than a frame that is not whole");
    }

    fn read(&mut self, out: &[u8]) {
        let mut at = 0;
        while let Some((used, event)) = self.client.read(&out[at..]).unwrap() {
            match event {
                Event::Fields { stream, end_stream, block } => {
                    let mut text = String::new();
                    let tell = |name: &[u8], value: &[u8]| {
                        text +=
                            &format!("{}={};", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
                    };
                    self.client.decode(&block, tell).unwrap();
                    self.block_starts.extend(block.first());
                    self.heads.push((stream, text));
                    self.ended.extend(end_stream.then_some(stream));
                }
                Event::Data { stream, data, end_stream, counted } => {
                    self.client.release(counted);
                    match self.bodies.iter_mut().find(|(id, _)| *id == stream) {
                        Some((_, body)) => body.extend_from_slice(data),
                        None => self.bodies.push((stream, data.to_vec())),
                    }
                    self.ended.extend(end_stream.then_some(stream));
                }
                Event::Reset { stream, code } => self.resets.push((stream, code)),
                Event::GoAway { code, .. } => self.resets.push((0, code)),
                _ => {}
            }
            at += used;
        }
        assert_eq!(at, out.len());
    }

    fn ask(&mut self, stream: u32, fields: &[(&str, &str)], end: bool) {
        let mut block = Vec::new();
        fields.iter().for_each(|(name, value)| write_field(name.as_bytes(), value.as_bytes(), &mut block));
        write_block(stream, &block, end, self.client.out());
    }

    fn get(&mut self, stream: u32, path: &str) {
        self.ask(stream, &[GET, HTTP, HOST, (":path", path)], true);
    }

    fn data(&mut self, stream: u32, bytes: &[u8], end: bool) {
        let flags = if end { flag::END_STREAM } else { 0 };
        write_head(Kind::Data, flags, stream, bytes.len(), self.client.out());
        self.client.out().extend_from_slice(bytes);
    }

    fn head(&self, stream: u32) -> &str {
        self.heads.iter().find(|(id, _)| *id == stream).map_or("", |(_, text)| text)
    }

    fn body(&self, stream: u32) -> &[u8] {
        self.bodies.iter().find(|(id, _)| *id == stream).map_or(&[], |(_, body)| body)
    }
}

const GET: (&str, &str) = (":method", "GET");
const HTTP: (&str, &str) = (":scheme", "http");
const HOST: (&str, &str) = (":authority", "h");

#[test]
fn the_same_routes_are_answered_as_over_http_1() {
    let mut wire = Wire::new(ServeLimits::default());
    for (stream, path) in [(1, "/hello"), (3, "/json"), (5, "/nothing"), (7, "/bytes/3"), (9, "/hello")] {
        wire.get(stream, path);
    }
    wire.ask(11, &[(":method", "HEAD"), HTTP, HOST, (":path", "/bytes/70")], true);
    wire.ask(13, &[(":method", "DELETE"), HTTP, HOST, (":path", "/json")], true);
    wire.get(15, "/ws");
    wire.deliver();
    assert!(wire.head(1).starts_with(":status=200;"), "{}", wire.head(1));
    assert!(wire.head(1).contains("date=Sun, 06 Nov 1994 08:49:37 GMT;"), "{}", wire.head(1));
    assert_eq!((wire.body(1), wire.body(9)), (&b"hello"[..], &b"hello"[..]));
    assert_eq!(wire.body(3), br#"{"message":"Hello, World!"}"#);
    assert!(wire.head(5).starts_with(":status=404;"));
    assert_eq!(wire.body(7), b"012");
    assert!(wire.head(11).contains("content-length=70;") && wire.body(11).is_empty());
    assert!(wire.head(13).starts_with(":status=405;") && wire.head(13).contains("allow="));
    wire.ended.sort_unstable();
    assert_eq!(wire.ended, [1, 3, 5, 7, 9, 11, 13, 15]);
    assert_eq!(wire.site.requests, 8);
    assert!(
        wire.head(15).starts_with(":status=426;") && !wire.head(15).contains("upgrade="),
        "{}",
        wire.head(15)
    );
}

#[test]
fn a_long_body_goes_on_as_windows_allow_and_others_are_served_meanwhile() {
    let mut wire = Wire::new(ServeLimits::default());
    wire.get(1, "/bytes/200000");
    wire.get(3, "/hello");
    wire.deliver();
    assert_eq!((wire.body(1).len(), &*wire.ended), (65_535 - 5, &[3][..]));
    while wire.body(1).len() < 200_000 {
        write_window_update(1, 50_000, wire.client.out());
        write_window_update(0, 50_000, wire.client.out());
        wire.deliver();
    }
    assert!(wire.ended.contains(&1));
    let expected: Vec<u8> = wire.site.pattern.piece(0, 6400).to_vec();
    assert!(wire.body(1)[..6400] == expected && wire.body(1)[64_000..70_400] == expected);
}

#[test]
fn a_body_is_given_back_as_it_comes_and_its_windows_are_opened_again() {
    let mut wire =
        Wire::with(ServeLimits::default(), &Settings { initial_window: 1 << 30, ..Settings::default() });
    write_window_update(0, 1 << 30, wire.client.out());
    wire.ask(1, &[(":method", "POST"), HTTP, HOST, (":path", "/echo"), ("content-length", "160000")], false);
    let sent: Vec<u8> = (0..160_000u32).map(|n| n as u8).collect();
    for (n, piece) in sent.chunks(16_000).enumerate() {
        wire.data(1, piece, n == 9);
        wire.deliver();
    }
    assert!(wire.body(1) == sent && wire.head(1).contains("content-length=160000;"));
    assert_eq!((wire.ended, wire.resets), (vec![1], vec![]));
}

#[test]
fn what_a_request_may_not_say_resets_its_stream_alone() {
    let mut wire = Wire::new(ServeLimits::default());
    let path = (":path", "/hello");
    for (n, fields) in [
        &[GET, HTTP, HOST][..],
        &[GET, HTTP, HOST, path, path],
        &[GET, HTTP, HOST, path, ("Upper", "x")],
        &[GET, HTTP, HOST, path, ("connection", "close")],
        &[GET, HTTP, HOST, path, ("te", "gzip")],
        &[GET, HTTP, HOST, ("x", "y"), path],
        &[GET, HTTP, HOST, path, (":unknown", "x")],
        &[GET, HTTP, HOST, (":path", "")],
        &[GET, HTTP, HOST, path, ("x", "a\r\nb: c")],
        &[GET, HTTP, HOST, path, ("content-length", "3")],
        &[GET, HTTP, HOST, path, ("content-length", "+0")],
        &[GET, HTTP, HOST, path, ("content-length", "")],
        &[GET, HTTP, HOST, path, ("x", " a")],
        &[GET, HTTP, HOST, path, ("x", "a\t")],
        &[GET, HTTP, HOST, path, ("host", "another.example")],
        &[GET, HTTP, path, (":authority", "a\r\nx: y")],
    ]
    .iter()
    .enumerate()
    {
        wire.ask(n as u32 * 2 + 1, fields, true);
    }
    wire.get(101, "/hello");
    wire.deliver();
    assert_eq!(wire.resets.len(), 16, "{:?}", wire.resets);
    assert!(wire.resets.iter().all(|(stream, code)| *stream > 0 && *code == Code::ProtocolError));
    assert_eq!(wire.body(101), b"hello");
}

#[test]
fn trailers_are_held_to_the_same() {
    let mut wire = Wire::new(ServeLimits::default());
    let post = [(":method", "POST"), HTTP, HOST, (":path", "/hello")];
    for (n, trailer) in
        [("x", "ok"), ("Upper", "x"), ("transfer-encoding", "chunked"), (":path", "/"), ("x", "a\r")]
            .iter()
            .enumerate()
    {
        let stream = n as u32 * 2 + 1;
        wire.ask(stream, &post, false);
        wire.ask(stream, &[*trailer], true);
    }
    wire.deliver();
    let reset: Vec<u32> = wire.resets.iter().map(|(stream, _)| *stream).collect();
    assert_eq!(reset, [3, 5, 7, 9]);
    assert!(!wire.head(1).is_empty());
}

#[test]
fn the_first_head_tells_a_client_with_a_smaller_table_that_it_is_emptied() {
    let mut wire =
        Wire::with(ServeLimits::default(), &Settings { header_table_bytes: 0, ..Settings::default() });
    wire.get(1, "/hello");
    wire.get(3, "/hello");
    wire.deliver();
    let tells: Vec<bool> = wire.block_starts.iter().map(|first| *first == EMPTIED).collect();
    assert_eq!(tells, [true, false]);
}

#[test]
fn a_frame_at_the_wrong_time_ends_the_connection() {
    let after = |write: &dyn Fn(&mut Wire)| {
        let mut wire = Wire::new(ServeLimits::default());
        wire.get(3, "/hello");
        write(&mut wire);
        wire.deliver();
        (wire.end, wire.resets.last().map(|(_, code)| *code))
    };
    assert_eq!(after(&|wire| wire.get(2, "/hello")), (true, Some(Code::ProtocolError)), "an even number");
    assert_eq!(
        after(&|wire| wire.get(1, "/hello")),
        (true, Some(Code::ProtocolError)),
        "a number passed over"
    );
    assert_eq!(after(&|wire| wire.get(3, "/hello")), (true, Some(Code::StreamClosed)), "one that has ended");
    assert_eq!(after(&|wire| wire.data(5, b"x", true)), (true, Some(Code::ProtocolError)), "an idle one");
    assert_eq!(after(&|wire| wire.data(3, b"x", true)), (false, Some(Code::StreamClosed)));
    let widen = |wire: &mut Wire| write_window_update(7, 1, wire.client.out());
    assert_eq!(after(&widen), (true, Some(Code::ProtocolError)));
}

#[test]
fn a_client_that_keeps_it_busy_for_nothing_is_ended() {
    let limits = ServeLimits { idle_frames: 50, resets: 20, ..ServeLimits::default() };
    let mut wire = Wire::new(limits);
    for _ in 0..60 {
        assay_h2::frame::write_ping([0; 8], false, wire.client.out());
    }
    wire.deliver();
    assert_eq!((wire.end, wire.resets), (true, vec![(0, Code::EnhanceYourCalm)]));
    let mut wire = Wire::new(limits);
    for n in 0..40 {
        wire.ask(2 * n + 1, &[(":method", "POST"), HTTP, HOST, (":path", "/echo")], false);
        write_reset(2 * n + 1, 8, wire.client.out());
    }
    wire.deliver();
    assert_eq!(wire.resets.last(), Some(&(0, Code::EnhanceYourCalm)));
}

#[test]
fn more_streams_than_there_may_be_are_refused_and_may_come_again() {
    let mut wire = Wire::new(ServeLimits { streams: 2, ..ServeLimits::default() });
    for n in 0..3 {
        wire.ask(2 * n + 1, &[(":method", "POST"), HTTP, HOST, (":path", "/echo")], false);
    }
    wire.deliver();
    assert_eq!(wire.resets, [(5, Code::RefusedStream)]);
    wire.data(1, b"one", true);
    wire.deliver();
    wire.ask(7, &[(":method", "POST"), HTTP, HOST, (":path", "/echo")], false);
    wire.data(7, b"two", true);
    wire.deliver();
    assert_eq!((wire.body(1), wire.body(7)), (&b"one"[..], &b"two"[..]));
    assert!(!wire.head(1).contains("transfer-encoding"), "{}", wire.head(1));
}

#[test]
fn answers_that_are_known_count_as_streams_while_no_window_is_open() {
    let limits = ServeLimits { streams: 2, ..ServeLimits::default() };
    let mut wire = Wire::with(limits, &Settings { initial_window: 0, ..Settings::default() });
    for n in 0..4 {
        wire.get(2 * n + 1, "/hello");
        wire.deliver();
    }
    assert_eq!(wire.resets, [(5, Code::RefusedStream), (7, Code::RefusedStream)]);
}

#[test]
fn bodies_have_their_limits() {
    let mut wire = Wire::new(ServeLimits { body_bytes: 10, ..ServeLimits::default() });
    let post = (":method", "POST");
    wire.ask(1, &[post, HTTP, HOST, (":path", "/echo"), ("content-length", "11")], false);
    wire.ask(3, &[post, HTTP, HOST, (":path", "/json")], false);
    wire.data(3, b"0123456789", false);
    wire.data(3, b"0", true);
    wire.ask(5, &[post, HTTP, HOST, (":path", "/echo"), ("content-length", "2")], false);
    wire.data(5, b"0", true);
    wire.deliver();
    assert!(wire.head(1).starts_with(":status=413;") && wire.head(3).starts_with(":status=413;"));
    assert_eq!(wire.resets, [(1, Code::NoError), (3, Code::NoError), (5, Code::ProtocolError)]);
}

/// A reset behind the head alone would cut the refusal short (RFC 9113 §8.1).
#[test]
fn a_refusal_leaves_whole_before_its_stream_is_reset() {
    let limits = ServeLimits { body_bytes: 10, ..ServeLimits::default() };
    let mut wire = Wire::with(limits, &Settings { initial_window: 4, ..Settings::default() });
    let post = (":method", "POST");
    wire.ask(1, &[post, HTTP, HOST, (":path", "/echo"), ("content-length", "11")], false);
    wire.ask(3, &[post, HTTP, HOST, (":path", "/json")], false);
    wire.data(3, b"0123456789a", false);
    wire.deliver();
    assert!(wire.head(1).starts_with(":status=413;") && wire.head(3).starts_with(":status=413;"));
    assert_eq!((wire.body(1).len(), wire.body(3).len(), &*wire.resets), (4, 4, &[][..]));
    wire.data(1, b"not wanted, but under way", false);
    wire.data(3, b"nor is this", true);
    [1, 3].into_iter().for_each(|stream| write_window_update(stream, 1000, wire.client.out()));
    wire.deliver();
    assert!(wire.body(1).len() > 4 && wire.body(1) == wire.body(3));
    assert_eq!((&*wire.ended, &*wire.resets), (&[1, 3][..], &[(1, Code::NoError)][..]));
    wire.get(5, "/hello");
    wire.deliver();
    assert!(wire.head(5).starts_with(":status=200;"));
    assert_eq!(wire.site.refused, 2);
}

#[test]
fn a_window_that_was_opened_during_a_request_holds_for_its_answer() {
    let limits = ServeLimits { body_bytes: 10, ..ServeLimits::default() };
    let mut wire = Wire::with(limits, &Settings { initial_window: 0, ..Settings::default() });
    let post = [(":method", "POST"), HTTP, HOST, (":path", "/json")];
    for (stream, body) in [(1, &b"right"[..]), (3, b"much too long")] {
        wire.ask(stream, &post, false);
        write_window_update(stream, 1000, wire.client.out());
        wire.data(stream, body, true);
    }
    wire.deliver();
    assert!(wire.head(1).starts_with(":status=405;") && wire.head(3).starts_with(":status=413;"));
    wire.ended.sort_unstable();
    assert_eq!(wire.ended, [1, 3]);
}

#[test]
fn a_body_has_as_much_time_as_its_bytes_buy() {
    let mut wire = Wire::new(ServeLimits::default());
    wire.ask(1, &[(":method", "POST"), HTTP, HOST, (":path", "/json")], false);
    wire.deliver();
    let allowed = ServeLimits::default().body_time;
    assert_eq!(wire.session.deadline, allowed);
    wire.now = Nanos::from_millis(10_000);
    wire.data(1, b"x", false);
    wire.deliver();
    assert_eq!(wire.session.deadline, allowed + Nanos::from_millis(2), "500 bytes per second");
    wire.data(1, &[b'x'; 16_000], false);
    wire.deliver();
    assert_eq!(wire.session.deadline, wire.now + allowed);
}

#[test]
fn who_opens_windows_has_as_much_time_as_what_leaves_through_them_buys() {
    let mut wire = Wire::with(ServeLimits::default(), &Settings { initial_window: 0, ..Settings::default() });
    wire.get(1, "/bytes/10");
    wire.deliver();
    let before = wire.session.deadline;
    wire.now = Nanos::from_millis(10_000);
    write_window_update(0, 1, wire.client.out());
    wire.deliver();
    assert_eq!(wire.session.deadline, before);
    write_window_update(1, 4, wire.client.out());
    wire.deliver();
    assert_eq!(wire.body(1).len(), 4);
    assert_eq!(wire.session.deadline, wire.now + ServeLimits::default().send_time);
}

#[test]
fn who_opens_no_window_is_aborted_and_who_is_idle_is_told_to_go() {
    let mut wire = Wire::with(ServeLimits::default(), &Settings { initial_window: 0, ..Settings::default() });
    wire.get(1, "/bytes/10");
    wire.deliver();
    assert_eq!(wire.session.deadline, ServeLimits::default().head_time);
    let expire = |wire: &mut Wire| {
        let mut out = Vec::new();
        let mut find = |_: &Wanted<'_>| Ok(Lookup::Absent);
        let kept = Cell::new(None);
        let mut cx =
            Context { now: wire.now, site: &mut wire.site, out: &mut out, find: &mut find, kept: &kept };
        (wire.session.expire(false, &mut cx), out.len())
    };
    assert_eq!(expire(&mut wire).0, Expiry::Abort);
    let mut wire = Wire::new(ServeLimits::default());
    wire.get(1, "/hello");
    wire.deliver();
    assert_eq!(wire.session.deadline, ServeLimits::default().idle);
    assert_eq!(expire(&mut wire), (Expiry::Refused, FRAME_HEAD + 8));
}

#[test]
fn the_last_streams_are_finished_before_the_connection_ends() {
    let mut wire = Wire::new(ServeLimits::default());
    wire.get(1, "/bytes/70000");
    wire.deliver();
    wire.session.make_last();
    wire.get(3, "/hello");
    wire.deliver();
    assert_eq!((wire.end, &*wire.resets), (false, &[(0, Code::NoError), (3, Code::RefusedStream)][..]));
    write_window_update(1, 10_000, wire.client.out());
    write_window_update(0, 10_000, wire.client.out());
    wire.deliver();
    assert_eq!((wire.end, wire.body(1).len()), (true, 70_000));
}
