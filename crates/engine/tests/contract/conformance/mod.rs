//! The conformance suite of engines: what each must do, tried in a [`World`] of its own: the kernel's sockets, or a stack in user space.

mod file;
mod listeners;
pub(crate) mod scale;
mod skip;
mod world;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::thread::JoinHandle;

use assay_engine::{Config, Conn, Engine, Event, Reason};
use assay_model::units::Nanos;

pub(crate) use file::*;
pub(crate) use listeners::*;
pub(crate) use skip::*;
pub(crate) use world::{Peer, World};

/// The whole conformance suite, in the world that the expression makes; `None` skips them, and says why.
macro_rules! conforms {
    ($world:expr) => {
        conforms!($world;
            echoes_through_both_sides,
            carries_megabytes_against_back_pressure,
            gathers_parts_in_order,
            keeps_what_is_not_consumed,
            tells_the_end_after_the_data,
            answers_after_the_peer_has_ended,
            shuts_down_after_the_queue,
            says_what_a_close_would_lose,
            names_a_refusal,
            names_a_reset,
            offers_data_that_came_before_a_reset,
            ignores_names_of_the_past,
            refuses_more_connections_than_configured,
            leaves_connections_in_the_backlog_until_there_is_room,
            returns_when_the_time_has_come,
            sends_files_between_other_bytes_in_order,
            takes_nothing_behind_a_file_that_waits_for_room,
            ends_our_direction_behind_a_file,
            resets_when_a_file_has_become_shorter,
            receives_on_while_a_file_leaves,
            skips_beyond_the_view_to_the_byte,
            skips_within_the_view,
            skips_and_receives_by_turns,
            adds_skips_up,
            tells_what_a_skip_misses_at_the_end,
            ends_a_skip_with_a_reset,
            skips_nothing_of_a_closed_connection,
            tells_both_addresses,
            tells_whose_a_connection_is,
            stops_listening_at_one_address,
            accepts_nothing_while_paused,
            its_descriptor_tells_what_poll_would_find,
        );
    };
    ($world:expr; $($test:ident),* $(,)?) => {
        $(#[test]
        fn $test() {
            if let Some(world) = $world {
                $crate::conformance::$test(&world);
            }
        })*
    };
}

/// Limits of the engines that are tried.
pub(crate) const CONFIG: Config = Config { max_connections: 64 };

/// Polls until `wanted` finds its event, handing every event to it; fails after ten seconds.
fn poll_until<E: Engine, T>(engine: &mut E, mut wanted: impl FnMut(&mut E, Event) -> Option<T>) -> T {
    let deadline = engine.now() + Nanos::from_millis(10_000);
    let mut events = Vec::new();
    loop {
        let now = engine.poll(deadline, &mut events).unwrap();
        assert!(now < deadline, "the event never came");
        for &event in &events {
            if let Some(found) = wanted(engine, event) {
                return found;
            }
        }
    }
}

fn accepted<E: Engine>(engine: &mut E) -> Conn {
    accept_many(engine, 1)[0]
}

fn accept_many<E: Engine>(engine: &mut E, count: usize) -> Vec<Conn> {
    let mut conns = Vec::new();
    poll_until(engine, |_, event| {
        if let Event::Accepted(conn) = event {
            conns.push(conn);
        }
        (conns.len() == count).then_some(())
    });
    conns
}

/// Receives into `sink` until it holds `len` bytes.
fn receive_exactly<E: Engine>(engine: &mut E, conn: Conn, len: usize) -> Vec<u8> {
    let mut sink = Vec::new();
    poll_until(engine, |engine, event| {
        if event == Event::Readable(conn) {
            let view = engine.receive(conn);
            sink.extend_from_slice(view);
            let n = view.len();
            engine.consume(conn, n);
        }
        (sink.len() >= len).then_some(())
    });
    sink
}

/// What comes next at `engine`, while `other` lives on beside it, where nothing is to come.
fn next_beside<E: Engine>(engine: &mut E, other: &mut E) -> Event {
    let deadline = engine.now() + Nanos::from_millis(10_000);
    let (mut events, mut others) = (Vec::new(), Vec::new());
    loop {
        other.poll(Nanos::ZERO, &mut others).unwrap();
        let now = poll_shortly(engine, &mut events);
        assert!(now < deadline && others.is_empty(), "the event never came, or others did: {others:?}");
        if let Some(&event) = events.first() {
            return event;
        }
    }
}

