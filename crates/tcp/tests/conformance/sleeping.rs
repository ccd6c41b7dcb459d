//! A program that turns its stack now and then and sleeps on its descriptor in between, as preloaded ones do.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use assay_engine::{Engine as _, Event, clock};
use assay_model::units::Nanos;
use assay_tcp::{Config, UserStack};
use assay_wire::ring::{self, Ring};

fn stack(wire: Ring, address: &str) -> UserStack<Ring> {
    UserStack::new(wire, Config::new(8, vec![address.parse().unwrap()])).unwrap()
}

/// Turns both ends until nothing more comes of it, and returns what both were told.
fn converse(ends: [&mut UserStack<Ring>; 2]) -> [Vec<Event>; 2] {
    let (mut told, mut events) = ([Vec::new(), Vec::new()], Vec::new());
    for _ in 0..16 {
        for (end, told) in [0, 1].into_iter().zip(&mut told) {
            ends[end].poll(Nanos::ZERO, &mut events).unwrap();
            told.append(&mut events);
        }
    }
    told
}

#[test]
fn who_was_away_for_longer_than_a_timer_reads_first_what_came_meanwhile() {
    let (near, far) = ring::pair().unwrap();
    let (mut server, mut client) = (stack(near, "10.77.0.1/24"), stack(far, "10.77.0.2/24"));
    server.listen("10.77.0.1:80".parse().unwrap()).unwrap();
    let here = client.connect("10.77.0.1:80".parse().unwrap(), None).unwrap();
    let [accepted, _] = converse([&mut server, &mut client]);
    let [Event::Accepted(there)] = accepted[..] else { panic!("{accepted:?}") };

    // The server says something, and goes away before it is acknowledged with the answer.
    assert_eq!(server.send(there, &[b"question"]), 8);
    server.poll(Nanos::ZERO, &mut Vec::new()).unwrap();
    client.poll(Nanos::ZERO, &mut Vec::new()).unwrap();
    assert_eq!(client.send(here, &[b"answer"]), 6);
    client.poll(Nanos::ZERO, &mut Vec::new()).unwrap();
    // On a wire that loses nothing a retransmission timer waits for a second at least (RFC 6298 §2.4).
    std::thread::sleep(Duration::from_millis(1300));
    let [told, _] = converse([&mut server, &mut client]);
    assert_eq!((told, server.receive(there)), (vec![Event::Readable(there)], &b"answer"[..]));
    assert_eq!(server.statistics().stack.unwrap().retransmission_timeouts, 0);
}

#[test]
fn nobody_is_sent_to_sleep_before_the_question_for_his_address_is_answered() {
    let (near, far) = ring::pair().unwrap();
    let (mut server, mut client) = (stack(near, "10.77.0.1/24"), stack(far, "10.77.0.2/24"));
    server.listen("10.77.0.1:80".parse().unwrap()).unwrap();
    let mut events = Vec::new();
    let due = |stack: &mut UserStack<Ring>| stack.wake_source().unwrap().1;
    assert!(due(&mut server) > clock::now(), "nothing is left to do");

    // ARP comes first (RFC 826), and its answer is no event.
    client.connect("10.77.0.1:80".parse().unwrap(), None).unwrap();
    client.poll(Nanos::ZERO, &mut events).unwrap();
    server.poll(Nanos::ZERO, &mut events).unwrap();
    assert!(events.is_empty() && due(&mut server) <= clock::now(), "the answer is still to be sent");
    server.poll(Nanos::ZERO, &mut events).unwrap();
    assert!(due(&mut server) > clock::now(), "it was sent");
    assert_eq!(server.statistics().accepted, 0);

    // The client has the answer, and its request for a connection arrives.
    client.poll(Nanos::ZERO, &mut events).unwrap();
    client.poll(Nanos::ZERO, &mut events).unwrap();
    assert!(due(&mut server) <= clock::now(), "it has arrived");
}
