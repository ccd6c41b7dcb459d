//! What a flood of forged requests takes from real connections: two stacks at the ends of a ring, in one thread, of which one opens
//! connections, asks, is answered and closes, without and with a third that forges requests. Windows alternate, each with stacks of
//! its own, as a flood is felt for minutes. Time is the thread's on its CPU, of which the forger takes its part.
//!
//! `cargo run --release -p assay-tcp --example flood -- [REQUESTS_PER_SECOND] [PAIRS]`

#![allow(clippy::print_stdout, reason = "an example prints what it measures")]

use std::cell::Cell;
use std::error::Error;
use std::net::SocketAddr;
use std::rc::Rc;

use assay_engine::{Conn, Engine, Event};
use assay_model::units::Nanos;
use assay_tcp::{Config, UserStack};
use assay_wire::parts::{Assembled, Outgoing};
use assay_wire::ring::{self, Ring, RingBase, RingReceiver, RingSender};
use assay_wire::{Sender, Statistics};
use rustix::time::{ClockId, clock_gettime};

/// The question, as long as a short request and its answer.
const QUESTION: [u8; 100] = [b'q'; 100];
const ANSWER: [u8; 150] = [b'a'; 150];
/// Connections under way: no multiple of what a stack takes in at once, for even turns are upset by a single frame.
const CONNECTIONS: usize = 50;
/// Flags of a segment (RFC 9293 §3.1).
const SYN: u8 = 2;
const RST: u8 = 4;
/// Flushes, and turns, between two looks at the time.
const FLUSHES: u32 = 8;
/// Forged requests a second that take all places at once.
const FILLING: u64 = 200_000;
/// How long is counted at a time, and how long is waited before that.
const WINDOW: Nanos = Nanos::from_millis(200);
const SETTLING: Nanos = Nanos::from_millis(20);
/// From 10.77.3.0 on, port 1024 on, to 10.77.0.1, port 80: a SYN with the options of Linux but timestamps, without checksums.
const FORGED: [u8; 66] = [
    2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 3, 8, 0, // Ethernet
    0x45, 0, 0, 52, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 77, 3, 0, 10, 77, 0, 1, // IPv4
    4, 0, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, SYN, 0xff, 0xff, 0, 0, 0, 0, // TCP
    2, 4, 5, 0xb4, 1, 3, 3, 7, 1, 1, 4, 2,
];

type Flooded = Assembled<RingBase, RingReceiver, Flooding>;

fn main() -> Result<(), Box<dyn Error>> {
    let argument = |n: usize, usual: u64| std::env::args().nth(n).map_or(Ok(usual), |text| text.parse());
    let (rate, pairs) = (argument(1, 10_000)?, argument(2, 25)?);
    measure(0)?;
    let (mut quiet, mut ratios) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        let is_flooded_first = pair % 2 == 1;
        let first = measure(if is_flooded_first { rate } else { 0 })?;
        let second = measure(if is_flooded_first { 0 } else { rate })?;
        let (without, with) = if is_flooded_first { (second, first) } else { (first, second) };
        quiet.push(without);
        ratios.push(with / without);
    }
    let [low, middle, high] = quartiles(&mut ratios);
    println!("{:.0} connections a second of CPU time without a flood", quartiles(&mut quiet)[1]);
    println!(
        "{middle:.3} of that under {rate} forged requests a second ({low:.3} to {high:.3}, the middle half of {pairs} pairs)"
    );
    Ok(())
}

/// Real connections a second of CPU time under so many forged requests a second.
fn measure(rate: u64) -> Result<f64, Box<dyn Error>> {
    let mut both = Both::new()?;
    // First as many as take all places, within milliseconds; without a flood as many resets, which are nobody's. Otherwise
    // connections would go in step in one case alone, which is worth a sixth of their rate.
    let kind = if rate > 0 { SYN } else { RST };
    both.forging.set((rate.max(FILLING), kind));
    both.turn_for(SETTLING)?;
    both.forging.set((rate, kind));
    both.answers = 0;
    let began = used();
    both.turn_for(WINDOW)?;
    Ok(both.answers as f64 * 1e9 / (used() - began).0 as f64)
}

/// CPU time of this thread: on a machine that others use too, a forger by the clock on the wall would work while we do not.
fn used() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos::from_reading(time.tv_sec, time.tv_nsec)
}

fn quartiles(values: &mut [f64]) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|n| {
        values.get((values.len() * n / 4).min(values.len().saturating_sub(1))).copied().unwrap_or(0.0)
    })
}