/// Connects one engine to another; returns the names of the connection at both.
fn join<E: Engine>(client: &mut E, server: &mut E, to: SocketAddr, from: Option<IpAddr>) -> (Conn, Conn) {
    let near = client.connect(to, from).unwrap();
    let deadline = client.now() + Nanos::from_millis(10_000);
    let (mut connected, mut accepted, mut events) = (false, None, Vec::new());
    while !connected || accepted.is_none() {
        let now = poll_shortly(client, &mut events);
        assert!(now < deadline, "they never met");
        connected |= events.contains(&Event::Connected(near));
        server.poll(Nanos::ZERO, &mut events).unwrap();
        accepted = accepted
            .or_else(|| events.iter().find_map(|&e| if let Event::Accepted(c) = e { Some(c) } else { None }));
    }
    (near, accepted.unwrap())
}

/// Polls until the thread has ended, as a user would go on doing: what was sent leaves with the next poll.
fn poll_beside<E: Engine, T>(engine: &mut E, thread: JoinHandle<T>) -> T {
    let mut events = Vec::new();
    while !thread.is_finished() {
        poll_shortly(engine, &mut events);
    }
    thread.join().unwrap()
}

/// Polls for a millisecond at most.
fn poll_shortly<E: Engine>(engine: &mut E, events: &mut Vec<Event>) -> Nanos {
    let until = engine.now() + Nanos::from_millis(1);
    engine.poll(until, events).unwrap()
}

/// Lets what was sent leave.
fn flush<E: Engine>(engine: &mut E) {
    engine.poll(Nanos::ZERO, &mut Vec::new()).unwrap();
}

/// A server engine with one accepted connection, and the plain socket at its other end.
fn pair<W: World>(world: &W) -> (W::Engine, Conn, W::Peer) {
    let mut engine = world.engine();
    let address = engine.listen(world.address()).unwrap();
    let peer = world.connect(address);
    let conn = accepted(&mut engine);
    (engine, conn, peer)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251) as u8).collect()
}

pub(crate) fn echoes_through_both_sides<W: World>(world: &W) {
    let (mut server, mut client) = world.engines(CONFIG);
    let address = server.listen(world.address()).unwrap();
    let (conn, far) = join(&mut client, &mut server, address, Some(world.source()));
    assert_eq!(client.send(conn, &[b"over there"]), 10);
    flush(&mut client);
    assert_eq!(receive_exactly(&mut server, far, 10), b"over there");
    assert_eq!(server.send(far, &[b"and back"]), 8);
    flush(&mut server);
    assert_eq!(receive_exactly(&mut client, conn, 8), b"and back");
    assert_eq!((client.statistics().connected, server.statistics().accepted), (1, 1));
    assert_eq!((client.statistics().sent_bytes, server.statistics().received_bytes), (10, 10));
}

pub(crate) fn carries_megabytes_against_back_pressure<W: World>(world: &W) {
    let (mut engine, conn, mut peer) = pair(world);
    let data = pattern(24 << 20);
    let expected = data.clone();
    let reader = std::thread::spawn(move || {
        let mut got = Vec::new();
        peer.read_to_end(&mut got).unwrap();
        assert!(got == expected, "{} bytes came", got.len());
    });
    let mut offset = engine.send(conn, &[&data]);
    assert!(offset < data.len(), "a socket buffer cannot hold it all");
    while offset < data.len() {
        poll_until(&mut engine, |_, event| (event == Event::Writable(conn)).then_some(()));
        offset += engine.send(conn, &[&data[offset..]]);
    }
    engine.shutdown(conn);
    poll_beside(&mut engine, reader);
}

pub(crate) fn gathers_parts_in_order<W: World>(world: &W) {
    let (mut engine, conn, mut peer) = pair(world);
    let parts: Vec<Vec<u8>> = (0..40u8).map(|i| vec![i; usize::from(i)]).collect();
    let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    let whole = parts.concat();
    assert_eq!(engine.send(conn, &slices), whole.len(), "all of a small message is accepted");
    let received = std::thread::spawn(move || {
        let mut got = vec![0; 780];
        peer.read_exact(&mut got).unwrap();
        got
    });
    assert_eq!(poll_beside(&mut engine, received), whole);
}

