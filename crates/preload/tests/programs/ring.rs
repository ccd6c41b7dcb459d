//! Servers on our own stack, asked by curl on our own stack: no socket of the kernel's carries a byte.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::Signal;

use super::support::{Server, eventually, exit, is_installed, on_wire};
use super::{Site, big};

/// Files in memory, as the ring wants.
const MEMORY: &str = "/dev/shm";

/// Server and client at the ends of a wire.
pub(crate) struct Net {
    pub(crate) site: Site,
    /// The server's end and the client's; a client without one is on the kernel's stack.
    pub(crate) wires: [Option<String>; 2],
    /// Where the server is asked, and the addresses of its stack and the client's.
    pub(crate) host: &'static str,
    pub(crate) addresses: [&'static str; 2],
}

/// A ring in a folder of its own.
struct Ring {
    net: Net,
    /// Removed with its content; the ring itself is removed by whoever leaves it last.
    folder: tempfile::TempDir,
}

impl Ring {
    fn new() -> Self {
        Self::between("10.77.0.1", ["10.77.0.1/24", "10.77.0.2/24"])
    }

    fn between(host: &'static str, addresses: [&'static str; 2]) -> Self {
        let folder = tempfile::tempdir_in(MEMORY).unwrap();
        // Workers may run as another user.
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let wires = [(); 2].map(|()| Some(format!("ring:{}/ring", folder.path().display())));
        Self { net: Net { site: Site::new(), wires, host, addresses }, folder }
    }
}

impl std::ops::Deref for Ring {
    type Target = Net;

    fn deref(&self) -> &Net {
        &self.net
    }
}

impl Net {
    pub(crate) fn server(&self, program: &str, script: &str) -> Command {
        let mut command = on_wire(program, &self.site.log, self.wires[0].as_deref().unwrap(), "server");
        command.env("ASSAY_STACK_ADDRESS", self.addresses[0]);
        if !script.is_empty() {
            let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
            command.arg(scripts.join(script)).arg(self.site.path()).arg(self.site.port.to_string());
        }
        command
    }

    /// A client in Python, told whom to ask.
    fn client(&self, script: &str, log: &str) -> Command {
        let log = self.site.path().join(log);
        let mut command = on_wire("/usr/bin/python3", &log, self.wires[1].as_deref().unwrap(), "client");
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(script));
        command.arg(self.host).arg(self.site.port.to_string()).env("ASSAY_STACK_ADDRESS", self.addresses[1]);
        command
    }

    /// What curl gets, over one connection.
    fn fetch(&self, paths: &[&str]) -> Vec<Vec<u8>> {
        let log = self.site.path().join("curl-log");
        let mut curl = match &self.wires[1] {
            Some(wire) => on_wire("curl", &log, wire, "client"),
            None => Command::new("curl"),
        };
        curl.env("ASSAY_STACK_ADDRESS", self.addresses[1]);
        curl.args(["--silent", "--fail", "--globoff", "--max-time", "60"]);
        curl.args([
            "--retry-max-time",
            "60",
            "--retry",
            "100",
            "--retry-delay",
            "0",
            "--retry-all-errors",
            "--connect-timeout",
            "5",
        ]);
        let targets: Vec<_> = (0..paths.len()).map(|i| self.site.path().join(format!("got{i}"))).collect();
        for (path, target) in paths.iter().zip(&targets) {
            curl.arg("-o").arg(target).arg(format!("http://{}:{}{path}", self.host, self.site.port));
        }
        let status = curl.status().unwrap();
        assert!(status.success(), "{status}: {}", Server::said(&log));
        targets.iter().map(|target| std::fs::read(target).unwrap()).collect()
    }

    /// Starts the server, and waits until it has made its ring: whoever comes first does, and root's would be closed to workers.
    fn start(&self, command: &mut Command) -> Server {
        let server = Server::spawn(command, self.site.port, &self.site.log);
        if let Some(ring) = self.wires[0].as_ref().and_then(|wire| wire.strip_prefix("ring:")) {
            eventually("the server makes its ring", || Path::new(ring).exists());
        }
        server
    }

    /// Starts the server, asks it as two programs one after the other, and ends it; returns how it ended.
    pub(crate) fn try_out(&self, command: &mut Command) -> i32 {
        let server = self.start(command);
        for _ in 0..2 {
            let got = self.fetch(&["/small", "/big", "/small"]);
            assert!(got == [b"hello".to_vec(), big(), b"hello".to_vec()]);
        }
        exit(server.end(Signal::TERM))
    }
}

pub(crate) fn has_curl_and(program: &str, asks: &str) -> bool {
    is_installed("curl", "--version") && is_installed(program, asks)
}

#[test]
fn asyncio() {
    if !has_curl_and("/usr/bin/python3", "--version") {
        return;
    }
    let ring = Ring::new();
    assert_eq!(ring.try_out(&mut ring.server("/usr/bin/python3", "asyncio_server.py")), 9);
    assert_eq!(ring.site.accepted(), 2, "{}", Server::said(&ring.site.log));
}

#[test]
fn python_with_threads() {
    if !has_curl_and("/usr/bin/python3", "--version") {
        return;
    }
    let ring = Ring::new();
    assert_eq!(ring.try_out(&mut ring.server("/usr/bin/python3", "threads_server.py")), 128 + 15);
}

