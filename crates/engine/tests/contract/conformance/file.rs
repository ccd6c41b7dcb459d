//! Ranges of files behind what was sent.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::thread::{JoinHandle, spawn};

use assay_engine::{Engine, Event, FileRange, Reason};

use super::{Peer, World, flush, pair, pattern, poll_beside, poll_until};

/// A file with these bytes, of which only this handle remains.
fn file(bytes: &[u8]) -> Arc<File> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Arc::new(file)
}

fn read_to_end(mut peer: impl Peer) -> JoinHandle<(Vec<u8>, std::io::Result<usize>)> {
    spawn(move || {
        let mut got = Vec::new();
        let result = peer.read_to_end(&mut got);
        (got, result)
    })
}

pub(crate) fn sends_files_between_other_bytes_in_order<W: World>(world: &W) {
    let (mut engine, conn, peer) = pair(world);
    let reader = read_to_end(peer);
    let data = pattern(300_000);
    let source = file(&data);
    let mut expected = Vec::new();
    for (offset, len) in [(0, 300_000), (7, 1), (4096, 0), (299_000, 1_000), (100, 70_000)] {
        let head = format!("{len} bytes from {offset}: ").into_bytes();
        let range = FileRange { file: Arc::clone(&source), offset, len };
        assert_eq!(engine.send(conn, &[b"next, "]), 6);
        while engine.queued(conn) > 0 {
            poll_until(&mut engine, |_, event| (event == Event::Writable(conn)).then_some(()));
        }
        assert!(engine.send_file(conn, &[&head, b"!"], range), "nothing is queued");
        while engine.queued(conn) > 0 {
            poll_until(&mut engine, |_, event| (event == Event::Writable(conn)).then_some(()));
        }
        let part = &data[offset as usize..][..len as usize];
        expected.extend([b"next, ", &head[..], b"!", part].concat());
    }
    engine.shutdown(conn);
    let (got, result) = poll_beside(&mut engine, reader);
    assert!(result.is_ok() && got == expected, "{} bytes of {} came", got.len(), expected.len());
    assert_eq!(engine.statistics().sent_bytes, expected.len() as u64);
}

pub(crate) fn takes_nothing_behind_a_file_that_waits_for_room<W: World>(world: &W) {
    let (mut engine, conn, peer) = pair(world);
    let data = pattern(24 << 20);
    let range = FileRange { file: file(&data), offset: 0, len: data.len() as u64 };
    assert!(engine.send_file(conn, &[b"head"], range.clone()));
    flush(&mut engine);
    assert!(engine.queued(conn) > 0, "a socket buffer cannot hold it all");
    assert!(!engine.send_file(conn, &[b"refused"], range));
    assert_eq!(engine.send(conn, &[b"refused too"]), 0);
    let reader = read_to_end(peer);
    poll_until(&mut engine, |_, event| (event == Event::Writable(conn)).then_some(()));
    assert_eq!(engine.send(conn, &[b"tail"]), 4);
    engine.shutdown(conn);
    let (got, _) = poll_beside(&mut engine, reader);
    assert!(got == [b"head", &data[..], b"tail"].concat(), "{} bytes came", got.len());
}

pub(crate) fn ends_our_direction_behind_a_file<W: World>(world: &W) {
    let (mut engine, conn, peer) = pair(world);
    let data = pattern(24 << 20);
    assert!(engine.send_file(conn, &[], FileRange { file: file(&data), offset: 0, len: data.len() as u64 }));
    engine.shutdown(conn);
    let (got, result) = poll_beside(&mut engine, read_to_end(peer));
    assert!(result.is_ok() && got == data, "{} bytes came", got.len());
}

pub(crate) fn resets_when_a_file_has_become_shorter<W: World>(world: &W) {
    for promised in [10_000, 1_000_000] {
        let (mut engine, conn, peer) = pair(world);
        let range = FileRange { file: file(&pattern(promised / 2)), offset: 0, len: promised as u64 };
        let reader = read_to_end(peer);
        assert!(engine.send_file(conn, &[b"head"], range));
        let reason = poll_until(&mut engine, |_, event| match event {
            Event::Closed(c, reason) if c == conn => Some(reason),
            _ => None,
        });
        assert_eq!(reason, Reason::Other(rustix::io::Errno::IO.raw_os_error()));
        let (_, result) = poll_beside(&mut engine, reader);
        assert_eq!(result.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    }
}

pub(crate) fn receives_on_while_a_file_leaves<W: World>(world: &W) {
    let (mut engine, conn, mut peer) = pair(world);
    let data = pattern(24 << 20);
    assert!(engine.send_file(conn, &[], FileRange { file: file(&data), offset: 0, len: data.len() as u64 }));
    peer.write_all(b"meanwhile").unwrap();
    poll_until(&mut engine, |engine, event| {
        (event == Event::Readable(conn) && engine.receive(conn) == b"meanwhile").then_some(())
    });
    engine.consume(conn, 9);
    let mut reader = peer.another();
    let reading = spawn(move || reader.read_exact(&mut vec![0; 24 << 20]));
    poll_beside(&mut engine, reading).unwrap();
    peer.write_all(b"after").unwrap();
    poll_until(&mut engine, |engine, event| {
        (event == Event::Readable(conn) && engine.receive(conn) == b"after").then_some(())
    });
}
