//! A session without an engine: bytes and times by hand.

use super::*;
use crate::arrivals::Closed;
use crate::h1::Http1;
use crate::plan::LoadPlan;
use crate::traffic::Numbering;
use assay_model::workload::{Expect, RequestKind};
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const TIMEOUT: Nanos = Nanos(1000);

/// One open connection of depth 3 at time 10, with requests of 100 bytes of body.
fn session(most: u32) -> Session<Closed, Http1> {
    session_of_depth(3, most)
}

/// One open connection of this depth at time 10, with such requests.
fn session_of_depth(pipeline: u32, most: u32) -> Session<Closed, Http1> {
    let expect = Expect { body: Some("ok".into()), ..Expect::default() };
    let body = Some("x".repeat(100));
    let kind =
        RequestKind { weight: 1, method: "PUT".into(), path: "/".into(), headers: Vec::new(), body, expect };
    let numbering = Numbering { seed: 0, thread: 0, threads: 1 };
    let plan = LoadPlan { pipeline, ..LoadPlan::new("127.0.0.1:80".parse().unwrap(), vec![kind]) };
    let (protocol, random) = (Http1::new(&plan).unwrap(), ChaCha8Rng::seed_from_u64(0));
    let numbers = |kind| protocol.numbers(kind);
    let traffic = Traffic::new(&plan.requests, &numbers, plan.checking, numbering, random).unwrap();
    let recorder = Recorder::new(false, Nanos(1_000_000));
    let schedule = Schedule::new(Closed);
    let mut session = Session::new(1, protocol, Reuse::Requests(most), TIMEOUT, schedule, recorder, traffic);
    session.begin(Hours { start: Nanos(10), window: Nanos(10), end: Nanos::MAX }, u64::MAX, Nanos(10));
    session.opened(0, Nanos(10), None);
    session
}

fn send_all(session: &mut Session<Closed, Http1>, now: u64) -> usize {
    let mut sent = 0;
    while session.issue(Nanos(now)).is_some() {
        let bytes = session.parcel(0).bytes;
        session.accepted(0, bytes);
        sent += bytes;
    }
    sent
}

fn errors(session: &Session<Closed, Http1>) -> Vec<(ErrorClass, u64)> {
    session.recorder.total.errors().into_iter().collect()
}

#[test]
fn a_pipeline_is_filled_and_refilled_as_answers_come() {
    let mut session = session(u32::MAX);
    let three = send_all(&mut session, 10);
    assert_eq!((session.in_flight(), send_all(&mut session, 11)), (3, 0));
    let (used, fate) = session.received(0, 0, &[OK, OK, &OK[..7]].concat(), Nanos(20));
    assert_eq!((used, fate, session.in_flight()), (2 * OK.len(), Fate::Keep, 1));
    assert_eq!(send_all(&mut session, 20) * 3, three * 2);
    assert_eq!((session.recorder.total.ok, session.schedule.issued()), (2, 5));
}

#[test]
fn a_parcel_goes_on_where_the_engine_stopped_accepting() {
    let mut session = session(u32::MAX);
    session.issue(Nanos(10));
    let whole: Vec<u8> = session.parcel(0).parts().concat();
    let mut sent = Vec::new();
    while session.has_unsent(0) {
        let piece = session.parcel(0).parts().concat();
        let n = piece.len().min(77);
        sent.extend_from_slice(&piece[..n]);
        session.accepted(0, n);
    }
    assert_eq!(sent, whole);
}

#[test]
fn a_request_is_never_sent_before_it_was_issued() {
    let mut session = session(u32::MAX);
    session.issue(Nanos(20));
    // The engine has sent nothing since: the connection is blocked.
    session.submitted(|_| Some(Nanos(15)));
    assert_eq!(session.flights.row(0)[0].sent, Nanos(20));
}

#[test]
fn a_reset_is_told_apart_by_what_had_left_and_what_had_come() {
    let mut session = session(u32::MAX);
    session.issue(Nanos(10));
    let bytes = session.parcel(0).bytes;
    session.accepted(0, bytes / 3 * 2 + 5);
    session.received(0, 0, &OK[..OK.len() - 1], Nanos(20));
    session.lose(0, Nanos(30), Loss::Reset);
    let classes = [ErrorClass::SendReset, ErrorClass::ResetBeforeHead, ErrorClass::ResetInBody];
    assert_eq!(errors(&session), classes.map(|class| (class, 1)));
    assert_eq!(session.in_flight(), 0);
}

