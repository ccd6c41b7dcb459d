//! A client that is killed, seen from the server's end of a ring: its connections end as soon as another takes its place, who is
//! served at once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use assay_engine::{Conn, Engine as _, Event, Reason, clock};
use assay_model::units::Nanos;
use assay_tcp::{Config, UserStack};
use assay_wire::End;
use assay_wire::ring::{self, Ring};

const RING: &str = "ASSAY_TEST_RING";
/// Connections that a client holds when it is killed.
const HELD: usize = 100;
/// Longest wait for anything.
const PATIENCE: Nanos = Nanos::from_millis(30_000);

fn stack(path: &Path, end: End, address: &str) -> UserStack<Ring> {
    let wire = ring::open(path, end, 0, 1).unwrap();
    UserStack::new(wire, Config::new(2 * HELD, vec![address.parse().unwrap()])).unwrap()
}

/// The client: this program again, which runs this alone. It opens its connections, says so and is heard of no more.
#[test]
fn as_the_client() {
    let Some(path) = std::env::var_os(RING) else { return };
    let mut client = stack(Path::new(&path), End::Second, "10.77.0.2/24");
    let server = "10.77.0.1:80".parse().unwrap();
    for _ in 0..HELD {
        client.connect(server, None).unwrap();
    }
    let (mut events, mut open) = (Vec::new(), 0);
    let deadline = clock::now() + PATIENCE;
    while open < HELD {
        let now = client.poll(deadline, &mut events).unwrap();
        assert!(now < deadline, "{open} connections are open");
        for event in &events {
            match event {
                Event::Connected(conn) => {
                    open += 1;
                    client.send(*conn, &[b"hello"]);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    client.poll(Nanos::ZERO, &mut events).unwrap();
    println!("open");
    // No answer is read, nothing is closed.
    std::thread::sleep(PATIENCE.into());
}

/// A process that is killed when it is dropped.
struct Client(Child, BufReader<ChildStdout>);

impl Client {
    fn new(path: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "as_the_client", "--nocapture"]).env(RING, path).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self(child, lines)
    }

    fn wait_until_open(&mut self) {
        assert!(self.1.by_ref().lines().any(|line| line.unwrap().contains("open")));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Lets the server work until it has accepted and read all; returns the connections, and those that ended.
fn serve(server: &mut UserStack<Ring>) -> (Vec<Conn>, HashSet<(Conn, Reason)>) {
    let (mut open, mut ended, mut events, mut read) = (Vec::new(), HashSet::new(), Vec::new(), 0);
    let deadline = clock::now() + PATIENCE;
    while read < HELD {
        let now = server.poll(deadline, &mut events).unwrap();
        assert!(now < deadline, "{} open, {read} read", open.len());
        for &event in &events {
            match event {
                Event::Accepted(conn) => open.push(conn),
                Event::Readable(conn) if server.receive(conn) == b"hello" => {
                    server.consume(conn, 5);
                    read += 1;
                }
                Event::Closed(conn, reason) => assert!(ended.insert((conn, reason)), "told once"),
                other => panic!("{other:?}"),
            }
        }
    }
    (open, ended)
}

#[test]
fn a_killed_client_s_connections_end_with_the_next_client() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = folder.path().join("ring");
    let mut server = stack(&path, End::First, "10.77.0.1/24");
    server.listen("10.77.0.1:80".parse().unwrap()).unwrap();
    let mut before = HashSet::new();
    for _ in 0..3 {
        let mut client = Client::new(&path);
        let (open, ended) = serve(&mut server);
        client.wait_until_open();
        assert_eq!((open.len(), server.connections()), (HELD, HELD));
        assert_eq!(ended, before.into_iter().map(|conn| (conn, Reason::Reset)).collect());
        // More than the client will ever acknowledge is on its way when it is killed.
        for &conn in &open {
            server.send(conn, &[&[0; 60_000]]);
        }
        server.poll(Nanos::ZERO, &mut Vec::new()).unwrap();
        before = open.into_iter().collect();
    }
    drop(server);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing is left");
}
