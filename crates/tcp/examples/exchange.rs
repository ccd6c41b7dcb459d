//! What TCP itself costs: two stacks at the ends of a ring, in one thread, ask and answer. No HTTP, no other process.
//!
//! `cargo run --release -p assay-tcp --example exchange -- [CONNECTIONS] [SECONDS] [ANSWER_BYTES]`

#![allow(clippy::print_stdout, reason = "an example prints what it measures")]

use std::error::Error;
use std::net::SocketAddr;

use assay_engine::{Conn, Engine, Event, clock};
use assay_model::units::Nanos;
use assay_tcp::{Config, UserStack};
use assay_wire::ring::{self, Ring};

/// The question, as long as a short request.
const QUESTION: [u8; 100] = [b'q'; 100];

/// Connects under way.
const CONNECTING: usize = 128;

fn main() -> Result<(), Box<dyn Error>> {
    let argument = |n: usize, usual: usize| std::env::args().nth(n).map_or(Ok(usual), |text| text.parse());
    let (connections, seconds, answer_bytes) = (argument(1, 50)?, argument(2, 3)?, argument(3, 150)?);
    let before = resident_bytes()?;
    let mut both = Both::new(connections, answer_bytes)?;
    while both.opened < connections {
        both.open_more(connections)?;
        both.turn()?;
    }
    let grown = resident_bytes()? - before;
    let started = clock::now();
    both.answers = 0;
    while both.turn()? < started + Nanos::from_millis(1_000 * seconds as u64) {}
    let ns = (clock::now() - started).0 as f64 / both.answers as f64;
    println!("{connections} connections: {ns:.1} ns an exchange at both ends together");
    println!("{} bytes of memory a connection at both ends together", grown / connections);
    println!("{:?}", both.server.statistics().stack);
    Ok(())
}

/// Client and server.
struct Both {
    server: UserStack<Ring>,
    client: UserStack<Ring>,
    address: SocketAddr,
    answer: Vec<u8>,
    events: Vec<Event>,
    begun: usize,
    opened: usize,
    /// Bytes of the answer that has begun, by the client's connection.
    received: Vec<usize>,
    answers: u64,
}

impl Both {
    fn new(connections: usize, answer_bytes: usize) -> Result<Self, Box<dyn Error>> {
        let (near, far) = ring::pair()?;
        let stack = |wire, address: &str| -> Result<UserStack<Ring>, Box<dyn Error>> {
            Ok(UserStack::new(wire, Config::new(connections, vec![address.parse()?]))?)
        };
        let (mut server, client) = (stack(near, "10.77.0.1/24")?, stack(far, "10.77.0.2/24")?);
        let address = server.listen("10.77.0.1:80".parse()?)?;
        let (answer, received) = (vec![b'a'; answer_bytes], vec![0; connections + CONNECTING]);
        Ok(Self {
            server,
            client,
            address,
            answer,
            events: vec![],
            begun: 0,
            opened: 0,
            received,
            answers: 0,
        })
    }

    fn open_more(&mut self, connections: usize) -> Result<(), Box<dyn Error>> {
        while self.begun < connections && self.begun - self.opened < CONNECTING {
            self.client.connect(self.address, None)?;
            self.begun += 1;
        }
        Ok(())
    }

    /// Lets both do what there is to do; returns the time.
    fn turn(&mut self) -> Result<Nanos, Box<dyn Error>> {
        let now = self.client.poll(Nanos::ZERO, &mut self.events)?;
        for &event in &self.events {
            match event {
                Event::Connected(conn) => {
                    self.opened += 1;
                    self.client.send(conn, &[&QUESTION]);
                }
                Event::Readable(conn) => {
                    let received = &mut self.received[conn.slot()];
                    *received += take(&mut self.client, conn);
                    if *received >= self.answer.len() {
                        *received = 0;
                        self.answers += 1;
                        self.client.send(conn, &[&QUESTION]);
                    }
                }
                other => return Err(format!("{other:?} at the client").into()),
            }
        }
        self.server.poll(Nanos::ZERO, &mut self.events)?;
        for &event in &self.events {
            if let Event::Readable(conn) = event {
                take(&mut self.server, conn);
                self.server.send(conn, &[&self.answer]);
            }
        }
        Ok(now)
    }
}

fn take(engine: &mut UserStack<Ring>, conn: Conn) -> usize {
    let n = engine.receive(conn).len();
    engine.consume(conn, n);
    n
}

/// Memory of this process (proc_pid_statm(5)).
fn resident_bytes() -> Result<usize, Box<dyn Error>> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: usize = statm.split(' ').nth(1).unwrap_or_default().parse()?;
    Ok(pages * rustix::param::page_size())
}
