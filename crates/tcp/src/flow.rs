//! The two ends of a connection.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The two ends of a connection, seen from here. IPv4 addresses are mapped (RFC 4291 §2.5.5.2), so that one table holds both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flow {
    local: u128,
    remote: u128,
    ports: u32,
}

impl Flow {
    pub(crate) fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        let bits = |ip| match ip {
            IpAddr::V4(ip) => mapped(ip.to_bits()),
            IpAddr::V6(ip) => ip.to_bits(),
        };
        let ports = u32::from(local.port()) << 16 | u32::from(remote.port());
        Self { local: bits(local.ip()), remote: bits(remote.ip()), ports }
    }

    /// Of a segment that arrived, from its addresses, mapped, and its ports as they stand in its header.
    pub(crate) fn of_arrival(source: u128, destination: u128, ports: u32) -> Self {
        Self { local: destination, remote: source, ports: ports.rotate_left(16) }
    }

    /// Our end.
    pub(crate) fn local(&self) -> SocketAddr {
        SocketAddr::new(address(self.local), (self.ports >> 16) as u16)
    }

    /// The peer's end.
    pub(crate) fn remote(&self) -> SocketAddr {
        SocketAddr::new(address(self.remote), self.ports as u16)
    }
}

/// An IPv4 address as an IPv6 address.
pub(crate) fn mapped(ip: u32) -> u128 {
    0xffff << 32 | u128::from(ip)
}

fn address(bits: u128) -> IpAddr {
    Ipv6Addr::from_bits(bits).to_canonical()
}
