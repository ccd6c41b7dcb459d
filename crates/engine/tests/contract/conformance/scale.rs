//! Thousands of connections on one engine, as many as the limit on open files allows here.

use std::collections::HashSet;

use assay_engine::{Config, Conn, Engine, Event};
use assay_model::units::Nanos;

use super::World;

/// Connections on each side.
const WANTED: usize = 9_000;
/// Connects in flight.
const CONNECTING: usize = 128;

/// A client and a server engine in one thread, and what they have seen.
struct Both<E> {
    client: E,
    server: E,
    connected: HashSet<Conn>,
    accepted: HashSet<Conn>,
    answers: usize,
    events: Vec<Event>,
}

impl<E: Engine> Both<E> {
    fn turn(&mut self) {
        self.client.poll(Nanos::ZERO, &mut self.events).unwrap();
        for &event in &self.events {
            match event {
                Event::Connected(conn) => drop(self.connected.insert(conn)),
                Event::Readable(conn) => {
                    assert_eq!(self.client.receive(conn), conn.slot().to_le_bytes());
                    self.client.consume(conn, 8);
                    self.answers += 1;
                }
                other => panic!("{other:?} at the client"),
            }
        }
        self.server.poll(Nanos::ZERO, &mut self.events).unwrap();
        for &event in &self.events {
            match event {
                Event::Accepted(conn) => drop(self.accepted.insert(conn)),
                Event::Readable(conn) => {
                    let question = self.server.receive(conn).to_vec();
                    self.server.consume(conn, question.len());
                    self.server.send(conn, &[&question]);
                }
                Event::Eof(conn) => {
                    self.accepted.remove(&conn);
                    self.server.close(conn);
                }
                other => panic!("{other:?} at the server"),
            }
        }
    }

    fn open(&mut self, count: usize, address: std::net::SocketAddr) {
        let deadline = self.client.now() + Nanos::from_millis(60_000);
        let mut begun = self.connected.len();
        while self.connected.len() < count || self.accepted.len() < count {
            while begun < count && begun - self.connected.len() < CONNECTING {
                self.client.connect(address, None).unwrap();
                begun += 1;
            }
            self.turn();
            assert!(self.client.now() < deadline, "{} of {count} opened", self.accepted.len());
        }
    }

    /// Everybody asks and is answered.
    fn exchange(&mut self) {
        self.answers = 0;
        for &conn in &self.connected {
            assert_eq!(self.client.send(conn, &[&conn.slot().to_le_bytes()]), 8);
        }
        let deadline = self.client.now() + Nanos::from_millis(60_000);
        while self.answers < self.connected.len() {
            self.turn();
            assert!(self.client.now() < deadline, "{} answers", self.answers);
        }
    }
}

pub(crate) fn carries_thousands_of_connections<W: World>(world: &W) {
    let count = world.scale().min(WANTED);
    let (mut server, client) = world.engines(Config { max_connections: count });
    let address = server.listen(world.address()).unwrap();
    let (connected, accepted) = (HashSet::new(), HashSet::new());
    let mut both = Both { client, server, connected, accepted, answers: 0, events: Vec::new() };
    both.open(count, address);
    both.exchange();
    let leaving: Vec<Conn> = both.connected.iter().copied().take(count / 2).collect();
    for conn in leaving {
        both.connected.remove(&conn);
        both.client.close(conn);
    }
    both.open(count, address);
    both.exchange();
    assert_eq!((both.client.connections(), both.server.connections()), (count, count));
}
