//! Several listeners of one engine, and whose a connection is.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::BorrowedFd;

use assay_engine::{Conn, Engine, Event, Reason, clock};
use assay_model::units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::{LOOPBACK, accept_many, accepted, flush, poll_until};

/// Long enough for a connection on loopback to be noticed, were it accepted.
const QUIET: Nanos = Nanos::from_millis(50);

pub(super) fn tells_both_addresses<E: Engine>(make: impl Fn() -> E) {
    let mut engine = make();
    let address = engine.listen(LOOPBACK).unwrap();
    let peer = TcpStream::connect(address).unwrap();
    let conn = accepted(&mut engine);
    assert_eq!(engine.addresses(conn), Some((address, peer.local_addr().unwrap())));
    engine.close(conn);
    assert_eq!(engine.addresses(conn), None);

    let out = engine.connect(address, None).unwrap();
    let mut open = HashSet::new();
    poll_until(&mut engine, |_, event| {
        if let Event::Connected(conn) | Event::Accepted(conn) = event {
            open.insert(conn);
        }
        (open.len() == 2).then_some(())
    });
    let (ours, theirs) = engine.addresses(out).unwrap();
    open.remove(&out);
    let far = open.into_iter().next().unwrap();
    assert_eq!((engine.addresses(far), theirs), (Some((theirs, ours)), address));
}

pub(super) fn tells_whose_a_connection_is<E: Engine>(make: impl Fn() -> E) {
    let mut engine = make();
    let v6 = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 0);
    let listeners = [LOOPBACK, LOOPBACK, v6].map(|at| engine.listen(at).unwrap());
    let peers = listeners.map(|at| TcpStream::connect(at).unwrap());
    let conns = accept_many(&mut engine, listeners.len());
    let ours: HashSet<_> = conns.iter().filter_map(|&c| engine.addresses(c)).collect();
    let theirs: HashSet<_> =
        peers.iter().map(|p| (p.peer_addr().unwrap(), p.local_addr().unwrap())).collect();
    assert_eq!(ours, theirs);
    assert!(engine.listen(listeners[0]).is_err(), "two listeners at one address cannot be told apart");
}

pub(super) fn stops_listening_at_one_address<E: Engine>(make: impl Fn() -> E) {
    let mut engine = make();
    let [first, second] = [(); 2].map(|()| engine.listen(LOOPBACK).unwrap());
    engine.stop_listening_at(first);
    flush(&mut engine);
    let refused = engine.connect(first, None).unwrap();
    let event = poll_until(&mut engine, |_, event| Some(event));
    assert_eq!(event, Event::Closed(refused, Reason::Refused));
    let _peer = TcpStream::connect(second).unwrap();
    let conn = accepted(&mut engine);
    assert_eq!(engine.addresses(conn).unwrap().0, second);
    assert_eq!(engine.listen(first).unwrap(), first, "its port is free again");
    engine.stop_listening();
    assert!(TcpStream::connect(second).is_err());
}

pub(super) fn accepts_nothing_while_paused<E: Engine>(make: impl Fn() -> E) {
    let mut engine = make();
    let [busy, idle] = [(); 2].map(|()| engine.listen(LOOPBACK).unwrap());
    engine.pause_accepting(busy, true);
    // More than an engine may have asked the kernel for already.
    let mut peers: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(busy).unwrap()).collect();
    let _other = TcpStream::connect(idle).unwrap();
    let mut conns: Vec<Conn> = accept_quietly(&mut engine);
    let early = conns.iter().filter(|&&c| engine.addresses(c).unwrap().0 == busy).count();
    assert_eq!(conns.len(), early + 1, "the other listener goes on");
    assert!(early < 20, "{early} of 40 were accepted in the pause");
    engine.pause_accepting(busy, false);
    conns.extend(accept_many(&mut engine, 40 - early));
    for &conn in &conns {
        engine.send(conn, &[b"!"]);
    }
    flush(&mut engine);
    for peer in &mut peers {
        peer.write_all(b"?").unwrap();
        peer.read_exact(&mut [0]).unwrap();
    }
}

/// Everything that is accepted until nothing has been for a while.
fn accept_quietly<E: Engine>(engine: &mut E) -> Vec<Conn> {
    let (mut conns, mut events) = (Vec::new(), Vec::new());
    let end = clock::now() + QUIET;
    while engine.poll(end, &mut events).unwrap() < end {
        conns.extend(events.iter().filter_map(|&e| if let Event::Accepted(c) = e { Some(c) } else { None }));
    }
    conns
}

/// An engine that names no descriptor has nothing to show here; its poll is all there is to wait with.
pub(super) fn its_descriptor_tells_what_poll_would_find<E: Engine>(make: impl Fn() -> E) {
    let mut engine = make();
    let address = engine.listen(LOOPBACK).unwrap();
    let mut peer = TcpStream::connect(address).unwrap();
    let conn = accepted(&mut engine);
    assert!(accept_quietly(&mut engine).is_empty());
    let Some((descriptor, due)) = engine.wake_source() else { return };
    assert_eq!(due, Nanos::MAX);
    let readable = |fd: BorrowedFd<'_>, wait: i64| {
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        rustix::event::poll(&mut fds, Some(&Timespec { tv_sec: wait, tv_nsec: 0 })).unwrap() == 1
    };
    assert!(!readable(descriptor, 0));
    peer.write_all(b"now").unwrap();
    assert!(readable(descriptor, 10));
    let mut events = Vec::new();
    engine.poll(Nanos::ZERO, &mut events).unwrap();
    assert_eq!(events, [Event::Readable(conn)]);
}
