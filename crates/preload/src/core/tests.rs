//! The core on a real engine, against plain sockets of the kernel.

mod user;

use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use assay_engine::{Config, Engine, EngineError, Epoll};
use assay_model::units::Nanos;
use rustix::event::epoll::EventFlags;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use super::{Core, Terms, Way};

const PATIENCE: Duration = Duration::from_secs(10);
/// Numbers that the program's descriptors would have.
const LISTENER: i32 = 3;
const SET: i32 = 4;
const FIRST: i32 = 5;

fn epoll() -> Result<Epoll, EngineError> {
    Epoll::new(Config { max_connections: 256 })
}

fn terms(backlog: usize) -> Terms {
    Terms { backlog, nonblocking: true, shares_port: false }
}

/// On terms that allow several at one address.
fn sharing() -> Terms {
    Terms { shares_port: true, ..terms(16) }
}

/// A core that listens at a port of its own.
fn listening(terms: Terms) -> (Core<Epoll>, SocketAddr) {
    let mut core = Core::new(epoll);
    // A port that is free: it was given away and taken back a moment ago.
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    core.listen(LISTENER, address, terms).unwrap();
    assert_eq!(core.accept(LISTENER).err(), Some(Errno::AGAIN), "which is why the engine listens");
    core.turn(Nanos::ZERO).unwrap();
    (core, address)
}

/// Turns until `done` has a result.
fn until<E: Engine, T>(core: &mut Core<E>, mut done: impl FnMut(&mut Core<E>) -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(result) = done(core) {
            return result;
        }
        assert!(Instant::now() < end, "it never came");
        core.turn(assay_engine::clock::now() + Nanos::from_millis(5)).unwrap();
    }
}

/// Turns long enough for whatever is on its way on loopback to arrive.
fn settle(core: &mut Core<Epoll>) {
    let end = Instant::now() + Duration::from_millis(50);
    while Instant::now() < end {
        core.turn(assay_engine::clock::now() + Nanos::from_millis(5)).unwrap();
    }
}

fn accept(core: &mut Core<Epoll>, fd: i32) -> (SocketAddr, SocketAddr) {
    let stream = until(core, |core| core.accept(LISTENER).ok());
    core.adopt(stream, fd, true).unwrap()
}

/// A core with one accepted connection, and the plain socket at its other end.
fn pair() -> (Core<Epoll>, TcpStream) {
    let (mut core, address) = listening(terms(16));
    let peer = TcpStream::connect(address).unwrap();
    let addresses = accept(&mut core, FIRST);
    assert_eq!(addresses, (address, peer.local_addr().unwrap()));
    (core, peer)
}

fn receive(core: &mut Core<Epoll>, fd: i32) -> Result<Vec<u8>, Errno> {
    let mut room = [0; 4096];
    let n = core.receive(fd, &mut [IoSliceMut::new(&mut room)], Way::Take)?;
    Ok(room[..n].to_vec())
}

fn reported(core: &mut Core<Epoll>) -> Vec<EventFlags> {
    let mut reports = Vec::new();
    core.collect(SET, &mut reports, 16);
    reports.iter().map(|r| r.flags).collect()
}

fn is_readable(core: &mut Core<Epoll>, fd: i32) -> bool {
    let object = core.object(fd).unwrap();
    core.readiness(object).contains(EventFlags::IN)
}

#[test]
fn bytes_go_both_ways() {
    let (mut core, mut peer) = pair();
    assert_eq!(receive(&mut core, FIRST), Err(Errno::AGAIN));
    peer.write_all(b"question").unwrap();
    assert!(until(&mut core, |core| is_readable(core, FIRST).then_some(true)));
    assert_eq!(core.receivable(FIRST), Ok(8));
    let mut room = [0; 8];
    let peeked = core.receive(FIRST, &mut [IoSliceMut::new(&mut room)], Way::Peek);
    assert_eq!((peeked, &room), (Ok(8), b"question"));
    let (mut left, mut right) = ([0; 3], [0; 9]);
    let mut parts = [IoSliceMut::new(&mut left), IoSliceMut::new(&mut right)];
    assert_eq!(core.receive(FIRST, &mut parts, Way::Take), Ok(8));
    assert_eq!((&left, &right[..5]), (b"que", &b"stion"[..]));
    assert_eq!(core.send(FIRST, &[IoSlice::new(b"ans"), IoSlice::new(b"wer")]), Ok(6));
    core.turn(Nanos::ZERO).unwrap();
    let mut answer = [0; 6];
    peer.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"answer");
}

