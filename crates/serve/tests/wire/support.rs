//! A server in this process, and clients of it.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use assay_engine::EngineKind;
use assay_host::cpuset::{self, CpuSet};
use assay_serve::{Config, Limits, ServeError, Summary, run};

/// Longest wait for anything; a test that reaches it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const GET: &[u8] = b"GET /hello HTTP/1.1\r\nHost: h\r\n\r\n";

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Summary, ServeError>>>,
}

impl Running {
    pub(crate) fn start(engine: EngineKind, limits: Limits) -> Self {
        Self::with(config(engine, limits))
    }

    pub(crate) fn with(config: Config) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = channel();
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || run(&config, &flag, |address| sender.send(address).unwrap()));
        let address = receiver.recv_timeout(PATIENCE).unwrap();
        Self { address, stop, thread: Some(thread) }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends bytes, ends the direction, and returns all that came back.
    pub(crate) fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        rest(&mut stream)
    }

    pub(crate) fn stop(mut self) -> Summary {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(crate) fn config(engine: EngineKind, limits: Limits) -> Config {
    let cpus = CpuSet::from_iter(cpuset::allowed().first());
    Config {
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port: 0,
        shares_port: false,
        cpus,
        stack: engine.into(),
        tls: None,
        root: None,
        hello: false,
        dot_files: false,
        requests: None,
        limits,
    }
}

pub(crate) fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Asks for hello and reads exactly its answer.
pub(crate) fn hello(stream: &mut TcpStream) {
    stream.write_all(GET).unwrap();
    read_hello(stream);
}

pub(crate) fn read_hello(stream: &mut TcpStream) {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\nhello") {
        let mut piece = [0; 512];
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "the connection ended after {:?}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..n]);
    }
    assert_eq!(count(&String::from_utf8(answer).unwrap()), 1);
}

/// The status codes of all responses, in order.
pub(crate) fn statuses(text: &str) -> Vec<u16> {
    text.split("HTTP/1.1 ").skip(1).map(|rest| rest[..3].parse().unwrap()).collect()
}

pub(crate) fn count(text: &str) -> usize {
    text.matches("HTTP/1.1 ").count()
}

/// Runs a test on io_uring, or says why not.
pub(crate) fn where_allowed(test: impl Fn(EngineKind)) {
    match EngineKind::best() {
        (EngineKind::IoUring, _) => test(EngineKind::IoUring),
        (EngineKind::Epoll, obstacle) => {
            assay_skip::skip("uring", obstacle.map(|obstacle| obstacle.to_string()).unwrap_or_default());
        }
    }
}
