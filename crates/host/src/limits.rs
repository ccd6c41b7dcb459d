//! Limits of this process: open files and ports.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::text::Tree;

/// The soft limit of open files before and after it was raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NofileRaise {
    /// The limit before.
    pub before: u64,
    /// After; the hard limit.
    pub after: u64,
}

/// Soft and hard limit of open files; `u64::MAX` is "unlimited".
pub fn nofile() -> [u64; 2] {
    let limit = getrlimit(Resource::Nofile);
    [limit.current, limit.maximum].map(|value| value.unwrap_or(u64::MAX))
}

/// Raises the soft limit of open files to the hard one, for this process and those it starts from now on.
///
/// # Errors
/// When the kernel refuses.
pub fn raise_nofile() -> io::Result<NofileRaise> {
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: before.maximum, maximum: before.maximum })?;
    let after = getrlimit(Resource::Nofile);
    Ok(NofileRaise { before: before.current.unwrap_or(u64::MAX), after: after.current.unwrap_or(u64::MAX) })
}

/// The ports that the kernel gives to outgoing connections (`net.ipv4.ip_local_port_range`, ip(7)).
pub fn ephemeral_ports() -> Option<RangeInclusive<u16>> {
    ephemeral_ports_in(&Tree::live())
}

pub(crate) fn ephemeral_ports_in(tree: &Tree) -> Option<RangeInclusive<u16>> {
    let text = tree.read("proc/sys/net/ipv4/ip_local_port_range")?;
    let (first, last) = text.split_once(char::is_whitespace)?;
    Some(first.parse().ok()?..=last.trim().parse().ok()?)
}

/// How many connections one local address can have to one remote address and port: the ephemeral ports
/// without the reserved ones (`net.ipv4.ip_local_reserved_ports`). `None` when not readable.
pub fn ephemeral_port_count() -> Option<u32> {
    count_ports(&Tree::live())
}

pub(crate) fn count_ports(tree: &Tree) -> Option<u32> {
    let range = ephemeral_ports_in(tree)?;
    let reserved = tree.read("proc/sys/net/ipv4/ip_local_reserved_ports").unwrap_or_default();
    let within = |part: &str| -> Option<u32> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first = first.trim().parse::<u16>().ok()?.max(*range.start());
        let last = last.trim().parse::<u16>().ok()?.min(*range.end());
        (first <= last).then(|| u32::from(last - first) + 1)
    };
    let reserved: u32 = reserved.split(',').filter_map(within).sum();
    Some((u32::from(*range.end()) + 1).saturating_sub(u32::from(*range.start()) + reserved))
}

/// A TCP port of `address` that was free a moment ago, chosen by the kernel. Between this call and the
/// server's `bind` another program may take it (the kernel avoids giving the same one again soon, but does
/// not promise it); a server that finds it taken is started again with another.
///
/// # Errors
/// When the address is not one of this machine's, or no port is free.
pub fn free_port(address: IpAddr) -> io::Result<u16> {
    // Closed without ever having had a connection, so no TIME_WAIT stays behind.
    Ok(TcpListener::bind(SocketAddr::new(address, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn a_free_port_can_be_listened_on() {
        let free = free_port(HERE).expect("a port");
        assert!(free > 0 && TcpListener::bind((HERE, free)).is_ok());
        // 192.0.2.0/24 is for documentation (RFC 5737).
        assert!(free_port(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))).is_err());
    }

    #[test]
    fn open_files_are_raised_to_the_hard_limit() {
        let [soft, hard] = nofile();
        let raise = raise_nofile().expect("allowed");
        assert_eq!(raise, NofileRaise { before: soft, after: hard });
        assert_eq!(nofile(), [hard, hard]);
    }

    #[test]
    fn reserved_ports_are_not_counted() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("proc/sys/net/ipv4");
        std::fs::create_dir_all(&folder).expect("made");
        let tree = Tree::at(root.path());
        assert_eq!(count_ports(&tree), None);
        std::fs::write(folder.join("ip_local_port_range"), "32768\t60999\n").expect("written");
        assert_eq!(count_ports(&tree), Some(28_232));
        std::fs::write(folder.join("ip_local_reserved_ports"), "8080,32760-32769,60000\n").expect("written");
        assert_eq!(count_ports(&tree), Some(28_229));
        std::fs::write(folder.join("ip_local_port_range"), "1024 65535\n").expect("written");
        assert_eq!(ephemeral_ports_in(&tree), Some(1024..=65535));
    }
}
