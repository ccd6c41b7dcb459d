//! A small server of HTTP/2 that holds against its client all that it can, but for the one rule that it is told to break: it
//! overlooks what that forbids, or objects to what that permits.

mod answers;
mod blocks;
mod connection;
mod requests;
mod streams;
mod windows;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use connection::{Connection, End};

/// How often a waiting thread looks whether the server shall end.
const TICK: Duration = Duration::from_millis(5);

/// A running server; ends when dropped.
pub(crate) struct Strict {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

/// What its connections share.
struct Shared {
    /// The rule that it breaks.
    fault: &'static str,
    over: AtomicBool,
    connections: AtomicUsize,
    requests: AtomicUsize,
    /// Requests that are still to come, and answers that wait for a window.
    waiting: AtomicUsize,
}

impl Strict {
    /// A server that breaks the rule of this name; none where there is no such rule.
    pub(crate) fn start(fault: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("port");
        let address = listener.local_addr().expect("address");
        let shared = Arc::new(Shared {
            fault,
            over: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || accept(&listener, &serving));
        Self { address, shared }
    }
}

impl Drop for Strict {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        while self.shared.connections.load(Ordering::Relaxed) > 0 {
            std::thread::sleep(TICK);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming().flatten() {
        if shared.over.load(Ordering::Relaxed) {
            return;
        }
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let serving = Arc::clone(shared);
        std::thread::spawn(move || {
            serve(stream, &serving);
            serving.connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Serves one connection until it ends.
fn serve(mut stream: TcpStream, shared: &Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_read_timeout(Some(TICK));
    if shared.fault == "h2-spoken" {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        return linger(&stream);
    }
    let mut connection = Connection::new(Arc::clone(shared));
    let end = loop {
        let Some(bytes) = receive(&mut stream, shared) else { break connection.hang_up() };
        let taken = connection.take(&bytes);
        if shared.fault == "h2-half-close" && matches!(stream.peek(&mut [0]), Ok(0)) {
            break End::Quiet;
        }
        let _ = stream.write_all(&std::mem::take(&mut connection.out));
        if let Err(end) = taken {
            break end;
        }
    };
    match end {
        End::Quiet => {}
        End::Error(code) => {
            connection.say_why(code);
            let _ = stream.write_all(&connection.out);
            if shared.fault == "h2-error-ends" {
                while receive(&mut stream, shared).is_some() {}
            }
        }
        End::Everything => shared.over.store(true, Ordering::Relaxed),
    }
    linger(&stream);
}

/// Some bytes; nothing at the end of the connection or of the server.
fn receive(stream: &mut TcpStream, shared: &Shared) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return None,
            Ok(read) => {
                buffer.truncate(read);
                return Some(buffer);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if shared.over.load(Ordering::Relaxed) {
                    return None;
                }
            }
            Err(_) => return None,
        }
    }
}

/// Unread bytes would reset the connection before the last words were read (RFC 9112 §9.6).
fn linger(mut stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let mut rest = [0; 64 << 10];
    while matches!(stream.read(&mut rest), Ok(read) if read > 0) {}
}
