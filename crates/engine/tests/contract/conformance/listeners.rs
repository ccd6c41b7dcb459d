//! Several listeners of one engine, and whose a connection is.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use assay_engine::{Conn, Engine, Event, Reason};
use assay_model::units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec};

use super::{CONFIG, Peer, World, accept_many, accepted, flush, join, next_beside};

pub(crate) fn tells_both_addresses<W: World>(world: &W) {
    let (mut server, mut client) = world.engines(CONFIG);
    let address = server.listen(world.address()).unwrap();
    let (near, far) = join(&mut client, &mut server, address, None);
    let (ours, theirs) = client.addresses(near).unwrap();
    assert_eq!((server.addresses(far), theirs), (Some((theirs, ours)), address));
    server.close(far);
    assert_eq!(server.addresses(far), None);
}

pub(crate) fn tells_whose_a_connection_is<W: World>(world: &W) {
    let mut engine = world.engine();
    let listeners =
        [world.address(), world.address(), world.second_address()].map(|at| engine.listen(at).unwrap());
    let peers = listeners.map(|at| world.connect(at));
    let conns = accept_many(&mut engine, listeners.len());
    let ours: HashSet<_> = conns.iter().filter_map(|&c| engine.addresses(c)).collect();
    let theirs: HashSet<_> = peers.iter().map(Peer::ends).map(|(own, other)| (other, own)).collect();
    assert_eq!(ours, theirs);
    assert!(engine.listen(listeners[0]).is_err(), "two listeners at one address cannot be told apart");
}

pub(crate) fn stops_listening_at_one_address<W: World>(world: &W) {
    let (mut server, mut client) = world.engines(CONFIG);
    let [first, second] = [(); 2].map(|()| server.listen(world.address()).unwrap());
    server.stop_listening_at(first);
    flush(&mut server);
    is_refused(&mut client, &mut server, first);
    let (_, conn) = join(&mut client, &mut server, second, None);
    assert_eq!(server.addresses(conn).unwrap().0, second);
    assert_eq!(server.listen(first).unwrap(), first, "its port is free again");
    server.stop_listening();
    flush(&mut server);
    is_refused(&mut client, &mut server, second);
}

fn is_refused<E: Engine>(client: &mut E, server: &mut E, address: SocketAddr) {
    let refused = client.connect(address, None).unwrap();
    assert_eq!(next_beside(client, server), Event::Closed(refused, Reason::Refused));
}

/// Looks for a connection that must come.
const LOOKS: usize = 100;

pub(crate) fn accepts_nothing_while_paused<W: World>(world: &W) {
    let mut engine = world.engine();
    let [busy, idle] = [(); 2].map(|()| engine.listen(world.address()).unwrap());
    engine.pause_accepting(busy, true);
    // More than an engine may have asked the kernel for already.
    let mut peers: Vec<W::Peer> = (0..40).map(|_| world.connect(busy)).collect();
    let _other = world.connect(idle);
    let mut conns: Vec<Conn> = Vec::new();
    let mut early = 0;
    // Several times: the other end may be without a CPU for longer than is waited for once.
    for _ in 0..LOOKS {
        if conns.len() > early {
            break;
        }
        conns.extend(accept_quietly(world, &mut engine));
        early = conns.iter().filter(|&&c| engine.addresses(c).unwrap().0 == busy).count();
    }
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
fn accept_quietly<W: World>(world: &W, engine: &mut W::Engine) -> Vec<Conn> {
    let (mut conns, mut events) = (Vec::new(), Vec::new());
    let end = engine.now() + world.quiet();
    while engine.poll(end, &mut events).unwrap() < end {
        conns.extend(events.iter().filter_map(|&e| if let Event::Accepted(c) = e { Some(c) } else { None }));
    }
    conns
}

/// An engine that names no descriptor has nothing to show here; its poll is all there is to wait with.
pub(crate) fn its_descriptor_tells_what_poll_would_find<W: World>(world: &W) {
    let mut engine = world.engine();
    let address = engine.listen(world.address()).unwrap();
    let mut peer = world.connect(address);
    let conn = accepted(&mut engine);
    assert!(accept_quietly(world, &mut engine).is_empty());
    let now = engine.now();
    let Some((descriptor, due)) = engine.wake_source() else { return };
    assert!(due > now, "nothing is left to do");
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
