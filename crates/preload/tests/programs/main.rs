//! Servers that people run, unmodified under the library: every byte, and how they end.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]
mod support;

mod devices;
mod ring;
#[path = "../../../wire/tests/contract/space.rs"]
mod space;

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use support::{Server, exit, free_port, is_installed, preloaded};
use tempfile::TempDir;

const BIG: usize = 5_000_000;

/// A folder with files to serve, and one for what the library says.
struct Site {
    folder: TempDir,
    log: PathBuf,
    port: u16,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Workers may run as another user.
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        std::fs::write(folder.path().join("small"), "hello").unwrap();
        std::fs::write(folder.path().join("big"), big()).unwrap();
        let log = folder.path().join("log");
        Self { folder, log, port: free_port() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs `program` with its first arguments, then the folder and the port, then the rest.
    fn command(&self, program: &str, script: &str, rest: &[&str]) -> Command {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
        let mut command = preloaded(program, &self.log);
        command.arg(scripts.join(script)).arg(self.path()).arg(self.port.to_string()).args(rest);
        command
    }

    /// Writes a configuration of nginx, and returns where. Its workers stay who we are (only root can be another): a ring is one user's.
    fn configure_nginx(&self, workers: usize) -> PathBuf {
        let (folder, port) = (self.path().display(), self.port);
        let configuration = format!(
            "user root; worker_processes {workers}; daemon off; pid {folder}/pid; error_log {folder}/errors;\n\
             events {{ worker_connections 512; }}\n\
             http {{ access_log off; sendfile on; server {{ listen {port}; root {folder}; }} }}\n"
        );
        let file = self.path().join("conf");
        std::fs::write(&file, configuration).unwrap();
        file
    }

    fn start(&self, command: &mut Command) -> Server {
        Server::start(command, self.port, &self.log)
    }

    /// Connections that the library's engines accepted, over all processes that ended in the ordinary way.
    fn accepted(&self) -> u64 {
        let said = Server::said(&self.log);
        let counts =
            said.lines().filter_map(|l| l.split("accepted ").nth(1)?.split(' ').next()?.parse::<u64>().ok());
        counts.sum()
    }
}

fn big() -> Vec<u8> {
    (0..BIG as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// What every server must do.
fn check(server: &Server) {
    let mut peer = server.connect();
    assert_eq!(peer.get("/small"), b"hello");
    assert!(peer.get("/big") == big(), "the same connection, megabytes");
    peer.ask("HEAD", "/big", "");
    assert_eq!(peer.head().0, 200);
    assert_eq!(peer.get("/small"), b"hello", "nothing came behind the head");

    let mut peers: Vec<_> = (0..20).map(|_| server.connect()).collect();
    peers.iter_mut().for_each(|p| p.ask("GET", "/big", ""));
    for peer in peers.iter_mut().rev() {
        let (_, length) = peer.head();
        assert!(peer.body(length.unwrap()) == big(), "twenty at once, read slowly");
    }
}

/// What those do that read bodies.
fn check_posts(server: &Server) {
    let mut peer = server.connect();
    peer.ask("POST", "/small", "Content-Length: 11\r\n");
    peer.send(b"a body sent");
    let (_, length) = peer.head();
    assert_eq!(peer.body(length.unwrap()), b"a body sent");
}

/// A client that ends its direction behind the question gets the whole answer, and then the end. Node.js and nginx give up
/// on such a client by themselves, on the kernel's stack too.
fn check_half_close(server: &Server) {
    let mut peer = server.connect();
    peer.ask("GET", "/big", "Connection: close\r\n");
    peer.end_sending();
    let (_, length) = peer.head();
    assert!(peer.body(length.unwrap()) == big());
    assert_eq!(peer.rest(), b"");
}

#[test]
fn asyncio() {
    if !is_installed("/usr/bin/python3", "--version") {
        return;
    }
    let site = Site::new();
    let server = site.start(&mut site.command("/usr/bin/python3", "asyncio_server.py", &[]));
    check(&server);
    check_posts(&server);
    assert_eq!(exit(server.end(Signal::TERM)), 9);
    assert!(site.accepted() >= 22, "{}", Server::said(&site.log));
}

#[test]
fn python_with_threads() {
    if !is_installed("/usr/bin/python3", "--version") {
        return;
    }
    let site = Site::new();
    let server = site.start(&mut site.command("/usr/bin/python3", "threads_server.py", &[]));
    check(&server);
    check_posts(&server);
    check_half_close(&server);
    assert_eq!(exit(server.end(Signal::TERM)), 128 + 15);
}

#[test]
fn node() {
    if !is_installed("node", "--version") {
        return;
    }
    let site = Site::new();
    let server = site.start(site.command("node", "server.js", &[]).env("UV_USE_IO_URING", "0"));
    check(&server);
    check_posts(&server);
    assert_eq!(exit(server.end(Signal::TERM)), 5);
    assert!(site.accepted() >= 23, "{}", Server::said(&site.log));
}

#[test]
fn node_with_workers() {
    if !is_installed("node", "--version") {
        return;
    }
    let site = Site::new();
    let mut command = site.command("node", "server.js", &["2"]);
    let server = site.start(command.env("UV_USE_IO_URING", "0").env("NODE_CLUSTER_SCHED_POLICY", "none"));
    check(&server);
    check_posts(&server);
    assert_eq!(exit(server.end(Signal::TERM)), 5);
    assert!(site.accepted() >= 22, "{}", Server::said(&site.log));
}

#[test]
fn nginx_with_workers() {
    if !is_installed("nginx", "-v") {
        return;
    }
    let site = Site::new();
    let file = site.configure_nginx(2);
    for (signal, is_gentle) in [(Signal::TERM, false), (Signal::QUIT, true)] {
        let server = site.start(preloaded("nginx", &site.log).arg("-c").arg(&file));
        check(&server);
        assert_eq!(exit(server.end(signal)), 0, "gently: {is_gentle}");
    }
    assert!(site.accepted() >= 44, "{}", Server::said(&site.log));
}

#[test]
fn java() {
    if !is_installed("javac", "-version") {
        return;
    }
    let site = Site::new();
    let server = site.start(&mut site.command("java", "Server.java", &[]));
    check(&server);
    check_posts(&server);
    assert_eq!(exit(server.end(Signal::TERM)), 128 + 15);
    assert!(site.accepted() >= 22, "{}", Server::said(&site.log));
}

#[test]
fn curl() {
    if !is_installed("curl", "--version") {
        return;
    }
    if !is_installed("/usr/bin/python3", "--version") {
        return;
    }
    let site = Site::new();
    let mut plain = site.command("/usr/bin/python3", "threads_server.py", &[]);
    let server = site.start(plain.env_remove("LD_PRELOAD"));
    let target = site.path().join("got");
    let url = format!("http://127.0.0.1:{}/big", site.port);
    let status = preloaded("curl", &site.log).args(["-s", "-o"]).arg(&target).arg(url).status().unwrap();
    assert!(status.success() && std::fs::read(target).unwrap() == big());
    assert!(Server::said(&site.log).contains("connected 1"), "{}", Server::said(&site.log));
    drop(server);
}

#[test]
fn a_program_without_a_stack_is_left_alone() {
    let output = Command::new("sh")
        .env("LD_PRELOAD", support::library())
        .args(["-c", "echo one | cat && exec cat /proc/self/comm"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "one\ncat\n");
    assert!(output.stderr.is_empty());
}
