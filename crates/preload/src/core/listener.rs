//! One listening socket as the program sees it: an address, and connections that wait to be accepted.

use std::collections::VecDeque;
use std::net::SocketAddr;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::Watchers;
use super::arena::Id;

/// As many as the kernel's `net.core.somaxconn` allows in its largest setting.
const BACKLOG_AT_MOST: usize = 65_535;

pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    /// Descriptors of the program that name it.
    pub(crate) descriptors: u32,
    pub(crate) watchers: Watchers,
    pub(crate) nonblocking: bool,
    /// This process waits for its connections, so the engine is to listen; a parent leaves them to its children.
    pub(crate) wanted: bool,
    /// A child has it too.
    pub(crate) shared: bool,
    /// The engine of this process listens for it.
    pub(crate) opened: bool,
    /// The engine was told to pause.
    pub(crate) paused: bool,
    /// Why the engine could not listen.
    pub(crate) error: Option<Errno>,
    backlog: usize,
    waiting: VecDeque<Id>,
}

impl Listener {
    pub(crate) fn new(address: SocketAddr, backlog: usize, nonblocking: bool) -> Self {
        Self {
            address,
            descriptors: 1,
            watchers: Watchers::new(),
            nonblocking,
            wanted: false,
            shared: false,
            opened: false,
            paused: false,
            error: None,
            backlog: backlog.clamp(1, BACKLOG_AT_MOST),
            waiting: VecDeque::new(),
        }
    }

    pub(crate) fn set_backlog(&mut self, backlog: usize) {
        self.backlog = backlog.clamp(1, BACKLOG_AT_MOST);
    }

    /// Keeps a connection for the program, also beyond the backlog: its peer has been told that it is established, and the
    /// engine, once it is asked to pause, has no more on their way than its own backlog.
    pub(crate) fn push(&mut self, stream: Id) {
        self.waiting.push_back(stream);
    }

    /// Keeps a connection that was taken and could not be used, before all others.
    pub(crate) fn put_back(&mut self, stream: Id) {
        self.waiting.push_front(stream);
    }

    pub(crate) fn pop(&mut self) -> Option<Id> {
        self.waiting.pop_front()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= self.backlog
    }

    pub(crate) fn take_waiting(&mut self) -> VecDeque<Id> {
        std::mem::take(&mut self.waiting)
    }

    pub(crate) fn readiness(&self) -> EventFlags {
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN | EventFlags::RDNORM, !self.waiting.is_empty() || self.error.is_some());
        flags.set(EventFlags::ERR, self.error.is_some());
        flags
    }

    /// Whether a connection with this local address is ours.
    pub(crate) fn takes(&self, local: SocketAddr) -> Taking {
        if self.address.port() != local.port() {
            return Taking::No;
        }
        let (ours, theirs) = (self.address.ip(), local.ip().to_canonical());
        if ours.to_canonical() == theirs {
            return Taking::Exactly;
        }
        match (ours.is_unspecified(), ours.is_ipv4() == local.is_ipv4()) {
            (true, true) => Taking::AsAny,
            // A wildcard of IPv6 takes IPv4 too (ipv6(7)).
            (true, false) if ours.is_ipv6() => Taking::AsAnyFamily,
            _ => Taking::No,
        }
    }
}

/// How well a listener fits; the better comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Taking {
    No,
    AsAnyFamily,
    AsAny,
    Exactly,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_listener_takes_a_connection() {
        let taking = |ours: &str, local: &str| {
            Listener::new(ours.parse().unwrap(), 8, false).takes(local.parse().unwrap())
        };
        assert_eq!(taking("10.0.0.1:80", "10.0.0.1:80"), Taking::Exactly);
        assert_eq!(taking("10.0.0.1:80", "[::ffff:10.0.0.1]:80"), Taking::Exactly);
        assert_eq!(taking("0.0.0.0:80", "10.0.0.1:80"), Taking::AsAny);
        assert_eq!(taking("[::]:80", "[::ffff:10.0.0.1]:80"), Taking::AsAny);
        assert_eq!(taking("[::]:80", "10.0.0.1:80"), Taking::AsAnyFamily);
        for (ours, local) in
            [("10.0.0.2:80", "10.0.0.1:80"), ("0.0.0.0:81", "10.0.0.1:80"), ("0.0.0.0:80", "[::1]:80")]
        {
            assert_eq!(taking(ours, local), Taking::No);
        }
        assert!(Taking::Exactly > Taking::AsAny && Taking::AsAny > Taking::AsAnyFamily);
    }
}
