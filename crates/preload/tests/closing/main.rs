//! Programs that close descriptors they were never given, as daemons do: the library's own live on, on either engine, and where no
//! library could see it, nothing is sent to what has come to their numbers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]
mod support;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use support::{Server, compiled, free_port, on_wire, preloaded};

/// The one way that no library can see.
const UNSEEN: &str = "unseen";

/// What the two programs print and the library said of the server.
#[derive(Debug)]
struct Told {
    server: String,
    client: String,
    library: String,
    file: Vec<u8>,
}

/// Where both programs run.
struct Place {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let program = compiled("closing.c", folder.path());
        Self { folder, program }
    }

    fn ways(&self) -> Vec<String> {
        let listed = Command::new(&self.program).arg("--list").output().unwrap();
        String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// On the kernel's stack.
    fn on_kernel(&self, way: &str) -> Told {
        self.run(way, Command::new(&self.program), Command::new(&self.program), "127.0.0.1")
    }

    /// The server on our engine on the kernel's sockets.
    fn on_epoll(&self, way: &str) -> Told {
        let server = preloaded(self.program.to_str().unwrap(), &self.folder.path().join("log"));
        self.run(way, server, Command::new(&self.program), "127.0.0.1")
    }

    /// Client and server on our stack, over a ring.
    fn on_ring(&self, way: &str) -> Told {
        let wire = format!("ring:{}/ring", self.folder.path().display());
        let side = |side: &str, log: &str, address: &str| {
            let log = self.folder.path().join(log);
            let mut command = on_wire(self.program.to_str().unwrap(), &log, &wire, side);
            command.env("ASSAY_STACK_ADDRESS", address);
            command
        };
        let (server, client) =
            (side("server", "log", "10.77.0.1/24"), side("client", "client-log", "10.77.0.2/24"));
        self.run(way, server, client, "10.77.0.1")
    }

    fn run(&self, way: &str, mut server: Command, mut client: Command, host: &str) -> Told {
        let (port, file) = (free_port().to_string(), self.folder.path().join("file"));
        std::fs::write(&file, "").unwrap();
        let log = self.folder.path().join("log");
        let _ = std::fs::remove_file(&log);
        let server =
            server.args(["serve", way, &port]).arg(&file).stdin(Stdio::null()).stdout(Stdio::piped());
        let server = server.stderr(Stdio::piped()).spawn().unwrap();
        let client = client.args(["ask", host, &port, way]).stdin(Stdio::null()).output().unwrap();
        let server = server.wait_with_output().unwrap();
        let text = |one: &[u8], other: &[u8]| String::from_utf8_lossy(&[one, other].concat()).into_owned();
        Told {
            server: text(&server.stdout, &server.stderr),
            client: text(&client.stdout, &client.stderr),
            library: Server::said(&log),
            file: std::fs::read(&file).unwrap(),
        }
    }
}

#[test]
fn a_program_that_closes_everything_keeps_its_connections() {
    let place = Place::new();
    for way in place.ways().iter().filter(|way| *way != UNSEEN) {
        let expected = place.on_kernel(way);
        assert!(expected.client.ends_with("the client hears 'three'\n"), "{way}: {expected:?}");
        for told in [place.on_epoll(way), place.on_ring(way)] {
            assert_eq!((&told.server, &told.client), (&expected.server, &expected.client), "{way}: {told:?}");
            assert!(!told.library.contains("broke"), "{way}: {told:?}");
            let is_refused = told.library.contains("puts a descriptor at");
            assert_eq!(is_refused, way.starts_with("dup"), "{way}: {told:?}");
        }
    }
}

#[test]
fn nothing_is_sent_to_what_has_come_to_the_number_of_a_descriptor_of_the_librarys() {
    let place = Place::new();
    for told in [place.on_epoll(UNSEEN), place.on_ring(UNSEEN)] {
        assert!(told.file.is_empty(), "{told:?}");
        assert!(told.client.starts_with("the client hears 'one'\n"), "{told:?}");
        assert!(told.server.contains("the server: reset\n"), "{told:?}");
        assert!(told.library.contains("the program has closed a descriptor of the stack's"), "{told:?}");
    }
}