pub(crate) fn keeps_what_is_not_consumed<W: World>(world: &W) {
    let mut engine = world.engine();
    let address = engine.listen(world.address()).unwrap();
    let mut peers: Vec<W::Peer> = (0..3).map(|_| world.connect(address)).collect();
    for (i, peer) in peers.iter_mut().enumerate() {
        peer.write_all(format!("first {i}").as_bytes()).unwrap();
    }
    let mut held: HashMap<Conn, Vec<u8>> = HashMap::new();
    poll_until(&mut engine, |engine, event| {
        if let Event::Readable(conn) = event {
            held.insert(conn, engine.receive(conn).to_vec());
            engine.consume(conn, 6);
        }
        (held.len() == 3 && held.values().all(|v| v.len() == 7)).then_some(())
    });
    for (i, peer) in peers.iter_mut().enumerate() {
        peer.write_all(format!(", second {i}").as_bytes()).unwrap();
    }
    let mut done = 0;
    poll_until(&mut engine, |engine, event| {
        if let Event::Readable(conn) = event {
            let name = char::from(held[&conn][6]);
            assert_eq!(engine.receive(conn), format!("{name}, second {name}").as_bytes());
            done += 1;
        }
        (done == 3).then_some(())
    });
}

pub(crate) fn tells_the_end_after_the_data<W: World>(world: &W) {
    let (mut engine, conn, mut peer) = pair(world);
    let data = pattern(1 << 20);
    let expected = data.clone();
    let writer = std::thread::spawn(move || peer.write_all(&data).unwrap());
    let mut got = Vec::new();
    poll_until(&mut engine, |engine, event| {
        if event == Event::Readable(conn) {
            let view = engine.receive(conn);
            got.extend_from_slice(view);
            let n = view.len();
            engine.consume(conn, n);
        }
        (event == Event::Eof(conn)).then_some(())
    });
    writer.join().unwrap();
    assert!(got == expected, "{} of {} bytes before the end", got.len(), expected.len());
}

pub(crate) fn answers_after_the_peer_has_ended<W: World>(world: &W) {
    let (mut engine, conn, mut peer) = pair(world);
    peer.write_all(b"last words").unwrap();
    peer.finish();
    let mut got = Vec::new();
    poll_until(&mut engine, |engine, event| {
        if event == Event::Readable(conn) {
            got.extend_from_slice(engine.receive(conn));
            engine.consume(conn, 10);
        }
        (event == Event::Eof(conn)).then_some(())
    });
    assert_eq!(got, b"last words");
    assert_eq!(engine.send(conn, &[b"heard"]), 5);
    engine.close(conn);
    flush(&mut engine);
    let mut answer = String::new();
    peer.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "heard");
    assert_eq!(engine.connections(), 0);
}

pub(crate) fn shuts_down_after_the_queue<W: World>(world: &W) {
    let (mut engine, conn, mut peer) = pair(world);
    let block = pattern(60_000);
    let mut sent = Vec::new();
    while engine.queued(conn) == 0 {
        let accepted = engine.send(conn, &[&block]);
        sent.extend_from_slice(&block[..accepted]);
        flush(&mut engine);
    }
    engine.shutdown(conn);
    let reader = std::thread::spawn(move || {
        let mut got = Vec::new();
        peer.read_to_end(&mut got).unwrap();
        got
    });
    poll_until(&mut engine, |_, event| (event == Event::Writable(conn)).then_some(()));
    assert!(poll_beside(&mut engine, reader) == sent, "the farewell cut the queue short");
}

/// The room for sent bytes is almost used up when the last are accepted, which the engine may not know before its next poll.
pub(crate) fn says_what_a_close_would_lose<W: World>(world: &W) {
    let block = pattern(60_000);
    let blocks_that_fit = || {
        let (mut engine, conn, _peer) = pair(world);
        let mut blocks = 0;
        while engine.queued(conn) == 0 {
            engine.send(conn, &[&block]);
            flush(&mut engine);
            blocks += 1;
        }
        blocks - 1
    };
    let (full, (mut engine, conn, mut peer)) = (blocks_that_fit(), pair(world));
    let mut sent = Vec::new();
    for number in 0..full + 3 {
        let accepted = engine.send(conn, &[&block]);
        sent.extend_from_slice(&block[..accepted]);
        if number < full {
            flush(&mut engine);
        }
    }
    let reader = std::thread::spawn(move || {
        let mut got = Vec::new();
        peer.read_to_end(&mut got).unwrap();
        got
    });
    if !engine.has_sent_all(conn) {
        poll_until(&mut engine, |_, event| (event == Event::Writable(conn)).then_some(()));
        assert!(engine.has_sent_all(conn));
    }
    engine.close(conn);
    let got = poll_beside(&mut engine, reader);
    assert!(got == sent, "{} of {} bytes came", got.len(), sent.len());
}

