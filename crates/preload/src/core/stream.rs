//! One connection as the program sees it.

use std::net::SocketAddr;
use std::sync::Arc;

use assay_engine::{Conn, Reason};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::{Inheritance, Watchers};

pub(crate) struct Stream {
    pub(crate) conn: Conn,
    pub(crate) phase: Phase,
    /// Descriptors of the program that name it; none while it waits to be accepted.
    pub(crate) descriptors: u32,
    pub(crate) watchers: Watchers,
    pub(crate) nonblocking: bool,
    /// Closing resets it (socket(7), SO_LINGER of no time).
    pub(crate) resets: bool,
    /// What it has from its listener, and the kernel's socket in its place has not been told.
    pub(crate) untold: Option<Arc<Inheritance>>,
    /// Our address and the peer's.
    pub(crate) addresses: Option<(SocketAddr, SocketAddr)>,
    /// To be reported to the program once, by whatever it calls next (SO_ERROR of socket(7)).
    pub(crate) error: Option<Errno>,
    /// The peer sends no more.
    pub(crate) peer_ended: bool,
    /// The program sends, or receives, no more.
    pub(crate) sending_ended: bool,
    pub(crate) receiving_ended: bool,
    /// Bytes wait for room; the engine will tell when they have left.
    pub(crate) blocked: bool,
    /// The connection could not be made, and the program knows: it may try again.
    pub(crate) may_connect: bool,
}

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The request to connect is under way.
    Connecting,
    /// The engine has it.
    Open,
    /// The connection failed, and the engine has let go of it.
    Gone,
    /// The connection belongs to the process that we were forked from.
    Foreign,
}

impl Stream {
    pub(crate) fn new(conn: Conn, phase: Phase) -> Self {
        Self {
            conn,
            phase,
            descriptors: 0,
            watchers: Watchers::new(),
            nonblocking: false,
            resets: false,
            untold: None,
            addresses: None,
            error: None,
            peer_ended: false,
            sending_ended: false,
            receiving_ended: false,
            blocked: false,
            may_connect: false,
        }
    }

    /// Begins to connect once more, as the same socket of the program's.
    pub(crate) fn begin_again(&mut self, conn: Conn) {
        let (descriptors, watchers) = (self.descriptors, std::mem::take(&mut self.watchers));
        let (nonblocking, resets) = (self.nonblocking, self.resets);
        *self = Self { descriptors, watchers, nonblocking, resets, ..Self::new(conn, Phase::Connecting) };
    }

    /// Why it did not connect; the program knows from now on.
    pub(crate) fn tell_failure(&mut self) -> Errno {
        self.may_connect = self.phase == Phase::Gone;
        self.error.take().unwrap_or(Errno::CONNABORTED)
    }

    /// Whether the engine has it.
    pub(crate) fn is_alive(&self) -> bool {
        matches!(self.phase, Phase::Connecting | Phase::Open)
    }

    pub(crate) fn fail(&mut self, reason: Reason) {
        self.phase = Phase::Gone;
        self.error = Some(errno(reason));
        self.blocked = false;
    }

    /// What is true of it now, as epoll_ctl(2) names it, given whether bytes can be received.
    pub(crate) fn readiness(&self, has_bytes: bool) -> EventFlags {
        let mut flags = EventFlags::empty();
        let gone = matches!(self.phase, Phase::Gone | Phase::Foreign);
        let ended = self.peer_ended || self.receiving_ended || gone;
        flags.set(EventFlags::IN | EventFlags::RDNORM, has_bytes || ended || self.error.is_some());
        flags.set(EventFlags::RDHUP, ended);
        flags.set(EventFlags::HUP, gone || (ended && self.sending_ended));
        flags.set(EventFlags::ERR, self.error.is_some());
        let writable = gone || (self.phase == Phase::Open && !self.blocked);
        flags.set(EventFlags::OUT | EventFlags::WRNORM, writable);
        flags
    }

    /// What a call gets when there are no bytes to give it.
    pub(crate) fn nothing_to_receive(&mut self) -> Result<usize, Errno> {
        match (self.error.take(), self.phase) {
            (Some(error), _) => Err(error),
            (None, Phase::Connecting) => Err(Errno::NOTCONN),
            (None, Phase::Foreign) => Err(Errno::OPNOTSUPP),
            (None, Phase::Gone) => Ok(0),
            (None, Phase::Open) if self.peer_ended || self.receiving_ended => Ok(0),
            (None, Phase::Open) => Err(Errno::AGAIN),
        }
    }

    /// Why nothing can be sent, if so.
    pub(crate) fn check_sending(&mut self) -> Result<(), Errno> {
        match self.phase {
            Phase::Connecting => Err(Errno::NOTCONN),
            Phase::Foreign => Err(Errno::OPNOTSUPP),
            Phase::Gone => Err(self.error.take().unwrap_or(Errno::PIPE)),
            Phase::Open if self.sending_ended => Err(Errno::PIPE),
            Phase::Open => Ok(()),
        }
    }
}

/// The error number that the kernel would report.
fn errno(reason: Reason) -> Errno {
    match reason {
        Reason::Refused => Errno::CONNREFUSED,
        Reason::Reset => Errno::CONNRESET,
        Reason::SendReset => Errno::PIPE,
        Reason::TimedOut => Errno::TIMEDOUT,
        Reason::Unreachable => Errno::HOSTUNREACH,
        Reason::Tls(_) => Errno::PROTO,
        Reason::Other(number) => Errno::from_raw_os_error(number),
    }
}
