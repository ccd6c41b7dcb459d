//! Where connections are accepted, and how many may wait for that.

use std::collections::VecDeque;
use std::net::SocketAddr;

/// Connections of one listener that nobody has taken yet, from which on a request to it is dropped, as by Linux (somaxconn,
/// listen(2)): its sender asks again. Handshakes that are under way then still come to their end.
pub(crate) const MAX_BACKLOG: usize = 4096;

/// Where connections are accepted.
#[derive(Default)]
pub(crate) struct Listeners {
    list: Vec<Listener>,
    /// Established and not taken, at all listeners.
    waiting: usize,
}

struct Listener {
    address: SocketAddr,
    /// The user does not want connections now.
    paused: bool,
    /// Established, the oldest first.
    backlog: VecDeque<u32>,
}

impl Listeners {
    /// Whether connections to `local` are accepted.
    pub(crate) fn include(&self, local: SocketAddr) -> bool {
        self.place_of(local).is_some()
    }

    /// Whether there is a listener of this very address.
    pub(crate) fn has(&self, address: SocketAddr) -> bool {
        self.list.iter().any(|listener| listener.address == address)
    }

    /// Whether whoever listens at `local` leaves too many connections waiting for more to be let in.
    pub(crate) fn is_behind(&self, local: SocketAddr) -> bool {
        let listener = self.place_of(local).and_then(|place| self.list.get(place));
        listener.is_some_and(|listener| listener.backlog.len() >= MAX_BACKLOG)
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.list.iter().map(|listener| listener.address).collect()
    }

    pub(crate) fn add(&mut self, address: SocketAddr) {
        self.list.push(Listener { address, paused: false, backlog: VecDeque::new() });
    }

    /// Accepts no more at this address. Returns whom nobody will take.
    pub(crate) fn remove(&mut self, address: SocketAddr) -> VecDeque<u32> {
        let position = self.list.iter().position(|listener| listener.address == address);
        let backlog = position.map(|at| self.list.remove(at).backlog).unwrap_or_default();
        self.waiting -= backlog.len();
        backlog
    }

    pub(crate) fn pause(&mut self, address: SocketAddr, paused: bool) {
        let meant = self.list.iter_mut().filter(|listener| listener.address == address);
        meant.for_each(|listener| listener.paused = paused);
    }

    /// A connection to `local` waits to be taken. Returns whether anybody listens there still.
    pub(crate) fn push(&mut self, index: u32, local: SocketAddr) -> bool {
        let Some(listener) = self.place_of(local).and_then(|place| self.list.get_mut(place)) else {
            return false;
        };
        listener.backlog.push_back(index);
        self.waiting += 1;
        true
    }

    /// The oldest that may be taken now.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        let index = self.list.iter_mut().filter(|l| !l.paused).find_map(|l| l.backlog.pop_front())?;
        self.waiting -= 1;
        Some(index)
    }

    /// The listener that fits `local` best.
    fn place_of(&self, local: SocketAddr) -> Option<usize> {
        let fits = self.list.iter().enumerate().filter_map(|(n, listener)| Some((listener.fit(local)?, n)));
        fits.max().map(|(_, place)| place)
    }
}

/// How well a listener fits a connection, the best last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The listener takes all of both families.
    AnyFamily,
    /// The listener takes all of this family.
    Any,
    Exact,
}

impl Listener {
    fn fit(&self, local: SocketAddr) -> Option<Fit> {
        let ip = self.address.ip();
        let fit = match (ip.is_unspecified(), ip.is_ipv4() == local.is_ipv4()) {
            _ if ip == local.ip() => Some(Fit::Exact),
            (true, true) => Some(Fit::Any),
            (true, false) if ip.is_ipv6() => Some(Fit::AnyFamily),
            _ => None,
        };
        fit.filter(|_| self.address.port() == local.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unspecified_address_means_all_of_ours() {
        let include = |listener: &str, local: &str| {
            let mut listeners = Listeners::default();
            listeners.add(listener.parse().unwrap());
            listeners.include(local.parse().unwrap())
        };
        assert!(include("10.77.0.1:80", "10.77.0.1:80"));
        assert!(include("0.0.0.0:80", "10.77.0.1:80") && !include("0.0.0.0:80", "[fd77::1]:80"));
        assert!(include("[::]:80", "[fd77::1]:80") && include("[::]:80", "10.77.0.1:80"));
        assert!(!include("10.77.0.1:80", "10.77.0.1:81") && !include("10.77.0.1:80", "10.77.0.3:80"));
    }

    #[test]
    fn the_closest_takes_a_connection_whatever_order_they_came_in() {
        let addresses = ["[::]:80", "0.0.0.0:80", "10.77.0.1:80"];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut listeners = Listeners::default();
            order.iter().for_each(|&n: &usize| listeners.add(addresses[n].parse().unwrap()));
            for (local, taker) in [("10.77.0.1:80", 2), ("10.77.0.3:80", 1), ("[fd77::1]:80", 0)] {
                assert!(listeners.push(7, local.parse().unwrap()));
                assert_eq!(listeners.remove(addresses[taker].parse().unwrap()), [7], "{local} {order:?}");
                listeners.add(addresses[taker].parse().unwrap());
            }
        }
    }
}
