//! T1, T9, T10, T13, T14 over WebSocket: a message takes what was programmed, is read right however its echo is cut, and is
//! never forgotten; what becomes of it is counted in its own class.

use assay_load::LoadPlan;
use assay_model::load::{Arrival, ErrorClass};
use assay_model::units::Nanos;
use assay_model::workload::{Expect, MessageKind, RequestKind};
use assay_serve::stub::{Faults, Program};
use assay_sim::Weather;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::seeds::each;
use crate::support::{Trial, constant, plan, poisson, program, seconds};

/// A message that no other is like, whose echo is expected at `path`.
fn message(path: &str) -> RequestKind {
    let expect = Expect { body: Some("message ${n}".into()), ..Expect::default() };
    RequestKind { body: Some("message ${n=sequence}".into()), expect, ..RequestKind::get(path) }
}

/// `n` messages.
fn messages(connections: u32, arrival: Arrival, n: u64) -> LoadPlan {
    let websocket = Some(MessageKind::Text);
    LoadPlan { requests: vec![message("/ws")], websocket, ..plan(connections, arrival, n) }
}

fn faulty(faults: &str) -> Program {
    Program { faults: faults.parse::<Faults>().unwrap(), ..program("200us") }
}

#[test]
fn t1_a_message_takes_what_was_programmed_and_both_ways() {
    each(0..20, |seed| {
        for arrival in [Arrival::Closed, constant(2_000.0), poisson(2_000.0)] {
            let run = Trial::new(seed, program("list:100us,1ms,250us"), messages(16, arrival, 1_000)).run();
            assert_eq!((run.report.books.ok, run.counts.connections), (1_000, 16));
            run.took_what_was_programmed();
        }
    });
}

#[test]
fn t9_a_message_without_an_echo_times_out() {
    let timeout = Nanos::from_millis(2_000);
    each(0..10, |seed| {
        let plan = LoadPlan { timeout, ..messages(50, constant(1_000.0), 3_000) };
        let run = Trial::new(seed, faulty("never=0.01"), plan).run();
        assert!(run.counts.never_answered > 0);
        assert_eq!(run.report.books.errors[&ErrorClass::HeadTimeout], run.counts.never_answered);
    });
}

#[test]
fn t10_each_fault_is_counted_in_its_own_class() {
    let faults = "wrong-byte=0.02,status-500=0.03,reset-in-body=0.04,never=0.002";
    each(0..20, |seed| {
        for arrival in [Arrival::Closed, constant(2_000.0)] {
            let run = Trial::new(seed, faulty(faults), messages(32, arrival, 3_000)).run();
            assert_eq!(run.report.books.errors.len(), 4, "{:?}", run.report.books);
            let words = "the server sent a close frame with code 1011";
            assert!(run.report.samples.iter().any(|sample| sample.detail == words));
        }
    });
}

#[test]
fn t13_every_form_of_an_echo_is_read_right_in_any_weather() {
    each(0..40, |seed| {
        let weather = Weather::rough(&mut ChaCha8Rng::seed_from_u64(seed));
        for path in ["/ws", "/trickle", "/fragments"] {
            for kind in [MessageKind::Text, MessageKind::Binary] {
                let (requests, websocket) = (vec![message(path)], Some(kind));
                let plan = LoadPlan {
                    requests,
                    websocket,
                    timeout: seconds(600),
                    ..messages(2, Arrival::Closed, 8)
                };
                let report = Trial { weather, ..Trial::new(seed, program("0s"), plan) }.run().report;
                assert_eq!(report.books.ok, 8, "{path}: {:?} {:?}", report.books, report.samples);
            }
        }
    });
}

#[test]
fn t14_the_books_balance_at_any_depth_and_length() {
    let long = "x".repeat(100_000);
    let expect = Expect { body: Some(long.clone()), ..Expect::default() };
    let long = RequestKind { body: Some(long), expect, ..RequestKind::get("/ws") };
    each(0..10, |seed| {
        for (connections, pipeline) in [(1, 1), (7, 4), (3, 32)] {
            let requests = vec![message("/ws"), long.clone()];
            let plan = LoadPlan { pipeline, requests, ..messages(connections, Arrival::Closed, 301) };
            assert_eq!(Trial::new(seed, faulty("wrong-byte=0.1"), plan).run().report.books.issued, 301);
        }
    });
}

#[test]
fn connections_that_are_left_idle_are_open_and_say_nothing() {
    let plan = LoadPlan { idle: 500, ..messages(4, constant(1_000.0), 500) };
    let run = Trial::new(7, program("100us"), plan).run();
    assert_eq!((run.report.books.ok, run.counts.connections), (500, 504));
    assert_eq!((run.report.connections, run.report.idle), (4, 500));
    run.took_what_was_programmed();
}
