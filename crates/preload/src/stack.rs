//! The engine that the settings ask for.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixDatagram;

use assay_engine::{Config, Conn, Engine, EngineError, Epoll, Event, FileRange, Statistics};
use assay_model::units::Nanos;
use assay_tcp::{Cidr, UserStack};
use assay_wire::stats_page::StatsPage;
use assay_wire::{AnyWire, Station};
use rustix::io::Errno;

use crate::settings::{self, Kind, Settings, WirePlace};

/// The one engine of this process.
pub(crate) enum Stack {
    /// On the kernel's stack.
    Epoll(Box<Epoll>),
    /// In user space, on a queue that is ours as long as we have this.
    User(Box<UserStack<AnyWire>>, #[allow(dead_code, reason = "it is there to be dropped")] Claim),
}

/// Whether one could be made now, as far as that can be told without making it: who listens may do so for children that each make
/// their own.
///
/// # Errors
/// [`Errno::NETDOWN`] without a wire; [`Errno::ADDRINUSE`] when other processes have every queue of it.
pub(crate) fn check() -> Result<(), Errno> {
    let Some(Settings { kind: Kind::User(place), .. }) = settings::get() else { return Ok(()) };
    let refused = |number, reason: String| {
        crate::log::say(&format!("cannot listen: {reason}"));
        Err(number)
    };
    if let Err(error) = assay_wire::check(&place.wire) {
        return refused(Errno::NETDOWN, error.to_string());
    }
    let mut taken = io::Error::other("there is none");
    for queue in place.candidates() {
        match Claim::of(place, queue) {
            // It is given up at once, so that whoever waits first can have it.
            Ok(_) => return Ok(()),
            Err(error) => taken = error,
        }
    }
    refused(Errno::ADDRINUSE, no_queue(place, &taken).to_string())
}

/// Makes it.
///
/// # Errors
/// No descriptors, no wire, or no queue of it that is free.
pub(crate) fn make() -> Result<Stack, EngineError> {
    let Some(settings) = settings::get() else {
        return Err(failed("ASSAY_STACK", io::Error::other("is not set")));
    };
    match &settings.kind {
        Kind::Epoll => {
            Ok(Stack::Epoll(Box::new(Epoll::new(Config { max_connections: settings.connections })?)))
        }
        Kind::User(place) => make_user(settings, place),
    }
}

fn make_user(settings: &Settings, place: &WirePlace) -> Result<Stack, EngineError> {
    let (wire, station, claim) = open_a_queue(place)?;
    let given: Vec<Cidr> =
        settings.addresses.iter().map(|n| Cidr { address: n.address, prefix: n.prefix }).collect();
    let own = || station.addresses.iter().map(|&(address, prefix)| Cidr { address, prefix }).collect();
    let addresses = if given.is_empty() { own() } else { given };
    let mut config = assay_tcp::Config::new(settings.connections, addresses);
    config.hardware = station.hardware;
    let share = config.memory_bytes / usize::from(place.queues.max(1));
    config.memory_bytes = settings.memory_bytes.unwrap_or(share);
    let mut stack =
        UserStack::new(wire, config).map_err(|error| failed("make the stack", io::Error::other(error)))?;
    if let Some(path) = &settings.stats_page {
        match StatsPage::open(path, claim.queue) {
            Ok(stats_page) => stack.publish_in(stats_page),
            Err(error) => {
                crate::log::say(&format!("nobody can read what is counted: {}: {error}", path.display()))
            }
        }
    }
    Ok(Stack::User(Box::new(stack), claim))
}

/// The first queue that nobody has, and our mark on it: what has none of these marks, such as a generator, can be on the wire too.
fn open_a_queue(place: &WirePlace) -> Result<(AnyWire, Station, Claim), EngineError> {
    let mut refused = io::Error::other("there is none");
    for queue in place.candidates() {
        let claim = match Claim::of(place, queue) {
            Ok(claim) => claim,
            Err(error) => {
                refused = error;
                continue;
            }
        };
        match assay_wire::open(&place.wire, place.end, queue, place.queues) {
            Ok((wire, station)) => return Ok((wire, station, claim)),
            Err(error) if error.is_taken() => refused = io::Error::other(error),
            Err(error) => return Err(failed("open the wire", io::Error::other(error))),
        }
    }
    Err(no_queue(place, &refused))
}

fn no_queue(place: &WirePlace, refused: &io::Error) -> EngineError {
    let queues = place.queues;
    let text = format!(
        "{queues} of them, and every one is another process's ({refused}); set ASSAY_STACK_QUEUES (`assay exec --queues`) to the number of processes that serve at once"
    );
    failed("claim a queue of the wire", io::Error::other(text))
}

fn failed(call: &str, source: io::Error) -> EngineError {
    EngineError::System { call: call.to_owned(), source }
}

/// Whether the engine opens sockets of the kernel, which then share their ports with those that hold our descriptors.
pub(crate) fn shares_ports() -> bool {
    settings::get().is_some_and(|s| s.kind == Kind::Epoll)
}

/// A queue of the wire that no other process of this program uses. The mark is a name among the abstract ones of unix(7), which
/// goes with the process however that ends.
pub(crate) struct Claim {
    queue: u16,
    _name: OwnedFd,
}

impl Claim {
    fn of(place: &WirePlace, queue: u16) -> io::Result<Self> {
        let name = format!("assay-stack {:?} {} {queue}", place.end, place.wire);
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        let name = assay_descriptors::keep(UnixDatagram::bind_addr(&address)?.into());
        Ok(Self { queue, _name: name })
    }
}

/// Hands a call to whichever engine it is.
macro_rules! on_either {
    ($stack:expr, $engine:ident => $call:expr) => {
        match $stack {
            Stack::Epoll($engine) => $call,
            Stack::User($engine, _) => $call,
        }
    };
}

impl Engine for Stack {
    fn now(&self) -> Nanos {
        on_either!(self, e => e.now())
    }

