//! A stack among peers that the test makes, honest and hostile ones, at one wire. Its time is the test's.

mod flood;
mod memory;
mod numbers;

use std::cell::Cell;
use std::net::SocketAddr;

use assay_engine::{Conn, Engine as _, Event};
use assay_model::units::Nanos;
use assay_wire::ring::{self, Ring};
use assay_wire::{Receiver as _, Sender as _, Wire as _};

use crate::connection::options::Written;
use crate::connection::sequence::Seq;
use crate::connection::{Connection, Counts, Shape};
use crate::flow::Flow;
use crate::frame::Located;
use crate::template::{Fields, Template};
use crate::{Config, UserStack};

const OURS: [u8; 6] = [2, 0, 0, 0, 0, 1];
const THEIRS: [u8; 6] = [2, 0, 0, 0, 0, 2];
const SERVER: &str = "10.77.0.1:80";
/// Largest segment, as on the ring.
const SEGMENT_BYTES: u16 = 1460;
const SHAPE: Shape =
    Shape { segment_bytes: SEGMENT_BYTES, receive_bytes: 65_536, send_bytes: 65_536, is_lossless: true };

thread_local! {
    static NOW: Cell<Nanos> = const { Cell::new(Nanos::from_millis(100_000)) };
}

fn now() -> Nanos {
    NOW.get()
}

fn pass(time: Nanos) {
    NOW.set(now() + time);
}

/// A segment that came from the stack, without its data.
#[derive(Clone, Debug)]
struct Seen {
    flags: u8,
    options: Vec<u8>,
}

/// An honest peer.
struct Peer {
    flow: Flow,
    connection: Connection,
    to_send: Vec<u8>,
    received: usize,
    /// Whether the peer takes what it is sent.
    reads: bool,
    /// Window as the peer was last told it, unscaled.
    window: u16,
    /// What it expects next.
    next: Seq,
}

impl Peer {
    fn is_established(&self) -> bool {
        self.connection.is_established() && self.connection.failure().is_none()
    }
}

/// The stack, and all others at its wire.
struct Net {
    server: UserStack<Ring>,
    far: Ring,
    peers: Vec<Peer>,
    events: Vec<Event>,
    /// Of the last turn, to nobody among the peers.
    astray: Vec<Seen>,
    /// Of the last turn, to peers.
    seen: Vec<Seen>,
}

impl Net {
    fn new(memory_bytes: usize) -> Self {
        let (near, far) = ring::pair().unwrap();
        let config = Config {
            hardware: OURS,
            memory_bytes,
            clock: now,
            ..Config::new(10_000, vec!["10.77.0.1/16".parse().unwrap()])
        };
        let mut server = UserStack::new(near, config).unwrap();
        server.listen(SERVER.parse().unwrap()).unwrap();
        Self { server, far, peers: vec![], events: vec![], astray: vec![], seen: vec![] }
    }

    /// An honest peer begins to connect; its number.
    fn connect(&mut self, port: u16, to: &str) -> usize {
        let flow = Flow::new(([10, 77, 0, 2], port).into(), to.parse().unwrap());
        let connection = Connection::open(&SHAPE, Seq(1_000 * u32::from(port)), now());
        self.peers.push(Peer {
            flow,
            connection,
            to_send: vec![],
            received: 0,
            reads: true,
            window: 0,
            next: Seq(0),
        });
        self.peers.len() - 1
    }

    /// Sends a frame of whoever is at the other end of `flow`.
    fn forge(&mut self, flow: &Flow, fields: &Fields, options: &[u8], data: &[u8]) {
        let template = Template::new(THEIRS, OURS, flow, false);
        if !self.far.split().1.room() {
            self.serve();
        }
        let sender = self.far.split().1;
        assert!(sender.room(), "the stack takes what comes");
        let length = template.frame_bytes(options.len() + data.len());
        sender.send(length, |frame| template.write(frame, fields, options, data));
    }

    /// Everybody does what there is to do now, once.
    fn turn(&mut self) {
        let mut peers = std::mem::take(&mut self.peers);
        for peer in &mut peers {
            let taken = peer.connection.send(&peer.to_send);
            peer.to_send.drain(..taken);
            while let Some(plan) = peer.connection.next_segment(now(), now(), &mut Counts::default()) {
                let options = peer.connection.options(&plan);
                let options = options.as_ref().map_or(&[][..], Written::as_slice);
                self.forge(&peer.flow, &Fields::of(&plan), options, peer.connection.data(&plan));
                peer.connection.sent(&plan, now(), &mut Counts::default());
            }
        }
        self.peers = peers;
        self.far.split().1.flush();
        self.serve();
        self.hear();
    }

    /// The stack alone does what there is to do.
    fn serve(&mut self) {
        let mut events = Vec::new();
        loop {
            self.server.poll(Nanos::ZERO, &mut events).unwrap();
            if events.is_empty() && self.server.wake_source().is_some_and(|(_, due)| due > now()) {
                return;
            }
            self.events.append(&mut events);
        }
    }

    /// Lets the peers hear what the stack sent.
    fn hear(&mut self) {
        (self.astray, self.seen) = (vec![], vec![]);
        while let Some(frame) = self.far.split().0.peek() {
            if let Some(located) = Located::find(frame, false)
                && let Some(segment) = located.read(frame)
            {
                let seen = Seen { flags: segment.flags, options: segment.options.to_vec() };
                match self.peers.iter_mut().find(|peer| peer.flow == located.flow) {
                    Some(peer) => {
                        let _ = peer.connection.segment_arrives(&segment, now(), &mut Counts::default());
                        (peer.window, peer.next) = (segment.window, segment.sequence + segment.length());
                        if peer.reads {
                            peer.connection.show();
                            peer.received += peer.connection.consume(usize::MAX).0;
                        }
                        self.seen.push(seen);
                    }
                    None => self.astray.push(seen),
                }
            }
            self.far.split().0.release();
        }
    }

    /// Turns without time going by.
    fn turns(&mut self, n: usize) {
        (0..n).for_each(|_| self.turn());
    }

    /// Connections that the stack has told of since this was last asked.
    fn accepted(&mut self) -> Vec<Conn> {
        let accepted = |event| if let Event::Accepted(conn) = event { Some(conn) } else { None };
        std::mem::take(&mut self.events).into_iter().filter_map(accepted).collect()
    }

    fn counted(&mut self) -> assay_engine::StackStatistics {
        self.server.poll(Nanos::ZERO, &mut vec![]).unwrap();
        self.server.statistics().stack.unwrap()
    }
}

fn at(port: u16) -> SocketAddr {
    ([10, 77, 0, 1], port).into()
}
