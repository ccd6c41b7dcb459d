//! Programs under the library: where it is, how they are started, and how they end.

#![allow(clippy::print_stderr, reason = "what was skipped, and why a test failed, is said aloud")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Longest wait: as long as a slow machine needs to start a virtual machine, and no test waits for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// The library that these tests were built with.
pub fn library() -> PathBuf {
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let library = deps.join("libassay_preload.so");
    assert!(library.exists(), "Cargo builds {} before the tests", library.display());
    library
}

/// Waits until something holds.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a program can be run, said aloud if not.
pub fn is_installed(program: &str, asks: &str) -> bool {
    let answers =
        Command::new(program).arg(asks).stdin(Stdio::null()).output().is_ok_and(|o| o.status.success());
    if !answers {
        assay_skip::skip("tools", format_args!("{program} is not installed"));
    }
    answers
}

/// A command that runs under the library, on our engine on the kernel's sockets.
pub fn preloaded(program: &str, log: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", library()).env("ASSAY_STACK", "epoll").env("ASSAY_STACK_LOG", log);
    command
}

/// A program on our own stack, at one end of a wire.
pub fn on_wire(program: &str, log: &Path, wire: &str, side: &str) -> Command {
    let mut command = preloaded(program, log);
    command.env("ASSAY_STACK", "user").env("ASSAY_STACK_SIDE", side).env("ASSAY_STACK_WIRE", wire);
    command
}

/// A port that nobody has: it was given away and taken back a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A server under the library, ended when dropped.
pub struct Server {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
}

impl Server {
    /// Starts it, where nobody but its peer on the wire can tell when it is ready.
    pub fn spawn(command: &mut Command, port: u16, log: &Path) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self { child, address, log: log.to_owned() }
    }

    /// Starts it and waits until it accepts connections.
    pub fn start(command: &mut Command, port: u16, log: &Path) -> Self {
        let server = Self::spawn(command, port, log);
        eventually("it listens", || TcpStream::connect(server.address).is_ok());
        server
    }

    pub fn connect(&self) -> Peer {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Peer(BufReader::new(socket))
    }

    /// Asks it to end, and waits until it has.
    pub fn end(self, signal: Signal) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.ended()
    }

    /// Waits until it has ended by itself.
    pub fn ended(mut self) -> ExitStatus {
        let mut status = None;
        eventually("it ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// What the library has said.
    pub fn said(log: &Path) -> String {
        fs::read_to_string(log).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the library said: {}", Self::said(&self.log));
        }
    }
}

/// How it ended, as shells tell it.
pub fn exit(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|s| 128 + s)).unwrap()
}

/// A client of a server: one connection, HTTP/1.1 as far as these tests need it.
pub struct Peer(BufReader<TcpStream>);

impl Peer {
    pub fn ask(&mut self, method: &str, path: &str, more: &str) {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: here\r\n{more}\r\n");
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    pub fn end_sending(&mut self) {
        self.0.get_mut().shutdown(Shutdown::Write).unwrap();
    }

    /// The status and the length that the head announces.
    pub fn head(&mut self) -> (u16, Option<usize>) {
        let (mut status, mut length, mut line) = (0, None, String::new());
        loop {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the head was cut short");
            let lower = line.trim().to_ascii_lowercase();
            if lower.is_empty() {
                return (status, length);
            }
            if let Some(rest) = lower.strip_prefix("http/1.") {
                status = rest[2..5].parse().unwrap();
            }
            if let Some(rest) = lower.strip_prefix("content-length:") {
                length = rest.trim().parse().ok();
            }
        }
    }

    pub fn body(&mut self, length: usize) -> Vec<u8> {
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        body
    }

    pub fn get(&mut self, path: &str) -> Vec<u8> {
        self.ask("GET", path, "");
        let (status, length) = self.head();
        assert_eq!(status, 200);
        self.body(length.unwrap())
    }

    /// Everything until the end of the stream.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).unwrap();
        rest
    }
}

/// A program in C among the scripts, compiled by the compiler that also links Rust's.
pub fn compiled(source: &str, folder: &Path) -> PathBuf {
    let program = folder.join(Path::new(source).file_stem().unwrap());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts").join(source);
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&program).arg(source);
    let done = compiler.args(["-lutil", "-lrt"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}
