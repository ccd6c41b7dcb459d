//! Event engines behind one seam: sockets, buffers and time, one engine per thread.
//!
//! Invariants
//! - An engine belongs to one thread and shares nothing; a program of N threads has N engines.
//! - Users are generic over [`Engine`]: no dynamic dispatch and no allocation per request.
//! - A [`Conn`] that was closed never names another connection: a late event or call for it does nothing.
//! - Everything has a limit: connections, bytes queued per connection, bytes received but not consumed.
//!
//! Must not know: HTTP, latency, what a request is, who is measured.

pub mod clock;
mod epoll;
mod file;
mod kind;
pub mod slots;
mod sockets;
mod uring;
pub mod wheel;

use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

use assay_model::load::StackCounts;
use assay_model::tls::{KeyKind, TlsFault};
use assay_model::units::Nanos;

pub use epoll::Epoll;
pub use file::FileRange;
pub use kind::EngineKind;
pub use uring::{Obstacle, Uring};

/// Bytes that [`Engine::send`] accepts at least when nothing of the connection is queued.
pub const SEND_QUEUE_BYTES: usize = 64 * 1024;

/// Bytes that [`Engine::receive`] holds at most; a user must consume before it can see more.
pub const RECEIVE_VIEW_BYTES: usize = 256 * 1024;

/// The seam: everything that a protocol needs of a network stack, and nothing of how the stack does it.
///
/// A user loops: [`poll`](Self::poll), handle each event with [`receive`](Self::receive),
/// [`consume`](Self::consume) and [`send`](Self::send), poll again.
pub trait Engine {
    /// The time on the clock that [`poll`](Self::poll) reads: users take every time from here, so that they live in the
    /// engine's time, whatever that is.
    fn now(&self) -> Nanos;

    /// CPU time that the engine's thread has used.
    fn cpu_time(&self) -> Nanos;

    /// Whether [`poll`](Self::poll) comes back at the very time for which it was asked. A processor that sleeps wakes some
    /// microseconds late, so a caller that must be exact stays awake shortly before.
    fn wakes_on_time(&self) -> bool {
        false
    }

    /// Accepts connections at `address`, beside other addresses if called again; port 0 lets the stack choose. Several
    /// engines may listen at the same address and share its connections (`SO_REUSEPORT`, socket(7)). Returns the address
    /// with its port, which names the listener from now on. [`addresses`](Self::addresses) tells whose a connection is.
    ///
    /// # Errors
    /// The address is taken, also by this engine, or not ours, or descriptors have run out.
    fn listen(&mut self, address: SocketAddr) -> Result<SocketAddr, EngineError>;

    /// Stops accepting at every address; connections live on.
    fn stop_listening(&mut self);

    /// Stops accepting at one address; connections live on.
    fn stop_listening_at(&mut self, address: SocketAddr);

    /// Lets those who connect to `address` wait in the stack's own backlog, or goes on accepting them. A few that were
    /// on their way may still be accepted after a pause began.
    fn pause_accepting(&mut self, address: SocketAddr, paused: bool);

    /// Begins to connect, from `local` if given; [`Event::Connected`] or [`Event::Closed`] follows.
    ///
    /// # Errors
    /// No descriptor or no local port was left, or the engine's own limit is reached. A refusal by the peer is
    /// no error here but an event.
    fn connect(&mut self, remote: SocketAddr, local: Option<IpAddr>) -> Result<Conn, EngineError>;

    /// Lets queued bytes leave, waits for something to happen until `until` at the latest, and replaces the
    /// contents of `events`. Returns the time of waking, which holds for every event of the batch. A signal
    /// ends the wait early with no events. [`Nanos::ZERO`] does not wait.
    ///
    /// # Errors
    /// Only when the engine itself is broken; a connection's failure is an event.
    fn poll(&mut self, until: Nanos, events: &mut Vec<Event>) -> Result<Nanos, EngineError>;

    /// For a user who has other descriptors to wait for as well: one that is readable when [`poll`](Self::poll) would find
    /// something, and the time at which poll is due without it ([`Nanos::MAX`]: never). To be asked for after a poll that
    /// found nothing; both hold until the next call of any kind. `None` when only poll can tell.
    fn wake_source(&mut self) -> Option<(BorrowedFd<'_>, Nanos)> {
        None
    }

