//! The server over real sockets: std clients on loopback, everything bounded by time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, also in its helpers")]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use assay_engine::EngineKind;
use assay_host::cpuset::CpuSet;
use assay_model::units::Nanos;
use assay_serve::{Config, Limits, ServeError, Summary, run};

/// Longest wait for anything; a test that reaches it fails.
const PATIENCE: Duration = Duration::from_secs(20);
const GET: &[u8] = b"GET /hello HTTP/1.1\r\nHost: h\r\n\r\n";

struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Summary, ServeError>>>,
}

impl Running {
    fn start(limits: Limits) -> Self {
        Self::with(config(limits))
    }

    fn with(config: Config) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = channel();
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || run(&config, &flag, |address| sender.send(address).unwrap()));
        let address = receiver.recv_timeout(PATIENCE).unwrap();
        Self { address, stop, thread: Some(thread) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends bytes, ends the direction, and returns all that came back.
    fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        rest(&mut stream)
    }

    fn stop(mut self) -> Summary {
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

fn config(limits: Limits) -> Config {
    let cpus = CpuSet::from_iter(CpuSet::allowed().first());
    Config {
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port: 0,
        cpus,
        engine: EngineKind::best().0,
        root: None,
        limits,
    }
}

fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Asks for hello and reads exactly its answer.
fn hello(stream: &mut TcpStream) {
    stream.write_all(GET).unwrap();
    read_hello(stream);
}

fn read_hello(stream: &mut TcpStream) {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\nhello") {
        let mut piece = [0; 512];
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "the connection ended after {:?}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..n]);
    }
    assert_eq!(count(&String::from_utf8(answer).unwrap()), 1);
}

fn count(text: &str) -> usize {
    text.matches("HTTP/1.1 ").count()
}

#[test]
fn requests_are_answered_and_connections_closed_as_asked() {
    let server = Running::start(Limits::default());
    let mut stream = server.connect();
    for _ in 0..3 {
        hello(&mut stream);
    }
    stream.write_all(b"GET /json HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
    let last = rest(&mut stream);
    assert!(
        last.contains("Connection: close\r\n") && last.ends_with("{\"message\":\"Hello, World!\"}"),
        "{last}"
    );
    assert!(server.exchange(b"GET / HTTP/1.0\r\n\r\n").ends_with("hello"));
    assert_eq!(server.stop().requests(), 5);
}

#[test]
fn pipelined_requests_come_back_in_order_before_the_end_of_the_stream_is_honoured() {
    let server = Running::start(Limits::default());
    let targets = ["/bytes/1", "/bytes/70000", "/bytes/2", "/json", "/bytes/3"];
    let requests: String = targets.iter().map(|t| format!("GET {t} HTTP/1.1\r\nHost: h\r\n\r\n")).collect();
    let text = server.exchange(requests.as_bytes());
    let lengths: Vec<_> =
        text.split("Content-Length: ").skip(1).map(|s| s.split("\r\n").next().unwrap()).collect();
    assert_eq!(lengths, ["1", "70000", "2", "27", "3"]);
    assert!(text.ends_with("\r\n\r\n012"));
}

#[test]
fn a_body_is_sent_after_it_was_asked_for() {
    let server = Running::start(Limits::default());
    let mut stream = server.connect();
    let head = b"POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n";
    stream.write_all(head).unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"body").unwrap();
    assert!(rest(&mut stream).ends_with("\r\n\r\nbody"));
}