#[test]
fn of_two_listeners_at_one_address_the_one_that_is_waited_for_takes_a_connection() {
    let (mut core, address) = listening(sharing());
    core.listen(SET, address, sharing()).unwrap();
    let peer = TcpStream::connect(address).unwrap();
    assert_eq!(accept(&mut core, FIRST).1, peer.local_addr().unwrap());
}

#[test]
fn a_level_is_reported_until_the_bytes_are_taken() {
    let (mut core, mut peer) = pair();
    core.adopt_set(SET, eventfd(0, EventfdFlags::CLOEXEC).unwrap());
    core.watch(SET, FIRST, EventFlags::IN, 7).unwrap();
    assert_eq!(core.watch(SET, FIRST, EventFlags::IN, 7), Err(Errno::EXIST));
    assert_eq!(reported(&mut core), []);
    peer.write_all(b"abcdef").unwrap();
    until(&mut core, |core| (reported(core) == [EventFlags::IN]).then_some(()));
    let mut room = [0; 4];
    core.receive(FIRST, &mut [IoSliceMut::new(&mut room)], Way::Take).unwrap();
    assert_eq!(reported(&mut core), [EventFlags::IN], "two bytes are left");
    receive(&mut core, FIRST).unwrap();
    assert_eq!(reported(&mut core), []);
}

#[test]
fn an_edge_is_reported_once_for_what_has_come() {
    let (mut core, mut peer) = pair();
    core.adopt_set(SET, eventfd(0, EventfdFlags::CLOEXEC).unwrap());
    core.watch(SET, FIRST, EventFlags::IN | EventFlags::OUT | EventFlags::ET, 7).unwrap();
    assert_eq!(reported(&mut core), [EventFlags::OUT], "there is room from the start");
    peer.write_all(b"abc").unwrap();
    until(&mut core, |core| (reported(core) == [EventFlags::IN | EventFlags::OUT]).then_some(()));
    settle(&mut core);
    assert_eq!(reported(&mut core), [], "though nothing was taken");
    peer.write_all(b"def").unwrap();
    until(&mut core, |core| (reported(core) == [EventFlags::IN | EventFlags::OUT]).then_some(()));
    assert_eq!(receive(&mut core, FIRST).unwrap(), b"abcdef");
}

#[test]
fn one_shot_is_reported_once_until_it_is_armed_again() {
    let (mut core, mut peer) = pair();
    core.adopt_set(SET, eventfd(0, EventfdFlags::CLOEXEC).unwrap());
    core.watch(SET, FIRST, EventFlags::IN | EventFlags::ONESHOT, 7).unwrap();
    peer.write_all(b"abc").unwrap();
    until(&mut core, |core| (reported(core) == [EventFlags::IN]).then_some(()));
    peer.write_all(b"def").unwrap();
    settle(&mut core);
    assert_eq!(reported(&mut core), []);
    core.change_watch(SET, FIRST, EventFlags::IN | EventFlags::ONESHOT, 8).unwrap();
    assert_eq!(reported(&mut core), [EventFlags::IN], "what came meanwhile is not forgotten");
    core.unwatch(SET, FIRST).unwrap();
    assert_eq!(core.change_watch(SET, FIRST, EventFlags::IN, 8), Err(Errno::NOENT));
}

#[test]
fn a_full_connection_is_writable_again_when_there_is_room() {
    let (mut core, mut peer) = pair();
    core.adopt_set(SET, eventfd(0, EventfdFlags::CLOEXEC).unwrap());
    core.watch(SET, FIRST, EventFlags::OUT | EventFlags::ET, 7).unwrap();
    assert_eq!(reported(&mut core), [EventFlags::OUT]);
    let block = vec![7u8; 1 << 20];
    let mut sent = 0;
    let refused = loop {
        match core.send(FIRST, &[IoSlice::new(&block)]) {
            Ok(n) => sent += n,
            Err(error) => break error,
        }
    };
    assert_eq!((refused, reported(&mut core)), (Errno::AGAIN, vec![]));
    assert_eq!((core.send(FIRST, &[]), core.send(FIRST, &[IoSlice::new(b"")])), (Ok(0), Ok(0)));
    let reader = std::thread::spawn(move || {
        let mut got = vec![0; sent];
        peer.read_exact(&mut got).unwrap();
        (got, peer)
    });
    until(&mut core, |core| (reported(core) == [EventFlags::OUT]).then_some(()));
    until(&mut core, |_| reader.is_finished().then_some(()));
    assert!(reader.join().unwrap().0.iter().all(|&b| b == 7));
}

