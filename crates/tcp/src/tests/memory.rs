//! Peers that have memory held and give nothing for it.

use assay_engine::Reason;
use rustix::io::Errno;

use super::*;
use crate::connection::flag;

const LIMIT: usize = 1 << 20;
/// More than the limit together, at 64 KiB each.
const HOSTILE: u16 = 100;

fn net_with(peers: u16) -> (Net, Vec<Conn>) {
    let mut net = Net::new(LIMIT);
    for port in 0..peers {
        net.connect(2000 + port, SERVER);
    }
    net.turns(3);
    let accepted = net.accepted();
    assert_eq!(accepted.len(), usize::from(peers));
    (net, accepted)
}

fn held(net: &mut Net) -> usize {
    net.counted().held_bytes as usize
}

/// Asks and answers on a connection.
fn exchange(net: &mut Net, client: usize, conn: Conn) {
    let before = net.peers[client].received;
    net.peers[client].to_send = vec![b'q'; 100];
    net.turns(2);
    assert_eq!(net.server.receive(conn), [b'q'; 100]);
    net.server.consume(conn, 100);
    net.server.send(conn, &[&[b'a'; 500]]);
    net.turns(2);
    assert_eq!(net.peers[client].received, before + 500);
}

/// The connection of the server's whose peer has this number.
fn conn_of(net: &mut Net, accepted: &[Conn], peer: usize) -> Conn {
    let remote = net.peers[peer].flow.local();
    let is_its = |&&conn: &&Conn| net.server.addresses(conn).is_some_and(|(_, their)| their == remote);
    *accepted.iter().find(is_its).unwrap()
}

#[test]
fn a_byte_at_the_end_of_each_window_is_not_kept_beyond_the_limit() {
    let (mut net, accepted) = net_with(HOSTILE + 1);
    let honest = usize::from(HOSTILE);
    let conn = conn_of(&mut net, &accepted, honest);
    for peer in 0..honest {
        let flow = net.peers[peer].flow;
        let sequence = 1_000 * u32::from(flow.local().port()) + 1 + 65_000;
        let acknowledgement = net.peers[peer].next.0;
        let fields = Fields { sequence, acknowledgement, flags: flag::ACK, window: 1000 };
        net.forge(&flow, &fields, &[], b"!");
        net.far.split().1.flush();
        net.serve();
        assert!(net.server.memory.held()[0] <= LIMIT);
    }
    let counted = net.counted();
    assert!(counted.most_held_bytes > LIMIT as u64 / 2, "{counted:?}");
    assert!(counted.memory_shortages > 0 && counted.memory_resets == 0, "{counted:?}");
    exchange(&mut net, honest, conn);
    // What was dropped is sent again by its sender, and nobody's stream is harmed.
    let first = conn_of(&mut net, &accepted, 0);
    exchange(&mut net, 0, first);
}

#[test]
fn programs_that_do_not_read_run_into_small_windows_and_then_the_limit() {
    let (mut net, accepted) = net_with(31);
    let conn = conn_of(&mut net, &accepted, 30);
    for peer in 0..30 {
        net.peers[peer].to_send = vec![1; 200_000];
    }
    for _ in 0..200 {
        net.turn();
        assert!(net.server.memory.held()[0] <= LIMIT);
    }
    let counted = net.counted();
    assert!(counted.memory_shortages == 1 && counted.memory_resets > 0, "{counted:?}");
    let failed = net.peers.iter().filter(|peer| peer.connection.failure().is_some()).count();
    assert_eq!(failed as u64, counted.memory_resets);
    let told = |event: &&Event| matches!(event, Event::Closed(_, Reason::Other(n)) if *n == Errno::NOBUFS.raw_os_error());
    assert_eq!(net.events.iter().filter(told).count(), failed, "their users hear of it");

    // While it lasts nobody new is let in, and who asks little is served, through a small window.
    let late = net.connect(9_000, SERVER);
    net.turns(3);
    assert!(!net.peers[late].connection.is_established());
    assert_eq!(net.counted().dropped_requests, 1);
    for _ in 0..700 {
        exchange(&mut net, 30, conn);
    }
    let window = u32::from(net.peers[30].window) << 1;
    assert!(window <= 2 * u32::from(SEGMENT_BYTES), "{window}");

    // The programs read: there is memory again, windows open, and who was dropped asks again.
    let drain = |net: &mut Net| {
        for &conn in &accepted {
            let n = net.server.receive(conn).len();
            net.server.consume(conn, n);
        }
        net.turn();
    };
    (0..400).for_each(|_| drain(&mut net));
    assert!(held(&mut net) < LIMIT / 2 && !net.server.memory.is_short());
    let is_done = |peer: &Peer| peer.to_send.is_empty() || peer.connection.failure().is_some();
    assert!(net.peers.iter().all(is_done), "what was held back came");
    pass(Nanos::from_millis(1_100));
    net.turns(3);
    assert!(net.peers[late].is_established());
}

#[test]
fn answers_that_nobody_reads_cost_those_who_do_not_read_them() {
    let (mut net, accepted) = net_with(31);
    let conn = conn_of(&mut net, &accepted, 30);
    for peer in 0..30 {
        net.peers[peer].reads = false;
    }
    for n in 0..30 {
        let to = conn_of(&mut net, &accepted, n);
        for _ in 0..3 {
            net.server.send(to, &[&[b'a'; 60_000]]);
            assert!(net.server.memory.held()[0] <= LIMIT);
            net.turns(2);
        }
    }
    let counted = net.counted();
    assert!(counted.memory_resets > 0, "{counted:?}");
    assert!(net.peers[30].is_established());
    exchange(&mut net, 30, conn);
}

#[test]
fn what_ends_is_held_no_more() {
    let (mut net, accepted) = net_with(10);
    for peer in 0..10 {
        net.peers[peer].to_send = vec![1; 30_000];
    }
    net.turns(10);
    assert!(held(&mut net) >= 10 * 30_000);
    for &conn in &accepted {
        net.server.abort(conn);
    }
    net.turns(3);
    assert_eq!(held(&mut net), 0);
    let all: usize = net.server.endpoints.iter().map(|endpoint| endpoint.held_bytes).sum();
    assert_eq!(all, 0);
}
