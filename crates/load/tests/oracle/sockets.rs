//! What is special about messages that are given back, over WebSockets and as calls of gRPC: the forms in which an echo comes, its
//! length, and connections on which nothing is said.

use assay_load::LoadPlan;
use assay_model::load::Arrival;
use assay_model::workload::{Expect, MessageKind, RequestKind};
use assay_serve::stub::{Faults, Program};
use assay_sim::Weather;
use assay_sim::seeds::each;
use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use crate::spoken::Spoken;
use crate::support::{Trial, constant, program, seconds};

fn faulty(faults: &str) -> Program {
    Program { faults: faults.parse::<Faults>().unwrap(), ..program("200us") }
}

#[test]
fn t13_every_form_of_an_echo_is_read_right_in_any_weather() {
    each(0..40, |seed| {
        let weather = Weather::rough(&mut ChaCha8Rng::seed_from_u64(seed));
        for path in ["/a.B/C", "/trickle", "/fragments"] {
            for (spoken, websocket) in [
                (Spoken::WebSocket, Some(MessageKind::Text)),
                (Spoken::WebSocket, Some(MessageKind::Binary)),
                (Spoken::Grpc, None),
            ] {
                let (requests, timeout) = (vec![spoken.request(path)], seconds(600));
                let plan = spoken.plan(2, Arrival::Closed, 8);
                let plan = LoadPlan { requests, websocket, timeout, ..plan };
                let report = Trial { weather, ..Trial::new(seed, program("0s"), plan) }.run().report;
                assert_eq!(report.books.ok, 8, "{path}: {:?} {:?}", report.books, report.samples);
            }
        }
    });
}

#[test]
fn t14_the_books_balance_at_any_depth_and_length() {
    let long = "x".repeat(100_000);
    each(0..10, |seed| {
        for spoken in [Spoken::WebSocket, Spoken::Grpc] {
            let body = if spoken == Spoken::Grpc { format!("1: \"{long}\"") } else { long.clone() };
            let expect = Expect { body: Some(body.clone()), ..Expect::default() };
            let long = RequestKind { body: Some(body), expect, ..RequestKind::get("/") };
            for (connections, pipeline) in [(1, 1), (7, 4), (3, 32)] {
                let requests = vec![spoken.request("/"), long.clone()];
                let plan = spoken.plan(connections, Arrival::Closed, 301);
                let plan = LoadPlan { connections, pipeline, requests, ..plan };
                let run = Trial::new(seed, faulty("wrong-byte=0.1"), plan).run();
                assert_eq!(run.report.books.issued, 301);
            }
        }
    });
}

#[test]
fn connections_that_are_left_idle_are_open_and_say_nothing() {
    let plan = LoadPlan { idle: 500, ..Spoken::WebSocket.plan(4, constant(1_000.0), 500) };
    let run = Trial::new(7, program("100us"), plan).run();
    assert_eq!((run.report.books.ok, run.counts.connections), (500, 504));
    assert_eq!((run.report.connections, run.report.idle), (4, 500));
    run.took_what_was_programmed();
}