#[test]
fn the_peers_end_is_an_event_and_our_direction_goes_on() {
    let (mut core, mut peer) = pair();
    core.adopt_set(SET, eventfd(0, EventfdFlags::CLOEXEC).unwrap());
    core.watch(SET, FIRST, EventFlags::IN | EventFlags::RDHUP, 7).unwrap();
    peer.write_all(b"last").unwrap();
    peer.shutdown(Shutdown::Write).unwrap();
    until(&mut core, |core| reported(core).contains(&EventFlags::IN).then_some(()));
    assert_eq!(receive(&mut core, FIRST).unwrap(), b"last");
    until(&mut core, |core| (reported(core) == [EventFlags::IN | EventFlags::RDHUP]).then_some(()));
    assert_eq!(receive(&mut core, FIRST).unwrap(), b"", "0 bytes are the end");
    assert_eq!(core.send(FIRST, &[IoSlice::new(b"heard")]), Ok(5));
    core.shutdown(FIRST, false, true).unwrap();
    assert_eq!(core.send(FIRST, &[IoSlice::new(b"more")]), Err(Errno::PIPE));
    let mut answer = String::new();
    core.turn(Nanos::ZERO).unwrap();
    peer.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "heard");
    assert!(reported(&mut core)[0].contains(EventFlags::HUP), "both directions have ended");
}

#[test]
fn what_came_can_be_read_after_the_program_has_ended_this_direction() {
    let (mut core, mut peer) = pair();
    peer.write_all(b"before").unwrap();
    until(&mut core, |core| is_readable(core, FIRST).then_some(()));
    core.shutdown(FIRST, true, false).unwrap();
    assert_eq!(receive(&mut core, FIRST).unwrap(), b"before");
    assert_eq!(receive(&mut core, FIRST).unwrap(), b"", "0 bytes are the end");
    peer.write_all(b"behind").unwrap();
    settle(&mut core);
    assert_eq!(receive(&mut core, FIRST).unwrap(), b"behind", "as in Linux");
}

#[test]
fn a_reset_is_told_once_and_then_is_the_end() {
    let (mut core, peer) = pair();
    rustix::net::sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).unwrap();
    drop(peer);
    until(&mut core, |core| is_readable(core, FIRST).then_some(()));
    assert_eq!(receive(&mut core, FIRST), Err(Errno::CONNRESET));
    assert_eq!(receive(&mut core, FIRST), Ok(vec![]));
    assert_eq!(core.send(FIRST, &[IoSlice::new(b"x")]), Err(Errno::PIPE));
    assert_eq!(core.take_error(FIRST), None);
}

#[test]
fn a_connection_lives_as_long_as_any_of_its_descriptors() {
    let (mut core, mut peer) = pair();
    core.duplicate(FIRST, 9);
    core.close(FIRST);
    assert_eq!(core.object(FIRST), None);
    assert_eq!(core.send(9, &[IoSlice::new(b"still here")]), Ok(10));
    core.close(9);
    core.turn(Nanos::ZERO).unwrap();
    let mut answer = String::new();
    peer.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "still here");
    assert_eq!(core.send(9, &[IoSlice::new(b"x")]), Err(Errno::BADF));
}

#[test]
fn closing_ends_what_watched() {
    let (mut core, mut peer) = pair();
    core.adopt_set(SET, eventfd(0, EventfdFlags::CLOEXEC).unwrap());
    core.watch(SET, FIRST, EventFlags::IN, 7).unwrap();
    peer.write_all(b"abc").unwrap();
    until(&mut core, |core| (!reported(core).is_empty()).then_some(()));
    core.close(FIRST);
    assert_eq!(reported(&mut core), []);
    core.close(SET);
    assert_eq!(core.object(SET), None);
}

