//! A session that speaks WebSocket, with the server's end by hand.

use super::*;
use crate::arrivals::Closed;
use crate::plan::Reuse;
use crate::recorder::Recorder;
use crate::schedule::{Hours, Schedule};
use crate::session::{Fate, Session};
use crate::traffic::Numbering;
use assay_model::workload::{MessageKind, RequestKind};
use assay_ws::handshake;

const TIMEOUT: Nanos = Nanos(1000);
const PING: &[u8] = b"\x89\x04ping";

/// One connection whose opening handshake has left at time 10, and its answer.
fn greeting() -> (Session<Closed, WebSocket>, Vec<u8>) {
    let kind = RequestKind { body: Some("hello".into()), ..RequestKind::get("/") };
    let plan = LoadPlan {
        websocket: Some(MessageKind::Text),
        ..LoadPlan::new("127.0.0.1:80".parse().unwrap(), vec![kind])
    };
    let (protocol, random) = (WebSocket::new(&plan).unwrap(), ChaCha8Rng::seed_from_u64(0));
    let numbering = Numbering { seed: 0, thread: 0, threads: 1 };
    let numbers = |kind| protocol.numbers(kind);
    let traffic = Traffic::new(&plan.requests, &numbers, plan.checking, numbering, random).unwrap();
    let recorder = Recorder::new(false, Nanos(1_000_000));
    let schedule = Schedule::new(Closed);
    let mut session = Session::new(1, protocol, Reuse::Always, TIMEOUT, schedule, recorder, traffic);
    session.begin(Hours { start: Nanos(10), window: Nanos(10), end: Nanos::MAX }, u64::MAX, Nanos(10));
    assert!(!session.opened(0, Nanos(10), None), "nothing is agreed on");
    let said = String::from_utf8(session.parcel(0).parts().concat()).unwrap();
    session.accepted(0, said.len());
    let key = said.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
    let accept = handshake::accept(key.as_bytes());
    let head = format!(
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    (session, head.into_bytes())
}

/// The connection once its handshake was answered with this behind it, and what becomes of it.
fn opened_with(more: &[u8]) -> (Session<Closed, WebSocket>, Option<Fate>) {
    let (mut session, head) = greeting();
    let bytes = [&head, more].concat();
    assert_eq!(session.received(0, 0, &bytes, Nanos(20)), (bytes.len(), Fate::Keep));
    let fate = session.greeted(0, Nanos(20));
    (session, fate)
}

#[test]
fn a_connection_whose_pong_is_not_taken_is_timed_from_its_beginning() {
    assert_eq!(opened_with(b"").1, Some(Fate::Keep));
    let (mut session, fate) = opened_with(PING);
    assert_eq!(fate, Some(Fate::Await(Nanos(20) + TIMEOUT)));
    assert!(session.issue(Nanos(30)).is_none(), "it takes no message before");
    assert_eq!(session.expire(0, 0, Nanos(20) + TIMEOUT), Fate::Abort);
    let errors: Vec<_> = session.recorder.total.errors().into_iter().collect();
    assert_eq!(errors, [(ErrorClass::SendTimeout, 1)]);
    let told = &session.recorder.samples[0].detail;
    assert!(told.contains("does not read"), "{told}");
}

#[test]
fn a_close_frame_right_behind_the_opening_declines_it() {
    let (mut session, head) = greeting();
    let bytes = [&head[..], b"\x88\x02\x03\xf0"].concat();
    assert_eq!(session.received(0, 0, &bytes, Nanos(20)), (bytes.len(), Fate::Decline));
    assert_eq!(session.take_refusal(), "the server sent a close frame with code 1008");
}

/// Nothing is in flight on it, so no deadline would end it.
#[test]
fn pongs_are_not_owed_without_measure() {
    let (mut session, _) = opened_with(b"");
    session.leave_idle(1);
    let ping = [&[0x89, 125][..], &[b'p'; 125]].concat();
    let fates: Vec<Fate> = (0..20_000).map(|_| session.received(0, 0, &ping, Nanos(30)).1).collect();
    let kept = fates.iter().take_while(|fate| **fate == Fate::Keep).count();
    assert!((8_000..9_000).contains(&kept), "a mebibyte of 131 bytes each: {kept}");
    assert_eq!(fates[kept], Fate::Abort);
    let sample = &session.recorder.samples[0];
    assert_eq!(sample.class, ErrorClass::BadFrame);
    assert!(sample.detail.contains("pongs that it asks for"), "{}", sample.detail);
}

#[test]
fn pongs_that_are_taken_are_owed_no_more() {
    let (mut session, _) = opened_with(b"");
    let ping = [&[0x89, 125][..], &[b'p'; 125]].concat();
    for _ in 0..20_000 {
        assert_ne!(session.received(0, 0, &ping, Nanos(30)).1, Fate::Abort);
        let bytes = session.parcel(0).bytes;
        session.accepted(0, bytes);
    }
}
