//! Two connections joined by a network that the test makes: it may lose, double and delay segments, and its time is the test's.

mod endings;
mod hostile;
mod limits;
mod recovering;
mod silence;
mod transfers;

use assay_model::units::Nanos;

use super::*;

/// Time of a segment from end to end.
const DELAY: Nanos = Nanos::from_millis(5);
/// Turns of the network in which everything has to be over.
const MAX_TURNS: u32 = 200_000;

const SHAPE: Shape =
    Shape { segment_bytes: 1000, receive_bytes: 20_000, send_bytes: 30_000, is_lossless: false };

/// A segment on its way.
#[derive(Clone, Debug)]
struct Packet {
    sequence: Seq,
    acknowledgement: Seq,
    flags: u8,
    window: u16,
    options: Vec<u8>,
    data: Vec<u8>,
}

impl Packet {
    fn segment(&self) -> Segment<'_> {
        Segment {
            sequence: self.sequence,
            acknowledgement: self.acknowledgement,
            flags: self.flags,
            window: self.window,
            options: &self.options,
            data: &self.data,
        }
    }
}

/// A connection and its user.
struct End {
    shape: Shape,
    iss: Seq,
    /// `None` while it listens.
    connection: Option<Connection>,
    to_send: Vec<u8>,
    given: usize,
    received: Vec<u8>,
    /// When the end closes: when it has sent all, and the peer has ended if it waits for that.
    closes: Option<Closes>,
    reads: bool,
    counts: Counts,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Closes {
    First,
    Second,
}

impl End {
    fn new(iss: u32, connection: Option<Connection>) -> Self {
        Self {
            shape: SHAPE,
            iss: Seq(iss),
            connection,
            to_send: Vec::new(),
            given: 0,
            received: Vec::new(),
            closes: None,
            reads: true,
            counts: Counts::default(),
        }
    }

    fn state(&self) -> State {
        self.connection.as_ref().map_or(State::Closed, Connection::state)
    }

    /// What its user does.
    fn act(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        self.given += connection.send(&self.to_send[self.given..]);
        if self.reads {
            connection.show();
            self.received.extend_from_slice(connection.view());
            connection.consume(usize::MAX);
        }
        let may_close = match self.closes {
            Some(Closes::First) => true,
            Some(Closes::Second) => connection.peer_has_ended(),
            None => false,
        };
        if may_close && connection.is_established() && self.given == self.to_send.len() {
            connection.close();
        }
    }

    fn take(&mut self, packet: &Packet, now: Nanos) {
        let segment = packet.segment();
        match &mut self.connection {
            Some(connection) => drop(connection.segment_arrives(&segment, now, &mut self.counts)),
            None if packet.flags == flag::SYN => {
                self.connection = Some(Connection::accept(&self.shape, self.iss, &segment, now));
            }
            None => {}
        }
    }

    /// Sends all that may leave.
    fn departures(&mut self, now: Nanos) -> Vec<Packet> {
        let mut packets = Vec::new();
        let Some(connection) = &mut self.connection else { return packets };
        while let Some(plan) = connection.next_segment(now, now, &mut self.counts) {
            packets.push(Packet {
                sequence: plan.sequence,
                acknowledgement: plan.acknowledgement,
                flags: plan.flags,
                window: plan.window,
                options: connection.options(&plan).map_or(vec![], |options| options.as_slice().to_vec()),
                data: connection.data(&plan).to_vec(),
            });
            connection.sent(&plan, now, &mut self.counts);
            assert!(packets.len() < 10_000, "it never stops: {plan:?}");
        }
        packets
    }

    fn heap_bytes(&self) -> usize {
        self.connection.as_ref().map_or(0, Connection::heap_bytes)
    }
}

/// What becomes of a segment: how much later each copy arrives; none of a lost one.
type Fate = Vec<Nanos>;

/// The network.
struct Network {
    now: Nanos,
    ends: [End; 2],
    /// When, to whom, what.
    under_way: Vec<(Nanos, usize, Packet)>,
    /// Segments that were sent.
    number: usize,
    /// How much later than they asked for both are asked what time has brought.
    late: Nanos,
}

impl Network {
    /// A client that opens, and a server that listens.
    fn new() -> Self {
        Self::with(SHAPE, SHAPE, 100, 900)
    }

    fn with(client: Shape, server: Shape, client_number: u32, server_number: u32) -> Self {
        let now = Nanos::from_millis(1_000);
        let opening = Connection::open(&client, Seq(client_number), now);
        let client = End { shape: client, ..End::new(client_number, Some(opening)) };
        let server = End { shape: server, ..End::new(server_number, None) };
        Self { now, ends: [client, server], under_way: Vec::new(), number: 0, late: Nanos::ZERO }
    }

    fn client(&mut self) -> &mut Connection {
        self.ends[0].connection.as_mut().unwrap()
    }

    fn server(&mut self) -> &mut Connection {
        self.ends[1].connection.as_mut().unwrap()
    }

    /// Lets things happen until nothing is under way and `is_done`, or until time has nothing to bring.
    fn run(
        &mut self,
        mut fate: impl FnMut(usize, &Packet) -> Fate,
        mut is_done: impl FnMut(&mut Self) -> bool,
    ) {
        for _ in 0..MAX_TURNS {
            for (n, end) in self.ends.iter_mut().enumerate() {
                end.act();
                for packet in end.departures(self.now) {
                    for later in fate(self.number, &packet) {
                        self.under_way.push((self.now + DELAY + later, 1 - n, packet.clone()));
                    }
                    self.number += 1;
                }
            }
            if is_done(self) {
                return;
            }
            if !self.step() {
                return;
            }
        }
        panic!("it does not end: {:?} and {:?}", self.ends[0].state(), self.ends[1].state());
    }

    /// Lets time pass to what comes next. Returns whether anything does.
    fn step(&mut self) -> bool {
        let arrival = self.under_way.iter().map(|(at, ..)| *at).min().unwrap_or(Nanos::MAX);
        let due = self.ends.iter().filter_map(|end| end.connection.as_ref()).map(Connection::due).min();
        let due = due.filter(|&due| due < Nanos::MAX).map_or(Nanos::MAX, |due| due + self.late);
        let next = arrival.min(due);
        if next == Nanos::MAX {
            return false;
        }
        self.now = self.now.max(next);
        let (now, under_way) = (self.now, std::mem::take(&mut self.under_way));
        let (arrived, rest): (Vec<_>, Vec<_>) = under_way.into_iter().partition(|(at, ..)| *at <= now);
        self.under_way = rest;
        for (_, to, packet) in arrived {
            self.ends[to].take(&packet, now);
        }
        true
    }

    /// A network of two ends with an open connection.
    fn established() -> Self {
        let mut network = Self::new();
        network.open();
        network
    }

    fn open(&mut self) {
        self.run(faultless, |network| {
            network.under_way.is_empty() && network.ends.iter().all(|end| end.state() == State::Established)
        });
    }

    /// Sends a segment to an end as if the other had. Returns what it answers.
    fn forge(&mut self, to: usize, packet: &Packet) -> Vec<Packet> {
        self.ends[to].take(packet, self.now);
        self.ends[to].departures(self.now)
    }
}

fn faultless(_: usize, _: &Packet) -> Fate {
    vec![Nanos::ZERO]
}

fn is_over(network: &mut Network) -> bool {
    let is_over = |end: &End| matches!(end.state(), State::Closed | State::TimeWait);
    network.under_way.is_empty() && network.ends.iter().all(is_over)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251) as u8).collect()
}
