//! What the servers of these tests have in common: a port, connections that are served until the server ends, and its end.

use std::io::{ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// How often a waiting thread looks whether the server shall end.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// A server that listens; ends when dropped.
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    life: Arc<Life>,
}

/// Whether a server is to end, and how many connections it has.
#[derive(Default)]
pub(crate) struct Life {
    over: AtomicBool,
    connections: AtomicUsize,
}

/// How many connections a server serves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manners {
    AllAtOnce,
    OneByOne,
}

impl Life {
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Listening {
    /// Serves connections on a free port.
    pub(crate) fn start(
        life: &Arc<Life>,
        manners: Manners,
        serve: impl Fn(TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("port");
        let address = listener.local_addr().expect("address");
        let own = Arc::clone(life);
        std::thread::spawn(move || accept(&listener, &own, manners, &Arc::new(serve)));
        Self { address, life: Arc::clone(life) }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.life.end();
        let _ = TcpStream::connect(self.address);
        while self.life.connections() > 0 {
            std::thread::sleep(TICK);
        }
    }
}

fn accept(
    listener: &TcpListener,
    life: &Arc<Life>,
    manners: Manners,
    serve: &Arc<impl Fn(TcpStream) + Send + Sync + 'static>,
) {
    for stream in listener.incoming().flatten() {
        if life.is_over() {
            return;
        }
        life.connections.fetch_add(1, Ordering::Relaxed);
        let (life, serve) = (Arc::clone(life), Arc::clone(serve));
        let serve = move || {
            let _ = stream.set_nodelay(true);
            let _ = stream.set_read_timeout(Some(TICK));
            serve(stream);
            life.connections.fetch_sub(1, Ordering::Relaxed);
        };
        match manners {
            Manners::AllAtOnce => drop(std::thread::spawn(serve)),
            Manners::OneByOne => serve(),
        }
    }
}

/// Some bytes; nothing at the end of the connection or of the server.
pub(crate) fn receive(mut stream: &TcpStream, life: &Life) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return None,
            Ok(read) => {
                buffer.truncate(read);
                return Some(buffer);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if life.is_over() {
                    return None;
                }
            }
            Err(_) => return None,
        }
    }
}

/// Ends a connection. Unread bytes would reset it before the last words were read (RFC 9112 §9.6).
pub(crate) fn linger(mut stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let mut rest = [0; 64 << 10];
    while matches!(stream.read(&mut rest), Ok(read) if read > 0) {}
}
