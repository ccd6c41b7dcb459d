//! The addresses that are this machine's own.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;

/// The addresses of this network namespace's interfaces (getifaddrs(3)).
///
/// # Errors
/// When the kernel does not tell.
pub fn own() -> io::Result<BTreeSet<IpAddr>> {
    let addresses = getifaddrs()?.filter_map(|interface| interface.address);
    let of = |address: nix::sys::socket::SockaddrStorage| {
        let v4 = address.as_sockaddr_in().map(|address| address.ip().into());
        v4.or_else(|| address.as_sockaddr_in6().map(|address| address.ip().into()))
    };
    Ok(addresses.filter_map(of).collect())
}

/// Whether a packet to `address` stays on this machine, of which `own` are the addresses: all of loopback does (RFC 1122
/// §3.2.1.3, RFC 4291 §2.5.3), and whoever connects to no address in particular connects to himself (ip(7)).
pub fn is_here(address: IpAddr, own: &BTreeSet<IpAddr>) -> bool {
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified() || own.contains(&address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(address: &str, own: &[&str]) -> bool {
        let own = own.iter().map(|address| address.parse().expect("address")).collect();
        is_here(address.parse().expect("address"), &own)
    }

    #[test]
    fn loopback_and_the_interfaces_addresses_are_here() {
        for address in ["127.0.0.1", "127.9.8.7", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1"] {
            assert!(here(address, &[]), "{address}");
        }
        let own = ["192.0.2.7", "2001:db8::7"];
        for address in ["192.0.2.7", "::ffff:192.0.2.7", "2001:db8::7"] {
            assert!(here(address, &own), "{address}");
        }
        // 192.0.2.0/24 and 2001:db8::/32 are for documentation (RFC 5737, RFC 3849).
        for address in ["192.0.2.8", "2001:db8::8", "::ffff:192.0.2.8", "224.0.0.1", "255.255.255.255"] {
            assert!(!here(address, &own), "{address}");
        }
    }

    #[test]
    fn the_kernel_tells_of_loopback() {
        assert!(own().expect("addresses").iter().any(IpAddr::is_loopback));
    }
}
