//! Servers that do one thing wrongly, and the rest as simply as can be: what is found of them must be that
//! (docs/method/why.md#what-holds-answers-up).
//!
//! What they do wrongly is about threads, blocking calls and the kernel's sockets, so they are on these and not on an engine.
//! Every connection has a thread of its own, which answers `GET` and closes when it is asked nothing that it understands.

mod answer;
mod fault;

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, RwLock};
use std::thread::{Builder, Scope};
use std::time::Duration;

use assay_host::cpuset::{CpuSet, pin_current_thread};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::config::ServeError;
pub use fault::Fault;

/// Time between two checks whether it is to stop.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
const READ: Duration = Duration::from_millis(50);
/// Longest wait for a client that takes nothing.
const WRITE: Duration = Duration::from_secs(5);
/// Connections, and so threads, at most; more wait until one is free.
const MOST_CONNECTIONS: usize = 1024;
/// Connections that wait to be accepted where these are the fault, and the time from one to the next.
const SHORT_QUEUE: i32 = 1;
const SLOW_ACCEPT: Duration = Duration::from_millis(20);

/// Whom to tell when an order is done.
type Order = Sender<()>;

/// What all threads share.
struct Shop<'s> {
    fault: Fault,
    stop: &'s AtomicBool,
    /// What is held far too long.
    till: Mutex<()>,
    /// Stopped as a whole while its memory is collected.
    world: RwLock<()>,
    /// What every answer is written to.
    ledger: Option<File>,
    /// Through which every answer must go.
    counter: Mutex<Option<Sender<Order>>>,
    connections: AtomicUsize,
}

/// Serves on these CPUs until `stop` is set. Calls `ready` with the address when it listens.
///
/// # Errors
/// See [`ServeError`].
pub fn run(
    address: SocketAddr,
    cpus: &CpuSet,
    fault: Fault,
    stop: &AtomicBool,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    pin_current_thread(cpus)?;
    let listen = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).map_err(listen)?;
    if fault == Fault::AcceptQueue {
        rustix::net::listen(&listener, SHORT_QUEUE).map_err(|error| listen(error.into()))?;
    }
    listener.set_nonblocking(true).map_err(listen)?;
    let shop = Shop {
        fault,
        stop,
        till: Mutex::default(),
        world: RwLock::default(),
        ledger: (fault == Fault::Disk).then(ledger).transpose()?,
        counter: Mutex::default(),
        connections: AtomicUsize::new(0),
    };
    ready(listener.local_addr().map_err(listen)?);
    std::thread::scope(|scope| {
        let started = fault::start(scope, &shop).map_err(ServeError::Thread);
        let served = started.and_then(|()| accept(scope, (&listener, address), &shop));
        // Whoever still works sees it.
        if served.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        served
    })
}

/// A file without a name, which is gone with the process.
fn ledger() -> Result<File, ServeError> {
    let folder = std::env::temp_dir();
    let path = folder.join(format!("assay-ledger-{}", std::process::id()));
    let made = File::options().append(true).create_new(true).open(&path);
    let made = made.and_then(|file| std::fs::remove_file(path).map(|()| file));
    made.map_err(|source| ServeError::Ledger { folder, source })
}

impl Shop<'_> {
    fn is_open(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }
}

/// Takes connections until it is to stop.
fn accept<'s>(
    scope: &'s Scope<'s, '_>,
    (listener, address): (&TcpListener, SocketAddr),
    shop: &'s Shop<'_>,
) -> Result<(), ServeError> {
    while shop.is_open() {
        if shop.fault == Fault::AcceptQueue {
            std::thread::sleep(SLOW_ACCEPT);
        }
        match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&LOOK)) {
            Ok(0) => continue,
            Ok(_) if shop.connections.load(Ordering::Relaxed) >= MOST_CONNECTIONS => {
                std::thread::sleep(READ);
                continue;
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(ServeError::Listen { address, source: error.into() }),
        }
        // The client may have gone again.
        let Ok((stream, _)) = listener.accept() else { continue };
        if prepared(&stream, shop.fault).is_err() {
            continue;
        }
        shop.connections.fetch_add(1, Ordering::Relaxed);
        let served = Builder::new().name("server".to_owned()).spawn_scoped(scope, move || {
            // A client that goes away ends its connection, and nothing else.
            let _ = answer::converse(&stream, shop);
            shop.connections.fetch_sub(1, Ordering::Relaxed);
        });
        served.map_err(ServeError::Thread)?;
    }
    Ok(())
}

fn prepared(stream: &TcpStream, fault: Fault) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(READ))?;
    stream.set_write_timeout(Some(WRITE))?;
    stream.set_nodelay(fault != Fault::DelayedAcknowledgement)
}

#[cfg(test)]
mod tests;