#[test]
fn closing_with_unread_bytes_resets() {
    let (mut core, mut peer) = pair();
    peer.write_all(b"nobody reads this").unwrap();
    until(&mut core, |core| is_readable(core, FIRST).then_some(()));
    core.close(FIRST);
    core.turn(Nanos::ZERO).unwrap();
    let error = peer.read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

/// More than an engine has on their way at a time.
const PEERS: i32 = 200;

#[test]
fn a_full_backlog_holds_connections_back_and_resets_none() {
    let (mut core, address) = listening(terms(2));
    let mut peers: Vec<TcpStream> = (0..PEERS).map(|_| TcpStream::connect(address).unwrap()).collect();
    settle(&mut core);
    for (fd, peer) in (FIRST..).zip(&mut peers) {
        accept(&mut core, fd);
        peer.write_all(b"?").unwrap();
    }
    for fd in FIRST..FIRST + PEERS {
        assert_eq!(until(&mut core, |core| receive(core, fd).ok()), b"?");
    }
    assert_eq!(core.accept(LISTENER).err(), Some(Errno::AGAIN));
}

#[test]
fn full_backlogs_at_one_address_hold_back_until_one_has_room() {
    let (mut core, address) = listening(Terms { backlog: 2, ..sharing() });
    core.listen(SET, address, Terms { backlog: 3, ..sharing() }).unwrap();
    assert_eq!(core.accept(SET).err(), Some(Errno::AGAIN));
    let peers: Vec<TcpStream> = (0..PEERS).map(|_| TcpStream::connect(address).unwrap()).collect();
    settle(&mut core);
    let take = |core: &mut Core<Epoll>, fd| {
        let stream = [LISTENER, SET].into_iter().find_map(|listener| core.accept(listener).ok())?;
        core.adopt(stream, fd, true)
    };
    let half = FIRST + PEERS / 2;
    for fd in FIRST..half {
        until(&mut core, |core| take(core, fd));
    }
    // One of them goes, full as it is, and another comes.
    core.close(LISTENER);
    core.listen(LISTENER, address, sharing()).unwrap();
    let others = (half..).map_while(|fd| {
        settle(&mut core);
        take(&mut core, fd)
    });
    let taken = others.count() as i32 + PEERS / 2;
    let is_reset = |mut peer: &TcpStream| {
        peer.set_nonblocking(true).unwrap();
        peer.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset)
    };
    let resets = peers.iter().filter(|peer| is_reset(peer)).count() as i32;
    assert!(taken + resets == PEERS && resets < PEERS / 2, "{taken} taken, {resets} reset");
}

#[test]
fn a_listener_that_is_closed_refuses() {
    let (mut core, address) = listening(terms(8));
    core.close(LISTENER);
    core.turn(Nanos::ZERO).unwrap();
    assert!(TcpStream::connect(address).is_err());
    // As a JVM names it.
    core.listen(LISTENER, super::in_family_of(address, true), terms(8)).unwrap();
    assert_eq!(core.accept(LISTENER).err(), Some(Errno::AGAIN));
    core.turn(Nanos::ZERO).unwrap();
    let waiting = TcpStream::connect(address).unwrap();
    core.close(LISTENER);
    core.turn(Nanos::ZERO).unwrap();
    assert!(TcpStream::connect(address).is_err());
    drop(waiting);
}

#[test]
fn connecting_ends_in_success_or_in_an_error() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let mut core = Core::new(epoll);
    core.connect(FIRST, address, Some(Ipv4Addr::new(127, 0, 0, 9).into()), true).unwrap();
    let object = core.object(FIRST).unwrap();
    until(&mut core, |core| core.readiness(object).contains(EventFlags::OUT).then_some(()));
    assert_eq!(core.take_error(FIRST), None);
    let (_, peer) = listener.accept().unwrap();
    assert_eq!(core.addresses(FIRST), Some((peer, address)));
    assert_eq!(peer.ip(), Ipv4Addr::new(127, 0, 0, 9));
    assert_eq!(core.connect(FIRST, address, None, true), Err(Errno::ISCONN));

    drop(listener);
    core.connect(FIRST + 1, address, None, true).unwrap();
    let object = core.object(FIRST + 1).unwrap();
    until(&mut core, |core| core.readiness(object).contains(EventFlags::ERR).then_some(()));
    assert_eq!(core.take_error(FIRST + 1), Some(Errno::CONNREFUSED));
}

