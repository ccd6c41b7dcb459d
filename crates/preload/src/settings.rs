//! What the environment asks for, and which addresses are the stack's.
//!
//! | variable | meaning |
//! |---|---|
//! | `ASSAY_STACK` | `user`: TCP in user space; `epoll`: our kernel engine, as a control; without it the library does nothing |
//! | `ASSAY_STACK_WIRE` | the wire of `user`, as `assay load --wire` takes it: `ring:/dev/shm/a`, `xdp:eth0` |
//! | `ASSAY_STACK_SIDE` | `server` (unless given) or `client`: which end of the wire the program is |
//! | `ASSAY_STACK_QUEUES` | queues of the wire, one for each process of the program that uses it: 1 unless given |
//! | `ASSAY_STACK_QUEUE` | the queue of this process; the first that no other process has, unless given |
//! | `ASSAY_STACK_ADDRESS` | addresses of the stack with the length of their network's prefix, separated by commas; the wire's own unless given |
//! | `ASSAY_STACK_LOG` | a file for messages instead of the standard error |
//! | `ASSAY_STACK_STATS` | a file in which others can read what the stack counts ([`assay_wire::stats_page`]) |
//! | `ASSAY_STACK_CONNECTIONS` | connections at most, 65536 unless given |
//! | `ASSAY_STACK_MEMORY` | bytes for all connections of a process on `user`; unless given, an eighth of the machine's memory over the queues |
//!
//! A TCP socket is the stack's if it listens at the wildcard address or one of `ASSAY_STACK_ADDRESS`, or connects to a peer on
//! their networks. So a program that reaches a database on loopback or another network does so through the kernel, and one that is
//! to connect through the stack needs `ASSAY_STACK_ADDRESS`. With `epoll` and no addresses, all TCP sockets are the stack's.

use std::fmt::Display;
use std::net::IpAddr;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::OnceLock;

use assay_wire::{End, Spec};

/// Connections of one process, unless the environment says otherwise.
const CONNECTIONS: usize = 65_536;

/// What the environment asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) kind: Kind,
    /// The stack's own addresses, as far as they were given.
    pub(crate) addresses: Vec<Network>,
    pub(crate) log: Option<PathBuf>,
    pub(crate) stats_page: Option<PathBuf>,
    pub(crate) connections: usize,
    /// Bytes that all connections of a user-space stack may hold, if that was said.
    pub(crate) memory_bytes: Option<usize>,
}

/// The stacks that a program may be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Our epoll engine, on the kernel's.
    Epoll,
    /// TCP in user space.
    User(WirePlace),
}

/// Where on a wire a process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WirePlace {
    pub(crate) wire: Spec,
    pub(crate) end: End,
    /// Queues of our end, over all processes.
    pub(crate) queues: u16,
    /// Ours, if that was said.
    pub(crate) queue: Option<u16>,
}

impl WirePlace {
    /// The queues that can be ours.
    pub(crate) fn candidates(&self) -> Range<u16> {
        self.queue.map_or(0..self.queues, |queue| queue..queue.saturating_add(1))
    }
}

/// An address and how many of its bits its network shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) address: IpAddr,
    pub(crate) prefix: u8,
}

/// The settings of this process; `None` when it has no stack.
pub(crate) fn get() -> Option<&'static Settings> {
    static SETTINGS: OnceLock<Option<Settings>> = OnceLock::new();
    SETTINGS
        .get_or_init(|| {
            parse(|name| std::env::var(name).ok()).unwrap_or_else(|message| {
                // Not `say`, which would ask for the settings.
                let _ = std::io::Write::write_fmt(
                    &mut std::io::stderr(),
                    format_args!("assay-preload: {message}; the program runs on the kernel's stack\n"),
                );
                None
            })
        })
        .as_ref()
}

