//! What the environment asks for, and which addresses are the stack's.
//!
//! | variable | meaning |
//! |---|---|
//! | `ASSAY_STACK` | `epoll`: our kernel engine, as a control; without it the library does nothing |
//! | `ASSAY_STACK_ADDRESS` | addresses of the stack with the length of their network's prefix, separated by commas |
//! | `ASSAY_STACK_LOG` | a file for messages instead of the standard error |
//! | `ASSAY_STACK_CONNECTIONS` | connections at most, 65536 unless given |

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Connections of one process, unless the environment says otherwise.
const CONNECTIONS: usize = 65_536;

/// What the environment asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) kind: Kind,
    /// The stack's own addresses. None: every address is.
    pub(crate) addresses: Vec<Network>,
    pub(crate) log: Option<PathBuf>,
    pub(crate) connections: usize,
}

/// Which stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Our epoll engine, on the kernel's.
    Epoll,
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
    let kind = match variable("ASSAY_STACK").as_deref() {
        None | Some("" | "kernel") => return Ok(None),
        Some("epoll") => Kind::Epoll,
        Some(other) => return Err(format!("ASSAY_STACK={other} is no stack; use epoll or user")),
    };
    let addresses = variable("ASSAY_STACK_ADDRESS").unwrap_or_default();
    let addresses =
        addresses.split(',').filter(|a| !a.is_empty()).map(Network::parse).collect::<Result<_, _>>()?;
    let connections = match variable("ASSAY_STACK_CONNECTIONS") {
        Some(text) => text.parse().map_err(|_| format!("ASSAY_STACK_CONNECTIONS={text} is no number"))?,
        None => CONNECTIONS,
    };
    Ok(Some(Settings { kind, addresses, log: variable("ASSAY_STACK_LOG").map(PathBuf::from), connections }))
}

impl Settings {
    /// Whether a socket bound to this address is the stack's: one of the stack's own, or the wildcard.
    pub(crate) fn is_ours(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.addresses.is_empty()
            || address.is_unspecified()
            || self.addresses.iter().any(|n| n.address == address)
    }

    /// Whether the stack reaches this peer: it is on one of the stack's networks. Loopback stays with the kernel, so that a
    /// database beside the program can be reached.
    pub(crate) fn reaches(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.addresses.is_empty() || (!peer.is_loopback() && self.addresses.iter().any(|n| n.contains(peer)))
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
    fn a_wrong_address_is_named() {
        for wrong in ["10.77.0.1", "10.77.0.1/33", "ten/8"] {
            let error = parsed(&[("ASSAY_STACK", "epoll"), ("ASSAY_STACK_ADDRESS", wrong)]).unwrap_err();
            assert!(error.contains(wrong), "{error}");
        }
    }
}
