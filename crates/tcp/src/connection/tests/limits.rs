//! What a connection costs while nothing happens, and for how long.

use super::*;

#[test]
fn an_idle_connection_costs_about_a_kilobyte_and_one_in_use_little_more() {
    assert!(size_of::<Connection>() <= 640, "{} bytes", size_of::<Connection>());
    let mut network = Network::established();
    assert!(network.ends.iter().all(|end| end.heap_bytes() <= 512));
    for _ in 0..100 {
        network.ends[0].to_send.extend([b'q'; 100]);
        network.ends[1].to_send.extend([b'a'; 300]);
        let [questions, answers] = [0, 1].map(|end| network.ends[end].to_send.len());
        network.run(faultless, |network| {
            network.ends[1].received.len() == questions && network.ends[0].received.len() == answers
        });
        assert!(network.ends.iter().all(|end| end.heap_bytes() <= 3_000));
    }
}

#[test]
fn what_a_large_transfer_took_is_given_back() {
    let mut network = Network::established();
    network.ends[0].to_send = pattern(500_000);
    network.ends[1].reads = false;
    let deadline = network.now + Nanos::from_millis(1_000);
    network.run(faultless, |network| network.now >= deadline);
    let most = 2 * (SHAPE.send_bytes + SHAPE.receive_bytes) as usize;
    assert!(network.ends.iter().all(|end| end.heap_bytes() > 10_000 && end.heap_bytes() <= most));
    network.ends[1].reads = true;
    network.run(faultless, |network| {
        network.ends[1].received.len() == 500_000 && network.client().flight.is_empty()
    });
    assert!(network.ends.iter().all(|end| end.heap_bytes() <= 3_000));
}

#[test]
fn a_peer_that_vanished_is_noticed() {
    let mut network = Network::established();
    let began = network.now;
    network.run(|_, _| vec![], |network| network.client().state() == State::Closed);
    assert_eq!(network.client().failure(), Some(Failure::TimedOut));
    let waited = network.now - began;
    assert!(waited >= KEEP_ALIVE_IDLE + KEEP_ALIVE_TIMEOUT && waited < Nanos(2 * KEEP_ALIVE_IDLE.0));
}

#[test]
fn a_peer_that_is_only_silent_is_kept() {
    let mut network = Network::established();
    let deadline = network.now + Nanos(20 * KEEP_ALIVE_IDLE.0);
    network.run(faultless, |network| network.now >= deadline);
    assert!(network.ends.iter().all(|end| end.state() == State::Established));
    assert_eq!(network.ends[0].counts, Counts::default());
}

#[test]
fn a_pause_takes_the_congestion_window_back() {
    let mut network = Network::established();
    network.ends[0].to_send = pattern(300_000);
    network
        .run(faultless, |network| network.ends[1].received.len() == 300_000 && network.under_way.is_empty());
    assert!(network.client().congestion.cwnd > 15_000);
    let deadline = network.now + Nanos::from_millis(5_000);
    network.run(faultless, |network| network.now >= deadline);
    network.ends[0].to_send.extend(pattern(10));
    network.ends[0].act();
    let now = network.now;
    network.ends[0].departures(now);
    assert_eq!(network.client().congestion.cwnd, 10_000);
}