#[test]
fn who_could_not_connect_may_try_again_when_that_has_been_told() {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let mut core = Core::new(epoll);
    core.adopt_set(SET, eventfd(0, EventfdFlags::CLOEXEC).unwrap());
    core.connect(FIRST, address, None, true).unwrap();
    core.watch(SET, FIRST, EventFlags::OUT, 7).unwrap();
    until(&mut core, |core| reported(core).iter().any(|flags| flags.contains(EventFlags::ERR)).then_some(()));
    assert_eq!(core.connect(FIRST, address, None, true), Err(Errno::CONNREFUSED), "it is told");
    core.connect(FIRST, address, None, true).unwrap();
    assert_eq!(core.connect(FIRST, address, None, true), Err(Errno::ALREADY));
    let refused = until(&mut core, |core| core.connected(FIRST).err().filter(|&error| error != Errno::AGAIN));
    assert_eq!(refused, Errno::CONNREFUSED);

    let listener = TcpListener::bind(address).unwrap();
    core.connect(FIRST, address, None, true).unwrap();
    until(&mut core, |core| core.connected(FIRST).ok());
    assert_eq!(reported(&mut core), [EventFlags::OUT], "it is watched as before");
    let (mut peer, _) = listener.accept().unwrap();
    peer.write_all(b"hello").unwrap();
    assert_eq!(until(&mut core, |core| receive(core, FIRST).ok()), b"hello");
    rustix::net::sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).unwrap();
    drop(peer);
    until(&mut core, |core| core.addresses(FIRST).is_none().then_some(()));
    assert_eq!(core.connect(FIRST, address, None, true), Err(Errno::ISCONN), "it was connected");
}

/// Listens there too and waits for connections; returns what accepting says.
fn error_of_listening(core: &mut Core<Epoll>, fd: i32, address: SocketAddr) -> Option<Errno> {
    core.listen(fd, address, sharing()).unwrap();
    assert_eq!(core.accept(fd).err(), Some(Errno::AGAIN), "which is why the engine listens");
    core.turn(Nanos::ZERO).unwrap();
    let object = core.object(fd).unwrap();
    assert!(core.readiness(object).contains(EventFlags::ERR));
    core.accept(fd).err()
}

#[test]
fn who_cannot_listen_is_told_why() {
    let (mut core, address) = listening(sharing());
    assert_eq!(core.listen(FIRST, address, terms(8)), Err(Errno::ADDRINUSE), "it shares with nobody");
    // Another program's, which is known when the engine is to listen.
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let theirs = taken.local_addr().unwrap();
    assert_eq!(error_of_listening(&mut core, FIRST, theirs), Some(Errno::ADDRINUSE));
    // Nobody's: it is for documentation (RFC 5737).
    let elsewhere = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), address.port()));
    assert_eq!(error_of_listening(&mut core, FIRST + 1, elsewhere), Some(Errno::ADDRNOTAVAIL));
    assert_eq!(core.accept(LISTENER).err(), Some(Errno::AGAIN), "the first one goes on");
    core.close(LISTENER);
    assert_eq!(core.listen(FIRST + 2, address, terms(8)), Ok(()), "nobody is there any more");
}

#[test]
fn who_cannot_connect_is_told_why() {
    let mut core = Core::new(|| Epoll::new(Config { max_connections: 1 }));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let elsewhere = Ipv4Addr::new(192, 0, 2, 1).into();
    assert_eq!(core.connect(FIRST, address, Some(elsewhere), true), Err(Errno::ADDRNOTAVAIL));
    core.connect(FIRST, address, None, true).unwrap();
    assert_eq!(core.connect(FIRST + 1, address, None, true), Err(Errno::NOBUFS));
}

#[test]
fn a_child_listens_anew_and_leaves_connections_to_its_parent() {
    let (mut core, mut peer) = pair();
    core.after_fork();
    assert_eq!(receive(&mut core, FIRST), Err(Errno::OPNOTSUPP));
    core.close(FIRST);
    core.turn(Nanos::ZERO).unwrap();
    assert!(core.engine.is_some(), "an engine of its own");
    peer.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let error = peer.read(&mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "the parent's connection lives");
}