#[test]
fn an_answer_before_its_request_has_left_ends_the_connection() {
    let mut session = session(1);
    session.issue(Nanos(10));
    session.accepted(0, 20);
    assert_eq!(session.received(0, 0, OK, Nanos(20)), (OK.len(), Fate::Abort));
    assert_eq!((session.recorder.total.ok, session.in_flight()), (1, 0));
}

#[test]
fn a_surplus_byte_spoils_the_last_answer() {
    let mut session = session(u32::MAX);
    send_all(&mut session, 10);
    let bytes = [OK, OK, OK, b"H"].concat();
    assert_eq!(session.received(0, 0, &bytes, Nanos(20)), (bytes.len(), Fate::Abort));
    assert_eq!((session.recorder.total.ok, errors(&session)), (2, vec![(ErrorClass::Parse, 1)]));
}

#[test]
fn a_deadline_belongs_to_the_oldest_request() {
    let mut session = session(u32::MAX);
    send_all(&mut session, 10);
    assert_eq!(session.slots[0].deadline, Nanos(10) + TIMEOUT);
    session.received(0, 0, &[OK, OK].concat(), Nanos(20));
    send_all(&mut session, 25);
    session.received(0, 0, OK, Nanos(30));
    assert_eq!(session.slots[0].deadline, Nanos(25) + TIMEOUT);
    session.received(0, 0, &[OK, OK].concat(), Nanos(40));
    assert_eq!((session.in_flight(), session.slots[0].deadline), (0, Nanos::MAX));
}

#[test]
fn the_last_request_of_a_connection_asks_to_close_and_the_connection_lingers() {
    let mut session = session(2);
    session.issue(Nanos(10));
    let text = String::from_utf8(session.parcel(0).parts().concat()).unwrap();
    assert_eq!((text.matches("PUT").count(), text.matches("Connection: close").count()), (2, 1));
    let bytes = session.parcel(0).bytes;
    session.accepted(0, bytes);
    let fate = session.received(0, 0, &[OK, OK].concat(), Nanos(20)).1;
    assert_eq!((fate, session.issue(Nanos(21))), (Fate::Linger(Nanos(20) + LINGER), None));
    assert_eq!(session.received(0, 0, b"x", Nanos(22)), (1, Fate::Abort));
    assert_eq!((session.recorder.unsolicited, session.recorder.total.failed()), (1, 0));
}

/// The last answer of a connection.
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

/// An answer that ends with its connection.
const ENDLESS: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nok";

#[test]
fn what_was_asked_behind_the_last_answer_of_a_connection_is_asked_again_whatever_becomes_of_it() {
    for end in [
        (|session| session.ended(0, Nanos(30))) as fn(&mut Session<Closed, Http1>),
        |session| session.lose(0, Nanos(30), Loss::Reset),
        |session| session.lose(0, Nanos(30), Loss::TimedOut),
        |session| assert_eq!(session.received(0, 0, OK, Nanos(30)).1, Fate::Abort),
    ] {
        let mut session = session(u32::MAX);
        send_all(&mut session, 10);
        let last = session.received(0, 0, &[OK, LAST].concat(), Nanos(20));
        assert_eq!(last, (OK.len() + LAST.len(), Fate::Linger(Nanos(20) + LINGER)));
        assert_eq!((session.in_flight(), send_all(&mut session, 21)), (0, 0));
        end(&mut session);
        assert_eq!((session.recorder.total.ok, session.recorder.repeated), (2, 1));
        session.vacated(0);
        session.opened(0, Nanos(40), None);
        send_all(&mut session, 40);
        session.received(0, 0, &[OK, OK, OK].concat(), Nanos(50));
        assert_eq!((session.recorder.total.ok, session.schedule.issued(), errors(&session)), (5, 5, vec![]));
    }
}

#[test]
fn what_comes_with_the_last_answer_and_behind_it_nobody_asked_for() {
    let mut session = session(u32::MAX);
    send_all(&mut session, 10);
    assert_eq!(session.received(0, 0, &[LAST, OK].concat(), Nanos(20)), (LAST.len(), Fate::Abort));
    let recorder = &session.recorder;
    assert_eq!((recorder.total.ok, recorder.repeated, recorder.unsolicited), (1, 2, 1));
    assert_eq!((errors(&session), session.in_flight()), (vec![], 0));
}