#[test]
fn node() {
    if !has_curl_and("node", "--version") {
        return;
    }
    let ring = Ring::new();
    assert_eq!(ring.try_out(&mut ring.server("node", "server.js")), 5);
    assert_eq!(ring.site.accepted(), 2, "{}", Server::said(&ring.site.log));
}

#[test]
fn nginx() {
    if !has_curl_and("nginx", "-v") {
        return;
    }
    let ring = Ring::new();
    let file = ring.site.configure_nginx(1);
    assert_eq!(ring.try_out(ring.server("nginx", "").arg("-c").arg(file)), 0);
    assert_eq!(ring.site.accepted(), 2, "{}", Server::said(&ring.site.log));
}

#[test]
fn java() {
    if !has_curl_and("javac", "-version") {
        return;
    }
    let ring = Ring::new();
    // At an address of its own, which a JVM names in IPv6's way (`::ffff:10.77.0.1`).
    assert_eq!(ring.try_out(ring.server("java", "Server.java").arg("10.77.0.1")), 128 + 15);
    assert!(ring.site.accepted() >= 2, "{}", Server::said(&ring.site.log));
}

#[test]
fn ipv6() {
    if !has_curl_and("node", "--version") || !is_installed("/usr/bin/python3", "--version") {
        return;
    }
    let ring = Ring::between("[fd77::1]", ["fd77::1/64", "fd77::2/64"]);
    assert_eq!(ring.try_out(ring.server("node", "server.js").args(["", "::"])), 5);
    assert_eq!(ring.site.accepted(), 2, "{}", Server::said(&ring.site.log));
    let ring = Ring::between("[fd77::1]", ["fd77::1/64", "fd77::2/64"]);
    assert_eq!(ring.try_out(ring.server("/usr/bin/python3", "asyncio_server.py").args(["", "::"])), 9);
}

#[test]
fn nothing_is_left_of_a_ring() {
    if !has_curl_and("node", "--version") {
        return;
    }
    let ring = Ring::new();
    assert_eq!(ring.try_out(&mut ring.server("node", "server.js")), 5);
    assert_eq!(ring.folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_server_that_does_not_wait_hears_what_comes_and_forgets_none_of_it() {
    if !is_installed("/usr/bin/python3", "--version") {
        return;
    }
    let ring = Ring::new();
    let server = ring.start(&mut ring.server("/usr/bin/python3", "away.py"));
    let mut client = ring.client("away_client.py", "client-log");
    let output = client.arg(ring.site.path()).stderr(Stdio::inherit()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(told, "begin more begin end, then listener second, then listener\n", "a level and an edge");
    assert_eq!(exit(server.ended()), 0);
}

#[test]
fn who_cannot_listen_is_told_at_once() {
    if !is_installed("node", "--version") {
        return;
    }
    let ring = Ring::new();
    let attempts = |net: &Net| {
        let output = net.server("node", "listens.js").stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", Server::said(&net.site.log));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(attempts(&ring), "listens\nEADDRINUSE listen\n", "its own port");

    let mut first = ring.server("node", "listens.js");
    let first = Running(first.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap());
    eventually("the first one makes its ring", || ring.folder.path().join("ring").exists());
    assert_eq!(attempts(&ring), "EADDRINUSE listen\n".repeat(2), "another's queue");
    drop(first);

    let elsewhere = format!("ring:{}/nowhere/ring", ring.folder.path().display());
    let nowhere = Net { wires: [Some(elsewhere), None], site: Site::new(), ..ring.net };
    assert_eq!(attempts(&nowhere), "ENETDOWN listen\n".repeat(2), "no wire");
    assert!(Server::said(&nowhere.site.log).contains("choose a path under /dev/shm"));
}

/// A program that is killed when dropped, if it has not ended.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A client that holds connections: what it says can be read.
struct Holder(Running, BufReader<ChildStdout>);

impl Holder {
    fn start(ring: &Ring) -> Self {
        let mut child = ring.client("holder.py", "holder-log").stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self(Running(child), out)
    }

    fn says(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn kill(&mut self) {
        self.0.0.kill().unwrap();
        self.0.0.wait().unwrap();
    }
}

#[test]
fn a_killed_clients_connections_end_when_the_next_one_comes() {
    if !has_curl_and("node", "--version") || !is_installed("/usr/bin/python3", "--version") {
        return;
    }
    let ring = Ring::new();
    let server = ring.start(&mut ring.server("node", "server.js"));
    for _ in 0..3 {
        let mut holder = Holder::start(&ring);
        assert_eq!(holder.says(), "open");
        holder.kill();
        assert_eq!(ring.fetch(&["/open", "/big"]), [b"1".to_vec(), big()], "its own, and no other");
    }
    assert_eq!(exit(server.end(Signal::TERM)), 5);
    assert_eq!(ring.folder.path().read_dir().unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_killed_servers_connections_end_at_once() {
    if !has_curl_and("node", "--version") || !is_installed("/usr/bin/python3", "--version") {
        return;
    }
    let ring = Ring::new();
    for _ in 0..2 {
        let server = ring.start(&mut ring.server("node", "server.js"));
        let mut holder = Holder::start(&ring);
        assert_eq!(holder.says(), "open");
        // Dropping kills it.
        drop(server);
        assert_eq!(holder.says(), "ConnectionResetError");
        assert!(holder.0.0.wait().unwrap().success());
    }
    assert_eq!(ring.folder.path().read_dir().unwrap().count(), 0, "nothing is left");
}
