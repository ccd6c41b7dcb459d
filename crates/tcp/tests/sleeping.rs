//! A program that turns its stack now and then and sleeps on its descriptor in between, as preloaded ones do.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use assay_engine::{Engine as _, clock};
use assay_model::units::Nanos;
use assay_tcp::{Config, UserStack};
use assay_wire::ring::{self, Ring};

fn stack(wire: Ring, address: &str) -> UserStack<Ring> {
    UserStack::new(wire, Config::new(8, vec![address.parse().unwrap()])).unwrap()
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
