//! Requests for connections from everywhere and nowhere.

use super::*;
use crate::connection::flag;
use crate::connection::options::Offer;
use crate::handshakes::MAX_HALF_OPEN;
use crate::listeners::MAX_BACKLOG;

/// Forged segments in a millisecond, which make 10,000 a second.
const FORGED_IN_A_MILLISECOND: u32 = 10;
const OFFER: Offer = Offer { segment_bytes: Some(1460), scale: Some(7), sack: true };

/// Requests from sources that nobody has, other ones for each `number`.
fn flood(net: &mut Net, number: u32) {
    let [a, b] = ((number / 60_000) as u16 + 3).to_be_bytes();
    let flow = Flow::new(([10, 77, a + 1, b], (number % 60_000) as u16 + 1024).into(), at(80));
    let fields = Fields { sequence: number, flags: flag::SYN, window: 1000, ..Fields::default() };
    net.forge(&flow, &fields, Written::offer(&OFFER).as_slice(), &[]);
}

#[test]
fn under_a_flood_every_handshake_succeeds_at_once() {
    let mut net = Net::new(64 << 20);
    let mut forged = 0;
    for port in 2000..2300 {
        for _ in 0..10 {
            (0..FORGED_IN_A_MILLISECOND).for_each(|n| flood(&mut net, forged + n));
            forged += FORGED_IN_A_MILLISECOND;
            pass(Nanos::from_millis(1));
            net.turn();
        }
        // No time goes by from the request for the connection to the answer of the program that accepts it.
        let client = net.connect(port, SERVER);
        net.peers[client].to_send = b"question".to_vec();
        net.turns(3);
        let accepted = net.accepted();
        assert!(net.peers[client].is_established(), "after {forged} forged requests");
        let [conn] = accepted[..] else { panic!("{accepted:?} were accepted") };
        assert_eq!(net.server.receive(conn), b"question");
        net.server.consume(conn, 8);
        net.server.send(conn, &[b"answer"]);
        net.turns(2);
        assert_eq!(net.peers[client].received, 6);
        net.server.abort(conn);
        net.turn();
        net.peers.clear();
    }
    let counted = net.counted();
    assert_eq!(forged, 30_000);
    assert!(counted.forgotten_handshakes > 25_000, "{counted:?}");
    assert_eq!((counted.dropped_requests, counted.dropped_frames), (0, 0));
}

#[test]
fn a_handshake_that_was_forgotten_makes_a_connection_like_any_other() {
    let mut net = Net::new(64 << 20);
    let client = net.connect(3000, SERVER);
    net.turn();
    let answer = net.seen.iter().find(|seen| seen.flags == flag::SYN | flag::ACK).cloned().unwrap();
    assert!(
        net.peers[client].is_established() && net.accepted().is_empty(),
        "its acknowledgement is to follow"
    );
    for number in 0..5000 {
        flood(&mut net, number);
        if number % 100 == 99 {
            net.far.split().1.flush();
            net.serve();
            while net.far.split().0.peek().is_some() {
                net.far.split().0.release();
            }
        }
    }
    let offer = Offer::parse(&answer.options);
    assert_eq!((offer.segment_bytes, offer.scale, offer.sack), (Some(SEGMENT_BYTES), Some(1), true));
    // More than fits into a window without a scale, in both directions.
    net.peers[client].to_send = vec![1; 200_000];
    let (mut received, mut sent) = (0, 0);
    let mut conn = None;
    for _ in 0..2000 {
        net.turn();
        conn = conn.or(net.accepted().first().copied());
        if let Some(conn) = conn {
            let n = net.server.receive(conn).len();
            net.server.consume(conn, n);
            received += n;
            sent += net.server.send(conn, &[&vec![2; 200_000 - sent]]);
        }
    }
    assert_eq!((received, net.peers[client].received), (200_000, 200_000));
    let counted = net.counted();
    assert_eq!((counted.recalled_handshakes, counted.retransmission_timeouts), (1, 0));
}

#[test]
fn guessed_acknowledgements_open_nothing() {
    let mut net = Net::new(64 << 20);
    let guess = |net: &mut Net, number: u32| {
        let flow = Flow::new(([10, 77, 9, 9], 5000).into(), at(80));
        let acknowledgement = number.wrapping_mul(0x9e37_79b9);
        let fields = Fields { sequence: 8, acknowledgement, flags: flag::ACK, window: 1000 };
        net.forge(&flow, &fields, &[], b"injected");
        net.turn();
    };
    guess(&mut net, 1);
    assert!(matches!(net.astray[..], [Seen { flags: flag::RST, .. }]), "without a flood it is refused");
    (0..5000).for_each(|number| {
        flood(&mut net, number);
        net.turn();
    });
    (0..1000).for_each(|number| guess(&mut net, number));
    assert!(net.astray.is_empty(), "it may be somebody's second segment");
    assert_eq!((net.counted().recalled_handshakes, net.accepted().len()), (0, 0));
    // Long after the flood.
    pass(Nanos::from_millis(65_000));
    guess(&mut net, 2);
    assert!(net.astray.iter().any(|seen| seen.flags == flag::RST));
}

#[test]
fn a_flood_leaves_no_more_than_its_places() {
    let mut net = Net::new(64 << 20);
    for number in 0..20_000 {
        flood(&mut net, number);
        if number % 100 == 0 {
            net.turn();
        }
    }
    net.turn();
    assert_eq!(net.server.flows.len(), MAX_HALF_OPEN);
    assert!(net.server.endpoints.len() <= MAX_HALF_OPEN + 1);
    assert_eq!(net.counted().forgotten_handshakes, 20_000 - MAX_HALF_OPEN as u64);
    // Who never answers is given up after two minutes (RFC 5482), and its place is free again.
    (0..400).for_each(|_| {
        pass(Nanos::from_millis(1_000));
        net.turn();
    });
    assert_eq!(net.server.flows.len(), 0);
}

#[test]
fn a_listener_that_does_not_accept_keeps_others_waiting_and_nobody_from_others() {
    let mut net = Net::new(1 << 30);
    net.server.listen(at(81)).unwrap();
    net.server.pause_accepting(at(80), true);
    for port in 0..MAX_BACKLOG as u16 + 10 {
        net.connect(10_000 + port, SERVER);
        if port % 100 == 99 {
            net.turns(3);
        }
    }
    net.turns(3);
    let refused: Vec<usize> =
        (0..net.peers.len()).filter(|&n| !net.peers[n].connection.is_established()).collect();
    assert!(!refused.is_empty() && refused.len() <= 10, "{refused:?}");
    assert_eq!(net.counted().dropped_requests as usize, refused.len());
    let other = net.connect(9_000, "10.77.0.1:81");
    net.turns(3);
    assert!(net.peers[other].is_established(), "another listener has a queue of its own");
    assert_eq!(net.accepted().len(), 1);

    net.server.pause_accepting(at(80), false);
    net.turn();
    assert_eq!(net.accepted().len(), net.peers.len() - 1 - refused.len());
    // Those who were dropped ask again.
    pass(Nanos::from_millis(1_100));
    net.turns(3);
    assert_eq!(net.accepted().len(), refused.len());
    assert!(net.peers.iter().all(Peer::is_established));
}