#[test]
fn a_large_upload_comes_back_whole_through_bounded_memory() {
    const LENGTH: usize = 8 << 20;
    let server = Running::start(Limits::default());
    let mut stream = server.connect();
    let mut sender = stream.try_clone().unwrap();
    let body: Vec<u8> = (0..LENGTH as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let sent = body.clone();
    let writer = std::thread::spawn(move || {
        write!(
            sender,
            "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: {LENGTH}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        sender.write_all(&sent).unwrap();
    });
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    writer.join().unwrap();
    assert!(answer[answer.len() - LENGTH..] == body, "the echo differs");
}

#[test]
fn a_large_download_waits_for_a_reader_that_sleeps() {
    const LENGTH: usize = 32 << 20;
    let server = Running::start(Limits::default());
    let mut stream = server.connect();
    write!(stream, "GET /bytes/{LENGTH} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
    // Meanwhile the socket's buffers are full and another connection is served.
    hello(&mut server.connect());
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let body = &answer[answer.len() - LENGTH..];
    assert!(body.chunks(64).all(|line| line == &body[..64]) && body.starts_with(b"0123456789AB"));
}

#[test]
fn a_body_behind_a_blocked_output_is_read_to_its_end() {
    const DOWNLOAD: usize = 40 << 20;
    const BODY: usize = 2 << 20;
    let server = Running::start(Limits::default());
    let mut stream = server.connect();
    let mut sender = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        write!(sender, "GET /bytes/{DOWNLOAD} HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
        write!(sender, "POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: {BODY}\r\n\r\n").unwrap();
        sender.write_all(&vec![b'x'; BODY]).unwrap();
        sender.write_all(b"GET /json HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
    });
    // Until both directions are full; how long that takes changes nothing but the path that is tested.
    std::thread::sleep(Duration::from_millis(300));
    let text = rest(&mut stream);
    writer.join().unwrap();
    assert_eq!(count(&text), 3);
    assert!(text.contains("HTTP/1.1 405 ") && text.ends_with("{\"message\":\"Hello, World!\"}"));
}

#[test]
fn a_refused_client_sees_the_end_though_it_keeps_its_own_side_open() {
    let server = Running::start(Limits { linger_time: Nanos::from_millis(3_600_000), ..Limits::default() });
    let mut stream = server.connect();
    stream.write_all(b"GARBAGE\r\n\r\n").unwrap();
    assert!(rest(&mut stream).starts_with("HTTP/1.1 400 "));
}

#[test]
fn slow_clients_do_not_hold_up_the_fast_ones() {
    let server = Running::start(Limits::default());
    let mut slow: Vec<_> = (0..20).map(|_| server.connect()).collect();
    let mut fast = server.connect();
    for (at, &byte) in GET.iter().enumerate() {
        for stream in &mut slow {
            stream.write_all(&[byte]).unwrap();
        }
        if at % 4 == 0 {
            hello(&mut fast);
        }
    }
    slow.iter_mut().for_each(read_hello);
}

#[test]
fn a_thousand_idle_connections_stay_and_are_all_served() {
    let server = Running::start(Limits::default());
    let mut idle: Vec<_> = (0..1000).map(|_| server.connect()).collect();
    hello(&mut server.connect());
    idle.iter_mut().for_each(hello);
    let summary = server.stop();
    assert_eq!((summary.requests(), summary.threads[0].engine.accepted), (1001, 1001));
    for stream in &mut idle {
        assert_eq!(rest(stream), "", "closed in order, without a word");
    }
}

#[test]
fn time_limits_are_kept() {
    let short = Nanos::from_millis(150);
    let limits = Limits { idle: short, head_time: short, body_time: short, ..Limits::default() };
    let server = Running::start(limits);
    assert_eq!(rest(&mut server.connect()), "", "idle");
    for unfinished in
        ["GET / HTTP/1.1\r\nHos", "POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab"]
    {
        let mut stream = server.connect();
        stream.write_all(unfinished.as_bytes()).unwrap();
        let answer = rest(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("Connection: close"), "{answer}");
    }
}

#[test]
fn a_peer_that_takes_nothing_is_reset() {
    let limits = Limits { send_time: Nanos::from_millis(150), ..Limits::default() };
    let server = Running::start(limits);
    let mut stream = server.connect();
    stream.write_all(b"GET /bytes/1073741824 HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let error = std::io::copy(&mut stream, &mut std::io::sink()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn smuggled_requests_are_refused_once_and_the_refusal_arrives() {
    let server = Running::start(Limits::default());
    let head = "POST /echo HTTP/1.1\r\nHost: h\r\n";
    let smuggled = "GET /json HTTP/1.1\r\nHost: h\r\n\r\n";
    for attack in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 0\r\nContent-Length: 31\r\n\r\n",
        "Content-Length : 0\r\n\r\n",
        "Content-Length: +0\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n",
        "Transfer-Encoding: chunked, identity\r\n\r\n",
        "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n1;\nab\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
        "X: y\rContent-Length: 31\r\n\r\n",
        "X: y\0\r\n\r\n",
        " folded: x\r\n\r\n",
    ] {
        // More than the server looks at: without lingering the rest would reset the connection and lose the refusal.
        let bytes = format!("{head}{attack}{}", smuggled.repeat(40_000));
        let answer = server.exchange(bytes.as_bytes());
        let status: u16 = answer.get(9..12).and_then(|code| code.parse().ok()).unwrap_or(0);
        assert!((400..500).contains(&status) || status == 501, "{attack:?}: {answer:?}");
        assert_eq!(count(&answer), 1, "{attack:?}: {answer:?}");
    }
}

#[test]
fn stopping_finishes_what_is_under_way_and_refuses_what_is_new() {
    const LENGTH: usize = 16 << 20;
    let server = Running::start(Limits::default());
    let address = server.address;
    let mut busy = server.connect();
    write!(busy, "GET /bytes/{LENGTH} HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    let mut idle = server.connect();
    hello(&mut idle);
    let stopping = std::thread::spawn(move || server.stop());
    assert_eq!(rest(&mut idle), "");
    let answer = rest(&mut busy);
    assert!(answer.split_once("\r\n\r\n").unwrap().1.len() == LENGTH);
    stopping.join().unwrap();
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn stopping_is_bounded() {
    let server = Running::start(Limits { stop_time: Nanos::from_millis(200), ..Limits::default() });
    let mut unfinished = server.connect();
    unfinished.write_all(b"GET / HT").unwrap();
    hello(&mut server.connect());
    server.stop();
    let error = unfinished.read(&mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn connections_over_the_limit_wait_until_one_is_free() {
    let server = Running::start(Limits { connections: 2, ..Limits::default() });
    let (mut first, mut second) = (server.connect(), server.connect());
    hello(&mut first);
    hello(&mut second);
    let mut third = server.connect();
    third.write_all(GET).unwrap();
    hello(&mut first);
    drop(second);
    read_hello(&mut third);
}

#[test]
fn a_port_in_use_is_said_so() {
    let server = Running::start(Limits::default());
    let config = Config { port: server.address.port(), ..config(Limits::default()) };
    let error = run(&config, &AtomicBool::new(true), |_| ()).unwrap_err();
    assert!(matches!(&error, ServeError::Listen { address, .. } if address.port() == config.port), "{error}");
}

#[test]
fn every_cpu_has_a_thread_that_serves() {
    let cpus: CpuSet = CpuSet::allowed().iter().take(2).collect();
    let server = Running::with(Config { cpus: cpus.clone(), ..config(Limits::default()) });
    // The kernel spreads connections by a hash of their ports: that all of them meet one thread is out of the question.
    for _ in 0..200 {
        hello(&mut server.connect());
    }
    let summary = server.stop();
    assert!(summary.threads.iter().map(|thread| thread.cpu).eq(cpus.iter()));
    assert!(summary.threads.iter().all(|thread| thread.requests > 0), "{summary:?}");
    assert_eq!(summary.requests(), 200);
}

#[test]
fn files_are_served_from_the_folder_and_only_from_there() {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    std::fs::write(root.join("index.html"), "<p>index").unwrap();
    let large: Vec<u8> = (0..3_000_000u32).map(|i| b'a' + (i % 26) as u8).collect();
    std::fs::write(root.join("large.txt"), &large).unwrap();
    let server = Running::with(Config { root: Some(root), ..config(Limits::default()) });
    let get = |target: &str| server.exchange(format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
    assert!(get("/").ends_with("\r\n\r\n<p>index"));
    let answer = get("/large.txt");
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    assert!(body.as_bytes() == large);
    for target in ["/../secret", "/%2e%2e/secret", "/%2e%2e%2fsecret", "/..", "/x/%2e./../secret"] {
        let answer = get(target);
        assert!(answer.starts_with("HTTP/1.1 40") && !answer.ends_with("secret"), "{target}: {answer}");
    }
}
