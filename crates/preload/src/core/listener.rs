//! One listening socket as the program sees it: an address, and connections that wait to be accepted.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::arena::Id;
use super::{Inheritance, Watchers, in_family_of};

/// Greatest backlog: what the kernel's `net.core.somaxconn` allows in its largest setting.
const BACKLOG_AT_MOST: usize = 65_535;

pub(crate) struct Listener {
    pub(crate) address: SocketAddr,
    /// Descriptors of the program that name it.
    pub(crate) descriptors: u32,
    pub(crate) watchers: Watchers,
    pub(crate) nonblocking: bool,
    /// Whether this process waits for its connections, so that the engine is to listen; a parent leaves them to its children.
    pub(crate) wanted: bool,
    /// A child has it too.
    pub(crate) shared: bool,
    /// The engine of this process listens for it, unless there is an `error`.
    pub(crate) opened: bool,
    /// The engine was told to pause at its address.
    pub(crate) paused: bool,
    /// Why the engine could not listen.
    pub(crate) error: Option<Errno>,
    /// The number of the connection that came to it last, among all that came.
    pub(crate) taken: u64,
    /// What its connections have from it, if anything.
    pub(crate) inheritance: Option<Arc<Inheritance>>,
    /// Others may listen there too (socket(7), SO_REUSEPORT).
    shares_port: bool,
    backlog: usize,
    waiting: VecDeque<Id>,
}

/// How a socket is to listen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) backlog: usize,
    pub(crate) nonblocking: bool,
    /// Others may listen at the same address (socket(7), SO_REUSEPORT).
    pub(crate) shares_port: bool,
}

impl Listener {
    pub(crate) fn new(address: SocketAddr, terms: Terms) -> Self {
        Self {
            address,
            descriptors: 1,
            watchers: Watchers::new(),
            nonblocking: terms.nonblocking,
            wanted: false,
            shared: false,
            opened: false,
            paused: false,
            error: None,
            taken: 0,
            inheritance: None,
            shares_port: terms.shares_port,
            backlog: terms.backlog.clamp(1, BACKLOG_AT_MOST),
            waiting: VecDeque::new(),
        }
    }

    pub(crate) fn set_backlog(&mut self, backlog: usize) {
        self.backlog = backlog.clamp(1, BACKLOG_AT_MOST);
    }

    /// Where the engine listens for it. A program for both families (every JVM) names an IPv4 address in IPv6's way; the engine knows it
    /// by its own.
    pub(crate) fn engine_address(&self) -> SocketAddr {
        in_family_of(self.address, false)
    }

    /// Whether the engine listens for it, at this address.
    pub(crate) fn is_open_at(&self, engine_address: SocketAddr) -> bool {
        self.opened && self.error.is_none() && self.engine_address() == engine_address
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

    /// Whether nobody else may bind to `address` or listen there, unless both share it. Of the two families each has a wildcard of
    /// its own here, as with IPV6_V6ONLY of ipv6(7).
    pub(crate) fn excludes(&self, address: SocketAddr, shares_port: bool) -> bool {
        let (ours, theirs) = (self.address.ip().to_canonical(), address.ip().to_canonical());
        let any = ours.is_unspecified() || theirs.is_unspecified();
        let overlaps = ours == theirs || (any && ours.is_ipv4() == theirs.is_ipv4());
        let same_port = self.address.port() == address.port();
        // With an error it does not listen.
        self.error.is_none() && same_port && overlaps && !(shares_port && self.shares_port)
    }

    /// Whether a connection with this local address is ours.
    pub(crate) fn takes(&self, local: SocketAddr) -> Taking {
        // With an error it does not listen.
        if self.address.port() != local.port() || self.error.is_some() {
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
            Listener::new(ours.parse().unwrap(), Terms::default()).takes(local.parse().unwrap())
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

    #[test]
    fn who_listens_excludes_others_unless_both_share() {
        let excludes = |ours: &str, other: &str, share: [bool; 2]| {
            let terms = Terms { shares_port: share[0], ..Terms::default() };
            Listener::new(ours.parse().unwrap(), terms).excludes(other.parse().unwrap(), share[1])
        };
        for (ours, other, excluded) in [
            ("10.0.0.1:80", "10.0.0.1:80", true),
            ("10.0.0.1:80", "[::ffff:10.0.0.1]:80", true),
            ("10.0.0.1:80", "0.0.0.0:80", true),
            ("0.0.0.0:80", "10.0.0.1:80", true),
            ("10.0.0.1:80", "10.0.0.2:80", false),
            ("0.0.0.0:80", "0.0.0.0:81", false),
            ("0.0.0.0:80", "[::]:80", false),
        ] {
            for share in [[false, false], [true, false], [false, true]] {
                assert_eq!(excludes(ours, other, share), excluded, "{ours} {other}");
            }
            assert!(!excludes(ours, other, [true, true]));
        }
    }
}
