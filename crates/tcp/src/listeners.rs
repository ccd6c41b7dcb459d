//! Where connections are accepted, and how many may wait for that.

use std::collections::VecDeque;
use std::net::SocketAddr;

/// Handshakes under way at most. A request beyond them is dropped, not refused, as by Linux (tcp_max_syn_backlog, tcp(7)):
/// its sender asks again.
const MAX_HALF_OPEN: usize = 1024;
/// Connections that nobody has taken yet at most; a request beyond them is dropped (somaxconn, listen(2)).
const MAX_BACKLOG: usize = 4096;

/// Where connections are accepted.
#[derive(Default)]
pub(crate) struct Listeners {
    addresses: Vec<SocketAddr>,
    /// Handshakes under way.
    pub(crate) half_open: usize,
    /// Established, the oldest first.
    pub(crate) backlog: VecDeque<u32>,
}

impl Listeners {
    /// Whether connections to `local` are accepted.
    pub(crate) fn include(&self, local: SocketAddr) -> bool {
        let is_meant = |listener: &SocketAddr| {
            listener.port() == local.port()
                && (listener.ip() == local.ip()
                    || (listener.ip().is_unspecified() && (listener.is_ipv6() || local.is_ipv4())))
        };
        self.addresses.iter().any(is_meant)
    }

    /// Whether one more handshake is too much.
    pub(crate) fn is_full(&self) -> bool {
        self.half_open >= MAX_HALF_OPEN || self.backlog.len() + self.half_open >= MAX_BACKLOG
    }

    pub(crate) fn add(&mut self, address: SocketAddr) {
        self.addresses.push(address);
    }

    /// Accepts no more. Returns whom nobody will take.
    pub(crate) fn clear(&mut self) -> VecDeque<u32> {
        self.addresses.clear();
        std::mem::take(&mut self.backlog)
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
}