    /// Everything received and not yet consumed, at most [`RECEIVE_VIEW_BYTES`], as one contiguous view.
    /// May take more from the stack first. Empty for a closed connection.
    ///
    /// One call per [`Event::Readable`] suffices: when the stack may hold more, another event follows.
    fn receive(&mut self, conn: Conn) -> &[u8];

    /// Drops the first `n` bytes of the view; the rest is kept for the next [`receive`](Self::receive).
    fn consume(&mut self, conn: Conn, n: usize);

    /// Drops the next `n` bytes of the stream: first those of the view, then the rest as they arrive, unseen and,
    /// where the stack can do so, without copying them (`MSG_TRUNC`, tcp(7)). [`Event::Readable`] follows when the last
    /// of them has been dropped, with the next [`poll`](Self::poll) at the earliest, and [`Event::Eof`] or
    /// [`Event::Closed`] when the stream ends before, unless the user was told of the end already.
    ///
    /// Meanwhile the view is empty. An [`Event::Readable`] that was on the way before the call may still come, so a user
    /// asks [`skipping`](Self::skipping) what it means. What a second call drops comes behind what the first one does.
    /// [`Statistics::received_bytes`] counts these bytes like any others.
    fn skip(&mut self, conn: Conn, n: u64);

    /// Bytes that [`skip`](Self::skip) has still to drop; 0 when it is done, and for a closed connection.
    fn skipping(&self, conn: Conn) -> u64;

    /// Sends the parts in order and returns how many bytes were accepted: the whole of them while nothing is
    /// queued and they are no more than [`SEND_QUEUE_BYTES`] together, possibly fewer otherwise. What was
    /// accepted leaves with the next [`poll`](Self::poll) at the latest; when some had to be queued or refused,
    /// [`Event::Writable`] tells that the queue has drained.
    ///
    /// Bytes for a connection that is broken are accepted and dropped; its [`Event::Closed`] follows.
    fn send(&mut self, conn: Conn, parts: &[&[u8]]) -> usize;

    /// Sends the parts and behind them a range of a file, without copying it where the stack can do so (sendfile(2)).
    /// Returns whether that was accepted: always when nothing is queued and the parts are no more than
    /// [`SEND_QUEUE_BYTES`] together, never in part. While any of the range is queued nothing else is accepted, and
    /// [`Event::Writable`] tells that it has left. Bytes that are not in the page cache are waited for.
    ///
    /// When the file turns out to be shorter than the range, or cannot be read, the connection is reset, so that its peer
    /// cannot take what came for the whole: [`Event::Closed`] follows, with [`Reason::Other`].
    fn send_file(&mut self, conn: Conn, parts: &[&[u8]], range: FileRange) -> bool;

    /// When the last [`poll`](Self::poll) handed over what had been sent on a connection before it, for a stack that takes it only
    /// then: a reading of the clock right before the call that took it. `None` for a stack that takes it at once with
    /// [`send`](Self::send).
    fn submitted_at(&self, _conn: Conn) -> Option<Nanos> {
        None
    }

    /// Whether the connection is known to have ended or to be broken, though [`Event::Eof`] or [`Event::Closed`] may still be on
    /// its way, behind what arrived before. Nothing that is sent on it now will be answered in the ordinary way.
    fn is_ending(&self, _conn: Conn) -> bool {
        false
    }

    /// Bytes accepted that the stack had no room for; [`Event::Writable`] tells when there are none any more.
    fn queued(&self, conn: Conn) -> u64;

    /// Whether the stack has taken all bytes that were accepted; where it has not, [`Event::Writable`] tells when. [`close`](Self::close) may
    /// lose the others: those that are [`queued`](Self::queued), and all that a stack has not seen yet which takes them only with the next
    /// [`poll`](Self::poll).
    fn has_sent_all(&mut self, conn: Conn) -> bool {
        self.queued(conn) == 0
    }

    /// Ends our direction once the queue has left; the peer may go on sending.
    fn shutdown(&mut self, conn: Conn);

