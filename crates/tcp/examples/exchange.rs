//! What TCP itself costs: two stacks at the ends of a ring, in one thread, ask and answer. No HTTP, no other process.
//!
//! `cargo run --release -p assay-tcp --example exchange -- [CONNECTIONS] [SECONDS] [ANSWER_BYTES]`

#![allow(clippy::print_stdout, reason = "an example prints what it measures")]

use std::error::Error;

use assay_engine::{Conn, Engine, Event, clock};
use assay_model::units::Nanos;
use assay_tcp::{Config, UserStack};
use assay_wire::ring::{self, Ring};

/// As a short request has.
const QUESTION: [u8; 100] = [b'q'; 100];

fn main() -> Result<(), Box<dyn Error>> {
    let argument = |n: usize, usual: usize| std::env::args().nth(n).map_or(Ok(usual), |text| text.parse());
    let (connections, seconds, answer_bytes) = (argument(1, 50)?, argument(2, 3)?, argument(3, 150)?);
    let (near, far) = ring::pair()?;
    let stack = |wire, address: &str| -> Result<UserStack<Ring>, Box<dyn Error>> {
        Ok(UserStack::new(wire, Config::new(connections, vec![address.parse()?]))?)
    };
    let before = resident_bytes()?;
    let (mut server, mut client) = (stack(near, "10.77.0.1/24")?, stack(far, "10.77.0.2/24")?);
    let address = server.listen("10.77.0.1:80".parse()?)?;
    let answer = vec![b'a'; answer_bytes];
    let (mut events, mut opened, mut begun, mut answers) = (Vec::new(), 0, 0, 0u64);
    let mut received = vec![0; connections * 2 + 256];
    let (mut started, mut grown) = (Nanos::ZERO, 0);
    let mut deadline = Nanos::MAX;
    loop {
        while begun < connections && begun - opened < 128 {
            client.connect(address, None)?;
            begun += 1;
        }
        let now = client.poll(Nanos::ZERO, &mut events)?;
        for &event in &events {
            match event {
                Event::Connected(conn) => {
                    opened += 1;
                    client.send(conn, &[&QUESTION]);
                }
                Event::Readable(conn) => {
                    received[conn.slot()] += take(&mut client, conn);
                    if received[conn.slot()] >= answer_bytes {
                        received[conn.slot()] -= answer_bytes;
                        answers += 1;
                        client.send(conn, &[&QUESTION]);
                    }
                }
                other => return Err(format!("{other:?} at the client").into()),
            }
        }
        server.poll(Nanos::ZERO, &mut events)?;
        for &event in &events {
            if let Event::Readable(conn) = event {
                let questions = take(&mut server, conn) / QUESTION.len();
                (0..questions).for_each(|_| drop(server.send(conn, &[&answer])));
            }
        }
        if opened == connections && deadline == Nanos::MAX {
            (started, answers, grown) = (now, 0, resident_bytes()? - before);
            deadline = now + Nanos::from_millis(1_000 * seconds as u64);
        }
        if now >= deadline {
            break;
        }
    }
    let time = clock::now() - started;
    println!(
        "{connections} connections: {:.1} ns an exchange at both ends together, {} bytes of memory a connection at both ends",
        time.0 as f64 / answers as f64,
        grown / connections
    );
    println!("{:?}", server.statistics().stack);
    Ok(())
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