fn parse(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Settings>, String> {
    let variable = |name: &str| variable(name).filter(|text| !text.is_empty());
    let kind = match variable("ASSAY_STACK").as_deref() {
        None | Some("kernel") => return Ok(None),
        Some("epoll") => Kind::Epoll,
        Some("user") => Kind::User(parse_place(&variable)?),
        Some(other) => return Err(format!("ASSAY_STACK={other} is no stack; use user, epoll or kernel")),
    };
    let addresses = variable("ASSAY_STACK_ADDRESS").unwrap_or_default();
    let addresses =
        addresses.split(',').filter(|a| !a.is_empty()).map(Network::parse).collect::<Result<_, _>>()?;
    let connections = parse_as("ASSAY_STACK_CONNECTIONS", &variable)?.unwrap_or(CONNECTIONS);
    let memory_bytes = parse_as("ASSAY_STACK_MEMORY", &variable)?;
    let path = |name| variable(name).map(PathBuf::from);
    let (log, stats_page) = (path("ASSAY_STACK_LOG"), path("ASSAY_STACK_STATS"));
    Ok(Some(Settings { kind, addresses, log, stats_page, connections, memory_bytes }))
}

fn parse_place(variable: &impl Fn(&str) -> Option<String>) -> Result<WirePlace, String> {
    let wire = parse_as("ASSAY_STACK_WIRE", variable)?;
    let wire = wire.ok_or("ASSAY_STACK=user needs ASSAY_STACK_WIRE, such as ring:/dev/shm/a")?;
    let end = match variable("ASSAY_STACK_SIDE").as_deref() {
        None | Some("server") => End::First,
        Some("client") => End::Second,
        Some(other) => return Err(format!("ASSAY_STACK_SIDE={other} is no side; use server or client")),
    };
    let queues = parse_as("ASSAY_STACK_QUEUES", variable)?.unwrap_or(1);
    let queue = parse_as("ASSAY_STACK_QUEUE", variable)?;
    Ok(WirePlace { wire, end, queues, queue })
}

fn parse_as<T: FromStr<Err: Display>>(
    name: &str,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Option<T>, String> {
    let parse = |text: String| text.parse().map_err(|error| format!("{name}={text}: {error}"));
    variable(name).map(parse).transpose()
}

impl Settings {
    /// Whether a socket bound to this address is the stack's: one of the stack's own, or the wildcard.
    pub(crate) fn is_ours(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_own = self.addresses.iter().any(|n| n.address == address);
        self.has_everything() || address.is_unspecified() || is_own
    }

    /// Whether the stack reaches this peer: it is on one of the stack's networks. Loopback stays with the kernel, so that a
    /// database beside the program can be reached.
    pub(crate) fn reaches(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        let is_near = !peer.is_loopback() && self.addresses.iter().any(|n| n.contains(peer));
        self.has_everything() || is_near
    }

    /// Whether every TCP socket is the stack's.
    fn has_everything(&self) -> bool {
        self.kind == Kind::Epoll && self.addresses.is_empty()
    }
}

impl Network {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("ASSAY_STACK_ADDRESS: {text} is not like 10.77.0.1/24");
        let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.parse().ok().filter(|&p| p <= bits).ok_or_else(wrong)?;
        Ok(Self { address, prefix })
    }

    fn contains(&self, other: IpAddr) -> bool {
        let difference = match (self.address, other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => u128::from(a.to_bits() ^ b.to_bits()) << 96,
            (IpAddr::V6(a), IpAddr::V6(b)) => a.to_bits() ^ b.to_bits(),
            _ => return false,
        };
        difference.leading_zeros() >= u32::from(self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(variables: &[(&str, &str)]) -> Result<Option<Settings>, String> {
        parse(|name| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_owned()))
    }

    #[test]
    fn without_a_stack_there_is_nothing_to_do() {
        assert_eq!(parsed(&[("ASSAY_STACK_ADDRESS", "rubbish")]), Ok(None));
        assert!(parsed(&[("ASSAY_STACK", "moon")]).unwrap_err().contains("moon"));
    }

    #[test]
    fn its_own_addresses_and_the_wildcard_are_the_stacks() {
        let address = ("ASSAY_STACK_ADDRESS", "10.77.0.1/24,fd00:77::1/64");
        let settings = parsed(&[("ASSAY_STACK", "epoll"), address]).unwrap().unwrap();
        let ip = |text: &str| text.parse().unwrap();
        for ours in ["10.77.0.1", "0.0.0.0", "::", "fd00:77::1", "::ffff:10.77.0.1"] {
            assert!(settings.is_ours(ip(ours)), "{ours}");
        }
        for other in ["10.77.0.2", "127.0.0.1", "::1"] {
            assert!(!settings.is_ours(ip(other)), "{other}");
        }
        for near in ["10.77.0.2", "fd00:77::99", "::ffff:10.77.0.200"] {
            assert!(settings.reaches(ip(near)), "{near}");
        }
        for far in ["10.77.1.2", "127.0.0.1", "fd00:78::1", "8.8.8.8"] {
            assert!(!settings.reaches(ip(far)), "{far}");
        }
    }

    #[test]
    fn a_stack_in_user_space_needs_a_wire() {
        let user = ("ASSAY_STACK", "user");
        assert!(parsed(&[user]).unwrap_err().contains("ASSAY_STACK_WIRE"));
        assert!(parsed(&[user, ("ASSAY_STACK_WIRE", "string")]).unwrap_err().contains("string"));
        let wire = ("ASSAY_STACK_WIRE", "ring:/dev/shm/a");
        let settings = parsed(&[user, wire, ("ASSAY_STACK_QUEUES", "4")]).unwrap().unwrap();
        let place = WirePlace { wire: wire.1.parse().unwrap(), end: End::First, queues: 4, queue: None };
        assert_eq!(settings.kind, Kind::User(place));
        assert!(settings.is_ours("0.0.0.0".parse().unwrap()));
        assert!(
            !settings.reaches("10.77.0.2".parse().unwrap()),
            "nobody said which addresses are the stack's"
        );
        assert!(parsed(&[user, wire, ("ASSAY_STACK_QUEUE", "two")]).unwrap_err().contains("two"));
        assert_eq!(settings.memory_bytes, None);
        let limited = parsed(&[user, wire, ("ASSAY_STACK_MEMORY", "67108864")]).unwrap().unwrap();
        assert_eq!(limited.memory_bytes, Some(64 << 20));
        assert!(parsed(&[user, wire, ("ASSAY_STACK_MEMORY", "much")]).unwrap_err().contains("much"));
    }

    #[test]
    fn a_wrong_address_is_named() {
        for wrong in ["10.77.0.1", "10.77.0.1/33", "ten/8"] {
            let error = parsed(&[("ASSAY_STACK", "epoll"), ("ASSAY_STACK_ADDRESS", wrong)]).unwrap_err();
            assert!(error.contains(wrong), "{error}");
        }
    }
}