    /// Releases the connection in the ordinary way, with the next [`poll`](Self::poll) at the latest; what is
    /// queued is offered to the stack once more. No further event names it.
    fn close(&mut self, conn: Conn);

    /// Releases the connection with a reset: no queue is sent, no port lingers in TIME-WAIT (RFC 9293 §3.6).
    fn abort(&mut self, conn: Conn);

    /// Our address and the peer's; `None` before the connection is established and after it was released. It may cost
    /// system calls.
    fn addresses(&mut self, conn: Conn) -> Option<(SocketAddr, SocketAddr)>;

    /// How the connection was secured; `None` for one that was not, and after it was released.
    fn security(&self, _conn: Conn) -> Option<Security> {
        None
    }

    /// Connections open or opening.
    fn connections(&self) -> usize;

    /// Counters since the engine was made.
    fn statistics(&self) -> &Statistics;
}

/// Name of a connection within its engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conn {
    slot: u32,
    generation: u32,
}

impl Conn {
    /// A small dense number for the user's own table. It is given to another connection after this one is
    /// released, though never within the same batch of events.
    pub fn slot(self) -> usize {
        self.slot as usize
    }
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A peer connected to a listener.
    Accepted(Conn),
    /// Our [`Engine::connect`] succeeded.
    Connected(Conn),
    /// Bytes can be received, or all bytes to be skipped have been.
    Readable(Conn),
    /// The queue has drained after it held bytes, or after bytes were refused.
    Writable(Conn),
    /// The peer sends no more; all it sent can still be received, and we may still send.
    Eof(Conn),
    /// The connection failed and is released; what was not received is lost.
    Closed(Conn, Reason),
}

/// Why a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Nobody listens there.
    Refused,
    /// The peer reset it.
    Reset,
    /// The connection was broken when we sent.
    SendReset,
    /// The stack gave up waiting for the peer.
    TimedOut,
    /// There is no way to the peer.
    Unreachable,
    /// The connection could not be secured, or is secure no longer.
    Tls(TlsFault),
    /// Another error number of the system, as errno(3) lists them.
    Other(i32),
}

impl std::fmt::Display for Reason {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused => out.write_str("nobody listens there"),
            Self::Reset => out.write_str("the peer reset the connection"),
            Self::SendReset => out.write_str("the connection was broken when we sent"),
            Self::TimedOut => out.write_str("the peer did not answer in time"),
            Self::Unreachable => out.write_str("there is no way to the peer"),
            Self::Tls(fault) => fault.fmt(out),
            Self::Other(number) => std::io::Error::from_raw_os_error(*number).fmt(out),
        }
    }
}

/// How a connection was secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Security {
    /// When the connection beneath was established and the handshake began.
    pub began: Nanos,
    /// Whether it resumed a session.
    pub is_resumed: bool,
    /// What both sides agreed on.
    pub parameters: Parameters,
}

/// What both sides of a secured connection agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Version of the protocol.
    pub version: &'static str,
    /// Cipher suite by its name at IANA.
    pub cipher: &'static str,
    /// Group of the key exchange, unless a session was resumed without one.
    pub group: Option<&'static str>,
    /// Key of the peer's certificate; `None` where the peer has shown none.
    pub key: Option<KeyKind>,
    /// Application protocol, if one was chosen.
    pub protocol: Option<&'static str>,
}

/// What an engine cannot do.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A system call failed.
    #[error("{call}: {source}")]
    System {
        /// The call, with its object.
        call: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Too many connections for the engine's configuration.
    #[error("this engine was made for {limit} connections; raise its limit or use more threads")]
    Full {
        /// The configured number.
        limit: usize,
    },
    /// No local port is left towards this peer.
    #[error(
        "no local port is left towards {remote}; use more source addresses or widen net.ipv4.ip_local_port_range"
    )]
    NoPort {
        /// The peer.
        remote: SocketAddr,
    },
}

impl EngineError {
    fn system(call: &str, error: impl Into<std::io::Error>) -> Self {
        Self::System { call: call.to_owned(), source: error.into() }
    }
}

/// What an engine is to be made for.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Connections at most, open or opening. io_uring allows 256 fewer than the files that the process may open
    /// (`RLIMIT_NOFILE`), in each engine; epoll's connections are such files, and all engines share the limit.
    pub max_connections: usize,
}

