//! A small HTTP server with programmed behaviour that keeps its own counts, and plans to put load on it.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

use assay_host::cpuset;
use assay_load::{LoadError, LoadPlan, Span, run};
use assay_model::load::{ErrorClass, LoadReport};
use assay_model::workload::{Expect, RequestKind};

/// What the server does about one request.
pub(crate) enum Act {
    /// Answers with these bytes.
    Answer(Vec<u8>),
    /// Answers one byte at a time, each in a segment of its own.
    Trickle(Vec<u8>),
    /// Answers with these bytes after a rest.
    AnswerAfter(Duration, Vec<u8>),
    /// Answers with these bytes and ends the connection.
    End(Vec<u8>),
    /// Answers with these bytes and resets the connection.
    Reset(Vec<u8>),
    /// Answers with these bytes and then does nothing until the client gives up.
    Stall(Vec<u8>),
    /// Refuses connections from now on, answers with these bytes and ends the connection.
    Retire(Vec<u8>),
}

/// A request as the server saw it.
pub(crate) struct Seen {
    /// How many the server had seen before.
    pub(crate) number: u64,
    /// Head and body.
    pub(crate) text: String,
}

type Behaviour = dyn Fn(&Seen) -> Act + Send + Sync;

/// The server; it stops when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    listener: Arc<TcpListener>,
    inner: Arc<Inner>,
}

struct Inner {
    behaviour: Box<Behaviour>,
    requests: AtomicU64,
    connections: AtomicU64,
    /// Every connection that was not hung up; those that are over are gone.
    open: Mutex<Vec<Weak<TcpStream>>>,
    stopped: AtomicBool,
    paths: Mutex<Vec<String>>,
}

impl Server {
    pub(crate) fn start(behaviour: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Self {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let inner = Arc::new(Inner {
            behaviour: Box::new(behaviour),
            requests: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            open: Mutex::default(),
            stopped: AtomicBool::new(false),
            paths: Mutex::default(),
        });
        let (accepting, counting) = (Arc::clone(&listener), Arc::clone(&inner));
        thread::spawn(move || {
            while let Ok((stream, _)) = accepting.accept() {
                counting.connections.fetch_add(1, SeqCst);
                let stream = Arc::new(stream);
                counting.open.lock().unwrap().push(Arc::downgrade(&stream));
                let (inner, listener) = (Arc::clone(&counting), Arc::clone(&accepting));
                thread::spawn(move || inner.serve(&stream, &listener));
            }
        });
        Self { address: listener.local_addr().unwrap(), listener, inner }
    }

    pub(crate) fn requests(&self) -> u64 {
        self.inner.requests.load(SeqCst)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.inner.connections.load(SeqCst)
    }

    /// Ends all connections, as a server does that finds them idle for too long.
    pub(crate) fn hang_up(&self) {
        for stream in self.inner.open.lock().unwrap().drain(..).filter_map(|stream| stream.upgrade()) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.inner.paths.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.inner.stopped.store(true, SeqCst);
        refuse(&self.listener);
    }
}

impl Inner {
    fn serve(&self, mut stream: &TcpStream, listener: &TcpListener) {
        stream.set_nodelay(true).unwrap();
        let mut bytes = Vec::new();
        while let Some(text) = next_request(&mut stream, &mut bytes) {
            let number = self.requests.fetch_add(1, SeqCst);
            self.paths.lock().unwrap().push(text.split(' ').nth(1).unwrap_or_default().to_owned());
            let act = (self.behaviour)(&Seen { number, text });
            if self.perform(act, &mut stream, listener).is_none() {
                return;
            }
        }
    }

    /// `None` when the connection is over.
    fn perform(&self, act: Act, stream: &mut &TcpStream, listener: &TcpListener) -> Option<()> {
        match act {
            Act::Answer(bytes) => stream.write_all(&bytes).ok(),
            Act::Trickle(bytes) => bytes.chunks(1).try_for_each(|byte| stream.write_all(byte)).ok(),
            Act::AnswerAfter(rest, bytes) => {
                thread::sleep(rest);
                stream.write_all(&bytes).ok()
            }
            Act::End(bytes) => stream.write_all(&bytes).ok().and(None),
            Act::Reset(bytes) => {
                stream.write_all(&bytes).ok()?;
                rustix::net::sockopt::set_socket_linger(*stream, Some(Duration::ZERO)).ok().and(None)
            }
            Act::Stall(bytes) => {
                stream.write_all(&bytes).ok()?;
                let _ = stream.read(&mut [0]);
                None
            }
            Act::Retire(bytes) => {
                refuse(listener);
                stream.write_all(&bytes).ok().and(None)
            }
        }
    }
}

/// Ends a listener that another thread waits at.
fn refuse(listener: &TcpListener) {
    let _ = rustix::net::shutdown(listener, rustix::net::Shutdown::Both);
}

/// Reads the next request with its body; `None` when there is none. `bytes` keeps what came beyond it.
fn next_request(stream: &mut &TcpStream, bytes: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length =
                head.lines().find_map(|l| l.strip_prefix("Content-Length: ")?.parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let rest = bytes.split_off(end + 4 + length);
                return String::from_utf8(std::mem::replace(bytes, rest)).ok();
            }
        }
        let mut buffer = [0; 16 * 1024];
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&buffer[..n]),
            _ => return None,
        }
    }
}

/// A response with a length.
pub(crate) fn answer(status: u16, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// The right answer.
pub(crate) fn hello() -> Vec<u8> {
    answer(200, "hello")
}

/// A request for `path` that expects [`hello`].
pub(crate) fn get(path: &str) -> RequestKind {
    RequestKind {
        expect: Expect {
            status: Some(200),
            body: Some("hello".into()),
            content_type: Some("text/plain".into()),
            ..Expect::default()
        },
        ..RequestKind::get(path)
    }
}

/// `n` requests over one connection.
pub(crate) fn plan(server: &Server, n: u64) -> LoadPlan {
    let cpu = cpuset::allowed().first().unwrap();
    LoadPlan { cpus: vec![cpu], span: Span::Requests(n), ..LoadPlan::new(server.address, vec![get("/")]) }
}

/// Runs a plan; the books of the report balance.
pub(crate) fn measure(plan: &LoadPlan) -> LoadReport {
    let report = try_measure(plan).unwrap();
    assert!(report.books.balance(), "{:?}", report.books);
    report
}

pub(crate) fn try_measure(plan: &LoadPlan) -> Result<LoadReport, LoadError> {
    run(plan, &AtomicBool::new(false), |_| {})
}

/// The count of one class of errors.
pub(crate) fn errors(report: &LoadReport, class: ErrorClass) -> u64 {
    report.books.errors.get(&class).copied().unwrap_or(0)
}
