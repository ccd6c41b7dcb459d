//! Skipping: bytes that are dropped unseen, to the byte.

use std::io::Write;

use assay_engine::{Conn, Engine, Event, Reason};
use assay_model::units::Nanos;

use super::{Peer, World, pair, pattern, poll_until};

/// Polls until the skip is done, and fails when the stream ends before.
fn skipped<E: Engine>(engine: &mut E, conn: Conn) {
    poll_until(engine, |engine, event| match event {
        Event::Readable(c) if c == conn => (engine.skipping(conn) == 0).then_some(()),
        Event::Eof(_) | Event::Closed(..) => panic!("{event:?} with {} left", engine.skipping(conn)),
        _ => None,
    });
}

/// Takes `n` bytes of the stream, or what is left of it.
fn take<E: Engine>(engine: &mut E, conn: Conn, n: usize) -> Vec<u8> {
    let mut got = Vec::new();
    loop {
        let view = engine.receive(conn);
        let taken = view.len().min(n - got.len());
        got.extend_from_slice(&view[..taken]);
        engine.consume(conn, taken);
        if got.len() == n {
            return got;
        }
        // One event may have been that of several, of which the poll below would lose the others.
        if taken > 0 {
            continue;
        }
        let more = |_: &mut E, event| matches!(event, Event::Readable(_) | Event::Eof(_)).then_some(event);
        if let Event::Eof(_) = poll_until(engine, more) {
            return got;
        }
    }
}

/// Writes in the background, since nobody reads until the engine is polled.
fn write_behind<P: Peer>(mut peer: P, bytes: Vec<u8>) -> std::thread::JoinHandle<P> {
    std::thread::spawn(move || {
        peer.write_all(&bytes).unwrap();
        peer
    })
}

pub(crate) fn skips_beyond_the_view_to_the_byte<W: World>(world: &W) {
    let (mut engine, conn, peer) = pair(world);
    let data = pattern(3 << 20);
    let writer = write_behind(peer, data.clone());
    assert_eq!(take(&mut engine, conn, 100), data[..100]);
    engine.skip(conn, (2 << 20) + 7);
    assert!(engine.receive(conn).is_empty() || engine.skipping(conn) == 0, "nothing is seen while it skips");
    skipped(&mut engine, conn);
    let from = 100 + (2 << 20) + 7;
    assert!(take(&mut engine, conn, data.len() - from) == data[from..], "not where it should go on");
    assert_eq!(engine.statistics().received_bytes, data.len() as u64);
    writer.join().unwrap();
}

pub(crate) fn skips_within_the_view<W: World>(world: &W) {
    let (mut engine, conn, mut peer) = pair(world);
    peer.write_all(b"seen, skipped, seen again").unwrap();
    assert_eq!(take(&mut engine, conn, 4), b"seen");
    engine.skip(conn, 11);
    assert_eq!(engine.skipping(conn), 0);
    skipped(&mut engine, conn);
    assert_eq!(engine.receive(conn), b"seen again");
}

pub(crate) fn skips_and_receives_by_turns<W: World>(world: &W) {
    let (mut engine, conn, peer) = pair(world);
    let body_lens = [1, 70_000, 0, 200_000, 16_384, 3, 1_000_000];
    let head = |i: usize| format!("head {i:06}, {:08} follow\n", body_lens[i % body_lens.len()]).into_bytes();
    let stream = (0..42).flat_map(|i| [head(i), vec![b'-'; body_lens[i % body_lens.len()]]].concat());
    let writer = write_behind(peer, stream.collect());
    for i in 0..42 {
        assert_eq!(take(&mut engine, conn, head(i).len()), head(i));
        engine.skip(conn, body_lens[i % body_lens.len()] as u64);
        skipped(&mut engine, conn);
    }
    writer.join().unwrap();
    assert!(engine.receive(conn).is_empty());
}

pub(crate) fn adds_skips_up<W: World>(world: &W) {
    let (mut engine, conn, mut peer) = pair(world);
    engine.skip(conn, 3);
    engine.skip(conn, 2);
    assert_eq!(engine.skipping(conn), 5);
    peer.write_all(b"12345six").unwrap();
    skipped(&mut engine, conn);
    assert_eq!(take(&mut engine, conn, 3), b"six");
}

pub(crate) fn tells_what_a_skip_misses_at_the_end<W: World>(world: &W) {
    let (mut engine, conn, mut peer) = pair(world);
    engine.skip(conn, 1_000_000);
    let writer = std::thread::spawn(move || {
        peer.write_all(&pattern(300_000)).unwrap();
        peer.finish();
        peer
    });
    poll_until(&mut engine, |engine, event| match event {
        Event::Readable(_) => panic!("told that it is done, with {} left", engine.skipping(conn)),
        Event::Eof(_) => Some(()),
        _ => None,
    });
    assert_eq!(engine.skipping(conn), 700_000);
    assert_eq!(engine.statistics().received_bytes, 300_000);
    writer.join().unwrap();
}

pub(crate) fn ends_a_skip_with_a_reset<W: World>(world: &W) {
    let (mut engine, conn, mut peer) = pair(world);
    engine.skip(conn, 1_000);
    peer.write_all(b"not enough").unwrap();
    peer.reset();
    let reason = poll_until(&mut engine, |_, event| match event {
        Event::Readable(_) => panic!("told that it is done"),
        Event::Closed(_, reason) => Some(reason),
        _ => None,
    });
    assert_eq!(reason, Reason::Reset);
    assert_eq!(engine.skipping(conn), 0);
}

pub(crate) fn skips_nothing_of_a_closed_connection<W: World>(world: &W) {
    let (mut engine, conn, mut peer) = pair(world);
    engine.skip(conn, 1_000);
    engine.close(conn);
    engine.skip(conn, 1_000);
    assert_eq!(engine.skipping(conn), 0);
    // The peer may find the connection closed already.
    let _ = peer.write_all(b"nobody");
    let mut events = Vec::new();
    engine.poll(engine.now() + Nanos::from_millis(20), &mut events).unwrap();
    assert_eq!(events, []);
}