/// Counters of an engine; system calls are those of its own thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Calls that wait for events.
    pub waits: u64,
    /// Calls that receive.
    pub receives: u64,
    /// Calls that send.
    pub sends: u64,
    /// All other calls: open, register, accept, close.
    pub other_calls: u64,
    /// Bytes taken from the stack.
    pub received_bytes: u64,
    /// Bytes given to the stack.
    pub sent_bytes: u64,
    /// Connections accepted.
    pub accepted: u64,
    /// Connections established by us.
    pub connected: u64,
    /// Accepts that failed for want of descriptors or memory; accepting pauses and goes on by itself.
    pub accept_errors: u64,
    /// What a stack in user space did beneath; none where the kernel's stack works.
    pub stack: Option<StackStatistics>,
    /// What securing the connections took; none where they are not.
    pub tls: Option<TlsStatistics>,
}

/// Counters of an engine that secures its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlsStatistics {
    /// Handshakes with a certificate and its signature.
    pub full: u64,
    /// Handshakes that resumed a session.
    pub resumed: u64,
    /// Handshakes that failed.
    pub failed: u64,
    /// Bytes given to the stack, TLS's own included.
    pub sent_bytes: u64,
    /// Bytes taken from the stack, TLS's own included.
    pub received_bytes: u64,
}

/// Counters of a TCP stack in user space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackStatistics {
    /// Whether its wire never loses a frame, so that every retransmission is a fault of ours.
    pub lossless: bool,
    /// Frames that arrived.
    pub received_frames: u64,
    /// Frames that left.
    pub sent_frames: u64,
    /// Segments sent again, whatever the reason.
    pub retransmitted_segments: u64,
    /// Times that a retransmission timer ran out (RFC 6298).
    pub retransmission_timeouts: u64,
    /// Probes for a loss at the end of what was sent (RFC 8985 §7).
    pub tail_loss_probes: u64,
    /// Losses that acknowledgements told of, counted once for each window (RFC 8985 §6, RFC 5681 §3.2).
    pub loss_recoveries: u64,
    /// Times that the wire had no room for a frame; it was kept and sent later.
    pub wire_full: u64,
    /// Frames that were given up: arrived at a device without room, or answers of ours for which none came.
    pub dropped_frames: u64,
    /// System calls that the wire took.
    pub system_calls: u64,
    /// Handshakes that were dropped, because too many connections were not yet accepted, or memory was short.
    pub dropped_requests: u64,
    /// Handshakes under way that were forgotten, as many others had begun since.
    pub forgotten_handshakes: u64,
    /// Connections that such handshakes became nevertheless (SYN cookies, RFC 4987 §3.6).
    pub recalled_handshakes: u64,
    /// Bytes that all connections hold, of what arrived or is to be sent.
    pub held_bytes: u64,
    /// The most that they ever held.
    pub most_held_bytes: u64,
    /// Times that memory became short: windows shrank, and what lay beyond a gap was dropped.
    pub memory_shortages: u64,
    /// Connections that were reset because all held too much and they held most.
    pub memory_resets: u64,
}

/// What was counted, for whoever knows nothing of engines; without the wire's name, which several stacks may share.
impl From<&StackStatistics> for StackCounts {
    fn from(stack: &StackStatistics) -> Self {
        Self {
            wire: String::new(),
            lossless: stack.lossless,
            received_frames: stack.received_frames,
            sent_frames: stack.sent_frames,
            retransmitted_segments: stack.retransmitted_segments,
            retransmission_timeouts: stack.retransmission_timeouts,
            tail_loss_probes: stack.tail_loss_probes,
            loss_recoveries: stack.loss_recoveries,
            wire_full: stack.wire_full,
            dropped_frames: stack.dropped_frames,
            system_calls: stack.system_calls,
            dropped_requests: stack.dropped_requests,
            forgotten_handshakes: stack.forgotten_handshakes,
            memory_shortages: stack.memory_shortages,
            memory_resets: stack.memory_resets,
        }
    }
}

impl Statistics {
    /// System calls of all kinds.
    pub fn system_calls(&self) -> u64 {
        self.waits + self.receives + self.sends + self.other_calls
    }
}