    fn cpu_time(&self) -> Nanos {
        on_either!(self, e => e.cpu_time())
    }

    fn wakes_on_time(&self) -> bool {
        on_either!(self, e => e.wakes_on_time())
    }

    fn listen(&mut self, address: SocketAddr) -> Result<SocketAddr, EngineError> {
        on_either!(self, e => e.listen(address))
    }

    fn stop_listening(&mut self) {
        on_either!(self, e => e.stop_listening());
    }

    fn stop_listening_at(&mut self, address: SocketAddr) {
        on_either!(self, e => e.stop_listening_at(address));
    }

    fn pause_accepting(&mut self, address: SocketAddr, paused: bool) {
        on_either!(self, e => e.pause_accepting(address, paused));
    }

    fn connect(&mut self, remote: SocketAddr, local: Option<IpAddr>) -> Result<Conn, EngineError> {
        on_either!(self, e => e.connect(remote, local))
    }

    fn poll(&mut self, until: Nanos, events: &mut Vec<Event>) -> Result<Nanos, EngineError> {
        on_either!(self, e => e.poll(until, events))
    }

    fn wake_source(&mut self) -> Option<(BorrowedFd<'_>, Nanos)> {
        on_either!(self, e => e.wake_source())
    }

    fn receive(&mut self, conn: Conn) -> &[u8] {
        on_either!(self, e => e.receive(conn))
    }

    fn consume(&mut self, conn: Conn, n: usize) {
        on_either!(self, e => e.consume(conn, n));
    }

    fn skip(&mut self, conn: Conn, n: u64) {
        on_either!(self, e => e.skip(conn, n));
    }

    fn skipping(&self, conn: Conn) -> u64 {
        on_either!(self, e => e.skipping(conn))
    }

    fn send(&mut self, conn: Conn, parts: &[&[u8]]) -> usize {
        on_either!(self, e => e.send(conn, parts))
    }

    fn send_file(&mut self, conn: Conn, parts: &[&[u8]], range: FileRange) -> bool {
        on_either!(self, e => e.send_file(conn, parts, range))
    }

    fn queued(&self, conn: Conn) -> u64 {
        on_either!(self, e => e.queued(conn))
    }

    fn has_sent_all(&mut self, conn: Conn) -> bool {
        on_either!(self, e => e.has_sent_all(conn))
    }

    fn shutdown(&mut self, conn: Conn) {
        on_either!(self, e => e.shutdown(conn));
    }

    fn close(&mut self, conn: Conn) {
        on_either!(self, e => e.close(conn));
    }

    fn abort(&mut self, conn: Conn) {
        on_either!(self, e => e.abort(conn));
    }

    fn addresses(&mut self, conn: Conn) -> Option<(SocketAddr, SocketAddr)> {
        on_either!(self, e => e.addresses(conn))
    }

    fn connections(&self) -> usize {
        on_either!(self, e => e.connections())
    }

    fn statistics(&self) -> &Statistics {
        on_either!(self, e => e.statistics())
    }
}