pub(crate) fn names_a_refusal<W: World>(world: &W) {
    let mut engine = world.engine();
    let closed = world.nobody();
    let conn = engine.connect(closed, None).unwrap();
    let reason = poll_until(&mut engine, |_, event| match event {
        Event::Closed(c, reason) if c == conn => Some(reason),
        Event::Connected(_) => panic!("connected to nobody"),
        _ => None,
    });
    assert_eq!(reason, Reason::Refused);
    assert_eq!(engine.connections(), 0);
}

pub(crate) fn names_a_reset<W: World>(world: &W) {
    let (mut engine, conn, peer) = pair(world);
    peer.reset();
    let reason =
        poll_until(
            &mut engine,
            |_, event| if let Event::Closed(_, reason) = event { Some(reason) } else { None },
        );
    assert_eq!(reason, Reason::Reset);
    assert_eq!(engine.send(conn, &[b"too late"]), 8, "accepted and dropped");
    assert!(engine.receive(conn).is_empty());
}

pub(crate) fn offers_data_that_came_before_a_reset<W: World>(world: &W) {
    let (mut engine, conn, mut peer) = pair(world);
    peer.write_all(b"the whole answer").unwrap();
    peer.reset();
    let mut got = Vec::new();
    poll_until(&mut engine, |engine, event| match event {
        Event::Readable(_) => {
            got.extend_from_slice(engine.receive(conn));
            None
        }
        Event::Closed(..) => Some(()),
        _ => None,
    });
    assert_eq!(got, b"the whole answer");
}

pub(crate) fn ignores_names_of_the_past<W: World>(world: &W) {
    let mut engine = world.engine();
    let address = engine.listen(world.address()).unwrap();
    let _first = world.connect(address);
    let old = accepted(&mut engine);
    engine.abort(old);
    let (mut second, new) = in_the_slot_of(world, &mut engine, old, address);
    engine.close(old);
    engine.shutdown(old);
    assert_eq!(engine.send(old, &[b"x"]), 1);
    assert_eq!(engine.connections(), 1);
    second.write_all(b"alive").unwrap();
    assert_eq!(receive_exactly(&mut engine, new, 5), b"alive");
}

/// A connection in the slot of another that is closed. It may take some tries, as an engine may have other slots ready for
/// those who come next.
fn in_the_slot_of<W: World>(
    world: &W,
    engine: &mut W::Engine,
    old: Conn,
    address: SocketAddr,
) -> (W::Peer, Conn) {
    for _ in 0..CONFIG.max_connections {
        let peer = world.connect(address);
        let conn = accepted(engine);
        if conn.slot() == old.slot() {
            return (peer, conn);
        }
        engine.abort(conn);
        flush(engine);
    }
    panic!("slot {} is never given away again", old.slot());
}

pub(crate) fn refuses_more_connections_than_configured<W: World>(world: &W) {
    let mut engine = world.engine();
    let (_listener, address) = world.listener();
    for _ in 0..CONFIG.max_connections {
        engine.connect(address, None).unwrap();
    }
    let error = engine.connect(address, None).unwrap_err().to_string();
    assert!(error.contains("64 connections"), "{error}");
}

pub(crate) fn leaves_connections_in_the_backlog_until_there_is_room<W: World>(world: &W) {
    let mut engine = world.engine();
    let address = engine.listen(world.address()).unwrap();
    let mut peers: Vec<W::Peer> = (0..=CONFIG.max_connections).map(|_| world.connect(address)).collect();
    let open = accept_many(&mut engine, CONFIG.max_connections);
    assert_eq!(engine.connections(), CONFIG.max_connections);
    engine.close(open[5]);
    let last = accepted(&mut engine);
    assert_eq!(last.slot(), open[5].slot());
    let mut last_peer = peers.pop().unwrap();
    last_peer.write_all(b"my turn").unwrap();
    assert_eq!(receive_exactly(&mut engine, last, 7), b"my turn");
}

pub(crate) fn returns_when_the_time_has_come<W: World>(world: &W) {
    let mut engine = world.engine();
    let mut events = vec![];
    let cpu = engine.cpu_time();
    let until = engine.now() + Nanos::from_millis(3);
    let woke = engine.poll(until, &mut events).unwrap();
    assert!(woke >= until && events.is_empty());
    assert!(woke == until || !engine.wakes_on_time());
    let between = engine.now();
    let woke_again = engine.poll(Nanos::ZERO, &mut events).unwrap();
    let in_order = [until, woke, between, woke_again, engine.now()];
    assert!(in_order.is_sorted(), "the past does not wait, and the clock does not run back: {in_order:?}");
    assert!(engine.cpu_time() >= cpu);
}