/// A sender beside which somebody forges requests.
struct Flooding {
    inner: RingSender,
    /// Forged segments a second, and their flags.
    forging: Rc<Cell<(u64, u8)>>,
    /// Until when they have been sent.
    until: Nanos,
    flushes: u32,
    number: u32,
}

impl Sender for Flooding {
    fn room(&mut self) -> bool {
        self.inner.room()
    }

    fn send<R>(&mut self, length: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        self.inner.send(length, fill)
    }

    fn flush(&mut self) {
        self.flushes = self.flushes.wrapping_add(1);
        if self.flushes.is_multiple_of(FLUSHES) {
            self.catch_up(used());
        }
        self.inner.flush();
    }
}

impl Flooding {
    /// Forges what is due.
    fn catch_up(&mut self, now: Nanos) {
        match 1_000_000_000_u64.checked_div(self.forging.get().0) {
            None => self.until = now,
            Some(pause) => {
                while self.until < now && self.inner.room() {
                    self.forge();
                    self.until += Nanos(pause);
                }
            }
        }
    }

    fn forge(&mut self) {
        self.number = self.number.wrapping_add(1);
        let mut frame = FORGED;
        let [a, b, port @ ..] = self.number.wrapping_mul(0x9e37_79b1).to_be_bytes();
        (frame[28], frame[29]) = (3 + a % 200, b);
        frame[34..36].copy_from_slice(&port);
        frame[38..42].copy_from_slice(&self.number.to_be_bytes());
        frame[47] = self.forging.get().1;
        self.inner.send(frame.len(), |room| room.copy_from_slice(&frame));
    }
}

impl Outgoing for Flooding {
    fn wants_room(&self) -> bool {
        self.inner.wants_room()
    }

    fn room_came(&mut self) -> bool {
        self.inner.room_came()
    }

    fn is_intact(&self) -> bool {
        self.inner.is_intact()
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }
}

/// Client and server.
struct Both {
    server: UserStack<Ring>,
    client: UserStack<Flooded>,
    forging: Rc<Cell<(u64, u8)>>,
    address: SocketAddr,
    events: Vec<Event>,
    under_way: usize,
    answers: u64,
}

impl Both {
    fn new() -> Result<Self, Box<dyn Error>> {
        let (near, far) = ring::pair()?;
        let forging = Rc::new(Cell::new((0, RST)));
        let far = far.with_sender(|inner| Flooding {
            inner,
            forging: Rc::clone(&forging),
            until: used(),
            flushes: 0,
            number: 0,
        });
        let config = |n: u8| -> Result<Config, Box<dyn Error>> {
            let addresses = vec![format!("10.77.0.{n}/16").parse()?];
            Ok(Config { hardware: [2, 0, 0, 0, 0, n], ..Config::new(4 * CONNECTIONS, addresses) })
        };
        let mut server = UserStack::new(near, config(1)?)?;
        let client = UserStack::new(far, config(2)?)?;
        let address = server.listen("10.77.0.1:80".parse()?)?;
        Ok(Self { server, client, forging, address, events: vec![], under_way: 0, answers: 0 })
    }

    fn turn_for(&mut self, span: Nanos) -> Result<(), Box<dyn Error>> {
        let end = used() + span;
        while used() < end {
            (0..FLUSHES).try_for_each(|_| self.turn())?;
        }
        Ok(())
    }

    /// Lets both do what there is to do.
    fn turn(&mut self) -> Result<(), Box<dyn Error>> {
        while self.under_way < CONNECTIONS {
            self.client.connect(self.address, None)?;
            self.under_way += 1;
        }
        self.client.poll(Nanos::ZERO, &mut self.events)?;
        for &event in &self.events {
            match event {
                Event::Connected(conn) => drop(self.client.send(conn, &[&QUESTION])),
                Event::Readable(conn) => {
                    take(&mut self.client, conn);
                    self.client.close(conn);
                    (self.answers, self.under_way) = (self.answers + 1, self.under_way - 1);
                }
                // A handshake that came to nothing.
                Event::Closed(..) => self.under_way -= 1,
                other => return Err(format!("{other:?} at the client").into()),
            }
        }
        self.server.poll(Nanos::ZERO, &mut self.events)?;
        for &event in &self.events {
            match event {
                Event::Readable(conn) => {
                    take(&mut self.server, conn);
                    self.server.send(conn, &[&ANSWER]);
                }
                Event::Eof(conn) => self.server.close(conn),
                _ => {}
            }
        }
        Ok(())
    }
}

fn take<E: Engine>(engine: &mut E, conn: Conn) {
    let n = engine.receive(conn).len();
    engine.consume(conn, n);
}