#[test]
fn what_was_asked_behind_an_answer_that_ends_with_its_connection_is_asked_again() {
    let mut session = session(u32::MAX);
    send_all(&mut session, 10);
    assert_eq!(session.received(0, 0, ENDLESS, Nanos(20)), (ENDLESS.len(), Fate::Keep));
    session.ended(0, Nanos(30));
    assert_eq!((session.recorder.total.ok, session.recorder.repeated, errors(&session)), (1, 2, vec![]));
}

/// The server wants none of the body, and what has not left of it never leaves.
#[test]
fn a_last_answer_may_come_before_its_request_has_left() {
    let mut session = session(u32::MAX);
    session.issue(Nanos(10));
    session.accepted(0, 20);
    assert_eq!(session.received(0, 0, LAST, Nanos(20)), (LAST.len(), Fate::Linger(Nanos(20) + LINGER)));
    assert_eq!((session.recorder.total.ok, session.recorder.repeated, errors(&session)), (1, 2, vec![]));
    assert!(!session.has_unsent(0));
}

#[test]
fn what_is_given_back_is_due_again_the_oldest_first() {
    let mut session = session_of_depth(8, u32::MAX);
    send_all(&mut session, 10);
    session.received(0, 0, &[OK; 4].concat(), Nanos(20));
    send_all(&mut session, 20);
    session.received(0, 0, LAST, Nanos(30));
    let due: Vec<u64> = (0..7).filter_map(|_| Some(session.schedule.take(Nanos(30))?.intended.0)).collect();
    assert_eq!(due, [10, 10, 10, 20, 20, 20, 20]);
}

/// The notice with which Actix ends a connection on which no request came for five seconds.
const IDLE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// When a window begins for a connection that has long been made.
const LATER: Nanos = RESTED_AFTER;

/// A window on another connection, which has long been made, with all requests that it takes.
fn ask_after_a_rest(session: &mut Session<Closed, Http1>) {
    session.vacated(0);
    session.opened(0, LATER, None);
    session.begin(Hours { start: LATER, window: LATER, end: Nanos::MAX }, u64::MAX, LATER);
    send_all(session, LATER.0);
}

#[test]
fn a_connection_that_is_ended_as_idle_is_no_fault_whether_a_request_was_under_way_or_not() {
    let mut session = session(u32::MAX);
    assert_eq!(session.received(0, 0, IDLE, Nanos(11)), (IDLE.len(), Fate::Abort));
    assert_eq!((session.recorder.unsolicited, session.recorder.total.failed()), (0, 0));
    for lost in [
        (|session| session.lose(0, LATER, Loss::Reset)) as fn(&mut Session<Closed, Http1>),
        |session| session.ended(0, LATER),
        |session| assert_eq!(session.received(0, 0, IDLE, LATER).1, Fate::Abort),
    ] {
        ask_after_a_rest(&mut session);
        assert_eq!(session.in_flight(), 3);
        lost(&mut session);
        assert_eq!((session.in_flight(), session.recorder.total.failed()), (0, 0));
    }
    assert_eq!(session.recorder.repeated, 9);
    session.vacated(0);
    session.opened(0, LATER, None);
    assert!(send_all(&mut session, LATER.0) > 0, "what was given back is sent again");
    session.received(0, 0, &[OK, OK, OK].concat(), LATER);
    assert_eq!((session.recorder.total.ok, errors(&session)), (3, Vec::new()));
}

#[test]
fn a_connection_was_idle_only_before_a_window_and_until_its_first_answer() {
    let mut session = session(u32::MAX);
    send_all(&mut session, 20);
    session.lose(0, LATER, Loss::Reset);
    assert_eq!(session.recorder.total.failed(), 3, "it was never left alone");
    ask_after_a_rest(&mut session);
    session.received(0, 0, OK, LATER);
    session.lose(0, LATER, Loss::Reset);
    assert_eq!(session.recorder.total.failed(), 5, "it has answered since");
    ask_after_a_rest(&mut session);
    session.received(0, 0, &OK[..9], LATER);
    session.lose(0, LATER, Loss::Reset);
    assert_eq!(session.recorder.total.failed(), 8, "an answer had begun");
    assert_eq!(session.recorder.repeated, 0);
}
